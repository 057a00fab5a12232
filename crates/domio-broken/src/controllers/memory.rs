//! Mistakes that a single answer does not show: what is remembered, and what is not.

use super::Bug;
use super::half::Half;
use domio_contract::control::{Answers, Change, Observation};
use domio_core::DomainId;

/// Lifts the caps of everybody when somebody leaves, the one who left among them: it goes through
/// its own list, not through what it is shown.
#[derive(Default)]
pub struct AnswersForTheGone {
    known: alloc::vec::Vec<DomainId>,
}

impl Bug for AnswersForTheGone {
    const CAUGHT_BY: &'static str = "present-domains";

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        half.observe(seen, answers);
        for id in self.known.iter().filter(|id| seen.domain(**id).is_none()) {
            answers.domain(*id, Change::Cap(0));
        }
        self.known = seen.domains.iter().map(|d| d.id).collect();
    }
}

/// Never strikes anybody off its list: who comes back has no grace.
#[derive(Default)]
pub struct NeverForgets;

impl Bug for NeverForgets {
    const CAUGHT_BY: &'static str = "forgets-the-gone";

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        for domain in seen.domains {
            if half.is_over(domain.id)
                && let Some(cap) = Half::cap(seen, domain)
            {
                answers.domain(domain.id, Change::Cap(cap));
            }
        }
    }
}

/// Overshoots: whenever the cap is what it should be, it tries one percent less, and regrets.
#[derive(Default)]
pub struct NeverSettles;

impl Bug for NeverSettles {
    const CAUGHT_BY: &'static str = "settles";

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        half.forget(seen);
        for domain in seen.domains {
            let settable = domain.set.cap.filter(|_| seen.abilities.cap);
            if !half.is_over(domain.id) || domain.vcpus == 0 {
                continue;
            }
            let right = Half::cap(seen, domain);
            if let Some(cap) = right.or_else(|| settable.map(|cap| cap - 1)) {
                answers.domain(domain.id, Change::Cap(cap));
            }
        }
    }
}

/// Takes a number that differs from one instance to the next for its cap, as is an address, a hash
/// seed or a counter of the process that lives longer than the run.
pub struct DependsOnInstance {
    /// That number, from 1 on.
    pub instance: u32,
}

impl Bug for DependsOnInstance {
    const CAUGHT_BY: &'static str = "deterministic";

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        half.forget(seen);
        for domain in seen.domains {
            let cap = self.instance % 90 + 10;
            if half.is_over(domain.id)
                && domain.vcpus > 0
                && Half::cap(seen, domain).is_some()
                && domain.set.cap != Some(cap)
            {
                answers.domain(domain.id, Change::Cap(cap));
            }
        }
    }
}
