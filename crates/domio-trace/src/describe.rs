//! Records in words for people, by their declarations.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domio_core::{ActorId, ClassId, DomainId, Field, Names, Record, Runstate, Unit};

use crate::xentrace::foreign_name;

/// Different records that [`Undeclared`] distinguishes; further ones are counted together. A
/// damaged file may have any number.
const KINDS_MAX: usize = 4096;

/// What a person calls `record`: its declared name, or else as much as is known of it, as
/// "pv-hypercall-v2 0x20100d" of an event of Xen and "network record 40" of another class.
pub fn record_name(names: &Names, record: &Record) -> Cow<'static, str> {
    if let Some(declared) = names.declared(record) {
        return Cow::Borrowed(declared.name);
    }
    undeclared_name(names, record.class, detail(record)).into()
}

/// What tells an undeclared record from others of its class.
fn detail(record: &Record) -> u32 {
    match record.class {
        ClassId::FOREIGN => record.words[0],
        _ => record.number.into(),
    }
}

fn undeclared_name(names: &Names, class: ClassId, detail: u32) -> String {
    match (class, names.class(class)) {
        (ClassId::FOREIGN, _) => foreign_name(detail),
        (_, Some(class)) => format!("{} record {detail}", class.name),
        (ClassId(class), None) => format!("class {class} record {detail}"),
    }
}

/// Counts the records that nobody declares: show it every record.
#[derive(Clone, Debug, Default)]
pub struct Undeclared {
    /// Name and number of the records.
    counts: BTreeMap<(ClassId, u32), (String, u64)>,
    further: u64,
}

impl Undeclared {
    /// None so far.
    pub fn new() -> Self {
        Undeclared::default()
    }

    /// Takes the next record, and says whether it was counted.
    #[inline]
    pub fn see(&mut self, names: &Names, record: &Record) -> bool {
        let undeclared = names.declared(record).is_none();
        if undeclared {
            self.count(names, (record.class, detail(record)));
        }
        undeclared
    }

    fn count(&mut self, names: &Names, key: (ClassId, u32)) {
        if let Some((_, count)) = self.counts.get_mut(&key) {
            *count += 1;
        } else if self.counts.len() < KINDS_MAX {
            let name = undeclared_name(names, key.0, key.1);
            self.counts.insert(key, (name, 1));
        } else {
            self.further += 1;
        }
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.counts.values().map(|(_, count)| count).sum::<u64>() + self.further
    }

    /// How many there were of each, by name ([`record_name`]), in the order of classes and
    /// numbers; those beyond 4096 different ones last, as "others".
    pub fn counts(&self) -> Vec<(String, u64)> {
        let further = (self.further > 0).then(|| ("others".to_owned(), self.further));
        self.counts.values().cloned().chain(further).collect()
    }
}

/// A value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Number(i64),
    Name(Cow<'static, str>),
}

/// The value of `field` in `record`, as a person reads it.
pub(crate) fn value(names: &Names, record: &Record, field: &Field) -> Value {
    let value = field.value(record);
    match field.unit {
        Unit::Signed => Value::Number(field.signed(record)),
        Unit::Actor => {
            // A field of fewer bits than an actor has no room for "nobody".
            let actor = ActorId(value as u32);
            Value::Name(match (names.actor(actor), actor.some()) {
                (Some(actor), _) => actor.to_string().into(),
                (None, None) => Cow::Borrowed("none"),
                (None, Some(_)) => format!("actor {value}").into(),
            })
        }
        Unit::Domain => Value::Name(DomainId(value as u16).to_string().into()),
        Unit::Runstate => match Runstate::from_number(value as u8) {
            Some(state) => Value::Name(Cow::Borrowed(state.name())),
            None => Value::Number(value.cast_signed()),
        },
        Unit::Place => {
            let places = names.class(record.class).map_or(&[][..], |c| c.places);
            match places.get(value as usize) {
                Some(place) => Value::Name(Cow::Borrowed(place.name)),
                None => Value::Number(value.cast_signed()),
            }
        }
        Unit::Number
        | Unit::Nanoseconds
        | Unit::Microseconds
        | Unit::Bytes
        | Unit::Pcpu
        | Unit::Flag
        | Unit::Time => Value::Number(i64::try_from(value).unwrap_or(i64::MAX)),
    }
}

