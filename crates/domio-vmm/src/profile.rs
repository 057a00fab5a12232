//! Hardware profiles: what the hypervisor's work costs on one kind of machine.
//!
//! A profile is calibrated once, each parameter with its source, and is never adjusted to a
//! scenario. All costs are processor time of the pcpu that does the work, in which no guest runs.

use domio_contract::{Cx, Work, WorkReport};
use domio_core::{Duration, PcpuId, Topology};

/// Costs of one kind of machine.
///
/// ```text
///  cause          pass decides        next runs
///    |-- *_to_pass --|---- switch ------|-- resume --> guest executes
///    |               |-- keep ----------|              (same vcpu again)
/// ```
///
/// The runstates of the switched vcpus change at "next runs"; time between a cause and that point
/// is charged to the vcpu that was current, as on a real Xen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Name in scenarios and reports.
    pub name: &'static str,
    /// What machine it describes and where its figures come from.
    pub source: &'static str,
    /// From a wake-up on the pcpu that carries it out to the scheduler pass that it caused.
    pub wake_to_pass: Duration,
    /// The part of that which tickling takes, its trace record included: a wake-up that tickles
    /// nobody takes so much less.
    pub tickle: Duration,
    /// An [interrupt that wakes](crate::process::WokenBy::Interrupt) and comes so soon after a pass
    /// was due comes before the pass: its interrupt came while the pass was on its way, and the
    /// timer softirq runs before the scheduler's.
    pub wake_first: Duration,
    /// What each private trace record beyond the first adds to that, while a trace is taken.
    pub wake_note: Duration,
    /// From the expiry of a slice timer to the scheduler pass.
    pub timer_to_pass: Duration,
    /// From a block or yield hypercall to the scheduler pass.
    pub block_to_pass: Duration,
    /// From the arrival of a rescheduling IPI to the scheduler pass.
    pub ipi_to_pass: Duration,
    /// From the decision of a pass to the next vcpu's running, when it is another one.
    pub switch: Duration,
    /// The same to the idle vcpu, and from there back to the vcpu that ran before. Xen leaves the
    /// context of the last vcpu loaded while a pcpu idles.
    pub idle_switch: Duration,
    /// Added to either of these when a pcpu leaves idling: the processor wakes from the state in
    /// which it has slept, and the hypervisor reads the clock for how long.
    pub idle_exit: Duration,
    /// From the decision to the return into the guest, when the same vcpu continues.
    pub keep: Duration,
    /// From "running" to the first guest instruction.
    pub resume: Duration,
    /// Extra time before a vcpu makes progress after another one ran on the same pcpu: part of its
    /// working set has to be fetched again.
    pub cache_refill: Duration,
    /// The same, on top, when it comes from another pcpu.
    pub migration_refill: Duration,
    /// The same, on top of both, when that pcpu is in another socket, or has another last cache
    /// ([`cache_cores`](Self::cache_cores)): the two share no cache.
    pub socket_refill: Duration,
    /// In which progress after a move a vcpu touches its working set, and so pays the last two, in
    /// proportion. Zero: it pays all before its first instruction.
    pub refill_span: Duration,
    /// How many successive cores of a socket share its last cache; 0: all of them do.
    pub cache_cores: u16,
    /// From sending an IPI to its arrival.
    pub ipi: Duration,
    /// What a pcpu that has others flush their TLBs (a shootdown) waits until all have done so.
    pub tlb_wait: Duration,
    /// What each of these loses: the interrupt, the flush, and filling the TLB again.
    pub tlb_flush: Duration,
    /// From the expiry of a policy's timer to the handler's reading of the clock, which comes late
    /// in it, by timer slot (for credit: 0 is the tick, 1 the accounting).
    pub timer_to_handler: [Duration; Cx::TIMER_SLOTS as usize],
    /// The parts of a timer softirq of 4.x.
    pub softirq: TimerSoftirq,
    /// What the policy's reported work ([`Cx::did`]) adds to a pass, and to that.
    pub policy: PolicyCosts,
    /// From that point to the return into the guest, or to the pass that the handler asked for.
    pub handler: Duration,
    /// Time that an interrupt which wakes nobody takes from the running guest.
    pub interrupt: Duration,
    /// Xen's `timer_slop`: how far timers may fire early (3.x) or late (4.x), xen-spec 0.3.
    pub timer_slop: Duration,
    /// How fast a vcpu makes progress, in percent of a core's full speed, while another thread of
    /// the core is busy: 50 to 100. 100: threads do not disturb each other, as on a machine of
    /// which nothing is known.
    pub sibling_percent: u8,
}

