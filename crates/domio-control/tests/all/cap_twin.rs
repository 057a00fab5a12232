//! Cap follows demand decides as its slow twin does: equal answers under hand-written and random
//! histories, for the default and for random parameters.
//!
//! The twin remembers nothing but what it was told and shown. For each answer it goes back to where
//! the domain's life began, adds up the demand from there, and tries caps one after another.

use domio_contract::control::{
    Answers, Change, Controller, Descriptor, DomainSeen, Kinds, Observation,
};
use domio_control::conformance::rng::Rng;
use domio_control::conformance::{History, library, random, run};
use domio_control::find;
use domio_core::{DomainId, ParamValues};
use std::fmt;

/// One call.
enum Call {
    Told(DomainId, i128),
    Seen {
        nanos: i128,
        abilities: Kinds,
        domains: Vec<DomainSeen>,
    },
}

struct Twin {
    params: ParamValues,
    calls: Vec<Call>,
}

fn descriptor() -> &'static Descriptor {
    let entry = find("cap-follows-demand").expect("it is in the registry");
    entry.descriptor
}

impl Twin {
    fn param(&self, name: &str) -> i128 {
        i128::from(self.params.by_name(name).expect("a declared parameter"))
    }

    fn is_controlled(&self, domain: &DomainSeen, abilities: Kinds) -> bool {
        let spared = domain.is_driver && self.param("drivers") == 0;
        abilities.cap && domain.set.cap.is_some() && domain.vcpus > 0 && !spared
    }

    /// Millionths of one pcpu that the domain wanted in each interval of its life, and whether its
    /// cap held it back; newest first.
    fn life(&self, id: DomainId) -> Vec<(i128, bool)> {
        let mut life = Vec::new();
        for call in self.calls.iter().rev() {
            let Call::Seen {
                nanos,
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
            if !self.is_controlled(domain, *abilities) {
                break;
            }
            let time = |d: domio_core::Duration| i128::from(d.as_nanos());
            // Times are sums of 64 bits, as everywhere.
            let wanted = (time(domain.gotten) + time(domain.waited)).min(i128::from(u64::MAX));
            let all = 1_000_000 * i128::from(domain.vcpus);
            let share = (wanted * 1_000_000 / nanos).min(all);
            let cap = i128::from(domain.set.cap.unwrap_or(0));
            life.push((share, cap > 0 && share >= cap * 10_000));
        }
        life
    }

    fn own_ceiling(&self, id: DomainId) -> i128 {
        for call in self.calls.iter().rev() {
            match call {
                Call::Told(of, ceiling) if *of == id => return *ceiling,
                Call::Seen { domains, .. } if domains.iter().all(|d| d.id != id) => return 0,
                _ => {}
            }
        }
        0
    }

    /// The cap that the domain should have.
    fn cap(&self, domain: &DomainSeen) -> Option<u32> {
        let set = i128::from(domain.set.cap?);
        let life = self.life(domain.id);
        let (_, held_back) = *life.first()?;
        let weight = self.param("newest_percent");
        let mut demand = None;
        for (share, held_back) in life.into_iter().rev() {
            demand = match demand {
                Some(before) if !held_back => {
                    Some((weight * share + (100 - weight) * before) / 100)
                }
                _ => Some(share),
            };
        }
        let demand = demand?;

        let mut most = 100 * i128::from(domain.vcpus);
        let own = self.own_ceiling(domain.id);
        let ceiling = if own > 0 {
            own
        } else {
            self.param("ceiling_percent")
        };
        if ceiling > 0 && ceiling < most {
            most = ceiling;
        }
        let least = self.param("floor_percent").min(most);
        let hysteresis = self.param("hysteresis_percent");
        let roomy = demand * (100 + self.param("headroom_percent"));
        let enough = |cap: i128| {
            let room = cap * 10_000 * 100 >= roomy;
            room && !(held_back && cap < set + hysteresis)
        };
        let right = (least..most).find(|cap| enough(*cap)).unwrap_or(most);

        let worth_it = if set == 0 || set < least || set > most || held_back {
            right != set
        } else {
            (right - set).abs() >= hysteresis
        };
        worth_it.then(|| u32::try_from(right).expect("a cap"))
    }
}

impl Controller for Twin {
    fn descriptor(&self) -> &'static Descriptor {
        descriptor()
    }

    fn set_domain(&mut self, domain: DomainId, params: &ParamValues) {
        self.calls.push(Call::Told(
            domain,
            i128::from(params.by_name("ceiling_percent").unwrap()),
        ));
    }

    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        let nanos = i128::from(seen.now.as_nanos()) - i128::from(seen.since.as_nanos());
        self.calls.push(Call::Seen {
            nanos,
            abilities: seen.abilities,
            domains: seen.domains.to_vec(),
        });
        for domain in seen.domains {
            if nanos > 0
                && self.is_controlled(domain, seen.abilities)
                && let Some(cap) = self.cap(domain)
            {
                answers.domain(domain.id, Change::Cap(cap));
            }
        }
    }

    fn dump(&self, _: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// Parameters as an operator might set them.
fn random_params(seed: u64) -> ParamValues {
    let mut rng = Rng::new(seed);
    let mut params = ParamValues::defaults(descriptor().params);
    let mut set = |name, values: &[i64]| {
        let value = *rng.pick(values);
        params.set(name, value).expect("a value in range");
    };
    set("headroom_percent", &[0, 10, 25, 33, 100, 400]);
    set("floor_percent", &[1, 5, 5, 20, 150]);
    set("ceiling_percent", &[0, 0, 20, 80, 100, 350]);
    set("newest_percent", &[1, 10, 33, 50, 50, 100]);
    set("hysteresis_percent", &[1, 2, 2, 7, 40]);
    set("drivers", &[0, 1]);
    params
}

fn agree(history: &History, params: &ParamValues, what: &str) -> usize {
    let entry = find("cap-follows-demand").expect("it is in the registry");
    let twin = Twin {
        params: *params,
        calls: Vec::new(),
    };
    let one = run(history, (entry.make)(params));
    let two = run(history, Box::new(twin));
    for (taken, other) in one.log.iter().zip(&two.log) {
        assert!(taken == other, "{what}: controller\n{taken}twin\n{other}");
    }
    one.log.iter().map(|taken| taken.answers.len()).sum()
}

#[test]
fn on_hand_written_histories() {
    for history in library::histories() {
        let params = ParamValues::defaults(descriptor().params);
        agree(&history, &params, &history.name);
        for seed in 0..2 {
            let what = format!("\"{}\", parameters of seed {seed}", history.name);
            agree(&history, &random_params(seed), &what);
        }
    }
}

#[test]
fn on_random_histories() {
    let mut answers = 0;
    for seed in 0..1_500 {
        let params = match seed % 2 {
            0 => ParamValues::defaults(descriptor().params),
            _ => random_params(seed),
        };
        answers += agree(&random::history(seed), &params, &format!("seed {seed}"));
    }
    assert!(answers > 10_000, "only {answers} answers were compared");
}
