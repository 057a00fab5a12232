//! `[[domain]]`: from tables to domains with vcpus and tasks.

use super::disk::{self, Disk};
use super::names::Names;
use super::task::{self, DiskCopy, Task, Work};
use super::vcpus::{self, Own};
use super::vif::{self, Vif};
use super::{Chosen, GivenParams, MemberKey, given, tell, together};
use crate::amount::show_pcpus;
use crate::check::{self, Checked, Cx, Fields};
use crate::guests::{self, Os};
use crate::keys::{DOMAIN, GUEST};
use crate::limits::{MAX_TASKS, MAX_VCPUS};
use crate::plan::Replay;
use crate::problem::{Code, Problem};
use crate::source::Span;
use crate::value::{Node, Table, Value};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamSpec, ParamValues, Topology};
use domio_sched::Policy;
use domio_vmm::config::{
    DomainConfig, GuestConfig, KernelCosts, KernelTick, ProcessOrder, TaskConfig, VcpuConfig,
    Workload,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A domain with what checking actions needs to know.
pub(super) struct Domain {
    pub config: DomainConfig,
    pub span: Span,
    pub vifs: Vec<Vif>,
    pub disk: Option<Disk>,
    /// Tasks that go through the disk.
    pub copies: Vec<(Task, DiskCopy)>,
    /// By controller: parameters that it has of the domain, if any were given.
    pub controlled: Vec<Option<Controlled>>,
}

/// Parameters of a domain for a controller.
#[derive(Clone)]
pub(super) struct Controlled {
    pub params: ParamValues,
    /// Where they were given.
    pub given: GivenParams,
    /// Path of the domain's table.
    pub path: String,
}

/// All domains.
#[derive(Default)]
pub(super) struct Resolved {
    pub domains: Vec<Domain>,
    pub replays: Vec<Replay>,
    /// Domains by name, and groups by theirs.
    pub by_name: BTreeMap<String, Vec<usize>>,
    /// Whether the name of every domain of the text is known.
    pub complete: bool,
}

/// One `[[domain]]` after its own checks.
struct Group<'t> {
    node: &'t Node,
    path: String,
    name: String,
    name_span: Span,
    /// `None` for a single domain that bears the name itself.
    count: Option<usize>,
    /// Id of its first member, if it was given.
    id: Option<i64>,
    id_span: Span,
    /// `None` when something in it was refused; its names count all the same.
    body: Option<Body>,
}

/// What all members of a group share.
#[derive(Clone)]
struct Body {
    params: ParamValues,
    /// Those that were given, `None` when one was refused.
    given: Option<GivenParams>,
    os: Os,
    vcpus: usize,
    hard: CpuSet,
    soft: CpuSet,
    /// Vcpus that differ.
    own: Vec<Own>,
    tasks: Vec<Task>,
    vifs: Vec<Vif>,
    disk: Option<Disk>,
    controlled: Vec<Option<Controlled>>,
    start: Instant,
    stop: Option<Instant>,
}

impl Body {
    /// Number of tasks of one domain; each request to a server counts.
    fn tasks(&self) -> usize {
        self.tasks
            .iter()
            .map(|t| match &t.work {
                Work::Flow(flow) => flow.configs.len(),
                _ if t.vcpu.is_some() => 1,
                _ => self.vcpus,
            })
            .sum()
    }
}

