//! What a controller can set: the settings of a domain and the parameters of the policy.

use alloc::vec::Vec;
use core::fmt;
use domio_core::{DomainId, Duration};

/// Smallest and largest weight, as in Xen (`xl sched-credit` and `sched-credit2` refuse others).
pub const WEIGHTS: core::ops::RangeInclusive<u32> = 1..=65_535;

/// Largest cap for each vcpu of a domain, in percent of one pcpu, as in Xen (`xl sched-credit`).
pub const CAP_PER_VCPU: u32 = 100;

/// What sort of thing a setting is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SettingKind {
    /// A domain's share relative to others.
    Weight,
    /// The most that a domain gets.
    Cap,
    /// A guaranteed slice in each period.
    Reservation,
    /// What may go through a domain's network interfaces.
    Traffic,
    /// What others did on a domain's behalf, to be taken off what the domain gets.
    Charge,
    /// A parameter of the scheduling policy, for all domains.
    Policy,
}

/// A set of [`SettingKind`]s.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    /// [`SettingKind::Weight`].
    pub weight: bool,
    /// [`SettingKind::Cap`].
    pub cap: bool,
    /// [`SettingKind::Reservation`].
    pub reservation: bool,
    /// [`SettingKind::Traffic`].
    pub traffic: bool,
    /// [`SettingKind::Charge`].
    pub charge: bool,
    /// [`SettingKind::Policy`].
    pub policy: bool,
}

impl SettingKind {
    /// Every kind.
    pub const ALL: [SettingKind; 6] = [
        SettingKind::Weight,
        SettingKind::Cap,
        SettingKind::Reservation,
        SettingKind::Traffic,
        SettingKind::Charge,
        SettingKind::Policy,
    ];

    /// Its name in lists and messages.
    pub const fn name(self) -> &'static str {
        match self {
            SettingKind::Weight => "weight",
            SettingKind::Cap => "cap",
            SettingKind::Reservation => "reservation",
            SettingKind::Traffic => "traffic",
            SettingKind::Charge => "charge",
            SettingKind::Policy => "policy",
        }
    }
}

impl Kinds {
    /// None of them.
    pub const NONE: Kinds = Kinds {
        weight: false,
        cap: false,
        reservation: false,
        traffic: false,
        charge: false,
        policy: false,
    };

    /// All of them.
    pub const ALL: Kinds = Kinds {
        weight: true,
        cap: true,
        reservation: true,
        traffic: true,
        charge: true,
        policy: true,
    };

    /// Whether `kind` is among them.
    pub const fn has(self, kind: SettingKind) -> bool {
        match kind {
            SettingKind::Weight => self.weight,
            SettingKind::Cap => self.cap,
            SettingKind::Reservation => self.reservation,
            SettingKind::Traffic => self.traffic,
            SettingKind::Charge => self.charge,
            SettingKind::Policy => self.policy,
        }
    }
}

/// A guarantee: `slice` in each `period`. Both are longer than zero, and `slice` is not longer than
/// `period`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The interval in which the slice may be used once.
    pub period: Duration,
    /// What is guaranteed in each period.
    pub slice: Duration,
}

/// What may go through the network interfaces of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Everything.
    Free,
    /// Of what the domain sends, `bytes` in each `per` and vif, as with `xl`'s `rate`; all that
    /// comes for the domain. Both are more than zero.
    Limited {
        /// How much.
        bytes: u64,
        /// In which time.
        per: Duration,
    },
    /// Nothing, in neither direction. What the domain sends waits in its ring, what comes for it is
    /// dropped before the bridge.
    Stopped,
    /// Less than everything, for so long from when the setting is made, and everything after that
    /// by itself. Whoever wants more says so again in time: where nobody does, because the
    /// controller has crashed, stalled or was removed, traffic comes back. Whoever carries answers
    /// out for a controller that runs repeats this one half way to its next observation.
    Guarded {
        /// What goes through meanwhile.
        guard: Guard,
        /// How long; over zero. What an observation shows is the rest.
        lasts: Duration,
    },
}

/// What goes through the interfaces of a domain whose traffic is [guarded](Traffic::Guarded).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// Nothing: what the domain sends is taken from its ring and dropped immediately, what comes
    /// for it is dropped before the bridge.
    Drop,
    /// Nothing: what the domain sends waits in its ring, what comes for it is dropped before the
    /// bridge.
    Hold,
    /// So many packets in each `per`, interface and direction: what the domain sends beyond waits
    /// in its ring, what comes for it beyond is dropped before the bridge. Both are more than zero.
    Ration {
        /// How many.
        packets: u32,
        /// In which time.
        per: Duration,
    },
}

/// A new value for one setting of a domain, or a charge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Weight, within [`WEIGHTS`].
    Weight(u32),
    /// Cap in percent of one pcpu, [`CAP_PER_VCPU`] for each vcpu at most; 0 for none.
    Cap(u32),
    /// Reservation.
    Reservation(Reservation),
    /// Traffic.
    Traffic(Traffic),
    /// So much was executed on the domain's behalf by others since the last charge: an increment of
    /// what it owes, not a setting. More than zero.
    ///
    /// A charge that is lost is never made up for by the host, and one that is carried out late
    /// counts once. A controller that was held up charges for the whole time at its next
    /// observation.
    Charge(Duration),
}

