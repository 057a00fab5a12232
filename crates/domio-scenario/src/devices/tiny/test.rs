//! What the one line makes of the folder: checks, schema, reference page, host.

use crate::devices::{DeviceConfig, DeviceModel};
use crate::{NoReplay, Scenario, ScenarioErrors, reference, schema};
use domio_core::{Duration, Instant, NullSink};
use domio_sim::Outcome;
use domio_vmm::bus::{Assembly, Device};
use domio_vmm::{DomainId, Simulation};

const TEXT: &str = r#"
    run.duration_s = 1
    scheduler.policy = "credit"
    host.cores = 2
    [[domain]]
    name = "Domain-0"
    [[domain]]
    name = "a"
    workload = "dd"
    block = "16K"
    disk = { kind = "tiny", seek_us = 7 }
    [[domain]]
    name = "b"
    disk = { kind = "loopback", size = "1M" }
    [[domain]]
    name = "c"
    disk = { kind = "tiny", size = "1M" }
"#;

fn scenario(text: &str) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse("tiny.toml", text.as_bytes(), domio_sched::policies())
}

#[test]
fn domains_have_disks_of_both_kinds() {
    let built = scenario(TEXT).unwrap().build(&NoReplay).unwrap();
    let [DeviceConfig::Tiny(tiny), DeviceConfig::Loopback(loopback)] = &built.devices[..] else {
        panic!("a device for each kind: {:?}", built.devices);
    };
    let disks: Vec<_> = tiny
        .disks
        .iter()
        .map(|(d, disk)| (d.0, disk.bytes))
        .collect();
    assert_eq!(disks, [(1, 64 << 10), (3, 1 << 20)]);
    assert_eq!(tiny.disks[0].1.seek, Duration::from_micros(7));
    assert_eq!(loopback.disks.len(), 1);

    let attach = |bus: &mut Assembly<'_, DeviceModel>| built.attach(bus, 0);
    let scheduler = built.scheduler();
    let mut host = Simulation::with_devices(&built.host, scheduler, attach, NullSink, 1, 0);
    let outcome = host.run(Instant::ZERO + Duration::from_millis(100));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
    // 64 KiB in pieces of 16, each of which seeks.
    let passed = host.host().device(0).passed(DomainId(1));
    assert_eq!(passed.requests_read, 4);
    assert_eq!(host.host().vcpu_times(1).running, Duration::from_micros(28));
}

#[test]
fn mistakes_are_told_and_pages_know_the_keys() {
    let told = |text: &str| scenario(text).unwrap_err().to_string();
    let unknown = told(&TEXT.replace("seek_us = 7", "sek_us = 7"));
    assert!(unknown.contains("did you mean `seek_us`?"), "{unknown}");
    let wrong = told(&TEXT.replace("\"tiny\", seek_us = 7", "\"tinny\""));
    assert!(wrong.contains("expected one of: loopback, "), "{wrong}");
    assert!(wrong.contains("did you mean `tiny`?"), "{wrong}");
    let large = told(&TEXT.replace("\"1M\" }\n", "\"2M\" }\n"));
    assert!(large.contains("`size` is out of range"), "{large}");
    let policies = domio_sched::policies();
    let page = reference(policies, &[]);
    assert!(page.contains("| `seek_us` | time | 0 to 1000000 s | 5 us | What each call takes. |"));
    let schema = schema(policies);
    assert!(schema["$defs"]["disk"].to_string().contains("seek_ms"));
}
