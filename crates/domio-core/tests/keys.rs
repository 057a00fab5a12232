//! Keys that are declared and read.

#[macro_use]
#[path = "../src/keys/declare.rs"]
mod declare;

use domio_core::Duration;
use domio_core::keys::{Given, Good, Keys, Need, WordOf, int, time, word};

static COLOURS: [WordOf<u32>; 2] = [
    WordOf::new("red", 700, "Long waves."),
    WordOf::new("blue", 450, "Short ones."),
];

keys! {
    struct Lamp {
        colour: u32 = word(&COLOURS), Need::Word("red"), "Its colour.";
        on: Duration = time("ms", 1), Need::Required, "How long it is on.";
        "kind" = int::<i64>(0, 1), Need::Optional("none"), "Selects.";
        watts: u8 = int(1, 60), Need::Optional("as much as it takes"), "Its power.";
    }
}

/// A table with these keys, where `None` stands for a bad value.
struct Written(Vec<(&'static str, Option<Good>)>);

impl Given for Written {
    fn given(&self, name: &str) -> (bool, Option<Good>) {
        let found = self.0.iter().find(|(key, _)| *key == name);
        match found {
            Some((_, value)) => (true, value.clone()),
            None if name == "colour" => (false, Some(Good::Text("red".into()))),
            None => (false, None),
        }
    }
}

#[test]
fn the_keys_are_the_fields_in_order() {
    let names: Vec<String> = Lamp::KEYS.iter().map(|key| key.written()).collect();
    assert_eq!(names, ["colour", "on_ms", "kind", "watts"]);
    assert_eq!(Lamp::KEYS[1].doc, "How long it is on.");
}

#[test]
fn a_slot_tells_what_was_left_out_from_what_was_bad() {
    let lamp = Lamp::read(&Written(vec![("watts", None)]));
    assert_eq!(
        lamp.colour.get(),
        Some(700),
        "the default, as what it stands for"
    );
    assert!(!lamp.colour.given);
    assert_eq!(lamp.on.get(), None, "it is required");
    assert_eq!((lamp.watts.given, lamp.watts.if_given()), (true, None));

    let lamp = Lamp::read(&Written(vec![(
        "on",
        Some(Good::Time(Duration::from_millis(5))),
    )]));
    assert_eq!(lamp.on.get(), Some(Duration::from_millis(5)));
    assert_eq!(lamp.watts.if_given(), Some(None));
    assert_eq!(lamp.watts.or(40), Some(40));
}
