//! Debt collector: a domain pays for what driver domains do on its behalf (Gupta and others 2006,
//! section 4).
//!
//! Where the policy takes charges (`sedf-dc`), each interval's work is charged to it, and the
//! policy takes it off the domain's slices. Elsewhere the controller moves the domain's cap
//! (credit), or its slice (any policy with periods and slices), so that what the domain uses itself
//! and what is done on its behalf stay within its share together.
//!
//! # The control law
//!
//! For each domain, in each interval of length `t` on a host with `p` pcpus:
//!
//! ```text
//! done = served                                    at most p * t
//! ```
//!
//! A domain that can be charged is charged `done`, unless that is nothing. For any other domain
//! with a share:
//!
//! ```text
//! used    = gotten + done                          gotten: at most t a vcpu
//! allowed = share * t
//! owed    = owed before + used - allowed           at least 0, at most `allowed`;
//!           owed before                            if |used - allowed| < allowed / 50
//! keep    = allowed - owed / spread
//! own     = keep * gotten / used                   `keep` when nothing was used
//! percent = own * 100 / t                          rounded down to a whole percent,
//!                                                  floor at least, share and 100 % a vcpu at most
//! ```
//!
//! The cap becomes `percent`; without a cap to set the slice becomes `percent` of the period, in
//! equal parts for each vcpu, 5 us at least.
//!
//! # Why it settles
//!
//! Work on a guest's behalf mostly goes with what the guest does: a guest that runs half as long
//! sends half as much. So `own` divides what is allowed as the interval before divided it, and a
//! guest whose work is `k` times its own time has `share / (1 + k)` after one interval, however
//! large `k` is; what it had over until then is paid back by `spread`ths. Where the work does not
//! follow the guest, `own` nears `share - done` from above without passing it. A difference of less
//! than a fiftieth of the share counts as none, so that rounding is not paid back for ever. What a
//! domain has not used is not saved up.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::fmt;
use domio_contract::control::{
    Answers, CAP_PER_VCPU, Change, Controller, Descriptor, DomainSeen, Entry, Kinds, Observation,
    Promises, Reservation, interval_ms,
};
use domio_core::params::{Params as _, flag, int};
use domio_core::{DomainId, Duration, ParamValues};

params! {
    /// Parameters of the controller as a whole.
    struct Params {
        spread_intervals: u128 = int("intervals", (1, 100), 2),
            "In how many parts what was used over the share is paid back, one an interval, where \
             caps or slices are moved.";
        floor_percent: u32 = int("% of one pcpu", (1, 100), 1),
            "Smallest cap or slice, so that a domain can continue to pay.";
        drivers: bool = flag(false),
            "Whether driver domains also pay for the work of other driver domains for them.";
    }
}

params! {
    /// Parameters of a domain.
    struct DomainParams {
        share_percent: u32 = int("% of one pcpu", (1, 10_000), 0).or_zero(),
            "What the domain and the work on its behalf may use together, where caps or slices \
             are moved; 0 to leave the domain alone there. Under a policy that takes charges the \
             slice is the share.";
    }
}

/// What this controller is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "debt-collector",
    summary: "has each domain pay for what driver domains do on its behalf (SEDF-DC)",
    source: "Gupta, Cherkasova, Gardner, Vahdat 2006, section 4",
    interval: interval_ms(500, 10, 60_000),
    params: Params::SPECS,
    domain_params: DomainParams::SPECS,
    answers: Kinds {
        cap: true,
        reservation: true,
        charge: true,
        ..Kinds::NONE
    },
    promises: Promises { settles: true },
};

/// What the registry knows of it.
pub static ENTRY: Entry = Entry {
    descriptor: &DESCRIPTOR,
    make: |params| Box::new(DebtCollector::new(params)),
    validate: |_| Ok(()),
    validate_domain: |_, _, _| Ok(()),
};

/// Part of what is allowed that does not count as a difference.
const NO_DIFFERENCE: u128 = 50;

/// The shortest slice that Xen takes.
const SLICE_MIN_US: u128 = 5;

/// The controller's state.
pub struct DebtCollector {
    params: Params,
    /// Shares of those who have one, in percent of one pcpu.
    shares: BTreeMap<DomainId, u32>,
    /// What those who cannot be charged have used over their share and not paid back, in
    /// nanoseconds.
    owed: BTreeMap<DomainId, u128>,
}

/// The setting that holds a domain to its share.
enum Handle {
    Cap { set: u32 },
    Slice { set: Reservation },
}

