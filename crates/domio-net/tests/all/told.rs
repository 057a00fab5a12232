//! Records of a run, with the names of their vcpus: what tests ask of a trace.

use domio_core::{
    Class, Declared, DomainId, Instant, Names, PcpuId, Record as Written, Runstate, Says, Sink,
    VcpuName,
};
use domio_meter::TraceChecker;
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

/// The vcpu of records that are about none, such as the pass of a policy.
const NOBODY: VcpuName = VcpuName::new(DomainId(u16::MAX), 0);

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
    /// The runstate changes that the record stands for.
    pub changes: [Option<(VcpuName, Runstate, Runstate)>; 2],
    declared: Option<&'static Declared>,
    written: Written,
}

impl Record {
    fn new(names: &Names, record: &Written) -> Self {
        let class = names.class(record.class);
        let net = class.is_some_and(|class: &Class| class.name == RECORDS.name);
        let vcpu = |actor| names.vcpu(actor).unwrap_or(NOBODY);
        let declared = names.declared(record);
        let driver = match declared.map(|declared| (declared, declared.says)) {
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
            declared,
            written: *record,
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

    /// Whether the record tells of bytes that reached an application, or of a reply.
    pub fn is_progress(&self) -> bool {
        self.is_net(NetRecord::Delivered) || self.is_net(NetRecord::Reply)
    }

    /// The value in words 2 and 3.
    pub fn long(&self) -> u64 {
        u64::from(self.words[2]) | u64::from(self.words[3]) << 32
    }

    /// The flow of a packet that goes from place to place, as far as the record has it.
    pub fn flow(&self) -> u32 {
        self.words[0] & 0x00ff_ffff
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

    /// Whether the record tells of this step of a web client.
    pub fn is_step(&self, step: WebStep) -> bool {
        self.net == Some(NetRecord::web(step))
    }

    /// The value of the field with this name.
    #[track_caller]
    pub fn value(&self, field: &str) -> u64 {
        let declared = self.declared.expect("a simulation declares all");
        let found = declared.fields.iter().find(|f| f.name == field);
        let found = found.unwrap_or_else(|| panic!("{} has no {field}", declared.name));
        found.value(&self.written)
    }

    /// The driver domain whose netback took a packet from the ring of the guest (`true`), or put
    /// one into its ring (`false`); `None` for other moves and records.
    pub fn at_netback(&self) -> Option<(DomainId, bool)> {
        let sent = match self.places()? {
            (NetPlace::TxRing, NetPlace::DriverOut) => true,
            (NetPlace::DriverIn, NetPlace::RxRing) => false,
            _ => return None,
        };
        Some((self.other?.domain, sent))
    }

    /// Whom a driver domain's work was done for, and its ns.
    pub fn done_for(&self) -> Option<(DomainId, u64)> {
        self.written.done_for()
    }

    /// The state to which the vcpu of a switch goes.
    pub fn left_to(&self) -> Option<Runstate> {
        self.changes[0].map(|(_, _, new)| new)
    }

    /// Ns from release to completion of a finished job, ns of processor time that it took, and
    /// number of its process.
    pub fn job(&self) -> Option<(u64, u64, u8)> {
        let [low, high, work, upper] = self.words;
        let long = |low, high| u64::from(low) | u64::from(high) << 32;
        let executed = long(work, upper & 0x00ff_ffff);
        self.is(Kind::JobDone)
            .then(|| (long(low, high), executed, (upper >> 24) as u8))
    }
}

/// All records of a run.
#[derive(Default)]
pub struct Records {
    told: Vec<Record>,
    names: Names,
}

impl Records {
    /// Nothing that a checker of traces finds.
    #[track_caller]
    pub fn are_true(&self) {
        let mut checker = TraceChecker::new();
        for record in &self.told {
            checker.record(&self.names, &record.written);
        }
        let report = checker.finish();
        assert!(report.is_clean(), "{:?}", report.findings);
    }
}

impl Sink for Records {
    fn record(&mut self, names: &Names, record: &Written) {
        let known = (self.names.actors().len(), self.names.classes().len());
        if known != (names.actors().len(), names.classes().len()) {
            self.names = names.clone();
        }
        self.told.push(Record::new(names, record));
    }
}

impl IntoIterator for Records {
    type Item = Record;
    type IntoIter = std::vec::IntoIter<Record>;

    fn into_iter(self) -> Self::IntoIter {
        self.told.into_iter()
    }
}

impl<'a> IntoIterator for &'a Records {
    type Item = &'a Record;
    type IntoIter = std::slice::Iter<'a, Record>;

    fn into_iter(self) -> Self::IntoIter {
        self.told.iter()
    }
}

impl std::ops::Deref for Records {
    type Target = [Record];

    fn deref(&self) -> &[Record] {
        &self.told
    }
}
