//! Networks as scenarios ask for them: `[network]`, once or several times, and the vifs of domains
//! on each.

use super::chain::{self, Part, called, has_traffic};
use super::costs::{NETWORK_COSTS, NETWORK_WRITERS};
use super::flow::{Flow, flow};
use super::network::{Driven, NETWORK, NetworkTable, VhostThreads};
use super::traffic::TRAFFIC;
use super::vifs::{OfDomain, Vif, vifs};
use crate::host::{NetCosts, NetworkConfig, VifConfig};
use crate::writers::WriterCosts;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::keys::{
    Checker, Code, KeyReader, KeyTable, Keys, Mistake, Named, NamedTables, Need, Nested, Span,
    TableNames, nested_any, quote,
};
use domio_vmm::Hardware;
use domio_vmm::bus::side::{
    DeviceHost, DeviceKind, DevicePart, DeviceSide, DeviceTask, DeviceThread, DeviceUsers,
    DeviceWork, Devices, Equipped, Evtchn, KernelThread, Placing, ServingThread, who,
};
use domio_vmm::config::{DomainKind, KernelCosts, KvmThread};

/// Networks, among the devices that scenarios can ask for.
pub const fn networks<C: From<Box<NetworkConfig>>>() -> DeviceKind<C> {
    DeviceKind {
        of_host: OfHost::KEYS,
        of_domain: OfDomain::KEYS,
        workloads: &TRAFFIC,
        open: |cx, document| Box::new(Networks::open(cx, document)),
    }
}

keys! {
    struct OfHost {
        network: Nested = nested_any(&NETWORK),
            Need::Optional("the default one if a domain has a vif, else none"),
            "Card and line; with two brackets, `[[network]]`, any number of networks.";
    }
}

static NAMED: NamedTables = NamedTables {
    what: "network",
    usual: None,
    missing: "there is no network",
    nameless: "no `network`: none has a name",
    hint: "add a [[network]] with that `name`",
};

/// The costs of all networks, once one has looked for them.
type Costs = Option<(NetCosts, WriterCosts)>;

/// The networks of a scenario.
struct Networks {
    /// Those of the text; the default one where there is none.
    tables: Vec<Box<dyn KeyTable>>,
    names: TableNames,
    /// Whether the text has any.
    given: bool,
}

impl Networks {
    fn open(cx: &mut dyn Checker, document: &dyn KeyTable) -> Self {
        let slot = OfHost::read(document).network;
        let mut tables = document.tables(cx, &slot, &NETWORK);
        let names = TableNames::read(cx, &tables, &NAMED);
        let given = !tables.is_empty();
        if !given {
            tables.push(cx.absent(&NETWORK, slot.name, document.header()));
        }
        Networks {
            tables,
            names,
            given,
        }
    }

