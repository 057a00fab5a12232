//! Constant bandwidth servers: runtime, deadline, and the rules of both (linux-spec 7.3, 7.4).

/// Bits that the kernel drops before it multiplies times.
const SCALE: u32 = 10;
/// Bits of the fraction of a density.
const DENSITY: u32 = 20;
/// A timer that is late by this much is not started.
const LATE: i64 = 1_000;

/// Runtime, relative deadline and period of the class deadline, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Reservation {
    pub runtime: i64,
    pub deadline: i64,
    pub period: i64,
}

/// A constant bandwidth server: that of a thread, or the fair server of a pcpu.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cbs {
    pub reserves: Reservation,
    /// What is left until the deadline; less than nothing where it ran on to a tick.
    pub runtime: i64,
    pub deadline: i64,
    /// Out of runtime until the timer fires; or, of the fair server, deferred until then.
    pub throttled: bool,
    /// Gave up the rest of its runtime.
    pub yielded: bool,
    /// The timer is for the end of the laxity (fair server).
    pub deferred: bool,
    /// It had to run, and so does not wait for the end of the laxity again (fair server).
    pub needed: bool,
    /// When its timer fires.
    pub timer: Option<i64>,
}

impl Cbs {
    /// Of whoever reserves nothing.
    pub const NONE: Cbs = Cbs {
        reserves: Reservation {
            runtime: 0,
            deadline: 0,
            period: 0,
        },
        runtime: 0,
        // Before all time.
        deadline: i64::MIN / 4,
        throttled: false,
        yielded: false,
        deferred: false,
        needed: false,
        timer: None,
    };

    /// When the period after that of the deadline begins.
    pub fn next_period(&self) -> i64 {
        self.deadline - self.reserves.deadline + self.reserves.period
    }

    /// Its timer is to fire at `at`, or now where that has just passed. Returns false where it is
    /// too late for that.
    pub fn set_timer(&mut self, at: i64, now: i64) -> bool {
        let in_time = at - now > -LATE;
        if in_time {
            self.timer = Some(at.max(now));
        }
        in_time
    }

    /// All of the runtime, for a deadline that counts from `clock`.
    pub fn begin(&mut self, clock: i64) {
        self.deadline = clock + self.reserves.deadline;
        self.runtime = self.reserves.runtime;
    }

    /// Whether the runtime that is left is more, until the deadline, than was reserved.
    fn overflows(&self, clock: i64) -> bool {
        let r = &self.reserves;
        let left = i128::from(r.deadline >> SCALE) * i128::from(self.runtime >> SCALE);
        let right = i128::from((self.deadline - clock) >> SCALE) * i128::from(r.runtime >> SCALE);
        right < left
    }

    /// The rule of wake-ups. Returns whether a new deadline counts from `clock`.
    pub fn wake(&mut self, clock: i64) -> bool {
        let over = self.deadline < clock;
        if !over && !self.overflows(clock) {
            return false;
        }
        let r = &self.reserves;
        if !over && r.deadline != r.period {
            // The revised rule: what fits before the deadline that is.
            let density = (i128::from(r.runtime) << DENSITY) / i128::from(r.deadline);
            let laxity = i128::from(self.deadline - clock);
            self.runtime = ((density * laxity) >> DENSITY) as i64;
            return false;
        }
        self.begin(clock);
        true
    }

    /// Another runtime, or as many as pay the debt. Returns whether the deadline counts from
    /// `clock`, as all else would be over.
    pub fn replenish(&mut self, clock: i64) -> bool {
        if core::mem::take(&mut self.yielded) {
            self.runtime = self.runtime.min(0);
        }
        if self.runtime <= 0 {
            let times = 1 - self.runtime / self.reserves.runtime;
            self.deadline += times * self.reserves.period;
            self.runtime += times * self.reserves.runtime;
        }
        self.throttled = false;
        let over = self.deadline < clock;
        if over {
            self.begin(clock);
        }
        over
    }
}
