//! The name of a program with parts of its own.

use domio_contract::{Descriptor, Policy};
use domio_front::program::name;
use domio_scenario::Parts;

#[test]
fn an_added_part_gives_the_program_another_name() {
    static MINE: Descriptor = Descriptor {
        name: "mine",
        ..domio_sched::round_robin::DESCRIPTOR
    };
    let shipped = Parts::from(domio_sched::policies());
    assert_eq!(name("0.1.0+c", &shipped), "0.1.0+c");
    let mut parts = shipped.clone();
    let round_robin = shipped.policy("round-robin").unwrap();
    parts
        .add_policy(&Policy::new(&MINE, round_robin.make))
        .unwrap();
    let with_mine = name("0.1.0+c", &parts);
    assert!(with_mine.starts_with("0.1.0+c."), "{with_mine}");
    assert_eq!(name("0.1.0+c", &parts), with_mine);
}
