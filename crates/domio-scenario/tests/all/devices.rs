//! Several networks, disks: what they become on the bus, what is refused, what they do.

use crate::common::{good, only, says};
use crate::told::{Told, run};
use domio_blk::loopback::{DiskConfig, LoopbackConfig, LoopbackCosts};
use domio_core::{DomainId, Duration, Instant, Kind};
use domio_net::class::NetRecord;
use domio_net::host::FlowKind;
use domio_net::link::Rate;
use domio_scenario::{Code, DeviceConfig, Scenario};
use domio_vmm::config::{KernelCosts, TaskConfig};
use domio_vmm::evtchn::Abi;
use domio_vmm::hardware::OPTERON_242;

/// Two networks with a driver domain each, a guest on both, and one with a disk.
const BASE: &str = r#"
run.duration_s = 2
[host]
cores = 4
[scheduler]
policy = "credit"
[[network]]
name = "lan"
[[network]]
name = "san"
driver = "storage"
rate = "100M"
[[domain]]
name = "Domain-0"
[[domain]]
name = "storage"
[[domain]]
name = "both"
vif = [{ network = "san" }, { network = "lan", rate = "10Mb/s" }]
  [[domain.task]]
  workload = "stream"
  network = "lan"
  begin_s = 0
  [[domain.task]]
  workload = "stream"
  direction = "out"
  network = "san"
  begin_s = 0
[[domain]]
name = "db"
vcpus = 2
disk = { kind = "loopback", size = "1M", backend = "storage" }
  [[domain.task]]
  workload = "dd"
  vcpu = 1
"#;

fn change(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen(from, to, 1)
}

fn disks(scenario: &Scenario) -> Vec<LoopbackConfig> {
    let devices = scenario.plan().devices.iter();
    let disks = devices.filter_map(|device| match device {
        DeviceConfig::Loopback(config) => Some((**config).clone()),
        _ => None,
    });
    disks.collect()
}

#[test]
fn each_network_has_its_driver_its_line_and_its_vifs() {
    let scenario = good(BASE);
    let [free] = scenario.notices() else {
        panic!("{:?}", scenario.notices());
    };
    assert!(
        free.starts_with("traffic and disks take no processor time"),
        "{free}"
    );
    let networks: Vec<_> = scenario.plan().networks().collect();
    let drivers: Vec<u16> = networks.iter().map(|n| n.driver.0).collect();
    assert_eq!(drivers, [0, 1]);
    let rates: Vec<Rate> = networks.iter().map(|n| n.link.rate).collect();
    assert_eq!(rates, [Rate::GBIT_1, Rate::MBIT_100]);
    for (network, limited) in networks.iter().zip([true, false]) {
        let [vif] = &network.vifs[..] else {
            panic!("{:?}", network.vifs);
        };
        assert_eq!((vif.domain, vif.rate.is_some()), (DomainId(2), limited));
        let is_in = matches!(vif.flows[..], [f] if matches!(f.kind, FlowKind::StreamIn(_)));
        assert_eq!(is_in, limited, "{:?}", vif.flows);
    }
    // Each process asks the network that its stream goes through, by its place on the bus.
    let tasks = &scenario.plan().host.domains[2].vcpus[0].tasks;
    let asks = |task: &TaskConfig| format!("{:?}", task.workload);
    assert!(asks(&tasks[0]).contains("StreamReader"), "{tasks:?}");
    assert!(asks(&tasks[0]).contains("device: 0, file: 0"), "{tasks:?}");
    assert!(asks(&tasks[1]).contains("device: 1, file: 0"), "{tasks:?}");
    let disk = &scenario.plan().host.domains[3].vcpus[1].tasks;
    assert!(asks(&disk[0]).contains("device: 2, file: 0"), "{disk:?}");
}

