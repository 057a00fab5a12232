//! Xen's event ids, and what they are as [`Record`]s (xen-spec 7.1 and 7.2).

use domio_core::{DomainId, Instant, Kind, PcpuId, Record, Runstate, VcpuName};

/// Names the cpu and the size of the window that follows (in files, never in Xen's buffers).
pub(crate) const CPU_CHANGE: u32 = 0x1f003;
/// No event of Xen: every one has a class in bits 16 to 27. Zeros where records were expected are a
/// part of the file that was never written.
pub(crate) const NO_EVENT: u32 = 0;
/// Header word of a CPU_CHANGE record: two extra words, no time.
pub(crate) const CPU_CHANGE_HEADER: u32 = 0x2001_f003;
/// Xen had no room and dropped records.
pub(crate) const LOST_RECORDS: u32 = 0x1f001;
/// Padding at the end of Xen's ring.
pub(crate) const WRAP_BUFFER: u32 = 0x1f002;
/// Bit 31 of a header word: a time stamp follows.
pub(crate) const HAS_CYCLES: u32 = 1 << 31;
/// Bits 0 to 27 of a header word.
pub(crate) const EVENT_MASK: u32 = 0x0fff_ffff;
/// Most extra words that a record can have.
pub(crate) const EXTRA_MAX: usize = 7;

/// Runstate change; old state in bits 8 to 11, new state in bits 4 to 7.
const RUNSTATE_CHANGE: u32 = 0x21001;
const CONTINUE_RUNNING: u32 = 0x21002;
/// First of the scheduler's common events since Xen 3.4.
const SCHED: u32 = 0x28000;
/// The same events before 3.4.
const SCHED_OLD: u32 = 0x2f000;
/// First of the policies' private events: scheduler id in bits 9 to 11, number below.
const SCHED_POLICY: u32 = 0x22000;

const DOM_ADD: u32 = 1;
const DOM_REM: u32 = 2;
const SLEEP: u32 = 3;
const WAKE: u32 = 4;
const YIELD: u32 = 5;
const BLOCK: u32 = 6;
const SWITCH: u32 = 10;
const INFPREV: u32 = 14;
const INFNEXT: u32 = 15;
const INFCONT: u32 = 17;

/// What one record of a file means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decoded {
    /// A record of ours.
    Record(Record),
    /// CONTINUE_RUNNING of a vcpu: a [`Kind::Continue`] of its own in files without INFCONT, the
    /// second half of one in files with it.
    ContinueRunning(Record),
    /// Padding.
    Nothing,
}

/// The meaning of `event` with its extra words. What is not known, or has words that the event
/// cannot have, becomes [`Kind::Other`].
pub(crate) fn decode(at: Instant, pcpu: PcpuId, event: u32, extra: &[u32]) -> Decoded {
    if event == WRAP_BUFFER {
        return Decoded::Nothing;
    }
    let record = |kind, vcpu| Record::new(at, pcpu, kind, vcpu);
    if event & 0xffff_f00f == RUNSTATE_CHANGE
        && let [word] = *extra
    {
        let mut r = record(Kind::RunstateChange, VcpuName::from_word(word));
        r.detail = (event >> 4) as u8;
        if r.runstates().is_some() {
            return Decoded::Record(r);
        }
    }
    if event == CONTINUE_RUNNING
        && let [word] = *extra
    {
        return Decoded::ContinueRunning(record(Kind::Continue, VcpuName::from_word(word)));
    }
    let known = match event & 0xffff_f000 {
        SCHED | SCHED_OLD => decode_common(at, pcpu, event & 0xfff, extra),
        SCHED_POLICY if event & 0x1ff < 64 && extra.len() <= 3 => Some(Record::policy(
            at,
            pcpu,
            (event >> 9 & 7) as u16,
            (event & 63) as u8,
            extra,
        )),
        0x1f000 if event == LOST_RECORDS && !extra.is_empty() => {
            let vcpu = extra.get(1).map_or(VcpuName::default(), |&w| {
                // Here the domain is in the low half.
                VcpuName::new(DomainId(w as u16), (w >> 16) as u16)
            });
            let mut r = record(Kind::Lost, vcpu);
            r.data[0] = extra[0];
            Some(r)
        }
        _ => None,
    };
    Decoded::Record(known.unwrap_or_else(|| other(at, pcpu, event, extra)))
}

