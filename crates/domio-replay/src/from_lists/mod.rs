//! A scenario of a host of which nothing is known but what `xl` or `xm` printed.
//!
//! ```text
//! xl list, vcpu-list, sched-*, info, uptime ─▶ HostLists ─┬─▶ Draft ─▶ text of a scenario
//!                                  two lists ─▶ loads ─┘
//! ```
//!
//! Lists tell domains, vcpus, weights, caps, reservations, pins and soft affinity; `xl info` tells
//! pcpus, release and scheduler. How busy a domain was follows from two lists. No list tells how
//! long its work is and when it comes, so that shares follow from a list, and waits are those of
//! what is assumed. The text says what was told and by what, what is assumed, and what would tell.

mod load;
#[cfg(test)]
mod tests;

pub use crate::xl::{CpuTimes, HostLists, Printed, XlError};

use crate::draft::domain::{self, Demanded, Domain, Setting};
use crate::draft::{Draft, Sources, write};
use domio_core::{ParamKind, XenVersion};
use domio_scenario::{MAX_VCPUS, Scenario, ScenarioErrors};
use domio_sched::Policy;
use load::{By, Used, loads, tenths};
use std::collections::{BTreeMap, BTreeSet};

/// Who uses so many thousandths of a vcpu's time never rests.
const NEVER_RESTS: u64 = 970;
/// Who uses less idles: lists round to a tenth of a second.
const IDLES: u64 = 5;
/// The release whose rules hold where nothing tells which one it is.
const RELEASE: XenVersion = XenVersion::V4_17;

/// What lists do not tell and somebody may know.
#[derive(Clone, Debug)]
pub struct ListOptions {
    /// The command that makes the scenario.
    pub command: String,
    /// Milliseconds from the first list to the last.
    pub interval_ms: Option<u64>,
    /// Pcpus of the host, where `xl info` is not among the lists.
    pub pcpus: Option<u16>,
    /// Mean length of a stretch of work (us).
    pub work_us: u64,
    /// How busy each vcpu of a guest is of which nothing tells (%).
    pub load_pct: u16,
}

/// A scenario, and what is to be told beside it.
#[derive(Clone, Debug)]
pub struct OfLists {
    /// The text.
    pub text: String,
    /// What nothing has told, and what would tell.
    pub notices: Vec<String>,
}

/// Why no scenario can be made of lists.
#[derive(Debug, thiserror::Error)]
pub enum FromListsError {
    /// The lists do not tell what is needed, or contradict each other.
    #[error("{0}")]
    Unusable(String),
    /// What was read makes no host.
    #[error("what the lists tell makes no scenario: {0}")]
    Scenario(ScenarioErrors),
}

/// The text of a scenario of the host that `lists` tell of.
///
/// # Errors
/// When they tell of no domain, contradict each other, or cannot be one host.
pub fn scenario(
    lists: &HostLists,
    options: &ListOptions,
    policies: &'static [Policy],
) -> Result<OfLists, FromListsError> {
    let ids = ids(lists);
    if ids.is_empty() {
        return Err(FromListsError::Unusable(
            "the lists tell of no domain; give the output of `xl list`, `xl vcpu-list` or `xl \
             sched-credit2`"
                .to_owned(),
        ));
    }
    let loads = loads(lists, options.interval_ms)?;
    let sources = sources(lists, options);
    let mut draft = Draft {
        title: format!("The host of {}", files(lists)),
        run: vec![
            ("warmup_s", "1".to_owned()),
            ("duration_s", "10".to_owned()),
        ],
        ..Draft::default()
    };
    let release = release(lists);
    let policy = policy(&mut draft, lists, release, policies);
    host(&mut draft, lists, options, &loads)?;
    draft.host.insert(0, ("profile", "\"ideal\"".to_owned()));
    draft.host.insert(
        1,
        ("xen", format!("\"{}\"", release.unwrap_or(RELEASE).name())),
    );
    params(&mut draft, lists, release, policy);
    let mut names = BTreeSet::new();
    let mut guessed = Guessed::default();
    for id in ids {
        let demanded = |vcpus| {
            let demand = Demand {
                lists,
                options,
                id,
                load: loads.get(&id),
            };
            demand.demanded(vcpus, &mut guessed)
        };
        let domain = domain::domain(&mut draft, (id, 0), &sources, policy, &mut names, demanded);
        guessed.name(id, &domain.name);
        draft.domains.push(domain);
    }
    let vcpus: usize = draft.domains.iter().map(|d| usize::from(d.vcpus)).sum();
    if vcpus > MAX_VCPUS {
        return Err(FromListsError::Unusable(format!(
            "the lists tell of {vcpus} vcpus; a scenario has {MAX_VCPUS} at most"
        )));
    }
    say(&mut draft, lists, &sources, &loads);
    say_loads(&mut draft, options, &loads, &guessed);
    say_unknown(&mut draft, lists, &loads, &guessed);
    tries(&mut draft);
    let text = write::text(&draft, &options.command);
    match Scenario::parse("the scenario", text.as_bytes(), policies) {
        Ok(_) => Ok(OfLists {
            text,
            notices: draft.unknown,
        }),
        Err(errors) => Err(FromListsError::Scenario(errors)),
    }
}