/// How long the parts of a timer softirq of Xen 4.x take (xen-spec 0.3).
///
/// ```text
///  expiry |-- entry --| clock is read |-- handlers of what expired --|-- exit --| clock is read
/// ```
///
/// The hardware is programmed no earlier than [`Profile::timer_slop`] after the second reading.
/// What expires after the first one waits for that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerSoftirq {
    /// From the expiry of a timer to the first reading: what expires in between runs with it.
    pub entry: Duration,
    /// The handler of a timer of a guest that does not sleep.
    pub guest: Duration,
    /// What is left of the handler of a policy's timer after [`Profile::timer_to_handler`]: it sets
    /// the timer again.
    pub again: Duration,
    /// From the end of the last handler to the second reading.
    pub exit: Duration,
    /// What the timers of a second vcpu that sleeps add to the handler of a policy's timer: the
    /// heap of timers is deeper.
    pub heap: Duration,
    /// From the end of a pass to the end of the softirq that its slice timer raised by becoming the
    /// first of the pcpu's timers.
    pub after_pass: Duration,
    /// From the delivery of a wake-up to the end of the softirq that woke.
    pub after_wake: Duration,
}

impl TimerSoftirq {
    /// No part takes any time.
    pub const FREE: TimerSoftirq = TimerSoftirq {
        entry: Duration::ZERO,
        guest: Duration::ZERO,
        again: Duration::ZERO,
        exit: Duration::ZERO,
        heap: Duration::ZERO,
        after_pass: Duration::ZERO,
        after_wake: Duration::ZERO,
    };

    /// From the expiry of the timer of a guest that does not sleep to the end of its handler.
    pub fn of_guest(&self) -> Duration {
        self.entry + self.guest
    }
}

/// What a policy's reported work takes: a price for each kind of [`Work`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyCosts {
    /// Of [`Work::Search`].
    pub search: Duration,
    /// Of [`Work::RateLimit`].
    pub rate_limit: Duration,
    /// Of [`Work::Look`].
    pub look: Duration,
    /// Of [`Work::Unboost`].
    pub unboost: Duration,
    /// Of [`Work::Sort`].
    pub sort: Duration,
    /// Of [`Work::Sorted`].
    pub sorted: Duration,
    /// Of [`Work::Grant`].
    pub grant: Duration,
    /// Of [`Work::Stop`].
    pub stop: Duration,
    /// Of [`Work::Park`].
    pub park: Duration,
    /// Of [`Work::Unpark`].
    pub unpark: Duration,
    /// Of [`Work::Note`], in a pass and in a timer. In a wake-up [`Profile::wake_note`] counts.
    pub note: Duration,
    /// Of [`Work::Balance`], which only wake-ups do.
    pub balance: Duration,
    /// Time comes in multiples of this, rounded down; zero for no such thing.
    pub instruction: Duration,
}

impl PolicyCosts {
    /// No work takes any time.
    pub const FREE: PolicyCosts = PolicyCosts {
        search: Duration::ZERO,
        rate_limit: Duration::ZERO,
        look: Duration::ZERO,
        unboost: Duration::ZERO,
        sort: Duration::ZERO,
        sorted: Duration::ZERO,
        grant: Duration::ZERO,
        stop: Duration::ZERO,
        park: Duration::ZERO,
        unpark: Duration::ZERO,
        note: Duration::ZERO,
        balance: Duration::ZERO,
        instruction: Duration::ZERO,
    };

