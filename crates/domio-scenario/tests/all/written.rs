//! Scenarios that are written as TOML again.

use domio_scenario::{Scenario, examples};

fn parsed(text: &str) -> Scenario {
    Scenario::parse("s.toml", text.as_bytes(), domio_sched::policies()).unwrap()
}

#[test]
fn every_shipped_scenario_means_the_same_when_it_is_written_again() {
    for (name, text) in examples() {
        let scenario = parsed(text);
        assert_eq!(scenario.to_toml().unwrap(), *text, "{name}");
        let changed = scenario.with(&[("seed", "77")]).unwrap();
        let again = parsed(&changed.to_toml().unwrap());
        // Places in the text are part of a plan, and other texts have others.
        let plain = |of: &Scenario| {
            let plan = format!("{:?}", of.plan());
            let parts = plan.split("Span {").map(|part| match part.split_once('}') {
                Some((_, rest)) => rest.to_owned(),
                None => part.to_owned(),
            });
            parts.skip(1).fold(
                plan.split("Span {").next().unwrap_or("").to_owned(),
                |all, part| all + &part,
            )
        };
        assert_eq!(plain(&again), plain(&changed), "{name}");
    }
}

#[test]
fn overrides_come_into_their_places() {
    let text = "title = \"a \\\"b\\\"\"\nrun.duration_s = 1\n\
                scheduler.policy = \"credit\"\n[[domain]]\n\
                name = \"a-b\"\nworkload = \"burn\"\n[[domain]]\nname = \"g\"\n\
                count = 2\nworkload = \"burn\"\n";
    let changed = parsed(text).with(&[("run.duration_s", "2.0"), ("domain.g.weight", "64")]);
    let written = changed.unwrap().to_toml().unwrap();
    let expected = "title = \"a \\\"b\\\"\"\n\n[[domain]]\nname = \"a-b\"\n\
                    workload = \"burn\"\n\n[[domain]]\n\
                    count = 2\nname = \"g\"\nweight = 64\nworkload = \"burn\"\n\n[run]\n\
                    duration_s = 2.0\n\n[scheduler]\npolicy = \"credit\"\n";
    assert_eq!(written, expected);
    let member = parsed(text).with(&[("domain.g2.weight", "64")]).unwrap();
    assert!(
        member
            .to_toml()
            .unwrap_err()
            .contains("a [[domain]] of its own")
    );
}
