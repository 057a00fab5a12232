//! Causes of waits.

use domio_answer::texts;
use domio_core::Class;

/// Why a vcpu that could execute did not, as far as records tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// It was woken and a pcpu was tickled for it: the scheduler has yet to run there.
    Pass,
    /// The vcpu went on that ran, whose time under the rate limit was not over: a pass for it let
    /// that one go on, or none was asked for (credit2).
    RateLimit,
    /// It was woken and no pcpu was tickled: its priority was no higher than that of who ran.
    NotTickled,
    /// It was woken and a pcpu was tickled, and the pass took another vcpu.
    PassedOver,
    /// It was woken. The trace does not tell whether a pcpu was tickled.
    Woken,
    /// It had used up its credit, and one with credit ran.
    OverCredit,
    /// A vcpu that was woken later went before it with a boost.
    BoostAhead,
    /// Another one took its pcpu before its slice was over.
    Preempted,
    /// Its slice was over and it was not its turn again.
    SliceOver,
    /// It left its pcpu, and the trace does not tell the slice that it had.
    Displaced,
    /// It yielded.
    Yielded,
    /// Its cap left it no time (credit2).
    Cap,
    /// It had been paused or parked.
    Released,
    /// It waited already when the trace began or where records are missing.
    Before,
    /// The vcpu went on that ran, of a driver domain with packets at hand.
    Dispatching,
    /// The budget that it has of its own for the period was used up (RTDS, SEDF). Such time is
    /// parked, and no wait has this cause.
    Budget,
    /// It was parked by its cap, or paused: offline, and not runnable. No wait has this cause; it
    /// is named where time that a vcpu lost is.
    Parked,
    /// As `Parked`, by the limit of a group inside its domain's (libvirt's on Linux).
    OwnGroup,
    /// It was woken, and the one that ran went on: its turn had not come (Linux).
    Queued,
    /// One of a higher class ran: real time, deadline, or stop (Linux).
    HigherClass,
    /// A limit of its group had left it no time (Linux's `cpu.max`).
    Throttled,
    /// Another pcpu idled that it may not use.
    Affinity,
    /// Another pcpu idled that it may use, as far as is known.
    IdleElsewhere,
    /// Its pcpu served interrupts in the time of the one that ran.
    Interrupts,
    /// It slept until a request of a disk was done (Linux's state D). It was not runnable, and no
    /// wait has this cause; it is named where time that a thread lost is.
    Disk,
}

texts! {
    Why: |why| why.key().into(), |text, _| Why::ALL.into_iter().find(|why| why.key() == text);
}

