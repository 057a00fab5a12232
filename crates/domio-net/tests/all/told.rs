//! Records of a run, with the names of their vcpus: what tests ask of a trace.

use domio_core::{
    Class, DomainId, Instant, Names, PcpuId, Record as Written, Runstate, Says, Sink, VcpuName,
};
use domio_net::class::{NetPlace, NetRecord, RECORDS, WebStep};

pub use domio_core::Kind;

/// The places of packets, by number.
const PLACES: [NetPlace; 8] = [
    NetPlace::Outside,
    NetPlace::Card,
    NetPlace::DriverIn,
    NetPlace::RxRing,
    NetPlace::GuestIn,
    NetPlace::GuestOut,
    NetPlace::TxRing,
    NetPlace::DriverOut,
];

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    pub at: Instant,
    pub pcpu: PcpuId,
    pub vcpu: VcpuName,
    /// In the common class.
    pub kind: Option<Kind>,
    /// Number in the network's class.
    pub net: Option<u8>,
    pub words: [u32; 4],
    /// Another vcpu that the record names: who runs next, who sends, of the driver domain.
    pub other: Option<VcpuName>,
    changes: [Option<(VcpuName, Runstate, Runstate)>; 2],
    done_for: Option<(DomainId, u64)>,
}

impl Record {
    fn new(names: &Names, record: &Written) -> Self {
        let class = names.class(record.class);
        let net = class.is_some_and(|class: &Class| class.name == RECORDS.name);
        let vcpu = |actor| names.vcpu(actor).expect("an actor of the run");
        let says = names.declared(record).map(|declared| (declared, declared.says));
        let driver = match says {
            Some((declared, Says::Moved { driver, .. })) => Some(declared.value(record, driver)),
            _ if record.is(Kind::EvtchnSend) => Some(u64::from(record.words[1])),
            _ => record.next().map(|next| u64::from(next.0)),
        };
        let other = driver.and_then(|actor| names.vcpu(domio_core::ActorId(actor as u32)));
        let changes = record.changes();
        Record {
            at: record.at,
            pcpu: record.pcpu,
            vcpu: vcpu(record.actor),
            kind: record.kind(),
            net: net.then_some(record.number),
            words: record.words,
            other,
            changes: changes.map(|c| c.map(|(actor, old, new)| (vcpu(actor), old, new))),
            done_for: record.done_for(),
        }
    }

    /// Whether the record is of this kind of the common class.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == Some(kind)
    }

    /// Whether the record is of this kind of the network's class.
    pub fn is_net(&self, record: NetRecord) -> bool {
        self.net == Some(record as u8)
    }

    /// The value in words 2 and 3.
    pub fn long(&self) -> u64 {
        u64::from(self.words[2]) | u64::from(self.words[3]) << 32
    }

    /// The places between which a packet goes; from one to itself where the ring is full or the
    /// rate is used up.
    pub fn places(&self) -> Option<(NetPlace, NetPlace)> {
        let place = |shift: u32| PLACES[(self.words[0] >> shift & 15) as usize];
        match self.net? {
            n if n == NetRecord::Moved as u8 => Some((place(24), place(28))),
            n if n == NetRecord::RingFull as u8 || n == NetRecord::Held as u8 => {
                Some((place(24), place(24)))
            }
            _ => None,
        }
    }

    /// The step of a web client, bytes of the answer and ns.
    pub fn web_step(&self) -> Option<(WebStep, u32, u64)> {
        const STEPS: [WebStep; 5] = [
            WebStep::Connected,
            WebStep::FirstByte,
            WebStep::Replied,
            WebStep::TimedOut,
            WebStep::Started,
        ];
        let step = STEPS.into_iter().find(|step| self.net == Some(NetRecord::web(*step)))?;
        Some((step, self.words[1], self.long()))
    }

    pub fn done_for(&self) -> Option<(DomainId, u64)> {
        self.done_for
    }

    pub fn changes(&self) -> [Option<(VcpuName, Runstate, Runstate)>; 2] {
        self.changes
    }
}

/// All records of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Records(pub Vec<Record>);

impl Sink for Records {
    fn record(&mut self, names: &Names, record: &Written) {
        self.0.push(Record::new(names, record));
    }
}

impl std::ops::Deref for Records {
    type Target = [Record];

    fn deref(&self) -> &[Record] {
        &self.0
    }
}