/// The scheduler's common events by number. The layouts before and since 4.8 differ in length, so
/// the length tells them apart.
fn decode_common(at: Instant, pcpu: PcpuId, number: u32, extra: &[u32]) -> Option<Record> {
    let record = |kind, domain: u32, index: u32| {
        let name = VcpuName::new(
            DomainId(u16::try_from(domain).ok()?),
            u16::try_from(index).ok()?,
        );
        Some(Record::new(at, pcpu, kind, name))
    };
    let with = |r: Option<Record>, words: &[u32]| {
        let mut r = r?;
        r.data[..words.len()].copy_from_slice(words);
        Some(r)
    };
    match (number, extra) {
        (DOM_ADD, &[d]) => record(Kind::DomainAdd, d, 0),
        (DOM_ADD, &[d, v]) => record(Kind::DomainAdd, d, v),
        (DOM_REM, &[d]) => record(Kind::DomainRemove, d, 0),
        (DOM_REM, &[d, v]) => record(Kind::DomainRemove, d, v),
        (SLEEP, &[d, v]) => record(Kind::Sleep, d, v),
        (WAKE, &[d, v]) => record(Kind::Wake, d, v),
        (YIELD, &[d, v]) => record(Kind::Yield, d, v),
        (BLOCK, &[d, v]) => record(Kind::Block, d, v),
        (SWITCH, &[pd, pv, nd, nv]) => {
            let next = VcpuName::new(DomainId(u16::try_from(nd).ok()?), u16::try_from(nv).ok()?);
            with(record(Kind::SwitchOnly, pd, pv), &[next.word()])
        }
        (INFPREV, &[d, ran]) => with(record(Kind::InfPrev, d, 0), &[ran]),
        (INFPREV, &[d, v, ran]) => with(record(Kind::InfPrev, d, v), &[ran]),
        (INFNEXT, &[d, waited, slice]) => with(record(Kind::InfNext, d, 0), &[waited, slice]),
        (INFNEXT, &[d, v, waited, slice]) => with(record(Kind::InfNext, d, v), &[waited, slice]),
        (INFCONT, &[d, v, ran, slice]) => with(record(Kind::Continue, d, v), &[ran, slice]),
        _ => None,
    }
}

/// A record of the formats up to 3.1, which always carries five words, used or not.
pub(crate) fn decode_old(at: Instant, pcpu: PcpuId, event: u32, words: [u32; 5]) -> Record {
    let used = match (event & 0xffff_f000, event & 0xfff) {
        (SCHED_OLD, DOM_ADD | DOM_REM | SLEEP | WAKE | YIELD | BLOCK | INFPREV) => 2,
        (SCHED_OLD, INFNEXT) => 3,
        (SCHED_OLD, SWITCH) => 4,
        (0x1f000, 1) => 1,
        _ => 5,
    };
    match decode(at, pcpu, event, &words[..used]) {
        Decoded::Record(r) => r,
        Decoded::ContinueRunning(_) | Decoded::Nothing => other(at, pcpu, event, &words),
    }
}

fn other(at: Instant, pcpu: PcpuId, event: u32, extra: &[u32]) -> Record {
    let mut r = Record::new(at, pcpu, Kind::Other, VcpuName::default());
    r.detail = extra.len() as u8;
    r.data[0] = event;
    for (to, from) in r.data[1..].iter_mut().zip(extra) {
        *to = *from;
    }
    r
}