#[test]
fn both_networks_carry_what_their_lines_do() {
    // Acknowledgements take 21 Mb/s of what the guest sends.
    let records = run(&change("10Mb/s", "100Mb/s"));
    // What the guest sent is delivered at the other end, on the guest's account.
    let own = records
        .iter()
        .filter(|r| r.is_net(NetRecord::Delivered as u8) && r.is_of(2));
    let bytes: u64 = own.map(|r| r.value("bytes")).sum();
    let total = bytes as f64 * 8.0 / 2.0 / 1e6;
    // 941 Mb/s of goodput on the one, 94 on the other.
    assert!((total / (941.4 + 94.14) - 1.0).abs() < 0.02, "{total}");
}

#[test]
fn a_network_without_a_vif_is_left_out_and_the_others_move_up() {
    let text = change("[[network]]", "[[network]]\nname = \"idle\"\n[[network]]");
    let scenario = good(&text);
    let notices = scenario.notices();
    assert!(notices[0].contains("on the network idle"), "{notices:?}");
    assert_eq!(scenario.plan().networks().count(), 2);
    let tasks = &scenario.plan().host.domains[2].vcpus[0].tasks;
    assert!(format!("{:?}", tasks[0].workload).contains("device: 0, file: 0"));
}

#[test]
fn a_domain_without_a_list_gets_the_vifs_that_its_workloads_need() {
    let list = "vif = [{ network = \"san\" }, { network = \"lan\", rate = \"10Mb/s\" }]\n";
    let scenario = good(&change(list, ""));
    assert!(scenario.plan().networks().all(|n| n.vifs.len() == 1));
    // Without a name it is the first network, and an array of one is like a table.
    let plain = change(list, "").replace("  network = \"lan\"\n", "");
    let first = |text: &str| {
        good(text)
            .plan()
            .networks()
            .next()
            .map(|n| format!("{n:?}"))
    };
    assert_eq!(first(&plain), first(&change(list, "")));
}

#[test]
fn disks_of_one_driver_domain_are_one_device() {
    let [config] = &disks(&good(BASE))[..] else {
        panic!("one driver domain");
    };
    let disk = |domain| DiskConfig {
        domain: DomainId(domain),
        bytes: 1 << 20,
    };
    assert_eq!(
        (config.driver, &config.disks[..]),
        (DomainId(1), &[disk(3)][..])
    );
    assert_eq!(config.costs, LoopbackCosts::FREE);
    let two = BASE.to_owned()
        + "[[domain]]\nname = \"x\"\ncount = 2\ndisk = { kind = \"loopback\", size = 1048576 }\n\
           [[domain]]\nname = \"y\"\nworkload = \"dd\"\ndirection = \"write\"\nblock = \"4K\"\n\
           bytes = 8192\ndisk = { kind = \"loopback\", size = \"1024K\", backend = \"storage\" }\n";
    let scenario = good(&two.replacen("cores = 4", "profile = \"opteron-242\"", 1));
    let disks = disks(&scenario);
    assert_eq!(disks.len(), 2, "{disks:?}");
    assert_eq!(disks[0].disks, [disk(3), disk(6)]);
    assert_eq!(
        (disks[1].driver, &disks[1].disks[..]),
        (DomainId(0), &[disk(4), disk(5)][..])
    );
    assert_eq!(disks[0].costs, LoopbackCosts::on(&OPTERON_242));
    let y = &scenario.plan().host.domains[6];
    assert_eq!(y.guest.costs, KernelCosts::on(&OPTERON_242));
    let dd = &y.vcpus[0].tasks[0];
    assert_eq!((dd.name.as_str(), dd.priority), ("dd", 127));
    let program = format!("{:?}", dd.workload);
    for part in ["device: 2, file: 1", "Write", "block: 4096", "bytes: 8192"] {
        assert!(program.contains(part), "{program}");
    }
}