/// Domains that any list names.
fn ids(lists: &HostLists) -> BTreeSet<u16> {
    let of_sched = lists.sched.iter().flat_map(|sched| sched.domains.keys());
    lists.domains.keys().chain(of_sched).copied().collect()
}

/// All files that were read, each once.
fn files(lists: &HostLists) -> String {
    let mut all: Vec<&str> = Vec::new();
    for file in lists.printed.values().flat_map(|files| files.split(", ")) {
        if !all.contains(&file) {
            all.push(file);
        }
    }
    all.join(", ")
}

/// What tells of domains and of the scheduler, with the names of the outputs.
fn sources(lists: &HostLists, options: &ListOptions) -> Sources {
    let named = |what: Printed| {
        let files = lists.printed.get(&what)?;
        Some(format!("`{}` ({files})", what.command()))
    };
    let of_domains = [Printed::List, Printed::VcpuList, Printed::LongList];
    let of_domains: Vec<String> = of_domains.into_iter().filter_map(named).collect();
    let of_domains: Vec<&str> = of_domains.iter().map(String::as_str).collect();
    let list =
        (!lists.domains.is_empty()).then(|| (lists.domains.clone(), write::listed(&of_domains)));
    let of_sched = named(Printed::Sched).unwrap_or_default();
    Sources {
        command: options.command.clone(),
        sched: lists.sched.clone().map(|sched| (sched, of_sched)),
        list,
        ..Sources::default()
    }
}

/// The release that `xl info` tells.
fn release(lists: &HostLists) -> Option<XenVersion> {
    XenVersion::of_release(lists.info.get("xen_version")?)
}

/// The scheduler, by settings or by `xl info`; else the release's default.
fn policy(
    draft: &mut Draft,
    lists: &HostLists,
    release: Option<XenVersion>,
    policies: &'static [Policy],
) -> Option<&'static Policy> {
    let find = |name: &str| policies.iter().find(|p| p.descriptor.name == name);
    let of_sched = lists.sched.as_ref().and_then(|sched| sched.policy);
    let of_info = lists.info.get("xen_scheduler").map(String::as_str);
    let told = of_sched
        .map(|name| (name, "its settings"))
        .or_else(|| of_info.map(|name| (name, "`xl info`")));
    let by_default = match release {
        Some(release) if release < XenVersion::V4_12 => "credit",
        _ => "credit2",
    };
    draft.policy = by_default.to_owned();
    match told {
        Some((name, by)) if find(name).is_some() => {
            draft.derived.push(format!("the scheduler, {name}: {by}"));
            draft.policy = name.to_owned();
        }
        Some((name, by)) => draft.assumed.push(format!(
            "the scheduler is {by_default}: the host has {name} ({by}), which domio does not have"
        )),
        None => {
            draft.assumed.push(format!(
                "the scheduler is {by_default}, Xen's default {}",
                match by_default {
                    "credit" => "before 4.12",
                    _ => "since 4.12",
                }
            ));
            draft
                .unknown
                .push("which scheduler the host has: `xl info` (`xen_scheduler`)".to_owned());
        }
    }
    if let (Some(sched), Some(info)) = (of_sched, of_info.filter(|i| Some(*i) != of_sched)) {
        draft.assumed.push(format!(
            "every pool has {sched}: `xl info` tells of {info} beside it, and pools are left out"
        ));
    }
    find(&draft.policy)
}

