//! ShareGuard: a limit on the time that driver domains spend on a guest's behalf.
//!
//! Gupta et al. 2006, section 5. Once an interval it looks at what driver domains did for each
//! guest that has a limit. Whoever is over has its traffic stopped until its average complies
//! again.
//!
//! # The rule
//!
//! ```text
//! over      = served > limit * interval             once an interval, for each guest
//! defence   = begins when over; its account begins with the interval that was over, and takes in
//!             all intervals since
//! it lasts  = while the account's time served > limit * the account's length     ("complies")
//!             for int((used + 1) / limit) intervals, both in whole percent       ("printed")
//! ```
//!
//! By the first rule, who used 30 % against 5 % is stopped for five more intervals, so that the six
//! together have 5 %: the worked example of the paper. The formula as it is printed has no unit
//! in which it gives that.
//!
//! # Forms
//!
//! `drop` takes what a guest sends from its ring and drops it, as in the paper. `hold` leaves what
//! a guest sends in its ring. `graded` does not stop: it rations packets, with a rate that follows
//! what the driver domains' work shows:
//!
//! ```text
//! debt   = what was served over the limit and not made up for, never less than nothing
//! target = limit * interval - min(debt / 4, half of that)
//! first  = packets of the interval, of the direction with more of them
//! ration = (first, or the ration before) * target / served
//!          but half of the ration before at least, and twice at most
//! ends   = when the guest passes less than three quarters of the ration, is not over, and has no
//!          debt
//! ```
//!
//! # Failing open
//!
//! What is set lasts for one interval (the longer one of the last two) and ends by itself. A
//! defence that continues says so again each time, and whoever carries answers out repeats them
//! half way to the next observation. So traffic comes back within an interval when the controller
//! is removed, crashes or stalls.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::fmt;
use domio_contract::control::{
    Answers, Change, Controller, Descriptor, DomainSeen, Entry, Guard, Kinds, Observation,
    Promises, Traffic, interval_ms,
};
use domio_core::params::{ByWord, Params as _, TypedParam, choice, int};
use domio_core::{DomainId, Duration, ParamValues};

/// Name of the limit, for the controller and for a domain.
pub const LIMIT: &str = "driver_limit_percent";

const fn limit() -> TypedParam<u64> {
    int("% of one pcpu", (1, 10_000), 0).or_zero()
}

params! {
    /// Parameters of the controller as a whole.
    struct Params {
        driver_limit_percent: u64 = limit(),
            "Limit of guests that have none of their own; 0 for none.";
        form: Form = choice(Form::Drop as usize),
            "`drop` what a guest sends as in the paper, `hold` it in its ring, or `graded`: \
             ration its packets. What comes for it beyond that is dropped early.";
        defence: Lasts = choice(Lasts::Complies as usize),
            "How long `drop` and `hold` last: until the average `complies`, or as the paper's \
             formula is `printed`.";
    }
}

params! {
    /// Parameters of a domain.
    struct DomainParams {
        driver_limit_percent: u64 = limit(),
            "Most time that driver domains may spend on the guest's behalf; 0 for the \
             controller's limit.";
    }
}

/// What this controller is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "share-guard",
    summary: "stops the traffic of guests that driver domains do too much for, until it evens out",
    source: "Gupta et al. 2006, section 5",
    interval: interval_ms(500, 10, 60_000),
    params: Params::SPECS,
    domain_params: DomainParams::SPECS,
    answers: Kinds {
        traffic: true,
        ..Kinds::NONE
    },
    promises: Promises { settles: false },
};

/// What the registry knows of it.
pub static ENTRY: Entry = Entry {
    descriptor: &DESCRIPTOR,
    make: |params| Box::new(ShareGuard::new(params)),
    validate: |_| Ok(()),
    validate_domain: |_, _, _| Ok(()),
};

/// The time of which a ration is a number of packets: short beside an interval, which has a part of
/// one at either end, and long enough for some packets.
const PER: Duration = Duration::from_millis(10);

/// In how many intervals a debt is made up for.
const REPAID_IN: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Drop,
    Hold,
    Graded,
}

impl ByWord for Form {
    const WORDS: &'static [&'static str] = &["drop", "hold", "graded"];
    const ALL: &'static [Form] = &[Form::Drop, Form::Hold, Form::Graded];
}

