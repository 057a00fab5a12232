//! Hosts with KVM whose card is polled by softirqs: whose time these take, and what helps.

use crate::kvm::{figures, parse, ran};
use domio_core::{CpuSet, Duration, PcpuId};
use domio_scenario::{NoReplay, Scenario, example};
use domio_vmm::config::{DomainKind, HostSoftirqs};

/// The shipped scenario for a short time, with `overrides`.
fn shipped(overrides: &[(&str, &str)]) -> Scenario {
    let text = example("kvm-softirq").expect("it is shipped");
    let short = [("run.warmup_s", "0.2"), ("run.duration_s", "0.3")];
    let all: Vec<_> = short.iter().chain(overrides).copied().collect();
    parse(text).unwrap().with(&all).unwrap()
}

#[test]
fn packets_for_another_guest_are_taken_in_the_time_of_the_interrupted_vcpu() {
    let mine = figures(&shipped(&[]));
    let get = |name: &str| mine.get(name).unwrap_or(0.0);
    // 200000 packets a second, of 0.8 us each through driver, bridge and tap.
    let (irq, softirq) = (get("game.irq_pct"), get("game.softirq_pct"));
    assert!((3.0..17.0).contains(&softirq), "{softirq}");
    assert!(irq > 0.5, "{irq}");
    // What the guest does is 40 % of a pcpu; the rest of its time was taken, or is its way in.
    let rest = get("game.share_pct") - 40.0 - irq - softirq;
    assert!((0.0..10.0).contains(&rest), "{mine:?}");
}

#[test]
fn interrupts_elsewhere_or_a_thread_take_nothing_from_it() {
    let worst = |overrides: &[(&str, &str)]| {
        let mine = figures(&shipped(overrides));
        let taken = mine.get("game.softirq_pct").unwrap_or(0.0);
        (taken, mine.get("game.turnaround_p99_ms").expect("jobs"))
    };
    let (taken, late) = worst(&[]);
    assert!(taken > 3.0 && late > 0.45, "{taken} {late}");
    for cure in [("network.irq_pcpus", "1"), ("network.napi", "threaded")] {
        let (taken, early) = worst(&[cure]);
        assert_eq!(taken, 0.0, "{cure:?}");
        assert!(early < 0.43 && early < late, "{cure:?}: {early} and {late}");
    }
}

/// A guest that computes on the pcpu of the interrupts, and more packets than the pcpu can take.
fn flood(policy: &str) -> Scenario {
    parse(&format!(
        r#"
        run.duration_s = 1
        host = {{ hypervisor = "kvm", profile = "kvm-2020", cores = 3 }}
        scheduler = {policy}
        network = {{ rate = "10G", nic = "i40e" }}
        [[domain]]
        name = "busy"
        pin = "0"
        workload = "burn"
        [[domain]]
        name = "sink"
        pin = "1"
        workload = "udp"
        pps = 1500000
        bytes = 20
        [[domain.thread]]
        name = "vhost"
        pin = "2"
        "#
    ))
    .unwrap()
}

#[test]
fn what_is_too_much_for_softirqs_is_ksoftirqds_which_shares_the_pcpu() {
    for policy in [
        r#"{ policy = "cfs" }"#,
        r#"{ policy = "eevdf", release = "6.12" }"#,
    ] {
        let ran = ran(&flood(policy), 1);
        // The guest is alone for 100 ms, then ksoftirqd and the guest are alike; vhost is in the
        // sum of the kernel as well.
        let (busy, half) = (ran["busy"], Duration::from_millis(550));
        let apart = busy.max(half) - busy.min(half);
        assert!(apart < Duration::from_millis(30), "{policy}: {ran:?}");
        assert!(
            ran["kernel"] > Duration::from_millis(600),
            "{policy}: {ran:?}"
        );
    }
}

#[test]
fn a_run_is_the_same_each_time() {
    let once = || format!("{:?}", ran(&shipped(&[]), 1));
    assert_eq!(once(), once());
}