pub(super) fn domains(
    cx: &mut Cx<'_>,
    top: &Fields<'_>,
    chosen: Option<Chosen<'_>>,
    topology: Option<&Topology>,
    members: &[MemberKey],
) -> Resolved {
    let mut resolved = Resolved {
        complete: !cx.partial,
        ..Resolved::default()
    };
    let Some(Value::Array(nodes)) = top.node("domain").map(|n| &n.value) else {
        resolved.complete = false;
        return resolved;
    };
    let mut groups = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        match group(cx, node, i, chosen.map(|c| c.policy), topology) {
            Some(group) => groups.push(group),
            None => resolved.complete = false,
        }
    }
    for group in &groups {
        let body = group.body.as_ref();
        let notice = body.and_then(|b| {
            let moves = moves(&b.os.config);
            task::notice(&group.name, b.vcpus, &b.tasks, moves)
        });
        cx.notices.extend(notice);
    }
    if !within_limits(cx, &groups) {
        resolved.complete = false;
        return resolved;
    }
    let mut names = Names::default();
    // Ids that are given come first, so that the others go round them.
    for group in &groups {
        if let Some(id) = group.id {
            let path = format!("{}.id", group.path);
            names.take_ids(cx, id, group.count.unwrap_or(1), group.id_span, &path);
        }
    }
    for group in &groups {
        expand(
            cx,
            group,
            &mut names,
            &mut resolved,
            chosen,
            topology,
            members,
        );
    }
    if let (Some(chosen), true) = (chosen, resolved.complete) {
        let group_of = |d: &Domain| groups.iter().find(|g| g.name_span == d.span);
        together::agree(cx, chosen, &resolved, |domain| {
            let group = group_of(domain).expect("every domain is of a group");
            let given = group.body.as_ref().and_then(|b| b.given.clone());
            (
                given.unwrap_or_default(),
                group.node.span,
                group.path.clone(),
            )
        });
    }
    resolved
}

/// Makes the members of `group`.
fn expand(
    cx: &mut Cx<'_>,
    group: &Group<'_>,
    names: &mut Names,
    resolved: &mut Resolved,
    chosen: Option<Chosen<'_>>,
    topology: Option<&Topology>,
    members: &[MemberKey],
) {
    let first = resolved.domains.len();
    let policy = chosen.map(|c| c.policy);
    let mut told = false;
    if group.count.is_some() {
        let path = format!("{}.name", group.path);
        names.take_group(cx, &group.name, group.name_span, &path);
    }
    for i in 0..group.count.unwrap_or(1) {
        let name = match group.count {
            Some(_) => format!("{}{}", group.name, i + 1),
            None => group.name.clone(),
        };
        let of = group.count.map(|_| group.name.as_str());
        let path = format!("{}.name", group.path);
        names.take(cx, &name, of, group.name_span, &path);
        let id = match group.id {
            Some(id) => (id + i as i64) as u16,
            None => names.free_id(&name, group.name_span),
        };
        let body = match changed(group.node, &name, members) {
            Some(table) => body(cx, &table, group.node.span, &group.path, policy, topology),
            None => group.body.clone(),
        };
        let index = resolved.domains.len();
        let own = resolved.by_name.entry(name.clone()).or_default();
        let Some(body) = body else { continue };
        own.push(index);
        if let (Some(chosen), false) = (chosen, told) {
            let id = DomainId(id);
            told = !params_agree(cx, chosen, id, &body, group)
                || !body.own.iter().all(|own| own.agrees(cx, chosen, id));
        }
        let (vifs, disk) = (body.vifs.clone(), body.disk.clone());
        let controlled = body.controlled.clone();
        let copies = body.tasks.iter().filter_map(|task| match task.work {
            Work::Copy(copy) => Some((task.clone(), copy)),
            Work::Demand(_) | Work::Replay(_) | Work::Flow(_) => None,
        });
        let copies = copies.collect();
        let config = config(body, DomainId(id), name, index, &mut resolved.replays);
        resolved.domains.push(Domain {
            config,
            span: group.name_span,
            vifs,
            disk,
            copies,
            controlled,
        });
    }
    if group.count.is_some() {
        let all = (first..resolved.domains.len()).collect();
        resolved.by_name.entry(group.name.clone()).or_insert(all);
    }
}

