//! Trace records: what a host says about itself, simulated or recorded.
//!
//! A record is a time, a pcpu, an actor, a class with a number, and up to four words. What number
//! and words mean is declared once by who writes the record ([`Class`]); whom the actor's number
//! stands for is in the stream's [`Names`](crate::Names). One record is 32 bytes and holds no
//! pointer, so that a host can emit millions a second and a reader can stream them.
//!
//! This page has the common class, which every host writes. The vocabulary is Xen's (xen-spec 7):
//! runstate changes, switches, wakes, blocks.

use crate::accounted::{JOB_TURNAROUND, JOBS, PROCESSOR};
use crate::class::{Class, ClassId, Declared, Field, Unit};
use crate::{ActorId, DomainId, Instant, PcpuId, Runstate};

/// Number of a record of the common class, and the meaning of its words.
///
/// "ns" words saturate at `u32::MAX`; Xen's own 32-bit fields wrap instead, which a reader of real
/// files has to live with. A long value has its low word first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// The actor went from one runstate to another; word 0 = old << 4 | new
    /// (TRC_SCHED_RUNSTATE_CHANGE).
    ///
    /// Where old and new are equal, nothing changes and the record is a mark: the vcpu is in that
    /// state at this instant. A simulated host writes one for each vcpu where a trace begins and
    /// where it ends, so that a vcpu which stays in one state throughout is accounted for. A mark
    /// starts no run and ends none. Xen itself never writes one.
    RunstateChange = 0,
    /// The pcpu went from the actor to another, both runstates changing at this instant: the actor
    /// from running to the state in bits 30 and 31 of word 0, the other one, whose [`ActorId`] is
    /// in the bits below, from runnable to running. Words 1 to 3 = ns that the actor ran, ns that
    /// the other one waited runnable, slice in ns (`u32::MAX` for none). It stands for Xen's five
    /// records INFPREV, INFNEXT, SWITCH and two RUNSTATE_CHANGE; idle vcpus go to runnable.
    Switch = 1,
    /// The actor keeps running on the pcpu after a scheduler pass; words = ns run so far, slice in
    /// ns (TRC_SCHED_SWITCH_INFCONT and TRC_SCHED_CONTINUE_RUNNING).
    Continue = 2,
    /// The actor was woken, by code running on the pcpu (TRC_SCHED_WAKE).
    Wake = 3,
    /// The actor blocked (TRC_SCHED_BLOCK).
    Block = 4,
    /// The actor was put to sleep: paused or parked (TRC_SCHED_SLEEP).
    Sleep = 5,
    /// The actor yielded (TRC_SCHED_YIELD).
    Yield = 6,
    /// A domain was created; the actor is its vcpu 0 (TRC_SCHED_DOM_ADD).
    DomainAdd = 7,
    /// A domain was destroyed; the actor is its vcpu 0 (TRC_SCHED_DOM_REM).
    DomainRemove = 8,
    /// Records of the pcpu are missing, from this time to its next record; word 0 = how many, at
    /// least (TRC_LOST_RECORDS).
    Lost = 9,
    /// Xen's TRC_SCHED_SWITCH_INFPREV as read from a real file: the actor (vcpu 0 before 4.8, where
    /// only the domain is known), word 0 = ns ran.
    InfPrev = 10,
    /// Xen's TRC_SCHED_SWITCH_INFNEXT as read from a real file: the actor (as for `InfPrev`), words
    /// = ns waited, slice in ns.
    InfNext = 11,
    /// Xen's TRC_SCHED_SWITCH as read from a real file: the actor is the previous one, word 0 = the
    /// next one's [`ActorId`].
    SwitchOnly = 12,
    /// A job of a task inside the guest on the actor was finished: words 0 and 1 = ns from release
    /// to completion; the lower 56 bits of words 2 and 3 = ns of processor time that it took, the
    /// upper 8 = number of the task in that vcpu. Only simulated guests give this; no record of Xen
    /// corresponds.
    JobDone = 13,
    /// The actor was sent to through an event channel: words = the port, the sender's [`ActorId`]
    /// ([`ActorId::NONE`] for a device), 1 if the port was pending already and 0 if it is pending
    /// from now on. Only simulated hosts give this, of domains with devices, and not of timers.
    EvtchnSend = 14,
    /// The kernel on the actor has found that a port is pending and enters its handler; the port is
    /// pending no more. Word 0 = the port. Only simulated hosts give this, of domains with devices.
    EvtchnServe = 15,
    /// The actor, of a driver domain, has executed for so long on behalf of a domain since its last
    /// record of this kind for the same domain: word 0 = that [`DomainId`], words 2 and 3 = ns.
    /// Time that no record names was done for nobody. Written when the actor leaves its pcpu and
    /// where a trace begins or ends, before the mark of the actor: at the begin of a trace for what
    /// was done before, which does not count. Only simulated hosts give this, of domains that serve
    /// others.
    DriverWork = 16,
}

