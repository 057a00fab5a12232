//! Records with names in the place of numbers: a recording and the simulation of its host are
//! different streams, in which the same vcpu is another actor.

use crate::private::Private;
use domio_core::{
    ActorId, ActorIndex, DomainId, Instant, Kind, Names, PcpuId, Record, Runstate, Sink, VcpuName,
};

/// Whom a record names that is about nobody.
const NOBODY: VcpuName = VcpuName::new(DomainId(u16::MAX), u16::MAX);

/// A record whose vcpu is known by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedRecord {
    /// When.
    pub at: Instant,
    /// The pcpu whose buffer holds the record.
    pub pcpu: PcpuId,
    /// Whom it happened to; no vcpu's name where it is about nobody.
    pub vcpu: VcpuName,
    /// The kind of a record of the common class.
    pub kind: Option<Kind>,
    /// What a private record of a policy is.
    pub private: Option<Private>,
    /// Payload, as [`Record::words`]; numbers of actors in it mean nothing.
    pub words: [u32; 4],
    /// Who runs next by a record of a switch.
    pub next: Option<VcpuName>,
}

impl NamedRecord {
    /// `record` of a stream with `names`.
    pub fn of(names: &Names, record: &Record) -> Self {
        let name = |actor: ActorId| names.vcpu(actor).unwrap_or(NOBODY);
        NamedRecord {
            at: record.at,
            pcpu: record.pcpu,
            vcpu: name(record.actor),
            kind: record.kind(),
            private: Private::of(names, record),
            words: record.words,
            next: record.next().map(name),
        }
    }

    /// A record of the common class without payload.
    pub const fn new(at: Instant, pcpu: PcpuId, kind: Kind, vcpu: VcpuName) -> Self {
        NamedRecord {
            at,
            pcpu,
            vcpu,
            kind: Some(kind),
            private: None,
            words: [0; 4],
            next: None,
        }
    }

    /// A runstate change of `vcpu`.
    pub const fn runstate(
        at: Instant,
        pcpu: PcpuId,
        vcpu: VcpuName,
        old: Runstate,
        new: Runstate,
    ) -> Self {
        let mut record = NamedRecord::new(at, pcpu, Kind::RunstateChange, vcpu);
        record.words[0] = (old as u32) << 4 | new as u32;
        record
    }

    /// A private record of a policy about `vcpu`, if about anybody.
    pub fn of_policy(at: Instant, pcpu: PcpuId, private: Private, vcpu: Option<VcpuName>) -> Self {
        NamedRecord {
            kind: None,
            private: Some(private),
            ..NamedRecord::new(at, pcpu, Kind::Wake, vcpu.unwrap_or(NOBODY))
        }
    }

    /// Whether this is a record of the common class of this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == Some(kind)
    }

    /// Old and new runstate, as [`Record::runstates`].
    pub fn runstates(&self) -> Option<(Runstate, Runstate)> {
        self.plain()?.runstates()
    }

    /// The runstate changes that the record stands for, as [`Record::changes`].
    pub fn changes(&self) -> impl Iterator<Item = (VcpuName, Runstate, Runstate)> + use<> {
        let changes = self.plain().map_or([None; 2], |plain| plain.changes());
        let names = [Some(self.vcpu), self.next];
        let named = changes.into_iter().zip(names);
        named.filter_map(|(change, name)| change.zip(name).map(|((_, old, new), v)| (v, old, new)))
    }

    /// Whether it is a mark, as [`Record::is_mark`].
    pub fn is_mark(&self) -> bool {
        self.runstates().is_some_and(|(old, new)| old == new)
    }

    /// The same record without names, if it is of the common class.
    fn plain(&self) -> Option<Record> {
        let kind = self.kind?;
        Some(Record::with(
            self.at,
            self.pcpu,
            kind,
            ActorId::NONE,
            self.words,
        ))
    }
}

/// Keeps the records of a stream with their names.
#[derive(Clone, Debug, Default)]
pub struct NamedRecords(pub Vec<NamedRecord>);

impl Sink for NamedRecords {
    fn record(&mut self, names: &Names, record: &Record) {
        self.0.push(NamedRecord::of(names, record));
    }
}

/// Hands `records` to `sink`, but for private ones, as a stream of their own.
pub fn copy_to(records: &[NamedRecord], sink: &mut impl Sink) {
    let (mut names, mut index) = (Names::new(), ActorIndex::new());
    for record in records {
        let Some(mut plain) = record.plain() else {
            continue;
        };
        plain.actor = index.actor(&mut names, record.vcpu);
        if let Some(next) = record.next {
            plain = plain.with_next(index.actor(&mut names, next));
        }
        sink.record(&names, &plain);
    }
}
