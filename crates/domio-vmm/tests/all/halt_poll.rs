//! Halt polling of KVM: the window of a vcpu, and a host whose vcpus poll.

use crate::common::{domain, host, ms, us};
use domio_core::{Duration, Instant, NullSink, ParamValues, XenVersion};
use domio_vmm::Simulation;
use domio_vmm::config::{Distribution, DomainKind, HaltPolling, Workload};

/// Windows before each of `halts`, in microseconds, and the one after the last.
fn windows(rules: HaltPolling, halts: &[u64]) -> Vec<u64> {
    let mut window = Duration::ZERO;
    let mut all = vec![0];
    for halted in halts {
        window = rules.next(window, us(*halted));
        all.push(window.as_nanos() / 1_000);
    }
    all
}

/// linux-spec 12, vector 23.
#[test]
fn the_window_grows_until_the_poll_succeeds_and_shrinks_after_a_long_halt() {
    let halts = [50, 50, 50, 50, 50, 5_000];
    let of_6_1 = HaltPolling {
        shrink: 0,
        ..HaltPolling::X86
    };
    assert_eq!(windows(of_6_1, &halts), [0, 10, 20, 40, 80, 80, 0]);
    assert_eq!(
        windows(HaltPolling::X86, &halts),
        [0, 10, 20, 40, 80, 80, 40]
    );
}

#[test]
fn the_window_stays_within_its_limits() {
    let rules = HaltPolling::X86;
    // Longer than the maximum: nothing to gain.
    assert_eq!(windows(rules, &[5_000, 5_000]), [0, 0, 0]);
    // 160 us are doubled to the maximum.
    assert_eq!(
        windows(rules, &[190; 8]),
        [0, 10, 20, 40, 80, 160, 200, 200, 200]
    );
    // Below where the window begins to grow there is none.
    assert_eq!(windows(rules, &[15, 300]), [0, 10, 0]);
}

/// How long a guest that works for 100 us and sleeps for `off` runs in a second, on one pcpu with
/// `others`.
fn runs(kind: DomainKind, off: Duration, others: Option<Workload>) -> Duration {
    let sleeper = Workload::OnOff {
        on: Distribution::Constant(us(100)),
        off: Distribution::Constant(off),
    };
    let mut domains = vec![domain(1, sleeper)];
    domains[0].kind = kind;
    domains.extend(others.map(|work| domain(2, work)));
    let config = host(1, XenVersion::V4_17, domains);
    let policy = domio_sched::find("round-robin").expect("a shipped policy");
    let params = ParamValues::defaults(policy.descriptor.params);
    let scheduler = (policy.make)(&params, &config.topology);
    let mut simulation = Simulation::new(&config, scheduler, NullSink, 1, 0);
    let _ = simulation.run(Instant::ZERO + Duration::from_secs(1));
    simulation.host().vcpu_times(0).running
}

#[test]
fn a_vcpu_that_halts_briefly_polls_all_the_time_and_one_that_halts_for_long_does_not() {
    let kvm = || DomainKind::Kvm(HaltPolling::X86);
    // Halts of 50 us are polled from the fifth on.
    assert!(runs(kvm(), us(50), None) > ms(999));
    assert!(runs(DomainKind::Guest, us(50), None) < ms(670));
    // Halts of 5 ms are never polled: the window does not grow.
    let long = runs(kvm(), us(5_000), None);
    assert_eq!(long, runs(DomainKind::Guest, us(5_000), None));
    let off = HaltPolling {
        max: Duration::ZERO,
        ..HaltPolling::X86
    };
    assert_eq!(
        runs(DomainKind::Kvm(off), us(50), None),
        runs(DomainKind::Guest, us(50), None)
    );
}

#[test]
fn nobody_polls_while_another_thread_wants_the_pcpu() {
    let kvm = DomainKind::Kvm(HaltPolling::X86);
    let beside = runs(kvm, us(50), Some(Workload::Burn));
    assert_eq!(
        beside,
        runs(DomainKind::Guest, us(50), Some(Workload::Burn))
    );
}
