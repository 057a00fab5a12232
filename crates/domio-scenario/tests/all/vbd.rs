//! Virtual disks on disks of the host: keys, places, mistakes, overrides.

use crate::common::{errors, parse, says};
use crate::told::{executed_us, ran};
use domio_blk::split::{BackKind, PendingPool, SplitConfig, VbdConfig, WakeOrder};
use domio_core::{DomainId, Duration};
use domio_scenario::{Code, DeviceConfig, NoReplay, Scenario, example};
use domio_vmm::bus::Device;

const BASE: &str = r#"
[run]
duration_s = 1
[host]
cores = 2
profile = "opteron-242"
[scheduler]
policy = "credit"

[[disk]]
name = "sda"
profile = "sata-2008"

[[disk]]
name = "sdb"
profile = "ssd-sata"
sectors = 20971520
depth = 32
elevator = { name = "cfq", quantum = 16, slice_idle = 4 }
nr_requests = 64
hz = 1000

[guests]
elevator = "anticipatory"
hz = 100

[blkback]
reqs = 32
wake = "random"

[[domain]]
name = "Domain-0"

[[domain]]
name = "mail"
count = 2
workload = "dd"
disk = { kind = "vbd", size = "8G" }

[[domain]]
name = "db"

  [[domain.disk]]
  kind = "vbd"
  size = "1G"
  on = "sdb"
  elevator = { name = "deadline", read_expire = 100 }
  hz = 1000
  nr_requests = 16

  [[domain.disk]]
  kind = "vbd"
  size = "2G"
  name = "log"
  at = "50G"
  path = "hosted"
  threads = 4

  [[domain.disk]]
  kind = "loopback"
  size = "1M"

  [[domain.task]]
  name = "scan"
  workload = "dd"

  [[domain.task]]
  name = "append"
  workload = "dd"
  direction = "write"
  device = "log"
"#;

fn good(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|e| panic!("{e}"))
}

fn split(scenario: &Scenario) -> &SplitConfig {
    let devices = scenario.plan().devices.iter();
    let mut found = devices.filter_map(|device| match device {
        DeviceConfig::Split(config) => Some(&**config),
        _ => None,
    });
    let only = found.next().expect("the scenario has virtual disks");
    assert!(found.next().is_none());
    only
}

const GIB: u64 = 1 << 21;

#[test]
fn disks_have_their_keys_and_places() {
    let scenario = good(BASE);
    let config = split(&scenario);
    let [sda, sdb] = &config.disks[..] else {
        panic!("{:?}", config.disks)
    };
    let [disk, flash] = [sda, sdb].map(|disk| disk.drive.make(1, 0));
    assert_eq!((&*sda.name, disk.sectors()), ("sda", 976_773_168));
    assert_eq!((flash.sectors(), flash.depth()), (10 * GIB, 32));
    assert_eq!((sda.layer.elevator.name, sda.layer.hz), ("cfq", 250));
    assert_eq!((sdb.layer.requests, sdb.layer.hz), (64, 1000));
    assert_eq!(sdb.layer.tuned, [("quantum", 16), ("slice_idle", 4)]);
    let pool = PendingPool {
        entries: 32,
        order: WakeOrder::Random,
    };
    assert_eq!(config.pool, pool);
    let places = config
        .vbds
        .iter()
        .map(|vbd| (vbd.domain.0, vbd.disk, vbd.start / GIB, vbd.sectors / GIB));
    let places: Vec<_> = places.collect();
    // The second of the mail servers is behind the first; what has a place of its own moves nobody.
    let expected = [(1, 0, 0, 8), (2, 0, 8, 8), (3, 1, 0, 1), (3, 0, 50, 2)];
    assert_eq!(places, expected);
    let layers = config
        .vbds
        .iter()
        .map(|vbd| (vbd.layer.elevator.name, vbd.layer.hz, vbd.layer.requests));
    let layers: Vec<_> = layers.collect();
    assert_eq!(layers[0], ("anticipatory", 100, 128));
    assert_eq!(layers[2], ("deadline", 1000, 16));
    assert_eq!(config.vbds[2].layer.tuned, [("read_expire", 100)]);
    assert_eq!(config.vbds[3].back, BackKind::Hosted { threads: 4 });
    assert_eq!(config.driver, DomainId::DOM0);
    // The loop-back disk is the first of its own device.
    assert_eq!(scenario.plan().devices.len(), 2);
}

