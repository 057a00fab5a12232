//! What the shipped scenarios say of themselves happens when they run.

use domio_core::{Instant, NullSink};
use domio_run::Replication;
use domio_scenario::{NoReplay, Scenario, example};
use std::collections::BTreeMap;

/// What a domain got of the measured time, in per cent of one pcpu.
#[derive(Clone, Copy, Debug, Default)]
struct Got {
    running: f64,
    waiting: f64,
}

#[derive(Debug)]
struct Run {
    domains: BTreeMap<String, Got>,
    passes: u64,
}

impl Run {
    fn of(&self, name: &str) -> Got {
        self.domains[name]
    }
}

/// Runs a shipped scenario with overrides; measures between two times in seconds.
fn measure(name: &str, overrides: &[(&str, &str)], from_s: f64, to_s: f64) -> Run {
    let text = example(name).expect("it is shipped");
    let scenario = Scenario::parse(name, text.as_bytes(), domio_sched::policies()).expect("valid");
    let scenario = scenario
        .with(overrides)
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let built = scenario.build(&NoReplay).expect("no recordings");
    let names: BTreeMap<u16, String> = built
        .host
        .domains
        .iter()
        .map(|d| (d.id.0, d.name.clone()))
        .collect();
    let mut replication = Replication::new(&built, 0, NullSink);
    let mut sums = |sign: f64, until_s: f64, domains: &mut BTreeMap<String, Got>| {
        let ended = replication.until(Instant::from_nanos((until_s * 1e9) as u64));
        ended.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        for (vcpu, times) in replication.vcpu_times() {
            let got = domains.entry(names[&vcpu.domain.0].clone()).or_default();
            let share = |d: domio_core::Duration| d.as_nanos() as f64 / 1e7 / (to_s - from_s);
            got.running += sign * share(times.running);
            got.waiting += sign * share(times.runnable);
        }
        replication.passes()
    };
    let mut domains = BTreeMap::new();
    let before = sums(-1.0, from_s, &mut domains);
    let after = sums(1.0, to_s, &mut domains);
    Run {
        domains,
        passes: after - before,
    }
}

/// As its `[run]` says.
fn run(name: &str, overrides: &[(&str, &str)]) -> Run {
    let text = example(name).expect("it is shipped");
    let scenario = Scenario::parse(name, text.as_bytes(), domio_sched::policies()).expect("valid");
    let plan = scenario.plan();
    let warmup = plan.warmup.as_nanos() as f64 / 1e9;
    measure(
        name,
        overrides,
        warmup,
        warmup + plan.duration.as_nanos() as f64 / 1e9,
    )
}

#[track_caller]
fn near(found: f64, expected: f64, points: f64) {
    assert!(
        (found - expected).abs() <= points,
        "{found:.2} is not {expected} +- {points}"
    );
}

#[test]
fn burn7_gives_a_seventh_each() {
    let shares = run("burn7", &[]);
    for got in shares.domains.values() {
        near(got.running, 100.0 / 7.0, 0.5);
    }
    let promoted = run("burn7", &[("domain.g1.weight", "512")]);
    near(promoted.of("g1").running, 25.0, 1.0);
    near(promoted.of("g2").running, 12.5, 1.0);
    let short = run("burn7", &[("scheduler.tslice_ms", "5")]);
    near(short.of("g7").running, 100.0 / 7.0, 0.5);
    assert!(
        short.passes > 5 * shares.passes,
        "{} and {}",
        short.passes,
        shares.passes
    );
}

#[test]
fn weights_become_shares() {
    let shares = run("weights-1-2-4", &[]);
    for (name, sevenths) in [("bronze", 1.0), ("silver", 2.0), ("gold", 4.0)] {
        near(shares.of(name).running, sevenths * 100.0 / 7.0, 1.0);
    }
    let idle = run("weights-1-2-4", &[("domain.gold.workload", "idle")]);
    near(idle.of("silver").running, 200.0 / 3.0, 1.5);
}

/// 3:1 between those that burn. Warped, a picture of 30 ms in 125 ms is drawn in one go; unwarped,
/// it takes turns of 5 ms with the heavy guest.
#[test]
fn a_renderer_borrows_time_and_pays_it_back() {
    let warped = run("borrowed-time", &[]);
    let plain = run("borrowed-time", &[("domain.renderer.warpback", "false")]);
    for run in [&warped, &plain] {
        let [heavy, light] = ["heavy", "light"].map(|name| run.of(name).running);
        near(heavy / light, 3.0, 0.1);
        near(heavy + light + run.of("renderer").running, 100.0, 0.1);
    }
    assert!(warped.of("renderer").waiting < 1.0, "{warped:?}");
    assert!(plain.of("renderer").waiting > 12.0, "{plain:?}");
}

#[test]
fn a_cap_holds_on_an_idle_host() {
    near(run("cap30", &[]).of("capped").running, 30.0, 1.0);
}

#[test]
fn boost_spares_a_waking_guest_the_queue() {
    let with = run("latency-guest", &[]).of("ping");
    let without = run("latency-guest", &[("scheduler.boost", "false")]).of("ping");
    near(with.running, 0.5, 0.05);
    // Waiting in per cent of the time: a tenth of a millisecond for each 10 ms is one.
    assert!(
        with.waiting < 5.0 && without.waiting > 10.0 * with.waiting,
        "{with:?} {without:?}"
    );
    let unlimited = run("latency-guest", &[("scheduler.ratelimit_us", "0")]).of("ping");
    assert!(unlimited.waiting <= with.waiting, "{unlimited:?} {with:?}");
}