impl Kind {
    /// All kinds, by number.
    pub const ALL: [Kind; 17] = [
        Kind::RunstateChange,
        Kind::Switch,
        Kind::Continue,
        Kind::Wake,
        Kind::Block,
        Kind::Sleep,
        Kind::Yield,
        Kind::DomainAdd,
        Kind::DomainRemove,
        Kind::Lost,
        Kind::InfPrev,
        Kind::InfNext,
        Kind::SwitchOnly,
        Kind::JobDone,
        Kind::EvtchnSend,
        Kind::EvtchnServe,
        Kind::DriverWork,
    ];

    /// The kind with number `n`, as files hold it.
    #[inline]
    pub const fn from_number(n: u8) -> Option<Self> {
        if (n as usize) < Kind::ALL.len() {
            Some(Kind::ALL[n as usize])
        } else {
            None
        }
    }

    const fn declared(self, name: &'static str, fields: &'static [Field]) -> Declared {
        Declared::new(self as u8, name, fields)
    }
}

/// The class that every host writes.
pub static COMMON: Class = Class::new(
    "sched",
    &[
        Kind::RunstateChange.declared(
            "runstate-change",
            &[
                Field::bits("old", 4, 4, Unit::Runstate),
                Field::bits("new", 0, 4, Unit::Runstate),
            ],
        ),
        Kind::Switch.declared(
            "switch",
            &[
                Field::bits("next", 0, 30, Unit::Actor),
                Field::bits("left_to", 30, 2, Unit::Runstate),
                Field::word("ran", 1, Unit::Nanoseconds),
                Field::word("waited", 2, Unit::Nanoseconds),
                Field::word("slice", 3, Unit::Nanoseconds),
            ],
        ),
        Kind::Continue.declared(
            "continue",
            &[
                Field::word("ran", 0, Unit::Nanoseconds),
                Field::word("slice", 1, Unit::Nanoseconds),
            ],
        ),
        Kind::Wake.declared("wake", &[]),
        Kind::Block.declared("block", &[]),
        Kind::Sleep.declared("sleep", &[]),
        Kind::Yield.declared("yield", &[]),
        Kind::DomainAdd.declared("domain-add", &[]),
        Kind::DomainRemove.declared("domain-remove", &[]),
        Kind::Lost.declared("lost", &[Field::word("records", 0, Unit::Number)]),
        Kind::InfPrev.declared("infprev", &[Field::word("ran", 0, Unit::Nanoseconds)]),
        Kind::InfNext.declared(
            "infnext",
            &[
                Field::word("waited", 0, Unit::Nanoseconds),
                Field::word("slice", 1, Unit::Nanoseconds),
            ],
        ),
        Kind::SwitchOnly.declared("switch-only", &[Field::word("next", 0, Unit::Actor)]),
        Kind::JobDone
            .declared(
                "job-done",
                &[
                    Field::long("turnaround", 0, Unit::Nanoseconds),
                    Field::bits("executed", 64, 56, Unit::Nanoseconds),
                    Field::bits("task", 120, 8, Unit::Number),
                ],
            )
            .tallies(&[JOB_TURNAROUND]),
        Kind::EvtchnSend.declared(
            "evtchn-send",
            &[
                Field::word("port", 0, Unit::Number),
                Field::word("sender", 1, Unit::Actor),
                Field::word("was_pending", 2, Unit::Flag),
            ],
        ),
        Kind::EvtchnServe.declared("evtchn-serve", &[Field::word("port", 0, Unit::Number)]),
        Kind::DriverWork.declared(
            "driver-work",
            &[
                Field::word("owner", 0, Unit::Domain),
                Field::long("executed", 2, Unit::Nanoseconds),
            ],
        ),
    ],
)
.with_tables(&[&PROCESSOR, &JOBS]);

