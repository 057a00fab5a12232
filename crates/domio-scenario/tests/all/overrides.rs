//! `--set`, `--policy` and what they leave of a scenario.

use crate::common::{BASE, is_helpful, parse, with};
use domio_core::Duration;
use domio_scenario::{
    Code, InputFiles, NoDemands, NoReplay, RecordedCalls, RecordedRequests, Replay, ReplaySource,
};
use domio_vmm::config::{Action, Distribution, Workload};

#[test]
fn an_override_is_as_if_the_file_said_so() {
    let mut scenario = parse(&with("[[domain]]\nname = \"g\"\ncount = 3\nweight = 256\n")).unwrap();
    scenario
        .with(&[("run.duration_ms", "5"), ("host.xen", "4.13")])
        .map(|s| {
            assert_eq!(
                s.plan().duration,
                Duration::from_millis(5),
                "not both units"
            );
            assert_eq!(
                s.plan().host.version.name(),
                "4.13",
                "strings need no quotes"
            );
        })
        .unwrap();
    assert_eq!(
        scenario.plan().duration,
        Duration::from_secs(10),
        "`with` leaves the original"
    );
    for (key, value) in [
        ("seed", "7"),
        ("scheduler.tslice_ms", "10"),
        ("domain.g.weight", "512"),
        ("domain.g2.weight", "1024"),
        ("domain.g2.pin", "1"),
        ("domain.a.workload", "idle"),
        ("domain.g3.guest", "{ tick_ms = 4 }"),
    ] {
        scenario
            .set(key, value)
            .unwrap_or_else(|e| panic!("{}", e.render(false)));
    }
    let plan = scenario.plan();
    assert_eq!(plan.seed, 7);
    assert_eq!(plan.params.by_name("tslice_ms"), Some(10));
    let weights: Vec<_> = plan
        .host
        .domains
        .iter()
        .map(|d| d.params.by_name("weight").unwrap())
        .collect();
    assert_eq!(weights, [256, 512, 1024, 512]);
    assert_eq!(plan.host.domains[2].vcpus[0].hard.len(), 1);
    assert_eq!(
        plan.host.domains[3].guest.tick,
        Some(Duration::from_millis(4))
    );
    assert!(matches!(
        plan.host.domains[0].vcpus[0].tasks[0].workload,
        Workload::Idle
    ));
    assert_eq!(scenario.overrides().count(), 7);
    assert_eq!(
        scenario.overrides().nth(1),
        Some("scheduler.tslice_ms = 10")
    );
}

#[test]
fn tasks_and_actions_are_reached_by_name_or_index() {
    let text = with(
        "[[domain]]\nname = \"b\"\n[[domain.task]]\nworkload = \"periodic\"\nname = \"t\"\n\
         period_ms = 10\nburst_us = 50\n[[domain.task]]\nworkload = \"burn\"\n[[action]]\n\
         at_ms = 3\ndo = \"pause\"\ndomain = \"b\"\n",
    );
    let scenario = parse(&text).unwrap();
    let changed = scenario
        .with(&[
            ("domain.b.task.t.period_us", "500"),
            (
                "domain.b.task.t.burst",
                "{ distribution = \"exponential\", mean_us = 9 }",
            ),
            ("domain.b.task.1.priority", "-3"),
            ("action.0.at_s", "1"),
        ])
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let host = &changed.plan().host;
    let tasks = &host.domains[1].vcpus[0].tasks;
    let Workload::Periodic { period, burst, .. } = tasks[0].workload else {
        panic!("periodic")
    };
    assert_eq!(period, Duration::from_micros(500));
    assert_eq!(burst, Distribution::Exponential(Duration::from_micros(9)));
    assert_eq!(tasks[1].priority, -3);
    assert_eq!(host.actions[0].0.as_nanos(), 1_000_000_000);
    let other = [
        ("domain.b.task.t.workload", "compute"),
        ("domain.b.task.t.work_ms", "2"),
    ];
    let changed = scenario
        .with(&other)
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let tasks = &changed.plan().host.domains[1].vcpus[0].tasks;
    assert!(
        matches!(tasks[0].workload, Workload::Compute { .. }),
        "the old keys are gone"
    );
}

