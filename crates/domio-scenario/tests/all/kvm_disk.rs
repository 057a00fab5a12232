//! Disks on hosts with KVM: which thread serves them, whose time the thread takes, what a pin of
//! the thread does.

use crate::kvm::{figures, parse, ran};
use domio_core::Duration;
use domio_scenario::{NoReplay, example};
use domio_vmm::config::DomainKind;

/// A guest of two vcpus: one reads with eight processes, the other one computes.
fn reader(domain: &str, disk: &str, tail: &str) -> String {
    format!(
        r#"
        run.duration_s = 1
        host = {{ hypervisor = "kvm", profile = "kvm-2020", cores = 8 }}
        scheduler = {{ policy = "eevdf", release = "6.12" }}
        disk = {{ profile = "nvme", elevator = "none" }}
        guests.elevator = "none"
        [[domain]]
        name = "vm"
        vcpus = 2
        disk = {{ kind = "vbd", size = "4G", {disk} }}
        {domain}
        [[domain.task]]
        workload = "fio"
        vcpu = 0
        job = """
        [reads]
        direct=1
        rw=randread
        bs=4k
        size=1g
        numjobs=8
        """
        [[domain.task]]
        workload = "burn"
        vcpu = 1
        {tail}
        "#
    )
}

/// Names of the threads beside the vcpus: those of the kernel, those of the guest.
fn threads(disk: &str, tail: &str) -> [Vec<String>; 2] {
    let scenario = parse(&reader("", disk, tail)).unwrap();
    let built = scenario.build(&NoReplay).expect("no recordings");
    let of = |name: &str| {
        let own = built.host.domains.iter().find(|d| d.name == name);
        match own.map(|domain| &domain.kind) {
            Some(DomainKind::Threads(all)) => all.iter().map(|t| t.name.clone()).collect(),
            _ => Vec::new(),
        }
    };
    [of("kernel"), of("vm:host")]
}

#[test]
fn the_main_thread_serves_disks_unless_there_is_an_io_thread() {
    let kblockd = ["kworker/0:1H"];
    let main = ["qemu-system-x86"];
    let io = "[[domain.thread]]\nname = \"IO iothread1\"\npin = \"3\"";
    let cases: [(&str, String, &[&str]); 5] = [
        ("", String::new(), &main),
        ("", io.to_owned(), &["IO iothread1"]),
        ("", format!("{io}\nworkload = \"burn\""), &["IO iothread1"]),
        (
            "iothread = \"qemu-system-x86\"",
            format!("{io}\nworkload = \"burn\""),
            &["IO iothread1", "qemu-system-x86"],
        ),
        (
            "iothread = \"IO b\"",
            format!("{io}\nworkload = \"burn\"\n[[domain.thread]]\nname = \"IO b\""),
            &["IO iothread1", "IO b"],
        ),
    ];
    for (disk, tail, expected) in cases {
        let [kernel, guest] = threads(disk, &tail);
        assert_eq!(kernel, kblockd, "{disk} {tail}");
        assert_eq!(guest, expected, "{disk} {tail}");
    }
}

#[test]
fn the_thread_of_a_disk_draws_on_the_quota_of_its_guest() {
    let text = |quota| reader(&format!("quota_us = {quota}"), "", "");
    let free = figures(&parse(&text(0)).unwrap());
    let scenario = parse(&text(20_000)).unwrap();
    let reads = |sample: &domio_run::Sample| sample.get("vm.disk_ios_per_s").expect("it reads");
    let (free, limited) = (reads(&free), reads(&figures(&scenario)));
    // The vcpus use up 20 ms in 10 ms of each 100 ms, and the thread is parked for the rest.
    assert!(limited < free / 5.0, "{limited} and {free}");
    let ran = ran(&scenario, 1);
    let all = ran["vm"] + ran["vm:host"];
    let (quota, slice) = (Duration::from_millis(20), Duration::from_millis(8 * 5));
    assert!(all <= quota * 11 + slice, "{ran:?}");
    assert!(ran["vm:host"] > Duration::ZERO);
}

#[test]
fn a_pin_of_the_io_thread_shortens_reads() {
    let text = example("kvm-disk").expect("it is shipped");
    let scenario = parse(text).unwrap();
    let scenario = scenario
        .with(&[("run.duration_s", "0.5"), ("run.warmup_s", "0")])
        .unwrap();
    let pin = [("domain.db.thread.\"IO iothread1\".pin", "0-1")];
    let pinned = figures(&scenario.with(&pin).unwrap());
    let (found, again) = (figures(&scenario), figures(&scenario));
    assert_eq!(format!("{found:?}"), format!("{again:?}"), "runs are alike");
    let p99 = |sample: &domio_run::Sample| sample.get("db.disk_read_p99_ms").expect("it reads");
    let (before, after) = (p99(&found), p99(&pinned));
    assert!(after < 0.3 && before > 1.0, "{before} and {after} ms");
}

#[test]
fn keys_of_the_other_hypervisor_are_refused() {
    let refused = |text: &str, expected: &str| {
        let found = parse(text).expect_err("it is refused");
        assert!(found.contains(expected), "{expected}:\n{found}");
    };
    for key in ["path = \"phy\"", "backend = \"vm\""] {
        let name = key.split(' ').next().unwrap();
        let expected = format!("`{name}` is of Xen, and the host has KVM");
        refused(&reader("", key, ""), &expected);
    }
    refused(
        &reader("", "", "[blkback]\nreqs = 2"),
        "`blkback` is of Xen",
    );
    let unknown = reader("", "iothread = \"IO iothread2\"", "");
    refused(&unknown, "the guest has no thread `IO iothread2`");
    let memory = reader("", "", "").replace("kind = \"vbd\"", "kind = \"loopback\"");
    refused(&memory, "`kind` is of Xen");
    let idle = "[[domain.thread]]\nname = \"worker\"";
    refused(
        &reader("", "", idle),
        "the thread `worker` has nothing to do",
    );
    let xen = reader("", "iothread = \"IO a\"", "")
        .replace("hypervisor = \"kvm\", profile = \"kvm-2020\", ", "")
        .replace("[[domain]]", "[[domain]]\nname = \"Domain-0\"\n[[domain]]");
    refused(&xen, "`iothread` is of KVM, and the host has Xen");
}
