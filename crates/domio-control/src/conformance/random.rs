//! Random histories, in the manner of swarm testing: each seed first decides which features its
//! history has at all, so that rare combinations get histories of their own.

use super::history::{Fate, History, ID_STEP, Round};
use super::library::all_settings;
use super::rng::Rng;
use alloc::string::ToString;
use alloc::vec::Vec;
use domio_contract::control::{
    Change, DomainSeen, Kinds, PcpuSeen, PolicySeen, Reservation, Settings, Traffic,
};
use domio_core::{DomainId, Duration, ParamKind, ParamSpec, PcpuId};

/// Lengths of intervals in milliseconds: XenMon's (100 ms), ShareGuard's (500 ms) and others.
const LENGTHS_MS: &[u64] = &[1, 10, 100, 100, 500, 500, 1_000, 60_000];

/// Parameters of a policy that can be changed while it runs, as credit's.
static PARAMS: [ParamSpec; 2] = [
    param("tslice_ms", 1, 1_000, false, 30),
    param("ratelimit_us", 100, 500_000, true, 1_000),
];

const fn param(name: &'static str, min: i64, max: i64, or_zero: bool, default: i64) -> ParamSpec {
    ParamSpec {
        name,
        unit: "",
        kind: ParamKind::Int { min, max, or_zero },
        default,
        doc: "",
    }
}

/// The policy's parameters at the start of every history of the suite.
pub fn policy() -> Vec<PolicySeen> {
    let seen = |spec: &'static ParamSpec| PolicySeen {
        spec,
        value: spec.default,
    };
    PARAMS.iter().map(seen).collect()
}

/// The random history of `seed`.
pub fn history(seed: u64) -> History {
    // What can be charged has a stream of its own, and leaves the other figures as they were.
    let charges = Rng::new(seed ^ 0xdeb7);
    Swarm::new(Rng::new(seed), charges).history()
}

/// Which features a history has.
struct Swarm {
    rng: Rng,
    charges: Rng,
    lives: bool,
    standstill: bool,
    wild: bool,
    poor: bool,
    operator: bool,
    told: bool,
    late: bool,
    lost: bool,
    hotplug: bool,
    steady: bool,
}

/// One who is there.
#[derive(Clone)]
struct Living {
    seen: DomainSeen,
    /// Percent of one vcpu that each of its vcpus wants.
    appetite: u64,
}

impl Swarm {
    fn new(mut rng: Rng, charges: Rng) -> Self {
        let mut feature = || rng.one_in(3);
        Swarm {
            lives: feature(),
            standstill: feature(),
            wild: feature(),
            poor: feature(),
            operator: feature(),
            told: feature(),
            late: feature(),
            lost: feature(),
            hotplug: feature(),
            steady: feature(),
            rng,
            charges,
        }
    }

    fn history(mut self) -> History {
        let slots = self.rng.between(1, 7) as u16;
        let pcpus = self.rng.between(1, 4) as u16;
        let length = Duration::from_millis(*self.rng.pick(LENGTHS_MS));
        let mut slots: Vec<Option<Living>> = (0..slots).map(|n| Some(self.born(n))).collect();
        let mut rounds = Vec::new();
        for _ in 0..self.rng.between(3, 40) {
            if self.lives {
                self.live_and_die(&mut slots);
            }
            rounds.push(self.round(&mut slots, pcpus, length));
        }
        History {
            name: "random".to_string(),
            policy: policy(),
            rounds,
        }
    }

    /// Domain 0 stays.
    fn live_and_die(&mut self, slots: &mut [Option<Living>]) {
        for (n, slot) in slots.iter_mut().enumerate().skip(1) {
            if self.rng.one_in(6) {
                *slot = match slot {
                    Some(_) => None,
                    None => Some(self.born(n as u16)),
                };
            }
        }
    }

    fn born(&mut self, n: u16) -> Living {
        let seen = DomainSeen {
            id: DomainId(n * ID_STEP),
            is_driver: n == 0 || self.rng.one_in(10),
            vcpus: *self.rng.pick(&[1, 1, 1, 2, 4, 16]),
            set: self.settings(),
            ..DomainSeen::default()
        };
        Living {
            seen,
            appetite: self.rng.between(0, 100),
        }
    }

    fn settings(&mut self) -> Settings {
        let mut settings = all_settings();
        settings.cap = Some(*self.rng.pick(&[0, 0, 5, 40, 100]));
        settings.weight = Some(*self.rng.pick(&[64, 256, 256, 1_024, 65_535]));
        if self.poor {
            let mut keep = || !self.rng.one_in(3);
            settings.weight = settings.weight.filter(|_| keep());
            settings.cap = settings.cap.filter(|_| keep());
            settings.reservation = settings.reservation.filter(|_| keep());
            settings.traffic = settings.traffic.filter(|_| keep());
            settings.debt = settings.debt.filter(|_| !self.charges.one_in(3));
        }
        settings
    }