#[test]
fn bad_overrides_are_told_like_bad_files() {
    let group = parse(&with("[[domain]]\nname = \"g\"\ncount = 3\n")).unwrap();
    let cases = [
        ("scheduler.tslice_ms", "2000", Code::OutOfRange, "1 to 1000"),
        (
            "scheduler.tslice_m",
            "20",
            Code::UnknownKey,
            "did you mean `tslice_ms`?",
        ),
        ("domain.gg.weight", "2", Code::UnknownName, "one of: a, g"),
        ("domain.g4.weight", "2", Code::UnknownName, "one of: a, g"),
        ("domain.g2.count", "2", Code::Conflict, "whole group"),
        ("domain.g2.weight", "0", Code::OutOfRange, "1 to 65535"),
        (
            "domain.weight",
            "2",
            Code::MissingKey,
            "a name or index before the key",
        ),
        ("action.0.at_ms", "2", Code::UnknownName, "add it there"),
        ("seed.x", "2", Code::WrongType, "for example `seed = 1`"),
        ("title.x.y", "2", Code::WrongType, "for example `title ="),
        ("", "2", Code::Syntax, "names joined by dots"),
        ("a b", "2", Code::Syntax, "names joined by dots"),
        ("seed = 3 #", "2", Code::Syntax, "names joined by dots"),
        ("seed\nrun", "2", Code::Syntax, "names joined by dots"),
        (
            "seed",
            "3\nrun.duration_s = 1",
            Code::WrongType,
            "0 or more",
        ),
        ("seed", "", Code::WrongType, "0 or more"),
        (
            "host.cores",
            "two",
            Code::WrongType,
            "`cores = 1`, the default",
        ),
        ("domain", "3", Code::WrongType, "[[domain]]"),
    ];
    for (key, value, code, word) in cases {
        let errors = group
            .with(&[(key, value)])
            .map(|s| s.plan().clone())
            .expect_err(key);
        let p = &errors.problems()[0];
        assert_eq!(
            (p.code, p.source.as_str()),
            (code, "--set"),
            "{key}={value}: {errors}"
        );
        let said = format!(
            "{} {} {}",
            p.message,
            p.expected,
            p.hint.as_deref().unwrap_or("")
        );
        assert!(said.contains(word), "{key}={value}: {said}");
        assert!(!errors.render(false).is_empty());
        errors.problems().iter().for_each(is_helpful);
    }
}

#[test]
fn another_policy_keeps_what_it_knows_and_drops_the_rest_with_a_notice() {
    let text = BASE
        .replace(
            "\"credit\"",
            "\"credit\"\ntslice_ms = 20\nratelimit_us = 500\nboost = false",
        )
        .replace("workload", "weight = 200\ncap = 50\nworkload")
        + "[[action]]\nat_ms = 3\ndo = \"set\"\ndomain = \"a\"\ncap = 30\n\
           [[action]]\nat_ms = 4\ndo = \"set\"\ndomain = \"a\"\nweight = 300\ncap = 40\n\
           [[action]]\nat_ms = 5\ndo = \"set-policy\"\ntslice_ms = 5\nratelimit_us = 0\n\
           [[action]]\nat_ms = 6\ndo = \"set-policy\"\nratelimit_us = 100\n";
    let scenario = parse(&text).unwrap();
    let narrow = scenario.with(&[("scheduler.policy", "narrow")]).unwrap();
    let plan = narrow.plan();
    assert_eq!(plan.policy.descriptor.name, "narrow");
    assert_eq!(
        plan.params.by_name("tslice_ms"),
        Some(10),
        "20 is over its limit: the default"
    );
    assert_eq!(
        plan.params.by_name("ratelimit_us"),
        Some(500),
        "known and allowed"
    );
    assert_eq!(plan.host.domains[0].params.by_name("weight"), Some(200));
    assert_eq!(
        plan.host.actions.len(),
        2,
        "two actions had nothing left to set"
    );
    let Action::SetPolicy(values) = &plan.host.actions[1].1 else {
        panic!("set-policy")
    };
    assert_eq!(values.by_name("tslice_ms"), Some(5));
    let Action::SetParams(_, values) = &plan.host.actions[0].1 else {
        panic!("set")
    };
    assert_eq!(values.by_name("weight"), Some(300));
    let notices = narrow.notices().join("\n");
    for part in [
        "[scheduler]: `tslice_ms` is left out, narrow takes 1 to 10",
        "`boost` is left out",
        "domain a: `cap` is left out, narrow has no such parameter",
    ] {
        assert!(notices.contains(part), "no {part:?} in {notices}");
    }
    let null = scenario.with(&[("scheduler.policy", "null")]).unwrap();
    assert!(null.plan().host.actions.is_empty() && null.notices().len() >= 5);
    // What comes with the policy was meant for it.
    let refused = scenario.with(&[("scheduler.policy", "null"), ("scheduler.tslice_ms", "5")]);
    assert_eq!(refused.unwrap_err().problems()[0].code, Code::UnknownKey);
    // The same policy drops nothing.
    let same = scenario.with(&[("scheduler.policy", "credit")]).unwrap();
    assert_eq!(
        format!("{:?}", same.plan()),
        format!("{:?}", scenario.plan())
    );
}