#[test]
fn pcpus_of_interrupts_exist_and_are_of_kvm() {
    let text = |host: &str, network: &str| {
        format!(
            r#"
            run.duration_s = 1
            {host}
            [network]
            {network}
            [[domain]]
            name = "Domain-0"
            [[domain]]
            name = "b"
            workload = "ping"
            "#
        )
    };
    let refused = |host: &str, network: &str, expected: &str| {
        let found = parse(&text(host, network)).expect_err("it is refused");
        assert!(found.contains(expected), "{expected}:\n{found}");
    };
    let kvm = "host = { hypervisor = \"kvm\", cores = 2 }\nscheduler.policy = \"cfs\"";
    let xen = "scheduler.policy = \"credit\"";
    refused(kvm, "irq_pcpus = \"1-2\"", "the host has no pcpu 2");
    refused(xen, "irq_pcpus = \"0\"", "`irq_pcpus` is of KVM");
    refused(xen, "napi = \"threaded\"", "`napi` is of KVM");
    let idle = text(kvm, "irq_pcpus = \"1\"\nnapi = \"threaded\"");
    let idle = parse(&idle).unwrap();
    let found = format!("{:?}", idle.notices());
    assert!(found.contains("irq_pcpus"), "{found}");
    // All pcpus: the card has a queue for each.
    parse(&text(kvm, "irq_pcpus = \"all\"\nnic = \"i40e\"")).unwrap();
}

/// A guest with a network, whose interrupts come to both pcpus, under `policy`.
fn small(policy: &str, tail: &str) -> String {
    format!(
        r#"
        run.duration_s = 1
        host = {{ hypervisor = "kvm", cores = 2 }}
        scheduler = {policy}
        network = {{ irq_pcpus = "0-1", nic = "i40e", irqfd = "kworker" }}
        [[domain]]
        name = "b"
        workload = "ping"
        {tail}
        "#
    )
}

/// The threads of the kernel, with where they may run and how softirqs are left to them.
fn kernel(text: &str) -> Vec<(String, CpuSet, Option<HostSoftirqs>)> {
    let built = parse(text)
        .unwrap()
        .build(&NoReplay)
        .expect("no recordings");
    let kernel = built.host.domains.iter().find(|d| d.name == "kernel");
    let kernel = kernel.expect("the card has threads");
    let DomainKind::Threads(threads) = &kernel.kind else {
        panic!("threads of the kernel are threads");
    };
    let all = threads.iter().zip(&kernel.vcpus);
    all.map(|(t, vcpu)| (t.name.clone(), vcpu.hard, t.softirqs))
        .collect()
}

#[test]
fn threads_of_one_pcpu_are_bound_to_it() {
    let kthread = |name: &str, rest: &str| format!("[[kthread]]\nname = \"{name}\"\n{rest}");
    let eevdf = r#"{ policy = "eevdf" }"#;
    let pins = [
        "pin = \"1\"",
        "pin = \"0-1\"",
        "pin = \"all\"",
        "pin = \"all,^0\"",
    ];
    for name in ["ksoftirqd/0", "kworker/0:1"] {
        for pin in pins {
            let found = parse(&small(eevdf, &kthread(name, pin))).expect_err("it is refused");
            for part in [
                &*format!("the kernel binds the thread `{name}` to pcpu 0"),
                pin,
                "no `pin`, or pcpu 0 alone",
                "take `pin` away",
            ] {
                assert!(found.contains(part), "{part}:\n{found}");
            }
        }
        for fine in ["pin = \"0\"", "nice = 5"] {
            let threads = kernel(&small(eevdf, &kthread(name, fine)));
            let own = threads.iter().find(|(own, ..)| own == name);
            let hard = own.map(|(_, hard, _)| *hard);
            assert_eq!(hard, Some(CpuSet::of(PcpuId(0))), "{threads:?}");
        }
    }
}

#[test]
fn the_release_says_whether_softirqs_are_left_to_ksoftirqd() {
    let rules = |policy: &str| {
        let threads = kernel(&small(policy, ""));
        threads
            .iter()
            .find_map(|(.., rules)| *rules)
            .expect("a ksoftirqd")
    };
    let of = |tick_us, left_to_thread| HostSoftirqs {
        tick: Duration::from_micros(tick_us),
        left_to_thread,
    };
    assert_eq!(rules(r#"{ policy = "cfs" }"#), of(4_000, true));
    assert_eq!(rules(r#"{ policy = "cfs", hz = "1000" }"#), of(1_000, true));
    assert_eq!(
        rules(r#"{ policy = "eevdf", hz = "100" }"#),
        of(10_000, false)
    );
    // Without releases, and without a tick of its own.
    assert_eq!(rules(r#"{ policy = "round-robin" }"#), of(4_000, false));
}
