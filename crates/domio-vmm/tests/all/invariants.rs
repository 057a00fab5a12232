//! What holds for every host, whatever it runs: checked on random ones.

use crate::common::{Trace, ms, us};
use crate::random::{self, Case, domain_params};
use domio_contract::{Pause, Promises};
use domio_core::{CpuSet, Duration, Instant, NullSink, PcpuId, Record, Runstate, Sink, VcpuName};
use domio_meter::TraceChecker;
use domio_sim::Outcome;
use domio_vmm::config::{Action, HostConfig, Workload};
use domio_vmm::host::Host;
use domio_vmm::{Profile, Simulation};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use std::collections::BTreeMap;

fn simulation<S: Sink>(case: &Case, sink: S) -> Simulation<S> {
    Simulation::new(&case.host, case.scheduler(), sink, case.seed, 0)
}

fn completed(outcome: &Outcome) -> TestCaseResult {
    prop_assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome:?}");
    Ok(())
}

/// Runs to the end at once and closes the accounts.
fn trace(case: &Case) -> Result<(Simulation<Trace>, Trace), TestCaseError> {
    let mut simulation = simulation(case, Trace::default());
    completed(&simulation.run(case.end))?;
    simulation.host_mut().mark(case.end);
    let records = std::mem::take(simulation.host_mut().sink_mut());
    Ok((simulation, records))
}

fn same(one: &[Record], two: &[Record]) -> TestCaseResult {
    let differs = one.iter().zip(two).position(|(a, b)| a != b);
    if let Some(i) = differs {
        prop_assert!(false, "record {i}: {:?} and {:?}", one[i], two[i]);
    }
    prop_assert_eq!(one.len(), two.len());
    Ok(())
}

/// Runstates of each vcpu sum to its age, and its age is its time on the host.
fn sums_are_exact<S: Sink>(host: &Host<S>, config: &HostConfig, now: Instant) -> TestCaseResult {
    for v in 0..host.vcpu_count() {
        let name = host.vcpu_name(v);
        let t = host.vcpu_times(v);
        let sum = t.running + t.runnable + t.blocked + t.offline;
        prop_assert_eq!(sum, host.vcpu_age(v), "{} at {}", name, now);
        let domain = &config.domains[name.domain.index()];
        if domain.stop.is_none_or(|stop| now <= stop) {
            prop_assert_eq!(
                host.vcpu_age(v),
                now.since(domain.start),
                "{} at {}",
                name,
                now
            );
        }
    }
    Ok(())
}

/// Each vcpu is current once at most, where its affinity allows; flags and places agree; what the
/// host promises of affinities is true.
fn tables_agree<S: Sink>(host: &Host<S>, now: Instant) -> TestCaseResult {
    let tables = host.tables();
    let mut holders = vec![0; tables.vcpus.len()];
    for (p, pcpu) in tables.pcpus.iter().enumerate() {
        let Some(vcpu) = pcpu.current else { continue };
        let view = &tables.vcpus[vcpu.index()];
        holders[vcpu.index()] += 1;
        prop_assert!(view.on_pcpu, "{} at {now}", view.name);
        prop_assert_eq!(view.pcpu, PcpuId(p as u16), "{} at {}", view.name, now);
        let allowed = tables.affinity[vcpu.index()].hard & tables.online;
        prop_assert!(
            allowed.contains(view.pcpu) || view.pause.has(Pause::MIGRATING),
            "{} stays on p{p} at {now}",
            view.name
        );
    }
    prop_assert!(holders.iter().all(|n| *n <= 1), "{holders:?} at {now}");
    for affinity in &tables.affinity {
        let all = tables.topology.all();
        let is_kept = |promised: bool, set: CpuSet| !promised || all.is_subset(&set);
        prop_assert!(
            is_kept(tables.no_hard_affinity, affinity.hard)
                && is_kept(tables.no_soft_affinity, affinity.soft),
            "{affinity:?} at {now}"
        );
    }
    Ok(())
}