/// What there is to say of each cause: its key in JSON, its name in tables, what the name means,
/// and what to try; no cure where nothing that is set helps.
const TEXTS: [(Why, [&str; 4]); 25] = [
    (
        Why::Pass,
        [
            "pass",
            "scheduler pending",
            "woken, waiting for the scheduler to run on the chosen pcpu",
            "",
        ],
    ),
    (
        Why::RateLimit,
        [
            "rate_limit",
            "rate limit",
            "the running vcpu was protected by the rate limit",
            "a shorter rate limit (`ratelimit_us`), or 0 for none",
        ],
    ),
    (
        Why::NotTickled,
        [
            "not_tickled",
            "not tickled",
            "woken, but no pcpu was asked to make room: its priority was no higher",
            "more `weight`; another policy (`credit2` compares credits)",
        ],
    ),
    (
        Why::PassedOver,
        [
            "passed_over",
            "passed over",
            "woken, and the scheduler chose another vcpu when it ran",
            "more `weight`, fewer busy vcpus on its pcpus",
        ],
    ),
    (
        Why::Woken,
        ["woken", "woken", "woken (details not recorded)", ""],
    ),
    (
        Why::OverCredit,
        [
            "over_credit",
            "over its credit",
            "it had used up its credit; vcpus with credit run first",
            "more `weight`, or a `cap` for the vcpu that ran",
        ],
    ),
    (
        Why::BoostAhead,
        [
            "boost_ahead",
            "boost ahead",
            "a vcpu that woke later ran first, with a boost",
            "another policy; see which vcpu wakes so often",
        ],
    ),
    (
        Why::Preempted,
        [
            "preempted",
            "preempted",
            "another vcpu took its pcpu before its slice was over",
            "more `weight`, or pcpus of its own (`pin`)",
        ],
    ),
    (
        Why::SliceOver,
        [
            "slice_over",
            "slice over",
            "its slice was over, and others had their turns",
            "more `weight`, or a shorter slice (`tslice_ms`)",
        ],
    ),
    (
        Why::Displaced,
        [
            "displaced",
            "displaced",
            "it lost its pcpu (its slice is not recorded)",
            "more `weight`, or pcpus of its own (`pin`)",
        ],
    ),
    (
        Why::Yielded,
        [
            "yielded",
            "yielded",
            "it gave its pcpu up by itself (yield)",
            "",
        ],
    ),
    (
        Why::Cap,
        [
            "cap",
            "cap",
            "its cap was used up",
            "a larger `cap`, or none",
        ],
    ),
    (
        Why::Released,
        [
            "released",
            "after a pause",
            "its pause or parking was over, and no pcpu had taken it yet",
            "",
        ],
    ),
    (
        Why::Before,
        [
            "before",
            "begin not seen",
            "it waited when the trace began, or records are missing",
            "",
        ],
    ),
    (
        Why::Dispatching,
        [
            "dispatching",
            "packets at hand",
            "a driver domain ran on, as it had packets at hand",
            "`dom0-share`, or a pcpu of the driver domain's own",
        ],
    ),
    (
        Why::Budget,
        [
            "budget",
            "own budget used up",
            "its budget for the period was used up",
            "a larger `budget_us`, or extra time (`extratime`)",
        ],
    ),
    (
        Why::Parked,
        [
            "parked",
            "parked",
            "held back by its own cap, or paused",
            "a larger `cap`, or none",
        ],
    ),
    (
        Why::OwnGroup,
        [
            "own_group",
            "own group",
            "held back by the quota of its own group in the guest's (`vcpuN`, `iothreadN` or \
             `emulator` of libvirt)",
            "a larger `vcpu_quota_us`, `iothread_quota_us` or `emulator_quota_us`, or none",
        ],
    ),
    (
        Why::Queued,
        [
            "queued",
            "queued",
            "woken, and the thread that ran kept the CPU until its turn was over",
            "more weight for the group (`systemctl set-property UNIT CPUWeight=N`, `virsh \
             schedinfo GUEST --set cpu_shares=N`), or a real-time class for the thread (`chrt -f \
             -p 1 TID`)",
        ],
    ),
    (
        Why::HigherClass,
        [
            "higher_class",
            "higher class",
            "a thread of a higher scheduling class ran (real time, deadline or stop)",
            "`chrt -o -p 0 TID` for the thread that ran, or other CPUs for it with `taskset`",
        ],
    ),
    (
        Why::Throttled,
        [
            "throttled",
            "throttled",
            "its group, or one above, had used up its limit for the period (`cpu.max`)",
            "a larger limit (`systemctl set-property UNIT CPUQuota=P%`, `virsh schedinfo GUEST \
             --set vcpu_quota=US`, `cpu.max` of the group), or none",
        ],
    ),
    (
        Why::Affinity,
        [
            "affinity",
            "affinity",
            "another CPU idled that it may not use",
            "a wider affinity (`taskset -c -p CPUS TID`, `virsh vcpupin`, `AllowedCPUs`)",
        ],
    ),
    (
        Why::IdleElsewhere,
        [
            "idle_elsewhere",
            "idle elsewhere",
            "it waited for a busy CPU while another one idled",
            "pins that spread the threads (`taskset -c -p CPU TID`, `virsh vcpupin`)",
        ],
    ),
    (
        Why::Interrupts,
        [
            "interrupts",
            "interrupts",
            "its CPU served interrupts or softirqs meanwhile",
            "interrupts on other CPUs (`/proc/irq/N/smp_affinity_list`), fewer queues there",
        ],
    ),
    (
        Why::Disk,
        [
            "disk",
            "waiting for a disk",
            "asleep until a request was done that the thread or its group had made; a CPU would \
             not have helped",
            "fewer requests of others at that disk (`io.max`, `virsh blkdeviotune`), a faster \
             disk, or more memory for its cache",
        ],
    ),
];

/// What to try on a Linux host for a thread that has to leave its CPU.
const MORE_OF_A_CPU: &str = "more weight for the group (`systemctl set-property UNIT \
     CPUWeight=N`, `virsh schedinfo GUEST --set cpu_shares=N`), or CPUs of its own (`virsh \
     vcpupin`, `taskset`)";

