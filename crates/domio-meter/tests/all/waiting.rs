//! Waits in traces of a real Xen 4.17: their sums, and that they say what is known of the hosts.

use std::path::Path;

use domio_core::{DomainId, Sink, VcpuName};
use domio_meter::{MapWindow, Meter, VcpuWaits, WaitExplainer, Waiting, Why};
use domio_trace::{ReadOptions, TraceReader};

const TRACES: [&str; 4] = [
    "c1-burn7",
    "c1-burn7-periodic",
    "c1-cap30",
    "c1-weights-1-2-4",
];

fn explained(name: &str) -> Waiting {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
    let path = folder.join(name).join("trace.bin");
    let mut reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
    let mut explainer = WaitExplainer::new(MapWindow::Worst);
    let mut meter = Meter::new();
    while let Some(record) = reader.next_record().unwrap() {
        explainer.record(&record);
        meter.record(&record);
    }
    let (waiting, summary) = (explainer.finish(), meter.finish());
    let domains = summary.domains.iter().filter(|d| d.id != DomainId::IDLE);
    for vcpu in domains.flat_map(|d| &d.vcpus) {
        let waits = of(&waiting, vcpu.name.domain.0);
        assert_eq!(waits.runnable(), vcpu.account.runnable, "{name}");
        assert_eq!(waits.running, vcpu.account.running, "{name}");
        assert_eq!(waits.parked + waits.paused, vcpu.account.offline, "{name}");
    }
    waiting
}

fn of(waiting: &Waiting, domain: u16) -> &VcpuWaits {
    let name = VcpuName::new(DomainId(domain), 0);
    waiting.vcpus.iter().find(|v| v.name == name).unwrap()
}

/// Part of the waits of a vcpu that have this cause.
fn part(vcpu: &VcpuWaits, why: Why) -> f64 {
    let time = vcpu.by_cause().get(&why).copied().unwrap_or(0);
    time as f64 / vcpu.runnable() as f64
}

#[test]
fn waits_sum_to_what_the_meter_finds() {
    for name in TRACES {
        let waiting = explained(name);
        assert_eq!(waiting.tells.policy_name(), Some("credit"), "{name}");
        assert!(waiting.tells.tickles && waiting.tells.limits, "{name}");
    }
}

#[test]
fn seven_that_burn_wait_for_each_other_and_domain_0_for_the_rate_limit() {
    let waiting = explained("c1-burn7");
    for domain in 1..=7 {
        let behind = of(&waiting, domain).behind();
        let others = (1..=7).filter(|d| *d != domain);
        let others = others.map(|d| behind[&Some(VcpuName::new(DomainId(d), 0))]);
        let (least, most) = others.fold((u64::MAX, 0), |(a, b), t| (a.min(t), b.max(t)));
        assert!(most < least * 11 / 10, "{domain}: {behind:?}");
        let domain0 = behind[&Some(VcpuName::new(DomainId(0), 0))];
        assert!(domain0 * 50 < least, "{domain}: {behind:?}");
    }
    // Domain-0 is boosted whenever it wakes. Only those keep it that have just been put there.
    let domain0 = of(&waiting, 0);
    assert!(part(domain0, Why::Pass) + part(domain0, Why::RateLimit) > 0.999);
    assert!(domain0.longest < 1_000_000);
}

#[test]
fn a_guest_at_its_cap_is_parked_and_hardly_waits() {
    let waiting = explained("c1-cap30");
    let guest = of(&waiting, 1);
    let parked = guest.parked as f64 / guest.seen as f64;
    assert!((0.69..0.71).contains(&parked), "{parked}");
    assert!(guest.runnable() * 1_000 < guest.seen);
    assert_eq!(of(&waiting, 0).parked, 0);
}

#[test]
fn the_lighter_a_guest_the_more_it_is_over_its_credit() {
    let waiting = explained("c1-weights-1-2-4");
    let over = [1, 2, 3].map(|domain| part(of(&waiting, domain), Why::OverCredit));
    assert!(over[0] > over[1] && over[1] > over[2], "{over:?}");
    assert!(over[0] > 0.7, "{over:?}");
}

#[test]
fn a_guest_that_wakes_often_is_over_its_credit_now_and_then() {
    let waiting = explained("c1-burn7-periodic");
    let worst = &waiting.worst_woken[0];
    assert_eq!(worst.vcpu, VcpuName::new(DomainId(1), 0));
    assert_eq!(worst.why, Why::OverCredit);
    // A turn of everybody.
    assert!(
        (280_000_000..300_000_000).contains(&worst.length),
        "{worst:?}"
    );
}