/// A host with nothing but a disk boots, too; a block is a job.
#[test]
fn dd_goes_through_its_disk_once() {
    let only = "run.duration_s = 1\nscheduler.policy = \"credit\"\nhost.profile = \"opteron-242\"\n\
                [[domain]]\nname = \"Domain-0\"\n[[domain]]\nname = \"db\"\nworkload = \"dd\"\n\
                disk = { kind = \"loopback\", size = \"1M\" }\n";
    let scenario = good(only);
    assert!(
        scenario
            .plan()
            .host
            .domains
            .iter()
            .all(|d| d.guest.abi == Abi::Fifo)
    );
    for (keys, blocks) in [("", 16), ("block = \"256K\"\n", 4), ("bytes = 65537\n", 2)] {
        let text = only.replacen("disk =", &format!("{keys}disk ="), 1);
        let records = run(&text);
        let done: Vec<&Told> = records.iter().filter(|r| r.is(Kind::JobDone)).collect();
        assert_eq!(done.len(), blocks, "{keys}");
        // 24 requests of 44 KiB at most, 47 us each, and 20 us around each block.
        let last = done.last().expect("some").at;
        assert!(
            last < Instant::ZERO + Duration::from_millis(4),
            "{keys}: {last}"
        );
    }
}

/// A change to the base, then code, and words that the message, what was expected or the hint must
/// hold.
type Case = (&'static str, &'static str, Code, &'static [&'static str]);

static MISTAKES: &[Case] = &[
    (
        "[[network]]",
        "[[network]]\nname = \"lan\"\n[[network]]",
        Code::Duplicate,
        &["two networks `lan`"],
    ),
    (
        "network = \"lan\", rate",
        "network = \"la\", rate",
        Code::UnknownName,
        &["no network `la`", "lan, san", "did you mean `lan`"],
    ),
    (
        "network = \"lan\", rate",
        "rat",
        Code::UnknownKey,
        &["did you mean `rate`"],
    ),
    (
        "{ network = \"san\" }, ",
        "{ network = \"lan\" }, ",
        Code::Duplicate,
        &["two vifs on the same network", "one on each"],
    ),
    (
        "  network = \"lan\"\n",
        "",
        Code::MissingKey,
        &["`network` is missing", "san, lan"],
    ),
    (
        "[{ network = \"san\" }, { network = \"lan\", rate = \"10Mb/s\" }]",
        "{ network = \"lan\" }",
        Code::Conflict,
        &["no vif on the network `san`", "{ network = \"san\" }"],
    ),
    (
        "[{ network = \"san\" }, { network = \"lan\", rate = \"10Mb/s\" }]",
        "[]",
        Code::MissingKey,
        &["at least one [domain.vif]"],
    ),
    (
        "driver = \"storage\"",
        "driver = \"both\"",
        Code::Conflict,
        &["cannot have a vif of its own", "without a vif"],
    ),
    (
        "driver = \"storage\"",
        "driver = \"db\"",
        Code::Conflict,
        &["both has a vif but is created before the driver domain db"],
    ),
    (
        "rate = \"100M\"",
        "evtchn = \"two-level-64\"",
        Code::Conflict,
        &[
            "domain both has a part in two networks",
            "the same `evtchn`",
        ],
    ),
    (
        "disk = { kind = \"loopback\", size = \"1M\", backend = \"storage\" }",
        "",
        Code::MissingKey,
        &["the domain has no disk", "size = \"1G\""],
    ),
    (
        "kind = \"loopback\"",
        "kind = \"lopback\"",
        Code::UnknownName,
        &["did you mean `loopback`"],
    ),
    (
        "size = \"1M\", ",
        "",
        Code::MissingKey,
        &["`size` is missing (kind loopback needs it)"],
    ),
    (
        "size = \"1M\"",
        "size = \"1MB\"",
        Code::OutOfRange,
        &["`1MB` is no number of bytes", "powers of 1024"],
    ),
    (
        "size = \"1M\"",
        "size = 0",
        Code::OutOfRange,
        &["`size` is out of range", "1 to"],
    ),
    (
        "size = \"1M\"",
        "size = 1.5",
        Code::WrongType,
        &["`size` is a number with a fraction, not a size"],
    ),
    (
        "backend = \"storage\"",
        "backend = \"storag\"",
        Code::UnknownName,
        &["no domain `storag`", "did you mean `storage`"],
    ),
    (
        "backend = \"storage\"",
        "backend = \"db\"",
        Code::Conflict,
        &["db is the driver domain and cannot have a disk"],
    ),
    (
        "workload = \"dd\"",
        "workload = \"dd\"\n  bytes = \"2M\"",
        Code::Conflict,
        &["the disk has 1048576 bytes", "the whole disk"],
    ),
    (
        "workload = \"dd\"",
        "workload = \"dd\"\n  direction = \"in\"",
        Code::UnknownName,
        &["read, write"],
    ),
];

