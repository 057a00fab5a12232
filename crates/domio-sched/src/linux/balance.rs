//! Balancing over the domains of the topology: by the tick, and before a pcpu idles (linux-spec 6).

use super::params::{IMBALANCE_PCT, NICE_TRIES, min_interval};
use super::state::{Draws, LEVELS, NIL};
use super::{Linux, event};
use domio_contract::{Cx, Work};
use domio_core::{CpuSet, PcpuId};

/// Most threads that one balancing moves.
const MOVES_MAX: u32 = 32;
/// How much longer a busy pcpu waits for its next balancing.
const BUSY_FACTOR: i64 = 16;
/// Longest interval between balancings that found nothing to move.
const INTERVALS_MAX: i64 = 2;

/// Load of a part of a domain.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    load: u64,
    util: u64,
    runnable: u64,
    /// Threads of the fair class, and of all.
    threads: u64,
    all: u64,
    idle: u64,
    pcpus: u64,
    /// What the classes above fair leave, 1024 for each pcpu.
    capacity: u64,
}

/// What a part of a domain is, the least loaded first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    HasSpare,
    FullyBusy,
    Overloaded,
}

impl Load {
    fn add(&mut self, other: &Load) {
        self.load += other.load;
        self.util += other.util;
        self.runnable += other.runnable;
        self.threads += other.threads;
        self.all += other.all;
        self.idle += other.idle;
        self.pcpus += other.pcpus;
        self.capacity += other.capacity;
    }

    fn kind(&self, pct: u64) -> Kind {
        let capacity = self.capacity;
        let over = capacity * 100 < self.util * pct || capacity * pct < self.runnable * 100;
        if self.all > self.pcpus && over {
            return Kind::Overloaded;
        }
        let queues = capacity * pct < self.runnable * 100;
        match self.all < self.pcpus || (!queues && capacity * 100 > self.util * pct) {
            true => Kind::HasSpare,
            false => Kind::FullyBusy,
        }
    }

    /// Load over capacity.
    fn average(&self) -> u64 {
        self.load * 1024 / self.capacity
    }

    /// Whether a new thread rather goes here than to `other`.
    pub fn is_idler_than(&self, other: &Load) -> bool {
        let (a, b) = (self.kind(117), other.kind(117));
        match (a == b, a) {
            (false, _) => a < b,
            (true, Kind::HasSpare) => {
                self.idle > other.idle || (self.idle == other.idle && self.util < other.util)
            }
            (true, _) => self.average() < other.average(),
        }
    }

    /// Whether a new thread of this part stays in it, where `other` is the idlest one.
    pub fn keeps_against(&self, other: &Load, pct: u64) -> bool {
        let (a, b) = (self.kind(117), other.kind(117));
        match (a == b, a) {
            (false, _) => a < b,
            (true, Kind::HasSpare) => self.idle >= other.idle,
            (true, _) => {
                let margin = 1024 * (pct - 100) / 100;
                other.average() >= self.average() + margin
                    || 100 * self.average() <= pct * other.average()
            }
        }
    }
}

/// What is to be moved.
#[derive(Clone, Copy, Debug)]
enum Imbalance {
    Threads(u64),
    Load(u64),
}

/// What a balancing is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// The tick of a busy pcpu.
    Busy,
    /// On behalf of an idle pcpu.
    Idle,
    /// The pcpu has nothing left to run.
    NewIdle,
}

impl Linux {
    /// The first part of domain `level` of which something is in `rest`, a domain below: `rest` is
    /// without it from then on. Parts come in ascending order.
    pub(super) fn next_part(&self, cx: &Cx<'_>, level: usize, rest: &mut CpuSet) -> Option<CpuSet> {
        let first = rest.first()?;
        let part = match level {
            0 => CpuSet::of(first),
            level => self.span(cx, level - 1, first.0),
        };
        *rest &= !part;
        Some(part)
    }

