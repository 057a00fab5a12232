//! Threads of the classes above fair: their queues on each pcpu, charging, ticks, preemption
//! (linux-spec 0.8, 7.1 to 7.4).

use super::cbs::Cbs;
use super::entity::how;
use super::given::ThreadSetting;
use super::params::{Class, Level};
use super::state::NIL;
use super::{HIGH, Linux};
use domio_contract::Cx;
use domio_core::{Instant, PcpuId};

/// Whose turn it is on a pcpu.
pub(super) enum Turn {
    /// That of a thread above fair.
    Thread(u32),
    /// That of the fair class, by its server.
    Server,
    /// That of the fair class, as nobody above runs.
    Fair,
}

impl Linux {
    #[inline]
    pub(super) fn is_high(&self, e: u32) -> bool {
        self.entities[e as usize].level != Level::Fair
    }

    /// Threads above fair that are on the queues of `cpu` and may run.
    #[inline]
    pub(super) fn high_on(&self, cpu: u16) -> u32 {
        if self.highs == 0 {
            return 0;
        }
        let high = &self.high[usize::from(cpu)];
        let real_time = match high.rt_throttled {
            true => 0,
            false => high.real_time.len(),
        };
        (real_time + high.deadline.len()) as u32
    }

    /// Threads of all classes on `cpu`.
    #[inline]
    pub(super) fn all_on(&self, cpu: u16) -> u32 {
        self.queues[usize::from(cpu)].threads + self.high_on(cpu)
    }

    /// What the classes above fair leave of `cpu`, in parts of 1024.
    pub(super) fn capacity(&self, cpu: u16) -> u64 {
        match self.highs {
            0 => 1024,
            _ => 1024_u64
                .saturating_sub(self.high[usize::from(cpu)].average.util)
                .max(1),
        }
    }

    /// The priority of `e`, which is of fifo or rr.
    pub(super) fn priority(&self, e: u32) -> u8 {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        self.threads[vcpu.index()].setting.priority
    }

    /// Whether `e` is to run before `other`, both of any class.
    pub(super) fn outranks(&self, e: u32, other: u32) -> bool {
        let (a, b) = (
            self.entities[e as usize].level,
            self.entities[other as usize].level,
        );
        match (a == b, a) {
            (false, _) => a > b,
            (true, Level::Fair) => false,
            (true, Level::RealTime) => self.priority(e) > self.priority(other),
            (true, Level::Deadline) => self.cbs(e).deadline < self.cbs(other).deadline,
        }
    }

    /// The thread `e`, which is on no queue, is of the class of `setting` from now on.
    pub(super) fn set_level(&mut self, cx: &mut Cx<'_>, e: u32, setting: &ThreadSetting) {
        let (old, new) = (self.entities[e as usize].level, setting.class.level());
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        self.entities[e as usize].level = new;
        if new == Level::Deadline {
            let begun = match old {
                Level::Deadline => *self.cbs(e),
                _ => Cbs::NONE,
            };
            *self.cbs_mut(e) = Cbs {
                reserves: setting.reserves,
                ..begun
            };
        } else if old == Level::Deadline {
            *self.cbs_mut(e) = Cbs::NONE;
            self.arm_high(cx, cpu);
        }
        if new == Level::RealTime && old != new {
            let quantum = self.rules.rr_ticks;
            let vcpu = self.entities[e as usize].vcpu.expect("a thread");
            self.threads[vcpu.index()].quantum = quantum;
        }
        match (old == Level::Fair, new == Level::Fair) {
            (true, false) => {
                self.highs += 1;
                if self.highs == 1 {
                    self.begin_high(cx);
                }
            }
            (false, true) => {
                self.highs -= 1;
                if self.highs == 0 {
                    self.end_high(cx);
                }
            }
            _ => {}
        }
    }

