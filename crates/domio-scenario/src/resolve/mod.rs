//! From the document to a [`Plan`]: checks every table, then what concerns several of them.
//!
//! Each table is declared where it is read: the file has the section, the structure with its keys
//! ([`domio_core::keys!`]) and what becomes of them. What devices ask for is declared in their own
//! crates.

mod action;
mod asked;
mod body;
mod controller;
mod cores;
mod domain;
mod equip;
mod group;
mod guard;
pub(crate) mod guest;
mod host;
mod late;
mod names;
mod pool;
mod release;
mod resolved;
mod scheduler;
mod shared;
mod task;
mod together;
mod unused;
mod vary;
mod vcpus;
mod work;

pub(crate) use action::ACTION;
pub(crate) use asked::CONTROLLER;
pub(crate) use body::DOMAIN;
pub(crate) use group::GROUP;
pub(crate) use host::HOST;
pub(crate) use pool::POOL;
pub(crate) use scheduler::SCHEDULER;
pub(crate) use shared::MemberKey;
pub(crate) use task::DefaultNames;
pub(crate) use task::TASK;
pub(crate) use vcpus::VCPU;

use crate::check::{self, Cx, Fields};
use crate::devices::{OF_HOST, around, count};
use crate::parts::Parts;
use crate::plan::Plan;
use crate::value::{Node, Table};
use domio_contract::Policy;
use domio_core::ParamValues;
use domio_core::keys::{
    Key, KeySection, Keys, Need, Nested, Slot, TOP_LEVEL, int, nested, nested_list, text,
};
use domio_vmm::config::{HostConfig, KernelCosts};
use domio_vmm::evtchn::Abi;
use host::{HostKeys, RUN, RunKeys};
use pool::InPools;
use shared::Chosen;

/// The document.
pub(crate) static ROOT: KeySection = KeySection::plain(
    TOP_LEVEL,
    "Keys before the first table, and the tables themselves.",
    &ALL_KEYS,
);

static ALL_KEYS: [Key; count(RootKeys::KEYS, &OF_HOST, BehindDevices::KEYS)] =
    around(RootKeys::KEYS, &OF_HOST, BehindDevices::KEYS);

keys! {
    struct RootKeys {
        title: String = text(), Need::Optional("the file's name"),
            "One line that says what the scenario shows.";
        description: String = text(), Need::Optional("empty"),
            "The story, as long as it needs to be.";
        seed: u64 = int(0, i64::MAX), Need::Int(1),
            "Seed of every random stream. The same file with the same seed gives the same trace.";
        run: Nested = nested(&RUN), Need::Required, "Length of the run.";
        host: Nested = nested(&HOST), Need::Optional("one pcpu of the ideal machine"),
            "The machine.";
        scheduler: Nested = nested(&SCHEDULER), Need::Required, "The scheduling policy.";
        pool: Nested = nested_list(&POOL), Need::Optional("every pcpu is in `Pool-0`"),
            "Cpupools: pcpus with a policy of their own.";
        group: Nested = nested_list(&GROUP), Need::Optional("every domain is at the top"),
            "Groups of domains, one in another.";
    }
}

keys! {
    /// Those that come after the tables of devices.
    struct BehindDevices {
        controller: Nested = nested_list(&CONTROLLER), Need::Optional("nobody looks"),
            "Programs that observe the host at intervals, and change settings.";
        domain: Nested = nested_list(&DOMAIN), Need::Required, "The domains; at least one.";
        action: Nested = nested_list(&ACTION), Need::Optional("nobody intervenes"),
            "Changes by an operator during the run.";
        vary: Nested = nested_list(&vary::VARY),
            Need::Optional("nothing but what is random in the models"),
            "Values that differ from replication to replication.";
    }
}

/// Sections in which a key that stands in the wrong one is looked for, the likeliest first.
pub(crate) fn sections(parts: &Parts) -> Vec<&'static KeySection> {
    let first = [
        &RUN, &HOST, &SCHEDULER, &POOL, &DOMAIN, &TASK, &VCPU, &GROUP,
    ];
    let of_devices = parts
        .kinds()
        .flat_map(|kind| kind.of_domain.iter().chain(kind.of_host));
    let of_devices = of_devices.filter_map(|key| key.kind.section());
    let all = first.into_iter().chain(of_devices);
    all.chain([&ACTION, &CONTROLLER, &ROOT]).collect()
}