    /// The load of the pcpus in `part`.
    pub(super) fn load_of(&self, part: &CpuSet) -> Load {
        let mut sum = Load::default();
        for c in part.iter() {
            let queue = &self.queues[c.index()];
            sum.load += queue.average.load;
            sum.util += queue.average.util;
            sum.runnable += queue.average.runnable;
            sum.threads += u64::from(queue.threads);
            sum.all += u64::from(self.all_on(c.0));
            sum.idle += u64::from(self.is_idle(c.0));
            sum.pcpus += 1;
            sum.capacity += self.capacity(c.0);
        }
        sum
    }

    /// The tick of `cpu`: balances what is due there, and for those that idle.
    pub(super) fn balance_at_tick(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        if !self.multi || !self.balances {
            return;
        }
        let now = self.cpus[usize::from(cpu)].clock;
        // A tick finds a thread.
        self.balance_domains(cx, cpu, now, Why::Busy);
        if self.all_on(cpu) < 2 {
            return;
        }
        for c in cx.online().iter() {
            if c.0 != cpu && self.is_idle(c.0) {
                self.balance_domains(cx, c.0, now, Why::Idle);
            }
        }
    }

    /// Balances the domains of `cpu` that are due.
    fn balance_domains(&mut self, cx: &mut Cx<'_>, cpu: u16, now: i64, why: Why) {
        let at = usize::from(cpu);
        if now < self.cpus[at].next_balance {
            return;
        }
        self.follow(cpu, now);
        self.fade(cpu);
        let mut next = now + 60_000_000_000;
        for level in 0..LEVELS {
            if !self.has_level(cx, level, cpu) {
                continue;
            }
            let least = min_interval(self.span(cx, level, cpu).len());
            let interval = self.interval(cx, cpu, level, why);
            let c = &self.cpus[at];
            let own = c.interval[level].clamp(least, least * INTERVALS_MAX);
            if now >= c.balanced[level] + interval {
                let moved = self.balance(cx, cpu, level, why);
                let c = &mut self.cpus[at];
                c.balanced[level] = now;
                c.interval[level] = match moved {
                    true => least,
                    false => (own * 2).min(least * INTERVALS_MAX),
                };
            }
            next = next.min(self.cpus[at].balanced[level] + interval);
        }
        self.cpus[at].next_balance = next;
    }

    /// How long `cpu` waits from one balancing of its domain `level` to the next.
    fn interval(&self, cx: &Cx<'_>, cpu: u16, level: usize, why: Why) -> i64 {
        let least = min_interval(self.span(cx, level, cpu).len());
        let own = self.cpus[usize::from(cpu)].interval[level];
        let own = own.clamp(least, least * INTERVALS_MAX);
        let tick = self.rules.tick;
        let ticks = match why {
            // So that the interval is no multiple of that of a domain below.
            Why::Busy => own * BUSY_FACTOR / tick - 1,
            _ => own / tick,
        };
        let most = 100_000_000 * cx.online().len() as i64;
        (ticks * tick).clamp(tick, most)
    }

    /// `cpu` has nothing left to run. Returns whether something came.
    pub(super) fn pull_before_idling(&mut self, cx: &mut Cx<'_>, cpu: u16) -> bool {
        let at = usize::from(cpu);
        if !self.multi || !self.balances || !self.cpus[at].online {
            return false;
        }
        self.cpus[at].idle_since = self.cpus[at].clock;
        for level in 0..LEVELS {
            if self.has_level(cx, level, cpu) {
                // Idle pcpus balance sooner.
                let soon = self.interval(cx, cpu, level, Why::Idle);
                let c = &mut self.cpus[at];
                c.next_balance = c.next_balance.min(c.balanced[level] + soon);
            }
        }
        if !self.overloaded {
            return false;
        }
        for level in 0..LEVELS {
            if !self.has_level(cx, level, cpu) {
                continue;
            }
            let draws = self.cpus[at].draws[level];
            let mut weight = 1;
            let always = self.rules.ni_rate && draws.ratio >= Draws::ALWAYS;
            if self.rules.ni_random && !always {
                weight = 1 + draws.ratio;
                if self.draw() % 1024 > u64::from(weight) {
                    continue;
                }
            }
            let moved = self.balance(cx, cpu, level, Why::NewIdle);
            let draws = &mut self.cpus[at].draws[level];
            draws.calls += 1;
            if moved {
                draws.success += (1024 + weight / 2) / weight;
            }
            if draws.calls >= 1024 {
                draws.ratio = draws.success;
                if self.rules.ni_rate {
                    let now = self.cpus[at].clock;
                    let draws = &mut self.cpus[at].draws[level];
                    draws.note_time(now);
                }
                let draws = &mut self.cpus[at].draws[level];
                (draws.calls, draws.success) = (draws.calls / 2, draws.success / 2);
            }
            if moved || self.all_on(cpu) > 0 {
                break;
            }
        }
        self.queues[at].count > 0
    }

