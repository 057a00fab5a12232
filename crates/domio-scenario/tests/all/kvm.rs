//! Hosts with KVM: threads beside vcpus, groups with quotas, halt polling, what only one of the
//! two hypervisors has.

use domio_core::{Duration, Instant, NullSink};
use domio_run::Replication;
use domio_scenario::{NoReplay, Scenario, example};
use std::collections::BTreeMap;

pub(super) fn parse(text: &str) -> Result<Scenario, String> {
    let policies = domio_sched::policies();
    Scenario::parse("kvm.toml", text.as_bytes(), policies).map_err(|errors| errors.render(false))
}

/// How long each domain of `scenario` runs in `seconds`.
pub(super) fn ran(scenario: &Scenario, seconds: u64) -> BTreeMap<String, Duration> {
    let built = scenario.build(&NoReplay).expect("no recordings");
    let mut run = Replication::new(&built, 0, NullSink);
    let end = Instant::ZERO + Duration::from_secs(seconds);
    run.until(end).unwrap_or_else(|fault| panic!("{fault}"));
    let names: BTreeMap<u16, &str> = built
        .host
        .domains
        .iter()
        .map(|domain| (domain.id.0, domain.name.as_str()))
        .collect();
    let mut sums: BTreeMap<String, Duration> = BTreeMap::new();
    for (vcpu, times) in run.vcpu_times() {
        let name = names[&vcpu.domain.0].to_owned();
        *sums.entry(name).or_default() += times.running;
    }
    sums
}

/// A guest of four vcpus that compute, and three threads beside, on eight pcpus.
fn limited(policy: &str, quota_us: u64, thread: &str) -> String {
    format!(
        r#"
        run.duration_s = 1
        host = {{ hypervisor = "kvm", cores = 8 }}
        scheduler = {policy}
        [[domain]]
        name = "vm"
        vcpus = 4
        quota_us = {quota_us}
        task = [{{ workload = "burn", vcpu = "all" }}]
        [[domain.thread]]
        name = "IO iothread"
        count = 3
        {thread}
        "#
    )
}

const POLICIES: [&str; 4] = [
    r#"{ policy = "cfs" }"#,
    r#"{ policy = "eevdf", release = "6.12" }"#,
    r#"{ policy = "eevdf", release = "6.18" }"#,
    r#"{ policy = "eevdf", release = "7.3" }"#,
];

