//! Cap follows demand: the shortest whole controller, and the one to copy from.
//!
//! Each domain gets a cap a little above what it uses and waits for. Who uses little cannot take
//! much by surprise; who wants more gets more, interval by interval, up to a ceiling.
//!
//! # The control law
//!
//! For each domain, in each interval of length `t` (shares of one pcpu in millionths, rounded down;
//! caps in percent of one pcpu):
//!
//! ```text
//! newest    = (gotten + waited) / t                at most 100 % a vcpu
//! held back = there is a cap, and newest >= cap: the domain would use more if it could
//! demand    = newest                               the first time, and when held back
//!             (w * newest + (100 - w) * demand before) / 100    else
//! want      = demand * (100 + headroom) / 100      rounded up to a whole percent
//!             cap + hysteresis at least            when held back
//! most      = ceiling of the domain, or else of the controller, or 100 % a vcpu if that is less
//! target    = want, but floor at least and `most` at most
//! ```
//!
//! `w` is `newest_percent`. The cap becomes `target` when there is none yet, when the cap lies
//! outside of what floor and ceiling allow, when the domain is held back, and else when the two are
//! `hysteresis` or more apart. A floor above `most` counts as `most`.
//!
//! Time offline is no demand, although a domain that its cap parks is offline: nobody can
//! distinguish such time from a pause by the operator. A domain that is held back grows all the
//! same, as its `newest` is its cap; what it used before it ran into the cap is no guide then.
//!
//! Left alone are domains without a cap to set or without vcpus, driver domains unless `drivers`
//! says otherwise, and everybody in an interval in which no time went by. Who could not be capped
//! in an interval has no "demand before" in the next.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use core::fmt;
use domio_contract::control::{
    Answers, CAP_PER_VCPU, Change, Conflict, Controller, Descriptor, DomainSeen, Entry, Kinds,
    Observation, Promises, interval_ms,
};
use domio_core::params::{Params as _, flag, int};
use domio_core::{DomainId, ParamValues};

params! {
    /// Parameters of the controller as a whole.
    struct Params {
        headroom_percent: u64 = int("% of the demand", (0, 400), 25),
            "How much more than its demand a domain may get.";
        floor_percent: u32 = int("% of one pcpu", (1, 10_000), 5),
            "Smallest cap, so that a domain that slept can wake up.";
        ceiling_percent: u32 = int("% of one pcpu", (1, 10_000), 0).or_zero(),
            "Largest cap; 0 for no other limit than 100 % for each vcpu.";
        newest_percent: u64 = int("%", (1, 100), 50),
            "Weight of the newest interval in the demand; the intervals before have the rest.";
        hysteresis_percent: u32 = int("% of one pcpu", (1, 100), 2),
            "Smallest change of a cap that is worth making.";
        drivers: bool = flag(false),
            "Whether driver domains get caps as well.";
    }
}

params! {
    /// Parameters of a domain.
    struct DomainParams {
        ceiling_percent: u32 = int("% of one pcpu", (1, 10_000), 0).or_zero(),
            "Largest cap of this domain; 0 for the controller's ceiling.";
    }
}

/// What this controller is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cap-follows-demand",
    summary: "caps each domain a little above its demand; the shortest example of a controller",
    source: "domio",
    interval: interval_ms(500, 10, 60_000),
    params: Params::SPECS,
    domain_params: DomainParams::SPECS,
    answers: Kinds {
        cap: true,
        ..Kinds::NONE
    },
    promises: Promises { settles: true },
};

/// What the registry knows of it.
pub static ENTRY: Entry = Entry {
    descriptor: &DESCRIPTOR,
    make: |params| Box::new(CapFollowsDemand::new(params)),
    validate,
    validate_domain: |_, _, _| Ok(()),
};

/// Millionths of one pcpu in one percent.
const PERCENT: u64 = 10_000;

