//! Private tables: entities, queues, groups, pcpus.
//!
//! Times are nanoseconds. Virtual times wrap, as the kernel's, and are compared by their
//! difference.

use super::cbs::Cbs;
use super::event::Owner;
use super::given::{Inside, ThreadSetting};
use super::params::{Level, Seat};
use super::pelt::Average;
use super::weights::{Load, NICE_0};
use alloc::vec::Vec;
use domio_core::VcpuId;

/// No entity.
pub(super) const NIL: u32 = u32::MAX;

/// Virtual time at which queues begin.
const START: i64 = -(1 << 20);

/// What can be scheduled: a thread (a vcpu), or a group on one pcpu.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entity {
    /// The vcpu; `None` of a group.
    pub vcpu: Option<VcpuId>,
    /// The group that it is, or that the thread is in.
    pub group: u32,
    /// The queue that it is on, or would be.
    pub queue: u32,
    /// The entity of the group around it, on the same pcpu; [`NIL`] at the top.
    pub parent: u32,
    /// The queue of a group's own entities; [`NIL`] of a thread.
    pub own: u32,
    /// Entities above it.
    pub depth: u8,
    /// Its weight among those around it in its group.
    pub load: Load,
    /// The weight by which its virtual time passes: the same, but of a thread in the flat hierarchy
    /// its part of the whole pcpu.
    pub effective: Load,
    /// The class for idle times, or `cpu.idle` of a group.
    pub idle: bool,
    /// Wakes without preempting anybody: batch or idle.
    pub meek: bool,
    /// The class of a thread; fair of a group.
    pub level: Level,
    /// Queued or running.
    pub on_queue: bool,
    /// Virtual time.
    pub v: i64,
    /// `v` is relative to the least virtual time of no queue in particular (CFS).
    pub relative: bool,
    /// Deadline in virtual time (EEVDF, as all that follows up to `exec_start`).
    pub deadline: i64,
    /// The deadline is relative to `v`.
    pub relative_deadline: bool,
    /// What it was behind (positive) or ahead when it left its queue.
    pub lag: i64,
    /// Length of a request, in time.
    pub slice: i64,
    /// The slice is its own, or that of what is below.
    pub custom_slice: bool,
    /// Sleeps, but stays on the queue until it is not ahead any more.
    pub delayed: bool,
    /// Since 6.17: keeps its pcpu while `v` is before this. Before: while this is its deadline.
    pub protected_until: i64,
    /// Until when it was charged.
    pub exec_start: i64,
    /// Time that it ran.
    pub sum: i64,
    /// The same at its last switch in.
    pub sum_before: i64,
    /// Averages of its load.
    pub average: Average,
    /// Of a group: threads in it that did not sleep when its average was last told.
    pub runnable: u32,
}

impl Entity {
    pub fn new(vcpu: Option<VcpuId>, group: u32) -> Entity {
        Entity {
            vcpu,
            group,
            queue: 0,
            parent: NIL,
            own: NIL,
            depth: 0,
            load: Load::of(NICE_0),
            effective: Load::of(NICE_0),
            idle: false,
            meek: false,
            level: Level::Fair,
            on_queue: false,
            v: 0,
            relative: true,
            deadline: 0,
            relative_deadline: false,
            lag: 0,
            slice: 0,
            custom_slice: false,
            delayed: false,
            protected_until: 0,
            exec_start: 0,
            sum: 0,
            sum_before: 0,
            average: Average::ALONE,
            runnable: 0,
        }
    }
}

/// What waits on one pcpu in one group.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub cpu: u16,
    pub group: u32,
    /// The group's entity on this pcpu; [`NIL`] of the root.
    pub entity: u32,
    /// All that waits, without the current one: the key (virtual time, or deadline) and the entity,
    /// in order; of equals, the first that came.
    pub waiting: Vec<(i64, u32)>,
    pub current: u32,
    /// Buddies: who is to run next, who ran last, who yielded.
    pub next: u32,
    pub last: u32,
    pub skip: u32,
    /// Least virtual time, which only grows (CFS).
    pub min_v: i64,
    /// Sum of weights of all on the queue.
    pub load: u64,
    /// Entities on the queue.
    pub count: u32,
    /// Threads in it and below, those that sleep on the queue included.
    pub threads: u32,
    /// Those of them that sleep on the queue.
    pub delayed: u32,
    /// Those of them that are for idle times.
    pub idlers: u32,
    /// EEVDF: the point that virtual times are summed relative to; the sum of `(v - zero) * weight`
    /// and of weights, without the current entity.
    pub zero: i64,
    pub sum: i64,
    pub weights: i64,
    /// A quota applies.
    pub limited: bool,
    /// What is left of the time that was fetched from the group's pool.
    pub remaining: i64,
    pub throttled: bool,
    /// Groups from here up that are throttled.
    pub throttles: u32,
    /// Averages of its load, and what of it the group has been told.
    pub average: Average,
    pub contribution: i64,
    pub runnable_contribution: i64,
    /// When that was; long ago if never.
    pub told_at: i64,
    /// The averages stand still, as it is throttled: since when, and how long before.
    pub pelt_stopped: bool,
    pub pelt_stopped_at: i64,
    pub pelt_stopped_for: i64,
    /// Threads have come or gone with their load since the group's entity learned of that.
    pub moved: bool,
    /// What they brought (positive) or took: their sums of load, without weights.
    pub moved_sum: i64,
}

