//! Declarations of classes as files hold them: JSON that tells all there is.

use std::sync::{Mutex, PoisonError};

use domio_core::{
    Acts, Adds, Class, Declared, Field, Hold, Place, QueueRules, Says, Shows, Tally, Unit, WaitsFor,
};
use serde::{Deserialize, Serialize};

/// Classes that files have declared and no caller knew. Each is kept once, for as long as the
/// program runs: a [`Class`] is a `static` everywhere else.
static INTERNED: Mutex<Vec<&'static Class>> = Mutex::new(Vec::new());

/// Most records of a class.
const RECORDS_MAX: usize = 254;

/// A [`Class`] in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ClassJson {
    pub(super) name: String,
    records: Vec<RecordJson>,
    #[serde(with = "QueueRulesJson")]
    queue: QueueRules,
    items: String,
    places: Vec<PlaceJson>,
}

/// A [`Declared`] in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct RecordJson {
    number: u8,
    name: String,
    words: u8,
    fields: Vec<FieldJson>,
    #[serde(with = "SaysJson")]
    says: Says,
    #[serde(with = "ShowsJson")]
    shows: Shows,
    tallies: Vec<TallyJson>,
}

/// A [`Field`] in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct FieldJson {
    name: String,
    bit: u8,
    bits: u8,
    /// A name of [`Unit::ALL`].
    unit: String,
}

/// A [`Tally`] in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct TallyJson {
    name: String,
    #[serde(with = "AddsJson")]
    adds: Adds,
}

/// A [`Place`] in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct PlaceJson {
    name: String,
    /// A name of [`Acts::ALL`].
    acts: String,
    /// A name of [`Hold::ALL`].
    holds: String,
    inwards: bool,
}

