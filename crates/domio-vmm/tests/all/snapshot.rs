//! A host that starts in the middle of a run.

use crate::common::*;
use crate::probe::{Habits, Probe};
use crate::random::domain_params;
use domio_core::{Instant, Kind, NullSink, ParamValues, Runstate, XenVersion};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::bus::NoDevices;
use domio_vmm::config::{HostConfig, Workload};
use domio_vmm::host::{PcpuSnapshot, Snapshot, VcpuSnapshot};

const START: Instant = Instant::from_nanos(500_000_000);

/// Two burners and a sleeper that wakes 20 ms after the start.
fn guests(policy: Option<&str>) -> HostConfig {
    let sleeper = periodic(ms(1_000), ms(520), ms(1));
    let mut domains = vec![
        domain(1, Workload::Burn),
        domain(2, Workload::Burn),
        domain(3, sleeper),
    ];
    for domain in &mut domains {
        if let Some(policy) = policy {
            domain.params = domain_params(policy, 256, 0);
        }
    }
    host(2, XenVersion::V4_17, domains)
}

/// The first one runs on p0 until 510 ms, the second waits there.
fn snapshot() -> Snapshot {
    let burner = |domain, state| VcpuSnapshot {
        name: vcpu(domain),
        state,
        since: at_ms(490),
        pcpu: P0,
        parked: false,
    };
    Snapshot {
        at: START,
        vcpus: vec![burner(1, Runstate::Running), burner(2, Runstate::Runnable)],
        pcpus: vec![PcpuSnapshot {
            current: Some(vcpu(1)),
            entered: at_ms(490),
            slice_end: Some(at_ms(510)),
        }],
        ..Snapshot::default()
    }
}

#[test]
fn the_policy_resumes_with_whoever_is_runnable_and_history_goes_on() {
    let host = guests(None);
    let probe = Probe::new(&host.topology, Habits::default());
    let log = probe.log();
    let probe = Box::new(probe);
    let mut simulation =
        Simulation::<_, NoDevices>::from_snapshot(&host, probe, Trace::default(), 0, &snapshot());
    let outcome = simulation.run(at_ms(530));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
    let log = log.lock().unwrap().clone();
    let resumed = log.iter().position(|call| call.contains("wake"));
    let expected = [
        "500000 wake d1v0 Event",
        "500000 wake d2v0 Event",
        "500000 pass p0 d1v0 Tickled 10000",
    ];
    assert_eq!(log[resumed.unwrap()..][..3], expected);
    // Set-up leaves no records; the sleeper's timer is set.
    let records = simulation.into_sink();
    assert!(records.iter().all(|r| r.at >= START));
    assert_eq!(lines(&records, &[Kind::Wake]), ["520000 p0 d3v0 wake"]);
}

#[test]
fn every_policy_goes_on_from_there() {
    for policy in domio_sched::policies() {
        let name = policy.descriptor.name;
        let host = guests(Some(name));
        let params = ParamValues::defaults(policy.descriptor.params);
        let scheduler = (policy.make)(&params, &host.topology);
        let mut simulation =
            Simulation::<_, NoDevices>::from_snapshot(&host, scheduler, NullSink, 0, &snapshot());
        let outcome = simulation.run(at_ms(1_500));
        assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
        let running = |v| simulation.host().vcpu_times(v).running;
        // Two pcpus are two burners' worth, but for one who stays where the snapshot put it.
        let both = running(0) + running(1);
        // The table of arinc653 has 10 of 30 ms for each of three vcpus, and nobody gets the rest.
        let least = if name == "arinc653" { 660 } else { 980 };
        assert!(both >= ms(least), "{name}: {both}");
        assert!(running(0).min(running(1)) >= ms(300), "{name}");
        // One that null gives no pcpu to waits for ever.
        assert_eq!(
            running(2) == ms(1),
            name != "null",
            "{name}: {}",
            running(2)
        );
    }
}
