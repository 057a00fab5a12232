//! Records that nobody declares, counted.

use domio_core::{ClassId, Names, Record};
use serde::Serialize;

/// Most kinds of undeclared records that are told apart; a damaged file may have any number.
const KINDS_MAX: usize = 1 << 10;

/// Records of one kind that no class declares.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct UndeclaredRecords {
    /// Name of the class and number of the record ("credit 30"); Xen's event in hexadecimal for
    /// records of a real host ("0x82001"); "others" beyond 1024 kinds.
    pub name: String,
    /// How many there are.
    pub records: u64,
}

/// Counts them while a trace is read.
#[derive(Debug, Default)]
pub(crate) struct Undeclared {
    /// By class, and number or Xen's event.
    counts: Vec<((ClassId, u32), UndeclaredRecords)>,
    /// Place of the one that was counted last: they come in groups.
    last: usize,
    others: u64,
}

impl Undeclared {
    /// Takes a record without a declaration.
    #[inline]
    pub fn see(&mut self, names: &Names, record: &Record) {
        let number = match record.class {
            ClassId::FOREIGN => record.words[0],
            _ => u32::from(record.number),
        };
        let kind = (record.class, number);
        match self.counts.get_mut(self.last) {
            Some((last, count)) if *last == kind => count.records += 1,
            _ => self.find(names, kind),
        }
    }

    fn find(&mut self, names: &Names, kind: (ClassId, u32)) {
        let place = self.counts.binary_search_by_key(&kind, |(kind, _)| *kind);
        match place {
            Ok(place) => {
                self.counts[place].1.records += 1;
                self.last = place;
            }
            Err(place) if self.counts.len() < KINDS_MAX => {
                let name = name(names, kind);
                let new = UndeclaredRecords { name, records: 1 };
                self.counts.insert(place, (kind, new));
                self.last = place;
            }
            Err(_) => self.others += 1,
        }
    }

    /// The counts, by class and number.
    pub fn finish(self) -> Vec<UndeclaredRecords> {
        let others = (self.others > 0).then(|| UndeclaredRecords {
            name: "others".to_owned(),
            records: self.others,
        });
        let counts = self.counts.into_iter().map(|(_, count)| count);
        counts.chain(others).collect()
    }
}

fn name(names: &Names, (class, number): (ClassId, u32)) -> String {
    match (class, names.class(class)) {
        (ClassId::FOREIGN, _) => format!("{number:#x}"),
        (_, Some(class)) => format!("{} {number}", class.name),
        (ClassId(class), None) => format!("class {class} {number}"),
    }
}