    fn round(&mut self, slots: &mut [Option<Living>], pcpus: u16, length: Duration) -> Round {
        let length = match self.standstill && self.rng.one_in(4) {
            true => Duration::ZERO,
            false => length,
        };
        let mut round = Round::empty(length);
        round.pcpus = (0..pcpus)
            .map(|p| PcpuSeen {
                pcpu: PcpuId(p),
                busy: self.part(length),
            })
            .collect();
        for living in slots.iter_mut().flatten() {
            if !self.steady && self.rng.one_in(5) {
                living.appetite = self.rng.between(0, 100);
            }
            if self.hotplug && self.rng.one_in(8) {
                living.seen.vcpus = self.rng.between(0, 5) as u16;
            }
            let mut seen = self.figures(living, length);
            if self.wild && self.rng.one_in(8) {
                self.run_wild(&mut seen);
            }
            round.domains.push(seen);
            let id = living.seen.id;
            if self.operator && self.rng.one_in(8) {
                round.operator.push((id, self.change(&living.seen)));
            }
            if self.told && self.rng.one_in(8) {
                round.told.push((id, self.rng.next_u64()));
            }
        }
        if self.poor {
            let mut has = || !self.rng.one_in(4);
            round.abilities = Kinds {
                weight: has(),
                cap: has(),
                reservation: has(),
                traffic: has(),
                charge: !self.charges.one_in(4),
                policy: has(),
            };
        }
        if self.late && self.rng.one_in(3) {
            round.fate = Fate::Late;
        } else if self.lost && self.rng.one_in(3) {
            round.fate = Fate::Lost;
        }
        round
    }

    fn part(&mut self, whole: Duration) -> Duration {
        Duration::from_nanos(self.rng.between(0, whole.as_nanos()))
    }

    /// Figures that fit together: the four times add up to the time that there was.
    fn figures(&mut self, living: &Living, length: Duration) -> DomainSeen {
        let time = length * u64::from(living.seen.vcpus);
        let wanted = time / 100 * living.appetite;
        let gotten = match self.steady {
            true => wanted,
            false => self.part(wanted),
        };
        let offline = match self.rng.one_in(4) && !self.steady {
            true => self.part(time - wanted),
            false => Duration::ZERO,
        };
        let mut count = |most| match self.steady {
            true => most / 2,
            false => self.rng.between(0, most),
        };
        let (packets_in, packets_out) = (count(10_000), count(10_000));
        DomainSeen {
            gotten,
            waited: wanted - gotten,
            blocked: time - wanted - offline,
            offline,
            served: length / 1_000 * count(400),
            packets_in,
            packets_out,
            bytes_in: packets_in * count(1_500),
            bytes_out: packets_out * count(1_500),
            requests_read: count(500),
            requests_written: count(500),
            ..living.seen
        }
    }

    /// One figure that cannot be.
    fn run_wild(&mut self, seen: &mut DomainSeen) {
        let huge = *self.rng.pick(&[0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX]);
        let time = Duration::from_nanos(huge);
        match self.rng.between(0, 6) {
            0 => seen.gotten = time,
            1 => seen.waited = time,
            2 => (seen.gotten, seen.waited) = (time, time),
            3 => (seen.blocked, seen.offline) = (time, time),
            4 => seen.served = time,
            5 => (seen.packets_in, seen.packets_out) = (huge, huge),
            _ => (seen.requests_read, seen.requests_written) = (huge, huge),
        }
    }

    /// What an operator might set for `domain`: of the settings that it has, one.
    fn change(&mut self, domain: &DomainSeen) -> Change {
        let ms = Duration::from_millis;
        let all = [
            Change::Weight(*self.rng.pick(&[1, 128, 512, 65_535])),
            Change::Cap(*self.rng.pick(&[0, 1, 50, 100, 1_000])),
            Change::Reservation(Reservation {
                period: ms(20),
                slice: ms(self.rng.between(1, 20)),
            }),
            Change::Traffic(Traffic::Limited {
                bytes: self.rng.between(1, 1_000_000),
                per: ms(50),
            }),
            Change::Traffic(Traffic::Stopped),
        ];
        let has = |c: &Change| domain.set.get(c.kind()).is_some();
        let own: Vec<Change> = all.into_iter().filter(has).collect();
        match own.is_empty() {
            // A domain without settings gets one: such a thing may appear, too.
            true => all[0],
            false => *self.rng.pick(&own),
        }
    }
}
