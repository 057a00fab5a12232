//! Can a driver domain have worked for as long as the trace says?

use std::collections::BTreeMap;

use domio_core::{ActorId, DomainId, Names, Record, Runstate};
use domio_trace::VCPUS_MAX;

use super::{TraceChecker, TraceProblem};

/// Keeps, for each vcpu that worked for others, how much of its time that took.
#[derive(Debug, Default)]
pub(super) struct WorkRules {
    /// Time that records took, by vcpu.
    taken: BTreeMap<ActorId, u64>,
    /// How long the vcpu had executed at the record before, by vcpu and by whom it worked for.
    before: BTreeMap<(ActorId, DomainId), u64>,
}

impl WorkRules {
    /// The vcpu has executed for at most `ran` ns so far, and says that since its
    /// record before for `owner` it worked `ns` for that one. Returns the most that can be true if
    /// that is less: what it executed since then, and what no record has taken so far.
    pub fn worked(&mut self, vcpu: ActorId, owner: DomainId, ns: u64, ran: u64) -> Option<u64> {
        let taken = self.taken.get(&vcpu).copied().unwrap_or(0);
        let before = self.before.get(&(vcpu, owner)).copied().unwrap_or(0);
        let most = ran.saturating_sub(taken.max(before));
        self.taken.insert(vcpu, taken.saturating_add(ns.min(most)));
        if self.before.len() < VCPUS_MAX || self.before.contains_key(&(vcpu, owner)) {
            self.before.insert((vcpu, owner), ran);
        }
        (ns > most).then_some(most)
    }
}

impl TraceChecker {
    /// A `DriverWork` record. One at the first runstate record of its vcpu, or before, is about
    /// the time before the trace.
    pub(super) fn worked(&mut self, names: &Names, record: &Record) {
        let known = self.vcpus.get(record.actor.index()).copied().flatten();
        let known = known.filter(|v| v.first < record.at);
        let told = known.zip(record.done_for()).zip(names.vcpu(record.actor));
        let Some(((v, (owner, work)), vcpu)) = told else {
            return;
        };
        let is_sure = self.losses.concerning(v.state, v.pcpu) == v.losses;
        let open = match v.state {
            Runstate::Running => record.at.saturating_since(v.since).as_nanos(),
            _ if !is_sure => record.at.saturating_since(v.since).as_nanos(),
            _ => 0,
        };
        let closed = v.sums[Runstate::Running as usize].saturating_add(v.unknown);
        let ran = closed.saturating_add(open);
        if let Some(most) = self.work.worked(record.actor, owner, work, ran) {
            let problem = TraceProblem::TooMuchWork {
                vcpu,
                owner,
                work,
                most,
            };
            self.find(record.at, record.pcpu, problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::cast::{actor, fed, names};
    use crate::{CheckReport, TraceChecker, TraceProblem};
    use Runstate::{Blocked, Runnable, Running};
    use domio_core::{ActorId, DomainId, Instant, Kind, PcpuId, Record, Runstate, VcpuName};

    const DRIVER: VcpuName = VcpuName::new(DomainId(0), 0);

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn state(ns: u64, old: Runstate, new: Runstate) -> Record {
        Record::runstate(at(ns), PcpuId(0), actor(DRIVER), old, new)
    }

    fn work(ns: u64, owner: u16, took: u64) -> Record {
        Record::driver_work(at(ns), PcpuId(0), actor(DRIVER), DomainId(owner), took)
    }

    fn check(records: &[Record]) -> CheckReport {
        fed(TraceChecker::new(), &names(), records).finish()
    }

    fn too_much(owner: u16, work: u64, most: u64) -> TraceProblem {
        TraceProblem::TooMuchWork {
            vcpu: DRIVER,
            owner: DomainId(owner),
            work,
            most,
        }
    }

    fn problems(records: &[Record]) -> Vec<TraceProblem> {
        let findings = check(records).findings.into_iter();
        findings.map(|f| f.problem).collect()
    }

    #[test]
    fn what_fits_into_the_time_of_the_vcpu_is_clean_before_and_after_the_switch() {
        assert_eq!(
            problems(&[
                // Done before the trace began.
                work(0, 3, 900),
                state(0, Running, Running),
                work(0, 3, 900),
                work(100, 1, 60),
                work(100, 2, 40),
                state(100, Running, Blocked),
                state(150, Blocked, Runnable),
                state(160, Runnable, Running),
                state(200, Running, Blocked),
                work(200, 2, 30),
                work(200, 1, 10),
            ]),
            []
        );
    }

    #[test]
    fn more_than_the_vcpu_executed_is_damage() {
        let report = check(&[
            state(0, Runnable, Running),
            work(100, 1, 60),
            work(100, 2, 41),
            state(100, Running, Blocked),
        ]);
        assert_eq!(report.total, 1);
        assert_eq!(
            report.findings[0].to_string(),
            "record 2 at 0.000000100 s on p0: d0v0 worked 41 ns for d2, but executed for 40 ns \
             that no record before has taken"
        );
        assert_eq!(report.findings[0].problem, too_much(2, 41, 40));
    }

    #[test]
    fn a_record_takes_time_since_the_one_before_for_the_same_domain() {
        assert_eq!(
            problems(&[
                state(0, Runnable, Running),
                work(100, 1, 10),
                work(150, 1, 51),
                work(160, 2, 99),
                work(170, 2, 10),
                state(170, Running, Blocked),
                work(300, 2, 1),
            ]),
            // 50 since the one before; all of 170 less what is taken, 60 and 99 and 10; no time
            // since the last, though one is left.
            [too_much(1, 51, 50), too_much(2, 1, 0)]
        );
    }

    #[test]
    fn lost_records_may_hide_time_on_a_pcpu_and_believed_ones_condemn_no_other() {
        let nobody = ActorId::NONE;
        let lost = Record::with(at(50), PcpuId(0), Kind::Lost, nobody, [2, 0, 0, 0]);
        assert_eq!(
            problems(&[
                state(0, Runnable, Running),
                state(10, Running, Blocked),
                lost,
                work(100, 1, 100),
                state(100, Running, Blocked),
            ]),
            []
        );
        assert_eq!(
            problems(&[
                state(0, Runnable, Running),
                work(10, 1, 1_000),
                work(20, 1, 10),
                state(20, Running, Blocked),
            ]),
            [too_much(1, 1_000, 10)]
        );
    }
}
