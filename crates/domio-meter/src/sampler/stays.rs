//! Who ran where of late.

use std::collections::VecDeque;

use domio_core::{PcpuId, VcpuName};

/// Most stays of a pcpu that are remembered. What a longer wait was behind is notified of the
/// latest part of it.
const STAYS_MAX: usize = 512;

/// The latest stays on each pcpu, oldest first.
#[derive(Debug, Default)]
pub(super) struct Stays {
    by_pcpu: Vec<VecDeque<Stay>>,
}

/// A vcpu ran without a break.
#[derive(Clone, Copy, Debug)]
struct Stay {
    vcpu: VcpuName,
    since: u64,
    /// `None` while it lasts.
    until: Option<u64>,
}

impl Stays {
    /// `vcpu` is on `pcpu` from `at` on.
    #[inline]
    pub fn begin(&mut self, pcpu: PcpuId, vcpu: VcpuName, at: u64) {
        let index = pcpu.index();
        if index >= self.by_pcpu.len() {
            self.by_pcpu.resize_with(index + 1, VecDeque::new);
        }
        let stays = &mut self.by_pcpu[index];
        if let Some(last) = stays.back_mut() {
            if last.until.is_none() && last.vcpu == vcpu {
                return;
            }
            // Whoever was there is not any more, since an unknown time if nothing told.
            last.until.get_or_insert(last.since);
        }
        if stays.len() == STAYS_MAX {
            stays.pop_front();
        }
        stays.push_back(Stay {
            vcpu,
            since: at,
            until: None,
        });
    }

    /// `vcpu` leaves `pcpu` at `at`.
    #[inline]
    pub fn end(&mut self, pcpu: PcpuId, vcpu: VcpuName, at: u64) {
        let stays = self.by_pcpu.get_mut(pcpu.index());
        if let Some(last) = stays.and_then(VecDeque::back_mut)
            && last.vcpu == vcpu
        {
            last.until.get_or_insert(at);
        }
    }

    /// Who ran for most of the time on `pcpu` between `from` and `to`, and for how much of it. The
    /// first of equal ones by name.
    #[cold]
    pub fn most(&self, pcpu: PcpuId, from: u64, to: u64) -> Option<(VcpuName, u64)> {
        let mut times: Vec<(VcpuName, u64)> = Vec::new();
        for stay in self.by_pcpu.get(pcpu.index())?.iter().rev() {
            let until = stay.until.unwrap_or(to);
            if until < from {
                break;
            }
            let time = until.min(to).saturating_sub(stay.since.max(from));
            match times.iter_mut().find(|(vcpu, _)| *vcpu == stay.vcpu) {
                Some((_, sum)) => *sum += time,
                None => times.push((stay.vcpu, time)),
            }
        }
        let ran = times.into_iter().filter(|(_, time)| *time > 0);
        ran.min_by_key(|(vcpu, time)| (std::cmp::Reverse(*time), *vcpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(n: u32) -> VcpuName {
        VcpuName::from_word(n)
    }

    #[test]
    fn times_of_several_stays_add_up() {
        let mut stays = Stays::default();
        for (vcpu, from, to) in [(1, 0, 10), (2, 10, 16), (1, 16, 20), (2, 20, 27)] {
            stays.begin(PcpuId(1), v(vcpu), from);
            stays.end(PcpuId(1), v(vcpu), to);
        }
        // 1 ran from 5 to 10 and from 16 to 20, 2 from 10 to 16 and from 20 to 22.
        assert_eq!(stays.most(PcpuId(1), 5, 22), Some((v(1), 9)));
        assert_eq!(stays.most(PcpuId(1), 5, 27), Some((v(2), 13)));
        assert_eq!(stays.most(PcpuId(1), 30, 40), None);
        assert_eq!(stays.most(PcpuId(0), 0, 40), None);
    }

    #[test]
    fn a_stay_that_lasts_counts_up_to_the_end() {
        let mut stays = Stays::default();
        stays.begin(PcpuId(0), v(1), 5);
        stays.begin(PcpuId(0), v(1), 8);
        assert_eq!(stays.most(PcpuId(0), 0, 20), Some((v(1), 15)));
    }

    #[test]
    fn of_more_stays_than_are_kept_the_latest_count() {
        let mut stays = Stays::default();
        for n in 0..1000 {
            stays.begin(PcpuId(0), v(1), n);
            stays.end(PcpuId(0), v(1), n + 1);
        }
        assert_eq!(stays.most(PcpuId(0), 0, 1000), Some((v(1), 512)));
    }
}
