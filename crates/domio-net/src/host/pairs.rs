//! Pairs of tasklets of a driver domain's netback, and which of them serves an interface.
//!
//! Linux 2.6.18 for Xen has one pair for all interfaces; later netbacks have a group for each
//! processor, and Zeng 2015 V.A has any number of pairs, each bound to a vcpu of
//! dom0. A pair has its own queues, its own 256 pending slots and its own timers. An interface is
//! one pair's in both directions, so that its packets keep their order. Its event channel is bound
//! to the pair's vcpu.
//!
//! The card's interrupt, its poll and the way of its packets through the bridge stay on the first
//! vcpu. Packets from guests pass the bridge on the vcpu of their pair. What waits for a vcpu's
//! softirq is the vcpu's, whatever the number of its pairs.

use super::forms::NetbackForm;

/// How netback of a driver domain is set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetbackConfig {
    /// Over how many vcpus from the driver domain's first one with work the pairs may be spread, at
    /// least 1.
    pub threads: u16,
    /// Pairs of tasklets, at least 1. Pair `p` is on vcpu `p` modulo [`threads`](Self::threads)
    /// after the first.
    pub pairs: u16,
    /// Which pair serves an interface that does not say.
    pub assign: Assignment,
    /// How small packets get from one end to the other.
    pub small: SmallPackets,
    /// How packets for guests are taken.
    pub form: NetbackForm,
    /// The first of the driver domain's vcpus that stand for kworkers, one on each pcpu of the
    /// host, where these interrupt guests for netback.
    pub kworkers: Option<u16>,
}

/// Which pair serves an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assignment {
    /// Interfaces take turns, in their order on the bridge.
    RoundRobin,
    /// By a hash of the interface's address, whoever comes first.
    Hash,
}

/// How packets of one page at most get from netfront to netback and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmallPackets {
    /// Whether those from a guest go through a pool: netfront copies them there.
    pub out: bool,
    /// Whether those to a guest do: netback copies them there.
    pub inward: bool,
    /// Pages of an interface's pool, in each direction that has one.
    pub pages: u16,
}

impl SmallPackets {
    /// Pages of each pool of Zeng 2015 V.B.
    pub const PAGES: u16 = 256;

    /// Each packet has a grant of its own, as in all releases of Xen and Linux.
    pub const GRANTS: SmallPackets = SmallPackets {
        out: false,
        inward: false,
        pages: Self::PAGES,
    };
}

impl NetbackConfig {
    /// One pair for all interfaces, on the first vcpu; each packet has a grant of its own. It is
    /// the netback of Xen 3.1.
    pub const ONE: NetbackConfig = NetbackConfig::spread(1);

    /// A pair on each of `threads` vcpus, of the netback of Xen 3.1.
    pub const fn spread(threads: u16) -> Self {
        NetbackConfig {
            threads,
            pairs: threads,
            assign: Assignment::RoundRobin,
            small: SmallPackets::GRANTS,
            form: NetbackForm::V3_1,
            kworkers: None,
        }
    }

    /// Vcpus that have a pair.
    pub fn vcpus(&self) -> u16 {
        self.threads.max(1).min(self.pairs())
    }

    /// Pairs that there are.
    pub(super) fn pairs(&self) -> u16 {
        self.pairs.max(1)
    }

    /// The pair that serves the interface at `place` on the bridge, counted from 0, whose station
    /// is number `station`; `own` is the pair that the interface asks for, if it does.
    pub(super) fn pair_of(&self, place: u16, station: u16, own: Option<u16>) -> u16 {
        let number = match (own, self.assign) {
            (Some(own), _) => own,
            (None, Assignment::RoundRobin) => place,
            (None, Assignment::Hash) => hash(station),
        };
        number % self.pairs()
    }
}

/// The high half of the product with the golden ratio (Knuth's multiplicative hash): addresses are
/// numbers of stations here, which a remainder alone would deal out in turn.
fn hash(station: u16) -> u16 {
    (u32::from(station).wrapping_mul(0x9E37_79B9) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn four(assign: Assignment) -> NetbackConfig {
        NetbackConfig {
            pairs: 4,
            assign,
            ..NetbackConfig::spread(2)
        }
    }

    #[test]
    fn interfaces_take_turns_unless_they_ask() {
        let config = four(Assignment::RoundRobin);
        let pairs: Vec<u16> = (0..6).map(|i| config.pair_of(i, i + 1, None)).collect();
        assert_eq!(pairs, [0, 1, 2, 3, 0, 1]);
        assert_eq!(config.pair_of(0, 1, Some(3)), 3);
    }

    /// A hash does not depend on who is before, and gives each pair some of 64.
    #[test]
    fn a_hash_is_of_the_address_alone() {
        let config = four(Assignment::Hash);
        let pair = |station| config.pair_of(0, station, None);
        assert!((1..=64).all(|s| config.pair_of(s, s, None) == pair(s)));
        let mut counts = [0; 4];
        (1..=64).for_each(|s| counts[usize::from(pair(s))] += 1);
        assert!(counts.iter().all(|n| (8..=24).contains(n)), "{counts:?}");
        assert!((1..=4).any(|s| pair(s) != (s - 1) % 4), "not in turn");
    }

    #[test]
    fn no_more_vcpus_have_pairs_than_there_are_pairs() {
        let vcpus = |threads, pairs| {
            let spread = NetbackConfig::spread(threads);
            NetbackConfig { pairs, ..spread }.vcpus()
        };
        assert_eq!([vcpus(2, 4), vcpus(4, 2), vcpus(1, 1)], [2, 2, 1]);
    }
}