#[test]
fn boost_rescued_ping_in_2007() {
    let with = run("boost-rescues-ping", &[]).of("ping");
    let without = run("boost-rescues-ping", &[("scheduler.boost", "false")]).of("ping");
    assert!(
        without.waiting > 50.0 && with.waiting < 2.0,
        "{with:?} {without:?}"
    );
}

#[test]
fn the_noisy_neighbour_is_held_back_by_each_of_three_ways() {
    let waiting = |overrides: &[(&str, &str)]| run("noisy-neighbour", overrides).of("web").waiting;
    let plain = waiting(&[]);
    for way in [
        ("domain.web.weight", "2048"),
        ("domain.batch.cap", "300"),
        ("domain.batch.pin", "1-3"),
    ] {
        let defended = waiting(&[way]);
        assert!(defended < plain, "{way:?}: {defended} after {plain}");
    }
}

#[test]
fn a_burning_guest_is_not_boosted_for_its_requests() {
    let mixed = run("mixed-guest", &[]).of("mixed");
    near(mixed.running, 25.0, 1.0);
    let alone = run(
        "mixed-guest",
        &[("domain.mixed.task.background.workload", "idle")],
    )
    .of("mixed");
    assert!(
        alone.waiting < 5.0 && mixed.waiting > 70.0,
        "{alone:?} {mixed:?}"
    );
}

#[test]
fn the_dodger_wins_under_sampling_only() {
    let sampled = run("tick-dodger", &[]);
    assert!(sampled.of("dodger").running > 80.0, "{:?}", sampled.domains);
    let late = ("scheduler.version", "4.17");
    let exact = run("tick-dodger", &[late, ("host.xen", "4.17")]);
    near(exact.of("dodger").running, 50.0, 3.0);
    let never_caught = run(
        "tick-dodger",
        &[late, ("domain.dodger.task.housekeeping.workload", "idle")],
    );
    assert!(
        never_caught.of("dodger").running > 80.0,
        "{:?}",
        never_caught.domains
    );
}

#[test]
fn the_rate_limit_trades_latency_for_switches() {
    let runs: Vec<Run> = ["0", "1000", "5000"]
        .iter()
        .map(|us| run("ratelimit-tradeoff", &[("scheduler.ratelimit_us", us)]))
        .collect();
    let waiting: Vec<f64> = runs.iter().map(|r| r.of("chatty1").waiting).collect();
    let passes: Vec<u64> = runs.iter().map(|r| r.passes).collect();
    assert!(
        waiting.is_sorted() && passes.is_sorted_by(|a, b| a >= b),
        "{waiting:?} {passes:?}"
    );
}

#[test]
fn balancing_gives_two_thirds_each() {
    for got in run("smp-balance", &[]).domains.values() {
        near(got.running, 200.0 / 3.0, 2.0);
    }
    let shares = run("smp-balance", &[("scheduler.policy", "round-robin")]);
    let mut running: Vec<f64> = shares.domains.values().map(|g| g.running).collect();
    running.sort_by(f64::total_cmp);
    for (found, expected) in running.iter().zip([50.0, 50.0, 100.0]) {
        near(*found, expected, 1.0);
    }
}

#[test]
fn a_wish_lets_pinned_guests_spread() {
    let before = measure("pinning-gone-wrong", &[], 1.0, 6.0);
    near(before.of("together1").running, 100.0 / 3.0, 2.0);
    near(before.of("alone").running, 100.0, 0.1);
    let after = measure("pinning-gone-wrong", &[], 7.0, 11.0);
    let total: f64 = after.domains.values().map(|g| g.running).sum();
    near(total, 400.0, 5.0);
}

#[test]
fn four_vcpus_get_a_core_each() {
    for got in run("sockets-and-threads", &[]).domains.values() {
        near(got.running, 100.0, 0.5);
    }
}

#[test]
fn shares_follow_a_guest_that_comes_and_goes() {
    let alone = measure("hot-add", &[], 0.5, 4.0);
    near(alone.of("old1").running, 50.0, 2.0);
    let three = measure("hot-add", &[], 4.5, 8.0);
    near(three.of("visitor").running, 50.0, 2.0);
    near(three.of("old1").running, 25.0, 2.0);
    near(
        measure("hot-add", &[], 8.5, 12.0).of("old2").running,
        50.0,
        2.0,
    );
}

#[test]
fn nobody_is_lost_during_maintenance() {
    let at = |from, to| measure("maintenance", &[], from, to);
    near(at(4.1, 6.0).of("g4").running, 0.0, 0.1);
    let total = |run: &Run| run.domains.values().map(|g| g.running).sum::<f64>();
    near(total(&at(6.1, 8.0)), 100.0, 1.0);
    near(total(&at(8.2, 10.0)), 200.0, 2.0);
    assert!(at(10.5, 12.0).of("g4").running > 5.0);
    let promoted = at(2.5, 4.0);
    assert!(
        promoted.of("g1").running > 1.5 * promoted.of("g2").running,
        "{:?}",
        promoted.domains
    );
}

#[test]
fn caps_follow_what_guests_want_up_to_their_ceiling() {
    let by_controller = run("caps-follow-demand", &[]);
    near(by_controller.of("runaway").running, 50.0, 1.0);
    near(by_controller.of("web").running, 40.0, 2.0);
    let slow = run(
        "caps-follow-demand",
        &[("controller.0.interval_ms", "1000")],
    );
    let [quick, slow] = [by_controller, slow].map(|run| run.of("nightly").running);
    assert!(
        quick - slow > 5.0,
        "{quick} and {slow}: who wakes waits for its cap"
    );
    let free = ("domain.runaway.ceiling_percent", "0");
    let free = run("caps-follow-demand", &[free]).of("runaway").running;
    assert!(free > 100.0, "{free}");
}
