//! Trace records: what a host tells about itself, simulated or recorded.
//!
//! The vocabulary is Xen's (xen-spec 7): runstate changes, switches, wakes, blocks and the
//! policy's private events. One record is 32 bytes and holds no pointer, so that a host can emit
//! millions a second and a reader can stream them. [`Kind`] documents what each field means.

use crate::{DomainId, Instant, NetPlace, PcpuId, VcpuName, WebStep};

/// What a vcpu does (Xen's `RUNSTATE_*`, same numbers).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Runstate {
    /// Executes on a pcpu.
    Running = 0,
    /// Could execute but no pcpu executes it.
    Runnable = 1,
    /// Waits for an event.
    Blocked = 2,
    /// Paused, parked by a cap, or not brought up.
    Offline = 3,
}

impl Runstate {
    /// All four, by number.
    pub const ALL: [Runstate; 4] = [
        Runstate::Running,
        Runstate::Runnable,
        Runstate::Blocked,
        Runstate::Offline,
    ];

    /// The runstate with Xen's number `n`.
    #[inline]
    pub const fn from_number(n: u8) -> Option<Self> {
        match n {
            0 => Some(Runstate::Running),
            1 => Some(Runstate::Runnable),
            2 => Some(Runstate::Blocked),
            3 => Some(Runstate::Offline),
            _ => None,
        }
    }

    /// Lower-case English name.
    pub const fn name(self) -> &'static str {
        match self {
            Runstate::Running => "running",
            Runstate::Runnable => "runnable",
            Runstate::Blocked => "blocked",
            Runstate::Offline => "offline",
        }
    }
}

