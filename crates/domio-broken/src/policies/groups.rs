//! A policy with nested groups of domains, and one that takes the tree for a list.
//!
//! [`Tree`] is the smallest policy that has the extension: at each level of the tree goes first who
//! has had least for its weight, and a group that has used its quota waits for the next period. One
//! queue serves all pcpus. No policy of the registry has groups; this one proves that a policy can.

use super::fifo::{self, Fifo};
use alloc::vec::Vec;
use core::cmp::Ordering;
use domio_contract::{Cx, Descriptor, GroupId, Pick, Prev, Promises, Scheduler, Wake};
use domio_core::{DomainId, Duration, Instant, ParamSpec, ParamValues, PcpuId, Topology, VcpuId};
use domio_sched::conformance::script::DEFAULT_WEIGHT;

const GROUP_PARAMS: &[ParamSpec] = &[
    ParamSpec::int(
        "weight",
        "",
        (1, 65_535),
        DEFAULT_WEIGHT,
        "Weight beside what else is in the same group.",
    ),
    ParamSpec::int(
        "cap",
        "% of one pcpu",
        (1, 100_000),
        0,
        "Time that all in the group have together; 0 for no limit.",
    )
    .or_zero(),
];

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "tree",
    summary: "nested groups of domains by weight and quota, for tests of the conformance suite",
    group_params: GROUP_PARAMS,
    ..fifo::promising(Promises {
        groups: true,
        ..Promises::NOTHING
    })
};

/// Quotas are for periods of this length.
const PERIOD: Duration = Duration::from_millis(100);

/// A domain or a group: something that has a place in the tree.
#[derive(Clone)]
struct Node {
    parent: Option<GroupId>,
    weight: u64,
    /// Percent of one pcpu; zero for no limit.
    quota: u64,
    /// What it has had, in parts of its weight.
    pass: u64,
    /// The period in which it last ran, and what it had in that, in nanoseconds.
    used: (u64, u64),
}

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Domain(DomainId),
    Group(GroupId),
}

impl Node {
    const NEW: Node = Node {
        parent: None,
        weight: DEFAULT_WEIGHT as u64,
        quota: 0,
        pass: 0,
        used: (0, 0),
    };

    /// What it may still have at `now`, in nanoseconds.
    fn left(&self, now: Instant) -> u64 {
        let whole = PERIOD.as_nanos() * self.quota / 100;
        let used = match self.used.0 == period(now) {
            true => self.used.1,
            false => 0,
        };
        match self.quota {
            0 => u64::MAX,
            _ => whole.saturating_sub(used),
        }
    }

    fn run(&mut self, time: Duration, now: Instant) {
        self.pass += time.as_nanos() * 1024 / self.weight;
        // Time that began in an earlier period counts for this one.
        let before = match self.used.0 == period(now) {
            true => self.used.1,
            false => 0,
        };
        self.used = (period(now), before + time.as_nanos());
    }
}

/// The number of the period in which `now` is.
fn period(now: Instant) -> u64 {
    now.as_nanos() / PERIOD.as_nanos()
}

/// The policy's state.
pub struct Tree {
    groups: Vec<Node>,
    domains: Vec<Node>,
    /// Who is runnable and does not run, in the order of coming.
    waiting: Vec<VcpuId>,
    /// By pcpu: since when the current vcpu has not been charged.
    since: Vec<Instant>,
    /// The mistake: a group in another counts as if it were beside it.
    flat: bool,
}

impl Tree {
    /// Name of the checker that must catch [`Tree::flattened`].
    pub const CAUGHT_BY: &'static str = "groups";

    /// The policy for a host of this shape.
    pub fn new(topology: &Topology) -> Self {
        Tree {
            groups: Vec::new(),
            domains: Vec::new(),
            waiting: Vec::new(),
            since: alloc::vec![Instant::ZERO; topology.pcpus()],
            flat: false,
        }
    }

    /// The policy with its mistake: it takes groups for a list, whatever they are in.
    pub fn flattened(topology: &Topology) -> Self {
        Tree {
            flat: true,
            ..Tree::new(topology)
        }
    }

    /// `domain`, then the groups that it is in, from the inside out.
    fn path(&self, domain: DomainId) -> Vec<(Id, &Node)> {
        let own = &self.domains[domain.index()];
        let mut path = alloc::vec![(Id::Domain(domain), own)];
        let mut next = own.parent;
        while let Some(group) = next {
            let node = &self.groups[group.index()];
            path.push((Id::Group(group), node));
            next = node.parent.filter(|_| !self.flat);
        }
        path
    }

    /// Who of two domains goes first: at the first level from the top at which they are in
    /// different nodes, whichever has had less.
    fn compare(&self, a: DomainId, b: DomainId) -> Ordering {
        let (a, b) = (self.path(a), self.path(b));
        let mut levels = a.iter().rev().zip(b.iter().rev());
        let differ = levels.find(|(a, b)| a.0 != b.0);
        differ.map_or(Ordering::Equal, |((_, a), (_, b))| a.pass.cmp(&b.pass))
    }

