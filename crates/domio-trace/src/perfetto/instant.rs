//! Instants: what records say that the runstates do not show, with their fields.

use std::sync::Arc;

use domio_core::{ActorId, Declared, DomainId, Field, Names, Record, Unit};

use super::flow::{Arrows, Step};
use super::intern::{Called, NameOf};
use super::proto::{DebugAnnotation, TrackEvent};
use super::{INSTANT, Packets};
use crate::describe::{Value, unit_suffix, value};

impl Packets {
    /// An instant with the fields of `record`, on the track of the vcpu that the record is about,
    /// or else on the pcpu's. An item that moves is where the step is done, with an arrow from the
    /// step before.
    pub(super) fn instant(&mut self, names: &Names, record: &Record, declared: &Declared) {
        let step = Step::of(names, record, declared);
        let vcpu = match &step {
            Some(step) => step.vcpu(names, record),
            None => names.vcpu(record.actor),
        };
        let track = self.track_of(vcpu, record.pcpu);
        let arrows = match &step {
            Some(step) => {
                self.queues(names, record, step);
                self.follow(record, step)
            }
            None => Arrows::default(),
        };
        let told = self.called(names, record, declared);
        let fields = declared.fields.iter().zip(&told.fields);
        let annotations = fields.map(|(field, name)| {
            let mut annotation = DebugAnnotation {
                name: *name,
                ..DebugAnnotation::default()
            };
            match self.value(names, record, field) {
                Value::Number(number) => annotation.int_value = Some(number),
                // There are few places, runstates and actors. In a damaged file other names may be
                // any number of them.
                Value::Name(name) if is_known(names, record, field) => {
                    annotation.string_number = Some(self.number(NameOf::Value, &name));
                }
                Value::Name(name) => annotation.string_value = Some(name.into_owned()),
            }
            annotation
        });
        let annotations = annotations.collect();
        let event = TrackEvent {
            r#type: INSTANT,
            track,
            name: Some(told.name),
            categories: vec![told.category],
            annotations,
            ..TrackEvent::default()
        };
        self.event(record.at, arrows.on(event));
    }
}

/// Whether the value of `field` is one of a few names.
fn is_known(names: &Names, record: &Record, field: &Field) -> bool {
    match field.unit {
        Unit::Actor => names.actor(ActorId(field.value(record) as u32)).is_some(),
        unit => matches!(unit, Unit::Place | Unit::Runstate),
    }
}

impl Packets {
    /// The value of `field`: vcpus and domains by the names that their tracks have.
    fn value(&self, names: &Names, record: &Record, field: &Field) -> Value {
        let vcpu = match field.unit {
            Unit::Actor => names.vcpu(ActorId(field.value(record) as u32)),
            _ => None,
        };
        match (vcpu, field.unit) {
            (Some(vcpu), _) => Value::Name(self.vcpu_name(vcpu).into()),
            (None, Unit::Domain) => {
                let id = DomainId(field.value(record) as u16);
                Value::Name(self.domain_name(id).into())
            }
            _ => value(names, record, field),
        }
    }

    /// The numbers of the names of `declared`, which are looked up once.
    fn called(&mut self, names: &Names, record: &Record, declared: &Declared) -> Arc<Called> {
        let key = (record.class, record.number);
        if let Some(called) = self.called.get(&key) {
            return called.clone();
        }
        let class = names.class(record.class).map_or("", |class| class.name);
        let field = |field: &Field| match unit_suffix(field.unit) {
            Some(unit) => format!("{} {unit}", field.name),
            None => field.name.to_owned(),
        };
        let fields: Vec<String> = declared.fields.iter().map(field).collect();
        let called = Arc::new(Called {
            name: self.number(NameOf::Event, declared.name),
            category: self.number(NameOf::Category, class),
            fields: fields
                .iter()
                .map(|name| self.number(NameOf::Field, name))
                .collect(),
        });
        self.called.insert(key, called.clone());
        called
    }
}

