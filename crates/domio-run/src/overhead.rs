//! What driver domains of networks execute, by kind of work, as values of a [`Sample`].

use crate::sample::Sample;
use domio_core::DomainId;
use domio_meter::Summary;
pub use domio_net::host::NetMemory;
pub use domio_vmm::guest::kinds::KernelTimes;

/// Begin of the names of these values in samples; id and kind follow.
const OVERHEAD: &str = "overhead.";

/// A kind of what a driver domain executes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WorkKind {
    /// Upcalls, the scan over ports, interrupt handlers.
    Interrupts,
    /// Softirqs: the card's poll, bridge, timers.
    Softirqs,
    /// The tasklets of netback, with their copies and grant operations.
    Netback,
    /// Work items, which threads of the kernel do.
    Items,
    /// Processes.
    Processes,
    /// The way into idle.
    Idle,
    /// The rest of the time in which vcpus ran: the hypervisor's work and switches in their time,
    /// and what other threads of the core take.
    Rest,
    /// All of it: the time in which vcpus ran.
    Busy,
    /// The part of netback's tasklets that is for copies and grant operations.
    Moving,
}

impl WorkKind {
    /// All of them: those that sum up, the sum, a part of one.
    pub const ALL: [WorkKind; 9] = [
        WorkKind::Interrupts,
        WorkKind::Softirqs,
        WorkKind::Netback,
        WorkKind::Items,
        WorkKind::Processes,
        WorkKind::Idle,
        WorkKind::Rest,
        WorkKind::Busy,
        WorkKind::Moving,
    ];

    /// Whether it is one of those that sum up to [`WorkKind::Busy`].
    pub fn is_summed(self) -> bool {
        !matches!(self, WorkKind::Busy | WorkKind::Moving)
    }

    /// Its name in samples and in JSON, with the unit; its name for people; what it is.
    const fn names(self) -> [&'static str; 3] {
        match self {
            WorkKind::Interrupts => [
                "interrupts_ms",
                "interrupts",
                "Upcalls, the scan over ports, handlers.",
            ],
            WorkKind::Softirqs => [
                "softirqs_ms",
                "softirqs",
                "Softirqs without the tasklets: the card's poll, bridge, timers.",
            ],
            WorkKind::Netback => [
                "netback_ms",
                "netback's tasklets",
                "Tasklets of netback, with copies and grant operations.",
            ],
            WorkKind::Items => [
                "work_items_ms",
                "work items",
                "Work items, which threads of the kernel do.",
            ],
            WorkKind::Processes => ["processes_ms", "processes", "Processes."],
            WorkKind::Idle => ["idle_ms", "way into idle", "The way into idle."],
            WorkKind::Rest => [
                "rest_ms",
                "hypervisor and rest",
                "The hypervisor in the time of its vcpus, switches, and what other threads of the \
                 core take.",
            ],
            WorkKind::Busy => [
                "busy_ms",
                "busy",
                "All of these: the time in which its vcpus ran.",
            ],
            WorkKind::Moving => [
                "netback_copies_ms",
                "netback's copies, grants",
                "The part of netback's tasklets that is for copies and grant operations.",
            ],
        }
    }

    /// Its name in samples and in JSON, with the unit.
    pub const fn key(self) -> &'static str {
        self.names()[0]
    }

    /// Its name for people.
    pub const fn title(self) -> &'static str {
        self.names()[1]
    }

    /// What it is, a sentence.
    pub const fn meaning(self) -> &'static str {
        self.names()[2]
    }
}

/// Name of the value in samples that says how long `driver` executed work of `kind`, in
/// milliseconds.
pub fn key(driver: DomainId, kind: WorkKind) -> String {
    format!("{OVERHEAD}{}.{}", driver.0, kind.key())
}

/// The driver domain and the kind of which the value called `name` tells.
pub fn parse(name: &str) -> Option<(DomainId, WorkKind)> {
    let (driver, kind) = name.strip_prefix(OVERHEAD)?.split_once('.')?;
    let mut kinds = WorkKind::ALL.into_iter();
    let kind = kinds.find(|other| other.key() == kind)?;
    Some((DomainId(driver.parse().ok()?), kind))
}