/// The class of records that nobody declares; see [`ClassId::FOREIGN`].
pub static FOREIGN: Class = Class::new("foreign", &[]);

/// One trace record. See [`Class`] for what number and words mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Record {
    /// When, in nanoseconds.
    pub at: Instant,
    /// Whom it happened to.
    pub actor: ActorId,
    /// The pcpu whose buffer holds the record.
    pub pcpu: PcpuId,
    /// Which declaration says what the rest means.
    pub class: ClassId,
    /// What happened, in that class.
    pub number: u8,
    /// Payload; words that the declaration does not name are 0.
    pub words: [u32; 4],
}

impl Record {
    /// A record of `class` and number.
    #[inline]
    pub const fn of(
        at: Instant,
        pcpu: PcpuId,
        (class, number): (ClassId, u8),
        actor: ActorId,
        words: [u32; 4],
    ) -> Self {
        Record {
            at,
            actor,
            pcpu,
            class,
            number,
            words,
        }
    }

    /// A record of the common class without payload.
    #[inline]
    pub const fn new(at: Instant, pcpu: PcpuId, kind: Kind, actor: ActorId) -> Self {
        Record::with(at, pcpu, kind, actor, [0; 4])
    }

    /// A record of the common class.
    #[inline]
    pub const fn with(
        at: Instant,
        pcpu: PcpuId,
        kind: Kind,
        actor: ActorId,
        words: [u32; 4],
    ) -> Self {
        Record::of(at, pcpu, (ClassId::COMMON, kind as u8), actor, words)
    }

    /// A runstate change of `actor`.
    #[inline]
    pub const fn runstate(
        at: Instant,
        pcpu: PcpuId,
        actor: ActorId,
        old: Runstate,
        new: Runstate,
    ) -> Self {
        let word = (old as u32) << 4 | new as u32;
        Record::with(at, pcpu, Kind::RunstateChange, actor, [word, 0, 0, 0])
    }

    /// A [`Kind::Switch`] from `actor`, which goes to `left_to`, to `next`; `ns` = ns that `actor`
    /// ran, ns that `next` waited, slice in ns.
    #[inline]
    pub const fn switch(
        at: Instant,
        pcpu: PcpuId,
        (actor, left_to): (ActorId, Runstate),
        next: ActorId,
        [ran, waited, slice]: [u32; 3],
    ) -> Self {
        let word = next.0 | (left_to as u32) << 30;
        Record::with(at, pcpu, Kind::Switch, actor, [word, ran, waited, slice])
    }

    /// A [`Kind::JobDone`] of task number `task` on `actor`, with ns from release to completion and
    /// ns of processor time (saturating at 2^56 - 1).
    #[inline]
    pub const fn job_done(
        at: Instant,
        pcpu: PcpuId,
        actor: ActorId,
        task: u8,
        [turnaround, executed]: [u64; 2],
    ) -> Self {
        let most = (1 << 56) - 1;
        let executed = if executed < most { executed } else { most };
        let upper = executed | (task as u64) << 56;
        let words = [
            turnaround as u32,
            (turnaround >> 32) as u32,
            upper as u32,
            (upper >> 32) as u32,
        ];
        Record::with(at, pcpu, Kind::JobDone, actor, words)
    }