    /// The network number `index`, if a domain has a vif on it and nothing is wrong.
    fn network(
        &self,
        cx: &mut dyn Checker,
        index: usize,
        host: &DeviceHost<'_>,
        known_costs: &mut Costs,
    ) -> Option<Part> {
        let table = &*self.tables[index];
        let keys = NetworkTable::read(table);
        let all = host.parts::<Vec<Vif>>().enumerate();
        let of_domains = all.flat_map(|(i, vifs)| vifs.iter().map(move |vif| (i, vif)));
        let own = of_domains.filter(|(_, vif)| vif.network == index);
        let own: Vec<(usize, &Vif)> = own.collect();
        let places: Vec<usize> = own.iter().map(|(i, _)| *i).collect();
        let (mut vifs, mut all, mut good) = (Vec::new(), Vec::new(), true);
        for (i, vif) in own {
            let id = host.domains.all[i].config.id;
            let mut config = vif.config(id, keys.rx_target(), |flow, to| {
                let place = other_end(cx, (flow, to), i, &places, host);
                good &= place.is_some();
                place
            });
            if host.kvm {
                config.pair = vhost_of(host, i);
            }
            vifs.push(config);
            all.push((i, vif.span));
        }
        let version = host.version;
        let abi = version.and_then(|version| {
            let mut reader = KeyReader {
                cx: &mut *cx,
                keys: table,
            };
            keys.abi(&mut reader, version)
        });
        let slot = keys.driver();
        let users = DeviceUsers {
            what: "vif",
            key: table.path_of(slot),
            says: "`driver` of [network]",
            elsewhere: "network workloads in other domains",
            chosen: table.place(slot.name).map(|place| place.value),
            all,
        };
        let mut reader = KeyReader {
            cx: &mut *cx,
            keys: table,
        };
        let fits = keys.fits(&mut reader, host.kvm);
        // A name that is bad was told.
        let named = table.named(slot);
        let driver = match host.kvm {
            true => host.kernel.filter(|_| fits),
            false => named.and_then(|named| host.domains.driver(cx, named.as_ref(), &users)),
        };
        if vifs.is_empty() {
            if self.given {
                cx.note(self.of_no_use(index));
            }
            return None;
        }
        if let Some(driver) = driver {
            host.domains.serves(cx, driver, &users);
        }
        let config_of = |driver: usize| host.domains.all[driver].config;
        let vcpus = driver.map_or(1, |driver| config_of(driver).vcpus.len() as u16);
        idle_keys(cx, &keys, (&vifs, vcpus), host);
        let machine = host.machine?;
        let (costs, writers) = *known_costs.get_or_insert_with(|| costs(cx, machine));
        let with = Driven {
            version,
            driver: driver.map(|driver| config_of(driver).id),
            driver_vcpus: vcpus,
            costs,
            writers,
            switch: KernelCosts::on(machine).switch,
            vhost: host.kvm.then(|| vhost_threads(host, (&keys, table), &vifs)),
            vifs,
        };
        let mut reader = KeyReader {
            cx: &mut *cx,
            keys: table,
        };
        let config = keys.blueprint(&mut reader, with)?;
        let evtchn = Evtchn {
            abi: abi?,
            of: ("network", "`evtchn` and `scan`"),
            key: table.path_of(keys.evtchn()),
            span: table.span(keys.evtchn()),
        };
        let driver = driver.filter(|_| good)?;
        let of_host = (&self.names, host);
        Some(Part {
            index,
            uplink: chain::uplink(cx, &keys, table, (index, driver), of_host)?,
            span: table.span(keys.uplink()),
            key: table.path_of(keys.uplink()),
            config,
            driver,
            users: users.all.into_iter().map(|(i, _)| i).collect(),
            evtchn,
        })
    }

    /// What to say of a network without a vif.
    fn of_no_use(&self, index: usize) -> String {
        match self.names.len() {
            0 | 1 => "no domain has a vif, so [network] does nothing".to_owned(),
            _ => format!(
                "no domain has a vif on {}, so it does nothing",
                called(&self.names, index)
            ),
        }
    }
}

impl<C: From<Box<NetworkConfig>>> DeviceSide<C> for Networks {
    fn work(
        &self,
        cx: &mut dyn Checker,
        table: &dyn KeyTable,
        placing: Option<Placing<'_>>,
    ) -> Option<DeviceWork> {
        let flow = flow(cx, table, placing)?;
        Some(DeviceWork {
            tasks: Some(flow.configs.len()),
            work: Rc::new(flow),
        })
    }