#[test]
fn threads_and_vcpus_of_a_guest_draw_on_one_quota() {
    for policy in POLICIES {
        let text = limited(policy, 300_000, r#"workload = "burn""#);
        let ran = ran(&parse(&text).unwrap(), 2);
        let all = ran["vm"] + ran["vm:host"];
        // 300 ms in each of 20 periods, wherever these begin: those at both ends are cut. A pcpu
        // may be a slice ahead at the end.
        let (quota, slice) = (Duration::from_millis(300), Duration::from_millis(8 * 5));
        assert!(all <= quota * 21 + slice, "{policy}: {all}");
        assert!(all + slice >= quota * 20, "{policy}: {all}");
        // All seven are alike.
        assert!(
            ran["vm:host"] > Duration::from_millis(2_300),
            "{policy}: {ran:?}"
        );
    }
}

/// Each I/O thread has 20 ms in 100, the vcpus have no limit, and what else works for the guest is
/// in the emulator's group.
#[test]
fn quotas_of_libvirts_groups_hold_their_own_threads() {
    let groups = "layout = \"libvirt\"\n iothread_quota_us = 20000\n emulator_quota_us = 50000";
    for policy in POLICIES {
        let text = limited(policy, 0, r#"workload = "burn""#).replace("quota_us = 0", groups);
        let others = r#"
        [[domain.thread]]
        name = "worker"
        count = 2
        workload = "burn"
        "#;
        let ran = ran(&parse(&(text + others)).unwrap(), 2);
        // Nine threads on eight pcpus, of which the limited ones have 110 ms in 100.
        assert!(
            ran["vm"] > Duration::from_millis(7_800),
            "{policy}: {ran:?}"
        );
        let (due, slack) = (Duration::from_millis(2_200), Duration::from_millis(150));
        let host = ran["vm:host"];
        assert!(
            host <= due + slack && host + slack >= due,
            "{policy}: {host}"
        );
    }
    let flat = limited(POLICIES[1], 0, r#"workload = "burn""#);
    let flat = flat.replace("quota_us = 0", "vcpu_quota_us = 5000");
    let refused = parse(&flat).unwrap_err();
    assert!(
        refused.contains("without a group that it could limit"),
        "{refused}"
    );
}

#[test]
fn a_thread_without_a_quota_takes_no_time_from_vcpus_that_have_pcpus() {
    for policy in POLICIES {
        let text = limited(policy, 0, r#"workload = "burn""#);
        let ran = ran(&parse(&text).unwrap(), 1);
        // Seven threads on eight pcpus.
        assert_eq!(
            ran["vm"] + ran["vm:host"],
            Duration::from_secs(7),
            "{policy}"
        );
    }
}

#[test]
fn work_is_conserved_with_more_threads_than_pcpus() {
    for policy in POLICIES {
        let text = format!(
            r#"
            run.duration_s = 1
            host = {{ hypervisor = "kvm", cores = 4 }}
            scheduler = {policy}
            [[domain]]
            name = "vm"
            count = 5
            vcpus = 2
            task = [{{ workload = "burn", vcpu = "all" }}]
            [[domain.thread]]
            name = "worker"
            workload = "on-off"
            on_us = 100
            off_us = 900
            [[kthread]]
            name = "kworker/0:1"
            pin = "0"
            workload = "on-off"
            on_us = 10
            off_ms = 1
            "#
        );
        let ran = ran(&parse(&text).unwrap(), 1);
        let all = ran.values().fold(Duration::ZERO, |sum, time| sum + *time);
        // A pcpu that runs out of work looks at others for less time than it expects to idle, and
        // draws whether to look: a moment of some ticks is lost now and then.
        let all = all.as_nanos() as f64 / 4e9;
        assert!((0.995..=1.0).contains(&all), "{policy}: {all}, {ran:?}");
        assert_eq!(ran.len(), 11);
    }
}

#[test]
fn a_thread_of_the_kernel_is_in_no_group() {
    // Two groups, and a thread beside them at the root: a third each.
    for policy in POLICIES {
        let text = format!(
            r#"
            run.duration_s = 1
            host = {{ hypervisor = "kvm" }}
            scheduler = {policy}
            [[domain]]
            name = "vm"
            count = 2
            vcpus = 2
            task = [{{ workload = "burn", vcpu = "all" }}]
            [[kthread]]
            name = "kworker/0:1"
            workload = "burn"
            "#
        );
        let ran = ran(&parse(&text).unwrap(), 3);
        for name in ["vm1", "vm2", "kernel"] {
            let third = ran[name].as_nanos() as f64 / 1e9;
            assert!((third - 1.0).abs() < 0.02, "{policy}: {ran:?}");
        }
    }
}

#[test]
fn vcpus_poll_before_they_sleep_unless_the_module_says_no() {
    let text = |kvm: &str| {
        format!(
            r#"
            run.duration_s = 1
            host = {{ hypervisor = "kvm", {kvm} }}
            scheduler.policy = "eevdf"
            [[domain]]
            name = "vm"
            workload = "on-off"
            on_us = 50
            off_us = 50
            "#
        )
    };
    let runs = |kvm| ran(&parse(&text(kvm)).unwrap(), 1)["vm"];
    assert!(runs("cores = 1") > Duration::from_millis(999));
    let never = runs("kvm = { halt_poll_ns = 0 }");
    assert!(never <= Duration::from_millis(501), "{never}");
}

#[test]
fn keys_of_the_other_hypervisor_are_refused() {
    let rest = r#"
        run.duration_s = 1
        [[domain]]
        name = "vm"
        workload = "burn"
    "#;
    let refused = |head: &str, tail: &str, expected: &str| {
        let found = parse(&format!("{head}\n{rest}\n{tail}")).expect_err("it is refused");
        assert!(found.contains(expected), "{expected}:\n{found}");
    };
    let kvm = "host.hypervisor = \"kvm\"\nscheduler.policy = \"eevdf\"";
    let xen = "scheduler.policy = \"eevdf\"";
    let thread = "[[domain.thread]]\nname = \"worker\"\nworkload = \"burn\"";
    refused(xen, thread, "threads of the host are with KVM");
    refused(
        "host.kvm.halt_poll_ns = 0\nscheduler.policy = \"cfs\"",
        "",
        "on a host with Xen",
    );
    refused(
        kvm,
        "[[domain.thread]]\nname = \"worker\"",
        "has nothing to do",
    );
    refused(
        kvm,
        "[[domain.thread]]\nname = \"a name of 16 B..\"\nworkload = \"burn\"",
        "is no name of a thread",
    );
    refused(kvm, &format!("{thread}\n{thread}"), "two threads `worker`");
    refused(
        "host = { hypervisor = \"kvm\", xen = \"4.17\" }\nscheduler.policy = \"eevdf\"",
        "",
        "a key of Xen, on a host with KVM",
    );
    refused(
        "host.hypervisor = \"kvm\"\nscheduler.policy = \"credit\"",
        "",
        "credit is a scheduler of Xen",
    );
    refused(
        kvm,
        "[[domain]]\nname = \"b\"\nvif = {}\n[network]\nscan = \"resume\"",
        "`scan` is of Xen",
    );
    refused(
        "scheduler.policy = \"credit\"",
        "[[domain]]\nname = \"Domain-0\"\n[[domain]]\nname = \"b\"\nvif = {}\n\
         [network]\nirqfd = \"kworker\"",
        "`irqfd` is of KVM",
    );
    refused(
        kvm,
        "[[pool]]\nname = \"p\"\npcpus = \"0\"",
        "cpupools are Xen's",
    );
}

/// Canaries: nanoseconds that the first four domains of each shipped scenario run in the first
/// second.
const CANARIES: &str = "\
kvm-host batch1 1966299766
kvm-host batch2 2082487148
kvm-host batch3 1013916351
kvm-host db 1832684761
kvm-quota db 6255832814
kvm-quota db:host 1779067871
kvm-libvirt-quota kernel 19856450
kvm-libvirt-quota web 1142572469
kvm-starved-kworker kernel 1236317336
kvm-starved-kworker server1 595396625
kvm-starved-kworker server2 602520294
kvm-starved-kworker server3 608211981
kvm-emulator-threads rt 1213739524
kvm-emulator-threads rt:host 301160303
kvm-latency-guest batch1 994763729
kvm-latency-guest batch2 994928968
kvm-latency-guest kernel 6644213
kvm-latency-guest web 3650490
kvm-oversubscribed vm1 514781560
kvm-oversubscribed vm10 491722080
kvm-oversubscribed vm10:host 5524460
kvm-oversubscribed vm11 497288200
kvm-disk db 3704109677
kvm-disk db:host 295863523
kvm-disk kernel 11300
kvm-softirq dns 899879705
kvm-softirq game 482675620
kvm-softirq kernel 206209520
";

#[test]
fn shipped_scenarios_run_as_ever() {
    let names = [
        "kvm-host",
        "kvm-quota",
        "kvm-libvirt-quota",
        "kvm-starved-kworker",
        "kvm-emulator-threads",
        "kvm-latency-guest",
        "kvm-oversubscribed",
        "kvm-disk",
        "kvm-softirq",
    ];
    let mut found = String::new();
    for name in names {
        let text = example(name).expect("it is shipped");
        let ran = ran(&parse(text).unwrap(), 1);
        for (domain, time) in ran.iter().take(4) {
            found += &format!("{name} {domain} {}\n", time.as_nanos());
        }
    }
    assert_eq!(found, CANARIES, "{found}");
}

/// What a guest received of its stream, in Mb/s, and pings that were answered: figures of `run`.
pub(super) fn figures(scenario: &Scenario) -> domio_run::Sample {
    let built = scenario.build(&NoReplay).expect("no recordings");
    let sink = domio_run::driver_work::OwnersOnly;
    let (sample, _) = domio_run::simulate::measured(&built, 0, sink, &|_| {}).expect("it runs");
    sample
}

#[test]
fn packets_pass_the_card_the_tap_and_vhost_and_are_somebodys() {
    let text = example("kvm-latency-guest").expect("it is shipped");
    let sample = figures(&parse(text).unwrap());
    assert_eq!(sample.get("web.ping_replies"), Some(1_000.0), "{sample:?}");
}

#[test]
fn streams_are_slower_while_a_kworker_that_wakes_keeps_its_lag() {
    let text = example("kvm-starved-kworker").expect("it is shipped");
    let scenario = parse(text).unwrap();
    let mbps = |overrides: &[(&str, &str)]| {
        let sample = figures(&scenario.with(overrides).unwrap());
        sample.get("server1.net_mbps").expect("it receives")
    };
    let (kept, forgotten) = (mbps(&[]), mbps(&[("scheduler.place_lag", "false")]));
    assert!(forgotten > kept * 1.08, "{kept} and {forgotten} Mb/s");
}