/// How long a guest is stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lasts {
    Complies,
    Printed,
}

impl ByWord for Lasts {
    const WORDS: &'static [&'static str] = &["complies", "printed"];
    const ALL: &'static [Lasts] = &[Lasts::Complies, Lasts::Printed];
}

/// What is done about a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Defence {
    /// It is stopped.
    Stopped {
        /// What it was served since the begin of the interval that was over.
        served: Duration,
        /// How long ago that was.
        length: Duration,
        /// Intervals that are left by the printed formula.
        left: u64,
    },
    /// It is rationed.
    Rationed {
        /// Packets in [`PER`].
        packets: u32,
        /// Time served that is not made up for.
        debt: Duration,
    },
}

/// The controller's state.
pub struct ShareGuard {
    /// Percent, 0 for none.
    limit: u64,
    form: Form,
    printed: bool,
    /// Limits of domains that have their own.
    limits: BTreeMap<DomainId, u64>,
    defences: BTreeMap<DomainId, Defence>,
    /// Length of the interval before.
    before: Duration,
}

/// A guest in an interval.
#[derive(Clone, Copy)]
struct Use {
    /// Percent.
    limit: u64,
    served: Duration,
    length: Duration,
    /// Packets of the direction that had more.
    packets: u64,
}

/// Whether `served` is more than `percent` of `length`.
fn over(served: Duration, length: Duration, percent: u64) -> bool {
    let whole = u128::from(length.as_nanos()) * u128::from(percent);
    u128::from(served.as_nanos()) * 100 > whole
}

/// `value * times / by`, at most `u64::MAX`; `by` counts as 1 at least.
fn scaled(value: u64, times: u64, by: u64) -> u64 {
    let product = u128::from(value) * u128::from(times) / u128::from(by.max(1));
    u64::try_from(product).unwrap_or(u64::MAX)
}

impl Use {
    /// What the limit allows in the interval.
    fn allowed(&self) -> Duration {
        Duration::from_nanos(scaled(self.length.as_nanos(), self.limit, 100))
    }

    fn is_over(&self) -> bool {
        over(self.served, self.length, self.limit)
    }

    /// Intervals of defence by the printed formula. The use is in whole percent, as a monitor
    /// prints it.
    fn printed(&self) -> u64 {
        let percent = scaled(self.served.as_nanos(), 100, self.length.as_nanos());
        percent.saturating_add(1) / self.limit
    }

    /// The packets in [`PER`].
    fn rate(&self) -> u64 {
        scaled(self.packets, PER.as_nanos(), self.length.as_nanos())
    }

    /// The ration in place of `before`, with `debt` to make up for.
    fn ration(&self, before: Option<u32>, debt: Duration) -> u32 {
        let allowed = self.allowed();
        let repaid = (debt / REPAID_IN).min(allowed / 2);
        let target = allowed.saturating_sub(repaid).as_nanos();
        let base = before.map_or_else(|| self.rate(), u64::from);
        let right = scaled(base, target, self.served.as_nanos());
        let packets = match before {
            Some(before) => right.clamp(u64::from(before) / 2, u64::from(before) * 2),
            None => right,
        };
        u32::try_from(packets.max(1)).unwrap_or(u32::MAX)
    }
}

impl ShareGuard {
    /// A controller with these values of the descriptor's `params`.
    pub fn new(params: &ParamValues) -> Self {
        let Params {
            driver_limit_percent: limit,
            form,
            defence,
        } = params.into();
        ShareGuard {
            limit,
            form,
            printed: defence == Lasts::Printed,
            limits: BTreeMap::new(),
            defences: BTreeMap::new(),
            before: Duration::ZERO,
        }
    }