/// Tells whether the parameters of the domain `id` go together.
fn params_agree(
    cx: &mut Cx<'_>,
    chosen: Chosen<'_>,
    id: DomainId,
    body: &Body,
    group: &Group<'_>,
) -> bool {
    let Some(given) = &body.given else {
        return true;
    };
    match (chosen.policy.validate_domain)(chosen.params, id, &body.params) {
        Ok(()) => true,
        Err(conflict) => {
            tell(cx, conflict, given, group.node.span, &group.path);
            false
        }
    }
}

/// The group's table with the keys that overrides gave to this member, if there are any.
fn changed(node: &Node, member: &str, members: &[MemberKey]) -> Option<Table> {
    let mut own = members.iter().filter(|m| m.member == member).peekable();
    own.peek()?;
    let mut table = node.as_table()?.clone();
    for change in own {
        crate::overrides::put(&mut table, change.entry.clone());
    }
    Some(table)
}

fn group<'t>(
    cx: &mut Cx<'_>,
    node: &'t Node,
    index: usize,
    policy: Option<&Policy>,
    topology: Option<&Topology>,
) -> Option<Group<'t>> {
    let path = format!("domain[{index}]");
    let table = node.as_table()?;
    let fields = check::table(cx, table, node.span, &DOMAIN, &path, policy);
    let body = body_of(cx, &fields, policy, topology);
    // A bad count or id was reported; the domain goes on as if it had none.
    Some(Group {
        node,
        name: fields.text("name")?,
        name_span: fields.span("name"),
        count: fields.int("count").and_then(|n| usize::try_from(n).ok()),
        id: fields.int("id"),
        id_span: fields.span("id"),
        body,
        path,
    })
}

/// The body of one member of a group, which differs from the others.
fn body(
    cx: &mut Cx<'_>,
    table: &Table,
    header: Span,
    path: &str,
    policy: Option<&Policy>,
    topology: Option<&Topology>,
) -> Option<Body> {
    let fields = check::table(cx, table, header, &DOMAIN, path, policy);
    body_of(cx, &fields, policy, topology)
}

fn body_of(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    policy: Option<&Policy>,
    topology: Option<&Topology>,
) -> Option<Body> {
    let vcpus = fields.int("vcpus").map(|n| n as usize);
    // Values that were refused are at their defaults, which may not go with the others.
    let all_good = cx.problems.none_at(&format!("{}.", fields.path));
    let params = policy.map(|p| fields.values(ParamValues::defaults(p.descriptor.domain_params)));
    if let (Some(vcpus), Some(params)) = (vcpus, &params) {
        cap_reachable(cx, fields, vcpus, params);
    }
    let hard = pcpus(cx, fields, "pin", topology);
    let soft = pcpus(cx, fields, "soft", topology);
    let own = vcpus::vcpus(cx, fields, vcpus, params.as_ref(), policy, topology);
    let start = fields.time("start");
    let stop = match (start, fields.field("stop")) {
        (Some(start), Some(_)) => stop_after(cx, fields, start),
        _ => None,
    };
    let tasks = task::tasks(cx, fields, vcpus);
    let vifs = vif::vifs(cx, fields, &tasks);
    let disk = disk::disk(cx, fields, &tasks);
    let controlled = controlled(cx, fields);
    let guest = guest(cx, fields);
    Some(Body {
        // Without a policy the plan is lost anyway, but the rest can be checked.
        params: params.unwrap_or(ParamValues::defaults(&[])),
        given: all_good.then(|| given(fields)),
        os: guest?,
        vcpus: vcpus?,
        hard: hard?,
        soft: soft?,
        own: own?,
        tasks,
        vifs: vifs?,
        disk: disk?,
        controlled,
        start: Instant::ZERO + start?,
        stop,
    })
}