    /// Whether `cpu` is the one that balances its part of the domain.
    fn balances_for(&self, part: &CpuSet, cpu: u16, why: Why) -> bool {
        if why == Why::NewIdle {
            return self.all_on(cpu) == 0;
        }
        let idle = part.iter().find(|c| self.is_idle(c.0));
        idle.or(part.first()).is_some_and(|c| c.0 == cpu)
    }

    /// Moves threads to `cpu` from the busiest part of its domain `level`. Returns whether some
    /// were.
    fn balance(&mut self, cx: &mut Cx<'_>, cpu: u16, level: usize, why: Why) -> bool {
        let now = self.cpus[usize::from(cpu)].clock;
        let span = self.span(cx, level, cpu);
        let pct = IMBALANCE_PCT[level];
        for c in span.iter() {
            self.update_queue(u32::from(c.0), now);
            if self.highs > 0 {
                self.follow_high(c.0, now);
            }
        }
        let (mut rest, mut all) = (span, Load::default());
        let (mut local, mut busiest) = (None, None::<(Load, CpuSet)>);
        while let Some(part) = self.next_part(cx, level, &mut rest) {
            let load = self.load_of(&part);
            all.add(&load);
            cx.did(Work::Balance, part.len() as u32);
            if part.contains(PcpuId(cpu)) {
                if !self.balances_for(&part, cpu, why) {
                    return false;
                }
                local = Some(load);
            } else if load.threads > 0
                && busiest
                    .as_ref()
                    .is_none_or(|(b, _)| is_busier(&load, b, pct))
            {
                busiest = Some((load, part));
            }
        }
        self.note_scan(cx, level, cpu, &span, all.util);
        let (Some(local), Some((load, part))) = (local, busiest) else {
            return false;
        };
        let idle = why != Why::Busy;
        let Some(what) = imbalance(&local, &load, &all, pct, idle, level) else {
            self.cpus[usize::from(cpu)].failed[level] = 0;
            return false;
        };
        let moved = self.pull(cx, cpu, level, &part, what, why);
        let failed = &mut self.cpus[usize::from(cpu)].failed[level];
        match (moved, why) {
            (true, _) => *failed = 0,
            (false, Why::NewIdle) => {}
            (false, _) => *failed += 1,
        }
        moved
    }

    /// At the level of the cache, computes how many pcpus a wake-up looks at; at the top, whether
    /// anybody waits at all.
    fn note_scan(&mut self, cx: &Cx<'_>, level: usize, cpu: u16, span: &CpuSet, util: u64) {
        if level == 1 {
            let size = span.len() as u64;
            let util = util / size;
            let pct = IMBALANCE_PCT[1];
            let used = (util * util * pct * pct / (10_000 * 1024)).min(1024);
            let scan = (1024 - used) * size / 1024;
            self.scan[cx.topology().socket_of(PcpuId(cpu))] = scan as u32;
        }
        if (level + 1..LEVELS).all(|l| !self.has_level(cx, l, cpu)) {
            self.overloaded = span.iter().any(|c| self.all_on(c.0) > 1);
        }
    }

