//! Whether a description and its trace are of the same host, and what to say where one of them
//! leaves something open.

use crate::recording::{DescribedDomain, DescribedWorkload, Description, Recording};
use crate::release;
use crate::seen::{First, seen};
use domio_core::{DomainId, Runstate, VcpuName};
use domio_meter::Account;
use domio_replay::NamedRecord;
use domio_scenario::MAX_VCPUS;
use std::collections::{BTreeMap, BTreeSet};

/// The vcpus of `domain` that are not in `seen`.
fn unseen(domain: &DescribedDomain, seen: &BTreeMap<VcpuName, First>) -> Vec<VcpuName> {
    let all = (0..domain.vcpus).map(|v| VcpuName::new(DomainId(domain.id), v));
    all.filter(|v| !seen.contains_key(v)).collect()
}

fn list(vcpus: &[VcpuName]) -> String {
    const MOST: usize = 8;
    let names: Vec<String> = vcpus.iter().take(MOST).map(VcpuName::to_string).collect();
    match vcpus.len().saturating_sub(MOST) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// `pcpus`, which ascend, in words: "pcpu 1", "pcpus 1, 4 to 7".
fn stretches(pcpus: &[u16]) -> String {
    let stretches = pcpus.chunk_by(|before, next| before + 1 == *next);
    let words: Vec<String> = stretches
        .map(|stretch| match stretch {
            [only] => only.to_string(),
            _ => format!("{} to {}", stretch[0], stretch[stretch.len() - 1]),
        })
        .collect();
    let plural = if pcpus.len() == 1 { "" } else { "s" };
    format!("pcpu{plural} {}", words.join(", "))
}

/// Checks that `records` can be of the host that `description` describes. A domain that has more
/// vcpus than it says gets them, with a remark.
///
/// # Errors
/// What contradicts, and what to do about it.
pub(crate) fn fit(description: &mut Description, records: &[NamedRecord]) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    if let Some(twice) = description.domains.iter().find(|d| !ids.insert(d.id)) {
        return Err(format!(
            "scenario.json lists two domains with the id {}; give {} the id that it had",
            twice.id, twice.name
        ));
    }
    let seen = seen(records);
    // The last of each domain's vcpus tells how many there are.
    let last: BTreeMap<DomainId, VcpuName> = seen.keys().map(|v| (v.domain, *v)).collect();
    for name in last.values() {
        let known = description.vcpus();
        let mut domains = description.domains.iter_mut();
        let Some(domain) = domains.find(|d| d.id == name.domain.0) else {
            return Err(format!(
                "the trace shows {name}, which scenario.json does not list; add the domain with \
                 the id {}",
                name.domain.0
            ));
        };
        if name.index >= domain.vcpus {
            if known - usize::from(domain.vcpus) + usize::from(name.index) >= MAX_VCPUS {
                return Err(format!(
                    "the trace shows {name}, but {} has {} vcpus in scenario.json, and all domains \
                     have {MAX_VCPUS} at most, as in scenarios; if it has fewer, the trace is \
                     damaged: record the host anew",
                    domain.name, domain.vcpus
                ));
            }
            description.assumed.push(format!(
                "the trace shows {name}, but {} has {} vcpus in scenario.json: {} are assumed",
                domain.name,
                domain.vcpus,
                name.index + 1
            ));
            domain.vcpus = name.index + 1;
        }
    }
    if seen.is_empty() {
        return Err("the trace shows no vcpu of any domain; record while the guests work".into());
    }
    for d in &description.domains {
        let reachable = 100 * i64::from(d.vcpus);
        if d.cap > reachable {
            return Err(format!(
                "{} has a cap of {}, more than the {reachable} that {} can use, which xl \
                 sched-{} refuses; correct `cap` or `vcpus` in scenario.json",
                d.name,
                d.cap,
                if d.vcpus == 1 {
                    "its vcpu".to_owned()
                } else {
                    format!("its {} vcpus", d.vcpus)
                },
                description.scheduler
            ));
        }
        let unseen = unseen(d, &seen);
        if d.workload == DescribedWorkload::Burn && unseen.len() == usize::from(d.vcpus) {
            return Err(format!(
                "{} always computes (`burn`), but the trace has no record of {}; correct `id`, \
                 `vcpus` or `workload` in scenario.json, or record until each has run",
                d.name,
                list(&unseen)
            ));
        }
    }
    Ok(())
}