/// Settings of a domain; `None` for one that the domain does not have (a weight under a policy
/// without weights, traffic without a network interface).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Weight.
    pub weight: Option<u32>,
    /// Cap in percent of one pcpu; 0 for none.
    pub cap: Option<u32>,
    /// Reservation.
    pub reservation: Option<Reservation>,
    /// Traffic.
    pub traffic: Option<Traffic>,
    /// What it still owes of its charges, for a domain that can be charged.
    pub debt: Option<Duration>,
}

/// One answer of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adjustment {
    /// A setting of one domain is to have another value.
    Domain {
        /// Whose.
        domain: DomainId,
        /// Which, and the value.
        change: Change,
    },
    /// A parameter of the policy is to have another value.
    Policy {
        /// Its name, as in [`PolicySeen::spec`](super::PolicySeen::spec).
        name: &'static str,
        /// The value.
        value: i64,
    },
}

/// What a controller answers to one observation, in the order in which it is to be carried out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answers {
    list: Vec<Adjustment>,
}

impl Change {
    /// Which setting it is.
    pub const fn kind(self) -> SettingKind {
        match self {
            Change::Weight(_) => SettingKind::Weight,
            Change::Cap(_) => SettingKind::Cap,
            Change::Reservation(_) => SettingKind::Reservation,
            Change::Traffic(_) => SettingKind::Traffic,
            Change::Charge(_) => SettingKind::Charge,
        }
    }

    /// Whether it adds to what is there, so that it is news even where the same was said before.
    pub const fn is_increment(self) -> bool {
        matches!(self, Change::Charge(_))
    }

    /// Whether the value is one that a domain of `vcpus` vcpus can have.
    pub fn in_range(self, vcpus: u16) -> bool {
        match self {
            Change::Weight(weight) => WEIGHTS.contains(&weight),
            Change::Cap(cap) => cap <= CAP_PER_VCPU * u32::from(vcpus),
            Change::Reservation(Reservation { period, slice }) => {
                !slice.is_zero() && slice <= period
            }
            Change::Traffic(Traffic::Limited { bytes, per }) => bytes > 0 && !per.is_zero(),
            Change::Traffic(Traffic::Free | Traffic::Stopped) => true,
            Change::Charge(done) => !done.is_zero(),
            Change::Traffic(Traffic::Guarded { guard, lasts }) => {
                let rations = match guard {
                    Guard::Drop | Guard::Hold => true,
                    Guard::Ration { packets, per } => packets > 0 && !per.is_zero(),
                };
                rations && !lasts.is_zero()
            }
        }
    }

    /// Whether setting the value again changes something: it starts the time anew.
    pub const fn renews(self) -> bool {
        matches!(self, Change::Traffic(Traffic::Guarded { .. }))
    }
}

impl Settings {
    /// What `kind` is set to, as the change that would set it from nothing: for charges that is all
    /// that is owed. `None` for one that the domain does not have or that is no setting of a
    /// domain.
    pub fn get(&self, kind: SettingKind) -> Option<Change> {
        match kind {
            SettingKind::Weight => self.weight.map(Change::Weight),
            SettingKind::Cap => self.cap.map(Change::Cap),
            SettingKind::Reservation => self.reservation.map(Change::Reservation),
            SettingKind::Traffic => self.traffic.map(Change::Traffic),
            SettingKind::Charge => self.debt.map(Change::Charge),
            SettingKind::Policy => None,
        }
    }

    /// Carries `change` out.
    pub fn set(&mut self, change: Change) {
        match change {
            Change::Weight(weight) => self.weight = Some(weight),
            Change::Cap(cap) => self.cap = Some(cap),
            Change::Reservation(reservation) => self.reservation = Some(reservation),
            Change::Traffic(traffic) => self.traffic = Some(traffic),
            Change::Charge(done) => {
                let owed = self.debt.unwrap_or(Duration::ZERO);
                self.debt = Some(owed.saturating_add(done));
            }
        }
    }
}

impl Adjustment {
    /// What sort of thing it changes.
    pub const fn kind(&self) -> SettingKind {
        match self {
            Adjustment::Domain { change, .. } => change.kind(),
            Adjustment::Policy { .. } => SettingKind::Policy,
        }
    }

    /// Whether both set the same thing of the same domain, or the same parameter.
    pub fn sets_what(&self, other: &Adjustment) -> bool {
        match (self, other) {
            (
                Adjustment::Domain { domain, change },
                Adjustment::Domain {
                    domain: of,
                    change: to,
                },
            ) => domain == of && change.kind() == to.kind(),
            (Adjustment::Policy { name, .. }, Adjustment::Policy { name: of, .. }) => name == of,
            _ => false,
        }
    }
}