    /// A [`Kind::DriverWork`]: `actor` has executed for `ns` nanoseconds on behalf of `owner`.
    #[inline]
    pub const fn driver_work(
        at: Instant,
        pcpu: PcpuId,
        actor: ActorId,
        owner: DomainId,
        ns: u64,
    ) -> Self {
        let words = [owner.0 as u32, 0, ns as u32, (ns >> 32) as u32];
        Record::with(at, pcpu, Kind::DriverWork, actor, words)
    }

    /// The kind of a record of the common class; `None` for other classes.
    #[inline]
    pub const fn kind(&self) -> Option<Kind> {
        if self.class.0 == ClassId::COMMON.0 {
            Kind::from_number(self.number)
        } else {
            None
        }
    }

    /// Whether this is a record of the common class of this kind.
    #[inline]
    pub const fn is(&self, kind: Kind) -> bool {
        self.class.0 == ClassId::COMMON.0 && self.number == kind as u8
    }

    /// Old and new runstate of a [`Kind::RunstateChange`]; `None` for others and for numbers that
    /// Xen does not define.
    #[inline]
    pub const fn runstates(&self) -> Option<(Runstate, Runstate)> {
        if !self.is(Kind::RunstateChange) || self.words[0] > 0xff {
            return None;
        }
        match (
            Runstate::from_number(self.words[0] as u8 >> 4),
            Runstate::from_number(self.words[0] as u8 & 15),
        ) {
            (Some(old), Some(new)) => Some((old, new)),
            _ => None,
        }
    }

    /// The vcpu that runs next by a [`Kind::Switch`] or [`Kind::SwitchOnly`]; `None` for others.
    #[inline]
    pub const fn next(&self) -> Option<ActorId> {
        match self.kind() {
            Some(Kind::Switch) => Some(ActorId(self.words[0] & (ActorId::MAX - 1))),
            Some(Kind::SwitchOnly) => Some(ActorId(self.words[0])),
            _ => None,
        }
    }

    /// The same [`Kind::Switch`] or [`Kind::SwitchOnly`] with `next` as the vcpu that runs next;
    /// others as they are.
    #[must_use]
    pub const fn with_next(mut self, next: ActorId) -> Self {
        match self.kind() {
            Some(Kind::Switch) => {
                self.words[0] = self.words[0] & !(ActorId::MAX - 1) | next.0;
            }
            Some(Kind::SwitchOnly) => self.words[0] = next.0,
            _ => {}
        }
        self
    }

    /// The runstate changes that the record stands for, as actor, old and new runstate: one for
    /// [`Kind::RunstateChange`], two for [`Kind::Switch`] in Xen's order (the one that leaves
    /// first), none for others and for numbers that Xen does not define.
    #[inline]
    pub const fn changes(&self) -> [Option<(ActorId, Runstate, Runstate)>; 2] {
        match self.kind() {
            Some(Kind::RunstateChange) => match self.runstates() {
                Some((old, new)) => [Some((self.actor, old, new)), None],
                None => [None; 2],
            },
            Some(Kind::Switch) => {
                let next = ActorId(self.words[0] & (ActorId::MAX - 1));
                match Runstate::from_number((self.words[0] >> 30) as u8) {
                    Some(left_to) => [
                        Some((self.actor, Runstate::Running, left_to)),
                        Some((next, Runstate::Runnable, Runstate::Running)),
                    ],
                    None => [None; 2],
                }
            }
            _ => [None; 2],
        }
    }

    /// Whom the work of a [`Kind::DriverWork`] was done for, and its ns; `None` for others.
    #[inline]
    pub const fn done_for(&self) -> Option<(DomainId, u64)> {
        if !self.is(Kind::DriverWork) {
            return None;
        }
        Some((DomainId(self.words[0] as u16), self.long(2)))
    }

    /// Task, ns from release to completion and ns of processor time of a [`Kind::JobDone`]; `None`
    /// for others.
    #[inline]
    pub const fn job(&self) -> Option<(u8, u64, u64)> {
        if !self.is(Kind::JobDone) {
            return None;
        }
        let upper = self.long(2);
        Some(((upper >> 56) as u8, self.long(0), upper & ((1 << 56) - 1)))
    }