fn config(
    body: Body,
    id: DomainId,
    name: String,
    index: usize,
    replays: &mut Vec<Replay>,
) -> DomainConfig {
    let vcpu = VcpuConfig {
        hard: body.hard,
        soft: body.soft,
        params: None,
        tasks: Vec::new(),
        kernel_tick: body.os.kernel_tick,
    };
    let mut vcpus = vec![vcpu; body.vcpus];
    Own::apply(&body.own, &mut vcpus);
    let moves = moves(&body.os.config);
    for task in &body.tasks {
        let roams = moves && task.may_roam();
        let config = |workload| TaskConfig {
            name: task.name.clone(),
            priority: task.priority,
            roams,
            workload,
        };
        let first = match roams {
            true => emptiest(&vcpus),
            false => task.vcpu.unwrap_or(0),
        };
        let last = if task.vcpu.is_none() {
            body.vcpus
        } else {
            first + 1
        };
        for (v, vcpu) in (first..last).zip(&mut vcpus[first..last]) {
            match &task.work {
                Work::Demand(workload) => vcpu.tasks.push(config(workload.clone())),
                Work::Replay(replay) => {
                    let at = (index, v, vcpu.tasks.len());
                    replays.push(Replay {
                        at,
                        ..replay.clone()
                    });
                    vcpu.tasks.push(config(Workload::Replay(Arc::from([]))));
                }
                Work::Flow(_) | Work::Copy(_) => {}
            }
        }
    }
    DomainConfig {
        id,
        name,
        params: body.params,
        guest: body.os.config,
        vcpus,
        start: body.start,
        stop: body.stop,
    }
}

/// Whether the kernel of a guest moves processes from one vcpu to another.
pub(super) fn moves(guest: &GuestConfig) -> bool {
    guest.order == ProcessOrder::Linux26
}

/// The vcpu with the fewest processes, the first of equals: where a process begins that may leave
/// (Linux: `sched_exec`).
pub(super) fn emptiest(vcpus: &[VcpuConfig]) -> usize {
    let fewest = (0..vcpus.len()).min_by_key(|v| vcpus[*v].tasks.len());
    fewest.unwrap_or(0)
}

/// By controller of the scenario, its parameters of the domain that `fields` describe.
fn controlled(cx: &Cx<'_>, fields: &Fields<'_>) -> Vec<Option<Controlled>> {
    let of = |specs: &'static [ParamSpec]| {
        let own = |name: &str| specs.iter().any(|spec| spec.name == name);
        let given = given(fields);
        let given: GivenParams = given.into_iter().filter(|(name, _)| own(name)).collect();
        (!given.is_empty()).then(|| Controlled {
            params: fields.values(ParamValues::defaults(specs)),
            given,
            path: fields.path.clone(),
        })
    };
    let controllers = cx.known.controllers.iter();
    controllers
        .map(|e| of(e.descriptor.domain_params))
        .collect()
}

/// A domain cannot get more than all of its vcpus do.
fn cap_reachable(cx: &mut Cx<'_>, fields: &Fields<'_>, vcpus: usize, params: &ParamValues) {
    let Some(cap) = params.by_name("cap") else {
        return;
    };
    let most = 100 * vcpus as i64;
    if cap <= most {
        return;
    }
    let span = fields.param("cap").map_or(fields.header, |g| g.span);
    let vcpus = if vcpus == 1 {
        "1 vcpu".to_owned()
    } else {
        format!("{vcpus} vcpus")
    };
    cx.push(
        Problem::new(
            Code::OutOfRange,
            span,
            format!("a cap of {cap} is out of reach for a domain with {vcpus}"),
        )
        .key(fields.key_path("cap"))
        .found(cap.to_string())
        .expected(format!("0 to {most} % of one pcpu"))
        .hint("0 means no cap; each vcpu can use 100 % of one pcpu"),
    );
}

