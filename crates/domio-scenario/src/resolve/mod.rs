//! From the document to a [`Plan`]: checks every table, then what concerns several of them.

mod action;
mod controller;
mod disk;
mod domain;
mod driver;
mod equip;
mod flow;
mod guard;
mod names;
mod network;
mod task;
mod together;
mod vary;
mod vcpus;
mod vif;
mod web;

use crate::check::{self, Cx, Fields};
use crate::keys::costs::{HOST_COSTS, host_costs};
use crate::keys::{HOST, ROOT, RUN, SCHEDULER};
use crate::plan::Plan;
use crate::problem::{Code, Problem};
use crate::source::Span;
use crate::suggest::nearest;
use crate::value::{Node, Table, Value};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::{ParamSpec, ParamValues, Topology, XenVersion};
use domio_sched::{Conflict, Policy};
use domio_vmm::config::HostConfig;
use domio_vmm::profile::Profile;
use equip::Devices;

/// A key of one member of a group of domains, set by an override.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MemberKey {
    /// Name of the member (`g3`).
    pub member: String,
    pub entry: crate::value::Entry,
}

/// What to say of a vcpu that a domain has not.
const VCPUS_FROM_0: &str =
    "vcpus are counted from 0; `vcpus` of the domain says how many there are";

/// The policy with the values of its parameters.
#[derive(Clone, Copy)]
struct Chosen<'a> {
    policy: &'a Policy,
    params: &'a ParamValues,
}

/// Checks `root` and makes a plan of it. The plan is of use only if `cx` has no problem then.
pub(crate) fn resolve(cx: &mut Cx<'_>, root: &Node, members: &[MemberKey]) -> Option<Plan> {
    let empty = Table::default();
    let table = root.as_table().unwrap_or(&empty);
    let top = check::table(cx, table, root.span, &ROOT, "", None);

    let run = section(cx, &top, "run", &RUN, None);
    let host = section(cx, &top, "host", &HOST, None);
    let policy = policy_of(cx, &top);
    let scheduler = section(cx, &top, "scheduler", &SCHEDULER, policy.as_ref());
    let topology = topology(cx, &host);
    let params = policy.map(|p| {
        let values = scheduler.values(ParamValues::defaults(p.descriptor.params));
        params_agree(cx, &scheduler, &p, &values);
        values
    });

    let chosen = policy.as_ref().zip(params.as_ref());
    let chosen = chosen.map(|(policy, params)| Chosen { policy, params });
    let asked = controller::asked(cx, &top);
    cx.known.networks = network::names(cx, &top);
    let mut resolved = domain::domains(cx, &top, chosen, topology.as_ref(), members);
    let networks = network::networks(cx, &top, &host, &resolved);
    let disks = disk::disks(cx, &host, &resolved);
    let devices = Devices::new(networks, disks);
    let profile = host.text("profile");
    let profile = profile.and_then(|name| Profile::by_name(&name));
    let version = host.text("xen");
    let version = version.and_then(|name| XenVersion::from_name(&name));
    devices.equip(cx, &top, &host, &mut resolved);
    let own_costs = check::inner(cx, &host, "costs", &HOST_COSTS);
    let priced = profile.and_then(|profile| {
        let mut priced = *profile;
        host_costs(&own_costs, &mut priced)?;
        Some(priced)
    });
    let vary = vary::vary(cx, &top);
    let controllers = controller::controllers(cx, &asked, profile, chosen, &devices, &resolved);
    let actions = action::actions(cx, &top, chosen, topology.as_ref(), &resolved);
    let (duration, warmup) = (run.time("duration"), run.time("warmup"));
    if let (Some(duration), Some(warmup)) = (duration, warmup) {
        late(cx, duration + warmup, &resolved, &actions);
    }

    if let Some(policy) = &policy {
        hears_nothing(cx, policy, &resolved);
    }
    let domains = resolved.domains.into_iter().map(|d| d.config).collect();
    let mut config = HostConfig {
        topology: topology?,
        version: version?,
        profile: priced?,
        domains,
        groups: Vec::new(),
        actions,
        controllers: Vec::new(),
    };
    controllers
        .into_iter()
        .for_each(|c| config.add_controller(c));
    Some(Plan {
        title: top.text("title"),
        description: top.text("description"),
        seed: u64::try_from(top.int("seed")?).ok()?,
        warmup: warmup?,
        duration: duration?,
        policy: policy?,
        params: params?,
        host: config,
        devices: devices.configs(),
        replays: resolved.replays,
        vary: vary?,
    })
}

/// The fields of the table `name`, or of an empty one.
fn section<'t>(
    cx: &mut Cx<'_>,
    top: &Fields<'t>,
    name: &str,
    section: &'static check::Section,
    policy: Option<&Policy>,
) -> Fields<'t> {
    match top.node(name).and_then(|n| Some((n, n.as_table()?))) {
        Some((node, table)) => check::table(cx, table, node.span, section, name, policy),
        None => check::absent(section, name, top.header),
    }
}

/// The policy that `[scheduler]` names; its problems are reported with the table. If it names none
/// that exists, the one that is probably meant, so that the other mistakes are found as well.
fn policy_of(cx: &mut Cx<'_>, top: &Fields<'_>) -> Option<Policy> {
    let table = top.node("scheduler").and_then(Node::as_table);
    let entry = table.and_then(|t| t.get("policy"));
    let name = entry.and_then(|e| e.node.as_text());
    let called = |name: &str| cx.policies.iter().find(|p| p.descriptor.name == name);
    if let Some(policy) = name.and_then(called) {
        return Some(*policy);
    }
    let names = cx.policies.iter().map(|p| p.descriptor.name);
    let near = name.and_then(|name| nearest(name, names)).and_then(called);
    let presumed = near
        .or_else(|| by_parameters(cx.policies, table, top))
        .copied();
    cx.presumed = presumed.is_some();
    presumed
}

