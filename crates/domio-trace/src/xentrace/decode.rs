//! What Xen's events are as [`Record`]s.

use domio_core::{
    ActorId, ActorIndex, Class, ClassId, DomainId, Instant, Kind, Names, PcpuId, Record, VcpuName,
};

use super::event::{
    BLOCK, CONTINUE_RUNNING, DOM_ADD, DOM_REM, Extra, INFCONT, INFNEXT, INFPREV, LOST_RECORDS,
    RUNSTATE_CHANGE, SCHED, SCHED_OLD, SCHED_POLICY, SLEEP, SWITCH, WAKE, WRAP_BUFFER, YIELD,
};
use super::policy::{Layouts, SCHEDULERS, class_name};
use crate::ReadOptions;

/// What one record of a file means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decoded {
    /// A record of ours.
    Record(Record),
    /// CONTINUE_RUNNING of a vcpu: a [`Kind::Continue`] of its own in files without INFCONT, the
    /// second half of one in files with it.
    ContinueRunning(Record),
    /// Padding.
    Nothing,
}

/// Makes records of events, and keeps what their numbers stand for.
pub(crate) struct Decoder {
    names: Names,
    index: ActorIndex,
    /// By scheduler's id, when the caller knows the class.
    policies: [Option<Policy>; SCHEDULERS],
}

struct Policy {
    class: &'static Class,
    layouts: Layouts,
    /// Number of the class, from its first record on.
    id: Option<ClassId>,
}

impl Decoder {
    /// Nothing seen yet; policies' events are told by the classes of `options`.
    pub(crate) fn new(options: &ReadOptions) -> Self {
        let policy = |id| {
            let class = options.class(class_name(id as u8)?)?;
            Some(Policy {
                class,
                layouts: Layouts::of(class)?,
                id: None,
            })
        };
        Decoder {
            names: Names::new(),
            index: ActorIndex::new(),
            policies: std::array::from_fn(policy),
        }
    }

    /// What the numbers of the records so far stand for.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The actor that `name` stands for.
    #[inline]
    pub(crate) fn actor(&mut self, name: VcpuName) -> ActorId {
        self.index.actor(&mut self.names, name)
    }

    /// The meaning of `event` with its extra words. What is not known, or has words that the event
    /// cannot have, is kept as it came ([`ClassId::FOREIGN`]).
    pub(super) fn decode(&mut self, at: Instant, pcpu: PcpuId, event: u32, all: &Extra) -> Decoded {
        let extra = all.as_slice();
        if event == WRAP_BUFFER {
            return Decoded::Nothing;
        }
        if event & 0xffff_f00f == RUNSTATE_CHANGE
            && let [word] = *extra
        {
            let states = [event >> 4 & 0xff, 0, 0, 0];
            let r = Record::with(at, pcpu, Kind::RunstateChange, ActorId::NONE, states);
            if r.runstates().is_some() {
                let actor = self.actor(VcpuName::from_word(word));
                return Decoded::Record(Record { actor, ..r });
            }
        }
        if event == CONTINUE_RUNNING
            && let [word] = *extra
        {
            let actor = self.actor(VcpuName::from_word(word));
            let record = Record::new(at, pcpu, Kind::Continue, actor);
            return Decoded::ContinueRunning(record);
        }
        let known = match event & 0xffff_f000 {
            SCHED | SCHED_OLD => self.common(at, pcpu, event & 0xfff, extra),
            SCHED_POLICY => self.policy(at, pcpu, event, all),
            0x1f000 if event == LOST_RECORDS && !extra.is_empty() => {
                let actor = extra.get(1).map_or(ActorId::NONE, |&w| {
                    // Here the domain is in the low half.
                    self.actor(VcpuName::new(DomainId(w as u16), (w >> 16) as u16))
                });
                let words = [extra[0], 0, 0, 0];
                Some(Record::with(at, pcpu, Kind::Lost, actor, words))
            }
            _ => None,
        };
        Decoded::Record(known.unwrap_or_else(|| foreign(at, pcpu, event, extra)))
    }

