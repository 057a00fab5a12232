//! Whose turn it was although it had no credit left: what the length of a pass tells.
//!
//! When the head of the run queue is OVER, credit looks for somebody better on other pcpus before
//! it takes it (`csched_load_balance`). That takes time where there are none as well, so that a
//! trace shows the class of whoever is dispatched.

use domio_core::{Duration, Instant, Kind, VcpuName};
use domio_replay::NamedRecord;
use domio_replay::private::is_pass;
use domio_vmm::Profile;

/// From SCHEDULE to SWITCH_INFPREV: 1.5 to 1.7 us without that search, 2.1 to 2.4 us with it.
const WITH_SEARCH: Duration = Duration::from_nanos(2_000);

/// It takes longer by this, 1.8 to 1.9 us and once 2.2, where the pcpu idled.
const FROM_IDLE: Duration = Duration::from_nanos(330);

/// Dispatches in `records` of one pcpu that followed a search: when, and of whom. The records are
/// those of a real Xen, or simulated under `profile`, which has no record in the middle of a pass.
pub fn searched(records: &[NamedRecord], profile: &Profile) -> Vec<(Instant, VcpuName)> {
    // Half of the search tells a pass with it from one without.
    let simulated = profile.switch + profile.policy.search / 2;
    let mut pass = None;
    let mut search = false;
    let mut found = Vec::new();
    for r in records {
        match r.kind {
            None if is_pass(r) => {
                (pass, search) = (Some(r.at), false);
            }
            Some(Kind::InfPrev) if r.vcpu.is_idle() => {
                search = took(pass, r.at) > WITH_SEARCH + FROM_IDLE
            }
            Some(Kind::InfPrev) => search = took(pass, r.at) > WITH_SEARCH,
            Some(Kind::Switch) => search = took(pass, r.at) > simulated,
            _ => {}
        }
        if let Some(next) = r.next.filter(|_| search) {
            found.push((r.at, next));
        }
    }
    found
}

fn took(pass: Option<Instant>, at: Instant) -> Duration {
    pass.map_or(Duration::ZERO, |pass| at.saturating_since(pass))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{DomainId, PcpuId};
    use domio_replay::private::Private;

    const PROFILE: Profile = Profile::XEN_4_17_EMULATED;
    const P0: PcpuId = PcpuId(0);

    fn us(at: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(at)
    }

    fn guest(id: u16) -> VcpuName {
        VcpuName::new(DomainId(id), 0)
    }

    fn schedule(at: u64) -> NamedRecord {
        let private = Private::new("credit", 9, &[0]).pass();
        NamedRecord::of_policy(us(at), P0, private, None)
    }

    fn record(ns: u64, kind: Kind, next: u16) -> NamedRecord {
        let at = Instant::ZERO + Duration::from_nanos(ns);
        let mut record = NamedRecord::new(at, P0, kind, guest(9));
        if matches!(kind, Kind::Switch | Kind::SwitchOnly) {
            record.next = Some(guest(next));
        }
        record
    }

    fn idle(ns: u64) -> NamedRecord {
        let at = Instant::ZERO + Duration::from_nanos(ns);
        NamedRecord::new(at, P0, Kind::InfPrev, VcpuName::idle(P0))
    }

    #[test]
    fn a_recorded_pass_with_a_search_takes_longer() {
        let records = [
            schedule(100),
            record(101_560, Kind::InfPrev, 0),
            record(103_120, Kind::SwitchOnly, 1),
            schedule(200),
            record(202_224, Kind::InfPrev, 0),
            record(203_786, Kind::SwitchOnly, 2),
            schedule(300),
            record(301_508, Kind::InfPrev, 0),
            record(303_070, Kind::SwitchOnly, 3),
            // From idle, without and with one.
            schedule(400),
            idle(402_196),
            record(403_760, Kind::SwitchOnly, 4),
            schedule(500),
            idle(502_560),
            record(504_124, Kind::SwitchOnly, 5),
        ];
        let who: Vec<_> = searched(&records, &PROFILE).iter().map(|d| d.1).collect();
        assert_eq!(who, [guest(2), guest(5)]);
    }

    #[test]
    fn so_does_a_simulated_one() {
        let records = [
            schedule(100),
            record(104_988, Kind::Switch, 1),
            schedule(200),
            record(205_710, Kind::Switch, 2),
        ];
        let who: Vec<_> = searched(&records, &PROFILE).iter().map(|d| d.1).collect();
        assert_eq!(who, [guest(2)]);
    }
}