/// What is written behind the name of a value in `unit`; `None` for a plain number and for what has
/// a name.
pub(crate) fn unit_suffix(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::Nanoseconds | Unit::Time => Some("ns"),
        Unit::Microseconds => Some("us"),
        Unit::Bytes => Some("bytes"),
        Unit::Number
        | Unit::Signed
        | Unit::Pcpu
        | Unit::Actor
        | Unit::Domain
        | Unit::Runstate
        | Unit::Place
        | Unit::Flag => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Acts, Class, Declared, Hold, Instant, PcpuId, Place, VcpuName};

    static DEVICE: Class = Class::new(
        "device",
        &[Declared::new(
            1,
            "moved",
            &[
                Field::bits("from", 0, 4, Unit::Place),
                Field::bits("credit", 8, 8, Unit::Signed),
                Field::bits("state", 16, 4, Unit::Runstate),
                Field::word("driver", 1, Unit::Actor),
                Field::word("owner", 2, Unit::Domain),
                Field::word("size", 3, Unit::Bytes),
            ],
        )],
    )
    .with_places(
        "packets",
        &[Place::new("rx ring", Acts::Guest, Hold::Ring).inwards()],
    );

    fn record(what: (ClassId, u8), words: [u32; 4]) -> Record {
        Record::of(Instant::ZERO, PcpuId(0), what, ActorId::NONE, words)
    }

    #[test]
    fn values_read_as_their_units_say() {
        let mut names = Names::new();
        let class = names.add_class(&DEVICE);
        names.add_actor(VcpuName::new(DomainId(3), 1));
        let text = |words| {
            let record = record((class, 1), words);
            let fields = names.declared(&record).unwrap().fields.iter();
            let value = |field| match value(&names, &record, field) {
                Value::Number(number) => number.to_string(),
                Value::Name(name) => name.into_owned(),
            };
            fields.map(value).collect::<Vec<_>>().join(", ")
        };
        let known = text([2 << 16 | 0xff00, 0, 7, 60]);
        assert_eq!(known, "rx ring, -1, blocked, d3v1, d7, 60");
        let unknown = text([9 << 16 | 5, 8, 7, 60]);
        assert_eq!(unknown, "5, 0, 9, actor 8, d7, 60");
        assert!(text([0, u32::MAX, 0, 0]).contains("none"));
    }

    #[test]
    fn what_nobody_declares_is_counted_and_named() {
        let mut names = Names::new();
        let class = names.add_class(&DEVICE);
        let mut undeclared = Undeclared::new();
        let hypercall = [0x20_100d, 1, 2, 3];
        for (what, words, counted) in [
            ((class, 1), [0; 4], false),
            ((class, 2), [0; 4], true),
            ((ClassId::FOREIGN, 4), hypercall, true),
            ((ClassId::FOREIGN, 5), hypercall, true),
            ((ClassId(9), 1), [0; 4], true),
        ] {
            assert_eq!(undeclared.see(&names, &record(what, words)), counted);
        }
        assert_eq!(undeclared.total(), 4);
        let names_of = [
            ("pv-hypercall-v2 0x20100d", 2),
            ("device record 2", 1),
            ("class 9 record 1", 1),
        ];
        let expected = names_of.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(undeclared.counts(), expected);
        for number in 0..2 * KINDS_MAX as u32 {
            let what = (ClassId::FOREIGN, 0);
            undeclared.see(&names, &record(what, [0x81000 + number, 0, 0, 0]));
        }
        let counts = undeclared.counts();
        assert_eq!(counts.len(), KINDS_MAX + 1);
        assert_eq!(
            counts[KINDS_MAX],
            ("others".to_owned(), KINDS_MAX as u64 + 3)
        );
    }
}
