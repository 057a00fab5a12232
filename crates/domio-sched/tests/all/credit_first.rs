//! The first credit scheduler (Xen 3.0.3): its rules with figures worked out by hand.

use domio_core::{Duration, Instant, ParamValues, Topology, VcpuId};
use domio_sched::conformance::{Occurrence, Script, ScriptStep, host};
use domio_sched::find;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Runs `script`; when vcpu `watched` ran, in ms, the last run as far as the end.
fn runs(script: &Script, watched: u32) -> Vec<(u64, u64)> {
    runs_in("release", script, watched)
}

/// The same in a state of the development tree.
fn runs_in(changeset: &str, script: &Script, watched: u32) -> Vec<(u64, u64)> {
    let credit = find("credit").expect("credit is in the registry");
    let mut params = ParamValues::defaults(credit.descriptor.params);
    params.choose("version", "3.0.3").expect("a release");
    params.choose("changeset", changeset).expect("a state");
    let run = host::run(script, (credit.make)(&params, &script.topology)).expect("a script");
    let mut runs = Vec::new();
    let mut since = None;
    let at = |at: Instant| at.as_nanos() / 1_000_000;
    for entry in &run.log {
        if let Occurrence::Switch(_, from, to) = entry.what {
            if from == Some(VcpuId(watched)) {
                runs.extend(since.take().map(|since| (since, at(entry.at))));
            }
            if to == Some(VcpuId(watched)) {
                since = Some(at(entry.at));
            }
        }
    }
    runs.extend(since.map(|since| (since, at(run.end))));
    runs
}

fn lone(cap: i64, end: Duration) -> Script {
    let topology = Topology::flat(1).expect("one pcpu");
    let mut script = Script::new("a lone burner", topology, Instant::ZERO + end);
    let domain = script.domain(&[("cap", cap)]);
    script.vcpu(domain, &[ScriptStep::Burn]);
    script
}

/// Three ticks take 30, an accounting gives 3 of 30 for a cap of 10 %: -27 after the first one, and
/// nothing is owed nine later.
#[test]
fn a_cap_of_ten_percent_is_kept() {
    let runs = runs(&lone(10, ms(950)), 0);
    assert_eq!(runs, [(0, 30), (300, 330), (600, 630), (900, 930)]);
}

/// A cap of 1 % would be 0.3 credits of 30. It is one: 30 ms in 900.
#[test]
fn credits_of_a_millisecond_are_too_coarse_for_small_caps() {
    assert_eq!(
        runs(&lone(1, ms(1_850)), 0),
        [(0, 30), (900, 930), (1_800, 1_830)]
    );
    // 11 % are 3.3 credits, and 4 are given: -26 is paid by seven (2 are left), -24 by six.
    let eleven = runs(&lone(11, ms(700)), 0);
    assert_eq!(eleven[..3], [(0, 30), (240, 270), (450, 480)]);
}

/// A capped vcpu in debt is below idling; one that is not capped never is.
#[test]
fn without_a_cap_nobody_is_held_back() {
    let mut script = lone(0, ms(200));
    assert_eq!(runs(&script, 0), [(0, 200)]);
    // Beside it another one that is held back.
    let domain = script.domain(&[("cap", 10)]);
    script.vcpu(domain, &[ScriptStep::Burn]);
    let second = runs(&script, 1);
    assert!(
        second.iter().all(|(from, until)| until - from == 30),
        "{second:?}"
    );
}

/// With 300 credits 11 % are 33, neither more nor less: -267 are paid by nine accountings, and the
/// 30 that are left make it eight the next time.
#[test]
fn ten_credits_of_a_millisecond_are_fine_enough() {
    let runs = runs_in("2006-10-30", &lone(11, ms(620)), 0);
    assert_eq!(runs, [(0, 30), (300, 330), (570, 600)]);
}

/// A debt of 3 is less than the 33 of the cap: the vcpu runs when nobody else does.
#[test]
fn small_debts_park_nobody_since_november() {
    let runs = runs_in("2006-11-01", &lone(11, ms(620)), 0);
    assert_eq!(runs, [(0, 30), (270, 300), (540, 570)]);
}

#[test]
fn changesets_belong_to_the_release_that_they_follow() {
    let credit = find("credit").expect("credit is in the registry");
    let mut params = ParamValues::defaults(credit.descriptor.params);
    params.choose("changeset", "2006-10-30").expect("a state");
    let refused = (credit.validate)(&params).expect_err("version is 4.17");
    assert_eq!((refused.param, refused.with), ("changeset", "version"));
    params.choose("version", "3.0.3").expect("a release");
    assert!((credit.validate)(&params).is_ok());
}

/// A wake-up goes behind its equals: there is no boost in 3.0.3.
#[test]
fn waking_up_is_no_reason_to_preempt() {
    let topology = Topology::flat(1).expect("one pcpu");
    let mut script = Script::new("a sleeper", topology, Instant::ZERO + ms(60));
    let sleeper = script.domain(&[]);
    let steps = [ScriptStep::Block(ms(12)), ScriptStep::Run(ms(1))];
    script.vcpu(sleeper, &steps);
    let burner = script.domain(&[]);
    script.vcpu(burner, &[ScriptStep::Burn]);
    let first = runs(&script, 0);
    // It wakes at 12, when the burner has credit, and waits for the end of the burner's slice. That
    // is in debt from 30 on, and is preempted.
    assert_eq!(first[..3], [(0, 0), (30, 31), (43, 44)]);
    // Boosted, it need not wait: the tick at 10 has ended the boost that the burner began with.
    let boosted = runs_in("2006-10-30", &script, 0);
    assert_eq!(boosted[..3], [(0, 0), (12, 13), (25, 26)]);
}

/// Who may run again is not told: the idle vcpu's slice has to end. Here it began 5 ms after an
/// accounting.
#[test]
fn the_end_of_a_debt_shows_when_the_idle_slice_ends() {
    let topology = Topology::flat(1).expect("one pcpu");
    let mut script = Script::new("late", topology, Instant::ZERO + ms(400));
    let domain = script.domain(&[("cap", 10)]);
    let vcpu = script.vcpu(domain, &[ScriptStep::Burn]);
    script.vcpus[vcpu.index()].starts = Instant::ZERO + ms(5);
    // In debt since 30, it goes on until its slice ends at 35; 27 are paid at 300.
    assert_eq!(runs(&script, 0), [(5, 35), (305, 335)]);
}