    /// The scheduler's common events by number. The layouts before and since 4.8 differ in length,
    /// so the length distinguishes them.
    fn common(&mut self, at: Instant, pcpu: PcpuId, number: u32, extra: &[u32]) -> Option<Record> {
        let name = |domain: u32, index: u32| {
            let domain = DomainId(u16::try_from(domain).ok()?);
            Some(VcpuName::new(domain, u16::try_from(index).ok()?))
        };
        let mut record = |kind, vcpu: Option<VcpuName>, [a, b]: [u32; 2]| {
            let actor = self.actor(vcpu?);
            Some(Record::with(at, pcpu, kind, actor, [a, b, 0, 0]))
        };
        match (number, extra) {
            (DOM_ADD, &[d]) => record(Kind::DomainAdd, name(d, 0), [0; 2]),
            (DOM_ADD, &[d, v]) => record(Kind::DomainAdd, name(d, v), [0; 2]),
            (DOM_REM, &[d]) => record(Kind::DomainRemove, name(d, 0), [0; 2]),
            (DOM_REM, &[d, v]) => record(Kind::DomainRemove, name(d, v), [0; 2]),
            (SLEEP, &[d, v]) => record(Kind::Sleep, name(d, v), [0; 2]),
            (WAKE, &[d, v]) => record(Kind::Wake, name(d, v), [0; 2]),
            (YIELD, &[d, v]) => record(Kind::Yield, name(d, v), [0; 2]),
            (BLOCK, &[d, v]) => record(Kind::Block, name(d, v), [0; 2]),
            (SWITCH, &[pd, pv, nd, nv]) => {
                let (prev, next) = (name(pd, pv)?, name(nd, nv)?);
                let mut record = record(Kind::SwitchOnly, Some(prev), [0; 2])?;
                record.words[0] = self.actor(next).0;
                Some(record)
            }
            (INFPREV, &[d, ran]) => record(Kind::InfPrev, name(d, 0), [ran, 0]),
            (INFPREV, &[d, v, ran]) => record(Kind::InfPrev, name(d, v), [ran, 0]),
            (INFNEXT, &[d, waited, slice]) => record(Kind::InfNext, name(d, 0), [waited, slice]),
            (INFNEXT, &[d, v, waited, slice]) => record(Kind::InfNext, name(d, v), [waited, slice]),
            (INFCONT, &[d, v, ran, slice]) => record(Kind::Continue, name(d, v), [ran, slice]),
            _ => None,
        }
    }

    /// A private event of a policy.
    fn policy(&mut self, at: Instant, pcpu: PcpuId, event: u32, extra: &Extra) -> Option<Record> {
        let policy = self.policies[(event >> 9 & 7) as usize].as_mut()?;
        let number = u8::try_from(event & 0x1ff).ok()?;
        let (vcpu, words) = policy.layouts.decode(number, extra)?;
        let names = &mut self.names;
        let class = *policy
            .id
            .get_or_insert_with(|| names.add_class(policy.class));
        let actor = vcpu.map_or(ActorId::NONE, |name| self.index.actor(names, name));
        Some(Record::of(at, pcpu, (class, number), actor, words))
    }

    /// A record of the formats up to 3.1, which always carries five words, used or not.
    pub(crate) fn decode_old(
        &mut self,
        at: Instant,
        pcpu: PcpuId,
        event: u32,
        words: [u32; 5],
    ) -> Record {
        let used = match (event & 0xffff_f000, event & 0xfff) {
            (SCHED_OLD, DOM_ADD | DOM_REM | SLEEP | WAKE | YIELD | BLOCK | INFPREV) => 2,
            (SCHED_OLD, INFNEXT) => 3,
            (SCHED_OLD, SWITCH) => 4,
            (0x1f000, 1) => 1,
            _ => 5,
        };
        match self.decode(at, pcpu, event, &Extra::of(&words[..used])) {
            Decoded::Record(r) => r,
            Decoded::ContinueRunning(_) | Decoded::Nothing => foreign(at, pcpu, event, &words),
        }
    }
}

