//! `[[domain]]`: from tables to domains with vcpus and tasks.

use super::body::{self, Body, DOMAIN, DomainKeys, body_of};
use super::names::Names;
use super::pins::existing;
use super::pool::InPools;
use super::resolved::{Domain, Resolved, emptiest, moves};
use super::shared::{Chosen, MemberKey, tell};
use super::threads::{Thread, Threads};
use super::vcpus::Own;
use super::work::Work;
use super::{task, threads, together};
use crate::check::{self, Cx, Fields};
use crate::limits::{MAX_TASKS, MAX_VCPUS};
use crate::parts::Parts;
use crate::plan::Replay;
use crate::put::put;
use crate::value::{Node, Table};
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake};
use domio_core::keys::{Nested, Slot, VcpuPins};
use domio_core::{CpuSet, DomainId, Instant, ParamValues, PcpuId, Topology};
use domio_vmm::bus::side::{KernelThread, ServingThread};
use domio_vmm::config::{DomainConfig, DomainKind, KvmThread, TaskConfig, VcpuConfig, Workload};

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

impl Group<'_> {
    /// Names of its members.
    fn members(&self) -> Vec<String> {
        match self.count {
            Some(count) => (1..=count).map(|i| format!("{}{i}", self.name)).collect(),
            None => vec![self.name.clone()],
        }
    }
}

/// The domains of the tables that `top` has at `slot`, with the threads of the host beside them;
/// that of the kernel's threads, some of which are at `kthreads`, comes first.
pub(super) fn domains(
    cx: &mut Cx<'_>,
    top: &Fields,
    (slot, kthreads): (&Slot<Nested>, &Slot<Nested>),
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
    let kernel = (top, kthreads);
    let guests = kernel_threads(
        cx,
        kernel,
        &groups,
        &mut names,
        &mut resolved,
        pools,
        topology,
    );
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
    name_guests(&guests, &mut resolved);
    for chosen in pools.all().filter(|_| resolved.complete) {
        let group_of = |d: &Domain| groups.iter().find(|g| g.name_span == d.span);
        let Some(pcpus) = topology.map(Topology::pcpus) else {
            continue;
        };
        together::agree(cx, chosen, pcpus, &resolved, |domain| {
            // Threads of the kernel have parameters of their own alone.
            let group = group_of(domain);
            let given = group.and_then(|g| g.body.as_ref()?.given.clone());
            (
                given.unwrap_or_default(),
                group.map_or(domain.span, |g| g.node.span),
                group.map_or_else(|| "kthread".to_owned(), |g| g.path.clone()),
            )
        });
    }
    resolved
}

