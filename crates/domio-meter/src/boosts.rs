//! Boosts by pcpu: how evenly vcpus with a boost are spread over run queues (Zeng 2015, formula 1).
//!
//! A vcpu that is boosted is in the run queue of the pcpu on which it ran last, unless the policy
//! says that it queues on another one ([`Says::Queued`]). Traces of real hosts tell the first since
//! Xen 4.3.

use domio_core::{ActorId, Declared, PcpuId, Record, Says};

/// What is known of a vcpu.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Where it ran last.
    ran_on: Option<PcpuId>,
    /// Where its last boost was counted, until it runs.
    counted: Option<PcpuId>,
    /// It was boosted, and no record says that the boost is over.
    boosted: bool,
    /// Its wake-up was counted, until it runs.
    woken: bool,
}

/// A boost, for those who count boosts by pcpu.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoostSeen {
    /// There is one more on this pcpu.
    On(PcpuId),
    /// One that was counted on the first pcpu is on the second one instead.
    Moved(PcpuId, PcpuId),
}

/// Where vcpus are, and so where their boosts are.
#[derive(Clone, Debug, Default)]
pub struct BoostPlaces {
    /// By actor.
    places: Vec<Place>,
}

impl BoostPlaces {
    /// `actor` runs on `pcpu` from now on.
    #[inline]
    pub fn runs(&mut self, actor: ActorId, pcpu: PcpuId) {
        let place = self.place(actor);
        place.ran_on = Some(pcpu);
        place.counted = None;
        place.woken = false;
    }

    /// `actor`, which was blocked, wakes: for readers that count wake-ups with a boost rather than
    /// boosts. A vcpu that still has the boost of an earlier wake-up counts here, any other one
    /// when its boost is recorded ([`hear`](Self::hear)).
    ///
    /// A boost that an accounting of credits ended has no record of its end. So the first wake-up
    /// of a vcpu that is over its credit may count.
    #[inline]
    pub fn wakes(&mut self, actor: ActorId) -> Option<BoostSeen> {
        let place = self.place(actor);
        if !place.boosted || place.woken {
            return None;
        }
        place.woken = true;
        place.counted = place.ran_on;
        place.ran_on.map(BoostSeen::On)
    }

    /// Whether records with this declaration matter here.
    #[inline]
    pub fn is_of(declared: &Declared) -> bool {
        matches!(declared.says, Says::Boosted | Says::Queued { .. })
    }

    /// Takes a record of a vcpu. A new boost counts if `counts` says so. A vcpu that has not run
    /// yet is nowhere.
    #[inline]
    pub fn hear(
        &mut self,
        declared: &Declared,
        record: &Record,
        counts: bool,
    ) -> Option<BoostSeen> {
        match declared.says {
            Says::Boosted => {
                let place = self.place(record.actor);
                place.boosted = true;
                if !counts || place.woken {
                    return None;
                }
                place.counted = place.ran_on;
                place.ran_on.map(BoostSeen::On)
            }
            Says::BoostOver => {
                self.place(record.actor).boosted = false;
                None
            }
            Says::Queued { pcpu } => {
                let to = PcpuId(declared.value(record, pcpu) as u16);
                let place = self.place(record.actor);
                // Without a place its boost is of an earlier wake-up.
                let from = place.counted?;
                place.counted = Some(to);
                Some(BoostSeen::Moved(from, to))
            }
            _ => None,
        }
    }

    /// Boosts so far are counted: none of them moves any more.
    pub fn settle(&mut self) {
        self.places
            .iter_mut()
            .for_each(|place| place.counted = None);
    }

    fn place(&mut self, actor: ActorId) -> &mut Place {
        if self.places.len() <= actor.index() {
            self.places.resize(actor.index() + 1, Place::default());
        }
        &mut self.places[actor.index()]
    }
}

/// Numbers of boosts, by pcpu.
#[derive(Clone, Debug, Default)]
pub struct BoostCounts(Vec<u64>);

impl BoostCounts {
    /// Counts what was seen.
    pub fn add(&mut self, seen: BoostSeen) {
        match seen {
            BoostSeen::On(pcpu) => *self.count(pcpu) += 1,
            BoostSeen::Moved(from, to) => {
                *self.count(from) -= 1;
                *self.count(to) += 1;
            }
        }
    }

    fn count(&mut self, pcpu: PcpuId) -> &mut u64 {
        if self.0.len() <= pcpu.index() {
            self.0.resize(pcpu.index() + 1, 0);
        }
        &mut self.0[pcpu.index()]
    }

