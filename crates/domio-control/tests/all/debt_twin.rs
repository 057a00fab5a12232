//! The debt collector decides as its slow twin does: equal answers under hand-written and random
//! histories, for the default and for random parameters.
//!
//! The twin remembers nothing but what it was told and shown. For each answer it goes back to where
//! the domain's account began, adds up what is owed from there, and tries percents one after
//! another.

use domio_contract::control::{
    Answers, Change, Controller, Descriptor, DomainSeen, Kinds, Observation, Reservation,
    SettingKind,
};
use domio_control::conformance::rng::Rng;
use domio_control::conformance::{History, Round, library, random, run};
use domio_control::find;
use domio_core::{DomainId, Duration, ParamValues};
use domio_suite::drawn;
use std::fmt;

/// One call.
enum Call {
    Told(DomainId, i128),
    Seen {
        nanos: i128,
        pcpus: i128,
        abilities: Kinds,
        domains: Vec<DomainSeen>,
    },
}

struct Twin {
    params: ParamValues,
    calls: Vec<Call>,
}

fn descriptor() -> &'static Descriptor {
    let entry = find("debt-collector").expect("it is in the registry");
    entry.descriptor
}

fn time(d: Duration) -> i128 {
    i128::from(d.as_nanos())
}

impl Twin {
    fn param(&self, name: &str) -> i128 {
        i128::from(self.params.by_name(name).expect("a declared parameter"))
    }

    fn pays(&self, domain: &DomainSeen) -> bool {
        !domain.is_driver || self.param("drivers") == 1
    }

    /// Whether the domain is held by its cap or slice, as far as that can be seen.
    fn is_held(&self, domain: &DomainSeen, abilities: Kinds) -> bool {
        let charged = abilities.charge && domain.set.debt.is_some();
        let cap = abilities.cap && domain.set.cap.is_some();
        let period = domain.set.reservation.is_some_and(|r| !r.period.is_zero());
        let slice = abilities.reservation && period;
        self.pays(domain) && !charged && domain.vcpus > 0 && (cap || slice)
    }

    /// The share of a domain that was there at each call before number `at`, going back.
    fn share(&self, id: DomainId, at: usize) -> i128 {
        for call in self.calls[..at].iter().rev() {
            match call {
                Call::Told(of, share) if *of == id => return *share,
                Call::Seen { domains, .. } if domains.iter().all(|d| d.id != id) => return 0,
                _ => {}
            }
        }
        0
    }

    /// What the account of the domain holds: for each interval what was used, what was allowed.
    fn account(&self, id: DomainId) -> Vec<(i128, i128)> {
        let mut account = Vec::new();
        for (at, call) in self.calls.iter().enumerate().rev() {
            let Call::Seen {
                nanos,
                pcpus,
                abilities,
                domains,
            } = call
            else {
                continue;
            };
            let Some(domain) = domains.iter().find(|d| d.id == id) else {
                break;
            };
            if *nanos == 0 {
                continue;
            }
            let share = self.share(id, at);
            if share == 0 || !self.is_held(domain, *abilities) {
                break;
            }
            let own = time(domain.gotten).min(nanos * i128::from(domain.vcpus));
            let done = time(domain.served).min(nanos * pcpus);
            account.push((own + done, nanos * share / 100));
        }
        account.reverse();
        account
    }

    /// The percent of one pcpu that the domain should have.
    fn percent(&self, domain: &DomainSeen, nanos: i128) -> Option<u32> {
        let account = self.account(domain.id);
        let (used, allowed) = *account.last()?;
        let mut owed = 0;
        for (used, allowed) in account {
            let differs = (used - allowed).abs() >= allowed / 50;
            let now = if differs { owed + used - allowed } else { owed };
            owed = now.clamp(0, allowed);
        }
        let keep = allowed - owed / self.param("spread_intervals");
        let gotten = time(domain.gotten).min(nanos * i128::from(domain.vcpus));
        let own = if used == 0 {
            keep
        } else {
            keep * gotten / used
        };
        let share = self.share(domain.id, self.calls.len());
        let most = share.min(100 * i128::from(domain.vcpus));
        let least = self.param("floor_percent").min(most);
        let fits = |percent: &i128| percent * nanos <= own * 100;
        let right = (least..=most).rev().find(fits).unwrap_or(least);
        Some(u32::try_from(right).expect("a percent"))
    }