/// Begins with the domain of the kernel's threads: those at `slot` of `top`, and those that devices
/// of the `groups` have. Returns the guest that each of these works for.
fn kernel_threads(
    cx: &mut Cx<'_>,
    (top, slot): (&Fields, &Slot<Nested>),
    groups: &[Group<'_>],
    names: &mut Names,
    resolved: &mut Resolved,
    pools: InPools<'_>,
    topology: Option<&Topology>,
) -> Vec<Option<String>> {
    let policy = pools.chosen(0).map(|chosen| chosen.policy);
    let section = (slot, &threads::KTHREAD);
    let Some(given) = threads::threads(cx, top, section, policy, topology) else {
        resolved.complete = false;
        return Vec::new();
    };
    let mut all: Vec<Thread> = Vec::new();
    let mut guests: Vec<Option<String>> = Vec::new();
    if cx.known.kvm.is_some() {
        let out = (&mut all, &mut guests);
        if device_threads(cx, groups, &given, topology, out).is_none() {
            resolved.complete = false;
            return Vec::new();
        }
    }
    let known: Vec<String> = all.iter().map(|thread| thread.name.clone()).collect();
    threads::without_work(cx, &given, &known);
    let own = given.iter().filter(|kind| kind.has_work());
    all.extend(own.flat_map(|kind| kind.each(None)));
    guests.resize(all.len(), None);
    if !all.is_empty() {
        let span = top.span(slot);
        names.take(cx, threads::KERNEL, None, span, "kthread");
        let alive = (Instant::ZERO, None);
        host_threads(
            cx,
            (all, &given, threads::KERNEL),
            span,
            names,
            resolved,
            pools,
            alive,
        );
    }
    guests
}

/// Adds the threads that devices of the `groups` have, with the guest of each. `given` describe
/// some of them. `None` when something is wrong with one.
fn device_threads(
    cx: &mut Cx<'_>,
    groups: &[Group<'_>],
    given: &[Threads],
    topology: Option<&Topology>,
    (all, guests): (&mut Vec<Thread>, &mut Vec<Option<String>>),
) -> Option<()> {
    let described = |own: &[Threads], name: &str, called: String| {
        let found = own
            .iter()
            .find(|kind| kind.is_called(name) && !kind.has_work());
        let found = found.and_then(|kind| kind.each(None).next());
        let (hard, params) = found.map_or((CpuSet::ALL, None), |t| (t.hard, t.params));
        Thread {
            name: called,
            of: None,
            hard,
            params,
            tasks: Vec::new(),
            softirqs: false,
        }
    };
    let bodies = groups
        .iter()
        .filter_map(|group| Some((group, group.body.as_ref()?)));
    let of_guests: Vec<_> = bodies
        .flat_map(|(group, body)| {
            let devices = body.parts.iter().flat_map(|part| &part.threads);
            let devices: Vec<_> = devices.collect();
            group.members().into_iter().flat_map(move |name| {
                let own = devices.clone().into_iter();
                own.map(move |device| (name.clone(), device, &body.threads))
            })
        })
        .collect();
    let mut kworkers = false;
    let mut seen: Vec<&KernelThread> = Vec::new();
    for (_, device, _) in &of_guests {
        kworkers |= device.kworkers;
        for thread in &device.kernel {
            if seen.contains(&thread) {
                continue;
            }
            seen.push(thread);
            let own: Vec<(String, Option<PcpuId>)> = match thread {
                KernelThread::Named(name) => vec![((*name).to_owned(), None)],
                KernelThread::Softirqs { pcpus, key, span } => {
                    let pcpus = existing(cx, *pcpus, (*span, key.clone()), topology)?;
                    let pcpus = pcpus & topology?.all();
                    let named = |pcpu| (KvmThread::softirqd(pcpu), Some(pcpu));
                    pcpus.iter().map(named).collect()
                }
            };
            for (name, pcpu) in own {
                if all.iter().any(|thread| thread.name == name) {
                    continue;
                }
                let mut thread = described(given, &name, name.clone());
                if let Some(pcpu) = pcpu {
                    threads::bind(cx, given, &mut thread, pcpu)?;
                    thread.softirqs = true;
                }
                all.push(thread);
                guests.push(None);
            }
        }
    }
    for (guest, device, own) in of_guests {
        if let ServingThread::Kernel(name) = device.serves {
            all.push(described(own, name, format!("{name}-{guest}")));
            guests.push(Some(guest));
        }
    }
    if kworkers {
        for pcpu in 0..topology.map_or(0, Topology::pcpus) as u16 {
            let name = format!("kworker/{pcpu}:1");
            let mut thread = described(given, &name, name.clone());
            threads::bind(cx, given, &mut thread, PcpuId(pcpu))?;
            all.push(thread);
            guests.push(None);
        }
    }
    Some(())
}

/// Adds the domain of the threads `all`, asked for at `span`, some of which `given` describe. It
/// has a name, and lives from a time on, to the end or another time.
fn host_threads(
    cx: &mut Cx<'_>,
    (all, given, name): (Vec<Thread>, &[Threads], &str),
    span: Span,
    names: &mut Names,
    resolved: &mut Resolved,
    pools: InPools<'_>,
    alive: (Instant, Option<Instant>),
) {
    let Some(chosen) = pools.chosen(0) else {
        return;
    };
    let id = DomainId(names.free_id(name, span));
    for kind in given {
        if let Some(params) = kind.params()
            && let Err(conflict) = (chosen.policy.validate_vcpu)(chosen.params, id, params)
        {
            tell(cx, conflict, &kind.given, kind.header, &kind.path);
        }
    }
    let params = ParamValues::defaults(chosen.policy.descriptor.domain_params);
    let with = (params, chosen.softirqs());
    let config = threads::domain(all, (id, name.to_owned()), with, alive);
    let nothing = check::absent(&DOMAIN, name, span);
    let Some(parts) = body::parts(cx, &nothing, &[], span) else {
        return;
    };
    let controlled = cx.known.controllers.iter().map(|_| None).collect();
    let index = resolved.domains.len();
    resolved
        .by_name
        .entry(name.to_owned())
        .or_default()
        .push(index);
    resolved.domains.push(Domain {
        config,
        span,
        pool: 0,
        group: None,
        parts,
        controlled,
    });
}

/// Threads of the kernel that work for a guest learn its id.
fn name_guests(guests: &[Option<String>], resolved: &mut Resolved) {
    let of = |guest: &Option<String>| {
        let places = resolved.by_name.get(guest.as_ref()?)?;
        Some(resolved.domains[*places.first()?].config.id)
    };
    let ids: Vec<Option<DomainId>> = guests.iter().map(of).collect();
    if let Some(kernel) = resolved.domains.first_mut()
        && let DomainKind::Threads(threads) = &mut kernel.config.kind
    {
        for (thread, id) in threads.iter_mut().zip(ids) {
            thread.of = id;
        }
    }
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
        let threads = body.threads.clone();
        let (pool, in_group) = (body.pool, body.group);
        if pool > 0 && id == 0 {
            in_first_pool(cx, group, &name);
        }
        let pcpus = pools.pcpus(pool);
        let beside = format!("{name}:host");
        let kind = cx.known.kvm.map_or(DomainKind::Guest, DomainKind::Kvm);
        let named = (DomainId(id), name);
        let mut config = config(body, named, kind, index, &mut resolved.replays);
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
        let devices = resolved.domains[index].parts.iter();
        let serving = devices.flat_map(|part| &part.threads).map(|d| &d.serves);
        let guest = &resolved.domains[index].config;
        let (of, alive) = (Some(guest.id), (guest.start, guest.stop));
        let own = match cx.known.kvm {
            Some(_) => {
                threads::of_guest(cx, (&threads, of), serving, (group.name_span, &group.path))
            }
            None => Vec::new(),
        };
        if !own.is_empty() {
            let all = (own, &*threads, &*beside);
            host_threads(cx, all, group.name_span, names, resolved, pools, alive);
        }
    }
    if group.count.is_some() {
        let is_member = |i: &usize| {
            let kind = &resolved.domains[*i].config.kind;
            !matches!(kind, DomainKind::Threads(_))
        };
        let all = (first..resolved.domains.len()).filter(is_member).collect();
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
    (id, name): (DomainId, String),
    kind: DomainKind,
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
        kind,
    }
}

/// Whether the domains have no more vcpus and tasks than allowed.
fn within_limits(cx: &mut Cx<'_>, groups: &[Group<'_>]) -> bool {
    let (mut vcpus, mut tasks) = (0usize, 0usize);
    for group in groups {
        let count = group.count.unwrap_or(1);
        let (own_vcpus, own_tasks) = group
            .body
            .as_ref()
            .map_or((1, 0), |b| (b.host_threads(), b.tasks()));
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
