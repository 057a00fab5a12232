//! Agreement with recordings of Linux kernels in an emulated machine (`testdata/linux-traces`).
//!
//! Goal: threads of the simulated host get and wait as those of the recorded one. Method:
//! `Agreement::check` simulates each recording from an ensemble of start states. Wrong rules and
//! wrong settings have to be noticed.

use crate::faults::differences;
use domio_validate::linux::described::{DescribedLinux, DescribedWork};
use domio_validate::{Agreement, Judgement, Recording, shipped};
use std::fs::File;
use std::path::Path;

fn with(name: &str, change: impl Fn(&mut DescribedLinux)) -> Recording {
    let mut recording = shipped::recording(name).unwrap();
    change(recording.linux.as_mut().expect("of a Linux host"));
    recording
}

fn set(described: &mut DescribedLinux, name: &str, value: i64) {
    described.params.insert(name.to_owned(), value.into());
}

/// A change of a description, and what has to differ.
type Fault = (&'static str, fn(&mut DescribedLinux), &'static str);

#[test]
fn wrong_rules_and_settings_are_noticed() {
    let faults: [Fault; 12] = [
        (
            "eevdf73-weights-1-2-4",
            |d| d.kernel = "7.0.14".to_owned(),
            "vm4:vcpu0 wake_to_run_us.p50",
        ),
        (
            "eevdf73-weights-1-2-4",
            |d| {
                let features = serde_json::json!(["NO_HRTICK"]);
                d.params.insert("features".to_owned(), features);
            },
            "vm4:vcpu0 wake_to_run_us.p50",
        ),
        (
            "eevdf73-weights-1-2-4",
            |d| d.vms[2].weight = Some(380),
            "vm3:vcpu0 share",
        ),
        (
            "cfs-weights-1-2-4",
            |d| d.vms[2].weight = Some(380),
            "vm3:vcpu0 share",
        ),
        (
            "cfs-weights-1-2-4",
            |d| set(d, "wakeup_granularity_ns", 4_000_000),
            "vm4:vcpu0 wake_to_run_us.p50",
        ),
        (
            "cfs-weights-1-2-4",
            |d| {
                d.scheduler = "eevdf".to_owned();
                d.kernel = "6.12.0".to_owned();
            },
            "vm4:vcpu0 wake_to_run_us.p50",
        ),
        (
            "eevdf-weights-1-2-4",
            |d| d.hz = 1000,
            "vm4:vcpu0 wake_to_run_us.p50",
        ),
        (
            "eevdf-weights-1-2-4",
            |d| d.vms[3].weight = Some(400),
            "vm4:vcpu0 waiting",
        ),
        (
            "eevdf-weights-1-2-4",
            |d| d.vms[3].threads[0].policy = "fifo".to_owned(),
            "vm4:vcpu0 waiting",
        ),
        (
            "eevdf-weights-1-2-4",
            |d| {
                d.vms[2].threaded = true;
                d.vms[2].threads[0].quota_us = Some(20_000);
            },
            "vm3:vcpu0 share",
        ),
        (
            "eevdf-quota-v6",
            |d| d.vms[0].quota_us = Some(31_000),
            "vm1:vcpu0 share",
        ),
        (
            "eevdf-quota-v6",
            |d| {
                d.vms[2].threads[0].workload = DescribedWork::Periodic {
                    period_us: 20_000,
                    work_us: 2_600,
                }
            },
            "vm3:vcpu0 share",
        ),
    ];
    for (name, fault, expected) in faults {
        let found = differences(&Agreement::check(&with(name, fault)).unwrap());
        let has = found.iter().any(|found| found == expected);
        assert!(has, "{name}: {expected} is not in {found:?}");
    }
}

/// A group of its own for the only thread of each machine changes nothing.
#[test]
fn a_group_for_each_thread_leaves_shares_and_waits_as_they_are() {
    let threaded = with("eevdf-weights-1-2-4", |d| {
        d.vms.iter_mut().for_each(|vm| vm.threaded = true);
    });
    let agreement = Agreement::check(&threaded).unwrap();
    assert_eq!(differences(&agreement), [""; 0]);
    assert!(
        agreement
            .remarks
            .iter()
            .any(|r| r.contains("a control group of their own")),
        "{:?}",
        agreement.remarks
    );
}

#[test]
fn the_release_decides_which_rules_there_are() {
    let refused = |kernel: &str| {
        let mut text: serde_json::Value = serde_json::from_slice(
            &std::fs::read(folder().join("eevdf-weights-1-2-4/scenario.json")).unwrap(),
        )
        .unwrap();
        text["kernel"] = kernel.into();
        let described: DescribedLinux = serde_json::from_value(text).unwrap();
        domio_validate::linux::host::policy(&described).map(|policy| policy.descriptor.name)
    };
    assert_eq!(refused("6.12.117+deb13-cloud-amd64"), Ok("eevdf"));
    for kernel in ["6.18.15", "7.0.14", "7.2.12", "7.3.4+deb13-cloud-amd64"] {
        assert_eq!(refused(kernel), Ok("eevdf"), "{kernel}");
    }
    for kernel in ["6.17.13", "7.1.2", "7.4.0"] {
        let why = refused(kernel).unwrap_err();
        assert!(why.contains(kernel) && why.contains("7.0, 7.2"), "{why}");
    }
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux-traces")
}

#[test]
fn two_cpus_and_a_vhost_thread_agree_in_what_can_be_judged() {
    let path = folder().join("eevdf-2cpu-vhost");
    let recording = Recording::load(&path, &|path| Ok(Box::new(File::open(path)?))).unwrap();
    let agreement = Agreement::check(&recording).unwrap();
    assert_eq!(differences(&agreement), [""; 0]);
    assert_eq!(agreement.verdict, Judgement::Agrees);
    let vhost = &agreement.domains[2];
    assert_eq!(vhost.name, "vm1:vhost");
    let judged = vhost.figures.iter();
    let judged = judged.filter(|f| f.compared.verdict == Judgement::Agrees);
    // With the groups around the machines p99 of the wake-ups has a range too wide to be judged.
    assert!(judged.count() >= 3, "{vhost:?}");
}