fn validate(params: &ParamValues) -> Result<(), Conflict> {
    let Params {
        floor_percent: floor,
        ceiling_percent: ceiling,
        ..
    } = params.into();
    if ceiling == 0 || floor <= ceiling {
        return Ok(());
    }
    Err(Conflict {
        param: "floor_percent",
        with: "ceiling_percent",
        problem: format!("the smallest cap, {floor} %, is above the largest, {ceiling} %"),
        expected: format!("floor_percent of {ceiling} at most"),
        hint: "lower the floor or raise the ceiling",
    })
}

/// The controller's state.
pub struct CapFollowsDemand {
    params: Params,
    /// Ceilings of domains that have their own.
    ceilings: BTreeMap<DomainId, u32>,
    /// Smoothed demand of those who were seen last time and can be capped, in millionths.
    demands: BTreeMap<DomainId, u64>,
}

impl CapFollowsDemand {
    /// A controller with these values of the descriptor's `params`.
    pub fn new(params: &ParamValues) -> Self {
        CapFollowsDemand {
            params: params.into(),
            ceilings: BTreeMap::new(),
            demands: BTreeMap::new(),
        }
    }

    /// The largest cap of `domain`.
    fn most(&self, domain: &DomainSeen) -> u32 {
        let vcpus = CAP_PER_VCPU * u32::from(domain.vcpus);
        match self
            .ceilings
            .get(&domain.id)
            .unwrap_or(&self.params.ceiling_percent)
        {
            0 => vcpus,
            ceiling => vcpus.min(*ceiling),
        }
    }

    /// The cap that `domain` is to have instead of `cap`, if any.
    fn target(&self, domain: &DomainSeen, cap: u32, held_back: bool, demand: u64) -> Option<u32> {
        let most = self.most(domain);
        let floor = self.params.floor_percent.min(most);
        let roomy = (demand * (100 + self.params.headroom_percent)).div_ceil(100 * PERCENT);
        let mut want = u32::try_from(roomy).unwrap_or(u32::MAX);
        if held_back {
            want = want.max(cap.saturating_add(self.params.hysteresis_percent));
        }
        let target = want.clamp(floor, most);
        let far = target.abs_diff(cap) >= self.params.hysteresis_percent;
        let stray = !(floor..=most).contains(&cap);
        (target != cap && (far || stray || held_back)).then_some(target)
    }
}

impl Controller for CapFollowsDemand {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn set_domain(&mut self, domain: DomainId, params: &ParamValues) {
        match DomainParams::from(params).ceiling_percent {
            0 => self.ceilings.remove(&domain),
            ceiling => self.ceilings.insert(domain, ceiling),
        };
    }

    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        self.ceilings.retain(|id, _| seen.domain(*id).is_some());
        self.demands.retain(|id, _| seen.domain(*id).is_some());
        for domain in seen.domains {
            let Some(share) = seen.millionths(domain.gotten.saturating_add(domain.waited)) else {
                return;
            };
            let cap = domain.set.cap.filter(|_| {
                seen.abilities.cap && domain.vcpus > 0 && (self.params.drivers || !domain.is_driver)
            });
            let Some(cap) = cap else {
                self.demands.remove(&domain.id);
                continue;
            };
            let newest = share.min(u64::from(domain.vcpus) * u64::from(CAP_PER_VCPU) * PERCENT);
            let held_back = cap > 0 && newest >= u64::from(cap) * PERCENT;
            let before = match self.demands.get(&domain.id) {
                Some(before) if !held_back => *before,
                _ => newest,
            };
            let weight = self.params.newest_percent;
            let demand = (weight * newest + (100 - weight) * before) / 100;
            self.demands.insert(domain.id, demand);
            if let Some(target) = self.target(domain, cap, held_back, demand) {
                answers.domain(domain.id, Change::Cap(target));
            }
        }
    }

    fn dump(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        for (id, demand) in &self.demands {
            let (percent, rest) = (demand / PERCENT, demand % PERCENT);
            writeln!(out, "{id}: demand {percent}.{rest:04} %")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
