//! RTDS: Xen's real-time deferrable server, earliest deadline first over all pcpus, with the rules
//! of each release from 4.5 (2015) to 4.20 (2025).
//!
//! A vcpu has a budget for each of its periods. Whoever has some of it left runs, the one whose
//! period ends first before the others, on whichever pcpu. A budget that is not used while the vcpu
//! sleeps is kept until the end of the period. Who has used it up waits for the next period, or,
//! with extra time, gets another budget one priority level lower.
//!
//! The pages follow xen-spec section 4.2; names are Xen's where it has one.
//!
//! | page | holds |
//! |---|---|
//! | `params` | parameters and their check |
//! | `rules` | what changed from release to release |
//! | `early` | budgets before they had a timer |
//! | `queues` | who waits, who has no budget, whose budget is filled up when |
//! | `event` | private trace records |

mod early;
mod event;
mod params;
mod queues;
mod rules;

#[cfg(test)]
mod tests;

pub use params::{DESCRIPTOR, validate};
pub use queues::REFILL;
pub use rules::RELEASES;

use crate::placement::{Successive, allowed_from};
use alloc::vec::Vec;
use core::cmp::Ordering;
use domio_contract::state::About;
use domio_contract::{Cx, Descriptor, Pick, Prev, Scheduler, StateRows, Wake};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId};
use params::Reservation;
use queues::Queue;
use rules::Rules;

/// What the policy keeps for a vcpu. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Vcpu {
    reserved: Reservation,
    /// What is left of its budget.
    left: i64,
    /// The end of its period.
    deadline: i64,
    /// How often it has begun a budget of extra time in this period.
    level: u32,
    /// Since when it has not paid, while it is current.
    start: i64,
    /// In one of the two queues.
    queued: bool,
    /// A pcpu has it, or has not saved its state yet.
    scheduled: bool,
    /// It queues up as soon as its state is saved.
    delayed_add: bool,
    /// Has used its budget up and found no other.
    depleted: bool,
    /// Its first pcpu has yet to be chosen.
    unplaced: bool,
}

/// The policy's state.
pub struct Rtds {
    rules: Rules,
    /// By vcpu.
    vcpus: Vec<Vcpu>,
    /// By domain.
    domains: Vec<(Reservation, Vec<VcpuId>)>,
    /// Those that wait and have a budget, the best first.
    waiting: Queue,
    /// Those that wait and have none.
    depleted: Queue,
    /// Those whose budget is to be filled up.
    refills: Queue,
    /// Room for those whose budget was.
    refilled: Queue,
    /// Pcpus that were tickled and have not made their pass.
    tickled: CpuSet,
    /// The pcpu that has the timer of the budgets.
    keeper: Option<PcpuId>,
    /// Where new vcpus go.
    successive: Successive,
    /// The pcpu whose hypervisor code calls: the buffer of private records.
    here: PcpuId,
}

fn ns(at: Instant) -> i64 {
    at.as_nanos() as i64
}

impl Rtds {
    /// An RTDS policy.
    pub fn new(params: &ParamValues, _: &Topology) -> Self {
        Rtds {
            rules: params::rules(params),
            vcpus: Vec::new(),
            domains: Vec::new(),
            waiting: Vec::new(),
            depleted: Vec::new(),
            refills: Vec::new(),
            refilled: Vec::new(),
            tickled: CpuSet::EMPTY,
            keeper: None,
            successive: Successive::default(),
            here: PcpuId(0),
        }
    }

    /// Begins the period of `vcpu` in which now lies, with a full budget.
    fn begin_period(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let now = ns(cx.now());
        let v = &mut self.vcpus[vcpu.index()];
        let periods = (now - v.deadline) / v.reserved.period + 1;
        v.deadline += periods * v.reserved.period;
        v.start = now;
        v.left = v.reserved.budget;
        v.level = 0;
        event::refill(cx, self.here, vcpu, v.deadline);
    }

    /// Takes the time that `vcpu`, which is current, ran from its budget.
    fn burn(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let now = ns(cx.now());
        let v = &mut self.vcpus[vcpu.index()];
        v.left -= now - v.start;
        v.start = now;
        if v.left <= 0 {
            if v.reserved.extratime {
                v.level += 1;
                v.left = v.reserved.budget;
            } else {
                v.left = 0;
                v.depleted = true;
            }
        }
        event::burn(cx, self.here, vcpu, v.left);
    }

