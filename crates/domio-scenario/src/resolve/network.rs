//! `[network]` and the vifs of domains.

use super::domain::Resolved;
use crate::check::{Cx, Fields};
use crate::problem::{Code, Problem};
use crate::suggest::did_you_mean;
use domio_core::{DomainId, XenVersion};
use domio_net::host::{NetCosts, NetworkConfig, RxMode, VifConfig};
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_net::writers::WriterCosts;
use domio_vmm::config::{DomainConfig, KernelCosts};
use domio_vmm::evtchn::{Abi, ScanForm, Width};
use domio_vmm::profile::Profile;

/// Ports that a domain needs besides one for each vif of the others and one for the timer of each
/// vcpu: port 0, which is never used, and the card's interrupt or the own vif's.
const OTHER_PORTS: usize = 2;

/// First release that has FIFO event channels, of those that domio tells apart.
const FIFO_SINCE: XenVersion = XenVersion::V4_5;

/// A network, and what the kernels of the domains with a part in it are like.
pub(super) struct Network {
    pub config: NetworkConfig,
    abi: Abi,
    kernel: KernelCosts,
}

impl Network {
    /// Gives the domains their event channels, what their kernels cost on the machine, and the
    /// processes of their network workloads.
    pub fn equip(&self, domains: &mut [DomainConfig]) {
        let served =
            |id| id == self.config.driver || self.config.vifs.iter().any(|vif| vif.domain == id);
        for domain in domains.iter_mut().filter(|domain| served(domain.id)) {
            (domain.guest.abi, domain.guest.costs) = (self.abi, self.kernel);
        }
        self.config.equip(0, domains);
    }
}

/// The network of the host, if a domain has a vif and nothing is wrong.
pub(super) fn network(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    given: bool,
    host: &Fields<'_>,
    resolved: &Resolved,
) -> Option<Network> {
    let vifs = resolved.domains.iter();
    let vifs = vifs.filter_map(|d| Some(d.vif.as_ref()?.config(d.config.id)));
    let vifs: Vec<VifConfig> = vifs.collect();
    let version = host
        .text("xen")
        .and_then(|name| XenVersion::from_name(&name));
    let abi = version.and_then(|version| abi(cx, fields, version));
    let driver = driver(cx, fields, resolved);
    if vifs.is_empty() {
        if given {
            let notice = "no domain has a vif, so [network] does nothing";
            cx.notices.push(notice.to_owned());
        }
        return None;
    }
    if let Some(driver) = driver {
        driver_serves(cx, fields, driver, resolved);
    }
    if let (Some(driver), Some(abi)) = (driver, abi) {
        ports_suffice(cx, fields, driver, abi, resolved);
    }
    let (costs, kernel, writers) = costs(cx, Profile::by_name(&host.text("profile")?)?);
    let abi = abi?;
    let config = NetworkConfig {
        driver: resolved.domains[driver?].config.id,
        nic: match fields.text("nic")?.as_str() {
            "tg3" => NicConfig::TG3,
            "e1000" => NicConfig::E1000,
            _ => NicConfig::PLAIN,
        },
        link: LinkConfig {
            rate: Rate::bits_per_second(fields.line_rate("rate")?),
            latency: fields.time("latency")?,
            queue: usize::try_from(fields.int("queue")?).ok()?,
        },
        remote_gap: fields.time("remote_gap")?,
        remote_irq_latency: fields.time("remote_irq_latency")?,
        remote_writers: writers,
        costs,
        rx_mode: match given_or(fields, "rx", || by_release(version?, "flip", "copy"))?.as_str() {
            "flip" => RxMode::Flip,
            _ => RxMode::Copy,
        },
        vcpu: 0,
        vifs,
    };
    Some(Network {
        config,
        abi,
        kernel,
    })
}

/// The word at `key`, or `default` when it was not given; `None` when it was bad.
fn given_or(
    fields: &Fields<'_>,
    key: &str,
    default: impl FnOnce() -> Option<&'static str>,
) -> Option<String> {
    match fields.field(key) {
        Some(_) => fields.text(key),
        None => default().map(str::to_owned),
    }
}