    /// Moves what is to be moved from the busiest pcpu of `part` to `cpu`.
    fn pull(
        &mut self,
        cx: &mut Cx<'_>,
        cpu: u16,
        level: usize,
        part: &CpuSet,
        what: Imbalance,
        why: Why,
    ) -> bool {
        let mut source: Option<u16> = None;
        for c in part.iter() {
            let queue = &self.queues[c.index()];
            if queue.threads == 0 || self.all_on(c.0) < 2 {
                continue;
            }
            let busier = source.is_none_or(|s| {
                let other = &self.queues[usize::from(s)];
                match what {
                    Imbalance::Threads(_) => queue.threads > other.threads,
                    Imbalance::Load(_) => {
                        let (own, its) = (self.capacity(c.0), self.capacity(s));
                        queue.average.load * its > other.average.load * own
                    }
                }
            });
            if busier {
                source = Some(c.0);
            }
        }
        let Some(source) = source else {
            return false;
        };
        self.follow(source, self.cpus[usize::from(cpu)].clock);
        let mut left = what;
        let mut moved = 0;
        let failed = self.cpus[usize::from(cpu)].failed[level];
        while moved < MOVES_MAX {
            if why != Why::Busy && self.all_on(source) <= 1 {
                break;
            }
            let Some(e) = self.candidate(cx, source, cpu, level, failed, left) else {
                break;
            };
            left = match left {
                Imbalance::Threads(n) => Imbalance::Threads(n - 1),
                Imbalance::Load(load) => {
                    Imbalance::Load(load.saturating_sub(self.thread_load(e).max(1)))
                }
            };
            self.move_thread(cx, e, cpu);
            moved += 1;
            let done = matches!(left, Imbalance::Threads(0) | Imbalance::Load(0));
            if done || why == Why::NewIdle {
                break;
            }
        }
        moved > 0
    }

    /// A thread that waits on `source` and may go to `cpu`, the one that came first.
    fn candidate(
        &self,
        cx: &Cx<'_>,
        source: u16,
        cpu: u16,
        level: usize,
        failed: u32,
        left: Imbalance,
    ) -> Option<u32> {
        let now = self.cpus[usize::from(source)].clock;
        let busy = self.all_on(cpu) > 0;
        let may = |e: u32| {
            let entity = &self.entities[e as usize];
            let Some(vcpu) = entity.vcpu else {
                return false;
            };
            let q = entity.queue;
            let there = self.queue_on(entity.group, cpu);
            let here = self.queues[q as usize].throttles > 0;
            let held = here && !self.rules.release.pulls_eligible();
            if held || self.queues[there as usize].throttles > 0 {
                return false;
            }
            if entity.delayed
                || !cx.may_run_on(vcpu, PcpuId(cpu))
                || cx.vcpu(vcpu).on_pcpu
                || !cx.vcpu(vcpu).runnable()
            {
                return false;
            }
            let buddy = self.queues[q as usize].next == e || self.queues[q as usize].last == e;
            let hot = !entity.idle
                && level > 0
                && ((busy && buddy) || now - entity.exec_start < self.rules.migration_cost);
            if hot && failed <= NICE_TRIES[level] {
                return false;
            }
            if failed == 0 && self.would_stay_ahead(e, cpu) {
                return false;
            }
            match left {
                Imbalance::Threads(_) => true,
                Imbalance::Load(load) => self.thread_load(e).max(1) >> failed.min(63) <= load,
            }
        };
        self.waiting_on(source).find(|e| may(*e))
    }

    /// Whether `e`, which waits, is ahead where it is, and others are where it would go on `cpu`:
    /// it is not pulled there in vain (7.0).
    fn would_stay_ahead(&self, e: u32, cpu: u16) -> bool {
        let release = self.rules.release;
        if !release.pulls_eligible() || !self.rules.place_lag {
            return false;
        }
        let entity = &self.entities[e as usize];
        let there = match release.is_flat() {
            true => self.competitors(cpu),
            false => self.queues[self.queue_on(entity.group, cpu) as usize].count,
        };
        there > 0 && !self.is_eligible(self.line_of(e), entity.v)
    }