/// A record that nobody declares.
fn foreign(at: Instant, pcpu: PcpuId, event: u32, extra: &[u32]) -> Record {
    let mut words = [event, 0, 0, 0];
    for (to, from) in words[1..].iter_mut().zip(extra) {
        *to = *from;
    }
    let what = (ClassId::FOREIGN, extra.len() as u8);
    Record::of(at, pcpu, what, ActorId::NONE, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::Declared;

    const AT: Instant = Instant::from_nanos(5);

    /// A record, and the name of its actor.
    fn one(event: u32, extra: &[u32]) -> (Record, Option<VcpuName>) {
        static CREDIT: Class = Class::new("credit", &[Declared::new(7, "boosted", &[])]);
        static KNOWN: &[&Class] = &[&CREDIT];
        let options = ReadOptions {
            classes: KNOWN.to_vec(),
            ..ReadOptions::default()
        };
        let mut decoder = Decoder::new(&options);
        match decoder.decode(AT, PcpuId(1), event, &Extra::of(extra)) {
            Decoded::Record(r) => (r, decoder.names().vcpu(r.actor)),
            other => panic!("{other:?}"),
        }
    }

    fn name(domain: u16, index: u16) -> Option<VcpuName> {
        Some(VcpuName::new(DomainId(domain), index))
    }

    #[test]
    fn both_layouts_of_the_switch_records_are_read() {
        let old = one(0x2800e, &[7, 123]);
        assert_eq!((old.1, old.0.words[0]), (name(7, 0), 123));
        let new = one(0x2800e, &[7, 2, 123]);
        assert_eq!((new.1, new.0.words[0]), (name(7, 2), 123));
        assert_eq!(one(0x2800f, &[7, 50, 60]).0.words[..2], [50, 60]);
        assert_eq!(one(0x2800f, &[7, 2, 50, 60]).0.words[..2], [50, 60]);
        assert_eq!(one(0x2f00e, &[7, 123]), old, "the ids before 3.4");
    }

    #[test]
    fn a_policys_event_is_a_record_of_its_class() {
        let (record, vcpu) = one(0x22007, &[4, 1]);
        assert_eq!((record.class, record.number), (ClassId(2), 7));
        assert_eq!(vcpu, name(4, 1));
        // No class is known for credit2.
        assert_eq!(one(0x22207, &[4, 1]).0.class, ClassId::FOREIGN);
    }

    #[test]
    fn what_cannot_be_is_kept_as_it_came() {
        for (event, extra) in [
            (0x28004, &[1][..]),         // WAKE without its vcpu
            (0x28004, &[70_000, 0][..]), // no such domain
            (0x21901, &[0][..]),         // old runstate 9
            (0x22007, &[1][..]),         // fewer words than declared
            (0x22107, &[1, 2][..]),      // number 263 of credit
            (0x201_001, &[1, 2][..]),    // a PV hypercall
        ] {
            let (r, vcpu) = one(event, extra);
            assert_eq!((r.class, vcpu), (ClassId::FOREIGN, None));
            assert_eq!(r.words[0], event);
            assert_eq!(usize::from(r.number), extra.len());
        }
    }

    #[test]
    fn old_records_have_unused_words_that_do_not_matter() {
        let mut decoder = Decoder::new(&ReadOptions::default());
        let words = [4, 99, 0xdead, 0xdead, 0xdead];
        let r = decoder.decode_old(AT, PcpuId(0), 0x2f00e, words);
        assert_eq!((r.kind(), r.words[0]), (Some(Kind::InfPrev), 99));
        assert_eq!(decoder.names().vcpu(r.actor), name(4, 0));
        let r = decoder.decode_old(AT, PcpuId(0), 0x1f001, [17, 1, 1, 1, 1]);
        assert_eq!((r.kind(), r.words[0]), (Some(Kind::Lost), 17));
    }
}
