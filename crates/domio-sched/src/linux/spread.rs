//! Which pcpu a thread above fair runs on: where it wakes, and who is pushed and pulled (linux-spec
//! 7.1).

use super::Linux;
use super::event;
use super::params::Level;
use super::state::{LEVELS, NIL};
use domio_contract::{Cx, Work};
use domio_core::{CpuSet, PcpuId, VcpuId};

impl Linux {
    /// Whether the thread `e` may run on one pcpu alone.
    pub(super) fn is_pinned(&self, cx: &Cx<'_>, e: u32) -> bool {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        cx.hard(vcpu).len() == 1
    }

    /// The highest priority of fifo and rr on `cpu`; above all of them with a deadline there, 0
    /// with neither.
    fn top(&self, cpu: u16) -> u8 {
        let high = &self.high[usize::from(cpu)];
        match (high.deadline.is_empty(), high.real_time.first()) {
            (false, _) => 100,
            (true, Some(e)) => self.priority(*e),
            (true, None) => 0,
        }
    }

    /// The pcpu on which `e` would displace the lowest: one of those with the lowest priority, if
    /// that is lower than the thread's, or without deadlines, or with the latest one.
    pub(super) fn lowest(&mut self, cx: &mut Cx<'_>, e: u32) -> Option<u16> {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        let allowed = cx.hard(vcpu) & cx.online();
        cx.did(Work::Balance, allowed.len() as u32);
        let mut set = CpuSet::EMPTY;
        if self.entities[e as usize].level == Level::RealTime {
            let priority = self.priority(e);
            let least = allowed.iter().map(|c| self.top(c.0)).min()?;
            if least >= priority {
                return None;
            }
            set = allowed.iter().filter(|c| self.top(c.0) == least).collect();
        } else {
            let none = |c: &PcpuId| self.high[c.index()].deadline.is_empty();
            set |= allowed.iter().filter(none).collect();
            if set.is_empty() {
                let latest = cx
                    .online()
                    .iter()
                    .max_by_key(|c| (self.first_deadline(c.0), core::cmp::Reverse(c.0)))?;
                let own = self.cbs(e).deadline;
                let sooner = self.first_deadline(latest.0).is_none_or(|d| own < d);
                return (sooner && allowed.contains(latest)).then_some(latest.0);
            }
        }
        Some(self.near(cx, e, set))
    }

    /// One of `set` for the thread `e`: the pcpu that it was on, one near that, or any.
    fn near(&mut self, cx: &Cx<'_>, e: u32, set: CpuSet) -> u16 {
        let home = self.queues[self.queue_of(e) as usize].cpu;
        if set.contains(PcpuId(home)) {
            return home;
        }
        let here = cx.here();
        for level in 0..LEVELS {
            let span = self.span(cx, level, home);
            if set.contains(here) && span.contains(here) {
                return here.0;
            }
            if let Some(cpu) = self.take_turn(here.0, set & span) {
                return cpu;
            }
        }
        match set.contains(here) {
            true => here.0,
            false => self.take_turn(here.0, set).expect("one of them"),
        }
    }

    /// The pcpus of `set` in turn, as the pcpu `here` asks for them.
    fn take_turn(&mut self, here: u16, set: CpuSet) -> Option<u16> {
        let last = self.high[usize::from(here)].turn;
        let next = set.iter().find(|c| c.0 > last).or(set.first())?;
        self.high[usize::from(here)].turn = next.0;
        Some(next.0)
    }

    /// Where `vcpu`, which is above fair, wakes and was on `home`, goes.
    pub(super) fn select_high(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, home: u16) -> u16 {
        let e = self.threads[vcpu.index()].entity;
        let current = self.cpus[usize::from(home)].current;
        if self.is_pinned(cx, e) || current == NIL || !self.is_high(current) {
            return home;
        }
        let (is_deadline, current_too) = (self.has_deadline(e), self.has_deadline(current));
        let stays = match is_deadline && !current_too {
            true => true,
            false => !self.is_pinned(cx, current) && self.outranks(e, current),
        };
        if stays {
            return home;
        }
        match self.lowest(cx, e) {
            Some(cpu) if self.displaces(e, cpu) => cpu,
            _ => home,
        }
    }

