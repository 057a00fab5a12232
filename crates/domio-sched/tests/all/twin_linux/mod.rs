//! The slow twin of CFS and EEVDF on one pcpu: linux-spec 0 to 4 as written there.
//!
//! The twin shares no code with the policies. Sums and orders are found by going through all, and
//! numbers are large.
//!
//! A twin can be made with a [`Mistake`], to see that the comparison would notice one like that.

mod buddies;
mod choice;
mod flat;
mod inside;
mod mistake;
mod quota;
mod rules;
mod settings;
mod tables;

use domio_contract::{Cx, Descriptor, GroupId, Pause, Pick, Prev, Scheduler, Wake, WorksFor};
use domio_core::{DomainId, Instant, ParamValues, PcpuId, VcpuId};
use domio_sched::find;
use inside::Name;
pub use mistake::Mistake;

const MS: i128 = 1_000_000;
const CPU: PcpuId = PcpuId(0);

/// A thread or a group.
#[derive(Clone, Debug, Default)]
struct Se {
    vcpu: Option<VcpuId>,
    /// Index of the group: its own, or the one that the thread is in.
    group: usize,
    weight: i128,
    inverse: i128,
    /// The effective weight of a thread in the flat hierarchy.
    effective: i128,
    idle: bool,
    meek: bool,
    on: bool,
    v: i128,
    relative: bool,
    d: i128,
    relative_d: bool,
    lag: i128,
    slice: i128,
    custom: bool,
    delayed: bool,
    /// Until which virtual time it is protected.
    protected: i128,
    exec: i128,
    sum: i128,
    prev_sum: i128,
    /// When it was queued, for order among equals.
    turn: u64,
    // Of threads.
    known: bool,
    moving: bool,
    parked: bool,
    setting: (i128, i128, i128),
    /// Of vcpus: 0 for a group of its own, 1 for the emulator's, 2 for that of an I/O thread.
    seat: i128,
}

/// Whose a group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Owner {
    #[default]
    Root,
    Domain(u16),
    Group(u16),
    /// A group inside that of a domain, by its name.
    Inside(u16, Name),
}

/// A queue: 0 is the root's, any other one a group's.
#[derive(Clone, Debug, Default)]
struct Rq {
    tree: Vec<usize>,
    curr: Option<usize>,
    next: Option<usize>,
    last: Option<usize>,
    skip: Option<usize>,
    min_v: i128,
    reference: i128,
    // Of groups.
    owner: Owner,
    /// The queue around it: 0 is the root's.
    parent: usize,
    children: Vec<usize>,
    entity: usize,
    shares: i128,
    members: Vec<usize>,
    inherited: (i128, i128, i128),
    /// What a domain was told last; nothing of others.
    told: Option<ParamValues>,
    quota: i128,
    period: i128,
    burst: i128,
    grid: i128,
    pool: i128,
    unused: bool,
    period_at: Option<i128>,
    slack_at: Option<i128>,
    limited: bool,
    remaining: i128,
    throttled: bool,
}

/// Either policy.
pub struct TwinLinux {
    /// Threads of the host, and what they work for.
    works: Vec<(VcpuId, WorksFor)>,
    name: &'static str,
    params: ParamValues,
    release: &'static str,
    mistake: Option<Mistake>,
    se: Vec<Se>,
    rq: Vec<Rq>,
    turn: u64,
    clock: i128,
    skip_clock: bool,
    need: bool,
    lazy: bool,
    curr: Option<usize>,
    /// The thread that has left the tree to run, in the flat hierarchy.
    running: Option<usize>,
    ticks: bool,
    hrtick: bool,
}

impl TwinLinux {
    pub fn new(name: &'static str, params: &ParamValues, mistake: Option<Mistake>) -> Self {
        let release = params.word("release").expect("declared");
        let root = Rq {
            min_v: -(1 << 20),
            reference: -(1 << 20),
            ..Rq::default()
        };
        TwinLinux {
            works: Vec::new(),
            name,
            params: *params,
            release,
            mistake,
            se: Vec::new(),
            rq: vec![root],
            turn: 0,
            clock: 0,
            skip_clock: false,
            need: false,
            lazy: false,
            curr: None,
            running: None,
            ticks: false,
            hrtick: false,
        }
    }