    /// Finds a pcpu for `vcpu`, which waits: an idle one, its own before others, else that of the
    /// worst vcpu that runs, if it is worse than `vcpu`.
    fn tickle(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let mut among = cx.hard(vcpu) & !self.tickled;
        let mut worst: Option<(PcpuId, VcpuId)> = None;
        let mut chosen = None;
        let home = cx.vcpu(vcpu).pcpu;
        let mut next = match self.rules.looks_round {
            true => among.test_or_cycle(home),
            false if cx.current(home).is_none() => {
                among = CpuSet::of(home);
                Some(home)
            }
            false => among.first(),
        };
        while let Some(pcpu) = next {
            let Some(current) = cx.current(pcpu) else {
                chosen = Some(pcpu);
                break;
            };
            if worst.is_none_or(|(_, w)| self.compare(current, w) == Ordering::Less) {
                worst = Some((pcpu, current));
            }
            among.remove(pcpu);
            next = among.cycle(pcpu);
        }
        let worse = worst.filter(|(_, w)| self.compare(*w, vcpu) == Ordering::Less);
        if let Some(pcpu) = chosen.or(worse.map(|(pcpu, _)| pcpu)) {
            event::tickle(cx, self.here, pcpu);
            self.tickled.insert(pcpu);
            cx.tickle(pcpu);
        }
    }

    /// The timer of the budgets: fills up those that are due, as long as the first one is.
    fn refill(&mut self, cx: &mut Cx<'_>) {
        let now = ns(cx.now());
        let mut refilled = core::mem::take(&mut self.refilled);
        while let Some(&vcpu) = self.refills.first()
            && self.vcpus[vcpu.index()].deadline <= now
        {
            self.refills.remove(0);
            self.begin_period(cx, vcpu);
            refilled.push(vcpu);
            if self.vcpus[vcpu.index()].queued {
                self.dequeue(vcpu);
                self.enqueue(vcpu);
            }
        }
        // The last one first.
        for vcpu in refilled.drain(..).rev() {
            if cx.is_current(vcpu) && !self.waiting.is_empty() {
                let first = self.waiting[0];
                if self.compare(vcpu, first) == Ordering::Less {
                    self.tickle(cx, first);
                }
            } else {
                let v = &mut self.vcpus[vcpu.index()];
                if core::mem::take(&mut v.depleted) && v.queued {
                    self.tickle(cx, vcpu);
                }
            }
            self.insert_refill(vcpu);
        }
        self.refilled = refilled;
    }

    /// The vcpu that runs next on `pcpu`, left in its queue; `current` is the vcpu that ran and
    /// could continue.
    fn next(&self, cx: &Cx<'_>, pcpu: PcpuId, current: Option<VcpuId>) -> Option<VcpuId> {
        let mut waiting = self.waiting.iter().copied();
        let first = waiting.find(|v| cx.may_run_on(*v, pcpu));
        let keeps = current.filter(|c| {
            let better = |f: VcpuId| self.goes_before(*c, f);
            self.vcpus[c.index()].left > 0 && first.is_none_or(better)
        });
        keeps.or(first)
    }
}

