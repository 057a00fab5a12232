//! What changed in credit2 between Xen 4.8 and 4.20, one rule per change.
//!
//! Each field of [`Rules`] names one behaviour and the first release that has it; the commit that
//! made a change is in brackets. Code asks for a rule, never for a release. A change that point
//! releases got as well counts from the release that came out with it; for 4.17 that is 4.17.5,
//! which has [`QueueLimit::Whole`] from 4.18.
//!
//! Sources: `sched/credit2.c` of 4.14.6 and of 4.17.5, both of which decide as this policy does;
//! `sched_credit2.c` as it was in 2017, 2018 and 2019; the changes themselves.

use domio_contract::releases::{RuleChange, began, change};
use domio_contract::{HostParts, Releases};
use domio_core::XenVersion;
use domio_core::XenVersion::{V4_2, V4_10, V4_11, V4_13, V4_14, V4_15, V4_16, V4_17};

/// How many pcpus a run queue may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QueueLimit {
    /// As many as the arrangement says (until 4.13).
    None,
    /// `max_cpus_runqueue`, and there must be room for a pcpu's whole core, threads that are
    /// offline included \[8e2aa76dc167\] (4.14).
    WholeCores,
    /// The same, but that `runqueue = "all"` asks for room for the pcpu alone (4.18, 4.17.5).
    Whole,
}

/// The rules of one release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    /// 4.10: soft affinity. Before: whoever has one is treated as if it had none.
    pub soft_affinity: bool,
    /// 4.10: caps \[ad4b3e1e9df3\].
    pub caps: bool,
    /// 4.11: a pcpu that stops idling counts as busy while its pass balances load. Before: from
    /// then on, so that whom balancing brings may be left to that same pcpu.
    pub busy_first: bool,
    /// 4.13: the threads of a core that share its run queue say whether the core idles
    /// \[753ba43d6d16\]. Before: all of its threads, which are never all in one run queue with
    /// `runqueue = "cpu"`: there every pcpu counts as an idle core for ever.
    pub threads_of_the_queue: bool,
    /// 4.14: credit ends at -10 ms, and a reset adds once or twice 10 ms \[36f3662f27de\].
    /// Before: there is no end, idling has -2^30 ns, and a reset adds as many times 10 ms as who
    /// is to run needs.
    pub credit_ends: bool,
    /// 4.14: whether credit is reset depends on who is to run and who waits first
    /// \[dae7b62e976b\]. Before: on who is to run, and never when anybody who waits was passed
    /// over.
    pub reset_by_queue: bool,
    /// 4.14, 4.18: see [`QueueLimit`].
    pub queue_limit: QueueLimit,
    /// 4.15: the load of a vcpu that continues is worked out anew at each pass \[89052b9fa24b\].
    pub load_of_who_goes_on: bool,
    /// 4.16: the search continues after a vcpu that gets no budget, and ends at the first with too
    /// little credit. Before: it ends with the first vcpu that could run here, be that taken or
    /// not, so that a pcpu may idle beside a queue.
    pub looks_on: bool,
}

impl Rules {
    /// The rules of `version`.
    pub const fn of(version: XenVersion) -> Self {
        let v = version;
        Rules {
            soft_affinity: v.is_since(V4_10),
            caps: v.is_since(V4_10),
            busy_first: v.is_since(V4_11),
            threads_of_the_queue: v.is_since(V4_13),
            credit_ends: v.is_since(V4_14),
            reset_by_queue: v.is_since(V4_14),
            queue_limit: if v.is_since(V4_17) {
                QueueLimit::Whole
            } else if v.is_since(V4_14) {
                QueueLimit::WholeCores
            } else {
                QueueLimit::None
            },
            load_of_who_goes_on: v.is_since(V4_15),
            looks_on: v.is_since(V4_16),
        }
    }
}

/// The releases that have credit2. Before 4.8 it had no rate limit and did not obey hard affinity;
/// those are not offered.
pub static RELEASES: Releases = Releases {
    first: V4_2,
    last: None,
    changes: Some(CHANGES),
    began: &[
        began("cap", V4_10),
        began("cap_period_ms", V4_10),
        began("max_cpus_runqueue", V4_14),
    ],
};

const CHANGES: &[RuleChange] = &[
    change(V4_10, "soft affinity counts", |host| host.soft_affinity),
    change(V4_10, "there are caps", |host| host.caps),
    change(
        V4_11,
        "a pcpu that stops idling counts as busy while its pass balances load",
        several_queues,
    ),
    change(
        V4_13,
        "a core idles when those of its threads do that share a run queue",
        |host| host.topology.threads_per_core() > 1 && arranged(host, "cpu"),
    ),
    change(V4_14, "credit ends at -10 ms", |_| true),
    change(
        V4_14,
        "credit is reset when nobody at the head has any, be somebody passed over or not",
        |_| true,
    ),
    change(V4_14, "a run queue has 16 pcpus at most", |host| {
        host.hotplug || largest_queue(host) > limit(host)
    }),
    change(
        V4_15,
        "the load of a vcpu that continues is worked out anew",
        several_queues,
    ),
    change(
        V4_16,
        "a pcpu looks on after a vcpu that gets no budget",
        |host| host.caps,
    ),
    change(
        V4_17,
        "one run queue for all takes single threads of a core",
        |host| {
            let threads = host.topology.threads_per_core();
            let uneven = !limit(host).is_multiple_of(threads);
            arranged(host, "all") && threads > 1 && (host.hotplug || uneven)
        },
    ),
];

fn arranged(host: &HostParts, how: &str) -> bool {
    host.params.word("runqueue") == Some(how)
}

/// Pcpus in the largest run queue, without a limit.
fn largest_queue(host: &HostParts) -> usize {
    let t = &host.topology;
    match host.params.word("runqueue") {
        Some("cpu") => 1,
        Some("core") => t.threads_per_core(),
        Some("all") => t.pcpus(),
        _ => t.pcpus() / t.sockets(),
    }
}

/// Most pcpus in a run queue, where there is a limit.
fn limit(host: &HostParts) -> usize {
    let most = host.params.by_name("max_cpus_runqueue").unwrap_or(1) as usize;
    let pcpus = host.topology.pcpus();
    pcpus / pcpus.div_ceil(most)
}

/// Whether load can be balanced: there are several run queues.
fn several_queues(host: &HostParts) -> bool {
    let pcpus = host.topology.pcpus();
    largest_queue(host) < pcpus || limit(host) < pcpus || host.hotplug
}
