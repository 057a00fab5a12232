//! Workloads that were written down or recorded elsewhere: jobs of fio, requests of block traces.

use crate::common::{errors, is_helpful, only, parse, says};
use crate::told::ran;
use domio_core::Duration;
use domio_scenario::{
    Built, Code, InputFiles, NoDemands, NoReplay, RecordedCalls, RecordedRequests, Replay,
    ReplaySource, Scenario,
};
use domio_vmm::bus::{Device, Passed};
use domio_vmm::config::{DomainConfig, Workload};
use domio_vmm::process::programs::{RecordedCall, ReplayLoop};

const BASE: &str = r#"
[run]
duration_s = 2
[host]
profile = "opteron-242"
[scheduler]
policy = "round-robin"
[[disk]]
name = "sda"
profile = "ssd-sata"
[[domain]]
name = "Domain-0"
[[domain]]
name = "g"
disk = { kind = "vbd", size = "8G" }
"#;

fn with(keys: &str) -> String {
    format!("{BASE}{keys}")
}

/// A host with one job file and one trace.
struct Files;

const JOBS: &str = "[a]\ndirect=1\nsize=1m\nbanana=1\n[b]\nrw=randwrite\nsize=4m\nnumjobs=2\n";

impl ReplaySource for Files {
    fn workload(&self, replay: &Replay) -> Result<Workload, NoDemands> {
        NoReplay.workload(replay)
    }
}

impl InputFiles for Files {
    fn job_file(&self, path: &str) -> Result<String, NoDemands> {
        match path {
            "good.fio" => Ok(JOBS.to_owned()),
            "large.fio" => Ok("[a]\ndirect=1\nsize=9g\n".to_owned()),
            "bad.fio" => Ok("[a]\nbs=four\n".to_owned()),
            _ => Err(NoDemands {
                why: "there is no such file".to_owned(),
                hint: "name another one".to_owned(),
            }),
        }
    }

    fn requests(
        &self,
        path: &str,
        wanted: &RecordedRequests,
    ) -> Result<(Vec<RecordedCalls>, Vec<String>), NoDemands> {
        assert_eq!((path, wanted.kind), ("t.csv", ReplayLoop::Closed));
        let calls = |first: u64| -> RecordedCalls {
            let call = |i: u64| RecordedCall {
                at: Duration::from_millis(10 * i + first),
                writes: first == 1,
                // Some lie behind the end of the disk.
                offset: (8 << 30) + 4096 * i,
                bytes: 4096,
            };
            (0..20).map(call).collect()
        };
        Ok((vec![calls(0), calls(1)], vec!["one line".to_owned()]))
    }
}

fn guest(built: &Built) -> &DomainConfig {
    &built.host.domains[1]
}

fn names(built: &Built) -> Vec<&str> {
    let tasks = guest(built).vcpus[0].tasks.iter();
    tasks.map(|task| task.name.as_str()).collect()
}

/// Requests that the guest's disk has answered, after so many seconds.
fn passed(built: &Built, seconds: u64) -> Passed {
    let host = ran(built, Duration::from_secs(seconds));
    let devices = host.devices().iter();
    devices
        .map(|device| device.passed(guest(built).id))
        .fold(Passed::default(), Passed::plus)
}

#[test]
fn jobs_in_the_scenario_are_processes_that_use_the_disk() {
    let job = "workload = \"fio\"\njob = '''\n[reads]\nioengine=libaio\ndirect=1\nrw=randread\n\
               bs=4k\niodepth=4\nsize=64m\n[log]\nrw=write\nsize=1m\nend_fsync=1\n'''\n";
    let scenario = parse(&with(job)).unwrap();
    assert_eq!(scenario.notices(), [""; 0]);
    let built = scenario.build(&NoReplay).unwrap();
    let own = [
        "fio-reads-1",
        "fio-reads-2",
        "fio-reads-3",
        "fio-reads-4",
        "fio-log",
    ];
    assert_eq!(names(&built), own);
    let passed = passed(&built, 2);
    assert!(passed.requests_read > 1000, "{passed:?}");
    assert!(passed.requests_written > 10, "{passed:?}");
}

