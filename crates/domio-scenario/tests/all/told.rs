//! Records of a run with the vcpus that they name and with their declarations: what tests ask of a
//! trace.

use crate::common::parse;
use domio_core::{
    ActorId, Class, Declared, DomainId, Duration, Instant, Names, NullSink, Record, Says, Sink,
    Unit, VcpuName,
};
use domio_net::class::{NetPlace, RECORDS};
use domio_run::Replication;
use domio_scenario::{Built, NoReplay};
use std::ops::Deref;

/// A record.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// The actor; `None` where the record is about nobody.
    pub vcpu: Option<VcpuName>,
    /// The other vcpu that the record names: who runs next, who sends, of the driver domain.
    pub other: Option<VcpuName>,
    class: &'static Class,
    declared: &'static Declared,
    record: Record,
}

impl Deref for Told {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.record
    }
}

impl Told {
    pub fn new(names: &Names, record: &Record) -> Self {
        let declared = names.declared(record).expect("a simulation declares all");
        let other = declared.fields.iter().find(|f| f.unit == Unit::Actor);
        let other = other.map(|field| ActorId(field.value(record) as u32));
        Told {
            vcpu: names.vcpu(record.actor),
            other: other.and_then(|actor| names.vcpu(actor)),
            class: names.class(record.class).expect("the class is declared"),
            declared,
            record: *record,
        }
    }

    /// The domain of the record's vcpu.
    #[track_caller]
    pub fn domain(&self) -> u16 {
        self.vcpu.expect("the record is about a vcpu").domain.0
    }

    /// Whether the record is about a vcpu of this domain.
    pub fn is_of(&self, domain: u16) -> bool {
        self.vcpu.is_some_and(|v| v.domain == DomainId(domain))
    }

    /// Whether the record is the one with this number in the class of that name.
    pub fn is_in(&self, class: &str, number: u8) -> bool {
        self.class.name == class && self.number == number
    }

    /// Whether the record is the one with this number in the network's class.
    pub fn is_net(&self, number: u8) -> bool {
        self.is_in(RECORDS.name, number)
    }

    /// The value of the field with this name.
    #[track_caller]
    pub fn value(&self, field: &str) -> u64 {
        let found = self.declared.fields.iter().find(|f| f.name == field);
        let name = self.declared.name;
        let found = found.unwrap_or_else(|| panic!("{name} has no {field}"));
        found.value(&self.record)
    }

    /// The places between which a packet goes; from one to itself where the ring is full or the
    /// rate is used up.
    pub fn places(&self) -> Option<(NetPlace, NetPlace)> {
        let (from, to) = match self.declared.says {
            Says::Moved { from, to, .. } => (from, to),
            Says::Full { place, .. } | Says::Held { place, .. } => (place, place),
            _ => return None,
        };
        let place = |field| PLACES[self.declared.value(&self.record, field) as usize];
        (self.class.name == RECORDS.name).then(|| (place(from), place(to)))
    }
}

/// The places of a network, by number.
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

/// All records of a run.
#[derive(Default)]
pub struct Records(pub Vec<Told>);

impl Sink for Records {
    fn record(&mut self, names: &Names, record: &Record) {
        self.0.push(Told::new(names, record));
    }
}

/// The records of the whole run of `text`.
pub fn run(text: &str) -> Vec<Told> {
    let scenario = parse(text).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let built = scenario.build(&NoReplay).expect("nothing is replayed");
    recorded(&built, built.warmup + built.duration)
}

/// The records of `time` of a host.
pub fn recorded(built: &Built, time: Duration) -> Vec<Told> {
    after(built, time, Records::default()).into_sink().0
}

/// A host after `time`, of which nobody wants records.
pub fn ran(built: &Built, time: Duration) -> Replication<'static, NullSink> {
    after(built, time, NullSink)
}

fn after<S: Sink + 'static>(built: &Built, time: Duration, sink: S) -> Replication<'static, S> {
    let mut host = Replication::new(built, 0, sink);
    let ended = host.until(Instant::ZERO + time);
    ended.unwrap_or_else(|fault| panic!("{fault}"));
    host
}

/// How long a domain's vcpus have executed (us, each rounded down).
pub fn executed_us<S: Sink>(host: &Replication<'_, S>, domain: u16) -> u64 {
    let times = host.vcpu_times().into_iter();
    let own = times.filter(|(vcpu, _)| vcpu.domain.0 == domain);
    own.map(|(_, times)| times.running.as_nanos() / 1000).sum()
}
