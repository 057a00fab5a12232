//! Counters: driver domains' work, credit, and lengths of queues.

use std::collections::BTreeMap;
use std::io::Write;

use domio_core::{Declared, DomainId, Instant, Names, Record, Runstate, Says, Stage, VcpuName};

use super::flow::Step;
use super::proto::{CounterDescriptor, TracePacket, TrackDescriptor, TrackEvent};
use super::{COUNTER, PCPUS_TRACK, PerfettoWriter, counter_track, domain_track, vcpu_track};
use crate::VCPUS_MAX;

/// `CounterDescriptor.Unit`: a number of things.
const UNIT_COUNT: i32 = 2;
/// `CounterDescriptor.Unit`: nanoseconds.
const UNIT_TIME_NS: i32 = 1;
/// Places of one guest's items in one class.
const PLACES_MAX: u64 = 256;

/// Values of counters so far.
#[derive(Clone, Default, Debug)]
pub(super) struct Counters {
    by_key: BTreeMap<u64, Counter>,
    /// Counters with a value that may have to be written, and the time of the values.
    unsettled: Vec<u64>,
    changed: Instant,
}

/// One counter.
#[derive(Clone, Copy, Debug)]
struct Counter {
    track: u64,
    value: i64,
    /// What a reader of the file takes the value for.
    written: Option<i64>,
    unsettled: bool,
}

/// What a counter is.
struct Described {
    parent: u64,
    name: String,
    unit: CounterDescriptor,
    /// Its value before the first that is written; `None` when nobody knows.
    begins: Option<i64>,
}

impl<W: Write> PerfettoWriter<W> {
    /// Sets the counter `key`, which is described at first sight, to what `next` makes of its
    /// value. There are no more counters than there may be.
    fn count(
        &mut self,
        at: Instant,
        key: u64,
        described: impl FnOnce(&Self) -> Described,
        next: impl FnOnce(i64) -> i64,
    ) {
        if !self.counters.by_key.contains_key(&key) && !self.describe_counter(key, described) {
            return;
        }
        let counters = &mut self.counters;
        let Some(counter) = counters.by_key.get_mut(&key) else {
            return;
        };
        counter.value = next(counter.value);
        counters.changed = at;
        if !counter.unsettled {
            counter.unsettled = true;
            counters.unsettled.push(key);
        }
    }

    /// Returns whether there was room for one more.
    fn describe_counter(&mut self, key: u64, described: impl FnOnce(&Self) -> Described) -> bool {
        let count = self.counters.by_key.len();
        if count >= VCPUS_MAX {
            return false;
        }
        let told = described(self);
        let counter = Counter {
            track: counter_track(count as u64),
            value: 0,
            written: told.begins,
            unsettled: false,
        };
        self.counters.by_key.insert(key, counter);
        self.put(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: counter.track,
                parent_uuid: Some(told.parent),
                name: Some(told.name),
                counter: Some(told.unit),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        });
        true
    }

    /// Writes the values that have changed and will not change at the same time again: a counter
    /// has one value at a time, and the same value only once in a row.
    pub(super) fn settle(&mut self, now: Option<Instant>) {
        let at = self.counters.changed;
        if self.counters.unsettled.is_empty() || Some(at) == now {
            return;
        }
        let mut unsettled = std::mem::take(&mut self.counters.unsettled);
        for key in unsettled.drain(..) {
            let Some(counter) = self.counters.by_key.get_mut(&key) else {
                continue;
            };
            counter.unsettled = false;
            if counter.written.replace(counter.value) == Some(counter.value) {
                continue;
            }
            let event = TrackEvent {
                r#type: COUNTER,
                track: counter.track,
                counter_value: Some(counter.value),
                ..TrackEvent::default()
            };
            // No name of it has a number, so that nothing that came before is needed.
            self.put_at(
                at,
                TracePacket {
                    track_event: Some(event),
                    ..TracePacket::default()
                },
            );
        }
        // Its memory serves the next time.
        self.counters.unsettled = unsettled;
    }

    /// `driver` has worked for `ns` more on behalf of `owner`. The counter holds the sum so far,
    /// whose slope is the share of a pcpu.
    pub(super) fn work(&mut self, at: Instant, driver: DomainId, owner: DomainId, ns: u64) {
        let described = |writer: &Self| Described {
            parent: domain_track(driver),
            name: format!("work for {}", writer.domain_name(owner)),
            unit: CounterDescriptor::of("work", UNIT_TIME_NS),
            begins: None,
        };
        let ns = i64::try_from(ns).unwrap_or(i64::MAX);
        self.count(at, work_key(driver, owner), described, |sum| {
            sum.saturating_add(ns)
        });
    }

    /// The credit that the record says its actor has left.
    pub(super) fn credit(&mut self, names: &Names, record: &Record, declared: &Declared) {
        let Says::Credit { credit, .. } = declared.says else {
            return;
        };
        let field = declared.fields.get(usize::from(credit));
        let vcpu = names.vcpu(record.actor).filter(|vcpu| !vcpu.is_idle());
        let (Some(field), Some(vcpu)) = (field, vcpu) else {
            return;
        };
        if self.thread(vcpu).is_none() {
            return;
        }
        let described = |_: &Self| Described {
            parent: vcpu_track(vcpu.word()),
            name: format!("credit of {vcpu}"),
            unit: CounterDescriptor {
                unit_name: Some("credits".to_owned()),
                ..CounterDescriptor::of("credit", UNIT_COUNT)
            },
            begins: None,
        };
        let credit = field.signed(record);
        self.count(record.at, credit_key(vcpu), described, |_| credit);
    }

    /// An item is at another place: the queues of both have other lengths.
    pub(super) fn queues(&mut self, names: &Names, record: &Record, step: &Step) {
        let Some(guest) = names.vcpu(record.actor) else {
            return;
        };
        if step.places[0] == step.places[1] {
            return;
        }
        for (end, change) in [(0, -1), (1, 1)] {
            let place = step.places[end];
            if is_queue(step.stages[end]) && place < PLACES_MAX {
                self.queue(names, record, (guest.domain, place), change);
            }
        }
    }

    fn queue(
        &mut self,
        names: &Names,
        record: &Record,
        (guest, place): (DomainId, u64),
        change: i64,
    ) {
        let key = 7 << 32 | u64::from(record.class.0) << 24 | u64::from(guest.0) << 8 | place;
        let described = |_: &Self| {
            let class = names.class(record.class);
            let name = class.and_then(|c| c.places.get(place as usize));
            Described {
                parent: domain_track(guest),
                name: format!(
                    "{}: {}",
                    class.map_or("", |c| c.items),
                    name.map_or("", |p| p.name)
                ),
                unit: CounterDescriptor::of("queue", UNIT_COUNT),
                begins: Some(0),
            }
        };
        // What came before the trace began was not counted.
        self.count(record.at, key, described, |length| (length + change).max(0));
    }

    /// All queues of items are empty as far as anybody knows.
    pub(super) fn forget_queues(&mut self, at: Instant) {
        let counters = &mut self.counters;
        for (key, counter) in counters.by_key.range_mut(7 << 32..8 << 32) {
            counter.value = 0;
            counters.changed = at;
            if !counter.unsettled {
                counter.unsettled = true;
                counters.unsettled.push(*key);
            }
        }
    }

    /// A vcpu goes from `old` (`None`: nobody knows) to `new`.
    pub(super) fn waits(&mut self, at: Instant, old: Option<Runstate>, new: Runstate) {
        let waits = |state| i64::from(state == Some(Runstate::Runnable));
        let change = waits(Some(new)) - waits(old);
        if change == 0 {
            return;
        }
        let described = |_: &Self| Described {
            parent: PCPUS_TRACK,
            name: "vcpus in run queues".to_owned(),
            unit: CounterDescriptor::of("queue", UNIT_COUNT),
            begins: Some(0),
        };
        self.count(at, RUN_QUEUES, described, |waiting| waiting + change);
    }
}