    /// The price of doing `work` once.
    #[inline]
    pub const fn of(&self, work: Work) -> Duration {
        match work {
            Work::Search => self.search,
            Work::RateLimit => self.rate_limit,
            Work::Look => self.look,
            Work::Unboost => self.unboost,
            Work::Sort => self.sort,
            Work::Sorted => self.sorted,
            Work::Grant => self.grant,
            Work::Stop => self.stop,
            Work::Park => self.park,
            Work::Unpark => self.unpark,
            Work::Note => self.note,
            Work::Balance => self.balance,
        }
    }

    /// The time that the work of `report` takes.
    #[inline]
    pub fn price(&self, report: &WorkReport) -> Duration {
        let mut time = Duration::ZERO;
        for work in Work::ALL {
            time += self.of(work) * u64::from(report.count(work));
        }
        if self.instruction.is_zero() {
            time
        } else {
            time - time % self.instruction
        }
    }
}

impl Profile {
    /// No cost anywhere: a machine on which only the policy's decisions show.
    pub const IDEAL: Profile = Profile {
        name: "ideal",
        source: "no machine: every cost is zero",
        wake_to_pass: Duration::ZERO,
        tickle: Duration::ZERO,
        wake_first: Duration::ZERO,
        wake_note: Duration::ZERO,
        timer_to_pass: Duration::ZERO,
        block_to_pass: Duration::ZERO,
        ipi_to_pass: Duration::ZERO,
        switch: Duration::ZERO,
        idle_switch: Duration::ZERO,
        idle_exit: Duration::ZERO,
        keep: Duration::ZERO,
        resume: Duration::ZERO,
        cache_refill: Duration::ZERO,
        migration_refill: Duration::ZERO,
        socket_refill: Duration::ZERO,
        refill_span: Duration::ZERO,
        cache_cores: 0,
        ipi: Duration::ZERO,
        tlb_wait: Duration::ZERO,
        tlb_flush: Duration::ZERO,
        timer_to_handler: [Duration::ZERO; Cx::TIMER_SLOTS as usize],
        softirq: TimerSoftirq::FREE,
        policy: PolicyCosts::FREE,
        handler: Duration::ZERO,
        interrupt: Duration::ZERO,
        timer_slop: Duration::ZERO,
        sibling_percent: 100,
    };