    /// The first thread above fair is there.
    fn begin_high(&mut self, cx: &mut Cx<'_>) {
        for cpu in 0..self.cpus.len() as u16 {
            let c = &self.cpus[usize::from(cpu)];
            let (clock, idles) = (c.clock, c.current == NIL);
            let high = &mut self.high[usize::from(cpu)];
            high.average.last = clock;
            if idles {
                high.idle_from = clock;
            }
            if self.cpus[usize::from(cpu)].online {
                self.follow_fair(cx, cpu, 0);
            }
        }
    }

    /// The last thread above fair is gone.
    fn end_high(&mut self, cx: &mut Cx<'_>) {
        self.rt_period_at = None;
        for cpu in 0..self.cpus.len() as u16 {
            self.stop_server(cx, cpu);
            let high = &mut self.high[usize::from(cpu)];
            (high.rt_time, high.rt_throttled, high.push_at) = (0, false, None);
            self.arm_high(cx, cpu);
        }
    }

    /// The thread `e`, which is above fair, comes to the queue of its class.
    pub(super) fn enqueue_high(&mut self, cx: &mut Cx<'_>, e: u32, flags: u8) {
        if self.entities[e as usize].on_queue {
            return;
        }
        if self.has_deadline(e) {
            return self.enqueue_deadline(cx, e, flags);
        }
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        self.line_up(cpu, e, flags & how::HEAD != 0);
        self.entities[e as usize].on_queue = true;
        self.start_rt_period(cx);
        if self.high[usize::from(cpu)].rt_throttled {
            self.park(cx, e);
        }
    }

    /// The thread `e`, which is above fair, leaves its queue.
    pub(super) fn dequeue_high(&mut self, cx: &mut Cx<'_>, e: u32) {
        if self.has_deadline(e) {
            return self.dequeue_deadline(cx, e);
        }
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        self.charge_high(cx, cpu);
        self.step_out(cpu, e);
        self.entities[e as usize].on_queue = false;
    }

    /// The thread `e` of fifo or rr stands in line on `cpu`: before all of its priority, or behind
    /// them.
    fn line_up(&mut self, cpu: u16, e: u32, ahead: bool) {
        let priority = self.priority(e);
        let queue = &self.high[usize::from(cpu)].real_time;
        let at = queue.partition_point(|other| {
            let other = self.priority(*other);
            other > priority || (other == priority && !ahead)
        });
        self.high[usize::from(cpu)].real_time.insert(at, e);
    }

    /// The thread `e` of fifo or rr leaves its place in the line on `cpu`.
    fn step_out(&mut self, cpu: u16, e: u32) {
        let queue = &mut self.high[usize::from(cpu)].real_time;
        queue.retain(|other| *other != e);
    }

    /// Charges the current thread of `cpu` until now, if it is above fair.
    pub(super) fn charge_high(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let (e, clock) = {
            let c = &self.cpus[usize::from(cpu)];
            (c.current, c.clock)
        };
        if e == NIL || !self.is_high(e) {
            return;
        }
        let entity = &mut self.entities[e as usize];
        let delta = (clock - entity.exec_start).max(0);
        entity.exec_start = clock;
        entity.sum += delta;
        self.advance_high(cpu, clock, true);
        if delta > 0 {
            let real_time = !self.has_deadline(e);
            self.charge_real_time(cx, cpu, delta, real_time);
        }
        if self.has_deadline(e) {
            self.charge_deadline(cx, cpu, e, delta);
        }
    }

    /// The average of what is above fair on `cpu` follows its clock.
    fn advance_high(&mut self, cpu: u16, clock: i64, runs: bool) {
        let average = &mut self.high[usize::from(cpu)].average;
        if self.multi && average.advance(clock, u64::from(runs), u64::from(runs), runs) {
            average.settle(1);
        }
    }

    /// The same at the time `now`, for who looks at the load of `cpu`.
    pub(super) fn follow_high(&mut self, cpu: u16, now: i64) {
        let current = self.cpus[usize::from(cpu)].current;
        let runs = current != NIL && self.is_high(current);
        self.advance_high(cpu, now, runs);
    }

