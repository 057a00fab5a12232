//! Private records of the policies of Xen 4.17, by policy, and what work of the hypervisor each
//! reports.

use crate::named::NamedRecord;
use domio_core::{Names, Record, Says};
use domio_trace::policy_of;

/// A private record: which policy's, which event, and its words. Words that it does not have are
/// zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Private {
    /// Name of the policy.
    pub policy: &'static str,
    /// The policy's own number of the event; `None` for one that nobody declares.
    pub event: Option<u8>,
    /// The words.
    pub words: [u32; 4],
    /// Whether a pass begins with it.
    pub is_pass: bool,
}

impl Private {
    /// What `record` is, if it is a private record of a policy.
    #[inline]
    pub fn of(names: &Names, record: &Record) -> Option<Private> {
        if record.kind().is_some() {
            return None;
        }
        let policy = policy_of(names, record)?;
        let declared = names.declared(record);
        Some(Private {
            policy,
            event: declared.map(|d| d.number),
            words: record.words,
            is_pass: declared.is_some_and(|d| d.says == Says::Pass),
        })
    }

    /// Event `event` of `policy`, which begins no pass, with these words.
    pub fn new(policy: &'static str, event: u8, words: &[u32]) -> Private {
        let mut all = [0; 4];
        all[..words.len()].copy_from_slice(words);
        Private {
            policy,
            event: Some(event),
            words: all,
            is_pass: false,
        }
    }

    /// The same, with which a pass begins.
    pub fn pass(self) -> Private {
        Private {
            is_pass: true,
            ..self
        }
    }

    /// Whether it is `event` of `policy`.
    pub fn is(&self, policy: &str, event: u8) -> bool {
        self.event == Some(event) && self.policy == policy
    }

    /// The first two words as a number of 64 bits.
    pub fn wide(&self) -> i64 {
        (u64::from(self.words[1]) << 32 | u64::from(self.words[0])) as i64
    }
}

/// Work of the hypervisor that a private record is written in.
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
pub fn written_in(r: &NamedRecord) -> Option<WrittenIn> {
    let private = r.private?;
    match (private.policy, private.event) {
        _ if private.is_pass => Some(WrittenIn::Pass),
        // Credit's tick: who begins to earn, who was looked at, who is boosted no more.
        ("credit", Some(2 | 5 | 8)) => Some(WrittenIn::Timer(0)),
        _ => None,
    }
}

/// Whether a pass begins with `r`.
#[inline]
pub fn is_pass(r: &NamedRecord) -> bool {
    written_in(r) == Some(WrittenIn::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{ActorId, ClassId, Instant, PcpuId};

    /// The record `number` of `policy`, as a reader or a simulated host hands it on.
    fn of(policy: &str, number: u8) -> NamedRecord {
        let policy = domio_sched::find(policy).expect("it is there");
        let class = policy.descriptor.class.expect("it has records");
        let mut names = Names::new();
        let id = names.add_class(class);
        let (at, here) = (Instant::ZERO, PcpuId(0));
        let record = Record::of(at, here, (id, number), ActorId::NONE, [1, 2, 3, 0]);
        NamedRecord::of(&names, &record)
    }

    #[test]
    fn a_pass_begins_with_the_event_of_its_scheduler() {
        for (policy, event) in [("credit", 9), ("credit2", 21), ("rtds", 6), ("null", 5)] {
            assert!(is_pass(&of(policy, event)), "{policy}");
            assert!(!is_pass(&of(policy, event + 1)), "{policy}");
        }
        // Credit2's number 9 is another event.
        assert!(!is_pass(&of("credit2", 9)));
    }

    #[test]
    fn the_records_of_a_tick_are_of_a_timer() {
        for event in [2, 5, 8] {
            let tick = Some(WrittenIn::Timer(0));
            assert_eq!(written_in(&of("credit", event)), tick, "{event}");
            assert_eq!(written_in(&of("credit2", event)), None, "{event}");
        }
        // Accounting writes this one.
        assert_eq!(written_in(&of("credit", 3)), None);
    }

    #[test]
    fn an_event_that_nobody_declares_is_private_too() {
        let (at, here) = (Instant::ZERO, PcpuId(0));
        let words = [0x2_2203, 1, 2, 3];
        let foreign = (ClassId::FOREIGN, 3);
        let record = Record::of(at, here, foreign, ActorId::NONE, words);
        let private = NamedRecord::of(&Names::new(), &record).private;
        let found = private.expect("credit2's");
        assert_eq!((found.policy, found.event), ("credit2", None));
        assert_eq!(Private::new("credit", 1, &[1, 2]).wide(), 0x2_0000_0001);
    }
}