/// Notes in `sample` what driver domains executed, as their kernels tell; `summary` has the time in
/// which they ran.
pub fn note(sample: &mut Sample, summary: &Summary, kernels: &[(DomainId, KernelTimes)]) {
    for (driver, times) in kernels {
        let busy = summary.domain(*driver).map_or(0, |d| d.total.running);
        let known = times.sum().as_nanos();
        assert!(
            known <= busy,
            "{driver} executed for {known} ns, of {busy} ns in which it ran"
        );
        for kind in WorkKind::ALL {
            let ns = match kind {
                WorkKind::Interrupts => times.interrupts.as_nanos(),
                WorkKind::Softirqs => times.softirqs.as_nanos(),
                WorkKind::Netback => times.tasklets.as_nanos(),
                WorkKind::Items => times.items.as_nanos(),
                WorkKind::Processes => times.processes.as_nanos(),
                WorkKind::Idle => times.idle.as_nanos(),
                WorkKind::Rest => busy - known,
                WorkKind::Busy => busy,
                WorkKind::Moving => times.moving.as_nanos(),
            };
            sample.set(&key(*driver, kind), ns as f64 / 1e6);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::one::run_one;
    use crate::simulate::simulate;
    use crate::simulate::tests::built;
    use domio_core::NullSink;

    const HOST: &str = r#"
        run.warmup_ms = 100
        run.duration_ms = 400
        host.profile = "opteron-242"
        scheduler.policy = "credit"
        [[domain]]
        name = "Domain-0"
        EXTRA
        [[domain]]
        name = "web"
        count = 2
        WORK
    "#;

    const STREAM: &str = "workload = \"stream\"\n";

    fn host(extra: &str, work: &str) -> String {
        HOST.replace("EXTRA", extra).replace("WORK", work)
    }

    #[test]
    fn names_of_values_are_told_from_those_of_domains() {
        for kind in WorkKind::ALL {
            assert_eq!(parse(&key(DomainId(3), kind)), Some((DomainId(3), kind)));
        }
        for other in ["overhead.share_pct", "overhead.3.x_ms", "web.busy_ms"] {
            assert_eq!(parse(other), None);
        }
    }

    #[test]
    fn kinds_of_work_are_parts_of_the_time_in_which_the_driver_domain_ran() {
        let sample = run_one(&host("", STREAM), &[], None, 0).unwrap();
        let ms = |kind| sample.get(&key(DomainId(0), kind)).unwrap();
        let parts = WorkKind::ALL.into_iter().filter(|k| k.is_summed());
        let sum: f64 = parts.map(ms).sum();
        let busy = ms(WorkKind::Busy);
        assert!((sum - busy).abs() < 1e-6, "{sum} of {busy}");
        let share = sample.get("Domain-0.share_pct").unwrap();
        assert!((busy / 4.0 - share).abs() < 1e-6, "{busy} and {share} %");
        for kind in [WorkKind::Interrupts, WorkKind::Softirqs, WorkKind::Netback] {
            assert!(ms(kind) > busy / 100.0, "{kind:?}: {} of {busy}", ms(kind));
        }
        let copies = ms(WorkKind::Moving);
        assert!(copies > 0.0 && copies < ms(WorkKind::Netback), "{copies}");
        assert!(ms(WorkKind::Rest) > 0.0 && ms(WorkKind::Rest) < busy / 2.0);
        assert_eq!([ms(WorkKind::Processes), ms(WorkKind::Items)], [0.0; 2]);
        let guests = sample.values().filter_map(|(name, _)| parse(name));
        assert!(guests.into_iter().all(|(driver, _)| driver == DomainId(0)));
    }

    /// Also of a process that waits for nothing and has no end.
    #[test]
    fn processes_of_the_driver_domain_are_a_kind() {
        let text = host("workload = \"burn\"", STREAM);
        let executed = |profile: &str| {
            let sample = run_one(&text, &[("host.profile", profile)], None, 0).unwrap();
            let kinds = [WorkKind::Processes, WorkKind::Rest, WorkKind::Busy];
            kinds.map(|kind| sample.get(&key(DomainId(0), kind)).unwrap())
        };
        let [processes, rest, busy] = executed("opteron-242");
        assert!(processes > rest && rest > 0.0 && busy > processes + rest);
        // Where nothing else takes time, they are all of it.
        let [processes, rest, busy] = executed("ideal");
        assert!(busy > 0.0);
        assert_eq!([processes, rest], [busy, 0.0]);
    }

    #[test]
    fn a_host_without_a_driver_domain_has_none() {
        let sample = run_one(&host("", "workload = \"burn\""), &[], None, 0).unwrap();
        assert!(sample.values().all(|(name, _)| parse(name).is_none()));
    }

    /// Who does not ask for whom domains work does not hear at what they work.
    #[test]
    fn kinds_are_known_to_those_who_ask() {
        let (_, built) = built(&host("", STREAM));
        let result = simulate(&built, 0, NullSink).unwrap();
        assert_eq!(result.kernels, [(DomainId(0), KernelTimes::default())]);
    }

    #[test]
    fn memory_is_that_of_interfaces_pairs_and_pools() {
        const PAGE: u64 = 4096;
        let with = |network: &str| {
            let text = host("", STREAM) + &format!("\n[[network]]\n{network}\n");
            built(&text).1.network_memory(DomainId(0))
        };
        let plain = with("");
        let (rings, pending) = (2 * 2 * PAGE, 256 * PAGE);
        let expected = NetMemory {
            rings,
            pending,
            ..NetMemory::default()
        };
        assert_eq!(plain, expected);
        let both = with("netback_pairs = 2\nsmall_packets = \"pool\"");
        let expected = NetMemory {
            rings,
            pending: 2 * pending,
            pools: 2 * 256 * PAGE,
            guest_pools: 2 * 256 * PAGE,
        };
        assert_eq!(both, expected);
    }
}