    /// Whether there is a boost.
    pub fn any(&self) -> bool {
        self.0.iter().any(|n| *n > 0)
    }

    /// Boosts on `pcpu`.
    pub fn on(&self, pcpu: PcpuId) -> u64 {
        self.0.get(pcpu.index()).copied().unwrap_or(0)
    }
}

/// The load-balance factor of these numbers of boosts, one for each pcpu: their mean by the largest
/// of them. 1 where all are equal, one by the number of pcpus where one has all; `None` without
/// any.
pub fn balance_factor(boosts: impl IntoIterator<Item = u64>) -> Option<f64> {
    let (mut sum, mut most, mut pcpus) = (0_u64, 0, 0_u64);
    for n in boosts {
        sum = sum.saturating_add(n);
        most = most.max(n);
        pcpus += 1;
    }
    (most > 0).then(|| sum as f64 / pcpus as f64 / most as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::Instant;
    use domio_core::class::{ClassId, Field, Unit};

    const TO: &[Field] = &[Field::word("to", 0, Unit::Pcpu)];
    const BOOSTED: Declared = Declared::new(7, "boosted", &[]).says(Says::Boosted);
    const QUEUED: Declared = Declared::new(48, "placed", TO).says(Says::Queued { pcpu: 0 });

    fn record(actor: u32, to: u32) -> Record {
        let number = (ClassId(2), 7);
        Record::of(
            Instant::ZERO,
            PcpuId(9),
            number,
            ActorId(actor),
            [to, 0, 0, 0],
        )
    }

    #[test]
    fn a_boost_is_where_the_vcpu_ran_last_or_where_the_policy_sends_it() {
        let (mut places, mut boosts) = (BoostPlaces::default(), BoostCounts::default());
        let mut hear = |places: &mut BoostPlaces, declared, to, counts| {
            places
                .hear(declared, &record(4, to), counts)
                .into_iter()
                .for_each(|seen| boosts.add(seen));
        };
        hear(&mut places, &BOOSTED, 0, true);
        places.runs(ActorId(4), PcpuId(1));
        for _ in 0..3 {
            hear(&mut places, &BOOSTED, 0, true);
            places.runs(ActorId(4), PcpuId(1));
        }
        hear(&mut places, &BOOSTED, 0, false);
        places.runs(ActorId(4), PcpuId(1));
        hear(&mut places, &BOOSTED, 0, true);
        hear(&mut places, &QUEUED, 2, true);
        places.runs(ActorId(4), PcpuId(2));
        // It still has that boost, and is sent on.
        hear(&mut places, &QUEUED, 0, true);
        assert_eq!([0, 1, 2, 3].map(|p| boosts.on(PcpuId(p))), [0, 3, 1, 0]);
    }

    #[test]
    fn a_wake_up_with_an_earlier_boost_counts_once() {
        const OVER: Declared = Declared::new(8, "over", &[]).says(Says::BoostOver);
        let (mut places, actor) = (BoostPlaces::default(), ActorId(4));
        let on = |pcpu| Some(BoostSeen::On(PcpuId(pcpu)));
        let hear =
            |places: &mut BoostPlaces, declared| places.hear(declared, &record(actor.0, 2), true);
        places.runs(actor, PcpuId(1));
        // The first wake-up counts when the boost is recorded.
        assert_eq!(places.wakes(actor), None);
        assert_eq!(hear(&mut places, &BOOSTED), on(1));
        places.runs(actor, PcpuId(3));
        // It blocked with its boost.
        assert_eq!(places.wakes(actor), on(3));
        let moved = BoostSeen::Moved(PcpuId(3), PcpuId(2));
        assert_eq!(hear(&mut places, &QUEUED), Some(moved));
        places.runs(actor, PcpuId(2));
        // An accounting ended the boost without a record.
        assert_eq!(places.wakes(actor), on(2));
        assert_eq!(hear(&mut places, &BOOSTED), None);
        places.runs(actor, PcpuId(2));
        assert_eq!(hear(&mut places, &OVER), None);
        assert_eq!(places.wakes(actor), None);
    }

    #[test]
    fn the_factor_is_the_mean_by_the_most() {
        assert_eq!(balance_factor([8, 6, 0, 6]), Some(5.0 / 8.0));
        assert_eq!(balance_factor([3, 3]), Some(1.0));
        assert_eq!(balance_factor([0, 0, 9, 0]), Some(0.25));
        assert_eq!((balance_factor([0, 0]), balance_factor([])), (None, None));
    }
}
