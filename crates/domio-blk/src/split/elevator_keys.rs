//! Elevators as scenarios name them: a word, or a table with tunables under the names of sysfs.

use crate::elevator::ElevatorInfo;
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::keys::{Given, Good, KeyReader, KeySection, Keys, Need, Slot, Typed, Words};
use domio_core::keys::{nested, word_text, word_text_or_table};

/// `elevator = { ... }`.
pub static ELEVATOR: KeySection = KeySection::plain(
    "elevator = { ... }",
    "An elevator with tunables of its own, under the names that they have in \
     `/sys/block/DISK/queue/iosched`. Times are in milliseconds; the kernel rounds them up to its \
     ticks.",
    ElevatorKeys::KEYS,
)
.by("name", Words::Elevators);

keys! {
    struct ElevatorKeys {
        "name" = word_text(Words::Elevators), Need::Required, "The elevator.";
    }
}

/// The elevator that `table` names or describes at `slot`: which, and the tunables that are given.
/// `None` when nothing is given, or when what is given is bad.
pub fn elevator_at(
    table: &mut KeyReader<'_>,
    slot: &Slot<String>,
) -> Option<(&'static ElevatorInfo, Vec<(&'static str, i64)>)> {
    let all = table.parts(Words::Elevators);
    let called = |name: &str| {
        let mut all = all.iter().filter_map(|part| part.downcast_ref());
        all.find(|info: &&ElevatorInfo| info.name == name)
    };
    if let Some(name) = slot.get() {
        return Some((called(&name)?, Vec::new()));
    }
    let inner = Slot::read(&*table, slot.name, &nested(&ELEVATOR));
    let tables = table.tables(&inner, &ELEVATOR);
    let own = tables.first()?;
    let (_, Some(Good::Text(name))) = own.given("name") else {
        return None;
    };
    let info = called(&name)?;
    let given = info.tunables.iter().map(|tunable| {
        let name = tunable.spec.name;
        match own.given(name) {
            (false, _) => Some(None),
            (true, Some(Good::Int(value))) => Some(Some((name, value))),
            (true, _) => None,
        }
    });
    let given: Option<Vec<_>> = given.collect();
    Some((info, given?.into_iter().flatten().collect()))
}

/// A key that names an elevator, or describes one.
pub const fn elevator() -> Typed<String> {
    word_text_or_table(Words::Elevators, &ELEVATOR)
}