/// Kind of a [`Record`], and the meaning of its `detail` and `data`.
///
/// "ns" words saturate at `u32::MAX`; Xen's own 32-bit fields wrap instead, which a reader of real
/// files has to live with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// `vcpu` went from one runstate to another; `detail` = old << 4 | new
    /// (TRC_SCHED_RUNSTATE_CHANGE).
    ///
    /// Where old and new are equal, nothing changes and the record is a mark: the vcpu is in that
    /// state at this instant. A simulated host writes one for each vcpu where a trace begins and
    /// where it ends, so that a vcpu which stays in one state throughout is accounted for. A mark
    /// starts no run and ends none. Xen itself never writes one.
    RunstateChange = 0,
    /// `pcpu` went from `vcpu` to another, both runstates changing at this instant: `vcpu` from
    /// running to `detail`, the other from runnable to running. `data` = next as a
    /// [`VcpuName::word`], ns that `vcpu` ran, ns that next waited runnable, slice in ns
    /// (`u32::MAX` for none). It stands for Xen's five records INFPREV, INFNEXT, SWITCH and two
    /// RUNSTATE_CHANGE; idle vcpus go to runnable.
    Switch = 1,
    /// `vcpu` keeps running on `pcpu` after a scheduler pass; `data` = ns run so far, slice in ns
    /// (TRC_SCHED_SWITCH_INFCONT and TRC_SCHED_CONTINUE_RUNNING).
    Continue = 2,
    /// `vcpu` was woken, by code running on `pcpu` (TRC_SCHED_WAKE).
    Wake = 3,
    /// `vcpu` blocked (TRC_SCHED_BLOCK).
    Block = 4,
    /// `vcpu` was put to sleep: paused or parked (TRC_SCHED_SLEEP).
    Sleep = 5,
    /// `vcpu` yielded (TRC_SCHED_YIELD).
    Yield = 6,
    /// A domain was created; `vcpu` = (domain, 0) (TRC_SCHED_DOM_ADD).
    DomainAdd = 7,
    /// A domain was destroyed; `vcpu` = (domain, 0) (TRC_SCHED_DOM_REM).
    DomainRemove = 8,
    /// A policy's private event: `detail` = number of words << 6 | event number (0 to 63),
    /// `data` = the words. `vcpu.domain` = Xen's scheduler id (credit 0, credit2 1, arinc653 3,
    /// rtds 4, null 5), so that the record stands for event 0x22000 | id << 9 | number.
    Policy = 9,
    /// Records were lost on `pcpu`; `data[0]` = how many (TRC_LOST_RECORDS).
    Lost = 10,
    /// Xen's TRC_SCHED_SWITCH_INFPREV as read from a real file: `vcpu` (index 0 before 4.8, where
    /// only the domain is known), `data[0]` = ns ran.
    InfPrev = 11,
    /// Xen's TRC_SCHED_SWITCH_INFNEXT as read from a real file: `vcpu` (as for `InfPrev`),
    /// `data` = ns waited, slice in ns.
    InfNext = 12,
    /// Xen's TRC_SCHED_SWITCH as read from a real file: `vcpu` = previous, `data[0]` = next as a
    /// [`VcpuName::word`].
    SwitchOnly = 13,
    /// Any other record of a real file, kept as it came: `vcpu` unused, `data[0]` = event id,
    /// `data[1..]` = the first three extra words, `detail` = number of extra words.
    Other = 14,
    /// A job of a task inside the guest on `vcpu` was finished: `detail` = task number in that
    /// vcpu, `data` = ns from release to completion (low, high word), ns of processor time that it
    /// took (low, high word). Only simulated guests tell this; no record of Xen corresponds.
    JobDone = 15,
    /// Bytes of a network flow have reached their application: `vcpu` = the guest's end of the
    /// flow, `data` = number of the flow, 0, bytes (low, high word). Only simulated hosts tell
    /// this.
    NetDelivered = 16,
    /// A reply to a ping has come back to who sent it: `vcpu` = the guest's end of the flow,
    /// `data` = number of the flow, 0, ns of the round trip (low, high word). Only simulated hosts
    /// tell this.
    NetReply = 17,
    /// `vcpu` was sent to through an event channel: `detail` = 1 if the port was pending already, 0
    /// if it is pending from now on; `data` = the port, the sender as a [`VcpuName::word`]
    /// (`u32::MAX` for a device). Only simulated hosts tell this, of domains with devices, and not
    /// of timers.
    EvtchnSend = 18,
    /// The kernel on `vcpu` has found that a port is pending and enters its handler; the port is
    /// pending no more. `data[0]` = the port. Only simulated hosts tell this, of domains with
    /// devices.
    EvtchnServe = 19,
    /// A packet has gone from one place to another: `vcpu` = the guest whose interface it uses,
    /// `detail` = old << 4 | new, both a [`NetPlace`]; `data` = number of the flow, the driver
    /// domain as a [`VcpuName::word`], ns that it has been at the new place already when the record
    /// is written (low, high word). Only simulated hosts tell this.
    ///
    /// From [`NetPlace::GuestOut`] to the same place nothing moves: the guest has found the ring
    /// full. From [`NetPlace::TxRing`] to the same place nothing moves either: the guest has used
    /// up its rate, and the last two words are ns until it gets more. Otherwise they are 0 but for
    /// packets that reach a card whose driver is not looking: the driver notes them when it looks
    /// again.
    NetMove = 20,
    /// `vcpu`, of a driver domain, has executed for so long on behalf of a domain since its last
    /// record of this kind for the same domain: `data` = that domain as a [`VcpuName::word`] with
    /// index 0, 0, ns (low, high word). Time that no record names was done for nobody. Written when
    /// the vcpu leaves its pcpu and where a trace begins or ends, before the mark of the vcpu: at
    /// the begin of a trace for what was done before, which does not count. Only simulated hosts
    /// tell this, of domains that serve others.
    DriverWork = 21,
    /// A connection or a call of a web client has got a step further: `vcpu` = the server's guest,
    /// `detail` = a [`WebStep`], `data` = number of the flow, bytes of the answer (with
    /// [`WebStep::Replied`], saturating; else 0), ns (low, high word) as the step says. Only
    /// simulated hosts tell this.
    Web = 22,
}

