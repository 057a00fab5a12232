//! Hand-written histories: one situation each, named after it.

use super::history::{Fate, History, ID_STEP, Round};
use super::random;
use alloc::string::ToString;
use alloc::vec::Vec;
use domio_contract::control::{
    Change, DomainSeen, Kinds, PcpuSeen, Reservation, Settings, Traffic,
};
use domio_core::{DomainId, Duration, PcpuId};

/// Length of an interval: ShareGuard's and SEDF-DC's (Gupta et al. 2006).
const INTERVAL: Duration = Duration::from_millis(500);

/// Every history of the library.
pub fn histories() -> Vec<History> {
    alloc::vec![
        nobody(),
        steady_demand(),
        demand_rises_and_falls(),
        driver_works_for_a_guest(),
        a_domain_comes_back(),
        everybody_leaves(),
        time_stands_still(),
        huge_figures(),
        figures_that_contradict(),
        nothing_can_be_set(),
        abilities_come_and_go(),
        answers_are_late(),
        answers_are_lost(),
        an_operator_interferes(),
        no_vcpus(),
    ]
}

/// Settings of a guest that has all of them.
pub fn all_settings() -> Settings {
    Settings {
        weight: Some(256),
        cap: Some(0),
        reservation: Some(Reservation {
            period: Duration::from_millis(100),
            slice: Duration::from_millis(20),
        }),
        traffic: Some(Traffic::Free),
        debt: Some(Duration::ZERO),
    }
}

/// Guest number `n` with `vcpus` vcpus, of whose time in an interval it ran `gotten` and waited
/// `waited` percent of one pcpu.
fn guest(n: u16, vcpus: u16, gotten: u64, waited: u64) -> DomainSeen {
    let percent = |share| INTERVAL / 100 * share;
    let rest = (u64::from(vcpus) * 100).saturating_sub(gotten + waited);
    DomainSeen {
        id: DomainId(n * ID_STEP),
        is_driver: n == 0,
        vcpus,
        gotten: percent(gotten),
        waited: percent(waited),
        blocked: percent(rest),
        set: all_settings(),
        ..DomainSeen::default()
    }
}

fn round(domains: &[DomainSeen]) -> Round {
    let pcpu = |p| PcpuSeen {
        pcpu: PcpuId(p),
        busy: INTERVAL / 2,
    };
    Round {
        pcpus: (0..2).map(pcpu).collect(),
        domains: domains.to_vec(),
        ..Round::empty(INTERVAL)
    }
}

fn history(name: &str, rounds: impl IntoIterator<Item = Round>) -> History {
    History {
        name: name.to_string(),
        policy: random::policy(),
        rounds: rounds.into_iter().collect(),
    }
}

fn nobody() -> History {
    history("nobody", (0..5).map(|_| round(&[])))
}

fn steady_demand() -> History {
    let all = [guest(0, 1, 10, 2), guest(1, 2, 60, 30), guest(2, 1, 30, 0)];
    history("steady demand", (0..20).map(|_| round(&all)))
}

fn demand_rises_and_falls() -> History {
    let shares = (0..=100).chain((0..100).rev()).step_by(5);
    let rounds = shares.map(|share| round(&[guest(0, 1, 5, 0), guest(1, 1, share, 0)]));
    history("demand rises and falls", rounds)
}

/// Work, packets and requests of a guest in bursts, as ShareGuard is to see them.
fn driver_works_for_a_guest() -> History {
    let rounds = (0..30).map(|i| {
        let busy = u64::from(i % 10 < 4);
        let served = DomainSeen {
            served: INTERVAL / 100 * (30 * busy),
            packets_in: 4_000 * busy,
            packets_out: 9_000 * busy,
            bytes_in: 264_000 * busy,
            bytes_out: 13_500_000 * busy,
            requests_read: 120 * busy,
            requests_written: 40 * busy,
            ..guest(1, 1, 20 * busy, 0)
        };
        round(&[guest(0, 1, 5 + 30 * busy, 0), served, guest(2, 1, 80, 20)])
    });
    history("a driver domain works for a guest", rounds)
}

/// It leaves in full swing, stays away for one interval, and comes back with nothing to do.
fn a_domain_comes_back() -> History {
    let here = (0..8).map(|_| round(&[guest(0, 1, 5, 0), guest(1, 1, 90, 10)]));
    let away = [round(&[guest(0, 1, 5, 0)])];
    let back = (0..8).map(|_| round(&[guest(0, 1, 5, 0), guest(1, 1, 2, 0)]));
    history("a domain comes back", here.chain(away).chain(back))
}