/// Pcpus and their arrangement.
fn host(
    draft: &mut Draft,
    lists: &HostLists,
    options: &ListOptions,
    loads: &BTreeMap<u16, (Used, By)>,
) -> Result<(), FromListsError> {
    let sets = lists.domains.values().flat_map(|d| {
        let sets = d.hard.values().chain(d.soft.values()).flatten();
        sets.chain(&d.last_pcpu)
    });
    let named = sets.max().map_or(0, |last| last.saturating_add(1));
    let busy = loads.values().map(|(used, _)| used.sum()).sum::<u64>();
    // Lists round, and are not made at once.
    let busy = u16::try_from(busy.saturating_sub(50).div_ceil(1_000)).unwrap_or(u16::MAX);
    let told = options
        .pcpus
        .map(|n| (n, "--pcpus"))
        .or_else(|| Some((lists.number("nr_cpus")?, "`xl info`")));
    let Some((pcpus, by)) = told else {
        let pcpus = named.max(busy).max(1);
        draft.pcpus = pcpus;
        draft.host = vec![("cores", pcpus.to_string())];
        let why = match pcpus {
            _ if named >= busy && named > 0 => "no list names a higher one",
            _ if busy > 0 => "so many were busy together",
            _ => "nothing tells of more",
        };
        let plural = if pcpus == 1 { "" } else { "s" };
        draft.assumed.push(format!(
            "{pcpus} pcpu{plural}, of cores without threads in one socket: {why}, and the host may \
             have more"
        ));
        let unknown = "how many pcpus the host has: `xl info` (`nr_cpus`), or --pcpus".to_owned();
        draft.unknown.push(unknown);
        return Ok(());
    };
    if named > pcpus {
        return Err(FromListsError::Unusable(format!(
            "a list names pcpu {}, and {by} tells of {pcpus}, which count from 0",
            named - 1
        )));
    }
    if busy > pcpus {
        return Err(FromListsError::Unusable(format!(
            "all domains together used the time of {busy} pcpus, and {by} tells of {pcpus}; \
             --interval is the time from the first list to the last"
        )));
    }
    draft.pcpus = pcpus;
    draft.derived.push(format!("{pcpus} pcpus: {by}"));
    let threads = lists.number("threads_per_core").unwrap_or(1);
    let cores = lists.number("cores_per_socket").unwrap_or(pcpus);
    let in_socket = u32::from(threads) * u32::from(cores);
    let is_whole = u32::from(pcpus) % in_socket == 0 && by != "--pcpus";
    let is_told = is_whole && lists.info.contains_key("cores_per_socket");
    draft.host = match is_told {
        true => {
            draft
                .derived
                .push("sockets, cores and threads: `xl info`".to_owned());
            let sockets = u32::from(pcpus) / in_socket;
            vec![
                ("sockets", sockets.to_string()),
                ("cores", cores.to_string()),
                ("threads", threads.to_string()),
            ]
        }
        false => {
            let one = "cores without threads in one socket: nothing tells how pcpus are arranged";
            draft.assumed.push(one.to_owned());
            vec![("cores", pcpus.to_string())]
        }
    };
    Ok(())
}