    /// Xen 4.17 with its emulated processor: QEMU's software emulation with `-icount shift=1`,
    /// where every instruction takes 2 ns of virtual time. Nothing is cached, so every path of the
    /// hypervisor costs the same each time.
    ///
    /// Measured as medians over the records of one trace, `c1-burn7` of
    /// `testdata/xen-traces`, with `xentrace` events on; each comment names the records. Those of
    /// the timer softirq show in other recordings too, of more guests that sleep.
    pub const XEN_4_17_EMULATED: Profile = Profile {
        name: "xen-4.17-emulated",
        source: "Xen 4.17.7 under QEMU icount; medians of testdata/xen-traces/c1-burn7",
        // WAKE to SCHEDULE.
        wake_to_pass: Duration::from_nanos(4_992),
        // The same without a TICKLE record between is 3,612 ns. That, and the next, are seldom and
        // come from recordings of more guests that sleep.
        tickle: Duration::from_nanos(1_380),
        // WAKE before SCHEDULE is up to 2,272 ns after BLOCK, 536 ns after the usual SCHEDULE; the
        // others are more than 5 us after the switch.
        wake_first: Duration::from_nanos(600),
        // The same with a BOOST_START record between, less the former.
        wake_note: Duration::from_nanos(774),
        // End of the slice asked for at a RATELIMIT record to SCHEDULE.
        timer_to_pass: Duration::from_nanos(1_804),
        // BLOCK to SCHEDULE.
        block_to_pass: Duration::from_nanos(1_736),
        // Not in that trace (one pcpu): the same path without the timer's work.
        ipi_to_pass: Duration::from_nanos(1_780),
        // SCHEDULE to the next vcpu's RUNSTATE_CHANGE, 4,988 ns, less the rate limit's price.
        switch: Duration::from_nanos(4_932),
        // Not distinguished there: records say when a vcpu runs, not when its context is loaded.
        idle_switch: Duration::from_nanos(4_932),
        // Part of what was measured.
        idle_exit: Duration::ZERO,
        // SCHEDULE to CONTINUE_RUNNING, 3,422 ns, less the same.
        keep: Duration::from_nanos(3_366),
        // Part of the demands that the other figures were measured with: RUNSTATE_CHANGE to BLOCK.
        resume: Duration::ZERO,
        cache_refill: Duration::ZERO,
        migration_refill: Duration::ZERO,
        socket_refill: Duration::ZERO,
        refill_span: Duration::ZERO,
        cache_cores: 0,
        ipi: Duration::from_nanos(1_000),
        // One pcpu: there was nothing to measure.
        tlb_wait: Duration::ZERO,
        tlb_flush: Duration::ZERO,
        // Surplus over 10 ms between PICKED_CPU records, without the price of that (2.9 us with
        // them); over 30 ms between records of accounting, without those of vcpus that earn.
        timer_to_handler: [
            Duration::from_nanos(2_178),
            Duration::from_nanos(1_228),
            Duration::ZERO,
            Duration::ZERO,
        ],
        softirq: TimerSoftirq {
            // A tick up to 0.7 us after a guest's timer runs with it, 1.05 us later than alone; one
            // 0.85 us after it waits for the slop.
            entry: Duration::from_nanos(780),
            guest: Duration::from_nanos(1_050),
            // A slice that ends after a tick comes 53.37 us after that was due.
            again: Duration::from_nanos(420),
            exit: Duration::from_nanos(50),
            // Ticks without sorting, with one and with two guests asleep.
            heap: Duration::from_nanos(19),
            // A slice of less than the slop ends 54.9 us after the SCHEDULE that kept the guest,
            // 55.8 after one that switched.
            after_pass: Duration::from_nanos(1_150),
            // A tick or slice that is due after a WAKE comes 54.1 us after it.
            after_wake: Duration::from_nanos(4_050),
        },
        policy: PolicyCosts {
            // Between SCHEDULE and INFPREV, where there is no other pcpu.
            search: Duration::from_nanos(722),
            // Between the same, against recordings without a rate limit.
            rate_limit: Duration::from_nanos(56),
            // A tick that activates a vcpu instead is 0.73 us shorter. Its record is included, as
            // in the next.
            look: Duration::from_nanos(722),
            unboost: Duration::from_nanos(760),
            // A tick that sorts takes 0.1 us more, and 19 ns for each vcpu that is runnable.
            sort: Duration::from_nanos(96),
            sorted: Duration::from_nanos(19),
            // Between accountings of three vcpus and of seven.
            grant: Duration::from_nanos(160),
            // An accounting in which dom0 ceases to earn, which writes a record.
            stop: Duration::from_nanos(500),
            // Accountings of c1-cap30 that park or unpark are 1.3 and 3.3 us longer.
            park: Duration::from_nanos(1_292),
            unpark: Duration::from_nanos(3_306),
            // SCHEDULE to the next vcpu's RUNSTATE_CHANGE under credit2 (c2-weights-1-2-4), with
            // three records between and with nine, beside credit's without.
            note: Duration::from_nanos(870),
            // No Xen does that: an estimate of 50 instructions, at 2 ns each.
            balance: Duration::from_nanos(100),
            // An instruction of the emulator.
            instruction: Duration::from_nanos(2),
        },
        // SLEEP of a parked vcpu to SCHEDULE (c1-cap30), less the price of parking it.
        handler: Duration::from_nanos(1_400),
        // A guest's tick that delays accounting which waits behind a tick (c1-weights-1-2-4).
        interrupt: Duration::from_nanos(3_800),
        // Xen's constant (xen-spec 0.3).
        timer_slop: Duration::from_micros(50),
        sibling_percent: 100,
    };

