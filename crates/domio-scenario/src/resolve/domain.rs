//! `[[domain]]`: from tables to domains with vcpus and tasks.

use super::body::{Body, DOMAIN, DomainKeys, body_of};
use super::names::Names;
use super::pool::InPools;
use super::resolved::{Domain, Resolved, emptiest, moves};
use super::shared::{Chosen, MemberKey, tell};
use super::vcpus::Own;
use super::work::Work;
use super::{task, together};
use crate::check::{self, Cx, Fields};
use crate::limits::{MAX_TASKS, MAX_VCPUS};
use crate::parts::Parts;
use crate::plan::Replay;
use crate::put::put;
use crate::value::{Node, Table};
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake};
use domio_core::keys::{Nested, Slot, VcpuPins};
use domio_core::{DomainId, Topology};
use domio_vmm::config::{DomainConfig, TaskConfig, VcpuConfig, Workload};

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

/// The domains of the tables that `top` has at `slot`.
pub(super) fn domains(
    cx: &mut Cx<'_>,
    top: &Fields,
    slot: &Slot<Nested>,
    pools: InPools<'_>,
    topology: Option<&Topology>,
    members: &[MemberKey],
) -> Resolved {
    let mut resolved = Resolved {
        complete: !cx.partial,
        ..Resolved::default()
    };
    if top.node(slot).is_none() {
        resolved.complete = false;
        return resolved;
    }
    let mut groups = Vec::new();
    for (node, table, path) in top.tables(slot) {
        match group(cx, node, table, path, pools, topology) {
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
            pools,
            topology,
            members,
        );
    }
    for chosen in pools.all().filter(|_| resolved.complete) {
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
    pools: InPools<'_>,
    topology: Option<&Topology>,
    members: &[MemberKey],
) {
    let first = resolved.domains.len();
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
        let body = match changed(cx.parts, group.node, &name, members) {
            Some(table) => body(cx, &table, group, pools, topology),
            None => group.body.clone(),
        };
        let index = resolved.domains.len();
        let own = resolved.by_name.entry(name.clone()).or_default();
        let Some(body) = body else { continue };
        own.push(index);
        if let (Some(chosen), false) = (pools.chosen(body.pool), told) {
            let id = DomainId(id);
            told = !params_agree(cx, chosen, id, &body, group)
                || !body.own.iter().all(|own| own.agrees(cx, chosen, id));
        }
        let (parts, controlled) = (body.parts.clone(), body.controlled.clone());
        let (pool, in_group) = (body.pool, body.group);
        if pool > 0 && id == 0 {
            in_first_pool(cx, group, &name);
        }
        let pcpus = pools.pcpus(pool);
        let mut config = config(body, DomainId(id), name, index, &mut resolved.replays);
        for vcpu in config.vcpus.iter_mut().filter(|_| !pools.pools.is_empty()) {
            vcpu.hard &= pcpus;
        }
        resolved.domains.push(Domain {
            config,
            span: group.name_span,
            pool,
            group: in_group,
            parts,
            controlled,
        });
    }
    if group.count.is_some() {
        let all = (first..resolved.domains.len()).collect();
        resolved.by_name.entry(group.name.clone()).or_insert(all);
    }
}

/// Says that Domain-0, which is called `name`, stays in Pool-0.
fn in_first_pool(cx: &mut Cx<'_>, group: &Group<'_>, name: &str) {
    let message = format!("{name} is the control domain, which is in Pool-0");
    cx.push(
        Mistake::new(Code::Conflict, group.name_span, message)
            .key(format!("{}.pool", group.path))
            .expected("no `pool`, or `pool = \"Pool-0\"`")
            .hint("give Pool-0 the pcpus that it is to have, with a [[pool]] of that name"),
    );
}

/// Says whether the parameters of the domain `id` go together.
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
fn changed(parts: &Parts, node: &Node, member: &str, members: &[MemberKey]) -> Option<Table> {
    let mut own = members.iter().filter(|m| m.member == member).peekable();
    own.peek()?;
    let mut table = node.as_table()?.clone();
    for change in own {
        put(parts, &mut table, change.entry.clone());
    }
    Some(table)
}

fn group<'t>(
    cx: &mut Cx<'_>,
    node: &'t Node,
    table: &Table,
    path: String,
    pools: InPools<'_>,
    topology: Option<&Topology>,
) -> Option<Group<'t>> {
    let policy = pools.of_table(table).map(|c| c.policy);
    let fields = check::table(cx, table, node.span, &DOMAIN, &path, policy);
    let keys: DomainKeys = fields.read();
    let body = body_of(cx, &fields, &keys, pools, topology);
    // A bad count or id was reported; the domain continues as if it had none.
    Some(Group {
        node,
        name: keys.name.get()?,
        name_span: fields.span(&keys.name),
        count: keys.count.get(),
        id: keys.id.get(),
        id_span: fields.span(&keys.id),
        body,
        path,
    })
}

/// The body of one member of a group, which differs from the others.
fn body(
    cx: &mut Cx<'_>,
    table: &Table,
    group: &Group<'_>,
    pools: InPools<'_>,
    topology: Option<&Topology>,
) -> Option<Body> {
    let policy = pools.of_table(table).map(|c| c.policy);
    let fields = check::table(cx, table, group.node.span, &DOMAIN, &group.path, policy);
    body_of(cx, &fields, &fields.read(), pools, topology)
}

fn config(
    body: Body,
    id: DomainId,
    name: String,
    index: usize,
    replays: &mut Vec<Replay>,
) -> DomainConfig {
    let of = |affinity: &VcpuPins, vcpu: usize| match affinity {
        VcpuPins::Alike(set) => *set,
        VcpuPins::Each(sets) => sets[vcpu],
    };
    let vcpu = |vcpu| VcpuConfig {
        hard: of(&body.hard, vcpu),
        soft: of(&body.soft, vcpu),
        params: None,
        tasks: Vec::new(),
        kernel_tick: body.os.kernel_tick,
    };
    let mut vcpus: Vec<VcpuConfig> = (0..body.vcpus).map(vcpu).collect();
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
                    vcpu.tasks.push(config(Workload::Idle));
                }
                Work::Device(..) => {}
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
            Mistake::new(
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