/// Parameters of the policy.
fn params(
    draft: &mut Draft,
    lists: &HostLists,
    release: Option<XenVersion>,
    policy: Option<&'static Policy>,
) {
    let specs = policy.map_or(&[][..], |p| p.descriptor.params);
    let told = lists.sched.as_ref().map(|sched| &sched.params);
    let mut defaults = Vec::new();
    for name in ["tslice_ms", "ratelimit_us", "migration_delay_us"] {
        if !specs.iter().any(|spec| spec.name == name) {
            continue;
        }
        match told.and_then(|params| params.get(name)) {
            Some(value) => {
                draft
                    .derived
                    .push(format!("{name} = {value}: the settings of the scheduler"));
                draft.params.push((name.to_owned(), value.to_string()));
            }
            None => defaults.push(name),
        }
    }
    if !defaults.is_empty() {
        draft
            .assumed
            .push(format!("Xen's defaults of {}", defaults.join(", ")));
    }
    let Some(release) = release else {
        draft.assumed.push(format!(
            "rules of Xen {}: set host.xen and scheduler.version to the host's release",
            RELEASE.name()
        ));
        let unknown = "the release of Xen: `xl info` (`xen_version`)".to_owned();
        return draft.unknown.push(unknown);
    };
    let versions = specs.iter().find(|spec| spec.name == "version");
    let has = versions.is_some_and(|spec| match spec.kind {
        ParamKind::Choice(words) => words.contains(&release.name()),
        _ => false,
    });
    let by = "`xl info`";
    draft
        .derived
        .push(format!("rules of Xen {}: {by}", release.name()));
    match (has, versions) {
        (true, _) => {
            let version = format!("\"{}\"", release.name());
            draft.params.insert(0, ("version".to_owned(), version));
        }
        (false, Some(_)) => draft.assumed.push(format!(
            "the scheduler's rules are those of its newest release here: {} of {} is not there",
            draft.policy,
            release.name()
        )),
        (false, None) => {}
    }
}

/// Domains of whose load nothing tells.
#[derive(Debug, Default)]
struct Guessed {
    /// They are taken to be as busy as the options say.
    busy: BTreeMap<u16, String>,
    /// They are taken to idle.
    idle: BTreeMap<u16, String>,
    /// They are taken to have one vcpu.
    one_vcpu: BTreeMap<u16, String>,
    /// Some domain works in stretches.
    stretches: bool,
}

impl Guessed {
    /// Domain `id` is called `name`.
    fn name(&mut self, id: u16, name: &str) {
        for names in [&mut self.busy, &mut self.idle, &mut self.one_vcpu] {
            if let Some(own) = names.get_mut(&id) {
                name.clone_into(own);
            }
        }
    }
}

/// What tells of the demand of a domain.
struct Demand<'a> {
    lists: &'a HostLists,
    options: &'a ListOptions,
    id: u16,
    load: Option<&'a (Used, By)>,
}

impl Demand<'_> {
    /// What the domain asks for with so many vcpus.
    fn demanded(&self, vcpus: u16, guessed: &mut Guessed) -> Demanded {
        let id = self.id;
        let of_list = self.lists.domains.get(&id).and_then(|d| d.vcpus);
        let of_sched = self.lists.sched.as_ref();
        let of_sched = of_sched.and_then(|sched| sched.domains.get(&id)?.vcpus.keys().next());
        if of_list.is_none() && of_sched.is_none() {
            guessed.one_vcpu.insert(id, String::new());
        }
        if self.lists.paused.contains(&id) {
            return remark("It is paused.".to_owned());
        }
        let is_on = |vcpu: &u16| !self.lists.offline.contains(&(id, *vcpu));
        let online: Vec<u16> = (0..vcpus).filter(is_on).collect();
        let each = |all: u64| all / (online.len() as u64).max(1);
        let by_vcpu = |of: &dyn Fn(u16) -> u64| {
            let all = (0..vcpus).map(|v| if is_on(&v) { of(v) } else { 0 });
            all.collect::<Vec<u64>>()
        };
        let (mut demanded, loads) = match self.load {
            Some((used, by)) => {
                let loads = match used {
                    Used::Vcpus(own) => by_vcpu(&|v| own.get(&v).copied().unwrap_or(0)),
                    Used::Together(sum) => by_vcpu(&|_| each(*sum)),
                };
                (remark(told(used, *by, online.len())), loads)
            }
            None if id == 0 => {
                guessed.idle.insert(id, String::new());
                return remark("Assumed: it idles.".to_owned());
            }
            None => {
                guessed.busy.insert(id, String::new());
                let percent = self.options.load_pct;
                let what = match percent {
                    100 => "takes all the time that it can get".to_owned(),
                    _ => format!("is busy for {percent} % of the time"),
                };
                let load = u64::from(percent) * 10;
                (
                    remark(format!("Assumed: each vcpu {what}.")),
                    by_vcpu(&|_| load),
                )
            }
        };
        demanded.tasks = tasks(&loads, self.options.work_us);
        guessed.stretches |= loads.iter().any(|load| (IDLES..NEVER_RESTS).contains(load));
        demanded
    }
}