/// What the reader of the figures of `recording` has to know besides them, a sentence each.
pub(crate) fn remarks(recording: &Recording, dispatches: usize) -> Vec<String> {
    let description = &recording.description;
    let mut remarks = description.assumed.clone();
    remarks.extend(release::remark(&description.xen, &description.scheduler));
    let seen = seen(&recording.records);
    for d in &description.domains {
        let unseen = unseen(d, &seen);
        // Of whom there is no record at all, the reason beside his figures tells.
        if !unseen.is_empty() && unseen.len() < usize::from(d.vcpus) {
            remarks.push(format!(
                "{} has {} vcpus in scenario.json, but the trace has no record of {}: asleep all \
                 the time, or not there",
                d.name,
                d.vcpus,
                list(&unseen)
            ));
        }
    }
    let pcpus: BTreeSet<u16> = recording.records.iter().map(|r| r.pcpu.0).collect();
    let silent: Vec<u16> = (0..description.pcpus)
        .filter(|p| !pcpus.contains(p))
        .collect();
    if !silent.is_empty() {
        remarks.push(format!(
            "scenario.json says {} pcpus, but the trace has no record of {}",
            description.pcpus,
            stretches(&silent)
        ));
    }
    if dispatches == 0 {
        remarks.push(
            "nobody is switched in within the trace, so there is no decision to compare".into(),
        );
    }
    remarks
}

