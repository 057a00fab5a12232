//! What keeps fifo and rr from starving the fair class: their throttling (6.1; linux-spec 7.2), and
//! the fair server (since 6.12; 7.4).

use super::Linux;
use super::cbs::Reservation;
use super::entity::how;
use super::state::NIL;
use domio_contract::{Cx, Work};

/// The fair server's timer is not put off for less.
const LEAST: i64 = 1_000_000;

impl Linux {
    // ---- throttling ---------------------------------------------------------------------------

    /// Fifo and rr had `delta` more of `cpu`. `counts` says whether that can be too much: time of
    /// the class deadline is only added.
    pub(super) fn charge_real_time(&mut self, cx: &mut Cx<'_>, cpu: u16, delta: i64, counts: bool) {
        let Some(runtime) = self.rules.rt_runtime else {
            return;
        };
        let high = &mut self.high[usize::from(cpu)];
        if !counts && self.rt_period_at.is_none() && high.rt_time >= runtime {
            return;
        }
        high.rt_time += delta;
        if !counts || high.rt_throttled || high.rt_time <= runtime {
            return;
        }
        high.rt_throttled = true;
        for i in 0..self.high[usize::from(cpu)].real_time.len() {
            let e = self.high[usize::from(cpu)].real_time[i];
            self.park(cx, e);
        }
        self.resched(cx, cpu);
        self.start_rt_period(cx);
    }

    /// The periods of fifo and rr begin, unless they go on.
    pub(super) fn start_rt_period(&mut self, cx: &mut Cx<'_>) {
        if self.rules.rt_runtime.is_none() || self.rt_period_at.is_some() {
            return;
        }
        self.rt_period_at = Some(self.now(cx) + self.rules.rt_period);
        self.arm_all_high(cx);
    }

    /// A period of fifo and rr ends.
    pub(super) fn rt_period(&mut self, cx: &mut Cx<'_>) {
        let (Some(at), Some(runtime)) = (self.rt_period_at, self.rules.rt_runtime) else {
            return;
        };
        let periods = (self.now(cx) - at) / self.rules.rt_period + 1;
        let mut used = false;
        for cpu in 0..self.cpus.len() as u16 {
            let high = &mut self.high[usize::from(cpu)];
            if high.rt_time == 0 && high.real_time.is_empty() {
                continue;
            }
            self.read_clock(cx, cpu);
            let high = &mut self.high[usize::from(cpu)];
            high.rt_time -= high.rt_time.min(periods * runtime);
            used |= high.rt_time > 0 || !high.real_time.is_empty();
            if high.rt_throttled && high.rt_time < runtime {
                high.rt_throttled = false;
                self.release_real_time(cx, cpu);
            }
        }
        self.rt_period_at = used.then_some(at + periods * self.rules.rt_period);
        self.arm_all_high(cx);
    }

    /// Threads of fifo and rr may run on `cpu` again.
    pub(super) fn release_real_time(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let mut i = 0;
        while let Some(&e) = self.high[usize::from(cpu)].real_time.get(i) {
            // One that was stopped meanwhile leaves the queue.
            if self.unhold(cx, e) {
                i += 1;
            }
        }
        if !self.high[usize::from(cpu)].real_time.is_empty() {
            self.resched(cx, cpu);
        }
    }

    /// The thread `e` is not held back any more. Returns whether it is runnable; if not, it is on
    /// no queue from now on.
    pub(super) fn unhold(&mut self, cx: &mut Cx<'_>, e: u32) -> bool {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        let thread = &mut self.threads[vcpu.index()];
        if !core::mem::take(&mut thread.parked) {
            return self.entities[e as usize].on_queue;
        }
        cx.did(Work::Unpark, 1);
        let runnable = cx.unpark(vcpu);
        if !runnable && self.entities[e as usize].on_queue {
            self.dequeue_thread(cx, e, how::SLEEP | how::AT_ONCE);
        }
        runnable
    }

    // ---- the fair server ----------------------------------------------------------------------

    /// Threads of the fair class came to `cpu` or left it; there were `before`.
    pub(super) fn follow_fair(&mut self, cx: &mut Cx<'_>, cpu: u16, before: u32) {
        if self.rules.server_runtime == 0 {
            return;
        }
        match (before, self.queues[usize::from(cpu)].threads) {
            (0, 0) => {}
            (0, _) => self.start_server(cx, cpu),
            (_, 0) => self.stop_server(cx, cpu),
            _ => {}
        }
    }

    pub(super) fn start_server(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        if self.cpus[usize::from(cpu)].current == NIL && self.high_on(cpu) == 0 {
            self.serve_idle(cpu);
        }
        let clock = self.cpus[usize::from(cpu)].clock;
        let (runtime, period) = (self.rules.server_runtime, self.rules.server_period);
        let high = &mut self.high[usize::from(cpu)];
        high.server_active = true;
        let server = &mut high.server;
        if server.reserves.period == 0 {
            server.reserves = Reservation {
                runtime: runtime.min(period),
                deadline: period,
                period,
            };
        }
        // The server waits for the end of the laxity unless it was needed before.
        server.wake(clock);
        server.throttled = !server.needed;
        server.deferred = !server.needed;
        self.queue_server(cx, cpu);
    }