    /// The thread `e`, which is above fair, stops being current on `cpu`.
    pub(super) fn put_high(&mut self, cx: &mut Cx<'_>, cpu: u16, e: u32) {
        // Charging is of the current thread, which is about to be none.
        self.cpus[usize::from(cpu)].current = e;
        self.charge_high(cx, cpu);
        self.cpus[usize::from(cpu)].current = NIL;
        let high = &self.high[usize::from(cpu)];
        let waits = self.entities[e as usize].on_queue && !high.rt_throttled;
        if self.multi && waits && high.push_at.is_none() && self.can_displace(cx, e) {
            self.high[usize::from(cpu)].push_at = Some(self.now(cx));
            self.arm_high(cx, cpu);
        }
    }

    /// The thread `e`, which is above fair, becomes current on `cpu`.
    pub(super) fn set_high(&mut self, cpu: u16, e: u32) {
        let clock = self.cpus[usize::from(cpu)].clock;
        self.advance_high(cpu, clock, false);
        let entity = &mut self.entities[e as usize];
        entity.exec_start = clock;
        entity.sum_before = entity.sum;
        self.cpus[usize::from(cpu)].current = e;
    }

    /// What runs on `cpu` is charged, and where a thread above fair has left, those that wait
    /// elsewhere may come.
    pub(super) fn leave_high(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let current = self.cpus[usize::from(cpu)].current;
        if current == NIL || !self.is_high(current) {
            return;
        }
        if !self.rules.eevdf {
            self.charge_high(cx, cpu);
        }
        if !self.entities[current as usize].on_queue {
            self.pull_high(cx, cpu);
        }
    }

    /// `cpu` goes from `current` to `next`: idle time counts as time that fair threads could have
    /// had.
    pub(super) fn note_idle_time(&mut self, cpu: u16, current: u32, next: u32) {
        if current == NIL {
            self.serve_idle(cpu);
        }
        if next == NIL {
            let clock = self.cpus[usize::from(cpu)].clock;
            self.high[usize::from(cpu)].idle_from = clock;
        }
    }

    /// Whose turn it is on `cpu`. The server is asked if `serves` says so.
    pub(super) fn turn(&self, cpu: u16, serves: bool) -> Turn {
        let high = &self.high[usize::from(cpu)];
        let first = high.deadline.first().copied();
        if serves && high.serves {
            let sooner = |e: u32| self.cbs(e).deadline < high.server.deadline;
            match first {
                Some(e) if sooner(e) => return Turn::Thread(e),
                _ => return Turn::Server,
            }
        }
        let real_time = high.real_time.first().filter(|_| !high.rt_throttled);
        match first.or(real_time.copied()) {
            Some(e) => Turn::Thread(e),
            None => Turn::Fair,
        }
    }

    /// The tick finds the thread `e`, which is above fair, running on `cpu`.
    pub(super) fn tick_high(&mut self, cx: &mut Cx<'_>, cpu: u16, e: u32) {
        self.charge_high(cx, cpu);
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        let thread = &mut self.threads[vcpu.index()];
        if thread.setting.class != Class::RoundRobin {
            return;
        }
        thread.quantum -= 1;
        if thread.quantum > 0 {
            return;
        }
        thread.quantum = self.rules.rr_ticks;
        let priority = self.priority(e);
        let queue = &self.high[usize::from(cpu)].real_time;
        let equal = |other: &&u32| self.priority(**other) == priority;
        if queue.iter().filter(equal).count() > 1 {
            self.go_behind(cpu, e);
            self.resched(cx, cpu);
        }
    }

    /// The thread `e` of fifo or rr goes to the end of those of its priority.
    fn go_behind(&mut self, cpu: u16, e: u32) {
        if self.entities[e as usize].on_queue {
            self.step_out(cpu, e);
            self.line_up(cpu, e, false);
        }
    }

    /// The thread `e`, which is above fair and runs, gives way.
    pub(super) fn yield_high(&mut self, cx: &mut Cx<'_>, cpu: u16, e: u32) {
        if !self.has_deadline(e) {
            return self.go_behind(cpu, e);
        }
        self.cbs_mut(e).yielded = true;
        self.read_clock(cx, cpu);
        self.charge_high(cx, cpu);
        self.cpus[usize::from(cpu)].skip_clock = true;
    }

