//! Elevators as scenarios name them: a word, or a table with tunables under the names of sysfs.

use crate::elevator::registry::ELEVATORS;
use crate::elevator::{ElevatorInfo, Tunable};
use alloc::vec::Vec;
use domio_core::keys::{Given, Good, Key, KeyReader, KeySection, Keys, Need, Slot, WordOf, Words};
use domio_core::keys::{nested, word_or_table, word_text};

/// Number of elevators.
const COUNT: usize = ELEVATORS.len();

/// Most tunables of one.
const MOST: usize = 16;

/// Keys of each elevator's tunables, and what fills the rows.
static KEYS: [[Key; MOST]; COUNT] = {
    const NONE: Key = Key::of(&domio_core::ParamSpec::int("", "", (0, 0), 0, ""));
    let mut all = [[NONE; MOST]; COUNT];
    let mut i = 0;
    while i < COUNT {
        let tunables: &[Tunable] = ELEVATORS[i].tunables;
        let mut k = 0;
        while k < tunables.len() {
            let spec = &tunables[k].spec;
            all[i][k] = Key {
                // The default of a time depends on the clock of the kernel.
                need: match tunables[k].part {
                    Some(_) => Need::Optional("the kernel's"),
                    None => Need::Int(spec.default),
                },
                ..Key::of(spec)
            };
            k += 1;
        }
        i += 1;
    }
    all
};

/// Every elevator by its word.
pub static ELEVATOR_WORDS: [WordOf<&'static ElevatorInfo>; COUNT] = {
    const NONE: WordOf<&ElevatorInfo> = WordOf::new("", &ELEVATORS[0], "");
    let mut all = [NONE; COUNT];
    let mut i = 0;
    while i < COUNT {
        let info = &ELEVATORS[i];
        let keys = KEYS[i].split_at(info.tunables.len()).0;
        all[i] = WordOf::with_keys(info.name, info, info.summary, keys);
        i += 1;
    }
    all
};

/// `elevator = { ... }`.
pub static ELEVATOR: KeySection = KeySection::plain(
    "elevator = { ... }",
    "An elevator with tunables of its own, under the names that they have in \
     `/sys/block/DISK/queue/iosched`. Times are in milliseconds; the kernel rounds them up to its \
     ticks.",
    ElevatorKeys::KEYS,
)
.by("name", &ELEVATOR_WORDS);

keys! {
    struct ElevatorKeys {
        "name" = word_text(Words::Of(&ELEVATOR_WORDS)), Need::Required, "Which one.";
    }
}

/// The elevator that `table` names or describes at `slot`: which, and the tunables that are given.
/// `None` when nothing is given, or when what is given is bad.
pub fn elevator_at(
    table: &mut dyn KeyReader,
    slot: &Slot<&'static ElevatorInfo>,
) -> Option<(&'static ElevatorInfo, Vec<(&'static str, i64)>)> {
    if let Some(info) = slot.get() {
        return Some((info, Vec::new()));
    }
    let inner = Slot::read(&*table, slot.name, &nested(&ELEVATOR));
    let tables = table.tables(&inner, &ELEVATOR);
    let own: &dyn Given = &**tables.first()?;
    let (_, Some(Good::Text(name))) = own.given("name") else {
        return None;
    };
    let info = *WordOf::find(&ELEVATOR_WORDS, &name)?;
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
pub const fn elevator() -> domio_core::keys::Typed<&'static ElevatorInfo> {
    word_or_table(&ELEVATOR_WORDS, &ELEVATOR)
}