/// Whether items wait at `stage` for a driver domain or a device: what a guest has in its own
/// hands is its own matter.
fn is_queue(stage: Stage) -> bool {
    match stage {
        Stage::Device | Stage::DriverIn | Stage::ToGuest | Stage::FromGuest | Stage::DriverOut => {
            true
        }
        // A queue that orders and holds back is worth a look in either domain.
        Stage::GuestQueue | Stage::DriverQueue => true,
        Stage::Outside | Stage::GuestIn | Stage::GuestOut => false,
    }
}

/// Of the number of vcpus that wait.
const RUN_QUEUES: u64 = 6 << 32;

const fn work_key(driver: DomainId, owner: DomainId) -> u64 {
    4 << 32 | (driver.0 as u64) << 16 | owner.0 as u64
}

const fn credit_key(vcpu: VcpuName) -> u64 {
    5 << 32 | vcpu.word() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DomainInfo, TraceHeader};
    use domio_core::{Names, PcpuId, Record, Runstate, Sink, VcpuName};
    use prost::Message;

    #[test]
    fn work_is_a_counter_below_the_driver_domain() {
        let header = TraceHeader {
            domains: vec![DomainInfo {
                id: 3,
                name: "web".to_owned(),
                ..DomainInfo::default()
            }],
            ..TraceHeader::default()
        };
        let mut names = Names::new();
        let driver = names.add_actor(VcpuName::new(DomainId(0), 0));
        let pcpu = PcpuId(0);
        let at = Instant::from_nanos;
        let work =
            |ns, owner, took| Record::driver_work(at(ns), pcpu, driver, DomainId(owner), took);
        let mut writer = PerfettoWriter::new(Vec::new(), Some(&header));
        for record in [
            // Done before the trace began.
            work(5, 3, 1_000),
            Record::runstate(at(5), pcpu, driver, Runstate::Running, Runstate::Running),
            work(100, 3, 40),
            work(100, 4, 50),
            work(300, 3, 2),
        ] {
            writer.record(&names, &record);
        }
        let bytes = writer.finish().unwrap();
        let trace = super::super::proto::Trace::decode(&bytes[..]).unwrap();
        let mut counters = Vec::new();
        let mut values = Vec::new();
        for packet in &trace.packets {
            let track = packet.track_descriptor.as_ref();
            if let Some(track) = track.filter(|t| t.counter.is_some()) {
                assert_eq!(track.parent_uuid, Some(domain_track(DomainId(0))));
                assert_eq!(track.counter, Some(CounterDescriptor::of("work", 1)));
                counters.push((track.uuid, track.name.as_deref().unwrap()));
            }
            let event = packet.track_event.as_ref();
            if let Some(event) = event.filter(|e| e.r#type == COUNTER) {
                values.push((packet.timestamp, event.track, event.counter_value));
            }
        }
        let (web, other) = (counters[0].0, counters[1].0);
        assert_eq!(
            counters,
            [(web, "work for web (d3)"), (other, "work for d4")]
        );
        assert_eq!(
            values,
            [
                (Some(100), web, Some(40)),
                (Some(100), other, Some(50)),
                (Some(300), web, Some(42)),
            ]
        );
    }
}
