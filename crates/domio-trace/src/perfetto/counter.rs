//! Counters: driver domains' work, credit, and lengths of queues.

use std::collections::BTreeMap;

use domio_core::{
    Acts, Declared, DomainId, Hold, Instant, Names, Place, Record, Runstate, Says, VcpuName,
};

use super::flow::Step;
use super::proto::{CounterDescriptor, TracePacket, TrackDescriptor, TrackEvent};
use super::{COUNTER, PCPUS_TRACK, Packets, counter_track, domain_track, vcpu_track};
use crate::VCPUS_MAX;

/// `CounterDescriptor.Unit`: a number of things.
const UNIT_COUNT: i32 = 2;
/// `CounterDescriptor.Unit`: nanoseconds.
const UNIT_TIME_NS: i32 = 1;
/// Most counters with one event (`TrackEventData::kMaxNumExtraCounters` of Perfetto's sources).
const WITH_EVENT_MAX: usize = 8;
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

impl Packets {
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
        // Zeros come last: see `counted`.
        for zeros in [false, true] {
            for key in &unsettled {
                let Some(counter) = self.counters.by_key.get_mut(key) else {
                    continue;
                };
                counter.unsettled = false;
                let (track, value) = (counter.track, counter.value);
                if (value == 0) == zeros && counter.written.replace(value) != Some(value) {
                    self.counted(at, track, value);
                }
            }
        }
        unsettled.clear();
        // Its memory serves the next time.
        self.counters.unsettled = unsettled;
    }

    /// The counter of `track` is `value` from `at` on: with the event that is held, if that has
    /// room and its time, or else in an event of its own.
    fn counted(&mut self, at: Instant, track: u64, value: i64) {
        // Readers keep values up to the first zero, and take all others for zeros.
        let has_room = |event: &TrackEvent| {
            event.r#type != COUNTER
                && event.counter_values.len() < WITH_EVENT_MAX
                && (value == 0 || event.counter_values.last() != Some(&0))
        };
        let held = self.held.as_mut();
        match held.filter(|(of, event)| *of == at && has_room(event)) {
            Some((_, event)) => {
                event.counter_tracks.push(track);
                event.counter_values.push(value);
            }
            None => self.event(
                at,
                TrackEvent {
                    r#type: COUNTER,
                    track,
                    counter_value: Some(value),
                    ..TrackEvent::default()
                },
            ),
        }
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
        let described = |writer: &Self| Described {
            parent: vcpu_track(vcpu.word()),
            name: format!("credit of {}", writer.vcpu_name(vcpu)),
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
            if is_queue(step.declared[end]) && place < PLACES_MAX {
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

/// Whether items wait at `place` for a driver domain or a device, or are held: what a guest has in
/// its own hands is its own matter.
fn is_queue(place: &Place) -> bool {
    matches!(place.acts, Acts::Driver | Acts::Device) || place.holds != Hold::Nothing
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
    use crate::{DomainInfo, PerfettoWriter, TraceHeader};
    use domio_core::{Names, PcpuId, Record, Runstate, Sink, VcpuName};
    use prost::Message;

    /// Tracks and values of the counters of an event.
    fn values_of(event: &TrackEvent) -> Vec<(u64, i64)> {
        let own = event.counter_value.map(|value| (event.track, value));
        let with = event.counter_tracks.iter().zip(&event.counter_values);
        let with = with.map(|(track, value)| (*track, *value));
        own.into_iter().chain(with).collect()
    }

    /// Readers take the values of an event for zeros after the first that is one, and take eight
    /// at most.
    #[test]
    fn values_go_with_an_event_of_their_time_zeros_last() {
        let mut packets = Packets::new(None);
        let at = Instant::from_nanos;
        let described = |_: &Packets| Described {
            parent: PCPUS_TRACK,
            name: String::new(),
            unit: CounterDescriptor::of("queue", UNIT_COUNT),
            begins: None,
        };
        let event = TrackEvent {
            r#type: super::super::INSTANT,
            ..TrackEvent::default()
        };
        for (time, values) in [(1, vec![0, 5, 0, 7]), (2, (1..=10).collect()), (3, vec![3])] {
            for (key, _) in values.iter().enumerate() {
                packets.count(at(time), key as u64, described, |_| 0);
            }
            if time < 3 {
                packets.event(at(time), event.clone());
            }
            for (key, value) in values.iter().enumerate() {
                packets.count(at(time), key as u64, described, |_| *value);
            }
            packets.settle(None);
        }
        packets.release();
        let trace = super::super::proto::Trace::decode(&packets.buffer[..]).unwrap();
        let events = trace.packets.iter().filter_map(|p| p.track_event.as_ref());
        let values = events.map(|event| {
            let values = values_of(event).into_iter();
            (event.r#type, values.map(|(_, value)| value).collect())
        });
        let values: Vec<(i32, Vec<i64>)> = values.collect();
        let expected = [
            (super::super::INSTANT, vec![5, 7, 0, 0]),
            (super::super::INSTANT, (1..=8).collect()),
            (COUNTER, vec![9]),
            (COUNTER, vec![10]),
            (COUNTER, vec![3]),
        ];
        assert_eq!(values, expected);
    }

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
            for (track, value) in packet.track_event.iter().flat_map(values_of) {
                values.push((packet.timestamp, track, Some(value)));
            }
        }
        let (web, other) = (counters[0].0, counters[1].0);
        assert_eq!(
            counters,
            [(web, "work for web (d3)"), (other, "work for dom4")]
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