/// `db` with this workload on its disk `log`, of 2 GiB with the keys of `more`.
fn on_files(workload: &str, more: &str) -> String {
    let text = BASE.replacen(
        "name = \"append\"\n  workload = \"dd\"\n  direction = \"write\"",
        &format!("name = \"append\"\n  {workload}"),
        1,
    );
    text.replacen("name = \"log\"", &format!("name = \"log\"\n  {more}"), 1)
}

#[test]
fn files_must_fit_on_their_disk() {
    let fsync = "job = \"\"\"\n[j]\nrw=write\nsize=";
    for (workload, more, words) in [
        (
            "workload = \"ffsb\"\n num_files = 400",
            "",
            "bytes of files at most",
        ),
        (
            "workload = \"postmark\"\n size_low = 1000000\n size_high = 9000000",
            "",
            "size` of the disk larger",
        ),
        (
            "workload = \"postmark\"\n prepared = true\n number = 300000",
            "",
            "for files",
        ),
        (
            "workload = \"zip\"\n files = 900000",
            "",
            "the files fewer or smaller",
        ),
        (
            &format!("workload = \"fio\"\n {fsync}1900m\n\"\"\""),
            "",
            "bytes of files at most",
        ),
        (
            "workload = \"ffsb\"\n num_files = 170",
            "file_system = { journal = \"400M\" }",
            "bytes of files at most",
        ),
    ] {
        let problems = errors(&on_files(workload, more));
        says(&problems.problems()[0], &[words], workload);
    }
    // What is just not too much.
    for (workload, more) in [
        ("workload = \"ffsb\"\n num_files = 170", ""),
        ("workload = \"postmark\"\n number = 200000", ""),
        (&format!("workload = \"fio\"\n {fsync}1700m\n\"\"\""), ""),
    ] {
        good(&on_files(workload, more));
    }
    let small = on_files("workload = \"ffsb\"", "").replacen("size = \"2G\"", "size = \"200M\"", 1);
    let problems = errors(&small);
    assert_eq!(problems.problems()[0].code, Code::Limit);
    says(
        &problems.problems()[0],
        &["no room for a file system", "128 MiB", "larger"],
        "200M",
    );
}

/// The disk `log` as a file of the driver domain, with these keys.
fn in_a_file(keys: &str) -> String {
    let text = BASE.replacen(
        "  at = \"50G\"\n  path = \"hosted\"\n  threads = 4\n",
        keys,
        1,
    );
    assert!(text != BASE);
    text.replacen(
        "profile = \"sata-2008\"",
        "profile = \"sata-2008\"\nfile_system = { memory = \"64M\", commit_s = 1 }",
        1,
    )
}

#[test]
fn files_of_the_driver_domain_are_behind_all_parts_of_the_disk() {
    let scenario = good(&in_a_file("  path = \"file\"\n"));
    let config = split(&scenario);
    let [.., log] = &config.vbds[..] else {
        panic!("there are disks")
    };
    assert_eq!((log.back, log.sectors), (BackKind::File, 2 * GIB));
    let files = config.disks[0].files.expect("a file system");
    assert_eq!(files.start, 16 * GIB, "behind both mail servers");
    let rest = (976_773_168 - 16 * GIB) * 512;
    assert_eq!((files.config.disk, files.config.memory), (rest, 64 << 20));
    assert_eq!(files.config.commit, Duration::from_secs(1));
    assert!(config.disks[1].files.is_none(), "sdb has no file");
    for (keys, words) in [
        (
            "  path = \"file\"\n  at = \"50G\"\n",
            &["no place of its own", "remove `at`"][..],
        ),
        (
            "  path = \"file\"\n  threads = 2\n",
            &["one thread serves the disk"][..],
        ),
    ] {
        says(&errors(&in_a_file(keys)).problems()[0], words, keys);
    }
    let large = in_a_file("  path = \"file\"\n").replacen("size = \"2G\"", "size = \"450G\"", 1);
    let problems = errors(&large);
    assert_eq!(problems.problems()[0].code, Code::Limit);
    says(
        &problems.problems()[0],
        &["file system on sda has", "at most", "[[disk]]"],
        "450G",
    );
}