    /// The thread `e` has come to `cpu`, where `current` runs; one of the two is above fair.
    pub(super) fn preempt_high(&mut self, cx: &mut Cx<'_>, cpu: u16, current: u32, e: u32) {
        if self.outranks(e, current) {
            return self.resched(cx, cpu);
        }
        let equal = !self.outranks(current, e) && self.is_high(e);
        if !equal || !self.multi || self.cpus[usize::from(cpu)].resched {
            return;
        }
        // The current one goes elsewhere where it can and the other one cannot.
        if !self.is_pinned(cx, current)
            && self.lowest(cx, current).is_some()
            && (self.is_pinned(cx, e) || self.lowest(cx, e).is_none())
            && !self.has_deadline(e)
        {
            self.step_out(cpu, e);
            self.line_up(cpu, e, true);
            self.resched(cx, cpu);
        }
    }

    // ---- the timer ----------------------------------------------------------------------------

    /// The pcpu whose timer is for the periods of fifo and rr.
    fn periods_on(cx: &Cx<'_>) -> Option<u16> {
        cx.online().first().map(|c| c.0)
    }

    /// When the timer of `cpu` is to fire.
    fn first_of_high(&self, cx: &Cx<'_>, cpu: u16) -> Option<i64> {
        if self.highs == 0 {
            return None;
        }
        let high = &self.high[usize::from(cpu)];
        let of_all = self
            .rt_period_at
            .filter(|_| Self::periods_on(cx) == Some(cpu));
        let threads = self.threads.iter().filter(|t| {
            t.entity != NIL
                && t.cbs.timer.is_some()
                && self.queues[self.queue_of(t.entity) as usize].cpu == cpu
        });
        let threads = threads.filter_map(|t| t.cbs.timer).min();
        [of_all, high.server.timer, high.push_at, threads]
            .into_iter()
            .flatten()
            .min()
    }

    /// Sets the timer of `cpu`.
    pub(super) fn arm_high(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        if !self.cpus[usize::from(cpu)].online {
            return;
        }
        let first = match cx.online().contains(PcpuId(cpu)) {
            true => self.first_of_high(cx, cpu),
            false => None,
        };
        if core::mem::replace(&mut self.high[usize::from(cpu)].timer, first) == first {
            return;
        }
        match first {
            Some(at) => {
                let at = Instant::from_nanos(at as u64).max(cx.now());
                cx.set_timer(PcpuId(cpu), HIGH, at);
            }
            None => cx.stop_timer(PcpuId(cpu), HIGH),
        }
    }

    pub(super) fn arm_all_high(&mut self, cx: &mut Cx<'_>) {
        for cpu in 0..self.cpus.len() as u16 {
            self.arm_high(cx, cpu);
        }
    }

    /// The timer of `cpu` fires.
    pub(super) fn high_timer(&mut self, cx: &mut Cx<'_>, cpu: u16) -> Option<Instant> {
        let now = self.now(cx);
        self.high[usize::from(cpu)].timer = None;
        self.read_clock(cx, cpu);
        if Self::periods_on(cx) == Some(cpu) && self.rt_period_at.is_some_and(|at| at <= now) {
            self.rt_period(cx);
        }
        if self.high[usize::from(cpu)]
            .server
            .timer
            .is_some_and(|at| at <= now)
        {
            self.server_timer(cx, cpu);
        }
        for i in 0..self.threads.len() {
            let t = &self.threads[i];
            let due = t.entity != NIL && t.cbs.timer.is_some_and(|at| at <= now);
            if due && self.queues[self.queue_of(t.entity) as usize].cpu == cpu {
                self.deadline_timer(cx, t.entity);
            }
        }
        if self.high[usize::from(cpu)]
            .push_at
            .take_if(|at| *at <= now)
            .is_some()
        {
            self.push(cx, cpu);
        }
        let first = self.first_of_high(cx, cpu);
        self.high[usize::from(cpu)].timer = first;
        first.map(|at| Instant::from_nanos(at as u64).max(cx.now()))
    }
}