    fn part(
        &self,
        cx: &mut dyn Checker,
        domain: &dyn KeyTable,
        tasks: &[DeviceTask],
        asks: Span,
    ) -> Option<DevicePart> {
        let flows = tasks.iter().map(DeviceTask::work::<Flow>);
        let vifs = vifs(cx, domain, &flows.collect::<Vec<_>>(), &self.names, asks)?;
        let flows = vifs.iter().flat_map(|vif| &vif.flows);
        let first = flows.filter_map(|flow| flow.configs.first());
        let read = |table| NetworkTable::read(table);
        let all = self.tables.iter().map(|table| (read(&**table), table));
        let thread = DeviceThread {
            serves: ServingThread::Kernel("vhost"),
            kernel: all
                .map(|(keys, table)| keys.card_threads(&**table))
                .collect(),
            kworkers: (self.tables.first()).is_some_and(|table| read(&**table).has_kworkers()),
        };
        Some(DevicePart {
            threads: vec![thread; vifs.len()],
            ports: vifs.len(),
            begins: first.map(|f| ("a network workload", f.start)).collect(),
            part: Rc::new(vifs),
        })
    }

    fn devices(&self, cx: &mut dyn Checker, host: &DeviceHost<'_>) -> Devices<C> {
        let mut costs = None;
        let all = 0..self.tables.len();
        let parts = all.filter_map(|index| self.network(cx, index, host, &mut costs));
        let parts: Vec<Part> = parts.collect();
        let parts = match chain::circle(cx, &parts) {
            true => Vec::new(),
            false => parts,
        };
        let devices = chain::join(parts, host);
        let unused = unused(&devices, host);
        let all = devices.into_iter();
        let all = all.map(|(config, device)| device.made_of(C::from(Box::new(config))));
        Devices {
            all: all.collect(),
            unused,
        }
    }
}

/// The vhost thread of the domain with index `guest`, as a vcpu of the kernel's threads.
fn vhost_of(host: &DeviceHost<'_>, guest: usize) -> Option<u16> {
    let guest = host.domains.all[guest].config;
    let is_it =
        |thread: &KvmThread| thread.of == Some(guest.id) && thread.name.starts_with("vhost");
    threads(host)
        .iter()
        .position(is_it)
        .map(|place| place as u16)
}

/// The threads that serve `vifs` of a network with these `keys`.
fn vhost_threads(
    host: &DeviceHost<'_>,
    (keys, table): (&NetworkTable, &dyn KeyTable),
    vifs: &[VifConfig],
) -> VhostThreads {
    let last = vifs.iter().filter_map(|vif| vif.pair).max();
    let kworkers = keys.has_kworkers();
    let card: Vec<u16> = match keys.card_threads(table) {
        KernelThread::Named(name) => thread_called(host, name).into_iter().collect(),
        KernelThread::Softirqs { pcpus, .. } => {
            let all = pcpus.iter().map(KvmThread::softirqd);
            all.filter_map(|name| thread_called(host, &name)).collect()
        }
    };
    let first = card
        .first()
        .map(|thread| &threads(host)[usize::from(*thread)]);
    VhostThreads {
        threads: last.unwrap_or(0) + 1,
        softirqs: first.and_then(|thread| thread.softirqs),
        card,
        kworkers: kworkers
            .then(|| thread_called(host, "kworker/0:1"))
            .flatten(),
    }
}

/// What is declared in vain with `vifs`, and a driver domain of `vcpus` vcpus.
fn idle_keys(
    cx: &mut dyn Checker,
    keys: &NetworkTable,
    (vifs, vcpus): (&[VifConfig], u16),
    host: &DeviceHost<'_>,
) {
    if host.kvm {
        if let Some(why) = keys.irq_pcpus_of_no_use() {
            cx.note(why);
        }
        return;
    }
    for (key, why) in keys.idle(vifs, vcpus) {
        cx.note(format!("`{key}` of [network] does nothing: {why}"));
    }
}

/// The thread of the kernel called `name`, as a vcpu of those.
fn thread_called(host: &DeviceHost<'_>, name: &str) -> Option<u16> {
    let place = threads(host).iter().position(|thread| thread.name == name);
    place.map(|place| place as u16)
}