    /// All threads that wait on `cpu`, group by group.
    fn waiting_on(&self, cpu: u16) -> impl Iterator<Item = u32> + '_ {
        let groups = 0..self.groups.len() as u32;
        groups.flat_map(move |g| {
            let queue = &self.queues[self.queue_on(g, cpu) as usize];
            queue.waiting.iter().map(|(_, e)| *e)
        })
    }

    /// The thread `e`, which waits, goes to `cpu`.
    fn move_thread(&mut self, cx: &mut Cx<'_>, e: u32, cpu: u16) {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        self.dequeue_thread(cx, e, 0);
        self.go_to(e, cpu);
        event::pulled(cx, vcpu, PcpuId(cpu));
        cx.move_to(vcpu, PcpuId(cpu));
        self.enqueue_thread(cx, e, 0);
        if self.cpus[usize::from(cpu)].current != NIL {
            self.preempt(cx, e, false);
        } else {
            self.resched(cx, cpu);
        }
    }

    /// The thread `e`, which is on no queue, belongs to `cpu` from now on.
    pub(super) fn go_to(&mut self, e: u32, cpu: u16) {
        let old = self.queue_of(e);
        if self.queues[old as usize].cpu == cpu {
            return;
        }
        self.detach_load(e);
        let min_v = self.queues[old as usize].min_v;
        let queue = self.queue_on(self.entities[e as usize].group, cpu);
        let entity = &mut self.entities[e as usize];
        if !entity.relative {
            entity.v = entity.v.wrapping_sub(min_v);
            entity.relative = true;
        }
        entity.queue = queue;
        entity.parent = self.queues[queue as usize].entity;
        entity.exec_start = 0;
    }
}

/// Whether a part with the load `a` is busier than one with `b`.
fn is_busier(a: &Load, b: &Load, pct: u64) -> bool {
    let (kind, other) = (a.kind(pct), b.kind(pct));
    match (kind == other, kind) {
        (false, _) => kind > other,
        (true, Kind::HasSpare) => a.idle < b.idle || (a.idle == b.idle && a.all > b.all),
        (true, _) => a.average() > b.average(),
    }
}

/// What is to be moved from the part with the load `busiest` to that with `local`, in a domain with
/// the load `all`.
fn imbalance(
    local: &Load,
    busiest: &Load,
    all: &Load,
    pct: u64,
    idle: bool,
    level: usize,
) -> Option<Imbalance> {
    let (here, there) = (local.kind(pct), busiest.kind(pct));
    if here > there {
        return None;
    }
    let (a, b, mean) = (local.average(), busiest.average(), all.average());
    let levels = a >= b || a >= mean;
    if here == Kind::Overloaded && (levels || 100 * b <= pct * a) {
        return None;
    }
    let prefers_sibling = level < 2;
    if there != Kind::Overloaded {
        let spreads = prefers_sibling && here == Kind::HasSpare && busiest.all > local.all + 1;
        let level_enough = busiest.pcpus > 1 && local.idle <= busiest.idle + 1;
        if !spreads && (!idle || level_enough || busiest.threads == 1) {
            return None;
        }
    }
    if here == Kind::HasSpare {
        let count = match busiest.pcpus == 1 || prefers_sibling {
            true => busiest.all.saturating_sub(local.all) >> 1,
            false => local.idle.saturating_sub(busiest.idle) >> 1,
        };
        let count = match (count, there, idle) {
            (0, Kind::Overloaded, true) => 1,
            (count, ..) => count,
        };
        return (count > 0).then_some(Imbalance::Threads(count));
    }
    if levels || b <= mean {
        return None;
    }
    let load = ((b - mean) * busiest.capacity).min((mean - a) * local.capacity) / 1024;
    (load > 0).then_some(Imbalance::Load(load))
}
