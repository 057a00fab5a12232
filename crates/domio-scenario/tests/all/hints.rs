//! Hints from declarations: what is proposed for a value that was refused.

use crate::common::parse_with;
use domio_contract::control::{self, Entry};
use domio_control::cap_follows_demand;
use domio_core::keys::{Keys, Need, int, time};
use domio_core::{Duration, ParamKind, ParamSpec, keys};
use domio_scenario::{Parts, WorkloadEntry, check_declarations};
use domio_vmm::config::Workload;

keys! {
    struct Hinted {
        share: u64 = int(1, 9), Need::Int(3), "Share of time (xl sched-credit -w).";
        unique: u64 = int(1, 9), Need::Int(3), "Xen's domid, unique. Members";
        inside: u64 = int(1, 9), Need::Int(3), "Receive buffer (bytes): what may be sent.";
        short: Duration = time("us", 0), Need::TimeNs(20_000), "When.";
        long: Duration = time("ms", 0), Need::TimeNs(200_000_000), "When.";
    }
}

static HINTED: WorkloadEntry = WorkloadEntry::new("hinted", "For tests.", Hinted::KEYS, |table| {
    let Hinted {
        share,
        unique,
        inside,
        short,
        long,
    } = Hinted::read(table);
    let all = [share.get()?, unique.get()?, inside.get()?];
    let work = short.get()? + long.get()?;
    (all != [0; 3]).then_some(Workload::Compute { work })
});

/// The hint for a key of the workload above with a value that no key takes.
fn hint(key: &str) -> String {
    let mut parts = Parts::from(domio_sched::policies());
    parts.add_workload(&HINTED).expect("no other has the name");
    let text = format!(
        "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"a\"\n\
         task = [{{ workload = \"hinted\", {key} = [] }}]\n"
    );
    let errors = parse_with(&text, &parts).unwrap_err();
    assert_eq!(errors.total(), 1, "{errors}");
    errors.problems()[0]
        .hint
        .clone()
        .expect("problems have hints")
}

#[test]
fn a_meaning_is_one_sentence_without_its_source() {
    let with =
        |key: &str, meaning: &str| format!("for example `{key} = 3`, the default. {meaning}");
    assert_eq!(hint("share"), with("share", "Share of time"));
    assert_eq!(hint("unique"), with("unique", "Xen's domid, unique"));
    let inside = "Receive buffer (bytes): what may be sent";
    assert_eq!(hint("inside"), with("inside", inside));
}

#[test]
fn defaults_are_whole_numbers_of_their_unit() {
    assert_eq!(hint("short_us"), "for example `short_us = 20`, the default");
    assert_eq!(hint("long_ms"), "for example `long_ms = 200`, the default");
}

#[test]
fn every_example_is_accepted_where_it_is_proposed_and_no_name_has_two_meanings() {
    let checked = check_declarations(domio_sched::policies());
    assert_eq!(checked.faults, [""; 0]);
    assert!(checked.examples > 80, "{} examples", checked.examples);
}

keys! {
    struct Wrong {
        few: u64 = int(1, 9), Need::Int(10), "Its default is beyond its range.";
    }
}

static WRONG: WorkloadEntry = WorkloadEntry::new("wrong", "For tests.", Wrong::KEYS, |table| {
    let work = Duration::from_millis(Wrong::read(table).few.get()?);
    Some(Workload::Compute { work })
});

const fn flag(name: &'static str) -> ParamSpec {
    ParamSpec {
        name,
        unit: "",
        kind: ParamKind::Flag,
        default: 0,
        doc: "For tests.",
    }
}

static CLASHING: control::Descriptor = control::Descriptor {
    name: "clashing",
    // The first is a key of domains, the second a parameter of credit.
    domain_params: &[flag("vcpus"), flag("weight"), flag("own")],
    ..cap_follows_demand::DESCRIPTOR
};

static CLASHING_ENTRY: Entry = Entry {
    descriptor: &CLASHING,
    ..cap_follows_demand::ENTRY
};

static AGAIN: control::Descriptor = control::Descriptor {
    name: "again",
    domain_params: &[flag("own")],
    ..cap_follows_demand::DESCRIPTOR
};

static AGAIN_ENTRY: Entry = Entry {
    descriptor: &AGAIN,
    ..cap_follows_demand::ENTRY
};

#[test]
fn wrong_declarations_are_found() {
    let mut parts = Parts::from(domio_sched::policies());
    parts.add_workload(&WRONG).unwrap();
    parts.add_controller(&CLASHING_ENTRY).unwrap();
    parts.add_controller(&AGAIN_ENTRY).unwrap();
    let faults = check_declarations(&parts).faults;
    let has = |words: &[&str]| faults.iter().any(|f| words.iter().all(|w| f.contains(w)));
    assert!(has(&["few = 10", "out of range"]), "{faults:?}");
    assert!(has(&["clashing", "`vcpus`"]), "{faults:?}");
    assert!(has(&["clashing", "`weight`"]), "{faults:?}");
    assert!(has(&["again", "`own`", "clashing"]), "{faults:?}");
    assert_eq!(faults.len(), 4, "{faults:?}");
}