    fn wrong(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn cfs(&self) -> bool {
        self.release == "6.1"
    }

    /// Whether the release is this one or a later one.
    fn since(&self, release: &str) -> bool {
        const ALL: [&str; 6] = ["6.1", "6.12", "6.18", "7.0", "7.2", "7.3"];
        let at = |wanted: &str| ALL.iter().position(|r| *r == wanted).expect("a release");
        at(self.release) >= at(release)
    }

    /// 3.9: all threads are on the tree of the root's queue.
    fn flat(&self) -> bool {
        self.since("7.3") && !self.wrong(Mistake::Nested)
    }

    /// The queue whose tree has those that are on `q`.
    fn line(&self, q: usize) -> usize {
        if self.flat() { 0 } else { q }
    }

    fn param(&self, name: &str) -> i128 {
        i128::from(self.params.by_name(name).expect("declared"))
    }

    fn flag(&self, name: &str) -> bool {
        self.param(name) != 0
    }

    fn or(&self, name: &str, own: i128) -> i128 {
        match self.param(name) {
            0 => own,
            given => given,
        }
    }

    fn latency(&self) -> i128 {
        self.or("sched_latency_ns", 6 * MS)
    }

    fn min_granularity(&self) -> i128 {
        self.or("min_granularity_ns", 750_000)
    }

    fn nr_latency(&self) -> usize {
        if self.param("sched_latency_ns") == 0 && self.param("min_granularity_ns") == 0 {
            return 8;
        }
        let min = self.min_granularity();
        ((self.latency() + min - 1) / min) as usize
    }

    fn base_slice(&self) -> i128 {
        match self.cfs() {
            true => 700_000,
            false => self.or("base_slice_ns", 700_000),
        }
    }

    fn tick(&self) -> i128 {
        let hz: i128 = self.params.word("hz").expect("declared").parse().unwrap();
        (1_000_000_000 + hz / 2) / hz
    }

    fn now(cx: &Cx<'_>) -> i128 {
        i128::from(cx.now().as_nanos())
    }

    fn read_clock(&mut self, cx: &Cx<'_>) {
        self.clock = self.clock.max(Self::now(cx));
    }

    /// The entity of `vcpu`.
    fn of(&self, vcpu: VcpuId) -> usize {
        let found = self.se.iter().position(|e| e.vcpu == Some(vcpu));
        found.expect("it was inserted")
    }

    /// The queue that `e` is on.
    fn q(&self, e: usize) -> usize {
        match self.se[e].vcpu {
            Some(_) => self.se[e].group,
            None => self.rq[self.se[e].group].parent,
        }
    }

    /// The entity above `e`.
    fn up(&self, e: usize) -> Option<usize> {
        let q = self.q(e);
        (q > 0).then(|| self.rq[q].entity)
    }

    fn chain(&self, e: usize) -> Vec<usize> {
        std::iter::successors(Some(e), |e| self.up(*e)).collect()
    }

    /// Groups from `q` up that are throttled.
    fn throttles(&self, q: usize) -> usize {
        let up = |q: &usize| (*q > 0).then(|| self.rq[*q].parent);
        let path = std::iter::successors(Some(q), up);
        path.filter(|q| self.rq[*q].throttled).count()
    }

    /// Whether `q`, or a group around it, is throttled.
    fn held(&self, q: usize) -> bool {
        self.throttles(q) > 0
    }

    /// Entities that are on `q` or below it directly, in the order of their coming there.
    fn below(&self, q: usize) -> Vec<usize> {
        let groups = self.rq[q].children.iter().map(|g| self.rq[*g].entity);
        let all = self.rq[q].members.iter().copied().chain(groups);
        all.filter(|e| self.se[*e].on).collect()
    }

    /// The runner of `q`, if it is on the queue; in the flat hierarchy the thread that runs.
    fn runner(&self, q: usize) -> Option<usize> {
        let curr = match self.flat() {
            true => self.running,
            false => self.rq[q].curr,
        };
        curr.filter(|e| self.se[*e].on)
    }

    /// All that compete with those on `q`.
    fn all(&self, q: usize) -> Vec<usize> {
        let mut all = self.rq[self.line(q)].tree.clone();
        all.extend(self.runner(q));
        all
    }

    /// How many compete with those on `q`.
    fn rivals(&self, q: usize) -> usize {
        match self.flat() {
            true => self.threads(0).0,
            false => self.nr(q),
        }
    }

    /// Threads in `q` and below, and how many of them are for idle times.
    fn threads(&self, q: usize) -> (usize, usize) {
        let mut sum = (0, 0);
        for e in self.below(q) {
            let (all, idle) = match self.se[e].vcpu {
                Some(_) => (1, 0),
                None => self.threads(self.se[e].group),
            };
            sum.0 += all;
            sum.1 += if self.se[e].idle { all } else { idle };
        }
        sum
    }

    fn resched(&mut self, cx: &mut Cx<'_>) {
        if !self.need {
            self.need = true;
            cx.tickle(CPU);
        }
    }

    fn resched_lazily(&mut self, cx: &mut Cx<'_>) {
        if !self.need && !self.lazy {
            self.lazy = true;
            cx.tickle(CPU);
        }
    }

    fn take_off(&mut self, cx: &mut Cx<'_>, e: usize, how: &str) {
        self.read_clock(cx);
        if self.se[e].on {
            let how = if self.se[e].delayed {
                "sleep delayed"
            } else {
                how
            };
            self.dequeue(cx, e, how);
        }
    }

    /// How the thread `e` leaves that is paused so.
    fn leaves(&mut self, e: usize, pause: Pause) -> &'static str {
        if pause.bits() == Pause::MIGRATING {
            self.se[e].moving = true;
            return "";
        }
        match pause.has(Pause::DOWN) || pause.has(Pause::PARKED) || pause.has(Pause::PAUSED) {
            true => "sleep special",
            false => "sleep",
        }
    }
}