/// Checks `root` and makes a plan of it. The plan is of use only if `cx` has no problem then.
pub(crate) fn resolve(cx: &mut Cx<'_>, root: &Node, members: &[MemberKey]) -> Option<Plan> {
    let empty = Table::default();
    let table = root.as_table().unwrap_or(&empty);
    let top = check::table(cx, table, root.span, &ROOT, "", None);
    let (keys, behind): (RootKeys, BehindDevices) = (top.read(), top.read());

    let run: RunKeys = section(cx, &top, &keys.run, &RUN, None).read();
    let host = section(cx, &top, &keys.host, &HOST, None);
    let host_keys: HostKeys = host.read();
    let topology = host::topology(cx, &host, &host_keys);
    let policy = scheduler(cx, &top, &keys, &behind);
    let chosen = policy.as_ref().map(|(policy, params)| Chosen {
        policy,
        params,
        pool: 0,
    });
    if let Some(chosen) = chosen {
        release::has_policy(cx, &host, &host_keys, chosen.policy);
        release::without_effect(cx, table, chosen);
    }
    let pools = pool::pools(cx, &top, &keys.pool, chosen, topology.as_ref());
    pool::fit(cx, &pools, (&host, &host_keys), (&top, &behind.controller));
    let groups = group::groups(cx, &top, &keys.group, chosen);
    let in_pools = InPools {
        first: chosen,
        pools: &pools,
        groups: &groups,
    };
    let asked = asked::asked(cx, &top, &behind.controller);
    let parts = cx.parts;
    let sides = parts.kinds().map(|kind| (kind.open)(cx, &top));
    cx.known.devices = sides.collect();
    let slot = &behind.domain;
    let mut resolved = domain::domains(cx, &top, slot, in_pools, topology.as_ref(), members);
    let (machine, version) = (host_keys.machine(), host_keys.version());
    let (devices, idle) = equip::devices(cx, (machine, version), &resolved);
    let kernel = host::kernel(cx, &host, &host_keys);
    let abi = version.map(Abi::usual);
    let kernel = kernel.unwrap_or(KernelCosts::FREE);
    equip::equip(cx, &devices, kernel, abi, &mut resolved);
    let priced = host::priced(cx, &host, &host_keys);
    let vary = vary::vary(cx, &top, &behind.vary);
    let controllers = controller::controllers(cx, &asked, machine, chosen, &devices, &resolved);
    let actions = action::actions(
        cx,
        &top,
        &behind.action,
        in_pools,
        topology.as_ref(),
        &resolved,
    );
    let (duration, warmup) = (run.duration.get(), run.warmup.get());
    if let (Some(duration), Some(warmup)) = (duration, warmup) {
        late::late(cx, duration + warmup, &resolved, &actions);
    }
    unused::unused(cx, host_keys.presumed_free(), (&devices, idle), &resolved);
    let complete = resolved.complete;
    scheduler::hears_nothing(cx, chosen.map(|chosen| chosen.policy), complete, &devices);

    let vcpus = (&resolved, &*actions);
    let cores = cores::whole_cores(cx, (&host, &host_keys), topology.as_ref(), &pools, vcpus);
    let host_pools = pool::configs(&pools, &resolved);
    let host_groups = group::configs(&groups, &resolved);
    let domains = resolved.domains.into_iter().map(|d| d.config).collect();
    let mut config = HostConfig {
        topology: topology?,
        version: version?,
        profile: priced?,
        domains,
        groups: host_groups,
        pools: host_pools,
        actions,
        controllers: Vec::new(),
    };
    controllers
        .into_iter()
        .for_each(|c| config.add_controller(c));
    let (policy, params) = policy?;
    Some(Plan {
        title: keys.title.get(),
        description: keys.description.get(),
        seed: keys.seed.get()?,
        warmup: warmup?,
        duration: duration?,
        policy,
        params,
        pools: pools.into_iter().map(|p| (p.policy, p.params)).collect(),
        cores: cores?,
        host: config,
        devices: devices.into_iter().map(|d| d.config).collect(),
        replays: resolved.replays,
        inputs: resolved.inputs,
        vary: vary?,
    })
}

/// The policy of `[scheduler]` with the values of its parameters.
fn scheduler(
    cx: &mut Cx<'_>,
    top: &Fields,
    keys: &RootKeys,
    behind: &BehindDevices,
) -> Option<(Policy, ParamValues)> {
    let policy = scheduler::policy_of(cx, top, [&keys.scheduler, &behind.domain]);
    let scheduler = section(cx, top, &keys.scheduler, &SCHEDULER, policy.as_ref());
    let policy = policy?;
    let values = scheduler.values(ParamValues::defaults(policy.descriptor.params));
    scheduler::params_agree(cx, &scheduler, &policy, &values);
    Some((policy, values))
}

/// The fields of the table at `slot`, or of an empty one.
fn section(
    cx: &mut Cx<'_>,
    top: &Fields,
    slot: &Slot<Nested>,
    section: &'static KeySection,
    policy: Option<&Policy>,
) -> Fields {
    match top.node(slot).and_then(|n| Some((n, n.as_table()?))) {
        Some((node, table)) => check::table(cx, table, node.span, section, slot.name, policy),
        None => check::absent(section, slot.name, top.header),
    }
}