/// The kernel's threads on a host with KVM.
fn threads<'h>(host: &DeviceHost<'h>) -> &'h [KvmThread] {
    match host
        .kernel
        .map(|kernel| &host.domains.all[kernel].config.kind)
    {
        Some(DomainKind::Threads(threads)) => threads,
        _ => &[],
    }
}

/// Networks without traffic, and vifs that something is said of, that no workload uses, and that
/// lead to nobody behind. An empty table asks for a vif that nothing goes through.
fn unused(devices: &[(NetworkConfig, Equipped<()>)], host: &DeviceHost<'_>) -> Vec<String> {
    let networks = || devices.iter().map(|(config, _)| config);
    let behind = networks().flat_map(|config| &config.behind);
    let behind: Vec<_> = behind.map(|b| host.domains.with_id(b.driver)).collect();
    let all = host.parts::<Vec<Vif>>().enumerate();
    let idle = all.filter(|(i, vifs)| {
        let mut said = vifs.iter().filter(|vif| vif.is_described());
        !behind.contains(&Some(*i)) && said.any(|vif| vif.flows.is_empty())
    });
    let names = idle.map(|(i, _)| host.domains.all[i].config.name.as_str());
    let vifs = who(&names.collect::<Vec<_>>()).map(|(who, many)| match many {
        true => format!("{who} have vifs that no workload uses"),
        false => format!("{who} has a vif that no workload uses"),
    });
    let networks = networks().filter_map(|config| idle_network(config, host));
    networks.chain(vifs).collect()
}

/// What to say of a network, with those behind it, whose vifs no workload uses.
fn idle_network(network: &NetworkConfig, host: &DeviceHost<'_>) -> Option<String> {
    if has_traffic(network) {
        return None;
    }
    let driver = host.domains.with_id(network.driver);
    let driver = driver.map_or("?", |i| host.domains.all[i].config.name.as_str());
    Some(format!(
        "no workload sends anything through the card of {driver}, so it and the vifs behind it do \
         nothing"
    ))
}

/// The place among the vifs of a network, which are those of the domains `places`, of the one at
/// the other end of `flow`, which domain `from` has; `None` when there is none, which is told.
fn other_end(
    cx: &mut dyn Checker,
    (flow, to): (&Flow, &Named),
    from: usize,
    places: &[usize],
    host: &DeviceHost<'_>,
) -> Option<u16> {
    let Named { name, span, .. } = to;
    let domains = host.domains.by_name.get(name);
    let domains = domains.map_or(&[][..], Vec::as_slice);
    let place = match domains {
        [only] if *only != from => places.iter().position(|domain| domain == only),
        _ => None,
    };
    if place.is_none() {
        let (what, hint) = match domains {
            [] => (
                format!("there is no domain `{}`", quote(name)),
                "the name of another domain",
            ),
            [only] if *only == from => (
                "a domain at both ends of one flow".to_owned(),
                "the name of another domain",
            ),
            [_] => (
                format!("`{}` has no vif on the network", quote(name)),
                "give that domain a vif: `vif = {}`",
            ),
            _ => (
                format!("`{}` is a group", quote(name)),
                "name one of its members, which are numbered from 1",
            ),
        };
        cx.tell(
            Mistake::new(Code::Conflict, *span, what)
                .key(format!("{}.to", flow.path))
                .found(quote(name))
                .expected("another domain with a vif on the same network")
                .hint(hint),
        );
    }
    place.map(|place| place as u16)
}

/// What work on packets costs.
fn costs(cx: &mut dyn Checker, machine: &Hardware) -> (NetCosts, WriterCosts) {
    let tables = [&NETWORK_COSTS, &NETWORK_WRITERS];
    if tables.iter().all(|table| machine.table(table).is_some()) {
        return (NetCosts::on(machine), WriterCosts::beside(machine));
    }
    cx.note(format!(
        "the hardware profile {} does not know what a network costs: its work takes no time",
        machine.profile.name
    ));
    (NetCosts::FREE, WriterCosts::FREE)
}
