//! What [`Record`]s are as events of Xen 4.17.

use domio_core::{ActorId, ClassId, Kind, Names, Record, Runstate, VcpuName};

use super::event::{
    BLOCK, CONTINUE_RUNNING, CPU_CHANGE, DOM_ADD, DOM_REM, EVENT_MASK, EXTRA_MAX, INFCONT, INFNEXT,
    INFPREV, LOST_RECORDS, NO_EVENT, RUNSTATE_CHANGE, SCHED, SLEEP, SWITCH, WAKE, YIELD,
};
use super::policy::Layouts;

/// Makes events of records.
#[derive(Default)]
pub(super) struct Encoder {
    /// By class: how Xen lays out its records, when Xen has that class.
    classes: Vec<Option<Box<Layouts>>>,
}

impl Encoder {
    /// Hands the events that `record` stands for to `put`, as event id and extra words, in Xen's
    /// order. A vcpu that nobody named is d0v0.
    ///
    /// [`Kind::JobDone`], [`Kind::DriverWork`], those of event channels and the records of devices
    /// have none, nor has a foreign one that no reader takes for a record ([`NO_EVENT`],
    /// [`CPU_CHANGE`]).
    #[inline]
    pub(super) fn encode(
        &mut self,
        names: &Names,
        record: &Record,
        put: &mut impl FnMut(u32, &[u32]),
    ) {
        match (record.kind(), record.class) {
            (Some(kind), _) => common(names, kind, record, put),
            (None, ClassId::FOREIGN) => foreign(record, put),
            (None, _) => self.policy(names, record, put),
        }
    }

    fn policy(&mut self, names: &Names, record: &Record, put: &mut impl FnMut(u32, &[u32])) {
        for class in &names.classes()[self.classes.len()..] {
            self.classes.push(Layouts::of(class).map(Box::new));
        }
        if let Some(Some(layouts)) = self.classes.get(record.class.index()) {
            // Where Xen names a vcpu and the record none, the pcpu idles.
            let vcpu = names.vcpu(record.actor);
            let vcpu = vcpu.unwrap_or(VcpuName::idle(record.pcpu));
            if let Some((event, extra)) = layouts.encode(record.number, vcpu, &record.words) {
                put(event, extra.as_slice());
            }
        }
    }
}

fn common(names: &Names, kind: Kind, record: &Record, put: &mut impl FnMut(u32, &[u32])) {
    let name = |actor: ActorId| names.vcpu(actor).unwrap_or_default();
    let v = name(record.actor);
    let (domain, index) = (u32::from(v.domain.0), u32::from(v.index));
    let words = record.words;
    match kind {
        Kind::RunstateChange => put(RUNSTATE_CHANGE | (words[0] & 0xff) << 4, &[v.word()]),
        Kind::Switch => {
            let next = name(record.next().unwrap_or(ActorId::NONE));
            let (next_domain, next_index) = (u32::from(next.domain.0), u32::from(next.index));
            put(SCHED | INFPREV, &[domain, index, words[1]]);
            put(
                SCHED | INFNEXT,
                &[next_domain, next_index, words[2], words[3]],
            );
            put(SCHED | SWITCH, &[domain, index, next_domain, next_index]);
            put(RUNSTATE_CHANGE | words[0] >> 30 << 4, &[v.word()]);
            put(
                RUNSTATE_CHANGE | (Runstate::Runnable as u32) << 8,
                &[next.word()],
            );
        }
        Kind::Continue => {
            put(SCHED | INFCONT, &[domain, index, words[0], words[1]]);
            put(CONTINUE_RUNNING, &[v.word()]);
        }
        Kind::Wake => put(SCHED | WAKE, &[domain, index]),
        Kind::Block => put(SCHED | BLOCK, &[domain, index]),
        Kind::Sleep => put(SCHED | SLEEP, &[domain, index]),
        Kind::Yield => put(SCHED | YIELD, &[domain, index]),
        Kind::DomainAdd => put(SCHED | DOM_ADD, &[domain, index]),
        Kind::DomainRemove => put(SCHED | DOM_REM, &[domain, index]),
        // The last two words are the time of the first lost record, which is not kept: the caller
        // knows a time that is near.
        Kind::Lost => put(LOST_RECORDS, &[words[0], domain | index << 16, 0, 0]),
        Kind::InfPrev => put(SCHED | INFPREV, &[domain, index, words[0]]),
        Kind::InfNext => put(SCHED | INFNEXT, &[domain, index, words[0], words[1]]),
        Kind::SwitchOnly => {
            let next = name(record.next().unwrap_or(ActorId::NONE));
            let next = [next.domain.0.into(), next.index.into()];
            put(SCHED | SWITCH, &[domain, index, next[0], next[1]]);
        }
        Kind::JobDone | Kind::EvtchnSend | Kind::EvtchnServe | Kind::DriverWork => {}
    }
}

fn foreign(record: &Record, put: &mut impl FnMut(u32, &[u32])) {
    let event = record.words[0] & EVENT_MASK;
    if !matches!(event, NO_EVENT | CPU_CHANGE) {
        let mut words = [0; EXTRA_MAX];
        words[..3].copy_from_slice(&record.words[1..]);
        put(event, &words[..usize::from(record.number).min(EXTRA_MAX)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xentrace::event::{CPU_CHANGE_HEADER, HAS_CYCLES};
    use domio_core::{DomainId, Instant, PcpuId};

    const AT: Instant = Instant::from_nanos(5);

    fn headers(record: &Record) -> Vec<u32> {
        let mut names = Names::new();
        names.add_actor(VcpuName::new(DomainId(3), 1));
        let mut out = Vec::new();
        Encoder::default().encode(&names, record, &mut |event, extra| {
            out.push(HAS_CYCLES | (extra.len() as u32) << 28 | event);
        });
        out
    }

    #[test]
    fn headers_are_those_of_the_specification() {
        let v = ActorId(0);
        let r = Record::runstate(AT, PcpuId(0), v, Runstate::Running, Runstate::Blocked);
        assert_eq!(headers(&r), [0x9002_1021]);
        let wake = Record::new(AT, PcpuId(0), Kind::Wake, v);
        assert_eq!(headers(&wake), [0xa002_8004]);
        let switch = Record::switch(AT, PcpuId(0), (v, Runstate::Blocked), v, [0; 3]);
        let expected = [
            0xb002_800e,
            0xc002_800f,
            0xc002_800a,
            0x9002_1021,
            0x9002_1101,
        ];
        assert_eq!(headers(&switch), expected);
        let lost = Record::new(AT, PcpuId(0), Kind::Lost, v);
        assert_eq!(headers(&lost), [0xc001_f001]);
        assert_eq!(CPU_CHANGE_HEADER, 2 << 28 | CPU_CHANGE);
    }

    #[test]
    fn what_no_reader_takes_for_a_record_is_not_written() {
        for event in [0, HAS_CYCLES, CPU_CHANGE] {
            let what = (ClassId::FOREIGN, 0);
            let r = Record::of(AT, PcpuId(0), what, ActorId::NONE, [event, 0, 0, 0]);
            assert!(headers(&r).is_empty(), "{event:#x}");
        }
    }
}