    fn answer(
        &self,
        domain: &DomainSeen,
        abilities: Kinds,
        nanos: i128,
        most: i128,
    ) -> Option<Change> {
        if self.pays(domain) && abilities.charge && domain.set.debt.is_some() {
            let done = time(domain.served).min(most);
            let done = Duration::from_nanos(u64::try_from(done).expect("a time"));
            return (!done.is_zero()).then_some(Change::Charge(done));
        }
        let percent = self.percent(domain, nanos)?;
        let wanted = match (abilities.cap, domain.set.cap) {
            (true, Some(_)) => Change::Cap(percent),
            _ => {
                let period = domain.set.reservation?.period;
                let us = time(period) / 1_000 * i128::from(percent);
                let us = us / (100 * i128::from(domain.vcpus));
                let slice = Duration::from_micros(u64::try_from(us.max(5)).expect("a time"));
                let slice = if slice > period { period } else { slice };
                Change::Reservation(Reservation { period, slice })
            }
        };
        (domain.set.get(wanted.kind()) != Some(wanted)).then_some(wanted)
    }
}

impl Controller for Twin {
    fn descriptor(&self) -> &'static Descriptor {
        descriptor()
    }

    fn set_domain(&mut self, domain: DomainId, params: &ParamValues) {
        let share = i128::from(params.by_name("share_percent").unwrap());
        self.calls.push(Call::Told(domain, share));
    }

    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        let nanos = i128::from(seen.now.as_nanos()) - i128::from(seen.since.as_nanos());
        let pcpus = seen.pcpus.len().max(1) as i128;
        self.calls.push(Call::Seen {
            nanos,
            pcpus,
            abilities: seen.abilities,
            domains: seen.domains.to_vec(),
        });
        if nanos == 0 {
            return;
        }
        for domain in seen.domains {
            let change = self.answer(domain, seen.abilities, nanos, nanos * pcpus);
            if let Some(change) = change {
                answers.domain(domain.id, change);
            }
        }
    }

    fn dump(&self, _: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// `history`, of which every other one takes no charges, and in which domains get shares.
fn with_shares(mut history: History, seed: u64) -> History {
    let mut rng = Rng::new(seed ^ 0x5a4e);
    let charges = rng.one_in(2);
    let shares = |round: &mut Round, rng: &mut Rng| {
        round.abilities.charge &= charges;
        for domain in &round.domains {
            if rng.one_in(4) {
                round.told.push((domain.id, rng.next_u64()));
            }
        }
    };
    history.rounds.iter_mut().for_each(|r| shares(r, &mut rng));
    history
}

/// The number of answers that set something, and of charges.
fn agree(history: &History, params: &ParamValues, what: &str) -> [usize; 2] {
    let entry = find("debt-collector").expect("it is in the registry");
    let twin = Twin {
        params: *params,
        calls: Vec::new(),
    };
    let one = run(history, (entry.make)(params));
    let two = run(history, Box::new(twin));
    for (taken, other) in one.log.iter().zip(&two.log) {
        assert!(taken == other, "{what}: controller\n{taken}twin\n{other}");
    }
    let answers = one.log.iter().flat_map(|taken| &taken.answers);
    let (mut others, mut charges) = (0, 0);
    for answer in answers {
        match answer.kind() {
            SettingKind::Charge => charges += 1,
            _ => others += 1,
        }
    }
    [others, charges]
}

#[test]
fn on_hand_written_histories() {
    let params = ParamValues::defaults(descriptor().params);
    for history in library::histories() {
        agree(&history, &params, &history.name);
        for seed in 0..6 {
            let params = match seed % 2 {
                0 => params,
                _ => drawn(descriptor().params, seed),
            };
            let what = format!("\"{}\", seed {seed}", history.name);
            agree(&with_shares(history.clone(), seed), &params, &what);
        }
    }
}

#[test]
fn on_random_histories() {
    let mut all = [0, 0];
    for seed in 0..600 {
        let params = match seed % 2 {
            0 => ParamValues::defaults(descriptor().params),
            _ => drawn(descriptor().params, seed),
        };
        let history = with_shares(random::history(seed), seed);
        let counted = agree(&history, &params, &format!("seed {seed}"));
        all = [all[0] + counted[0], all[1] + counted[1]];
    }
    assert!(
        all.iter().all(|n| *n > 2_000),
        "{all:?} answers were compared"
    );
}