impl Kind {
    /// All kinds, by number.
    pub const ALL: [Kind; 23] = [
        Kind::RunstateChange,
        Kind::Switch,
        Kind::Continue,
        Kind::Wake,
        Kind::Block,
        Kind::Sleep,
        Kind::Yield,
        Kind::DomainAdd,
        Kind::DomainRemove,
        Kind::Policy,
        Kind::Lost,
        Kind::InfPrev,
        Kind::InfNext,
        Kind::SwitchOnly,
        Kind::Other,
        Kind::JobDone,
        Kind::NetDelivered,
        Kind::NetReply,
        Kind::EvtchnSend,
        Kind::EvtchnServe,
        Kind::NetMove,
        Kind::DriverWork,
        Kind::Web,
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
}

/// One trace record. See [`Kind`] for what the fields mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Record {
    /// When, in nanoseconds.
    pub at: Instant,
    /// The pcpu whose buffer holds the record.
    pub pcpu: PcpuId,
    /// What happened.
    pub kind: Kind,
    /// Small payload, see [`Kind`].
    pub detail: u8,
    /// The vcpu that it happened to.
    pub vcpu: VcpuName,
    /// Payload, see [`Kind`].
    pub data: [u32; 4],
}

impl Record {
    /// A record without payload.
    #[inline]
    pub const fn new(at: Instant, pcpu: PcpuId, kind: Kind, vcpu: VcpuName) -> Self {
        Record {
            at,
            pcpu,
            kind,
            detail: 0,
            vcpu,
            data: [0; 4],
        }
    }

    /// A runstate change of `vcpu`.
    #[inline]
    pub const fn runstate(
        at: Instant,
        pcpu: PcpuId,
        vcpu: VcpuName,
        old: Runstate,
        new: Runstate,
    ) -> Self {
        let mut r = Record::new(at, pcpu, Kind::RunstateChange, vcpu);
        r.detail = (old as u8) << 4 | new as u8;
        r
    }

    /// A policy's private event number `event` (0 to 63) of scheduler `scheduler_id`, with up to
    /// three words (more are cut off: `detail` has two bits for the count).
    #[inline]
    pub fn policy(at: Instant, pcpu: PcpuId, scheduler_id: u16, event: u8, words: &[u32]) -> Self {
        let n = words.len().min(3);
        let mut kept = [0; 3];
        kept[..n].copy_from_slice(&words[..n]);
        Record::policy_note(at, pcpu, scheduler_id, event, n as u8, kept)
    }

    /// As [`Record::policy`], of the first `len` of `words` (at most 3); the others are zero.
    #[inline]
    pub fn policy_note(
        at: Instant,
        pcpu: PcpuId,
        scheduler_id: u16,
        event: u8,
        len: u8,
        words: [u32; 3],
    ) -> Self {
        let scheduler = VcpuName::new(DomainId(scheduler_id), 0);
        let [a, b, c] = words;
        Record {
            detail: len << 6 | (event & 63),
            data: [a, b, c, 0],
            ..Record::new(at, pcpu, Kind::Policy, scheduler)
        }
    }

    /// A [`Kind::DriverWork`]: `vcpu` has executed for `ns` nanoseconds on behalf of `owner`.
    #[inline]
    pub const fn driver_work(
        at: Instant,
        pcpu: PcpuId,
        vcpu: VcpuName,
        owner: DomainId,
        ns: u64,
    ) -> Self {
        let mut r = Record::new(at, pcpu, Kind::DriverWork, vcpu);
        r.data[0] = VcpuName::new(owner, 0).word();
        r.data[2] = ns as u32;
        r.data[3] = (ns >> 32) as u32;
        r
    }

    /// Old and new runstate of a [`Kind::RunstateChange`]; `None` for other kinds and for numbers
    /// that Xen does not define.
    #[inline]
    pub const fn runstates(&self) -> Option<(Runstate, Runstate)> {
        if self.kind as u8 != Kind::RunstateChange as u8 {
            return None;
        }
        match (
            Runstate::from_number(self.detail >> 4),
            Runstate::from_number(self.detail & 15),
        ) {
            (Some(old), Some(new)) => Some((old, new)),
            _ => None,
        }
    }