impl Group {
    pub fn new(owner: Owner, parent: u32, depth: u8) -> Group {
        Group {
            owner,
            parent,
            children: Vec::new(),
            depth,
            // Until the group's own weight comes: threads of the host may be in it before.
            shares: NICE_0,
            idle: false,
            // The root has nothing around it.
            settled: depth == 0,
            members: Vec::new(),
            load: 0,
            runnable: 0,
            bandwidth: Bandwidth::default(),
        }
    }
}

impl Queue {
    pub fn new(cpu: u16, group: u32, entity: u32) -> Queue {
        Queue {
            cpu,
            group,
            entity,
            waiting: Vec::new(),
            current: NIL,
            next: NIL,
            last: NIL,
            skip: NIL,
            min_v: START,
            load: 0,
            count: 0,
            threads: 0,
            delayed: 0,
            idlers: 0,
            zero: START,
            sum: 0,
            weights: 0,
            limited: false,
            remaining: 0,
            throttled: false,
            throttles: 0,
            average: Average::NOTHING,
            contribution: 0,
            runnable_contribution: 0,
            told_at: i64::MIN / 2,
            pelt_stopped: false,
            pelt_stopped_at: 0,
            pelt_stopped_for: 0,
            moved: false,
            moved_sum: 0,
        }
    }
}

/// A task group: the root, a domain, a part of one, or a group of domains.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub owner: Owner,
    /// The group that it is in; the root is in itself.
    pub parent: u32,
    /// Groups that are in it.
    pub children: Vec<u32>,
    /// Groups around its threads, itself included and the root not.
    pub depth: u8,
    /// `cpu.weight` as it is stored.
    pub shares: u64,
    /// `cpu.idle`.
    pub idle: bool,
    /// The groups around it know of it. One of a domain may still go into another group before.
    pub settled: bool,
    /// Its own threads, without those of groups in it.
    pub members: Vec<VcpuId>,
    /// Published averages of all pcpus: of load, and of threads that run or wait, in parts of 1024
    /// (7.3).
    pub load: i64,
    pub runnable: i64,
    pub bandwidth: Bandwidth,
}

/// A domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Domain {
    pub group: u32,
    /// What its vcpus are given.
    pub inherited: ThreadSetting,
    /// Groups inside its own.
    pub inside: Inside,
}

/// `cpu.max` of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Bandwidth {
    /// Zero for none.
    pub quota: i64,
    pub period: i64,
    pub burst: i64,
    /// What is left in this period.
    pub pool: i64,
    /// Nobody fetched anything in this period.
    pub unused: bool,
    /// The timer of periods is set.
    pub periods: bool,
    /// When that timer expires, or would have: periods that begin anew stay on this grid.
    pub expires: i64,
    /// When the timer of the slack expires.
    pub slack_at: Option<i64>,
    /// Queues that wait for time, in the order in which they ran out.
    pub throttled: Vec<u32>,
}

/// A pcpu.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cpu {
    pub online: bool,
    /// The time of everything that happens on it until the clock is read again.
    pub clock: i64,
    /// The next pass does not read it.
    pub skip_clock: bool,
    /// A pass was asked for, at once or at the next return to user mode.
    pub resched: bool,
    pub lazy: bool,
    /// Who runs.
    pub current: u32,
    /// The tick is set.
    pub ticks: bool,
    /// The timer at the end of a request is set (7.2).
    pub hrtick: bool,
    /// Since when it idles; 0 when not.
    pub idle_since: i64,
    /// When its domains are balanced next, by the tick.
    pub next_balance: i64,
    /// Numbers of the newidle draw (`NI_RANDOM`), by domain of the topology.
    pub draws: [Draws; LEVELS],
    /// Last and next balancing of each domain.
    pub balanced: [i64; LEVELS],
    pub interval: [i64; LEVELS],
    pub failed: [u32; LEVELS],
}

