//! The rules of the debt collector, with figures worked out by hand. An interval of 100 ms makes a
//! millisecond a percent.

use super::*;
use alloc::vec::Vec;
use domio_contract::control::{Adjustment, PcpuSeen, Settings};
use domio_core::{Instant, PcpuId};

const MS: Duration = Duration::from_millis(1);
const G1: DomainId = DomainId(1);

/// A host of one pcpu with one controller, an interval of 100 ms at a time.
struct Rig {
    controller: DebtCollector,
    now: Instant,
    abilities: Kinds,
}

impl Rig {
    fn new(params: &[(&str, i64)]) -> Rig {
        let mut values = ParamValues::defaults(DESCRIPTOR.params);
        for (name, value) in params {
            values.set(name, *value).expect("in range");
        }
        Rig {
            controller: DebtCollector::new(&values),
            now: Instant::ZERO,
            abilities: Kinds::ALL,
        }
    }

    fn share(&mut self, domain: DomainId, percent: i64) {
        let mut values = ParamValues::defaults(DESCRIPTOR.domain_params);
        values.set("share_percent", percent).expect("in range");
        self.controller.set_domain(domain, &values);
    }

    /// What is answered after an interval of `length` in which `domains` did what they show.
    fn after(&mut self, length: Duration, domains: &[DomainSeen]) -> Vec<Adjustment> {
        let since = self.now;
        self.now += length;
        let pcpus = [PcpuSeen {
            pcpu: PcpuId(0),
            busy: length,
        }];
        let seen = Observation {
            now: self.now,
            since,
            pcpus: &pcpus,
            domains,
            abilities: self.abilities,
            policy: &[],
        };
        let mut answers = Answers::new();
        self.controller.observe(&seen, &mut answers);
        for answer in answers.list() {
            assert_eq!(seen.refuses(answer), None, "{answer}");
        }
        answers.list().to_vec()
    }

    /// The cap that one guest gets which ran for `gotten` ms, for which `served` ms were worked,
    /// and which has the cap `cap`.
    fn cap(&mut self, cap: u32, gotten: u64, served: u64) -> u32 {
        self.cap_of(cap, gotten * 1_000, served * 1_000)
    }

    /// The same, in us.
    fn cap_of(&mut self, cap: u32, gotten: u64, served: u64) -> u32 {
        let mut guest = guest(0, 0);
        guest.gotten = Duration::from_micros(gotten);
        guest.served = Duration::from_micros(served);
        guest.set.cap = Some(cap);
        match self.after(MS * 100, &[guest])[..] {
            [] => cap,
            [
                Adjustment::Domain {
                    domain: G1,
                    change: Change::Cap(cap),
                },
            ] => cap,
            ref other => panic!("{other:?}"),
        }
    }
}

fn guest(gotten: u64, served: u64) -> DomainSeen {
    DomainSeen {
        id: G1,
        vcpus: 1,
        gotten: MS * gotten,
        served: MS * served,
        ..DomainSeen::default()
    }
}

fn charge(domain: DomainId, done: Duration) -> Adjustment {
    let change = Change::Charge(done);
    Adjustment::Domain { domain, change }
}

/// A guest that can be charged.
fn owing(gotten: u64, served: u64) -> DomainSeen {
    let mut guest = guest(gotten, served);
    guest.set.debt = Some(Duration::ZERO);
    guest.set.cap = Some(0);
    guest
}

#[test]
fn who_can_be_charged_is_charged_for_each_interval_and_nothing_else() {
    let mut rig = Rig::new(&[]);
    rig.share(G1, 20);
    assert_eq!(rig.after(MS * 100, &[owing(10, 30)]), [charge(G1, MS * 30)]);
    assert_eq!(rig.after(MS * 100, &[owing(10, 0)]), []);
    assert_eq!(rig.after(MS * 100, &[owing(90, 5)]), [charge(G1, MS * 5)]);
}

#[test]
fn a_driver_domain_pays_only_if_it_is_told_to() {
    let driver = DomainSeen {
        is_driver: true,
        ..owing(10, 7)
    };
    assert_eq!(Rig::new(&[]).after(MS * 100, &[driver]), []);
    let mut rig = Rig::new(&[("drivers", 1)]);
    assert_eq!(rig.after(MS * 100, &[driver]), [charge(G1, MS * 7)]);
}

/// One pcpu cannot have worked for longer than the interval.
#[test]
fn figures_that_cannot_be_are_cut() {
    let mut rig = Rig::new(&[]);
    let odd = DomainSeen {
        served: Duration::MAX,
        ..owing(0, 0)
    };
    assert_eq!(rig.after(MS * 100, &[odd]), [charge(G1, MS * 100)]);
    assert_eq!(rig.after(Duration::ZERO, &[odd]), []);
}

/// A stall of three intervals is one observation of all of them.
#[test]
fn a_controller_that_was_held_up_charges_once_for_all() {
    let mut rig = Rig::new(&[]);
    assert_eq!(rig.after(MS * 300, &[owing(30, 45)]), [charge(G1, MS * 45)]);
    assert_eq!(rig.after(MS * 100, &[owing(10, 15)]), [charge(G1, MS * 15)]);
}

