//! Names that are written once, and numbers in their place in every event.

use std::collections::BTreeMap;

use super::Packets;
use super::proto::{InternedData, InternedName, TracePacket};

/// What a name is of; each has numbers of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NameOf {
    /// An event.
    Event,
    /// A category of events.
    Category,
    /// A field of an event.
    Field,
    /// A value of a field.
    Value,
}

/// The numbers of names so far, from 1 on.
#[derive(Clone, Default, Debug)]
pub(super) struct Interned([BTreeMap<String, u64>; 4]);

/// Numbers of the names of a declared record.
#[derive(Clone, Debug)]
pub(super) struct Called {
    pub(super) name: u64,
    pub(super) category: u64,
    pub(super) fields: Vec<u64>,
}

impl Packets {
    /// The number of `name`, which is written at first sight.
    pub(super) fn number(&mut self, of: NameOf, name: &str) -> u64 {
        let table = &mut self.interned.0[of as usize];
        if let Some(number) = table.get(name) {
            return *number;
        }
        let number = table.len() as u64 + 1;
        table.insert(name.to_owned(), number);
        let named = vec![InternedName {
            number,
            name: name.to_owned(),
        }];
        let mut data = InternedData::default();
        match of {
            NameOf::Event => data.event_names = named,
            NameOf::Category => data.event_categories = named,
            NameOf::Field => data.annotation_names = named,
            NameOf::Value => data.annotation_values = named,
        }
        self.put(TracePacket {
            interned_data: Some(data),
            ..TracePacket::default()
        });
        number
    }
}