    /// Whether `e` would run on some pcpu before all that is there.
    pub(super) fn can_displace(&self, cx: &Cx<'_>, e: u32) -> bool {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        let mut allowed = (cx.hard(vcpu) & cx.online()).iter();
        allowed.any(|c| self.displaces(e, c.0))
    }

    /// Whether `e` would run on `cpu` before all that is there.
    fn displaces(&self, e: u32, cpu: u16) -> bool {
        match self.has_deadline(e) {
            true => {
                let first = self.first_deadline(cpu);
                first.is_none_or(|first| self.cbs(e).deadline < first)
            }
            false => self.priority(e) > self.top(cpu),
        }
    }

    /// The thread `e` woke on `cpu` and does not preempt: it goes elsewhere if it can.
    pub(super) fn push_woken(&mut self, cx: &mut Cx<'_>, cpu: u16, e: u32) {
        let c = &self.cpus[usize::from(cpu)];
        let current = c.current;
        if !self.multi || c.resched || current == NIL || current == e || !self.is_high(current) {
            return;
        }
        if self.is_pinned(cx, e) || (!self.is_pinned(cx, current) && self.outranks(e, current)) {
            return;
        }
        self.push(cx, cpu);
    }

    /// Threads above fair that wait on `cpu` go where they can run, the highest first.
    pub(super) fn push(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        if !self.multi {
            return;
        }
        while self.push_deadline(cx, cpu) {}
        while self.push_real_time(cx, cpu) {}
    }

    fn push_real_time(&mut self, cx: &mut Cx<'_>, cpu: u16) -> bool {
        let high = &self.high[usize::from(cpu)];
        if high.real_time.len() < 2 && (high.real_time.is_empty() || high.deadline.is_empty()) {
            return false;
        }
        if high.rt_throttled {
            return false;
        }
        let waiting = high.real_time.iter().copied();
        let next = waiting.into_iter().find(|e| self.can_go(cx, cpu, *e));
        next.is_some_and(|e| self.push_one(cx, cpu, e))
    }

    fn push_deadline(&mut self, cx: &mut Cx<'_>, cpu: u16) -> bool {
        let high = &self.high[usize::from(cpu)];
        if high.deadline.len() < 2 {
            return false;
        }
        let next = high
            .deadline
            .iter()
            .copied()
            .find(|e| self.can_go(cx, cpu, *e));
        next.is_some_and(|e| self.push_one(cx, cpu, e))
    }

    /// Whether `e`, which is on a queue of `cpu`, can be moved.
    fn can_go(&self, cx: &Cx<'_>, cpu: u16, e: u32) -> bool {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        let view = cx.vcpu(vcpu);
        self.cpus[usize::from(cpu)].current != e
            && !view.on_pcpu
            && view.runnable()
            && cx.hard(vcpu).len() > 1
    }

    /// Moves `e`, which waits on `cpu`, to where it can run. Returns whether it went.
    fn push_one(&mut self, cx: &mut Cx<'_>, cpu: u16, e: u32) -> bool {
        let current = self.cpus[usize::from(cpu)].current;
        if current == NIL || self.outranks(e, current) {
            self.resched(cx, cpu);
            return false;
        }
        let Some(target) = self.lowest(cx, e).filter(|target| *target != cpu) else {
            return false;
        };
        if !self.displaces(e, target) {
            return false;
        }
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        self.read_clock(cx, cpu);
        self.dequeue_high(cx, e);
        self.read_clock(cx, target);
        self.go_to(e, target);
        event::pulled(cx, vcpu, PcpuId(target));
        cx.move_to(vcpu, PcpuId(target));
        self.enqueue_high(cx, e, 0);
        self.resched(cx, target);
        true
    }

    /// A thread above fair left `cpu`: those that wait elsewhere may come.
    pub(super) fn pull_high(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        if !self.multi || !self.cpus[usize::from(cpu)].online {
            return;
        }
        for other in cx.online().iter().filter(|c| c.0 != cpu) {
            let high = &self.high[other.index()];
            if high.real_time.len() + high.deadline.len() > 1 {
                self.push(cx, other.0);
            }
        }
    }
}
