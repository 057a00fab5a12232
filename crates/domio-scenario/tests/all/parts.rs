//! Parts that do not ship are asked for by name as any other.

use domio_blk::elevator::{ElevatorInfo, noop};
use domio_contract::Policy;
use domio_contract::control::Entry;
use domio_control::cap_follows_demand;
use domio_core::keys::{Keys, Need, time};
use domio_core::{Duration, keys};
use domio_scenario::{Parts, Scenario, WorkloadEntry, schema};
use domio_sched::round_robin;
use domio_vmm::config::Workload;

static POLICY: domio_contract::Descriptor = domio_contract::Descriptor {
    name: "my-policy",
    ..round_robin::DESCRIPTOR
};

static CONTROLLER: domio_contract::control::Descriptor = domio_contract::control::Descriptor {
    name: "my-controller",
    ..cap_follows_demand::DESCRIPTOR
};

static CONTROLLER_ENTRY: Entry = Entry {
    descriptor: &CONTROLLER,
    ..cap_follows_demand::ENTRY
};

static ELEVATOR: ElevatorInfo = ElevatorInfo {
    name: "my-elevator",
    ..noop::INFO
};

keys! {
    struct MyKeys {
        nap: Duration = time("ms", 1), Need::TimeNs(5_000_000), "How long.";
    }
}

static WORKLOAD: WorkloadEntry =
    WorkloadEntry::new("my-workload", "Computes once.", MyKeys::KEYS, |table| {
        let work = MyKeys::read(table).nap.get()?;
        Some(Workload::Compute { work })
    });

fn parts() -> Parts {
    let mut parts = Parts::from(domio_sched::policies());
    let policy = Policy::new(&POLICY, round_robin::ENTRY.make);
    parts.add_policy(&policy).unwrap();
    parts.add_controller(&CONTROLLER_ENTRY).unwrap();
    parts.add_elevator(&ELEVATOR).unwrap();
    parts.add_workload(&WORKLOAD).unwrap();
    parts
}

const TEXT: &str = r#"
    run.duration_s = 1
    [host]
    profile = "opteron-242"
    xen = "3.1"
    [scheduler]
    policy = "my-policy"
    tslice_ms = 7
    [[controller]]
    name = "my-controller"
    headroom_percent = 30
    [[disk]]
    profile = "sata-2008"
    elevator = { name = "my-elevator" }
    [[domain]]
    name = "Domain-0"
    [[domain]]
    name = "a"
    disk = { kind = "vbd", size = "1G" }
    task = [{ workload = "my-workload", nap_ms = 9 }, { workload = "dd" }]
"#;

#[test]
fn scenarios_name_added_parts() {
    let scenario = Scenario::parse("mine.toml", TEXT.as_bytes(), parts()).unwrap();
    let plan = scenario.plan();
    assert_eq!(plan.policy.descriptor.name, "my-policy");
    assert_eq!(plan.params.by_name("tslice_ms"), Some(7));
    let entry = plan.host.controllers[0].entry;
    assert_eq!(entry.descriptor.name, "my-controller");
    assert!(format!("{:?}", plan.devices).contains("my-elevator"));
    let tasks = &plan.host.domains[1].vcpus[0].tasks;
    let work = Duration::from_millis(9);
    assert_eq!(tasks[0].name, "my-workload");
    assert!(matches!(tasks[0].workload, Workload::Compute { work: w } if w == work));
    // What is asked for by an override is looked up in the same parts.
    let other = scenario.with(&[
        ("scheduler.policy", "credit"),
        ("disk.0.elevator", "my-elevator"),
    ]);
    assert_eq!(other.unwrap().plan().policy.descriptor.name, "credit");
}

#[test]
fn without_them_the_names_are_unknown_and_with_them_they_are_proposed() {
    let told = |text: &str, parts: &Parts| {
        let errors = Scenario::parse("mine.toml", text.as_bytes(), parts).unwrap_err();
        errors.to_string()
    };
    let shipped = Parts::from(domio_sched::policies());
    let unknown = told(TEXT, &shipped);
    for name in ["my-policy", "my-controller", "my-elevator", "my-workload"] {
        assert!(unknown.contains(name), "{unknown}");
    }
    let near = told(&TEXT.replace("\"my-workload\"", "\"my-wokload\""), &parts());
    assert!(near.contains("did you mean `my-workload`?"), "{near}");
    let near = told(&TEXT.replace("nap_ms", "nip_ms"), &parts());
    assert!(near.contains("did you mean `nap_ms`?"), "{near}");
}

#[test]
fn the_schema_has_them() {
    let with = schema(parts()).to_string();
    let without = schema(domio_sched::policies()).to_string();
    for name in [
        "my-policy",
        "my-controller",
        "my-elevator",
        "my-workload",
        "nap_ms",
    ] {
        assert!(with.contains(name) && !without.contains(name), "{name}");
    }
}

#[test]
fn a_name_is_given_once() {
    let mut parts = parts();
    let before = parts.added().len();
    let taken = parts.add_workload(&WORKLOAD).unwrap_err().to_string();
    assert!(
        taken.contains("two parts of the kind workload called \"my-workload\""),
        "{taken}"
    );
    let credit = *domio_sched::find("credit").unwrap();
    assert!(parts.add_policy(&credit).is_err());
    assert_eq!(parts.added().len(), before);
    assert!(parts.has("policy", "my-policy") && !parts.has("policy", "my-workload"));
}