    /// One core of a 1.6 GHz Opteron 242 under Xen 3.1: the machine of Ongaro et al. 2008.
    pub const OPTERON_242: Profile = Profile {
        name: "opteron-242",
        source: "engineering estimates of xen-spec 9 for 2007, at 1.6 GHz",
        // "Scheduler pass 0.5-1 us", with the way to it: the fewest steps after a block, the timer
        // softirq before it after a slice.
        wake_to_pass: Duration::from_nanos(700),
        tickle: Duration::ZERO,
        wake_first: Duration::ZERO,
        wake_note: Duration::ZERO,
        timer_to_pass: Duration::from_nanos(900),
        block_to_pass: Duration::from_nanos(500),
        ipi_to_pass: Duration::from_nanos(700),
        // "World switch 2-5 us plus cache term"; the term is what a switch of 2002 takes with its
        // cache cold, 3.9 to 9 us (Denali), less the switch.
        switch: Duration::from_nanos(2_000),
        // No context and no page tables are switched (`context_switch`): a pass alone.
        idle_switch: Duration::from_nanos(300),
        // Xen of that time halts.
        idle_exit: Duration::ZERO,
        // A return to the guest, as from a hypercall ("0.2-0.5 us").
        keep: Duration::from_nanos(300),
        resume: Duration::from_nanos(500),
        cache_refill: Duration::from_nanos(6_000),
        // A socket has one pcpu, so that moves are to another socket.
        migration_refill: Duration::ZERO,
        // Nothing of the working set is there, where after another vcpu some is; and what was
        // written last comes from the other processor's cache instead of memory. No measurement is
        // known: as much again as another vcpu spoils.
        socket_refill: Duration::from_nanos(6_000),
        // As on xeon-e5462: as fast as it is fetched.
        refill_span: Duration::from_nanos(6_000),
        cache_cores: 0,
        // "+1-2 us IPI".
        ipi: Duration::from_nanos(1_000),
        // No measurement of this machine is known: the IPI, an interrupt (a pass's worth), the
        // flush itself (0.4 us), and the line with the answer (0.15).
        tlb_wait: Duration::from_nanos(2_050),
        // The interrupt, and the flush as netback's of a batch: 0.4 us and 1.6 to fill it again.
        tlb_flush: Duration::from_nanos(2_500),
        // An interrupt and a handler are a pass's worth each; a guest's interrupt is both and the
        // sending of an event (0.5 us).
        timer_to_handler: [Duration::from_nanos(500); Cx::TIMER_SLOTS as usize],
        // A guest's interrupt and a wake-up take what they take without a softirq of their own.
        softirq: TimerSoftirq {
            guest: Duration::from_nanos(1_500),
            after_wake: Duration::from_nanos(700),
            ..TimerSoftirq::FREE
        },
        policy: PolicyCosts::FREE,
        handler: Duration::from_nanos(500),
        interrupt: Duration::from_nanos(1_500),
        // Xen's constant (xen-spec 0.3).
        timer_slop: Duration::from_micros(50),
        sibling_percent: 100,
    };

    /// Whether two pcpus have a cache in common.
    #[inline]
    pub fn share_a_cache(&self, topology: &Topology, a: PcpuId, b: PcpuId) -> bool {
        let cache = |pcpu| match self.cache_cores {
            0 => 0,
            cores => topology.core_of(pcpu) % topology.cores_per_socket() / usize::from(cores),
        };
        topology.socket_of(a) == topology.socket_of(b) && cache(a) == cache(b)
    }

    /// Whether anything has to be fetched again by anybody.
    pub(crate) fn has_caches(&self) -> bool {
        let times = [self.cache_refill, self.migration_refill, self.socket_refill];
        times.iter().any(|time| !time.is_zero())
    }

    /// Whether every cost is zero, so that no phase of the hypervisor's work takes any time.
    pub fn is_free(&self) -> bool {
        let Profile {
            name,
            source,
            sibling_percent,
            cache_cores,
            refill_span,
            ..
        } = *self;
        *self
            == Profile {
                name,
                source,
                sibling_percent,
                cache_cores,
                refill_span,
                ..Profile::IDEAL
            }
    }
}