fn everybody_leaves() -> History {
    let rounds = (0..24).map(|i| match i % 6 {
        4 | 5 => round(&[]),
        _ => round(&[guest(1, 1, 10 + i, 0), guest(2, 4, 390 - 10 * i, 5)]),
    });
    history("everybody leaves and comes back", rounds)
}

fn time_stands_still() -> History {
    let rounds = (0..12).map(|i| {
        let mut round = round(&[guest(0, 1, 5, 0), guest(1, 2, 70, 40)]);
        if i % 3 != 0 {
            round.length = Duration::ZERO;
        }
        round
    });
    history("time stands still", rounds)
}

fn huge_figures() -> History {
    let huge = DomainSeen {
        vcpus: u16::MAX,
        gotten: Duration::MAX,
        waited: Duration::MAX,
        blocked: Duration::MAX,
        offline: Duration::MAX,
        served: Duration::MAX,
        packets_in: u64::MAX,
        packets_out: u64::MAX,
        bytes_in: u64::MAX,
        bytes_out: u64::MAX,
        requests_read: u64::MAX,
        requests_written: u64::MAX,
        ..guest(1, 1, 0, 0)
    };
    let rounds = (0..12).map(|i| {
        let mut round = round(&[huge, DomainSeen { vcpus: 1, ..huge }]);
        round.domains[1].id = DomainId(2 * ID_STEP);
        round.length = Duration::from_nanos(if i % 2 == 0 { 1 } else { 3_600_000_000_000 });
        round
    });
    history("huge figures", rounds)
}

/// Less time blocked than there was, more work for a guest than the driver domain ran.
fn figures_that_contradict() -> History {
    let odd = DomainSeen {
        blocked: Duration::ZERO,
        served: INTERVAL * 3,
        packets_out: 1,
        bytes_out: 0,
        ..guest(1, 2, 150, 180)
    };
    let rounds = (0..10).map(|_| round(&[guest(0, 1, 0, 0), odd]));
    history("figures that contradict each other", rounds)
}

fn nothing_can_be_set() -> History {
    let bare = DomainSeen {
        set: Settings::default(),
        ..guest(1, 1, 80, 20)
    };
    let rounds = (0..10).map(|i| {
        let mut round = round(&[bare, guest(2, 1, 80, 20)]);
        if i % 2 == 0 {
            round.abilities = Kinds::NONE;
        }
        round
    });
    history("nothing can be set", rounds)
}

fn abilities_come_and_go() -> History {
    let rounds = (0..15).map(|i| {
        let mut round = round(&[guest(1, 1, 10 + 5 * i, 0), guest(2, 1, 80 - 5 * i, 2)]);
        round.abilities = Kinds {
            weight: i % 2 == 0,
            cap: i % 3 == 0,
            reservation: i % 4 == 0,
            traffic: i % 5 == 0,
            charge: i % 7 < 3,
            policy: i % 2 == 1,
        };
        round
    });
    history("abilities come and go", rounds)
}

fn with_fate(name: &str, fate: Fate) -> History {
    let rounds = (0..20).map(|i| Round {
        fate,
        ..round(&[guest(1, 1, 5 * i, 0), guest(2, 2, 200 - 10 * i, 0)])
    });
    history(name, rounds)
}

fn answers_are_late() -> History {
    with_fate("answers are late", Fate::Late)
}

fn answers_are_lost() -> History {
    with_fate("answers are lost", Fate::Lost)
}

fn an_operator_interferes() -> History {
    let rounds = (0u32..16).map(|i| {
        let mut round = round(&[guest(0, 1, 5, 0), guest(1, 1, 40, 5)]);
        let id = DomainId(ID_STEP);
        match i % 4 {
            1 => round.operator = alloc::vec![(id, Change::Cap(100 - i))],
            2 => round.operator = alloc::vec![(id, Change::Weight(100 + i))],
            3 => round.told = alloc::vec![(id, u64::from(i))],
            _ => {}
        }
        round
    });
    history("an operator interferes", rounds)
}

fn no_vcpus() -> History {
    let rounds = (0..6).map(|i| round(&[guest(1, i % 3, 0, 0)]));
    history("no vcpus", rounds)
}