#[cfg(test)]
mod tests {
    use super::super::FURTHER_IDS;
    use super::super::tests::{Called as Known, packets, some_names};
    use super::*;
    use crate::{PerfettoWriter, TraceHeader};
    use domio_core::Unit;
    use domio_core::{
        ActorId, Acts, Class, ClassId, Field, Hold, Instant, Kind, PcpuId, Place, Says, Sink,
    };

    #[test]
    fn declared_records_are_instants_with_their_fields() {
        static DEVICE: Class = Class::new(
            "device",
            &[
                Declared::new(
                    1,
                    "moved",
                    &[
                        Field::bits("to", 0, 4, Unit::Place),
                        Field::word("left", 1, Unit::Nanoseconds),
                    ],
                ),
                Declared::new(2, "pass", &[]).says(Says::Pass),
            ],
        )
        .with_places(
            "packets",
            &[Place::new("tx ring", Acts::Driver, Hold::Ring)],
        );
        let mut names = some_names();
        let class = names.add_class(&DEVICE);
        let (at, pcpu, v) = (Instant::from_nanos(5), PcpuId(0), ActorId(4));
        let records = [
            Record::job_done(at, pcpu, v, 2, [(1 << 32) + 7, 9]),
            Record::with(at, pcpu, Kind::Lost, ActorId::NONE, [7, 0, 0, 0]),
            Record::with(at, pcpu, Kind::EvtchnServe, v, [9, 0, 0, 0]),
            Record::of(at, pcpu, (class, 1), v, [0, 300, 0, 0]),
            Record::of(at, pcpu, (class, 1), ActorId::NONE, [1, 300, 0, 0]),
            // What the runstates show.
            Record::of(at, pcpu, (class, 2), v, [0; 4]),
            Record::new(at, pcpu, Kind::Wake, v),
        ];
        let packets = packets(&names, &records, &TraceHeader::default());
        let called = Known::of(&packets);
        let events = packets.iter().filter_map(|p| p.track_event.as_ref());
        let events = events.filter(|e| e.r#type == INSTANT);
        let shown = |event: &TrackEvent| {
            let value = |a: &DebugAnnotation| match a.string_number.map(|n| &called.values[&n]) {
                Some(name) => format!("{}: {name}", called.fields[&a.name]),
                None => format!("{}: {}", called.fields[&a.name], a.int_value.unwrap()),
            };
            let values: Vec<String> = event.annotations.iter().map(value).collect();
            let category = called.categories[&event.categories[0]].as_str();
            let name = called.events[&event.name.unwrap()].as_str();
            (event.track & 7, category, name, values.join(", "))
        };
        let shown: Vec<_> = events.map(shown).collect();
        let job = "turnaround ns: 4294967303, executed ns: 9, task: 2";
        let expected = [
            (3, "sched", "job-done", job),
            (1, "sched", "lost", "records: 7"),
            (3, "sched", "evtchn-serve", "port: 9"),
            (3, "device", "moved", "to: tx ring, left ns: 300"),
            (1, "device", "moved", "to: 1, left ns: 300"),
            (1, "wake", "wake dom1.1500", ""),
        ];
        let expected = expected.map(|(t, class, name, text)| (t, class, name, text.to_owned()));
        assert_eq!(shown, expected);
        let tid = packets
            .iter()
            .find_map(|p| Some(p.track_descriptor.as_ref()?.thread.as_ref()?.tid));
        assert_eq!(tid, Some(FURTHER_IDS + 1), "no clash with d2");
    }

    #[test]
    fn what_nobody_declares_is_counted() {
        let what = (ClassId::FOREIGN, 0);
        let words = [0x81001, 0, 0, 0];
        let record = Record::of(Instant::ZERO, PcpuId(0), what, ActorId::NONE, words);
        let mut w = PerfettoWriter::new(Vec::new(), None);
        w.record(&some_names(), &record);
        let counts = w.undeclared().counts();
        assert_eq!(counts, [("hvm 0x81001".to_owned(), 1)]);
    }
}