#[test]
fn each_mistake_is_told_with_what_to_do() {
    for (from, to, code, words) in MISTAKES {
        let problem = only(&change(from, to));
        assert_eq!(problem.code, *code, "{to}: {problem:?}");
        says(&problem, words, to);
        assert!(problem.line > 1, "{to}: {problem:?}");
    }
}

#[test]
fn a_disk_needs_a_driver_domain_that_is_there() {
    let without = change(", backend = \"storage\"", "");
    let without = without.replacen("\"Domain-0\"", "\"control\"", 1);
    let network = without.replacen("name = \"lan\"", "name = \"lan\"\ndriver = \"control\"", 1);
    let problem = only(&network);
    assert_eq!(problem.code, Code::MissingKey);
    let words = [
        "db has a disk but there is no driver domain",
        "`backend` of",
    ];
    says(&problem, &words, "no domain 0");
    let stops = change("name = \"storage\"\n", "name = \"storage\"\nstop_s = 1\n");
    // Of the network and of the disk alike, so that it is told once.
    for text in [
        stops.as_str(),
        &stops.replacen("driver = \"storage\"\n", "", 1),
    ] {
        says(
            &only(text),
            &["storage is the driver domain and cannot be destroyed"],
            text,
        );
    }
}

/// A mistake in Domain-0 is one mistake: the domain is there, so that no driver domain is missing.
#[test]
fn a_mistake_in_the_driver_domain_is_one() {
    for (wrong, says_so) in [
        (
            "disk = { kind = \"vdb\", size = \"1G\" }",
            "there is no kind `vdb`",
        ),
        ("disk = { kind = \"vbd\" }", "`size` is missing"),
        ("disk = \"x\"", "`disk` is a string"),
        ("vcpus = 0", "`vcpus`"),
    ] {
        let text = format!(
            "run.duration_s = 1\nhost.profile = \"xeon-e5\"\nscheduler.policy = \"credit2\"\n\
             [[disk]]\nname = \"sda\"\nprofile = \"nvme\"\n\
             [[domain]]\nname = \"Domain-0\"\n{wrong}\n\
             [[domain]]\nname = \"g\"\ndisk = {{ kind = \"vbd\", size = \"10G\" }}\n\
             workload = \"fio\"\njob = \"[j]\"\n"
        );
        says(&only(&text), &[says_so], wrong);
    }
}

#[test]
fn overrides_name_a_network_and_a_vif() {
    let scenario = good(BASE);
    let changed = scenario.with(&[
        ("network.san.rate", "10G"),
        ("network.0.queue", "7"),
        ("domain.both.vif.0.rate", "1MB/s"),
        ("domain.db.disk.size", "2M"),
        ("domain.db.task.0.block", "1M"),
    ]);
    let changed = changed.unwrap_or_else(|e| panic!("{}", e.render(false)));
    let networks: Vec<_> = changed.plan().networks().collect();
    assert_eq!(
        (networks[1].link.rate, networks[0].link.queue),
        (Rate::GBIT_10, 7)
    );
    assert!(networks[1].vifs[0].rate.is_some_and(|r| r.bytes == 50_000));
    assert_eq!(disks(&changed)[0].disks[0].bytes, 2 << 20);
    let refused = scenario.with(&[("network.lann.rate", "10G")]).unwrap_err();
    says(
        &refused.problems()[0],
        &["lan, san", "did you mean"],
        "lann",
    );
}