impl Scheduler for TwinLinux {
    fn descriptor(&self) -> &'static Descriptor {
        find(self.name).expect("it is registered").descriptor
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, _: PcpuId) {}

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, _: PcpuId) {}

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let value = |name: &str| i128::from(params.by_name(name).expect("declared"));
        let known = self.rq.len();
        let g = self.group_of(domain);
        self.greet(cx, known);
        self.set_group_to(cx, g, params);
        let setting = (value("nice"), value("class"), value("slice_us") * 1000);
        self.rq[g].inherited = setting;
        self.rq[g].told = Some(*params);
        self.arrange(cx, g);
        for e in self.all_threads(g) {
            let vcpu = self.se[e].vcpu.expect("a thread");
            if cx.vcpu(vcpu).name.domain == domain {
                self.set_thread(cx, e, setting);
            }
        }
    }

    fn host_thread(&mut self, _: &mut Cx<'_>, vcpu: VcpuId, works: WorksFor) {
        self.works.retain(|(v, _)| *v != vcpu);
        self.works.push((vcpu, works));
    }

    fn set_group(
        &mut self,
        cx: &mut Cx<'_>,
        group: GroupId,
        parent: Option<GroupId>,
        params: &ParamValues,
    ) {
        let known = self.rq.len();
        let parent = parent.map_or(0, |p| self.group_called(Owner::Group(p.0), 0));
        let g = self.group_called(Owner::Group(group.0), parent);
        self.greet(cx, known);
        self.set_group_to(cx, g, params);
    }

    fn join(&mut self, cx: &mut Cx<'_>, domain: DomainId, group: Option<GroupId>) {
        self.regroup(cx, domain, group);
    }

    fn set_vcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, params: &ParamValues) {
        let value = |name: &str| i128::from(params.by_name(name).expect("declared"));
        let setting = (value("nice"), value("class"), value("slice_us") * 1000);
        let e = self.of(vcpu);
        if core::mem::replace(&mut self.se[e].seat, value("seat")) != value("seat") {
            let (from, to) = (self.se[e].group, self.place_of(cx, vcpu));
            if from != to {
                self.carry(cx, e, to);
                self.emptied(cx, from);
            }
        }
        self.set_thread(cx, e, setting);
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let of_domain = self.group_of(cx.vcpu(vcpu).name.domain);
        let setting = self.rq[of_domain].inherited;
        let g = self.place_of(cx, vcpu);
        self.se.push(Se {
            vcpu: Some(vcpu),
            group: g,
            weight: 1 << 20,
            inverse: 4194304,
            effective: 1 << 20,
            relative: true,
            slice: self.base_slice(),
            setting,
            ..Se::default()
        });
        let e = self.se.len() - 1;
        self.give(cx, e);
        self.rq[g].members.push(e);
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let e = self.of(vcpu);
        self.take_off(cx, e, "sleep special");
        self.se[e].vcpu = None;
        let g = self.se[e].group;
        self.rq[g].members.retain(|m| *m != e);
        self.emptied(cx, g);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let e = self.of(vcpu);
        if self.se[e].on {
            self.se[e].moving = !self.se[e].delayed;
            self.take_off(cx, e, "");
        }
        if self.se[e].parked {
            self.se[e].parked = false;
            let _ = cx.unpark(vcpu);
        }
        CPU
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        let e = self.of(vcpu);
        if self.se[e].on && !self.se[e].delayed {
            return;
        }
        let new = !self.se[e].delayed && !self.se[e].known;
        self.read_clock(cx);
        if self.se[e].delayed {
            self.requeue(cx, e);
        } else {
            let how = match (self.se[e].moving, self.se[e].known) {
                (_, false) => "new",
                (true, true) => "",
                (false, true) => "sleep",
            };
            self.se[e].moving = false;
            self.se[e].known = true;
            self.enqueue(cx, e, how);
        }
        self.wakeup_preempt(cx, e, new);
        if self.held(self.se[e].group) && !self.since("6.18") {
            self.park(cx, e);
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            cx.tickle(CPU);
            return;
        }
        let e = self.of(vcpu);
        let how = match self.leaves(e, cx.vcpu(vcpu).pause) {
            "" => "",
            _ => "sleep special",
        };
        self.take_off(cx, e, how);
    }

    fn yielded(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let e = self.of(vcpu);
        if self.threads(0).0 == 1 {
            return;
        }
        self.clear_buddies(e);
        let q = self.q(e);
        let batch = self.se[e].meek && !self.se[e].idle;
        if !self.cfs() || !batch {
            self.read_clock(cx);
            self.update_runner(cx, q);
            self.skip_clock = true;
        }
        if self.cfs() {
            for x in self.chain(e) {
                let q = self.q(x);
                self.rq[q].skip = Some(x);
            }
        } else if self.release == "6.18" || self.eligible(q, self.se[e].v) {
            let request = self.fair(self.se[e].slice, e);
            self.se[e].v = self.se[e].d;
            self.se[e].d += request;
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, _: PcpuId, prev: Prev) -> Pick {
        if !self.skip_clock {
            self.read_clock(cx);
        }
        self.need = true;
        self.return_to_user(cx);
        if let Some(vcpu) = prev.vcpu {
            let e = self.of(vcpu);
            let pause = cx.vcpu(vcpu).pause;
            let held = pause.bits() == Pause::PARKED && !self.since("6.18");
            if pause != Pause::NONE && !held && self.se[e].on {
                let how = self.leaves(e, pause);
                self.dequeue(cx, e, how);
            }
        }
        let next = self.pick_next(cx);
        self.need = false;
        self.lazy = false;
        self.skip_clock = false;
        if next.is_some() && !self.ticks {
            self.ticks = true;
            let at = match self.wrong(Mistake::TicksOffGrid) {
                true => Self::now(cx) + self.tick(),
                false => self.next_tick(cx),
            };
            cx.set_timer(CPU, 0, instant(at));
        }
        if next.is_none() && self.ticks {
            self.ticks = false;
            cx.stop_timer(CPU, 0);
            if std::mem::take(&mut self.hrtick) {
                cx.stop_timer(CPU, 3);
            }
        }
        Pick {
            next: next.and_then(|e| self.se[e].vcpu),
            time_slice: None,
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, _: PcpuId, slot: u8) -> Option<Instant> {
        if slot == 1 {
            return self.groups_timer(cx);
        }
        self.read_clock(cx);
        if slot == 3 {
            self.hrtick_fires(cx);
            return None;
        }
        let e = self.curr.expect("ticks come where somebody runs");
        self.tick_of(cx, e);
        let at = match self.wrong(Mistake::TicksOffGrid) {
            true => Self::now(cx) + self.tick(),
            false => self.next_tick(cx),
        };
        Some(instant(at))
    }

    fn domain_timer(&mut self, cx: &mut Cx<'_>, domain: DomainId) -> Option<Instant> {
        let g = self.group_of(domain);
        self.domain_timers(cx, g);
        self.due_of_domain(g).map(instant)
    }
}

fn instant(at: i128) -> Instant {
    Instant::from_nanos(at as u64)
}
