//! A device with a place of a sort that no device of the project has: the meter has no line for it.

use crate::cast::{fed, first, names};
use domio_core::{
    Acts, Class, ClassId, Declared, DomainId, Field, Hold, Instant, PcpuId, Place, Record, Says,
    Unit,
};
use domio_meter::{Explainer, ItemQueue, MapWindow};
use serde_json::json;
use std::collections::BTreeMap;

/// Jobs for an accelerator that spends a budget of tokens.
static ACCELERATOR: Class = Class::new(
    "accelerator",
    &[Declared::new(
        0,
        "moved",
        &[
            Field::bits("from", 0, 8, Unit::Place),
            Field::bits("to", 8, 8, Unit::Place),
            Field::word("driver", 1, Unit::Actor),
            Field::long("ago", 2, Unit::Nanoseconds),
        ],
    )
    .says(Says::Moved {
        from: 0,
        to: 1,
        driver: 2,
        ago: 3,
    })],
)
.with_places(
    "jobs",
    &[
        Place::new("outside", Acts::Nobody, Hold::Nothing),
        Place::new("tokens", Acts::Device, Hold::Budget),
        Place::new("engine", Acts::Device, Hold::Nothing),
    ],
);

const OUTSIDE: u32 = 0;
const TOKENS: u32 = 1;
const ENGINE: u32 = 2;

#[test]
fn a_place_that_nobody_knew_has_its_cause_and_its_culprit() {
    let mut names = names();
    let class = names.add_class(&ACCELERATOR);
    assert_eq!(class, ClassId(2));
    let moved = |at, guest, from: u32, to: u32| {
        let at = Instant::from_nanos(at);
        let words = [from | to << 8, first(0).0, 0, 0];
        Record::of(at, PcpuId(0), (class, 0), first(guest), words)
    };
    // A job of domain 1 waits for tokens while domain 2 has the engine.
    let records = [
        moved(100, 2, OUTSIDE, ENGINE),
        moved(100, 1, OUTSIDE, TOKENS),
        moved(300, 2, ENGINE, OUTSIDE),
        moved(300, 1, TOKENS, ENGINE),
        moved(400, 1, ENGINE, OUTSIDE),
    ];
    let explained = fed(Explainer::new(MapWindow::Worst), &names, &records).finish();
    let one = explained.items(DomainId(1)).next().expect("it has a job");
    let tokens = ItemQueue::Place(Acts::Device, Hold::Budget);
    assert_eq!(
        one.queues(),
        BTreeMap::from([(tokens, 200), (ItemQueue::DEVICE, 100)])
    );
    assert_eq!(one.largest_wait(), Some((tokens, 200)));
    assert_eq!(
        (tokens.name(one.class), tokens.key().as_str()),
        ("tokens", "budget_device")
    );
    assert_eq!(ItemQueue::DEVICE.name(one.class), "engine");
    assert!(ItemQueue::all(one.class).contains(&tokens));
    let beside = [(Some(DomainId(2)), 200), (Some(DomainId(1)), 100)];
    assert_eq!(one.beside(), BTreeMap::from(beside));

    let json =
        serde_json::to_value(explained.answer(|_| None, |_| None, None, false)).expect("JSON");
    let items = json["items"].as_array().expect("a list");
    let one = items.iter().find(|items| items["domain"] == 1);
    let one = one.expect("it has a job");
    let queues = one["queues"].as_array().expect("a list");
    let told = queues
        .iter()
        .find(|queue| queue["queue"] == "budget_device");
    assert_eq!(told.expect("it waited")["ns"], 200);
    let wait = &one["waits"][0];
    let expected = json!({
        "place": "tokens", "cause": "beside", "side": null, "behind": 2, "ns": 200,
    });
    assert_eq!(*wait, expected);
}