/// The policy that has most of the parameters that are given, the first of several; none if no
/// policy has any.
fn by_parameters<'p>(
    policies: &'p [Policy],
    scheduler: Option<&Table>,
    top: &Fields<'_>,
) -> Option<&'p Policy> {
    let domains = match top.node("domain").map(|node| &node.value) {
        Some(Value::Array(nodes)) => nodes.as_slice(),
        _ => &[],
    };
    let domains = domains.iter().filter_map(Node::as_table);
    let has = |specs: &[ParamSpec], table: &Table| {
        let keys = specs.iter().filter(|s| table.get(s.name).is_some());
        keys.count()
    };
    let given = |p: &Policy| {
        let own = scheduler.map_or(0, |t| has(p.descriptor.params, t));
        let of_domains = domains.clone().map(|t| has(p.descriptor.domain_params, t));
        own + of_domains.sum::<usize>()
    };
    let (most, policy) = policies
        .iter()
        .map(|p| (given(p), p))
        .rev()
        .max_by_key(|(given, _)| *given)?;
    (most > 0).then_some(policy)
}

fn topology(cx: &mut Cx<'_>, host: &Fields<'_>) -> Option<Topology> {
    let count = |name| host.int(name).and_then(|n| u16::try_from(n).ok());
    let (sockets, cores, threads) = (count("sockets")?, count("cores")?, count("threads")?);
    let topology = Topology::new(sockets, cores, threads);
    if topology.is_none() {
        let pcpus = u64::from(sockets) * u64::from(cores) * u64::from(threads);
        let culprit = ["cores", "sockets", "threads"]
            .into_iter()
            .find(|k| host.field(k).is_some());
        let culprit = culprit.unwrap_or("cores");
        cx.push(
            Problem::new(
                Code::Limit,
                host.span(culprit),
                format!("{sockets} x {cores} x {threads} are {pcpus} pcpus"),
            )
            .key(host.key_path(culprit))
            .found(pcpus.to_string())
            .expected(format!("{MAX_PCPUS} pcpus at most"))
            .hint("`cores` counts per socket, and `threads` per core"),
        );
    }
    topology
}

/// What no single range can tell about the policy's parameters.
fn params_agree(cx: &mut Cx<'_>, scheduler: &Fields<'_>, policy: &Policy, values: &ParamValues) {
    // Values that were refused are at their defaults here, so that they cannot clash.
    if let Err(conflict) = (policy.validate)(values) {
        let given = given(scheduler);
        tell(cx, conflict, &given, scheduler.header, &scheduler.path);
    }
}

/// Where each parameter was given.
type GivenParams = Vec<(&'static str, Span)>;

fn given(fields: &Fields<'_>) -> GivenParams {
    fields
        .params
        .iter()
        .map(|g| (g.spec.name, g.span))
        .collect()
}

/// Tells of parameters of the table at `path` that do not go together. The one to change is blamed
/// if it was given, else the one that it clashes with.
fn tell(cx: &mut Cx<'_>, conflict: Conflict, given: &GivenParams, header: Span, path: &str) {
    let place = |name: &str| given.iter().find(|(n, _)| *n == name);
    let blamed = place(conflict.param).or_else(|| place(conflict.with));
    let (name, span) = blamed.copied().unwrap_or((conflict.param, header));
    cx.push(
        Problem::new(Code::Conflict, span, conflict.problem)
            .key(format!("{path}.{name}"))
            .found(crate::problem::quote(cx.text(span)))
            .expected(conflict.expected)
            .hint(conflict.hint),
    );
}

/// Tells of a policy that needs to know of packets in a host where there are none.
fn hears_nothing(cx: &mut Cx<'_>, policy: &Policy, resolved: &domain::Resolved) {
    let no_packets = resolved.domains.iter().all(|d| d.vifs.is_empty());
    if policy.descriptor.needs.packets && resolved.complete && no_packets {
        cx.notices.push(format!(
            "{} decides by packets, and no domain has an interface: nobody is preferred",
            policy.descriptor.name
        ));
    }
}

/// Tells of what can never happen because the run is over before.
fn late(
    cx: &mut Cx<'_>,
    end: domio_core::Duration,
    resolved: &domain::Resolved,
    actions: &[(domio_core::Instant, domio_vmm::config::Action)],
) {
    let end = domio_core::Instant::ZERO + end;
    for domain in resolved.domains.iter().filter(|d| d.config.start >= end) {
        cx.notices.push(format!(
            "domain {} starts at {}, after the end of the run at {end}",
            domain.config.name, domain.config.start
        ));
    }
    for domain in &resolved.domains {
        let flows = domain.vifs.iter().flat_map(|v| &v.flows);
        let flows = flows.filter_map(|flow| flow.configs.first());
        for flow in flows.filter(|f| domain.config.start + f.start >= end) {
            cx.notices.push(format!(
                "a network workload of domain {} begins at {}, after the end of the run at {end}",
                domain.config.name,
                domain.config.start + flow.start
            ));
        }
    }
    for (at, _) in actions.iter().filter(|(at, _)| *at >= end) {
        cx.notices.push(format!(
            "an action at {at} comes after the end of the run at {end}"
        ));
    }
}
