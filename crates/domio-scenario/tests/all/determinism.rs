//! A shipped scenario gives the same trace each time, and another one with another seed where it
//! draws anything. That two processes agree is tested with the program.

use domio_core::{Instant, Record};
use domio_run::Replication;
use domio_scenario::{Built, NoReplay, Scenario, examples};
use domio_vmm::config::{Distribution, Workload};

/// How much of each scenario is simulated.
#[derive(Clone, Copy)]
enum Length {
    /// Less than a second; scenarios in which something is done at a time of its own are left out.
    Short,
    /// Two seconds, or as long as the scenario says.
    Long,
}

impl Length {
    /// The shipped scenarios, with what to change of each.
    fn scenarios(self) -> impl Iterator<Item = (&'static str, &'static str, Changes)> {
        let timed = ["[[action]]", "start_ms", "stop_ms"];
        examples().iter().filter_map(move |&(name, text)| {
            let is_timed = timed.iter().any(|key| text.contains(key));
            let changes: Changes = match (self, is_timed) {
                (Length::Short, true) => return None,
                (Length::Short, false) => &[("run.warmup_s", "0.1"), ("run.duration_s", "0.4")],
                (Length::Long, true) => &[],
                (Length::Long, false) => &[("run.warmup_s", "0.5"), ("run.duration_s", "1.5")],
            };
            Some((name, text, changes))
        })
    }
}

type Changes = &'static [(&'static str, &'static str)];

/// The scenario with this seed and these changes.
fn built(name: &str, text: &str, seed: &str, changes: Changes) -> Built {
    let scenario = Scenario::parse(name, text.as_bytes(), domio_sched::policies())
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let changes = [&[("seed", seed)], changes].concat();
    let scenario = scenario
        .with(&changes)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    scenario
        .build(&NoReplay)
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn trace(built: &Built, replication: u32) -> Vec<Record> {
    let mut host = Replication::new(built, replication, Vec::new());
    let end = Instant::ZERO + built.warmup + built.duration;
    host.until(end).unwrap_or_else(|fault| panic!("{fault}"));
    host.mark(end);
    host.into_sink()
}

fn varies(distribution: &Distribution) -> bool {
    !matches!(distribution, Distribution::Constant(_))
}

/// Whether any guest draws random numbers. Programs on files come with their disks, so that the
/// text tells of them.
fn draws(built: &Built, text: &str) -> bool {
    let on_files = ["postmark", "ffsb", "fio"].map(|word| format!("workload = \"{word}\""));
    if on_files.iter().any(|workload| text.contains(workload)) {
        return true;
    }
    let vcpus = built.host.domains.iter().flat_map(|d| &d.vcpus);
    vcpus.flat_map(|v| &v.tasks).any(|t| match &t.workload {
        Workload::Periodic { burst, .. } | Workload::Yielding { burst } => varies(burst),
        Workload::OnOff { on, off } => varies(on) || varies(off),
        Workload::Burn
        | Workload::Idle
        | Workload::Compute { .. }
        | Workload::Jobs(_)
        | Workload::Program(_) => false,
    })
}

/// Two runs of one seed agree, and those of another seed or replication differ just where a guest
/// draws.
fn repeats_and_differs(length: Length) {
    let mut drawing = 0;
    for (name, text, changes) in length.scenarios() {
        let built_once = built(name, text, "1", changes);
        let one = trace(&built_once, 0);
        let two = trace(&built(name, text, "1", changes), 0);
        let differs = one.iter().zip(&two).position(|(a, b)| a != b);
        let at = differs.map(|i| (i, one[i], two[i]));
        assert!(at.is_none() && one.len() == two.len(), "{name}: {at:?}");
        assert!(one.len() > 20, "{name}: {} records", one.len());
        drop(two);
        let drawn = draws(&built_once, text);
        drawing += u32::from(drawn);
        let reseeded = trace(&built(name, text, "2", changes), 0);
        assert_eq!(one != reseeded, drawn, "{name} with another seed");
        drop(reseeded);
        assert_eq!(one != trace(&built_once, 1), drawn, "{name}, replication 1");
    }
    assert!(drawing >= 2, "only {drawing} scenarios draw anything");
}

#[test]
fn every_shipped_scenario_repeats_itself() {
    repeats_and_differs(Length::Short);
}

#[test]
#[ignore = "takes a minute; `cargo xtask nightly long` runs it"]
fn longer_runs_repeat_themselves_and_differ_where_something_is_drawn() {
    repeats_and_differs(Length::Long);
}
