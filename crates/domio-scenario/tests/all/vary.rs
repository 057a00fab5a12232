//! `[[vary]]`: what replications draw anew.

use domio_scenario::{Scenario, ScenarioErrors};

const TEXT: &str = r#"
    seed = 7
    run.duration_s = 1
    scheduler.policy = "credit"
    [[domain]]
    name = "g"
    count = 2
    workload = "burn"
    [[vary]]
    key = "domain.g2.start"
    from_ms = 10
    to_ms = 20
    stream = "g2/start"
"#;

fn scenario(text: &str) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse("t.toml", text.as_bytes(), domio_sched::policies())
}

fn starts(scenario: &Scenario, replication: u32) -> Vec<u64> {
    let drawn = scenario.replication(replication).unwrap();
    let domains = drawn.plan().host.domains.iter();
    domains.map(|d| d.start.as_nanos()).collect()
}

#[test]
fn replications_draw_from_their_streams() {
    let scenario = scenario(TEXT).unwrap();
    let [first, second] = [0, 1].map(|n| starts(&scenario, n));
    assert_eq!(first, starts(&scenario, 0));
    assert_ne!(first, second);
    for start in [first, second] {
        assert_eq!(start[0], 0);
        assert!((10_000_000..=20_000_000).contains(&start[1]), "{start:?}");
    }
    let other = scenario.with(&[("seed", "8")]).unwrap();
    assert_ne!(starts(&scenario, 0), starts(&other, 0));
}

#[test]
fn a_key_that_is_set_is_not_drawn() {
    let set = scenario(TEXT)
        .unwrap()
        .with(&[("domain.g2.start_us", "5")])
        .unwrap();
    assert!(set.plan().vary.is_empty());
    assert_eq!(starts(&set, 3), [0, 5_000]);
    let other = scenario(TEXT)
        .unwrap()
        .with(&[("vary.0.to_ms", "10")])
        .unwrap();
    assert_eq!(starts(&other, 3), [0, 10_000_000]);
}

#[test]
fn a_key_that_does_not_exist_is_refused() {
    let wrong = TEXT.replace("domain.g2.start", "domain.g3.start");
    let told = scenario(&wrong).unwrap_err().to_string();
    assert!(
        told.contains("no domain `g3`") && told.contains("[[vary]]"),
        "{told}"
    );
    let wrong = TEXT.replace("to_ms = 20", "to_ms = 2");
    assert!(scenario(&wrong).unwrap_err().to_string().contains("from"));
}