impl Scheduler for Rtds {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, _: PcpuId) {
        self.choose_keeper(cx, None);
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.tickled.remove(pcpu);
        self.choose_keeper(cx, Some(pcpu));
    }

    /// Those of all its vcpus (Xen's `putinfo`). Periods and budgets change with the next period.
    fn set_domain(&mut self, _: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let rules = self.rules;
        let unknown = || (Reservation::unknown(&rules), Vec::new());
        if self.domains.len() <= domain.index() {
            self.domains.resize_with(domain.index() + 1, unknown);
        }
        let reserved = Reservation::new(params, &rules);
        let (of_domain, vcpus) = &mut self.domains[domain.index()];
        *of_domain = reserved;
        for vcpu in vcpus {
            self.vcpus[vcpu.index()].reserved = reserved;
        }
    }

    fn set_vcpu(&mut self, _: &mut Cx<'_>, vcpu: VcpuId, params: &ParamValues) {
        self.vcpus[vcpu.index()].reserved = Reservation::new(params, &self.rules);
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.here = cx.here();
        let (reserved, vcpus) = &mut self.domains[cx.vcpu(vcpu).name.domain.index()];
        vcpus.push(vcpu);
        let reserved = *reserved;
        // It is created with Xen's default, and the tools set the other when it has a period.
        let new = Vcpu {
            reserved: Reservation::unknown(&self.rules),
            left: 0,
            deadline: 0,
            level: 0,
            start: 0,
            queued: false,
            scheduled: false,
            delayed_add: false,
            depleted: false,
            unplaced: true,
        };
        if self.vcpus.len() <= vcpu.index() {
            self.vcpus.resize(vcpu.index() + 1, new);
        }
        self.vcpus[vcpu.index()] = new;
        self.begin_period(cx, vcpu);
        self.vcpus[vcpu.index()].reserved = reserved;
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let v = &self.vcpus[vcpu.index()];
        assert!(
            !v.queued && !v.scheduled,
            "a vcpu leaves while it is in use"
        );
        if self.refills.contains(&vcpu) {
            self.end_refills(cx, vcpu);
        }
        let (_, vcpus) = &mut self.domains[cx.vcpu(vcpu).name.domain.index()];
        vcpus.retain(|v| *v != vcpu);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        match core::mem::take(&mut self.vcpus[vcpu.index()].unplaced) {
            true => self.successive.first_pcpu(cx, vcpu),
            false => allowed_from(cx, vcpu, Some(cx.vcpu(vcpu).pcpu)),
        }
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        self.here = cx.here();
        if self.vcpus[vcpu.index()].queued || cx.is_current(vcpu) {
            return;
        }
        if !self.rules.timer {
            return self.wake_early(cx, vcpu);
        }
        let missed = self.vcpus[vcpu.index()].deadline <= ns(cx.now());
        if missed {
            self.begin_period(cx, vcpu);
        }
        let v = &mut self.vcpus[vcpu.index()];
        if v.scheduled {
            // It queues up when its state is saved.
            v.delayed_add = true;
            if missed {
                self.move_refill(cx, vcpu);
            }
            return;
        }
        self.begin_refills(cx, vcpu);
        self.enqueue(vcpu);
        self.tickle(cx, vcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        } else if self.vcpus[vcpu.index()].queued {
            self.dequeue(vcpu);
            self.end_refills(cx, vcpu);
        } else {
            self.vcpus[vcpu.index()].delayed_add = false;
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        self.here = pcpu;
        let tickled = self.tickled.contains(pcpu);
        event::schedule(cx, pcpu, prev.vcpu.is_none(), tickled);
        self.tickled.remove(pcpu);
        if let Some(vcpu) = prev.vcpu {
            self.burn(cx, vcpu);
        }
        if !self.rules.timer {
            self.fill_up(cx);
        }
        let current = prev.vcpu.filter(|v| cx.vcpu(*v).runnable());
        let next = self.next(cx, pcpu, current);
        if let Some(vcpu) = current
            && next != current
        {
            self.vcpus[vcpu.index()].delayed_add = true;
        }
        let Some(vcpu) = next else {
            return Pick::IDLE;
        };
        if next != prev.vcpu {
            self.dequeue(vcpu);
            self.vcpus[vcpu.index()].scheduled = true;
        }
        let v = &mut self.vcpus[vcpu.index()];
        v.start = ns(cx.now());
        event::pick(cx, pcpu, vcpu, v.deadline);
        // Who got extra time while it had no budget burns the empty one immediately.
        let slice = match self.rules.timer {
            true => Duration::from_nanos(v.left.max(1) as u64),
            false => self.quantum(vcpu),
        };
        Pick {
            next,
            time_slice: Some(slice),
        }
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.here = cx.vcpu(vcpu).pcpu;
        let v = &mut self.vcpus[vcpu.index()];
        v.scheduled = false;
        if !core::mem::take(&mut v.delayed_add) || !cx.vcpu(vcpu).runnable() {
            self.end_refills(cx, vcpu);
        } else if self.rules.timer {
            self.enqueue(vcpu);
            self.tickle(cx, vcpu);
        } else {
            self.queue_up_early(cx, vcpu);
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, _: u8) -> Option<Instant> {
        self.here = pcpu;
        match self.rules.timer {
            true => self.refill(cx),
            false => self.rouse(cx),
        }
        self.next_refill(cx)
    }

    fn resume(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId], _: &StateRows) {
        for &vcpu in runnable {
            if cx.is_current(vcpu) {
                self.vcpus[vcpu.index()].scheduled = true;
                self.vcpus[vcpu.index()].start = ns(cx.now());
                self.begin_refills(cx, vcpu);
            } else {
                self.wake(cx, vcpu, Wake::Event);
            }
        }
    }

    fn state(&self, out: &mut StateRows) {
        for (what, queue) in [
            (" waits", &self.waiting),
            (" has no budget", &self.depleted),
            (" is filled up", &self.refills),
        ] {
            for vcpu in queue {
                let v = &self.vcpus[vcpu.index()];
                out.row("", About::Vcpu(*vcpu))
                    .say("v")
                    .tell("vcpu", "", vcpu.0)
                    .say(what)
                    .say(": level ")
                    .tell("level", "", v.level)
                    .say(", ")
                    .tell("left", "ns", v.left)
                    .say(" of ")
                    .tell("budget", "ns", v.reserved.budget)
                    .say(" ns left until ")
                    .tell("deadline", "ns", v.deadline)
                    .say(" ns");
            }
        }
    }
}