#[test]
fn a_key_of_the_task_stays_the_tasks_under_another_policy() {
    let text = BASE.replace("\"burn\"", "\"periodic\"\nperiod_us = 900\nburst_us = 30");
    let swapped = parse(&text)
        .unwrap()
        .with(&[("scheduler.policy", "reserving")])
        .unwrap();
    let domain = &swapped.plan().host.domains[0];
    assert_eq!(domain.params.by_name("period_us"), Some(10_000));
    assert!(matches!(
        domain.vcpus[0].tasks[0].workload,
        Workload::Periodic { period, .. } if period == Duration::from_micros(900)
    ));
    assert!(
        swapped.notices()[0].contains("`period_us` is the task's"),
        "{:?}",
        swapped.notices()
    );
}

#[test]
fn what_comes_after_the_end_is_noticed() {
    let text = with(
        "[[domain]]\nname = \"late\"\nstart_ms = 20000\n[[action]]\nat_s = 11\ndo = \"pause\"\n\
         domain = \"a\"\n",
    );
    let notices = parse(&text).unwrap().notices().join("\n");
    assert!(
        notices.contains("late starts at") && notices.contains("an action at 11"),
        "{notices}"
    );
}

struct Recording;

impl ReplaySource for Recording {
    fn workload(&self, replay: &Replay) -> Result<Workload, NoDemands> {
        let work = Duration::from_nanos(5);
        match (replay.trace.as_str(), replay.domain, replay.vcpu) {
            ("t.bin", 3, 1) => Ok(Workload::Compute { work }),
            _ => Err(NoDemands {
                why: "the trace has no such vcpu".to_owned(),
                hint: "name another one".to_owned(),
            }),
        }
    }
}

impl InputFiles for Recording {
    fn job_file(&self, path: &str) -> Result<String, NoDemands> {
        NoReplay.job_file(path)
    }

    fn requests(
        &self,
        path: &str,
        wanted: &RecordedRequests,
    ) -> Result<(Vec<RecordedCalls>, Vec<String>), NoDemands> {
        NoReplay.requests(path, wanted)
    }
}

#[test]
fn recordings_come_from_the_caller() {
    let text = with(
        "[[domain]]\nname = \"r\"\nvcpus = 2\n[[domain.task]]\nworkload = \"burn\"\n\
         vcpu = \"all\"\n[[domain.task]]\nworkload = \"replay\"\nvcpu = 1\ntrace = \"t.bin\"\n\
         trace_domain = 3\ntrace_vcpu = 1\n",
    );
    let scenario = parse(&text).unwrap();
    assert_eq!(scenario.plan().replays.len(), 1);
    let built = scenario.build(&Recording).unwrap();
    let tasks = &built.host.domains[1].vcpus[1].tasks;
    assert!(
        matches!(&tasks[1].workload, Workload::Compute { work } if work.as_nanos() == 5),
        "{tasks:?}"
    );
    assert_eq!(tasks[1].name, "replay");
    let refused = scenario.build(&NoReplay).map(|_| ()).unwrap_err();
    let p = &refused.problems()[0];
    assert_eq!((p.code, p.line), (Code::Replay, 20), "{refused}");
    is_helpful(p);
    let other = parse(&text.replace("trace_vcpu = 1", "trace_vcpu = 7")).unwrap();
    let refused = other.build(&Recording).map(|_| ()).unwrap_err();
    let p = &refused.problems()[0];
    assert!(p.message.ends_with("the trace has no such vcpu"), "{p:?}");
    assert_eq!(p.hint.as_deref(), Some("name another one"));
}

#[test]
fn ids_names_and_defaults_are_as_documented() {
    let text = with(
        "[[domain]]\nname = \"Domain-0\"\n[[domain]]\nname = \"x\"\nid = 2\n[[domain]]\n\
         name = \"g\"\ncount = 2\nvcpus = 2\n[[domain.task]]\nworkload = \"burn\"\n\
         vcpu = \"all\"\n[[domain.task]]\nworkload = \"burn\"\n",
    );
    let scenario = parse(&text).unwrap();
    let plan = scenario.plan();
    let ids: Vec<_> = plan
        .host
        .domains
        .iter()
        .map(|d| (d.name.as_str(), d.id.0))
        .collect();
    assert_eq!(
        ids,
        [("a", 1), ("Domain-0", 0), ("x", 2), ("g1", 3), ("g2", 4)]
    );
    let names = |v: usize| -> Vec<&str> {
        plan.host.domains[4].vcpus[v]
            .tasks
            .iter()
            .map(|t| t.name.as_str())
            .collect()
    };
    assert_eq!((names(0), names(1)), (vec!["burn", "burn-2"], vec!["burn"]));
    assert_eq!((plan.seed, plan.warmup.as_nanos()), (1, 0));
    assert_eq!(plan.host.profile.name, "ideal");
    assert_eq!(plan.host.domains[1].params.by_name("weight"), Some(256));
    assert!(
        plan.host.domains[1].vcpus[0].tasks.is_empty(),
        "a domain without tasks idles"
    );
}