/// What to try on a Linux host, where that is not what Xen has.
const LINUX_CURES: [(Why, &str); 2] = [
    (Why::Preempted, MORE_OF_A_CPU),
    (Why::SliceOver, MORE_OF_A_CPU),
];

/// What causes of all hosts mean on a Linux host, which has threads and CPUs.
const LINUX_MEANINGS: [(Why, &str); 5] = [
    (
        Why::Pass,
        "woken, waiting for the chosen CPU to leave its idle state and to run the scheduler",
    ),
    (
        Why::Preempted,
        "another thread took its CPU before its slice was over",
    ),
    (
        Why::Displaced,
        "it lost its CPU (its slice is not recorded)",
    ),
    (Why::Yielded, "it gave its CPU up by itself (yield)"),
    (
        Why::Released,
        "it was stopped before, and no CPU had taken it yet",
    ),
];

/// Whether a host with this policy is a Linux host, whose CPUs do not idle beside threads that
/// wait.
fn is_linux(policy: Option<&Class>) -> bool {
    policy.is_some_and(|policy| policy.queue.never_idles)
}

/// Causes that only hosts have whose pcpus do not idle beside vcpus that wait.
const OF_LINUX: [Why; 7] = [
    Why::Queued,
    Why::HigherClass,
    Why::Throttled,
    Why::Affinity,
    Why::IdleElsewhere,
    Why::Interrupts,
    Why::Disk,
];

impl Why {
    /// Whether a host with this policy may have the cause at all, by its kind.
    pub fn is_of(self, policy: Option<&Class>) -> bool {
        !OF_LINUX.contains(&self) || is_linux(policy)
    }

    /// All causes, in the order in which tables show them.
    pub const ALL: [Why; 25] = [
        Why::Pass,
        Why::RateLimit,
        Why::NotTickled,
        Why::PassedOver,
        Why::Woken,
        Why::OverCredit,
        Why::BoostAhead,
        Why::Preempted,
        Why::SliceOver,
        Why::Displaced,
        Why::Yielded,
        Why::Cap,
        Why::Released,
        Why::Before,
        Why::Dispatching,
        Why::Budget,
        Why::Parked,
        Why::OwnGroup,
        Why::Queued,
        Why::HigherClass,
        Why::Throttled,
        Why::Affinity,
        Why::IdleElsewhere,
        Why::Interrupts,
        Why::Disk,
    ];

    /// Key, name, meaning and cure.
    fn text(self) -> [&'static str; 4] {
        let found = TEXTS.iter().find(|(why, _)| *why == self);
        found.map_or([""; 4], |(_, text)| *text)
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        self.text()[1]
    }

    /// Its name in JSON.
    pub fn key(self) -> &'static str {
        self.text()[0]
    }

    /// What the name means, for a legend.
    pub fn meaning(self, policy: Option<&Class>) -> &'static str {
        let of_linux = LINUX_MEANINGS.iter().find(|(why, _)| *why == self);
        let of_linux = of_linux.filter(|_| is_linux(policy));
        of_linux.map_or(self.text()[2], |(_, meaning)| *meaning)
    }

    /// What to try against waits of this cause under `policy`; `None` where nothing that an
    /// operator sets helps. Policies of reservations have neither weights nor slices to set.
    pub fn cure(self, policy: Option<&Class>) -> Option<&'static str> {
        if is_linux(policy)
            && let Some((_, cure)) = LINUX_CURES.iter().find(|(why, _)| *why == self)
        {
            return Some(*cure);
        }
        let reserves = policy.is_some_and(|policy| ["rtds", "sedf"].contains(&policy.name));
        let is_turn = matches!(
            self,
            Why::NotTickled | Why::PassedOver | Why::Preempted | Why::SliceOver | Why::Displaced
        );
        match self.text()[3] {
            "" => None,
            _ if self == Why::Budget && policy.is_some_and(|policy| policy.name == "sedf") => {
                Some("a larger `slice_us`, or extra time (`extratime`)")
            }
            _ if reserves && is_turn => {
                Some("a larger reservation or a shorter period, or fewer reservations on its pcpus")
            }
            cure => Some(cure),
        }
    }
}