/// Why figures of `domain` are zero or missing, `None` where none is that could be expected.
/// `recorded` is the domain's account of the recording.
pub(crate) fn reason(
    domain: &DescribedDomain,
    recording: &Recording,
    recorded: &Account,
) -> Option<String> {
    let seen = seen(&recording.records);
    let own = seen.iter().filter(|(v, _)| v.domain.0 == domain.id);
    let Some((at, was)) = own.map(|(_, first)| *first).min_by_key(|(at, _)| *at) else {
        return Some(
            "the trace has no record of it: asleep all the time, or its id is another".into(),
        );
    };
    // A domain with a cap may be parked when the trace begins.
    let created = was == Runstate::Offline && domain.cap == 0;
    let reason = if created && at > recording.begin() {
        format!(
            "it is created {} after the trace begins, while the simulated host has its domains \
             from the start; record hosts whose guests are up",
            at.since(recording.begin())
        )
    } else if recorded.running == 0 && recorded.executions == 0 {
        "it never runs in the trace".into()
    } else if recorded.runs.count == 0 {
        "no run of it begins and ends within the trace, which gives runs no lengths".into()
    } else if domain.workload == DescribedWorkload::Replay && recorded.wake_to_run.count == 0 {
        "no wake-up of it is followed by a run within the trace".into()
    } else {
        return None;
    };
    Some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Instant, PcpuId};
    use domio_meter::Meter;
    use serde_json::json;

    /// A recording of `Domain-0`, which replays, and `g1`, which burns; `change` changes its
    /// description.
    fn description(change: impl Fn(&mut serde_json::Value)) -> Description {
        let mut text = json!({
            "xen": "4.17.7", "scheduler": "credit", "pcpus": 1, "tsc_hz": 1_000_000_000,
            "params": { "tslice_ms": 30, "ratelimit_us": 1000, "migration_delay_us": 0 },
            "domains": [
                { "id": 0, "name": "Domain-0", "vcpus": 1, "weight": 256, "cap": 0,
                  "workload": "replay" },
                { "id": 1, "name": "g1", "vcpus": 1, "weight": 256, "cap": 0, "workload": "burn" },
            ],
        });
        change(&mut text);
        Description::parse(text.to_string().as_bytes()).expect("a description")
    }

    fn record(at: u64, domain: u16, vcpu: u16, old: Runstate, new: Runstate) -> NamedRecord {
        let vcpu = VcpuName::new(DomainId(domain), vcpu);
        NamedRecord::runstate(Instant::from_nanos(at), PcpuId(0), vcpu, old, new)
    }

    /// Domain-0 wakes and preempts g1 twice.
    fn records() -> Vec<NamedRecord> {
        use Runstate::{Blocked, Runnable, Running};
        let mut records = Vec::new();
        for at in [1_000, 2_000] {
            records.extend([
                record(at, 0, 0, Blocked, Runnable),
                record(at + 10, 1, 0, Running, Runnable),
                record(at + 10, 0, 0, Runnable, Running),
                record(at + 20, 0, 0, Running, Blocked),
                record(at + 20, 1, 0, Runnable, Running),
            ]);
        }
        records
    }

    fn recording(description: Description, records: Vec<NamedRecord>) -> Recording {
        Recording {
            name: "test".into(),
            description,
            records,
            truth: None,
            linux: None,
        }
    }

    /// The reason that is given for the domain `id`.
    fn reason_of(id: u16, recording: &Recording) -> Option<String> {
        let mut meter = Meter::new();
        domio_replay::named::copy_to(&recording.records, &mut meter);
        let summary = meter.finish();
        let account = summary.domain(DomainId(id)).map(|d| d.total);
        let domains = &recording.description.domains;
        let domain = domains.iter().find(|d| d.id == id).expect("described");
        reason(domain, recording, &account.unwrap_or_default())
    }

    #[test]
    fn a_description_that_fits_needs_no_remark() {
        let mut fits = recording(description(|_| {}), records());
        assert_eq!(fit(&mut fits.description, &fits.records), Ok(()));
        assert_eq!(remarks(&fits, 4), [""; 0]);
        assert_eq!((reason_of(0, &fits), reason_of(1, &fits)), (None, None));
    }

    #[test]
    fn what_contradicts_the_trace_is_refused() {
        let refused = |words: &[&str], change: &dyn Fn(&mut serde_json::Value)| {
            let why = fit(&mut description(change), &records()).expect_err(words[0]);
            for word in words {
                assert!(why.contains(word), "no {word:?} in: {why}");
            }
        };
        refused(&["two domains with the id 0", "give g1"], &|d| {
            d["domains"][1]["id"] = 0.into();
        });
        refused(&["d1v0", "does not list", "with the id 1"], &|d| {
            d["domains"].as_array_mut().expect("a list").pop();
        });
        refused(&["g1 always computes", "no record of d7v0"], &|d| {
            let ghost = json!({ "id": 7, "name": "g1", "workload": "burn" });
            d["domains"].as_array_mut().expect("a list").push(ghost);
        });
        refused(&["g1 has a cap of 101", "the 100 that its vcpu"], &|d| {
            d["domains"][1]["cap"] = 101.into();
        });
        let why = fit(&mut description(|_| {}), &[]).expect_err("empty");
        assert!(why.contains("no vcpu of any domain"), "{why}");
    }

    #[test]
    fn what_can_be_judged_all_the_same_is_remarked() {
        let sleeping = description(|d| {
            let ghost = json!({ "id": 7, "name": "ghost", "vcpus": 2, "weight": 256, "cap": 0,
                                "workload": "replay" });
            d["domains"].as_array_mut().expect("a list").push(ghost);
            d["domains"][0]["vcpus"] = 2.into();
            d["pcpus"] = 2.into();
        });
        let mut recording = recording(sleeping, records());
        assert_eq!(fit(&mut recording.description, &recording.records), Ok(()));
        let said = remarks(&recording, 0);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(
            said[0].contains("Domain-0 has 2 vcpus") && said[0].contains("d0v1"),
            "{said:?}"
        );
        assert!(said[1].contains("no record of pcpu 1"), "{said:?}");
        assert!(said[2].contains("nobody is switched in"), "{said:?}");
        let why = reason_of(7, &recording).expect("a reason");
        assert!(why.contains("no record of it"), "{why}");
    }

    #[test]
    fn pcpus_without_a_record_are_one_remark() {
        let remark = |pcpus: u16, used: &[u16]| {
            let on = |p: &u16| NamedRecord {
                pcpu: PcpuId(*p),
                ..records()[0]
            };
            let of = description(|d| d["pcpus"] = pcpus.into());
            remarks(&recording(of, used.iter().map(on).collect()), 4)
                .into_iter()
                .filter(|r| r.contains("pcpus, but"))
                .collect::<Vec<_>>()
        };
        let says = |pcpus: u16, which: &str| {
            [format!(
                "scenario.json says {pcpus} pcpus, but the trace has no record of {which}"
            )]
        };
        assert_eq!(remark(256, &[0]), says(256, "pcpus 1 to 255"));
        assert_eq!(
            remark(9, &[1, 2, 5]),
            says(9, "pcpus 0, 3 to 4, 6 to 8"),
            "stretches"
        );
        assert_eq!(remark(3, &[0, 2]), says(3, "pcpu 1"));
        assert_eq!(remark(3, &[0, 1, 2]), [""; 0]);
    }

    #[test]
    fn a_trace_of_more_vcpus_than_there_may_be_is_refused() {
        let of = |vcpu: u16| {
            let mut records = records();
            records.push(record(3_000, 0, 1, Runstate::Blocked, Runstate::Runnable));
            records.push(record(
                3_001,
                0,
                vcpu,
                Runstate::Blocked,
                Runstate::Runnable,
            ));
            let mut description = description(|_| {});
            fit(&mut description, &records).map(|()| description)
        };
        // Domain-0 has the rest beside the one of g1, and one remark for all that it got.
        let most = of(4_094).expect("4096 in all");
        assert_eq!((most.vcpus(), most.assumed.len()), (4_096, 1));
        for vcpu in [4_095, u16::MAX] {
            let why = of(vcpu).expect_err("too many");
            let shown = why.contains(&format!("shows d0v{vcpu}, but Domain-0 has 1 vcpus"));
            assert!(shown && why.contains("4096 at most"), "{why}");
        }
    }

    #[test]
    fn the_trace_tells_how_many_vcpus_there_are() {
        let mut more = records();
        more.push(record(3_000, 0, 2, Runstate::Blocked, Runstate::Runnable));
        let mut found = recording(description(|_| {}), more);
        assert_eq!(fit(&mut found.description, &found.records), Ok(()));
        assert_eq!(found.description.domains[0].vcpus, 3);
        let said = remarks(&found, 4);
        assert!(
            said[0].contains("d0v2") && said[0].contains("3 are assumed"),
            "{said:?}"
        );
        assert!(said[1].contains("no record of d0v1"), "{said:?}");

        // A guest of two vcpus of which one computes.
        let half = description(|d| d["domains"][1]["vcpus"] = 2.into());
        let mut half = recording(half, records());
        assert_eq!(fit(&mut half.description, &half.records), Ok(()));
        assert!(remarks(&half, 4)[0].contains("no record of d1v1"));
        let seen = seen(&half.records);
        let has = |index| seen.contains_key(&VcpuName::new(DomainId(1), index));
        assert!(has(0) && !has(1));
    }

    #[test]
    fn defaults_are_named() {
        let bare = description(|d| {
            d["params"] = json!({ "tslice_ms": 30 });
            d["domains"][1] = json!({ "id": 1, "name": "g1", "workload": "burn" });
        });
        let expected = [
            "scenario.json has no params.ratelimit_us: Xen's default of 1000 is assumed",
            "scenario.json has no params.migration_delay_us: Xen's default of 0 is assumed",
            "scenario.json has no vcpus of g1: 1 is assumed",
            "scenario.json has no weight of g1: 256 is assumed",
            "scenario.json has no cap of g1: 0 is assumed",
        ];
        assert_eq!(bare.assumed, expected);
        assert_eq!(remarks(&recording(bare, records()), 4), expected);
        let text = r#"{ "xen": "4.17", "scheduler": "credit", "pcpus": 1, "tsc_hz": 1,
                        "domains": [] }"#;
        let why = Description::parse(text.as_bytes()).expect_err("no params");
        assert!(why.to_string().contains("missing field `params`"), "{why}");
    }

    #[test]
    fn figures_that_are_missing_have_a_reason() {
        use Runstate::{Blocked, Offline, Runnable, Running};
        let with = |id, records: Vec<NamedRecord>| {
            reason_of(id, &recording(description(|_| {}), records)).expect("a reason")
        };
        // g1 waits, then runs to the end of the trace.
        let mut last = vec![record(0, 1, 0, Runnable, Running)];
        last.push(record(10, 0, 0, Blocked, Runnable));
        assert!(with(1, last.clone()).contains("no run of it begins and ends"));
        assert!(with(0, last).contains("never runs"));
        let unwoken = vec![
            record(0, 0, 0, Running, Runnable),
            record(1, 0, 0, Runnable, Running),
            record(2, 0, 0, Running, Blocked),
        ];
        assert!(with(0, unwoken).contains("no wake-up of it"));
        let mut boot = vec![record(0, 0, 0, Blocked, Runnable)];
        boot.push(record(3_000_000_000, 1, 0, Offline, Runnable));
        boot.extend(records().into_iter().map(|r| NamedRecord {
            at: Instant::from_nanos(r.at.as_nanos() + 4_000_000_000),
            ..r
        }));
        let why = with(1, boot.clone());
        assert!(why.starts_with("it is created 3 s after"), "{why}");
        // With a cap it was parked.
        let capped = description(|d| d["domains"][1]["cap"] = 30.into());
        assert_eq!(reason_of(1, &recording(capped, boot)), None);
    }
}