    /// What `domain` may still have now.
    fn left(&self, domain: DomainId, now: Instant) -> u64 {
        let path = self.path(domain).into_iter();
        path.map(|(_, node)| node.left(now))
            .min()
            .unwrap_or(u64::MAX)
    }

    /// `domain` and its groups have had `time`.
    fn charge(&mut self, domain: DomainId, time: Duration, now: Instant) {
        let own = &mut self.domains[domain.index()];
        own.run(time, now);
        let mut next = own.parent;
        while let Some(group) = next {
            let node = &mut self.groups[group.index()];
            node.run(time, now);
            next = node.parent.filter(|_| !self.flat);
        }
    }

    /// Who comes back, or comes from elsewhere, has no more to catch up than those beside it that
    /// run or wait.
    fn catch_up(&mut self, cx: &Cx<'_>, domain: DomainId) {
        let parent = self.domains[domain.index()].parent;
        let running = cx.online().iter().filter_map(|p| cx.current(p));
        let others = self.waiting.iter().copied().chain(running);
        let others = others
            .map(|v| cx.vcpu(v).name.domain)
            .filter(|d| *d != domain);
        let beside = others.filter_map(|d| {
            let path = self.path(d).into_iter();
            let mut same = path.filter(|(_, node)| node.parent == parent);
            same.next().map(|(_, node)| node.pass)
        });
        if let Some(least) = beside.min() {
            let own = &mut self.domains[domain.index()];
            own.pass = own.pass.max(least);
        }
    }
}

impl Scheduler for Tree {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, _: PcpuId) {}

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, _: PcpuId) {}

    fn set_domain(&mut self, _: &mut Cx<'_>, domain: DomainId, _: &ParamValues) {
        if self.domains.len() <= domain.index() {
            self.domains.resize(domain.index() + 1, Node::NEW);
        }
    }

    fn set_group(
        &mut self,
        _: &mut Cx<'_>,
        group: GroupId,
        parent: Option<GroupId>,
        params: &ParamValues,
    ) {
        if self.groups.len() <= group.index() {
            self.groups.resize(group.index() + 1, Node::NEW);
        }
        let node = &mut self.groups[group.index()];
        node.parent = parent;
        let of = |name| params.by_name(name).expect("a parameter of groups") as u64;
        (node.weight, node.quota) = (of("weight"), of("cap"));
    }

    fn join(&mut self, cx: &mut Cx<'_>, domain: DomainId, group: Option<GroupId>) {
        self.domains[domain.index()].parent = group;
        self.catch_up(cx, domain);
    }

    fn insert(&mut self, _: &mut Cx<'_>, _: VcpuId) {}

    fn remove(&mut self, _: &mut Cx<'_>, _: VcpuId) {}

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        if cx.is_current(vcpu) || self.waiting.contains(&vcpu) {
            return;
        }
        self.catch_up(cx, cx.vcpu(vcpu).name.domain);
        self.waiting.push(vcpu);
        let mut idle = cx.hard(vcpu).iter().filter(|p| cx.current(*p).is_none());
        if let Some(pcpu) = idle.next() {
            cx.tickle(pcpu);
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        match cx.is_current(vcpu) {
            true => cx.tickle(cx.vcpu(vcpu).pcpu),
            false => self.waiting.retain(|v| *v != vcpu),
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let now = cx.now();
        let ran = now.since(core::mem::replace(&mut self.since[pcpu.index()], now));
        if let Some(vcpu) = prev.vcpu {
            self.charge(cx.vcpu(vcpu).name.domain, ran, now);
            if cx.vcpu(vcpu).runnable() {
                self.waiting.push(vcpu);
            }
        }
        let domain_of = |v: VcpuId| cx.vcpu(v).name.domain;
        let may = |v: &VcpuId| {
            let free = !cx.vcpu(*v).on_pcpu || prev.vcpu == Some(*v);
            free && cx.may_run_on(*v, pcpu) && self.left(domain_of(*v), now) > 0
        };
        let ready = self.waiting.iter().copied().filter(may);
        let next = ready.min_by(|a, b| self.compare(domain_of(*a), domain_of(*b)));
        let until_next = PERIOD.as_nanos() - now.as_nanos() % PERIOD.as_nanos();
        let left = next.map_or(until_next, |v| {
            self.left(domain_of(v), now)
                .min(Fifo::TIME_SLICE.as_nanos())
        });
        // Who waits behind a quota waits for the next period.
        let limited = next.is_some() || !self.waiting.is_empty();
        self.waiting.retain(|v| Some(*v) != next);
        Pick {
            next,
            time_slice: limited.then(|| Duration::from_nanos(left)),
        }
    }
}
