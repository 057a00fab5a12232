//! Agreement with traces recorded under credit2, on a real Xen 4.17 and on simulated hosts.

use crate::faults::{Fault, are_noticed, differences, param};
use domio_scenario::{NoReplay, Scenario};
use domio_trace::{TraceReader, TraceWriter, XentraceWriter};
use domio_validate::{Agreement, Judgement, Recording, shipped};
use serde_json::json;
use std::fs::File;

const FAULTS: &[Fault] = &[
    Fault {
        what: "no rate limit",
        plant: |d| param(d, "ratelimit_us", 0),
        noticed: &[("c2-weights-1-2-4", "Domain-0 wake_to_run_us.p50")],
    },
    Fault {
        what: "a rate limit of 2 ms instead of 1",
        plant: |d| param(d, "ratelimit_us", 2_000),
        noticed: &[
            ("c2-weights-1-2-4", "g1 run_us.p50"),
            ("c2-cap30", "Domain-0 wake_to_run_us.p95"),
        ],
    },
    Fault {
        what: "the last domain has three quarters of its weight",
        plant: |d| d.domains.last_mut().unwrap().weight = 768,
        noticed: &[("c2-weights-1-2-4", "g3 share")],
    },
    Fault {
        what: "the first guest has an eighth more weight",
        plant: |d| d.domains[1].weight += d.domains[1].weight / 8,
        noticed: &[("c2-weights-1-2-4", "g1 share")],
    },
    Fault {
        what: "a cap of 33 instead of 30",
        plant: |d| d.domains[1].cap = 33,
        noticed: &[("c2-cap30", "g1 share")],
    },
    Fault {
        what: "budgets of 20 ms instead of 10",
        plant: |d| param(d, "cap_period_ms", 20),
        noticed: &[("c2-cap30", "g1 run_us.p50")],
    },
    Fault {
        what: "recorded under credit, of which the description tells",
        plant: |d| {
            d.scheduler = "credit".to_owned();
            d.params.clear();
        },
        noticed: &[("c2-weights-1-2-4", "g1 run_us.p50")],
    },
];

#[test]
fn what_is_wrong_in_one_thing_differs() {
    are_noticed(FAULTS);
}

#[test]
fn recordings_under_other_schedulers_are_refused_with_what_to_do() {
    for (scheduler, words) in [
        (
            "rtds",
            [
                "cannot be judged",
                "expected credit and credit2",
                "sched=credit2",
            ],
        ),
        (
            "null",
            [
                "cannot be judged",
                "expected credit and credit2",
                "domio trace summary",
            ],
        ),
        (
            "fairest",
            [
                "domio does not have",
                "expected credit and credit2",
                "xl info",
            ],
        ),
    ] {
        let mut recording = shipped::recording("c2-cap30").unwrap();
        recording.description.scheduler = scheduler.to_owned();
        let said = Agreement::check(&recording).unwrap_err().to_string();
        for word in words {
            assert!(said.contains(word), "{scheduler}: no {word:?} in: {said}");
        }
    }
}

/// A host: keys of its machine and scheduler, its pcpus, and its guests, each with its name, keys
/// of its domain, weight and cap, and whether it blocks.
struct Mix {
    host: &'static str,
    pcpus: u16,
    guests: &'static [(&'static str, &'static str, i64, i64, bool)],
}

const BURN: &str = "workload = \"burn\"";
const P: &str = "workload = \"periodic\"\nperiod_ms = 10\nburst_ms = 0.05";
const HALF: &str = "workload = \"periodic\"\nperiod_ms = 30\nburst_ms = 14";

const MIXES: &[Mix] = &[
    Mix {
        host: "scheduler.ratelimit_us = 1000",
        pcpus: 1,
        guests: &[
            ("p", P, 256, 0, true),
            ("a", BURN, 128, 0, false),
            ("b", BURN, 512, 0, false),
        ],
    },
    Mix {
        host: "scheduler.ratelimit_us = 500",
        pcpus: 1,
        guests: &[
            ("a", BURN, 256, 20, false),
            ("b", BURN, 256, 50, false),
            ("c", HALF, 256, 0, true),
        ],
    },
    Mix {
        host: "scheduler.ratelimit_us = 1000\nscheduler.runqueue = \"cpu\"\nhost.cores = 2",
        pcpus: 2,
        guests: &[
            ("a", BURN, 256, 0, false),
            ("b", BURN, 512, 0, false),
            ("c", BURN, 256, 0, false),
            ("p", P, 256, 0, true),
        ],
    },
];

/// `mix` simulated from `seed`, as xentrace would have recorded it.
fn recorded(mix: &Mix, number: usize) -> Recording {
    let mut text = format!(
        "run.duration_s = 6\nrun.warmup_s = 3\nhost.profile = \"xen-4.17-emulated\"\n\
         scheduler.policy = \"credit2\"\n{}\n",
        mix.host
    );
    for (name, keys, weight, cap, _) in mix.guests {
        text += &format!("[[domain]]\nname = \"{name}\"\nweight = {weight}\ncap = {cap}\n{keys}\n");
    }
    let scenario = Scenario::parse("mix.toml", text.as_bytes(), domio_sched::policies()).unwrap();
    let built = scenario.build(&NoReplay).unwrap();
    let folder = std::env::temp_dir().join(format!("domio-c2-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = File::create(folder.join("t.domio")).unwrap();
    let header = domio_run::simulate::trace_header(&scenario, &built, 0);
    let writer = TraceWriter::new(file, &header).unwrap();
    let run = domio_run::simulate::simulate(&built, 0, writer).unwrap();
    run.sink.finish().unwrap();
    let mut reader = TraceReader::open(&folder.join("t.domio"), &Default::default()).unwrap();
    let file = File::create(folder.join("trace.bin")).unwrap();
    let mut writer = XentraceWriter::new(file, 1_000_000_000).unwrap();
    reader.copy_to(&mut writer).unwrap();
    writer.finish().unwrap();
    let domains = built.host.domains.iter().zip(mix.guests);
    let domains = domains.map(|(d, (name, _, weight, cap, blocks))| {
        json!({
            "id": d.id.0, "name": name, "weight": weight, "cap": cap, "vcpus": 1,
            "workload": if *blocks { "replay" } else { "burn" },
        })
    });
    let limit = mix.host.lines().next().unwrap();
    let limit: i64 = limit.rsplit(' ').next().unwrap().parse().unwrap();
    let description = json!({
        "xen": "4.17.7", "scheduler": "credit2", "pcpus": mix.pcpus, "tsc_hz": 1_000_000_000,
        "params": { "ratelimit_us": limit }, "domains": domains.collect::<Vec<_>>(),
    });
    std::fs::write(folder.join("scenario.json"), description.to_string()).unwrap();
    let recording =
        Recording::load(&folder, &|path| Ok(Box::new(std::fs::File::open(path)?))).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    recording
}

/// What the model did itself has to agree with the model: of each figure it is one more simulation.
#[test]
fn a_simulated_host_agrees_with_its_own_trace() {
    for (number, mix) in MIXES.iter().enumerate() {
        let mut recording = recorded(mix, number);
        let agreement = Agreement::check(&recording).unwrap();
        assert_eq!(differences(&agreement), [""; 0], "{}", mix.host);
        // A weight that is wrong by half is another host.
        recording.description.domains[1].weight /= 2;
        let agreement = Agreement::check(&recording).unwrap();
        assert_eq!(agreement.verdict, Judgement::Differs, "{}", mix.host);
    }
}