/// Vcpus that wait while a pcpu that could run them idles.
fn idles_over_work<S: Sink>(host: &Host<S>, promises: &Promises) -> Option<String> {
    let tables = host.tables();
    let idle: CpuSet = tables
        .online
        .iter()
        .filter(|p| tables.pcpus[*p].current.is_none())
        .collect();
    tables.vcpus.iter().enumerate().find_map(|(v, view)| {
        let hard = tables.affinity[v].hard & idle;
        let wasted = match promises.balances {
            true => !hard.is_empty(),
            false => hard.contains(view.pcpu),
        };
        let waits = view.runnable() && !view.on_pcpu;
        (waits && wasted).then(|| format!("{} on {} while {idle:?} idle", view.name, view.pcpu))
    })
}

/// Promises of the policy of `case` that hold at every instant. Credit from 3.4 to 4.2 may leave a
/// pcpu idle until its next accounting (see its page); migrations under way are excused in all.
fn promises(case: &Case) -> Promises {
    let mut promises = domio_sched::find(case.policy).unwrap().descriptor.promises;
    promises.balances = false;
    promises
}

/// Hard affinity of each vcpu over time, from the configuration alone.
fn affinities(host: &HostConfig) -> BTreeMap<VcpuName, Vec<(Instant, CpuSet)>> {
    let mut all = BTreeMap::new();
    for domain in &host.domains {
        for (i, vcpu) in domain.vcpus.iter().enumerate() {
            let name = VcpuName::new(domain.id, i as u16);
            all.insert(name, vec![(domain.start, vcpu.hard)]);
        }
    }
    for (at, action) in &host.actions {
        if let Action::Pin {
            domain, vcpu, hard, ..
        } = action
            && let Some(known) = all.get_mut(&VcpuName::new(*domain, *vcpu))
            && host
                .domains
                .iter()
                .any(|d| d.id == *domain && d.start <= *at && d.stop.is_none_or(|stop| stop > *at))
        {
            known.push((*at, *hard));
        }
    }
    all
}