fn remark(text: String) -> Demanded {
    Demanded {
        remarks: vec![text],
        tasks: Vec::new(),
    }
}

/// What a domain used, in words.
fn told(used: &Used, by: By, vcpus: usize) -> String {
    let percent = |load: u64| format!("{}.{} %", load / 10, load % 10);
    let sum = percent(used.sum());
    let how = match used {
        Used::Together(_) if vcpus > 1 => ", taken to be spread evenly over its vcpus",
        _ => "",
    };
    match by {
        By::Lists(ms) => {
            let seconds = tenths(ms);
            format!("It used {sum} of one pcpu in the {seconds} s between the lists{how}.")
        }
        By::Uptime(seconds) => format!(
            "It used {sum} of one pcpu on average since it started {}.{} hours ago{how}.",
            seconds / 3_600,
            seconds % 3_600 / 360
        ),
    }
}

/// Tasks of vcpus that are so busy (thousandths), where a stretch of work is so long on average.
fn tasks(loads: &[u64], work_us: u64) -> Vec<Vec<Setting>> {
    let all_alike = loads.len() > 1 && loads.iter().all(|load| *load == loads[0]);
    let count = if all_alike { 1 } else { loads.len() };
    let mut tasks = Vec::new();
    for (vcpu, load) in loads.iter().enumerate().take(count) {
        let Some(work) = work(*load, work_us) else {
            continue;
        };
        let mut task = Vec::new();
        if !all_alike && loads.len() > 1 {
            task.push(("name", format!("\"v{vcpu}\"")));
        }
        task.extend(work);
        task.push(match all_alike {
            true => ("vcpu", "\"all\"".to_owned()),
            false => ("vcpu", vcpu.to_string()),
        });
        tasks.push(task);
    }
    tasks
}

/// The workload of a vcpu that is so busy; none for one that idles.
fn work(load: u64, work_us: u64) -> Option<Vec<Setting>> {
    let workload = |name: &str| ("workload", format!("\"{name}\""));
    match load {
        ..IDLES => None,
        NEVER_RESTS.. => Some(vec![workload("burn")]),
        _ => {
            let of = |us: u64| format!("{{ distribution = \"exponential\", mean_us = {us} }}");
            let rest = work_us * (1_000 - load) / load;
            Some(vec![
                workload("on-off"),
                ("on", of(work_us.max(1))),
                ("off", of(rest.max(1))),
            ])
        }
    }
}

/// Which settings are from which list.
fn say(draft: &mut Draft, lists: &HostLists, sources: &Sources, loads: &BTreeMap<u16, (Used, By)>) {
    draft.say_taken();
    draft.say_pins(sources);
    if lists.pools.len() > 1 {
        draft.assumed.push(format!(
            "one pool: settings are of {} ({}), of which those of the first hold for all",
            lists.pools.len(),
            lists.pools.iter().cloned().collect::<Vec<_>>().join(", ")
        ));
    }
    let by = |is_one: fn(&By) -> bool| loads.values().any(|(_, by)| is_one(by));
    if by(|by| matches!(by, By::Lists(_))) {
        draft
            .derived
            .push("how busy domains are: the column Time(s) of two lists".to_owned());
    }
    if by(|by| matches!(by, By::Uptime(_))) {
        draft.derived.push(
            "how busy domains are on average since they started: the column Time(s) and `xl uptime`"
                .to_owned(),
        );
    }
}

