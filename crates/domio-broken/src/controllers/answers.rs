//! Mistakes in a single answer: the wrong thing, to the wrong one, too much of it, or twice.

use super::Bug;
use super::half::{self, Half};
use domio_contract::control::{
    Answers, CAP_PER_VCPU, Change, Descriptor, Observation, Promises, Refusal,
};

/// Sets the weight as well, which its descriptor does not say.
#[derive(Default)]
pub struct SetsMoreThanDeclared;

impl Bug for SetsMoreThanDeclared {
    const CAUGHT_BY: &'static str = "declared-kinds";

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        half.observe(seen, answers);
        for domain in seen.domains {
            let weight = domain.set.weight.filter(|_| seen.abilities.weight);
            if weight.is_some_and(|weight| weight < 128) {
                answers.domain(domain.id, Change::Weight(128));
            }
        }
    }
}

/// Tries to set caps wherever it is, without asking what the host and the domain have.
#[derive(Default)]
pub struct IgnoresAbilities;

impl Bug for IgnoresAbilities {
    const CAUGHT_BY: &'static str = "within-abilities";
    // Who cannot have a cap is answered for ever.
    const DESCRIPTOR: &'static Descriptor = &half::promising(Promises { settles: false });

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        half.forget(seen);
        for domain in seen.domains {
            let cap = u32::from(domain.vcpus) * CAP_PER_VCPU / 2;
            if half.is_over(domain.id) && domain.set.cap != Some(cap) {
                answers.domain(domain.id, Change::Cap(cap));
            }
        }
    }
}

/// Gives everybody a cap of half of the host and does not look at how many vcpus there are to use
/// it.
#[derive(Default)]
pub struct IgnoresVcpus;

impl Bug for IgnoresVcpus {
    const CAUGHT_BY: &'static str = "within-ranges";

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        half.forget(seen);
        let cap = seen.pcpus.len() as u32 * CAP_PER_VCPU / 2;
        for domain in seen.domains {
            if half.is_over(domain.id)
                && Half::cap(seen, domain).is_some()
                && domain.set.cap != Some(cap)
            {
                answers.domain(domain.id, Change::Cap(cap));
            }
        }
    }
}

/// Says again in each interval what is set already.
#[derive(Default)]
pub struct RepeatsItself;

impl Bug for RepeatsItself {
    const CAUGHT_BY: &'static str = "changes-something";
    // Who repeats himself never comes to an end, either.
    const DESCRIPTOR: &'static Descriptor = &half::promising(Promises { settles: false });

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        half.observe(seen, answers);
        let news = answers.list().len();
        for domain in seen.domains {
            let Some(change) = domain.set.cap.map(Change::Cap) else {
                continue;
            };
            let again = domio_contract::control::Adjustment::Domain {
                domain: domain.id,
                change,
            };
            let answered = answers.list()[..news].iter().any(|a| a.sets_what(&again));
            if !answered && seen.refuses(&again) == Some(Refusal::NoChange) {
                answers.domain(domain.id, change);
            }
        }
    }
}

/// Opens the cap first and sets the right one then, in one go.
#[derive(Default)]
pub struct AnswersTwice;

impl Bug for AnswersTwice {
    const CAUGHT_BY: &'static str = "one-answer-each";

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        half.forget(seen);
        for domain in seen.domains {
            if half.is_over(domain.id)
                && let Some(cap) = Half::cap(seen, domain)
            {
                if domain.set.cap != Some(0) {
                    answers.domain(domain.id, Change::Cap(0));
                }
                answers.domain(domain.id, Change::Cap(cap));
            }
        }
    }
}