impl DebtCollector {
    /// A controller with these values of the descriptor's `params`.
    pub fn new(params: &ParamValues) -> Self {
        DebtCollector {
            params: params.into(),
            shares: BTreeMap::new(),
            owed: BTreeMap::new(),
        }
    }

    /// What `domain`, which cannot be charged, is held by.
    fn handle(&self, seen: &Observation<'_>, domain: &DomainSeen) -> Option<Handle> {
        if domain.vcpus == 0 {
            return None;
        }
        let cap = domain.set.cap.filter(|_| seen.abilities.cap);
        let reservation = domain.set.reservation.filter(|set| {
            // Who never had a period has no slice to move.
            seen.abilities.reservation && !set.period.is_zero()
        });
        cap.map(|set| Handle::Cap { set })
            .or(reservation.map(|set| Handle::Slice { set }))
    }

    /// The percent of one pcpu that `domain` may use itself in the next interval, `done` being what
    /// was done on its behalf in this one of length `t`, which is not zero.
    fn percent(&mut self, domain: &DomainSeen, share: u32, done: u128, t: u128) -> u32 {
        let gotten = u128::from(domain.gotten.as_nanos()).min(t * u128::from(domain.vcpus));
        let used = gotten + done;
        let allowed = t * u128::from(share) / 100;
        let owed = self.owed.entry(domain.id).or_default();
        if used.abs_diff(allowed) >= allowed / NO_DIFFERENCE {
            *owed = (*owed + used).saturating_sub(allowed);
        }
        // The interval before may have been a longer one.
        *owed = (*owed).min(allowed);
        let keep = allowed - *owed / self.params.spread_intervals;
        let own = (keep * gotten).checked_div(used).unwrap_or(keep);
        let most = share.min(CAP_PER_VCPU * u32::from(domain.vcpus));
        let percent = u32::try_from(own * 100 / t).unwrap_or(u32::MAX);
        percent.clamp(self.params.floor_percent.min(most), most)
    }
}

/// `percent` of one pcpu in slices of the period that is `set`, one for each of `vcpus`.
fn slice(set: Reservation, percent: u32, vcpus: u16) -> Reservation {
    let period_us = u128::from(set.period.as_nanos()) / 1_000;
    let slice_us = period_us * u128::from(percent) / (100 * u128::from(vcpus));
    let slice = Duration::from_micros(slice_us.max(SLICE_MIN_US) as u64);
    Reservation {
        period: set.period,
        slice: slice.min(set.period),
    }
}

impl Controller for DebtCollector {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn set_domain(&mut self, domain: DomainId, params: &ParamValues) {
        match DomainParams::from(params).share_percent {
            0 => self.shares.remove(&domain),
            share => self.shares.insert(domain, share),
        };
    }

    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        self.shares.retain(|id, _| seen.domain(*id).is_some());
        self.owed.retain(|id, _| seen.domain(*id).is_some());
        let t = u128::from(seen.length().as_nanos());
        if t == 0 {
            return;
        }
        let most = t * seen.pcpus.len().max(1) as u128;
        for domain in seen.domains {
            let pays = self.params.drivers || !domain.is_driver;
            let done = u128::from(domain.served.as_nanos()).min(most);
            if pays && seen.abilities.charge && domain.set.debt.is_some() {
                self.owed.remove(&domain.id);
                if done > 0 {
                    let done = Duration::from_nanos(done as u64);
                    answers.domain(domain.id, Change::Charge(done));
                }
                continue;
            }
            let share = self.shares.get(&domain.id).copied().filter(|_| pays);
            let Some((share, handle)) = share.zip(self.handle(seen, domain)) else {
                self.owed.remove(&domain.id);
                continue;
            };
            let percent = self.percent(domain, share, done, t);
            match handle {
                Handle::Cap { set } if set != percent => {
                    answers.domain(domain.id, Change::Cap(percent));
                }
                Handle::Slice { set } if set != slice(set, percent, domain.vcpus) => {
                    let new = slice(set, percent, domain.vcpus);
                    answers.domain(domain.id, Change::Reservation(new));
                }
                Handle::Cap { .. } | Handle::Slice { .. } => {}
            }
        }
    }

    fn dump(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        for (id, owed) in &self.owed {
            let owed = Duration::from_nanos(u64::try_from(*owed).unwrap_or(u64::MAX));
            writeln!(out, "{id}: {owed} over its share")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
