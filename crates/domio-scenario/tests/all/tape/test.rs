//! What the parts make of the folder: checks, schema, reference page, host.

use super::{ENTRY, TapeConfig};
use crate::common::parse_with;
use domio_core::{DomainId, Duration, Instant, NullSink};
use domio_scenario::{
    DeviceConfig, DeviceModel, NoReplay, Parts, Scenario, ScenarioErrors, reference, schema,
};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::bus::{Assembly, Device};

const TEXT: &str = r#"
    run.duration_s = 1
    scheduler.policy = "credit"
    host.cores = 2
    tape.wind_us = 7
    [[domain]]
    name = "Domain-0"
    [[domain]]
    name = "a"
    workload = "listen"
    reel = {}
    [[domain]]
    name = "b"
    disk = { kind = "loopback", size = "1M" }
    [[domain]]
    name = "c"
    reel = { length = "1M" }
"#;

/// All parts that ship, and tapes.
fn parts() -> Parts {
    let mut parts = Parts::from(domio_sched::policies());
    parts.add_device(&ENTRY).expect("no other has the name");
    parts
}

fn scenario(text: &str) -> Result<Scenario, ScenarioErrors> {
    parse_with(text, &parts())
}

#[test]
fn domains_have_tapes_beside_disks() {
    let built = scenario(TEXT).unwrap().build(&NoReplay).unwrap();
    let [DeviceConfig::Loopback(loopback), own] = &built.devices[..] else {
        panic!("a device for each kind: {:?}", built.devices);
    };
    let tape: &TapeConfig = own.of().expect("the device's own configuration");
    let tapes: Vec<_> = tape
        .tapes
        .iter()
        .map(|(d, length)| (d.0, *length))
        .collect();
    assert_eq!(tapes, [(1, 64 << 10), (3, 1 << 20)]);
    assert_eq!(tape.wind, Duration::from_micros(7));
    assert_eq!(loopback.disks.len(), 1);

    let attach = |bus: &mut Assembly<'_, DeviceModel>| built.attach(bus, 0);
    let scheduler = built.scheduler();
    let mut host = Simulation::with_devices(&built.host, scheduler, attach, NullSink, 1, 0);
    let outcome = host.run(Instant::ZERO + Duration::from_millis(100));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
    // 64 KiB in pieces of 16, each of which winds.
    let passed = host.host().device(1).passed(DomainId(1));
    assert_eq!(passed.requests_read, 4);
    assert_eq!(host.host().vcpu_times(1).running, Duration::from_micros(28));
}

#[test]
fn mistakes_are_told_and_pages_know_the_keys() {
    let told = |text: &str| scenario(text).unwrap_err().to_string();
    let unknown = told(&TEXT.replace("wind_us = 7", "wid_us = 7"));
    assert!(unknown.contains("did you mean `wind_us`?"), "{unknown}");
    let wrong = told(&TEXT.replace("\"listen\"", "\"lisen\""));
    assert!(wrong.contains("did you mean `listen`?"), "{wrong}");
    let large = told(&TEXT.replace("length = \"1M\"", "length = \"2M\""));
    assert!(large.contains("`length` is out of range"), "{large}");
    let none = told(&TEXT.replace("reel = {}", ""));
    assert!(none.contains("the domain has no tape"), "{none}");
    let driver = told(&TEXT.replace("tape.wind_us = 7", "tape.drive = \"a\""));
    assert!(driver.contains("cannot have a tape of its own"), "{driver}");
    let page = reference(parts(), &[]);
    assert!(page.contains("| `wind_us` | time | 0 to 1000000 s | 5 us | What each call takes. |"));
    let schema = schema(parts());
    assert!(schema["$defs"]["tape"].to_string().contains("wind_ms"));
}