fn by_release(
    version: XenVersion,
    xen3: &'static str,
    later: &'static str,
) -> Option<&'static str> {
    Some(if version < XenVersion::V4_0 {
        xen3
    } else {
        later
    })
}

/// Event channels of every kernel with a network.
fn abi(cx: &mut Cx<'_>, fields: &Fields<'_>, version: XenVersion) -> Option<Abi> {
    let default = || {
        Some(if version < FIFO_SINCE {
            "two-level-64"
        } else {
            "fifo"
        })
    };
    let evtchn = given_or(fields, "evtchn", default)?;
    let form = given_or(fields, "scan", || {
        by_release(version, "restart", "resume-mainline")
    });
    let width = match evtchn.as_str() {
        "two-level-32" => Width::Bits32,
        "two-level-64" => Width::Bits64,
        _ => {
            if version < FIFO_SINCE {
                cx.push(
                    Problem::new(
                        Code::Conflict,
                        fields.span("evtchn"),
                        format!("Xen {version} has no FIFO event channels"),
                    )
                    .key(fields.key_path("evtchn"))
                    .found("fifo")
                    .expected("two-level-32 or two-level-64")
                    .hint("they came with Xen 4.4; `xen` of [host] says which release it is"),
                );
                return None;
            }
            if let Some(scan) = fields.field("scan") {
                cx.push(
                    Problem::new(
                        Code::Conflict,
                        scan.key_span,
                        "FIFO event channels have no scan to choose",
                    )
                    .key(fields.key_path("scan"))
                    .expected("`evtchn = \"two-level-64\"` with it")
                    .hint("add `evtchn = \"two-level-64\"`, or remove `scan`"),
                );
                return None;
            }
            return Some(Abi::Fifo);
        }
    };
    let scan = match form?.as_str() {
        "restart" => ScanForm::Restart,
        "round-robin" => ScanForm::RoundRobin,
        "resume" => ScanForm::Resume,
        _ => ScanForm::ResumeMainline,
    };
    Some(Abi::TwoLevel { width, scan })
}

/// Index of the driver domain.
fn driver(cx: &mut Cx<'_>, fields: &Fields<'_>, resolved: &Resolved) -> Option<usize> {
    if fields.field("driver").is_some() {
        let name = fields.text("driver")?;
        return named_driver(cx, fields, resolved, &name);
    }
    let found = resolved
        .domains
        .iter()
        .position(|d| d.config.id == DomainId::DOM0);
    let mut vifs = resolved
        .domains
        .iter()
        .filter_map(|d| Some((d, d.vif.as_ref()?)));
    let (user, vif) = vifs.next()?;
    if found.is_none() && resolved.complete {
        cx.push(
            Problem::new(
                Code::MissingKey,
                vif.span,
                format!(
                    "domain {} has a vif but there is no driver domain",
                    user.config.name
                ),
            )
            .key("network.driver")
            .expected("a domain with id 0, or another one named by `driver` of [network]")
            .hint(
                "add [[domain]] with `name = \"Domain-0\"` before it; without a workload will do",
            ),
        );
    }
    found
}

fn named_driver(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    resolved: &Resolved,
    name: &str,
) -> Option<usize> {
    let problem = match resolved.by_name.get(name).map(Vec::as_slice) {
        Some([one]) => return Some(*one),
        Some([_, _, ..]) => Problem::new(
            Code::OutOfRange,
            fields.span("driver"),
            format!("`{name}` is a group of domains"),
        )
        .hint("a host has one driver domain"),
        // A domain that something else is wrong with has a name and nothing more.
        Some([]) => return None,
        None if resolved.complete => Problem::new(
            Code::UnknownName,
            fields.span("driver"),
            format!("there is no domain `{name}`"),
        )
        .hint_or(
            did_you_mean(name, resolved.by_name.keys().map(String::as_str)),
            "leave `driver` out for the domain with id 0, or add a [[domain]] of that name",
        ),
        None => return None,
    };
    cx.push(
        problem
            .key(fields.key_path("driver"))
            .found(name)
            .expected("the name of one domain"),
    );
    None
}

