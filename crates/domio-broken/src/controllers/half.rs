//! The correct controller that the mistakes are made in: half of what there is, after a while.

use alloc::collections::BTreeMap;
use domio_contract::control::{
    Answers, CAP_PER_VCPU, Change, Descriptor, DomainSeen, Kinds, Observation, Promises,
    interval_ms,
};
use domio_core::DomainId;

/// What this controller is. Broken controllers with a false promise start from it.
pub static DESCRIPTOR: Descriptor = promising(Promises { settles: true });

/// The descriptor of the controller with these promises.
pub const fn promising(promises: Promises) -> Descriptor {
    Descriptor {
        name: "half",
        summary: "caps each domain at half of its vcpus once it has been there for a while",
        source: "domio",
        interval: interval_ms(100, 10, 1_000),
        params: &[],
        domain_params: &[],
        answers: Kinds {
            cap: true,
            ..Kinds::NONE
        },
        promises,
    }
}

/// The controller: for [`Half::GRACE`] observations a domain is left alone, then it has a cap of
/// half of its vcpus.
#[derive(Default)]
pub struct Half {
    /// How often each domain that was seen last time was seen, up to the grace.
    pub seen: BTreeMap<DomainId, u32>,
}

impl Half {
    /// Observations for which a domain is left alone.
    pub const GRACE: u32 = 3;

    /// Strikes those who are gone off the list.
    pub fn forget(&mut self, seen: &Observation<'_>) {
        self.seen.retain(|id, _| seen.domain(*id).is_some());
    }

    /// Counts one more observation of `domain`, and says whether its grace is over.
    pub fn is_over(&mut self, domain: DomainId) -> bool {
        let times = self.seen.entry(domain).or_default();
        *times = (*times + 1).min(Self::GRACE + 1);
        *times > Self::GRACE
    }

    /// The cap that `domain` is to have, if it can be set and is not set yet.
    pub fn cap(seen: &Observation<'_>, domain: &DomainSeen) -> Option<u32> {
        let half = u32::from(domain.vcpus) * CAP_PER_VCPU / 2;
        let settable = seen.abilities.cap && domain.set.cap.is_some();
        (settable && domain.set.cap != Some(half)).then_some(half)
    }

    /// The whole controller.
    pub fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        self.forget(seen);
        for domain in seen.domains {
            if self.is_over(domain.id)
                && let Some(cap) = Half::cap(seen, domain)
            {
                answers.domain(domain.id, Change::Cap(cap));
            }
        }
    }
}

/// No mistake at all.
#[derive(Default)]
pub struct Correct;

impl super::Bug for Correct {
    const CAUGHT_BY: &'static str = "none";

    fn observe(&mut self, half: &mut Half, seen: &Observation<'_>, answers: &mut Answers) {
        half.observe(seen, answers);
    }
}
