//! Private records of the policies of Xen 4.17, by scheduler, and what work of the hypervisor each
//! tells of.

use domio_core::{Kind, Record};

/// Xen's numbers of schedulers.
pub mod scheduler {
    /// Credit.
    pub const CREDIT: u16 = 0;
    /// Credit2.
    pub const CREDIT2: u16 = 1;
    /// RTDS.
    pub const RTDS: u16 = 4;
    /// Null.
    pub const NULL: u16 = 5;
}

/// A private record: which scheduler's, which event, and the first three of its words. Words that
/// it does not have are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Private {
    /// One of [`scheduler`].
    pub scheduler: u16,
    /// The policy's own number of the event.
    pub event: u8,
    /// The first words.
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

/// WrittenIn of the hypervisor that a private record is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrittenIn {
    /// A scheduler pass: the record is the first in it.
    Pass,
    /// The handler of the timer that the policy keeps in this slot of each pcpu. A handler may
    /// write several such records.
    Timer(u8),
}

/// The work that `r` is written in, if it is a private record that tells.
#[inline]
pub fn written_in(r: &Record) -> Option<WrittenIn> {
    use scheduler::{CREDIT, CREDIT2, NULL, RTDS};
    let private = Private::of(r)?;
    match (private.scheduler, private.event) {
        (CREDIT, 9) | (CREDIT2, 21) | (RTDS, 6) | (NULL, 5) => Some(WrittenIn::Pass),
        // Credit's tick: who begins to earn, who was looked at, who is boosted no more.
        (CREDIT, 2 | 5 | 8) => Some(WrittenIn::Timer(0)),
        _ => None,
    }
}

/// Whether a pass begins with `r`.
#[inline]
pub fn is_pass(r: &Record) -> bool {
    written_in(r) == Some(WrittenIn::Pass)
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
    fn the_records_of_a_tick_are_of_a_timer() {
        let of = |scheduler, event| {
            written_in(&Record::policy(
                Instant::ZERO,
                PcpuId(0),
                scheduler,
                event,
                &[],
            ))
        };
        for event in [2, 5, 8] {
            assert_eq!(of(0, event), Some(WrittenIn::Timer(0)), "{event}");
            assert_eq!(of(1, event), None, "{event}");
        }
        // Accounting writes this one.
        assert_eq!(of(0, 3), None);
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