    /// Words `word` (the lower half) and `word + 1` (0 to 3) as one value.
    #[inline]
    pub const fn long(&self, word: usize) -> u64 {
        self.words[word] as u64 | (self.words[word + 1] as u64) << 32
    }

    /// Whether this is a [`Kind::RunstateChange`] between equal states, which changes nothing.
    #[inline]
    pub fn is_mark(&self) -> bool {
        self.runstates().is_some_and(|(old, new)| old == new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Names;

    const AT: Instant = Instant::ZERO;
    const PCPU: PcpuId = PcpuId(0);

    #[test]
    fn a_record_is_half_a_cache_line() {
        assert_eq!(core::mem::size_of::<Record>(), 32);
    }

    #[test]
    fn kinds_are_listed_by_number_and_declared() {
        let names = Names::new();
        for (i, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
            assert_eq!(Kind::from_number(i as u8), Some(kind));
            let record = Record::new(AT, PCPU, kind, ActorId(0));
            assert_eq!(record.kind(), Some(kind));
            assert_eq!(names.declared(&record), COMMON.records.get(i));
        }
        assert_eq!(Kind::from_number(Kind::ALL.len() as u8), None);
    }

    #[test]
    fn payloads_come_back() {
        let (v, idle) = (ActorId(3), ActorId(ActorId::MAX - 1));
        let (running, blocked) = (Runstate::Running, Runstate::Blocked);
        let r = Record::runstate(AT, PCPU, v, running, blocked);
        assert_eq!(r.runstates(), Some((running, blocked)));
        assert_eq!(r.changes(), [Some((v, running, blocked)), None]);
        let switch = Record::switch(AT, PCPU, (v, blocked), idle, [1, 2, 3]);
        assert_eq!(switch.changes()[0], r.changes()[0]);
        assert_eq!(
            switch.changes()[1],
            Some((idle, Runstate::Runnable, running))
        );
        assert_eq!((switch.next(), switch.words[3]), (Some(idle), 3));
        let other = switch.with_next(v);
        assert_eq!(
            (other.next(), other.changes()[0]),
            (Some(v), switch.changes()[0])
        );
        let work = Record::driver_work(AT, PCPU, v, DomainId(7), 5 << 32 | 9);
        assert_eq!(work.done_for(), Some((DomainId(7), 5 << 32 | 9)));
        let job = Record::job_done(AT, PCPU, v, 200, [7 << 33, u64::MAX]);
        assert_eq!(job.job(), Some((200, 7 << 33, (1 << 56) - 1)));
        for r in [work, job] {
            assert_eq!(
                (r.runstates(), r.changes(), r.next()),
                (None, [None; 2], None)
            );
        }
        assert_eq!((r.done_for(), r.job()), (None, None));
    }

    #[test]
    fn declared_fields_are_where_the_record_has_them() {
        let names = Names::new();
        let of = |r: &Record| {
            let declared = names.declared(r).unwrap();
            let values = declared.fields.iter().map(|f| f.value(r));
            values.collect::<alloc::vec::Vec<_>>()
        };
        let (v, next) = (ActorId(3), ActorId(9));
        let r = Record::runstate(AT, PCPU, v, Runstate::Runnable, Runstate::Blocked);
        assert_eq!(of(&r), [1, 2]);
        let r = Record::switch(AT, PCPU, (v, Runstate::Offline), next, [4, 5, 6]);
        assert_eq!(of(&r), [9, 3, 4, 5, 6]);
        let r = Record::job_done(AT, PCPU, v, 2, [1 << 40, 1 << 50]);
        assert_eq!(of(&r), [1 << 40, 1 << 50, 2]);
        assert_eq!(
            of(&Record::driver_work(AT, PCPU, v, DomainId(4), 8)),
            [4, 8]
        );
    }

    #[test]
    fn other_classes_are_no_kind() {
        let r = Record::of(AT, PCPU, (ClassId(2), 0), ActorId(0), [0x12, 0, 0, 0]);
        assert_eq!((r.kind(), r.runstates()), (None, None));
        assert_eq!(r.changes(), [None; 2]);
    }
}