#[test]
fn overrides_reach_elevators() {
    let scenario = good(BASE);
    let changed = |key: &str, value: &str| {
        let changed = scenario.with(&[(key, value)]);
        changed.unwrap_or_else(|e| panic!("{}", e.render(false)))
    };
    let noop = changed("disk.sdb.elevator", "noop");
    assert_eq!(split(&noop).disks[1].layer.elevator.name, "noop");
    assert_eq!(split(&noop).disks[0].layer.elevator.name, "cfq");
    let all = changed("guests.elevator", "noop");
    let names: Vec<_> = split(&all)
        .vbds
        .iter()
        .map(|v| v.layer.elevator.name)
        .collect();
    assert_eq!(names, ["noop", "noop", "deadline", "noop"]);
    // A word becomes a table when a tunable is put into it.
    let cfq16 = changed("disk.sda.elevator.name", "cfq");
    assert_eq!(split(&cfq16).disks[0].layer.elevator.name, "cfq");
    let own = changed("domain.mail.disk.elevator", "cfq");
    assert_eq!(split(&own).vbds[1].layer.elevator.name, "cfq");
    let one = changed("domain.db.disk.log.elevator", "deadline");
    assert_eq!(split(&one).vbds[3].layer.elevator.name, "deadline");
    let tuned = changed("guests.elevator.antic_expire", "0");
    assert_eq!(split(&tuned).vbds[0].layer.tuned, [("antic_expire", 0)]);
}

#[test]
fn mistakes_are_told() {
    let cases: &[(&str, &str, Code, &[&str])] = &[
        (
            "on = \"sdb\"",
            "on = \"sdc\"",
            Code::UnknownName,
            &["no disk `sdc`", "sda, sdb"],
        ),
        (
            "at = \"50G\"",
            "at = \"499G\"",
            Code::Limit,
            &["does not fit on sda"],
        ),
        (
            "name = \"sdb\"",
            "name = \"sda\"",
            Code::Duplicate,
            &["two disks `sda`"],
        ),
        (
            "quantum = 16",
            "quantum = 0",
            Code::OutOfRange,
            &["quantum"],
        ),
        (
            "quantum = 16",
            "fifo_batch = 16",
            Code::UnknownKey,
            &["fifo_batch"],
        ),
        ("threads = 4", "threads = 0", Code::OutOfRange, &["threads"]),
        (
            "path = \"hosted\"",
            "",
            Code::Conflict,
            &["one thread serves", "hosted"],
        ),
        (
            "elevator = \"anticipatory\"",
            "elevator = \"antic\"",
            Code::UnknownName,
            &["elevator `antic`"],
        ),
        (
            "device = \"log\"",
            "device = \"lag\"",
            Code::UnknownName,
            &["no disk `lag`", "xvda, log, xvdc"],
        ),
        (
            "name = \"log\"",
            "name = \"xvda\"",
            Code::Duplicate,
            &["two disks `xvda`"],
        ),
    ];
    for (from, to, code, words) in cases {
        let text = BASE.replacen(from, to, 1);
        assert_ne!(text, BASE, "{from}");
        let errors = errors(&text);
        let first = &errors.problems()[0];
        assert_eq!(first.code, *code, "{to}: {first:?}");
        says(first, words, to);
    }
    for (more, word) in [
        ("file = true", "nothing to read"),
        (
            "file = true\n  direction = \"write\"\n  device = \"xvdc\"",
            "no file system",
        ),
    ] {
        let text = BASE.replacen("name = \"scan\"", &format!("name = \"scan\"\n  {more}"), 1);
        says(&errors(&text).problems()[0], &[word], more);
    }
    let without = BASE.replace("[[disk]]", "[[ignored]]");
    assert!(
        errors(&without)
            .problems()
            .iter()
            .any(|e| e.message.contains("the host has no disk"))
    );
}

