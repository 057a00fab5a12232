//! Private records of the policies of Xen 4.17, by scheduler.

use domio_core::{Kind, Record};

/// Xen's numbers of schedulers.
pub(crate) mod scheduler {
    pub const CREDIT: u16 = 0;
    pub const CREDIT2: u16 = 1;
    pub const RTDS: u16 = 4;
    pub const NULL: u16 = 5;
}

/// A private record: which scheduler's, which event, and the first three of its words. Words that
/// it does not have are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Private {
    pub scheduler: u16,
    pub event: u8,
    pub words: [u32; 3],
}

impl Private {
    /// What `r` is, if it is a private record. Those of more than three words, which readers keep
    /// as they come ([`Kind::Other`]), are such records too.
    #[inline]
    pub fn of(r: &Record) -> Option<Private> {
        match r.kind {
            Kind::Policy => Some(Private {
                scheduler: r.vcpu.domain.0,
                event: r.detail & 63,
                words: [r.data[0], r.data[1], r.data[2]],
            }),
            // 0x22000 | scheduler << 9 | event.
            Kind::Other if r.data[0] & 0xffff_f000 == 0x2_2000 && r.data[0] & 0x1ff < 64 => {
                Some(Private {
                    scheduler: (r.data[0] >> 9 & 7) as u16,
                    event: (r.data[0] & 63) as u8,
                    words: [r.data[1], r.data[2], r.data[3]],
                })
            }
            _ => None,
        }
    }

    /// The first two words as a number of 64 bits.
    pub fn wide(&self) -> i64 {
        (u64::from(self.words[1]) << 32 | u64::from(self.words[0])) as i64
    }
}

/// The event that a scheduler writes first in each pass.
fn pass_event(of: u16) -> Option<u8> {
    match of {
        scheduler::CREDIT => Some(9),
        scheduler::CREDIT2 => Some(21),
        scheduler::RTDS => Some(6),
        scheduler::NULL => Some(5),
        _ => None,
    }
}

/// Whether a pass begins with `r`.
#[inline]
pub(crate) fn is_pass(r: &Record) -> bool {
    Private::of(r).is_some_and(|p| pass_event(p.scheduler) == Some(p.event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Instant, PcpuId, VcpuName};

    #[test]
    fn a_pass_begins_with_the_event_of_its_scheduler() {
        let of = |scheduler, event| Record::policy(Instant::ZERO, PcpuId(0), scheduler, event, &[]);
        for (scheduler, event) in [(0, 9), (1, 21), (4, 6), (5, 5)] {
            assert!(is_pass(&of(scheduler, event)), "{scheduler}");
            assert!(!is_pass(&of(scheduler, event + 1)), "{scheduler}");
        }
        // Credit2's number 9 is another event.
        assert!(!is_pass(&of(1, 9)));
    }

    #[test]
    fn long_records_are_private_too() {
        let mut r = Record::new(Instant::ZERO, PcpuId(0), Kind::Other, VcpuName::default());
        r.data = [0x2_2203, 1, 2, 3];
        let found = Private::of(&r).expect("private");
        assert_eq!((found.scheduler, found.event), (1, 3));
        assert_eq!((found.words, found.wide()), ([1, 2, 3], 0x2_0000_0001));
        r.data[0] = 0x2_1203;
        assert_eq!(Private::of(&r), None);
    }
}