/// [`Says`] in a file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Says", rename_all = "kebab-case")]
enum SaysJson {
    Nothing,
    Pass,
    Tickled {
        pcpu: u8,
    },
    Boosted,
    BoostOver,
    RateLimited,
    Dispatches,
    Queued {
        pcpu: u8,
    },
    Wants {
        pcpu: u8,
    },
    Credit {
        credit: u8,
        budget: Option<u8>,
    },
    Budget {
        left: u8,
    },
    Filled,
    HeldInside,
    Moved {
        from: u8,
        to: u8,
        driver: u8,
        ago: u8,
    },
    Full {
        place: u8,
        driver: u8,
    },
    Held {
        place: u8,
        driver: u8,
        time: u8,
    },
    Fills {
        amount: u8,
        driver: u8,
    },
    Waits(#[serde(with = "WaitsForJson")] WaitsFor),
    QueuesOn {
        pcpu: u8,
    },
    Ranks {
        rank: u8,
    },
    Interrupted {
        time: u8,
    },
    MayUse {
        first: u8,
        mask: u8,
    },
    Uninterruptible,
    OfGuest,
    WaitedForDisk {
        time: u8,
    },
    DiskQueued {
        disk: u8,
        time: u8,
    },
    DiskDone {
        disk: u8,
        time: u8,
        sectors: u8,
        writes: u8,
    },
}

/// [`WaitsFor`] in a file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "WaitsFor", rename_all = "kebab-case")]
enum WaitsForJson {
    Pass,
    Queue,
    Turn,
    Limit,
}

/// [`Shows`] in a file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Shows")]
struct ShowsJson {
    tickles: bool,
    limits: bool,
    boosts: bool,
    credits: bool,
}

/// [`Adds`] in a file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Adds", rename_all = "kebab-case")]
enum AddsJson {
    One,
    Sum(u8),
    Spent(u8),
    Sample(u8),
}

/// [`QueueRules`] in a file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "QueueRules")]
struct QueueRulesJson {
    fifo_with_boost: bool,
    /// Files of versions before this field have none, and those of hosts that may idle neither, so
    /// that their bytes stay the same.
    #[serde(default, skip_serializing_if = "is_false")]
    never_idles: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl ClassJson {
    pub(super) fn of(class: &Class) -> Self {
        let place = |place: &Place| PlaceJson {
            name: place.name.to_owned(),
            acts: place.acts.name().to_owned(),
            holds: place.holds.name().to_owned(),
            inwards: place.inwards,
        };
        ClassJson {
            name: class.name.to_owned(),
            records: class.records.iter().map(RecordJson::of).collect(),
            queue: class.queue,
            items: class.items.to_owned(),
            places: class.places.iter().map(place).collect(),
        }
    }

    /// The class that is declared: the known one that equals it, or one that is kept from now on.
    ///
    /// # Errors
    /// What no class can have, in words.
    pub(super) fn class(&self, known: &[&'static Class]) -> Result<&'static Class, String> {
        let is_this =
            |class: &&&'static Class| class.name == self.name && ClassJson::of(class) == *self;
        if let Some(class) = known.iter().find(is_this) {
            return Ok(class);
        }
        // Whoever panicked with the lock has left a whole table.
        let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(class) = interned.iter().find(is_this) {
            return Ok(class);
        }
        let class: &'static Class = Box::leak(Box::new(self.leaked()?));
        interned.push(class);
        Ok(class)
    }

    fn leaked(&self) -> Result<Class, String> {
        let numbers = self.records.iter().map(|record| record.number);
        if !numbers.is_sorted_by(|a, b| a < b) || self.records.len() > RECORDS_MAX {
            return Err(format!("records of {} out of order or too many", self.name));
        }
        let records: Result<Vec<_>, _> = self.records.iter().map(RecordJson::leaked).collect();
        let places: Result<Vec<_>, _> = self.places.iter().map(PlaceJson::leaked).collect();
        let class = Class::new(leak(&self.name), records?.leak());
        let class = class.with_queue(self.queue);
        Ok(class.with_places(leak(&self.items), places?.leak()))
    }
}

impl PlaceJson {
    fn leaked(&self) -> Result<Place, String> {
        let acts = Acts::ALL.into_iter().find(|(_, name)| *name == self.acts);
        let holds = Hold::ALL.into_iter().find(|(_, name)| *name == self.holds);
        match (acts, holds) {
            (Some((acts, _)), Some((holds, _))) => Ok(Place {
                inwards: self.inwards,
                ..Place::new(leak(&self.name), acts, holds)
            }),
            _ => Err(format!("the place {}, {:?}", self.acts, self.holds)),
        }
    }
}

impl RecordJson {
    fn of(declared: &Declared) -> Self {
        let field = |field: &Field| FieldJson {
            name: field.name.to_owned(),
            bit: field.bit,
            bits: field.bits,
            unit: field.unit.name().to_owned(),
        };
        let tally = |tally: &Tally| TallyJson {
            name: tally.name.to_owned(),
            adds: tally.adds,
        };
        RecordJson {
            number: declared.number,
            name: declared.name.to_owned(),
            words: declared.words,
            fields: declared.fields.iter().map(field).collect(),
            says: declared.says,
            shows: declared.shows,
            tallies: declared.tallies.iter().map(tally).collect(),
        }
    }

    fn leaked(&self) -> Result<Declared, String> {
        let fields: Result<Vec<_>, _> = self.fields.iter().map(FieldJson::leaked).collect();
        let tally = |tally: &TallyJson| Tally::new(leak(&tally.name), tally.adds);
        let tallies: Vec<_> = self.tallies.iter().map(tally).collect();
        let declared = Declared::new(self.number, leak(&self.name), fields?.leak());
        if self.words < declared.words || self.words > 4 {
            return Err(format!("{} words of {}", self.words, self.name));
        }
        let declared = declared.says(self.says).shows(self.shows);
        Ok(Declared {
            words: self.words,
            ..declared.tallies(tallies.leak())
        })
    }
}

impl FieldJson {
    fn leaked(&self) -> Result<Field, String> {
        let FieldJson { bit, bits, .. } = *self;
        if bits == 0 || bits > 64 || u16::from(bit) + u16::from(bits) > 128 {
            return Err(format!("bits {bit} and {bits} further of {}", self.name));
        }
        let unit = Unit::ALL.into_iter().find(|(_, name)| *name == self.unit);
        match unit {
            Some((unit, _)) => Ok(Field::bits(leak(&self.name), bit, bits, unit)),
            None => Err(format!("the unit {:?}", self.unit)),
        }
    }
}

fn leak(text: &str) -> &'static str {
    String::leak(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    static DEVICE: Class = Class::new(
        "device",
        &[
            Declared::new(
                2,
                "moved",
                &[
                    Field::bits("flow", 0, 24, Unit::Number),
                    Field::bits("from", 24, 4, Unit::Place),
                    Field::bits("to", 28, 4, Unit::Place),
                    Field::word("driver", 1, Unit::Actor),
                    Field::long("ago", 2, Unit::Nanoseconds),
                ],
            )
            .says(Says::Moved {
                from: 1,
                to: 2,
                driver: 3,
                ago: 4,
            })
            .shows(Shows {
                boosts: true,
                ..Shows::NOTHING
            })
            .tallies(&[
                Tally::new("moves", Adds::One),
                Tally::new("delay", Adds::Sample(4)),
            ]),
            Declared::new(9, "burned", &[Field::word("credit", 0, Unit::Signed)]).says(
                Says::Credit {
                    credit: 0,
                    budget: None,
                },
            ),
        ],
    )
    .with_queue(QueueRules {
        fifo_with_boost: true,
        ..QueueRules::NONE
    })
    .with_places(
        "packets",
        &[Place::new("rx ring", Acts::Guest, Hold::Ring).inwards()],
    );

    fn through_a_file(class: &Class) -> ClassJson {
        let json = serde_json::to_string(&ClassJson::of(class)).unwrap();
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn a_declaration_that_is_known_is_the_known_one() {
        let found = through_a_file(&DEVICE).class(&[&DEVICE]).unwrap();
        assert!(std::ptr::eq(found, &raw const DEVICE));
    }

    #[test]
    fn a_declaration_that_is_not_known_is_kept_once_with_all_that_it_says() {
        let mut other = through_a_file(&DEVICE);
        other.name = "another device".to_owned();
        let first = other.class(&[&DEVICE]).unwrap();
        assert_eq!(first.name, "another device");
        assert_eq!(first.records, DEVICE.records);
        let rest = Class {
            name: DEVICE.name,
            ..*first
        };
        assert_eq!(rest, DEVICE);
        assert!(std::ptr::eq(first, other.class(&[]).unwrap()));
        // The same name with another meaning is another class.
        other.items = "requests".to_owned();
        assert!(!std::ptr::eq(first, other.class(&[]).unwrap()));
    }

    #[test]
    fn what_no_class_can_have_is_refused() {
        let refused = |change: fn(&mut ClassJson)| {
            let mut json = through_a_file(&DEVICE);
            change(&mut json);
            json.class(&[]).unwrap_err()
        };
        let bits = |json: &mut ClassJson| json.records[0].fields[0].bits = 0;
        assert!(refused(bits).contains("flow"));
        let bit = |json: &mut ClassJson| json.records[0].fields[4].bit = 65;
        assert!(refused(bit).contains("ago"));
        assert!(refused(|json| json.records[0].words = 5).contains("words of moved"));
        assert!(refused(|json| json.records[0].words = 3).contains("words of moved"));
        assert!(refused(|json| json.records[1].number = 2).contains("out of order"));
        let acts = |json: &mut ClassJson| json.places[0].acts = "moon".to_owned();
        assert!(refused(acts).contains("moon"));
        let unit = |json: &mut ClassJson| json.records[0].fields[0].unit = "ells".to_owned();
        assert!(refused(unit).contains("ells"));
    }
}