/// Domains of a topology: threads of a core, cores of a socket, sockets.
pub(super) const LEVELS: usize = 3;

/// How often balancing before idling found something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    pub calls: u32,
    pub success: u32,
    pub ratio: u32,
    /// When the ratio was last computed.
    pub since: i64,
}

impl Draws {
    /// The ratio at which nothing is drawn (`NI_RATE`).
    pub const ALWAYS: u32 = 1024;

    /// The ratio, which has just been computed, is the higher the longer ago it was before.
    pub fn note_time(&mut self, now: i64) {
        let elapsed = (now - self.since) >> 22;
        self.since = now;
        self.ratio = (i64::from(self.ratio) + elapsed).min(i64::from(Draws::ALWAYS)) as u32;
    }
}

impl Cpu {
    pub const ABSENT: Cpu = Cpu {
        online: false,
        clock: 0,
        skip_clock: false,
        resched: false,
        lazy: false,
        current: NIL,
        ticks: false,
        hrtick: false,
        idle_since: 0,
        next_balance: 0,
        draws: [Draws {
            calls: 512,
            success: 256,
            ratio: 512,
            since: 0,
        }; LEVELS],
        balanced: [0; LEVELS],
        interval: [0; LEVELS],
        failed: [0; LEVELS],
    };
}

/// What waits and runs on a pcpu in the classes above fair.
#[derive(Clone, Debug)]
pub(super) struct High {
    /// Threads of fifo and rr that are runnable, the running one included: the highest priority
    /// first, of equals the first in line.
    pub real_time: Vec<u32>,
    /// Threads of the class deadline that have runtime left, the earliest deadline first.
    pub deadline: Vec<u32>,
    /// Time that fifo and rr had in this period (6.1), and whether that was all.
    pub rt_time: i64,
    pub rt_throttled: bool,
    /// The fair server (since 6.12): on the queue of deadlines, and there at all.
    pub server: Cbs,
    pub serves: bool,
    pub server_active: bool,
    /// Until when idle time has been taken off the server's runtime.
    pub idle_from: i64,
    /// What its timer is set to.
    pub timer: Option<i64>,
    /// A preempted thread may go elsewhere as soon as it is off the pcpu.
    pub push_at: Option<i64>,
    /// How much of the pcpu the classes above fair use.
    pub average: Average,
    /// The pcpu that was last chosen of several alike.
    pub turn: u16,
}

impl High {
    pub const NOTHING: High = High {
        real_time: Vec::new(),
        deadline: Vec::new(),
        rt_time: 0,
        rt_throttled: false,
        server: Cbs::NONE,
        serves: false,
        server_active: false,
        idle_from: 0,
        timer: None,
        push_at: None,
        average: Average::NOTHING,
        turn: 0,
    };
}

/// What the policy keeps for a vcpu beside its entity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    /// Its entity; [`NIL`] of a vcpu that is not there.
    pub entity: u32,
    /// What it is given.
    pub setting: ThreadSetting,
    /// Its group inside that of its domain.
    pub seat: Seat,
    /// Has woken before.
    pub known: bool,
    /// Is on its way to another pcpu, so that its next wake-up is none.
    pub moving: bool,
    /// Paused by the policy: its group has no time left.
    pub parked: bool,
    /// Whom it woke last, how often that changed, and when that was last halved.
    pub wakee: u32,
    pub flips: u32,
    pub flips_at: i64,
    /// The pcpu that it used before.
    pub recent: u16,
    /// Ticks that are left of its quantum (rr).
    pub quantum: i64,
    /// Its reservation (deadline).
    pub cbs: Cbs,
}

impl Thread {
    pub fn new(entity: u32, setting: ThreadSetting) -> Thread {
        Thread {
            entity,
            setting,
            seat: Seat::Vcpu,
            known: false,
            moving: false,
            parked: false,
            wakee: NIL,
            flips: 0,
            flips_at: 0,
            recent: u16::MAX,
            quantum: 0,
            cbs: Cbs::NONE,
        }
    }

    pub fn absent() -> Thread {
        Thread::new(NIL, ThreadSetting::unknown())
    }
}