#[test]
fn keys_of_fio_without_effect_are_told() {
    let job = "workload = \"fio\"\njob = \"[j]\\nsize=1m\\ndirect=1\\nstonewall\\nbanana=3\\n\"\n";
    let told = parse(&with(job)).unwrap().notices().join("\n");
    assert!(
        told.contains("job, line 4: stonewall is left out"),
        "{told}"
    );
    assert!(
        told.contains("line 5: banana is no key that domio knows"),
        "{told}"
    );
}

#[test]
fn mistakes_in_jobs_are_told_with_their_lines() {
    let job = "workload = \"fio\"\njob = '''\n[j]\nrw=sideways\nbs=four\n'''\n";
    let problems = errors(&with(job));
    assert_eq!(problems.total(), 2, "{problems}");
    let [first, second] = [0, 1].map(|i| &problems.problems()[i]);
    says(first, &["line 2", "rw=sideways", "randread"], "the jobs");
    says(second, &["line 3", "bs=four"], "the jobs");
    let many = "workload = \"fio\"\njob = \"[j]\\nnumjobs=5000\\n\"\n";
    says(&only(&with(many)), &["5000 processes", "1024"], "the jobs");
    let large = "workload = \"fio\"\njob = \"[j]\\ndirect=1\\nsize=9g\\n\"\n";
    assert_eq!(only(&with(large)).code, Code::Conflict);
    let none = only(&with("workload = \"fio\"\n"));
    assert_eq!(none.code, Code::MissingKey);
    let both = "workload = \"fio\"\njob = \"[j]\\ndirect=1\\n\"\njob_file = \"a.fio\"\n";
    assert_eq!(only(&with(both)).code, Code::Conflict);
}

fn of_file(name: &str) -> Scenario {
    parse(&with(&format!(
        "workload = \"fio\"\njob_file = \"{name}\"\n"
    )))
    .unwrap()
}

#[test]
fn job_files_come_from_the_caller() {
    let scenario = of_file("good.fio");
    let files: Vec<&str> = scenario.plan().files().collect();
    assert_eq!(files, ["good.fio"]);
    let built = scenario.build(&Files).unwrap();
    assert_eq!(names(&built), ["fio-a", "fio-b-1", "fio-b-2"]);
    assert_eq!(
        built.notices,
        ["good.fio, line 4: banana is no key that domio knows, and changes nothing"]
    );
    let passed = passed(&built, 2);
    // 256 calls of 4 KiB, one after the other; the files' metadata comes on top.
    assert!((256..400).contains(&passed.requests_read), "{passed:?}");
}

#[test]
fn job_files_that_cannot_be_used_are_refused() {
    for (name, words) in [
        ("large.fio", "the jobs use 9663676416 bytes"),
        ("bad.fio", "line 2: bs=four"),
        ("none.fio", "there is no such file"),
    ] {
        let refused = of_file(name).build(&Files).err().unwrap();
        let p = &refused.problems()[0];
        assert_eq!(p.code, Code::Replay);
        assert!(p.message.contains(words), "{p:?}");
        is_helpful(p);
    }
    let refused = of_file("good.fio").build(&NoReplay).err().unwrap();
    is_helpful(&refused.problems()[0]);
}

#[test]
fn recorded_requests_are_made_on_the_disk() {
    let replay = |more: &str| {
        let keys = "workload = \"io-replay\"\ntrace = \"t.csv\"\npace = \"closed\"\n";
        let scenario = parse(&with(&format!("{keys}{more}"))).unwrap();
        scenario.build(&Files).unwrap()
    };
    let built = replay("");
    assert_eq!(names(&built), ["io-replay-1", "io-replay-2"]);
    assert_eq!(built.notices, ["one line"]);
    let all = passed(&built, 2);
    assert_eq!((all.requests_read, all.requests_written), (20, 20));
    let built = replay("threads = 3\n");
    assert_eq!(names(&built).len(), 3);
    let all = passed(&built, 2);
    assert_eq!((all.requests_read, all.requests_written), (20, 20));
}