/// The set of pcpus at `key`, every one of which must exist; all of them when it was not given.
pub(super) fn pcpus(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    key: &str,
    topology: Option<&Topology>,
) -> Option<CpuSet> {
    if fields.field(key).is_none() {
        return Some(CpuSet::ALL);
    }
    let set = fields.pcpus(key)?;
    let all = topology?.all();
    if set == CpuSet::ALL {
        return Some(set);
    }
    // `all,^0` names pcpus that no host of this size has; a list of numbers does so by mistake.
    let beyond = set & !all;
    let relative = beyond == !all;
    if !beyond.is_empty() && !relative {
        let has = show_pcpus(&all);
        cx.push(
            Problem::new(
                Code::OutOfRange,
                fields.span(key),
                format!("the host has no pcpu {}", show_pcpus(&beyond)),
            )
            .key(fields.key_path(key))
            .found(show_pcpus(&set))
            .expected(format!("pcpus of the host: {has}"))
            .hint("pcpus are counted from 0; [host] says how many there are"),
        );
        return None;
    }
    if (set & all).is_empty() {
        cx.push(
            Problem::new(
                Code::OutOfRange,
                fields.span(key),
                "no pcpu of the host is left to run on",
            )
            .key(fields.key_path(key))
            .expected(format!("pcpus of the host: {}", show_pcpus(&all)))
            .hint("\"all\" stands for every pcpu; `^` takes pcpus out"),
        );
        return None;
    }
    Some(if relative { set & all } else { set })
}

fn stop_after(cx: &mut Cx<'_>, fields: &Fields<'_>, start: Duration) -> Option<Instant> {
    let stop = fields.time("stop")?;
    if stop > start {
        return Some(Instant::ZERO + stop);
    }
    cx.push(
        Problem::new(
            Code::Conflict,
            fields.span("stop"),
            format!("the domain stops at {stop} but starts at {start}"),
        )
        .key(fields.key_path(fields.field("stop").map_or("stop", |f| f.written)))
        .found(stop.to_string())
        .expected(format!("after {start}"))
        .hint("both count from the start of the run; without a `stop` the domain stays to the end"),
    );
    None
}

fn guest(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<Os> {
    let Some(field) = fields.field("guest") else {
        return Some(Os::IDEAL);
    };
    match field.value.as_ref()? {
        Checked::Text(name) => guests::by_name(name).map(|g| g.os),
        Checked::Node(node) => {
            let path = fields.key_path("guest");
            let own = check::table(cx, node.as_table()?, node.span, &GUEST, &path, None);
            let tick = |name| Some(own.time(name)?).filter(|t: &Duration| !t.is_zero());
            let phase = Instant::ZERO + own.time("kernel_tick_phase")?;
            Some(Os {
                config: GuestConfig {
                    tick: tick("tick"),
                    costs: KernelCosts::of_timer(own.time("irq")?, own.time("softirq")?),
                    task_slice: own.time("task_slice")?,
                    ..GuestConfig::IDEAL
                },
                kernel_tick: tick("kernel_tick").map(|period| KernelTick {
                    period,
                    phase,
                    least: guests::LEAST_AHEAD,
                }),
            })
        }
        _ => None,
    }
}

/// Whether the domains have no more vcpus and tasks than allowed.
fn within_limits(cx: &mut Cx<'_>, groups: &[Group<'_>]) -> bool {
    let (mut vcpus, mut tasks) = (0usize, 0usize);
    for group in groups {
        let count = group.count.unwrap_or(1);
        let (own_vcpus, own_tasks) = group.body.as_ref().map_or((1, 0), |b| (b.vcpus, b.tasks()));
        vcpus = vcpus.saturating_add(count.saturating_mul(own_vcpus));
        tasks = tasks.saturating_add(count.saturating_mul(own_tasks));
        let (what, found, most) = if vcpus > MAX_VCPUS {
            ("vcpus", vcpus, MAX_VCPUS)
        } else if tasks > MAX_TASKS {
            ("tasks", tasks, MAX_TASKS)
        } else {
            continue;
        };
        cx.push(
            Problem::new(
                Code::Limit,
                group.node.span,
                format!("up to here the domains have {found} {what}"),
            )
            .key(&group.path)
            .found(found.to_string())
            .expected(format!("{most} {what} at most in all"))
            .hint("a domain with `count` counts that many times"),
        );
        return false;
    }
    true
}