/// Hands the records of Xen 4.17 that `record` stands for to `put`, as event id and extra words, in
/// Xen's order. [`Kind::JobDone`], [`Kind::DriverWork`] and the records of networks and event
/// channels have none, nor has a [`Kind::Other`] that no reader takes for a record ([`NO_EVENT`],
/// [`CPU_CHANGE`]).
pub(crate) fn encode(record: &Record, mut put: impl FnMut(u32, &[u32])) {
    let v = record.vcpu;
    let (domain, index) = (u32::from(v.domain.0), u32::from(v.index));
    let data = record.data;
    match record.kind {
        Kind::RunstateChange => put(RUNSTATE_CHANGE | u32::from(record.detail) << 4, &[v.word()]),
        Kind::Switch => {
            let next = VcpuName::from_word(data[0]);
            let (next_domain, next_index) = (u32::from(next.domain.0), u32::from(next.index));
            put(SCHED | INFPREV, &[domain, index, data[1]]);
            put(
                SCHED | INFNEXT,
                &[next_domain, next_index, data[2], data[3]],
            );
            put(SCHED | SWITCH, &[domain, index, next_domain, next_index]);
            put(
                RUNSTATE_CHANGE | u32::from(record.detail & 15) << 4,
                &[v.word()],
            );
            put(
                RUNSTATE_CHANGE | (Runstate::Runnable as u32) << 8,
                &[next.word()],
            );
        }
        Kind::Continue => {
            put(SCHED | INFCONT, &[domain, index, data[0], data[1]]);
            put(CONTINUE_RUNNING, &[v.word()]);
        }
        Kind::Wake => put(SCHED | WAKE, &[domain, index]),
        Kind::Block => put(SCHED | BLOCK, &[domain, index]),
        Kind::Sleep => put(SCHED | SLEEP, &[domain, index]),
        Kind::Yield => put(SCHED | YIELD, &[domain, index]),
        Kind::DomainAdd => put(SCHED | DOM_ADD, &[domain, index]),
        Kind::DomainRemove => put(SCHED | DOM_REM, &[domain, index]),
        Kind::Policy => {
            if let Some((number, words)) = record.policy_event() {
                put(SCHED_POLICY | (domain & 7) << 9 | u32::from(number), words);
            }
        }
        // The last two words are the time of the first lost record, which is not kept: the caller
        // knows a time that is near.
        Kind::Lost => put(LOST_RECORDS, &[data[0], domain | index << 16, 0, 0]),
        Kind::InfPrev => put(SCHED | INFPREV, &[domain, index, data[0]]),
        Kind::InfNext => put(SCHED | INFNEXT, &[domain, index, data[0], data[1]]),
        Kind::SwitchOnly => {
            let next = VcpuName::from_word(data[0]);
            put(
                SCHED | SWITCH,
                &[domain, index, next.domain.0.into(), next.index.into()],
            );
        }
        Kind::Other if matches!(data[0] & EVENT_MASK, NO_EVENT | CPU_CHANGE) => {}
        Kind::Other => {
            let mut words = [0; EXTRA_MAX];
            words[..3].copy_from_slice(&data[1..]);
            put(
                data[0] & EVENT_MASK,
                &words[..usize::from(record.detail).min(EXTRA_MAX)],
            );
        }
        Kind::JobDone
        | Kind::NetDelivered
        | Kind::NetReply
        | Kind::EvtchnSend
        | Kind::EvtchnServe
        | Kind::NetMove
        | Kind::DriverWork
        | Kind::Web => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Instant = Instant::from_nanos(5);

    fn one(event: u32, extra: &[u32]) -> Record {
        match decode(AT, PcpuId(1), event, extra) {
            Decoded::Record(r) => r,
            other => panic!("{other:?}"),
        }
    }

    fn headers(record: &Record) -> Vec<u32> {
        let mut out = Vec::new();
        encode(record, |event, extra| {
            out.push(HAS_CYCLES | (extra.len() as u32) << 28 | event);
        });
        out
    }

    #[test]
    fn headers_are_those_of_the_specification() {
        let v = VcpuName::new(DomainId(3), 1);
        let r = Record::runstate(AT, PcpuId(0), v, Runstate::Running, Runstate::Blocked);
        assert_eq!(headers(&r), [0x9002_1021]);
        assert_eq!(
            headers(&Record::new(AT, PcpuId(0), Kind::Wake, v)),
            [0xa002_8004]
        );
        let mut switch = Record::new(AT, PcpuId(0), Kind::Switch, v);
        switch.detail = Runstate::Blocked as u8;
        assert_eq!(
            headers(&switch),
            [
                0xb002_800e,
                0xc002_800f,
                0xc002_800a,
                0x9002_1021,
                0x9002_1101
            ]
        );
        assert_eq!(
            headers(&Record::new(AT, PcpuId(0), Kind::Lost, v)),
            [0xc001_f001]
        );
        assert_eq!(CPU_CHANGE_HEADER, 2 << 28 | CPU_CHANGE);
    }

    #[test]
    fn what_no_reader_takes_for_a_record_is_not_written() {
        for event in [0, HAS_CYCLES, CPU_CHANGE] {
            let mut r = Record::new(AT, PcpuId(0), Kind::Other, VcpuName::default());
            r.data[0] = event;
            assert!(headers(&r).is_empty(), "{event:#x}");
        }
    }

    #[test]
    fn both_layouts_of_the_switch_records_are_read() {
        let old = one(0x2800e, &[7, 123]);
        assert_eq!(old.vcpu, VcpuName::new(DomainId(7), 0));
        assert_eq!(old.data[0], 123);
        let new = one(0x2800e, &[7, 2, 123]);
        assert_eq!(new.vcpu, VcpuName::new(DomainId(7), 2));
        assert_eq!(new.data[0], 123);
        assert_eq!(one(0x2800f, &[7, 50, 60]).data[..2], [50, 60]);
        assert_eq!(one(0x2800f, &[7, 2, 50, 60]).data[..2], [50, 60]);
        assert_eq!(one(0x2f00e, &[7, 123]), old, "the ids before 3.4");
    }

    #[test]
    fn what_cannot_be_is_kept_as_it_came() {
        for (event, extra) in [
            (0x28004, &[1][..]),          // WAKE without its vcpu
            (0x28004, &[70_000, 0][..]),  // no such domain
            (0x21901, &[0][..]),          // old runstate 9
            (0x2203f + 1, &[0][..]),      // number 64 of credit
            (0x22001, &[1, 2, 3, 4][..]), // more words than a record holds
            (0x201_001, &[1, 2][..]),     // a PV hypercall
        ] {
            let r = one(event, extra);
            assert_eq!(r.kind, Kind::Other);
            assert_eq!(r.data[0], event);
            assert_eq!(usize::from(r.detail), extra.len());
        }
    }

    #[test]
    fn old_records_have_unused_words_that_do_not_matter() {
        let r = decode_old(AT, PcpuId(0), 0x2f00e, [4, 99, 0xdead, 0xdead, 0xdead]);
        assert_eq!((r.kind, r.vcpu.domain.0, r.data[0]), (Kind::InfPrev, 4, 99));
        let r = decode_old(AT, PcpuId(0), 0x1f001, [17, 1, 1, 1, 1]);
        assert_eq!((r.kind, r.data[0]), (Kind::Lost, 17));
    }
}