    /// The runstate changes that the record stands for, as vcpu, old and new runstate: one for
    /// [`Kind::RunstateChange`], two for [`Kind::Switch`] in Xen's order (the vcpu that leaves
    /// first), none for other kinds and for numbers that Xen does not define.
    #[inline]
    pub fn changes(&self) -> [Option<(VcpuName, Runstate, Runstate)>; 2] {
        match self.kind {
            Kind::RunstateChange => {
                let change = self.runstates().map(|(old, new)| (self.vcpu, old, new));
                [change, None]
            }
            Kind::Switch => match Runstate::from_number(self.detail) {
                Some(left_to) => {
                    let next = VcpuName::from_word(self.data[0]);
                    [
                        Some((self.vcpu, Runstate::Running, left_to)),
                        Some((next, Runstate::Runnable, Runstate::Running)),
                    ]
                }
                None => [None; 2],
            },
            _ => [None; 2],
        }
    }

    /// Old and new place of a [`Kind::NetMove`]; `None` for other kinds and for places that do not
    /// exist.
    #[inline]
    pub fn places(&self) -> Option<(NetPlace, NetPlace)> {
        if self.kind != Kind::NetMove {
            return None;
        }
        let (old, new) = (self.detail >> 4, self.detail & 15);
        NetPlace::from_number(old).zip(NetPlace::from_number(new))
    }

    /// The driver domain whose netback took a packet from the ring of `vcpu`'s domain (`true`), or
    /// put one into its ring (`false`); `None` for other moves and kinds.
    #[inline]
    pub fn at_netback(&self) -> Option<(DomainId, bool)> {
        let sent = match self.places()? {
            (NetPlace::TxRing, NetPlace::DriverOut) => true,
            (NetPlace::DriverIn, NetPlace::RxRing) => false,
            _ => return None,
        };
        Some((VcpuName::from_word(self.data[1]).domain, sent))
    }

    /// Whom the work of a [`Kind::DriverWork`] was done for, and its ns; `None` for other kinds.
    #[inline]
    pub fn done_for(&self) -> Option<(DomainId, u64)> {
        if self.kind != Kind::DriverWork {
            return None;
        }
        let [owner, _, low, high] = self.data;
        let ns = u64::from(high) << 32 | u64::from(low);
        Some((VcpuName::from_word(owner).domain, ns))
    }

    /// The step of a [`Kind::Web`], the flow's number, bytes of the answer and ns; `None` for other
    /// kinds and for steps that do not exist.
    #[inline]
    pub fn web_step(&self) -> Option<(WebStep, u32, u32, u64)> {
        if self.kind != Kind::Web {
            return None;
        }
        let [flow, bytes, low, high] = self.data;
        let ns = u64::from(high) << 32 | u64::from(low);
        Some((WebStep::from_number(self.detail)?, flow, bytes, ns))
    }

    /// Whether this is a [`Kind::RunstateChange`] between equal states, which changes nothing.
    #[inline]
    pub fn is_mark(&self) -> bool {
        self.runstates().is_some_and(|(old, new)| old == new)
    }

    /// Event number and words of a [`Kind::Policy`] record.
    #[inline]
    pub fn policy_event(&self) -> Option<(u8, &[u32])> {
        (self.kind == Kind::Policy)
            .then(|| (self.detail & 63, &self.data[..(self.detail >> 6) as usize]))
    }
}

/// Where a host puts its records.
///
/// Hosts are generic over it, so that a host without a trace pays nothing.
pub trait Sink {
    /// Whether records are wanted at all. A host skips the work of making them when not.
    const ENABLED: bool = true;

    /// Whether every step of a packet or an event is wanted too ([`Kind::EvtchnSend`],
    /// [`Kind::EvtchnServe`], [`Kind::NetMove`]): several records a packet, which nobody needs who
    /// only wants to know how much was delivered.
    const STAGES: bool = Self::ENABLED;