    pub(super) fn stop_server(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let high = &mut self.high[usize::from(cpu)];
        (high.serves, high.server_active) = (false, false);
        high.server.throttled = false;
        high.server.deferred = false;
        high.server.timer = None;
        self.arm_high(cx, cpu);
    }

    /// The server goes among the deadlines of `cpu`, unless it waits for its timer.
    fn queue_server(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        if self.high[usize::from(cpu)].server.throttled && self.start_server_timer(cx, cpu) {
            return;
        }
        let high = &mut self.high[usize::from(cpu)];
        high.server.timer = None;
        high.server.throttled = false;
        high.server.deferred = false;
        high.serves = true;
        let deadline = high.server.deadline;
        let current = self.cpus[usize::from(cpu)].current;
        let later =
            current == NIL || !self.has_deadline(current) || self.cbs(current).deadline > deadline;
        if later {
            self.resched(cx, cpu);
        }
        self.arm_high(cx, cpu);
    }

    /// Sets the server's timer. Returns false where it is too late for that.
    fn start_server_timer(&mut self, cx: &mut Cx<'_>, cpu: u16) -> bool {
        let now = self.now(cx);
        let server = &mut self.high[usize::from(cpu)].server;
        let at = match server.deferred {
            true => server.deadline - server.runtime,
            false => server.next_period(),
        };
        let is_set = server.set_timer(at, now);
        if is_set {
            self.arm_high(cx, cpu);
        }
        is_set
    }

    /// The server is replenished, and waits for the end of the laxity where it was not needed.
    fn replenish_server(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let clock = self.cpus[usize::from(cpu)].clock;
        let server = &mut self.high[usize::from(cpu)].server;
        let begins = server.replenish(clock);
        if begins && !server.needed {
            server.deferred = true;
        }
        if core::mem::take(&mut server.deferred) {
            return;
        }
        if !server.needed && clock < server.deadline - server.runtime {
            (server.deferred, server.throttled) = (true, true);
            if !self.start_server_timer(cx, cpu) {
                let server = &mut self.high[usize::from(cpu)].server;
                (server.deferred, server.throttled) = (false, false);
                server.timer = None;
            }
        }
    }

    /// A thread of the fair class ran on `cpu` for `delta`, or the server gives up.
    pub(super) fn charge_server(&mut self, cx: &mut Cx<'_>, cpu: u16, delta: i64) {
        let high = &mut self.high[usize::from(cpu)];
        if !high.server_active {
            return;
        }
        let clock = self.cpus[usize::from(cpu)].clock;
        let server = &mut high.server;
        server.runtime -= delta;
        let over = server.runtime <= 0;
        if server.throttled && over {
            // Fair threads had the time without the server.
            server.needed = false;
            server.begin(clock);
            (server.throttled, server.deferred) = (true, true);
            self.start_server_timer(cx, cpu);
            return;
        }
        if !over && !server.yielded {
            return;
        }
        server.throttled = true;
        high.serves = false;
        if !self.start_server_timer(cx, cpu) {
            self.replenish_server(cx, cpu);
            self.queue_server(cx, cpu);
        }
        self.resched(cx, cpu);
    }

    /// The server of `cpu` finds nobody to run.
    pub(super) fn server_yields(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        self.high[usize::from(cpu)].server.yielded = true;
        self.charge_server(cx, cpu, 0);
        self.high[usize::from(cpu)].serves = false;
    }

    /// The server's timer fires.
    pub(super) fn server_timer(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let clock = self.cpus[usize::from(cpu)].clock;
        let server = &mut self.high[usize::from(cpu)].server;
        server.timer = None;
        if !server.throttled {
            return;
        }
        if self.queues[usize::from(cpu)].threads == 0 {
            return self.replenish_server(cx, cpu);
        }
        if server.deferred {
            let laxity = server.deadline - clock - server.runtime;
            if laxity > LEAST {
                // Fair threads had some time meanwhile.
                server.timer = Some(clock + laxity);
                return self.arm_high(cx, cpu);
            }
            server.needed = true;
        }
        self.replenish_server(cx, cpu);
        self.queue_server(cx, cpu);
    }

    /// `cpu` idled until now: fair threads could have run.
    pub(super) fn serve_idle(&mut self, cpu: u16) {
        let clock = self.cpus[usize::from(cpu)].clock;
        let high = &mut self.high[usize::from(cpu)];
        let idled = clock - high.idle_from;
        if high.server.runtime < 0 || idled < 0 {
            return;
        }
        high.idle_from = clock;
        high.server.runtime -= idled;
        if high.server.runtime < 0 {
            high.server.needed = false;
            high.server.runtime = 0;
        }
    }
}