/// A disk has a file system where it is asked for, or where a workload needs one.
#[test]
fn disks_have_file_systems_where_they_are_needed() {
    let with = |scenario: &Scenario| {
        let files = |vbd: &VbdConfig| {
            vbd.files
                .as_ref()
                .map(|files| (files.memory >> 20, files.hz))
        };
        split(scenario).vbds.iter().map(files).collect::<Vec<_>>()
    };
    assert_eq!(with(&good(BASE)), [None; 4]);
    let text = BASE.replacen(
        "workload = \"dd\"",
        "workload = \"dd\"\ndirection = \"write\"\nfile = true",
        1,
    );
    let text = text.replacen(
        "on = \"sdb\"",
        "on = \"sdb\"\n  file_system = { memory = \"64M\" }",
        1,
    );
    let usual = Some((256, 100));
    assert_eq!(with(&good(&text)), [usual, usual, Some((64, 1000)), None]);
}

/// Two driver domains cannot have one disk.
#[test]
fn a_disk_has_one_driver_domain() {
    let text = BASE.replacen(
        "name = \"mail\"",
        "name = \"storage\"\n[[domain]]\nname = \"mail\"",
        1,
    );
    let text = text.replacen("size = \"8G\"", "size = \"8G\", backend = \"storage\"", 1);
    let errors = errors(&text);
    assert!(
        errors.problems()[0]
            .message
            .contains("sda is another driver domain's"),
        "{errors:?}"
    );
}

/// Requests of the guests of the shipped scenario in its first 30 seconds: reads of each reader,
/// and writes of the writer. In ten seconds the readers may have turns of the disk in unequal
/// number.
fn shipped(overrides: &[(&str, &str)]) -> [u64; 3] {
    let text = example("two-elevators").expect("it is shipped");
    let parsed = Scenario::parse("two-elevators", text.as_bytes(), domio_sched::policies());
    let changed = parsed.expect("valid").with(overrides);
    let built = changed.unwrap_or_else(|e| panic!("{}", e.render(false)));
    let built = built.build(&NoReplay).expect("no replays");
    let host = ran(&built, Duration::from_secs(30));
    let passed = |domain| host.devices()[0].passed(DomainId(domain));
    [
        passed(1).requests_read,
        passed(2).requests_read,
        passed(3).requests_written,
    ]
}

#[test]
fn the_shipped_elevators_do_what_their_scenario_says() {
    let [first, second, written] = shipped(&[]);
    assert!(
        first.abs_diff(second) * 5 < first && written > 100,
        "{first} {second} {written}"
    );
    let noop = shipped(&[("disk.sda.elevator", "noop")]);
    assert!(noop[0] * 100 < first && noop[2] > 5 * written, "{noop:?}");
    let cfq = shipped(&[("guests.elevator", "cfq")]);
    assert!(cfq[0] > first && cfq[2] < written, "{cfq:?}");
    let flash = shipped(&[("disk.sda.profile", "ssd-sata")]);
    assert!(flash[0] > 2 * first, "{flash:?}");
}

/// Calls that find everything in memory take time: PostMark with its own defaults, whose 500 files
/// are cached, gets to its end on each hardware profile that has disks.
#[test]
fn postmark_runs_with_its_own_defaults() {
    for profile in ["opteron-242", "xeon-e5462", "xeon-e5"] {
        let text = format!(
            "[run]\nduration_s = 1\n[host]\ncores = 1\nprofile = \"{profile}\"\n\
             [scheduler]\npolicy = \"credit\"\n[[disk]]\nname = \"sda\"\nprofile = \"sata-2008\"\n\
             [[domain]]\nname = \"Domain-0\"\n[[domain]]\nname = \"mail\"\n\
             workload = \"postmark\"\ntransactions = 1000\n\
             disk = {{ kind = \"vbd\", size = \"8G\" }}\n"
        );
        let built = good(&text).build(&NoReplay).expect("no replays");
        let host = ran(&built, Duration::from_secs(2));
        let executed = executed_us(&host, 1);
        assert!(
            (10_000..1_900_000).contains(&executed),
            "{profile}: {executed} us"
        );
    }
}
