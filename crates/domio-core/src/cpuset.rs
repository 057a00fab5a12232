//! A set of pcpus: Xen's `cpumask_t`.

use crate::PcpuId;
use core::fmt;
use core::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// Most pcpus that one host can have: Xen's default `NR_CPUS` on x86 (4.17).
pub const MAX_PCPUS: usize = 256;

const WORDS: usize = MAX_PCPUS / 64;

/// A set of pcpus as four machine words, copied freely.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CpuSet([u64; WORDS]);

impl CpuSet {
    /// No pcpu.
    pub const EMPTY: CpuSet = CpuSet([0; WORDS]);
    /// Every pcpu that any host could have: "no restriction".
    pub const ALL: CpuSet = CpuSet([u64::MAX; WORDS]);

    /// The set of `pcpu` alone.
    #[inline]
    pub fn of(pcpu: PcpuId) -> Self {
        let mut set = CpuSet::EMPTY;
        set.insert(pcpu);
        set
    }

    /// Pcpus 0 to `n` - 1.
    pub fn first_n(n: usize) -> Self {
        (0..n).map(|p| PcpuId(p as u16)).collect()
    }

    /// Adds `pcpu`.
    #[inline]
    pub fn insert(&mut self, pcpu: PcpuId) {
        self.0[pcpu.index() / 64] |= 1 << (pcpu.index() % 64);
    }

    /// Adds `pcpu` or takes it out.
    #[inline]
    pub fn set(&mut self, pcpu: PcpuId, is_in: bool) {
        let word = &mut self.0[pcpu.index() / 64];
        let bit = pcpu.index() % 64;
        *word = *word & !(1 << bit) | u64::from(is_in) << bit;
    }

    /// Takes `pcpu` out.
    #[inline]
    pub fn remove(&mut self, pcpu: PcpuId) {
        self.0[pcpu.index() / 64] &= !(1 << (pcpu.index() % 64));
    }

    /// Whether `pcpu` is in the set.
    #[inline]
    pub fn contains(&self, pcpu: PcpuId) -> bool {
        self.0[pcpu.index() / 64] >> (pcpu.index() % 64) & 1 != 0
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Number of members.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether the two sets share a member.
    #[inline]
    pub fn intersects(&self, other: &CpuSet) -> bool {
        !(*self & *other).is_empty()
    }

    /// Whether every member is in `other`.
    #[inline]
    pub fn is_subset(&self, other: &CpuSet) -> bool {
        (*self & !*other).is_empty()
    }

    /// The lowest member.
    #[inline]
    pub fn first(&self) -> Option<PcpuId> {
        self.next_from(0)
    }

    /// Xen's `cpumask_cycle`: the next member strictly after `pcpu`, wrapping round, so that a set
    /// of one gives its only member even for itself.
    #[inline]
    pub fn cycle(&self, pcpu: PcpuId) -> Option<PcpuId> {
        self.next_from(pcpu.index() + 1).or_else(|| self.first())
    }

    /// Xen's `cpumask_test_or_cycle`: `pcpu` itself when it is a member, else [`CpuSet::cycle`].
    #[inline]
    pub fn test_or_cycle(&self, pcpu: PcpuId) -> Option<PcpuId> {
        if self.contains(pcpu) {
            Some(pcpu)
        } else {
            self.cycle(pcpu)
        }
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = PcpuId> + use<> {
        let mut words = self.0;
        let mut at = 0;
        core::iter::from_fn(move || {
            while at < WORDS {
                if words[at] != 0 {
                    let bit = words[at].trailing_zeros() as usize;
                    words[at] &= words[at] - 1;
                    return Some(PcpuId((at * 64 + bit) as u16));
                }
                at += 1;
            }
            None
        })
    }

    /// The lowest member that is not below `start`.
    #[inline]
    fn next_from(&self, start: usize) -> Option<PcpuId> {
        if start >= MAX_PCPUS {
            return None;
        }
        let mut at = start / 64;
        let mut word = self.0[at] & (u64::MAX << (start % 64));
        loop {
            if word != 0 {
                return Some(PcpuId((at * 64 + word.trailing_zeros() as usize) as u16));
            }
            at += 1;
            if at == WORDS {
                return None;
            }
            word = self.0[at];
        }
    }
}

impl FromIterator<PcpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = PcpuId>>(iter: I) -> Self {
        let mut set = CpuSet::EMPTY;
        for pcpu in iter {
            set.insert(pcpu);
        }
        set
    }
}

impl BitAnd for CpuSet {
    type Output = CpuSet;
    #[inline]
    fn bitand(mut self, other: CpuSet) -> CpuSet {
        self &= other;
        self
    }
}

impl BitAndAssign for CpuSet {
    #[inline]
    fn bitand_assign(&mut self, other: CpuSet) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= b;
        }
    }
}

impl BitOr for CpuSet {
    type Output = CpuSet;
    #[inline]
    fn bitor(mut self, other: CpuSet) -> CpuSet {
        self |= other;
        self
    }
}

impl BitOrAssign for CpuSet {
    #[inline]
    fn bitor_assign(&mut self, other: CpuSet) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a |= b;
        }
    }
}

impl Not for CpuSet {
    type Output = CpuSet;
    #[inline]
    fn not(mut self) -> CpuSet {
        for w in &mut self.0 {
            *w = !*w;
        }
        self
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|p| p.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn set(pcpus: &[u16]) -> CpuSet {
        pcpus.iter().map(|&p| PcpuId(p)).collect()
    }

    #[test]
    fn cycle_is_strictly_after_and_wraps() {
        let s = set(&[1, 63, 64, 255]);
        assert_eq!(s.cycle(PcpuId(1)), Some(PcpuId(63)));
        assert_eq!(s.cycle(PcpuId(63)), Some(PcpuId(64)));
        assert_eq!(s.cycle(PcpuId(255)), Some(PcpuId(1)));
        assert_eq!(set(&[7]).cycle(PcpuId(7)), Some(PcpuId(7)));
        assert_eq!(CpuSet::EMPTY.cycle(PcpuId(3)), None);
        assert_eq!(s.test_or_cycle(PcpuId(64)), Some(PcpuId(64)));
        assert_eq!(s.test_or_cycle(PcpuId(65)), Some(PcpuId(255)));
    }

    #[test]
    fn one_pcpu_goes_in_and_out_and_the_others_stay() {
        let mut s = set(&[3, 64]);
        s.set(PcpuId(65), true);
        s.set(PcpuId(64), false);
        s.set(PcpuId(3), true);
        assert_eq!(s, set(&[3, 65]));
    }

    #[test]
    fn members_come_in_ascending_order() {
        let s = set(&[200, 3, 64]);
        assert_eq!(s.iter().map(|p| p.0).collect::<Vec<_>>(), [3, 64, 200]);
        assert_eq!(s.len(), 3);
        assert!(s.is_subset(&CpuSet::ALL) && s.intersects(&set(&[64])));
        assert_eq!((s & !set(&[64])).len(), 2);
        assert_eq!(CpuSet::first_n(130).len(), 130);
    }
}