/// Whoever is put on a pcpu was allowed there when that was decided, shortly before.
fn affinity_is_kept(case: &Case, records: &Trace) -> TestCaseResult {
    let affinities = affinities(&case.host);
    for r in records.iter() {
        for (actor, old, new) in r.changes().into_iter().flatten() {
            let vcpu = records.vcpu(actor);
            if vcpu.is_idle() || new != Runstate::Running || old == new {
                continue;
            }
            let decided = Instant::from_nanos(
                r.at.as_nanos()
                    .saturating_sub(case.host.profile.switch.as_nanos()),
            );
            let known = &affinities[&vcpu];
            // The one in force at the decision, and those set at that very instant.
            let last = known.iter().rposition(|(at, _)| *at < decided).unwrap_or(0);
            let allowed = known[last..]
                .iter()
                .take_while(|(at, _)| *at <= decided || *at == known[last].0)
                .any(|(_, hard)| hard.contains(r.pcpu));
            prop_assert!(allowed, "{vcpu} runs on {} at {}", r.pcpu, r.at);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn no_rule_of_a_host_is_broken(case in random::case()) {
        let (simulation, records) = trace(&case)?;
        let mut checker = TraceChecker::new();
        for record in records.iter() {
            checker.record(simulation.host().names(), record);
        }
        let report = checker.finish();
        prop_assert!(report.is_clean(), "{:?}", report.findings.first());
        sums_are_exact(simulation.host(), &case.host, case.end)?;
        tables_agree(simulation.host(), case.end)?;
        affinity_is_kept(&case, &records)?;
    }

    #[test]
    fn pieces_make_the_same_run(case in random::case(), piece in 300_u64..20_000) {
        let (whole, records) = trace(&case)?;
        let mut parts = simulation(&case, Trace::default());
        let mut until = Instant::ZERO;
        let promises = promises(&case);
        while until < case.end {
            until = (until + us(piece)).min(case.end);
            completed(&parts.run(until))?;
            sums_are_exact(parts.host(), &case.host, until)?;
            tables_agree(parts.host(), until)?;
            if case.is_ideal() && promises.work_conserving {
                let idles = idles_over_work(parts.host(), &promises);
                prop_assert!(idles.is_none(), "{idles:?} at {until}");
            }
        }
        parts.host_mut().mark(case.end);
        same(&records, parts.host_mut().sink_mut())?;
        prop_assert_eq!(whole.events(), parts.events());
        prop_assert_eq!(whole.host().passes(), parts.host().passes());
    }

    #[test]
    fn recording_changes_nothing_where_it_costs_nothing(case in random::case()) {
        let mut case = case;
        case.host.profile.wake_note = Duration::ZERO;
        let (on, records) = trace(&case)?;
        let mut off = simulation(&case, NullSink);
        completed(&off.run(case.end))?;
        // Off and on again in the middle: the rest of the trace is the same.
        let mut half = simulation(&case, Trace::default());
        let middle = Instant::ZERO + ms(100);
        half.host_mut().set_recording(false);
        completed(&half.run(middle))?;
        half.host_mut().set_recording(true);
        completed(&half.run(case.end))?;
        half.host_mut().mark(case.end);
        let rest = records.partition_point(|r| r.at <= middle);
        same(&records[rest..], half.host_mut().sink_mut())?;
        prop_assert_eq!(on.host().passes(), off.host().passes());
        for v in 0..on.host().vcpu_count() {
            prop_assert_eq!(on.host().vcpu_times(v), off.host().vcpu_times(v));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_trace(case in random::case()) {
        let (_, one) = trace(&case)?;
        let (_, two) = trace(&case)?;
        same(&one, &two)?;
    }
}

/// Burners with caps on a few pcpus, under credit as of 4.0 and later. Before that a tick charges
/// whoever it finds, and a vcpu whose pauses keep step with the ticks gets ahead of its cap for as
/// long as they do.
fn capped() -> impl Strategy<Value = Case> {
    let caps = proptest::collection::vec((1_usize..3, prop_oneof![Just(0_i64), 5_i64..=150]), 1..6);
    (caps, 1_u16..5, 4_usize..6, any::<bool>()).prop_map(|(caps, pcpus, policy, ideal)| {
        let (policy, release) = random::POLICIES[policy];
        let domains = caps.into_iter().enumerate().map(|(i, (vcpus, cap))| {
            let mut domain = crate::common::domain(i as u16, Workload::Burn);
            domain.vcpus = vec![domain.vcpus[0].clone(); vcpus];
            domain.params = domain_params(policy, 256, cap);
            domain
        });
        let version = domio_core::XenVersion::from_name(release.unwrap()).unwrap();
        let mut host = crate::common::host(pcpus, version, domains.collect());
        if !ideal {
            host.profile = Profile::XEN_4_17_EMULATED;
        }
        Case {
            policy,
            release,
            host,
            end: Instant::ZERO + ms(1_000),
            seed: 1,
        }
    })
}

/// Most by which `domain` was ever ahead of its cap of `percent`, as time on a pcpu: a bucket that
/// running fills and time empties.
fn ahead(records: &Trace, domain: u16, percent: u64, end: Instant) -> Duration {
    let (mut level, mut most) = (0_u64, 0_u64);
    let (mut since, mut running) = (Instant::ZERO, 0_u64);
    let mut advance = |to: Instant, running: u64| {
        let length = to.since(since).as_nanos();
        since = to;
        level = (level + length * running * 100).saturating_sub(length * percent);
        most = most.max(level);
    };
    for r in records.iter() {
        for (actor, old, new) in r.changes().into_iter().flatten() {
            let vcpu = records.vcpu(actor);
            if vcpu.domain.0 == domain && old != new {
                advance(r.at, running);
                running += u64::from(new == Runstate::Running);
                running -= u64::from(old == Runstate::Running);
            }
        }
    }
    advance(end, running);
    Duration::from_nanos(most / 100)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn caps_are_held_within_what_accounting_lets_pass(case in capped()) {
        let (_, records) = trace(&case)?;
        for domain in &case.host.domains {
            let cap = domain.params.by_name("cap").unwrap() as u64;
            if cap == 0 {
                continue;
            }
            let vcpus = domain.vcpus.len() as u64;
            let most = ahead(&records, domain.id.0, cap, case.end);
            // Each vcpu may have saved a period's credit, and runs for a period until accounting
            // sees that it owes more than the cap; both may be late by what timers and switches
            // take on this machine. Together they may owe the cap of a period before that.
            let machine = &case.host.profile;
            let late = machine.timer_slop + machine.timer_to_pass + machine.switch;
            let owed = us(300) * cap;
            prop_assert!(
                most <= (ms(60) + late * 2) * vcpus + owed,
                "{} with {vcpus} vcpus was {most} ahead of {cap} %",
                domain.id
            );
        }
    }
}