    /// What is to be done about a guest, after what was done so far; `None` for nothing.
    fn decide(&self, so_far: Option<Defence>, seen: Use) -> Option<Defence> {
        match (so_far, self.form) {
            (None, _) if !seen.is_over() => None,
            (None, Form::Graded) => {
                let debt = seen.served.saturating_sub(seen.allowed());
                let packets = seen.ration(None, debt);
                Some(Defence::Rationed { packets, debt })
            }
            (None, Form::Drop | Form::Hold) => Some(Defence::Stopped {
                served: seen.served,
                length: seen.length,
                left: seen.printed(),
            }),
            (
                Some(Defence::Stopped {
                    served,
                    length,
                    left,
                }),
                _,
            ) => {
                let (served, length) = (
                    served.saturating_add(seen.served),
                    length.saturating_add(seen.length),
                );
                let left = left.saturating_sub(1);
                let goes_on = match self.printed {
                    true => left > 0,
                    false => over(served, length, seen.limit),
                };
                goes_on.then_some(Defence::Stopped {
                    served,
                    length,
                    left,
                })
            }
            (Some(Defence::Rationed { packets, debt }), _) => {
                let debt = debt.saturating_add(seen.served);
                let debt = debt.saturating_sub(seen.allowed());
                let three_quarters = u64::from(packets) * 3 / 4;
                let held_back = seen.rate() >= three_quarters.max(1);
                if held_back || seen.is_over() {
                    let packets = seen.ration(Some(packets), debt);
                    return Some(Defence::Rationed { packets, debt });
                }
                (!debt.is_zero()).then_some(Defence::Rationed { packets, debt })
            }
        }
    }

    /// How `defence` is told to the host.
    fn guard(&self, defence: Defence) -> Guard {
        match (defence, self.form) {
            (Defence::Rationed { packets, .. }, _) => Guard::Ration { packets, per: PER },
            (Defence::Stopped { .. }, Form::Hold) => Guard::Hold,
            (Defence::Stopped { .. }, _) => Guard::Drop,
        }
    }

    /// The limit of `domain`, if it has one.
    fn limit(&self, domain: DomainId) -> Option<u64> {
        let limit = *self.limits.get(&domain).unwrap_or(&self.limit);
        (limit > 0).then_some(limit)
    }
}

/// Whether the traffic of `domain` is this controller's to set, and if so, whether it is guarded.
/// Whom somebody else limits or stops is left alone.
fn settable(seen: &Observation<'_>, domain: &DomainSeen) -> Option<bool> {
    match domain.set.traffic {
        _ if !seen.abilities.traffic || domain.is_driver => None,
        Some(Traffic::Free) => Some(false),
        Some(Traffic::Guarded { .. }) => Some(true),
        Some(Traffic::Limited { .. } | Traffic::Stopped) | None => None,
    }
}

impl Controller for ShareGuard {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn set_domain(&mut self, domain: DomainId, params: &ParamValues) {
        match DomainParams::from(params).driver_limit_percent {
            0 => self.limits.remove(&domain),
            limit => self.limits.insert(domain, limit),
        };
    }

    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        self.limits.retain(|id, _| seen.domain(*id).is_some());
        self.defences.retain(|id, _| seen.domain(*id).is_some());
        let length = seen.length();
        if length.is_zero() {
            return;
        }
        // An interval after one that was late is short; the next is as long as usual again.
        let lasts = length.max(self.before);
        self.before = length;
        let drivers = seen.domains.iter().filter(|d| d.is_driver);
        let vcpus = drivers.map(|d| u64::from(d.vcpus)).sum::<u64>().max(1);
        let most = Duration::from_nanos(length.as_nanos().saturating_mul(vcpus));
        for domain in seen.domains {
            let Some(guarded) = settable(seen, domain) else {
                self.defences.remove(&domain.id);
                continue;
            };
            let so_far = self.defences.remove(&domain.id);
            let decided = self.limit(domain.id).and_then(|limit| {
                let seen = Use {
                    limit,
                    // More than all driver domains could do is no figure to go by.
                    served: domain.served.min(most),
                    length,
                    packets: domain.packets_in.max(domain.packets_out),
                };
                self.decide(so_far, seen)
            });
            if let Some(defence) = decided {
                let guard = self.guard(defence);
                let traffic = Traffic::Guarded { guard, lasts };
                answers.domain(domain.id, Change::Traffic(traffic));
                self.defences.insert(domain.id, defence);
            } else if guarded {
                answers.domain(domain.id, Change::Traffic(Traffic::Free));
            }
        }
    }

    fn dump(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        for (id, defence) in &self.defences {
            match defence {
                Defence::Stopped { served, length, .. } => {
                    writeln!(out, "{id}: stopped, served {served} in {length}")?;
                }
                Defence::Rationed { packets, debt } => {
                    writeln!(out, "{id}: {packets} packets in {PER}, debt {debt}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