impl Answers {
    /// No answers yet.
    pub const fn new() -> Self {
        Answers { list: Vec::new() }
    }

    /// A setting of `domain` is to have another value. At most one a setting, and none that is
    /// what is set already.
    pub fn domain(&mut self, domain: DomainId, change: Change) {
        self.list.push(Adjustment::Domain { domain, change });
    }

    /// The policy's parameter `name` is to have another value.
    pub fn policy(&mut self, name: &'static str, value: i64) {
        self.list.push(Adjustment::Policy { name, value });
    }

    /// What was answered, in order.
    pub fn list(&self) -> &[Adjustment] {
        &self.list
    }

    /// Forgets the answers and keeps the room for others.
    pub fn clear(&mut self) {
        self.list.clear();
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Weight(weight) => write!(f, "weight {weight}"),
            Change::Cap(cap) => write!(f, "cap {cap} %"),
            Change::Reservation(Reservation { period, slice }) => {
                write!(f, "reservation of {slice} in {period}")
            }
            Change::Traffic(Traffic::Free) => f.write_str("traffic free"),
            Change::Traffic(Traffic::Limited { bytes, per }) => {
                write!(f, "traffic of {bytes} bytes in {per}")
            }
            Change::Traffic(Traffic::Stopped) => f.write_str("traffic stopped"),
            Change::Charge(done) => write!(f, "charge of {done}"),
            Change::Traffic(Traffic::Guarded { guard, lasts }) => match guard {
                Guard::Drop => write!(f, "traffic dropped for {lasts}"),
                Guard::Hold => write!(f, "traffic held for {lasts}"),
                Guard::Ration { packets, per } => {
                    write!(f, "traffic of {packets} packets in {per} for {lasts}")
                }
            },
        }
    }
}

impl fmt::Display for Adjustment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Adjustment::Domain { domain, change } => write!(f, "{domain}: {change}"),
            Adjustment::Policy { name, value } => write!(f, "policy: {name} {value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn ranges_are_those_of_xen() {
        let reserved = |slice| {
            Change::Reservation(Reservation {
                period: MS * 20,
                slice,
            })
        };
        let limited = |bytes, per| Change::Traffic(Traffic::Limited { bytes, per });
        let guarded = |guard, lasts| Change::Traffic(Traffic::Guarded { guard, lasts });
        let rationed = |packets, per| guarded(Guard::Ration { packets, per }, MS);
        for (change, fits) in [
            (Change::Weight(0), false),
            (Change::Weight(1), true),
            (Change::Weight(65_535), true),
            (Change::Weight(65_536), false),
            (Change::Cap(0), true),
            (Change::Cap(200), true),
            (Change::Cap(201), false),
            (reserved(Duration::ZERO), false),
            (reserved(MS * 20), true),
            (reserved(MS * 21), false),
            (limited(0, MS), false),
            (limited(1, Duration::ZERO), false),
            (limited(1, MS), true),
            (Change::Traffic(Traffic::Stopped), true),
            (Change::Charge(Duration::ZERO), false),
            (Change::Charge(MS), true),
            (guarded(Guard::Drop, MS), true),
            (guarded(Guard::Hold, Duration::ZERO), false),
            (rationed(0, MS), false),
            (rationed(1, Duration::ZERO), false),
            (rationed(1, MS), true),
        ] {
            assert_eq!(change.in_range(2), fits, "{change} of two vcpus");
        }
    }

    #[test]
    fn a_setting_is_what_was_set_last() {
        let mut settings = Settings::default();
        for change in [
            Change::Weight(256),
            Change::Cap(40),
            Change::Reservation(Reservation {
                period: MS,
                slice: MS,
            }),
            Change::Traffic(Traffic::Stopped),
            Change::Charge(MS),
        ] {
            assert_eq!(settings.get(change.kind()), None);
            settings.set(change);
            assert_eq!(settings.get(change.kind()), Some(change));
        }
        settings.set(Change::Charge(MS * 2));
        assert_eq!(settings.debt, Some(MS * 3), "a charge adds");
        assert_eq!(settings.get(SettingKind::Policy), None);
    }

    #[test]
    fn answers_that_set_the_same_thing_are_told_from_others() {
        let of = |domain, change| Adjustment::Domain {
            domain: DomainId(domain),
            change,
        };
        let tslice = |value| Adjustment::Policy {
            name: "tslice_ms",
            value,
        };
        let cap = of(1, Change::Cap(5));
        assert!(cap.sets_what(&of(1, Change::Cap(9))));
        assert!(!cap.sets_what(&of(2, Change::Cap(5))));
        assert!(!cap.sets_what(&of(1, Change::Weight(5))));
        assert!(!cap.sets_what(&tslice(5)));
        assert!(tslice(1).sets_what(&tslice(5)));
        assert_eq!(cap.to_string(), "d1: cap 5 %");
        assert_eq!(tslice(5).to_string(), "policy: tslice_ms 5");
    }
}