/// What is assumed of the work of domains.
fn say_loads(
    draft: &mut Draft,
    options: &ListOptions,
    loads: &BTreeMap<u16, (Used, By)>,
    guessed: &Guessed,
) {
    let names = |of: &BTreeMap<u16, String>| {
        let names: Vec<&str> = of.values().map(String::as_str).collect();
        write::listed(&names)
    };
    let assumed = &mut draft.assumed;
    if !guessed.busy.is_empty() {
        let what = match options.load_pct {
            100 => "takes all the time that it can get".to_owned(),
            percent => format!("is busy for {percent} % of the time"),
        };
        assumed.push(format!(
            "each vcpu of {} {what} (--load {}): nothing tells the load",
            names(&guessed.busy),
            options.load_pct
        ));
    }
    if !guessed.one_vcpu.is_empty() {
        let who = names(&guessed.one_vcpu);
        assumed.push(format!("1 vcpu for {who}: nothing tells how many"));
    }
    if !guessed.idle.is_empty() {
        assumed.push(format!(
            "{} idles: nothing tells the load",
            names(&guessed.idle)
        ));
    }
    if !loads.is_empty() {
        assumed.push(
            "who used so much asked for no more: a domain that waited for a pcpu asked for more \
             than it used"
                .to_owned(),
        );
    }
    if guessed.stretches {
        assumed.push(format!(
            "work comes in stretches of {} us on average, with rests between them, both \
             exponentially distributed (--work-us)",
            options.work_us
        ));
    }
    assumed.push("no traffic and no disks, and dom0 works for nobody".to_owned());
    assumed.push(
        "a hypervisor whose work takes no time: set host.profile to a machine like the host"
            .to_owned(),
    );
}

/// What nothing has told, and what would.
fn say_unknown(
    draft: &mut Draft,
    lists: &HostLists,
    loads: &BTreeMap<u16, (Used, By)>,
    guessed: &Guessed,
) {
    let mut first = Vec::new();
    let all: Vec<&str> = guessed
        .busy
        .values()
        .chain(guessed.idle.values())
        .map(String::as_str)
        .collect();
    if !all.is_empty() {
        let how = match lists.times.len() {
            0 | 1 => "`xl list; sleep 10; xl list`, with --interval 10",
            _ => "--interval, the seconds from the first list to the last",
        };
        first.push(format!("the load of {}: {how}", write::listed(&all)));
    }
    first.push(
        "how long a stretch of work is and when it comes, which waits follow from: half a minute of \
         `xentrace` (docs/trace-analysis.md); until then compare --work-us 1000 with 10000"
            .to_owned(),
    );
    let between = loads.values().filter(|(_, by)| matches!(by, By::Lists(_)));
    let used: u64 = between.map(|(used, _)| used.sum()).sum();
    let busy = used / 10 / u64::from(draft.pcpus.max(1));
    if busy >= NEVER_RESTS / 10 {
        first.push(format!(
            "who asked for more than was used: all pcpus were busy for {} % of the time; give \
             `workload = \"burn\"` to who computes without rest",
            busy.min(100)
        ));
    }
    if !guessed.one_vcpu.is_empty() {
        first.push("how many vcpus domains have: `xl list`".to_owned());
    }
    if lists.sched.is_none() {
        let command = match &*draft.policy {
            "credit" => "xl sched-credit",
            "rtds" => "xl sched-rtds",
            _ => "xl sched-credit2",
        };
        first.push(format!("weights and caps: `{command}`"));
    }
    let mut sets = lists.domains.values().map(|d| d.hard.len());
    if sets.all(|n| n == 0) {
        first.push("pins and soft affinity: `xl vcpu-list`".to_owned());
    }
    first.append(&mut draft.unknown);
    draft.unknown = first;
}

/// Commands to go on with.
fn tries(draft: &mut Draft) {
    draft.tries = vec![
        "domio run THIS (shares have to be those of the host)".to_owned(),
        "domio explain THIS".to_owned(),
    ];
    let has_weight = |d: &&Domain| d.id != 0 && d.params.iter().any(|(key, _)| *key == "weight");
    if let Some(first) = draft.domains.iter().find(has_weight) {
        let key = format!("domain.{}.weight", first.name);
        let compare = format!("domio compare THIS --set {key}=256 --set {key}=1024");
        draft.tries.push(compare);
    }
}