/// Tells of a driver domain that is not there for each vif all the time.
fn driver_serves(cx: &mut Cx<'_>, fields: &Fields<'_>, driver: usize, resolved: &Resolved) {
    let own = &resolved.domains[driver];
    let name = &own.config.name;
    let chosen = fields.field("driver").map(|f| f.span);
    let blame = |problem: Problem, instead: &str| match chosen {
        Some(span) => problem.related(span, "named here").hint(instead),
        None => problem.hint(format!(
            "{instead}; `driver` of [network] names the driver domain, which has id 0 otherwise"
        )),
    };
    if let Some(vif) = &own.vif {
        let problem = Problem::new(
            Code::Conflict,
            vif.span,
            format!("{name} is the driver domain and cannot have a vif of its own"),
        )
        .key("network.driver")
        .found(name)
        .expected("network workloads in other domains");
        cx.push(blame(
            problem,
            "let a domain without a vif be the driver domain",
        ));
    }
    if own.config.stop.is_some() {
        let problem = Problem::new(
            Code::Conflict,
            own.span,
            format!("{name} is the driver domain and cannot be destroyed"),
        )
        .key("network.driver")
        .found(name)
        .expected("no `stop`");
        cx.push(blame(
            problem,
            "let a domain that stays be the driver domain",
        ));
    }
    let created = |i: usize, config: &DomainConfig| (config.start, i);
    let mut early = resolved
        .domains
        .iter()
        .enumerate()
        .filter(|(i, d)| created(*i, &d.config) < created(driver, &own.config));
    if let Some((early, vif)) = early.find_map(|(_, d)| Some((d, d.vif.as_ref()?))) {
        cx.push(
            Problem::new(
                Code::Conflict,
                vif.span,
                format!(
                    "domain {} has a vif but is created before the driver domain {name}",
                    early.config.name
                ),
            )
            .key("network.driver")
            .found(&early.config.name)
            .expected(format!("{name} first"))
            .related(own.span, "the driver domain")
            .hint("domains that start at the same time are created in the order of the file"),
        );
    }
}

/// Tells of domains that have not enough event channels.
fn ports_suffice(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    driver: usize,
    abi: Abi,
    resolved: &Resolved,
) {
    let ports = match abi {
        Abi::TwoLevel { width, .. } => width.ports() as usize,
        // More than there can be domains and vcpus.
        Abi::Fifo => return,
    };
    let guests = resolved.domains.iter().filter(|d| d.vif.is_some());
    let vifs = guests.clone().count();
    let domains = guests.map(|d| (d, 0));
    for (domain, others) in domains.chain([(&resolved.domains[driver], vifs)]) {
        let needed = OTHER_PORTS + domain.config.vcpus.len() + others;
        if needed <= ports {
            continue;
        }
        cx.push(
            Problem::new(
                Code::Limit,
                domain.span,
                format!(
                    "domain {} needs {needed} event channels",
                    domain.config.name
                ),
            )
            .key(fields.key_path("evtchn"))
            .found(needed.to_string())
            .expected(format!("{ports} at most"))
            .hint("other kinds of event channels have more: see `evtchn` of [network]"),
        );
        return;
    }
}

/// What work on packets costs, and what kernels cost.
fn costs(cx: &mut Cx<'_>, profile: &Profile) -> (NetCosts, KernelCosts, WriterCosts) {
    if *profile == Profile::OPTERON_242 {
        return (
            NetCosts::OPTERON_242,
            KernelCosts::OPTERON_242,
            WriterCosts::PENTIUM_4,
        );
    }
    if !profile.is_free() {
        cx.notices.push(format!(
            "the hardware profile {} does not know what a network costs: its work takes no time",
            profile.name
        ));
    }
    (NetCosts::FREE, KernelCosts::FREE, WriterCosts::FREE)
}