#[test]
fn without_a_share_nobody_is_held_to_one() {
    let mut rig = Rig::new(&[]);
    assert_eq!(rig.cap(0, 90, 60), 0);
    rig.share(G1, 40);
    assert_eq!(
        rig.cap(0, 0, 0),
        40,
        "the whole share while nothing is used"
    );
    rig.share(G1, 0);
    assert_eq!(rig.cap(40, 90, 60), 40, "left as it is");
}

/// 30 and 15 of a share of 40 %: 45 used, 5 over. The half of that comes off: of 37.5 the guest has
/// two thirds, 25. Of that it uses 25 and 12: 3 under, 2 owed. Of 39 two thirds are 26.
#[test]
fn a_cap_divides_the_share_as_the_interval_before_did() {
    let mut rig = Rig::new(&[]);
    rig.share(G1, 40);
    assert_eq!(rig.cap(40, 30, 15), 25);
    assert_eq!(rig.cap(25, 25, 12), 26, "39 * 25 / 37 = 26.35");
    // 26 and 13 are 39: 1 under, 1 owed; 39.5 * 26 / 39 = 26.3.
    assert_eq!(rig.cap(26, 26, 13), 26);
}

#[test]
fn what_is_owed_is_at_most_what_an_interval_allows() {
    let mut rig = Rig::new(&[("spread_intervals", 1)]);
    rig.share(G1, 20);
    for _ in 0..50 {
        assert_eq!(rig.cap(20, 80, 0), 1, "20 owed of 20: the floor");
    }
    // One interval without use pays it back.
    assert_eq!(rig.cap(1, 0, 0), 20);
}

/// Runs the law against a guest that always uses its cap and for which driver domains work for as
/// many us as `work` says of its own, for 200 intervals; the caps of the last 100, and the use in
/// them in us.
fn plant(share: i64, work: impl Fn(u64) -> u64) -> (Vec<u32>, u64) {
    let mut rig = Rig::new(&[]);
    rig.share(G1, share);
    let (mut cap, mut caps, mut used) = (share.min(100) as u32, Vec::new(), 0);
    for i in 0..200 {
        let gotten = u64::from(cap) * 1_000;
        let served = work(gotten);
        cap = rig.cap_of(cap, gotten, served);
        if i >= 100 {
            caps.push(cap);
            used += gotten + served;
        }
    }
    caps.dedup();
    (caps, used)
}

/// Rounding down costs a percent of the guest, and what goes with that; a fiftieth is no
/// difference.
#[test]
fn it_settles_where_work_goes_with_the_guest() {
    for share in [5, 10, 22, 40, 60, 100] {
        for tenths in 0..=40 {
            let (caps, used) = plant(share, |gotten| gotten * tenths / 10);
            let what = alloc::format!("share {share}, {tenths} tenths: {caps:?}, {used}");
            assert_eq!(caps.len(), 1, "{what}");
            // The floor of 1 % may be too much.
            let most = (share as u64 * 1_000).max(1_000 + 100 * tenths) * 100;
            assert!(used <= most + most / 50, "{what}");
            let lost = 100_000 * (10 + tenths) / 10 + most / 25;
            assert!(used + lost >= most, "{what}");
        }
    }
}

#[test]
fn it_settles_where_work_comes_from_elsewhere() {
    for share in [5, 10, 22, 40, 60, 100] {
        for fixed in [0, 1, 3, 10, 20, 50] {
            let (caps, used) = plant(share, |_| fixed * 1_000);
            assert_eq!(caps.len(), 1, "share {share}, fixed {fixed}: {caps:?}");
            let most = (share as u64).max(fixed + 1) * 100_000;
            assert!(used <= most + most / 50, "share {share}, fixed {fixed}");
        }
    }
}

/// Without caps the slice moves: 30 % of a period of 20 ms are 6 ms, of two vcpus 3 ms each.
#[test]
fn where_there_is_no_cap_the_slice_moves() {
    let mut rig = Rig::new(&[]);
    rig.share(G1, 30);
    let reservation = |slice| Reservation {
        period: MS * 20,
        slice: MS * slice,
    };
    for (vcpus, slice) in [(1, 6), (2, 3)] {
        let mut guest = guest(0, 0);
        guest.vcpus = vcpus;
        guest.set.reservation = Some(reservation(1));
        let wanted = Adjustment::Domain {
            domain: G1,
            change: Change::Reservation(reservation(slice)),
        };
        assert_eq!(rig.after(MS * 100, &[guest]), [wanted]);
        guest.set.reservation = Some(reservation(slice));
        assert_eq!(rig.after(MS * 100, &[guest]), []);
    }
    let mut bare = guest(0, 0);
    bare.set = Settings {
        reservation: Some(Reservation {
            period: Duration::ZERO,
            slice: Duration::ZERO,
        }),
        ..Settings::default()
    };
    assert_eq!(rig.after(MS * 100, &[bare]), [], "no period to cut up");
}

#[test]
fn who_comes_back_owes_nothing() {
    let mut rig = Rig::new(&[]);
    rig.share(G1, 20);
    assert_eq!(rig.cap(20, 20, 60), 2);
    assert_eq!(rig.after(MS * 100, &[]), []);
    rig.share(G1, 20);
    assert_eq!(rig.cap(2, 0, 0), 20);
}