    /// Whether it is wanted too for whom driver domains work ([`Kind::DriverWork`]): up to one
    /// record a guest whenever a driver domain leaves its pcpu, and the host keeps the time of each
    /// guest for that.
    const OWNERS: bool = Self::ENABLED;

    /// Takes one record. Times never go back within one pcpu.
    fn record(&mut self, record: &Record);
}

/// No trace wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl Sink for NullSink {
    const ENABLED: bool = false;

    #[inline]
    fn record(&mut self, _: &Record) {}
}

impl Sink for alloc::vec::Vec<Record> {
    #[inline]
    fn record(&mut self, record: &Record) {
        self.push(*record);
    }
}

impl<S: Sink> Sink for &mut S {
    const ENABLED: bool = S::ENABLED;
    const STAGES: bool = S::STAGES;
    const OWNERS: bool = S::OWNERS;

    #[inline]
    fn record(&mut self, record: &Record) {
        (**self).record(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_half_a_cache_line() {
        assert_eq!(core::mem::size_of::<Record>(), 32);
    }

    #[test]
    fn kinds_are_listed_by_number() {
        for (i, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
            assert_eq!(Kind::from_number(i as u8), Some(kind));
        }
        assert_eq!(Kind::from_number(Kind::ALL.len() as u8), None);
    }

    #[test]
    fn payloads_come_back() {
        let v = VcpuName::new(DomainId(3), 1);
        let r = Record::runstate(
            Instant::ZERO,
            PcpuId(0),
            v,
            Runstate::Running,
            Runstate::Blocked,
        );
        assert_eq!(r.runstates(), Some((Runstate::Running, Runstate::Blocked)));
        assert_eq!(
            r.changes(),
            [Some((v, Runstate::Running, Runstate::Blocked)), None]
        );
        let mut switch = Record::new(Instant::ZERO, PcpuId(0), Kind::Switch, v);
        switch.detail = Runstate::Blocked as u8;
        switch.data[0] = VcpuName::idle(PcpuId(0)).word();
        assert_eq!(switch.changes()[0], r.changes()[0]);
        assert_eq!(
            switch.changes()[1],
            Some((
                VcpuName::idle(PcpuId(0)),
                Runstate::Runnable,
                Runstate::Running
            ))
        );
        switch.detail = 9;
        assert_eq!(switch.changes(), [None; 2]);
        let p = Record::policy(Instant::ZERO, PcpuId(0), 0, 10, &[7, 8]);
        assert_eq!(p.policy_event(), Some((10, &[7, 8][..])));
        assert_eq!(p.runstates(), None);
        let mut moved = Record::new(Instant::ZERO, PcpuId(0), Kind::NetMove, v);
        moved.detail = (NetPlace::Card as u8) << 4 | NetPlace::DriverIn as u8;
        assert_eq!(moved.places(), Some((NetPlace::Card, NetPlace::DriverIn)));
        assert_eq!(p.places(), None);
        moved.detail = 0x8f;
        assert_eq!(moved.places(), None);
        let work = Record::driver_work(Instant::ZERO, PcpuId(0), v, DomainId(7), 5 << 32 | 9);
        assert_eq!(work.done_for(), Some((DomainId(7), 5 << 32 | 9)));
        assert_eq!((work.data, work.detail), ([7 << 16, 0, 9, 5], 0));
        assert_eq!((moved.done_for(), work.places()), (None, None));
    }

    #[test]
    fn who_wants_records_wants_all_of_them_unless_it_says_so() {
        struct Shares;
        impl Sink for Shares {
            const STAGES: bool = false;
            const OWNERS: bool = false;
            fn record(&mut self, _: &Record) {}
        }
        const fn wants<S: Sink>() -> (bool, bool) {
            (S::STAGES, S::OWNERS)
        }
        assert_eq!(wants::<alloc::vec::Vec<Record>>(), (true, true));
        assert_eq!(wants::<NullSink>(), (false, false));
        assert_eq!(wants::<&mut &mut Shares>(), (false, false));
        assert_eq!(wants::<&mut alloc::vec::Vec<Record>>(), (true, true));
    }
}
