//! Scenarios of traces, and that they run.

use super::*;
use crate::draft::domain::{NAME_MAX, plain, unique};
use crate::{OpenTrace, RecordedDemands, Traces};
use domio_core::{ActorId, ClassId, DomainId, Names, NullSink, Record, Sink, VcpuName};
use domio_run::simulate::simulate;
use domio_scenario::NoDemands;
use domio_trace::{
    Format, HostGroup, HostThread, LinuxHost, LinuxOptions, ReadOptions, TraceReader,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// As the command line reads traces.
fn read_options() -> ReadOptions {
    ReadOptions {
        classes: domio_scenario::Parts::from(domio_sched::policies()).classes(),
        ..ReadOptions::default()
    }
}

fn recorded(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
    folder.join(name).join("trace.bin").canonicalize().unwrap()
}

fn shown(name: &str) -> Shown {
    let mut shown = Shown::new();
    let mut reader = TraceReader::open(&recorded(name), &read_options()).unwrap();
    reader.copy_to(&mut shown).unwrap();
    shown
}

fn sources(name: &str) -> Sources {
    Sources {
        trace: recorded(name).to_str().unwrap().to_owned(),
        command: "domio scenario from-trace".to_owned(),
        hz: Some((1_000_000_000, "--cpu-hz".to_owned())),
        ..Sources::default()
    }
}

fn text(name: &str, sources: &Sources) -> String {
    scenario(&shown(name), sources, domio_sched::policies()).unwrap()
}

const WEIGHTS: &str = "\
Cpupool Pool-0: tslice=30ms ratelimit=1000us migration-delay=0us
Name                                ID Weight  Cap
Domain-0                             0    256    0
g1                                   1    256    0
g2                                   2    512    0
g3                                   3   1024    0
";

#[test]
fn what_the_trace_shows_of_the_policy_is_taken() {
    let shown = shown("c1-burn7");
    assert_eq!(shown.policy(), Some("credit"));
    assert_eq!(shown.tslice_ms(), Some(30));
    assert_eq!(shown.ratelimit_us(), Some(1_000));
    assert_eq!((shown.pcpus(), shown.vcpus().len()), (1, 8));
    let text = text("c1-burn7", &sources("c1-burn7"));
    for part in [
        "tslice_ms = 30\n",
        "ratelimit_us = 1000\n",
        "name = \"Domain-0\"\nid = 0\n",
        "name = \"d7\"\nid = 7\n",
        "# Assumed: Xen's default weight.\n",
        "Xen's defaults of migration_delay_us",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The same host, simulated with its weights, shares its time as the recorded one did.
#[test]
fn the_scenario_of_a_host_gives_the_shares_that_were_recorded() {
    let name = "c1-weights-1-2-4";
    let mut sources = sources(name);
    sources.sched = Some((sched_text(WEIGHTS).unwrap(), "sched.txt".to_owned()));
    let text = text(name, &sources);
    assert!(
        text.contains("name = \"g3\"\nid = 3\nvcpus = 1\nweight = 1024\n"),
        "{text}"
    );
    assert!(
        text.contains("# - names, weights and caps: sched.txt\n"),
        "{text}"
    );
    let policies = domio_sched::policies();
    let scenario = Scenario::parse("host.toml", text.as_bytes(), policies).unwrap();
    let bytes = std::fs::read(recorded(name)).unwrap();
    let traces = BTreeMap::from([(sources.trace.clone(), bytes)]);
    let built = scenario.build(&RecordedDemands::of(&scenario, traces));
    let built = built.unwrap();
    let simulated = simulate(&built, 0, NullSink).unwrap().summary;
    let mut meter = domio_meter::Meter::new();
    let mut reader = TraceReader::open(&recorded(name), &read_options()).unwrap();
    reader.copy_to(&mut meter).unwrap();
    let recorded = meter.finish();
    for id in 0..4 {
        let share = |summary: &domio_meter::Summary| {
            let domain = summary
                .domains
                .iter()
                .find(|d| d.id == DomainId(id))
                .unwrap();
            let elapsed = summary.end.since(summary.start).as_nanos();
            domain.total.running as f64 / elapsed as f64
        };
        let (ours, theirs) = (share(&simulated), share(&recorded));
        assert!((ours - theirs).abs() < 0.02, "d{id}: {ours} and {theirs}");
    }
}

#[test]
fn what_xl_lists_gives_names_vcpus_and_pins() {
    let name = "c1-cap30";
    let mut sources = sources(name);
    let listed = "Name ID VCPU CPU State Time(s) Affinity (Hard / Soft)\n\
                  Domain-0 0 0 0 r-- 12.3 all / all\n\
                  my web 1 0 1 -b- 1.1 1,3 / 3\n\
                  my web 1 1 2 -b- 1.1 2 / all\n\
                  quiet 9 0 2 -b- 1.1 all / all\n";
    sources.list = Some((list(listed).unwrap(), "vcpus.txt".to_owned()));
    let text = text(name, &sources);
    for part in [
        "cores = 4\n",
        "# It is called \"my web\".\n",
        "# - names, vcpus, pins and soft affinity: vcpus.txt\n",
        "# The trace has no record of 1 of its vcpus.\n",
        "name = \"my-web\"\nid = 1\nvcpus = 2\nweight = 256\npin = [\"1,3\", \"2\"]\n\
         soft = [\"3\", \"all\"]\n",
        "# The trace has no record of it: it idles.\n",
        "name = \"quiet\"\nid = 9\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// What was not read is not claimed, and what does not count is said.
#[test]
fn the_head_claims_what_was_read_alone() {
    let name = "c1-cap30";
    let policies = domio_sched::policies();
    let head = |list_text: &str, sched: &str| {
        let mut sources = sources(name);
        let listed = |text| list(text).unwrap();
        sources.list = Some((listed(list_text), "l.txt".to_owned()));
        sources.sched = (!sched.is_empty()).then(|| (sched_text(sched).unwrap(), "s".to_owned()));
        let text = scenario(&shown(name), &sources, policies).unwrap();
        let head = text.lines().take_while(|line| line.starts_with('#'));
        head.map(|line| format!("{line}\n")).collect::<String>()
    };
    let domains = "Name ID Mem VCPUs State Time(s)\nweb 1 512 1 -b---- 1.1\n";
    let text = head(domains, "");
    assert!(text.contains("# - names and vcpus: l.txt\n"), "{text}");
    assert!(
        text.contains("# - no vcpu is pinned: there is no output"),
        "{text}"
    );
    let vcpus = "Name ID VCPU CPU State Time(s) CPU Affinity\nweb 1 0 0 -b- 1.1 any cpu\n";
    let text = head(vcpus, "Name ID Weight\nweb 1 512\n");
    assert!(text.contains("# - names and vcpus: l.txt\n"), "{text}");
    assert!(text.contains("# - no vcpu is pinned: l.txt\n"), "{text}");
    assert!(text.contains("# - weights: s\n"), "{text}");
    // The trace is one of credit.
    let text = head(vcpus, "Name ID Period Budget\nweb 1 10000 4000\n");
    let unused = "periods of s count for nothing: credit has none";
    assert!(text.contains(unused) && !text.contains(": s\n"), "{text}");
}

/// Under a policy with reservations, those of each vcpu are kept.
#[test]
fn reservations_of_vcpus_are_kept() {
    let name = "c1-cap30";
    let mut sources = sources(name);
    let text = "Cpupool Pool-0: sched=RTDS\n\
                Name    ID VCPU    Period    Budget  Extratime\n\
                g1       1    0     10000      4000        yes\n\
                g1       1    1     20000      4000         no\n";
    let sched = sched_text(text).unwrap();
    assert_eq!(sched.policy, Some("rtds"));
    sources.sched = Some((sched, "s.txt".to_owned()));
    let mut shown = Shown::new();
    let mut names = Names::new();
    let vcpu = names.add_actor(VcpuName::new(DomainId(1), 0));
    for ns in [0, 1_000_000] {
        let at = domio_core::Instant::from_nanos(ns);
        let running = domio_core::Runstate::Running;
        let runs = Record::runstate(at, domio_core::PcpuId(0), vcpu, running, running);
        shown.record(&names, &runs);
    }
    let text = scenario(&shown, &sources, domio_sched::policies()).unwrap();
    for part in [
        "# - names, vcpus, periods, budgets and extra time: s.txt\n",
        "vcpus = 2\nperiod_us = 10000\nbudget_us = 4000\nextratime = true\n",
        "  [[domain.vcpu]]\n  vcpu = 1\n  extratime = false\n  period_us = 20000\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains(".weight="), "{text}");
}

#[test]
fn names_are_those_that_scenarios_take_and_each_once() {
    let mut names = BTreeSet::new();
    let mut name = |told: Option<&str>, id| unique(&plain(told, id), id, &mut names);
    assert_eq!(name(None, 0), "Domain-0");
    assert_eq!(name(Some("a b"), 1), "a-b");
    assert_eq!(name(Some("a/b"), 2), "a-b-2");
    assert_eq!(name(Some("Domain-0"), 3), "Domain-0-3");
    assert_eq!(name(Some("\u{fc}\u{fc}"), 4), "d4");
    let long = name(Some(&"x".repeat(300)), 5);
    assert!(long.len() <= NAME_MAX && domio_scenario_takes(&long));
}

fn domio_scenario_takes(name: &str) -> bool {
    let text = format!(
        "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"{name}\"\n"
    );
    Scenario::parse("s", text.as_bytes(), domio_sched::policies()).is_ok()
}

#[test]
fn a_policy_that_is_not_there_is_replaced_and_said() {
    let mut shown = Shown::new();
    let at = domio_core::Instant::from_nanos;
    let here = domio_core::PcpuId(0);
    let mut names = Names::new();
    let vcpu = names.add_actor(VcpuName::new(DomainId(2), 1));
    for ns in [0, 1_000_000] {
        // Event 1 of scheduler 3, which nobody declares.
        let event = [0x2_2601, 0, 0, 0];
        let foreign = (ClassId::FOREIGN, 0);
        let private = Record::of(at(ns), here, foreign, ActorId::NONE, event);
        shown.record(&names, &private);
        let running = domio_core::Runstate::Running;
        let runs = Record::runstate(at(ns), here, vcpu, running, running);
        shown.record(&names, &runs);
    }
    let mut others = domio_sched::policies().to_vec();
    others.retain(|p| p.descriptor.name != "arinc653");
    let text = scenario(&shown, &sources("c1-cap30"), others.leak()).unwrap();
    assert!(
        text.contains("the host ran arinc653 (the policy's records in the trace)"),
        "{text}"
    );
    assert!(text.contains("policy = \"credit\"\n") && text.contains("duration_s = 0.001\n"));
}

#[test]
fn what_shows_nothing_is_refused() {
    let policies = domio_sched::policies();
    let none = scenario(&Shown::new(), &Sources::default(), policies).unwrap_err();
    assert!(none.to_string().contains("record the host for longer"));
    let mut idle = Shown::new();
    let here = domio_core::PcpuId(0);
    let mut names = Names::new();
    let vcpu = names.add_actor(VcpuName::idle(here));
    for ns in [0, 5] {
        let at = domio_core::Instant::from_nanos(ns);
        idle.record(&names, &Record::new(at, here, domio_core::Kind::Wake, vcpu));
    }
    let none = scenario(&idle, &Sources::default(), policies).unwrap_err();
    assert!(none.to_string().contains("no vcpu of any domain"));
    let mut sources = sources("c1-cap30");
    let text = "Name ID Weight Cap\ng1 1 256 400\n";
    sources.sched = Some((sched_text(text).unwrap(), "s".to_owned()));
    let over = scenario(&shown("c1-cap30"), &sources, policies).unwrap_err();
    assert!(
        over.to_string().contains("make no valid scenario"),
        "{over}"
    );
}

/// What the command line makes of the trace of Linux called `name`, and its bytes.
fn of_linux(name: &str) -> (String, Vec<u8>, Option<LinuxHost>) {
    of_linux_with(name, |_| {})
}

/// The same with a file beside the trace that `change` has changed.
fn of_linux_with(
    name: &str,
    change: impl FnOnce(&mut LinuxHost),
) -> (String, Vec<u8>, Option<LinuxHost>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux");
    let host = name.split('.').next().unwrap().to_owned() + ".host.json";
    let mut host = LinuxHost::parse(&std::fs::read_to_string(folder.join(host)).unwrap()).unwrap();
    change(&mut host);
    let options = ReadOptions {
        format: Some(Format::Linux),
        linux: LinuxOptions {
            host: Some(host.clone()),
            ..LinuxOptions::default()
        },
        ..ReadOptions::default()
    };
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let text = of_linux_trace(name, &bytes, &host, &options);
    (text, bytes, Some(host))
}

/// The same of the trace in `bytes`.
fn of_linux_trace(name: &str, bytes: &[u8], host: &LinuxHost, options: &ReadOptions) -> String {
    let mut reader = TraceReader::new(bytes, options).unwrap();
    let mut shown = Shown::new();
    reader.copy_to(&mut shown).unwrap();
    let sources = Sources {
        trace: name.to_owned(),
        command: "domio scenario from-trace".to_owned(),
        header: reader.header().cloned(),
        linux: Some(LinuxSources {
            kernel: reader.linux_kernel().map(str::to_owned),
            threads: reader.linux_threads(),
            host: Some(host.clone()),
        }),
        ..Sources::default()
    };
    scenario(&shown, &sources, domio_sched::policies()).unwrap()
}

/// Threads of a guest of libvirt on a cpu: a vcpu, a vhost thread of fifo, an I/O thread of rr, a
/// thread of the class deadline; and the kernel's own of the class stop.
fn made_trace() -> String {
    let threads = [
        ("CPU 0/KVM", 222, 120),
        ("vhost-219", 226, 98),
        ("IO iothread1", 227, 49),
        ("worker", 228, -1),
        ("migration/0", 20, 0),
    ];
    let mut text = "cpus=1\n".to_owned();
    let mut us = 1_000_000;
    let mut before = ("swapper/0", 0, 120, "R");
    for _ in 0..50 {
        for (comm, tid, prio) in threads {
            let (old, old_tid, old_prio, left) = before;
            let state = if old_tid == 222 { "R" } else { left };
            text += &format!(
                "{old:>16}-{old_tid:<5} [000] {:5}.{:06}: sched_switch: prev_comm={old} \
                 prev_pid={old_tid} prev_prio={old_prio} prev_state={state} ==> next_comm={comm} \
                 next_pid={tid} next_prio={prio}\n",
                us / 1_000_000,
                us % 1_000_000,
            );
            us += 400;
            before = (comm, tid, prio, "S");
        }
    }
    text
}

/// Classes are those of the priorities in the trace, groups inside the guest's those of libvirt.
#[test]
fn classes_and_groups_of_libvirt_are_those_of_the_trace() {
    let thread = |tid, comm: &str, group: &str, policy: &str| HostThread {
        tid,
        process: Some(219),
        comm: comm.to_owned(),
        cgroup: Some(format!(
            "/machine.slice/machine-qemu\\x2d1\\x2dvm1.scope/libvirt/{group}"
        )),
        policy: policy.to_owned(),
        ..HostThread::default()
    };
    let group = |path: &str, quota| HostGroup {
        path: format!("/machine.slice/machine-qemu\\x2d1\\x2dvm1.scope{path}"),
        quota_us: quota,
        period_us: quota.map(|_| 50_000),
        ..HostGroup::default()
    };
    let host = LinuxHost {
        format: "domio-linux-host".to_owned(),
        version: 1,
        kernel: "6.12.1".to_owned(),
        cpus: 1,
        groups: vec![
            group("", Some(90_000)),
            group("/libvirt/vcpu0", Some(40_000)),
            group("/libvirt/emulator", Some(5_000)),
        ],
        threads: vec![
            thread(222, "CPU 0/KVM", "vcpu0", "SCHED_OTHER"),
            thread(226, "vhost-219", "emulator", "SCHED_FIFO"),
            thread(227, "IO iothread1", "iothread1", "SCHED_RR"),
            thread(228, "worker", "emulator", "SCHED_DEADLINE"),
        ],
        ..LinuxHost::default()
    };
    let options = ReadOptions {
        format: Some(Format::Linux),
        linux: LinuxOptions {
            host: Some(host.clone()),
            ..LinuxOptions::default()
        },
        ..ReadOptions::default()
    };
    let text = of_linux_trace("made.txt", made_trace().as_bytes(), &host, &options);
    for part in [
        "[[group]]\nname = \"machine.slice\"\n",
        "vcpus = 4\ngroup = \"machine.slice\"\nweight = 100\nquota_us = 90000\n\
         period_us = 50000\nlayout = \"libvirt\"\nvcpu_quota_us = 40000\n\
         vcpu_period_us = 50000\nemulator_quota_us = 5000\nemulator_period_us = 50000\n",
        "vcpu = 1\n  class = \"fifo\"\n  rt_priority = 1\n  seat = \"emulator\"\n",
        "vcpu = 2\n  class = \"rr\"\n  rt_priority = 50\n  seat = \"iothread\"\n",
        "vcpu = 3\n  class = \"fifo\"\n  rt_priority = 99\n  seat = \"emulator\"\n",
        "of the class deadline are of fifo with the priority 99",
    ] {
        assert!(text.contains(part), "no {part} in:\n{text}");
    }
    assert!(!text.contains("migration"), "{text}");
    // Limits of the kernel that keys do not have: each is the nearest one of the key.
    let mut wide = host;
    let limits = [(u64::MAX, 2_000_000), (2_000_000_000, 1), (1, u64::MAX)];
    for (group, (quota, period)) in wide.groups.iter_mut().zip(limits) {
        (group.quota_us, group.period_us) = (Some(quota), Some(period));
    }
    let options = ReadOptions {
        linux: LinuxOptions {
            host: Some(wide.clone()),
            ..LinuxOptions::default()
        },
        ..options
    };
    let text = of_linux_trace("made.txt", made_trace().as_bytes(), &wide, &options);
    let due = "quota_us = 1000000000\nperiod_us = 1000000\nlayout = \"libvirt\"\n\
               vcpu_quota_us = 1000000000\nvcpu_period_us = 1000\nemulator_quota_us = 1000\n\
               emulator_period_us = 1000000\n";
    assert!(text.contains(due), "no {due} in:\n{text}");
}

/// One trace of Linux.
struct OneTrace(Vec<u8>, Option<LinuxHost>);

impl Traces for OneTrace {
    fn open(&self, trace: &str) -> Result<OpenTrace<'_>, NoDemands> {
        Ok(OpenTrace {
            name: trace.to_owned(),
            read: Box::new(&self.0[..]),
            hint: String::new(),
            host: self.1.clone(),
        })
    }
}

/// Shares and waits of every vcpu under `policy`, in percent, by the name of its domain and index.
fn replayed(name: &str, policy: &str) -> BTreeMap<(String, u16), (f64, f64)> {
    let (text, bytes, host) = of_linux(name);
    let parsed = Scenario::parse("s.toml", text.as_bytes(), domio_sched::policies()).unwrap();
    let parsed = parsed.with(&[("scheduler.policy", policy)]).unwrap();
    let built = parsed
        .build(&RecordedDemands::of(&parsed, OneTrace(bytes, host)))
        .unwrap();
    let summary = simulate(&built, 0, NullSink).unwrap().summary;
    let mut found = BTreeMap::new();
    for domain in &built.host.domains {
        let seen = summary.domain(domain.id).unwrap();
        for vcpu in &seen.vcpus {
            let (ran, waited) = (vcpu.account.running, vcpu.account.runnable);
            let figures = (summary.percent(ran), summary.percent(waited));
            found.insert((domain.name.clone(), vcpu.name.index), figures);
        }
    }
    found
}

#[test]
fn a_linux_host_is_a_scenario_with_groups_as_domains() {
    let (text, ..) = of_linux("vhost-v7.dat");
    for line in [
        "policy = \"eevdf\"",
        "cores = 2",
        "name = \"vm1\"",
        "weight = 200",
        "kicks_vcpu = 2",
        "kicked = true",
    ] {
        assert!(text.contains(line), "no {line} in:\n{text}");
    }
    let (quotas, ..) = of_linux("quota-v6.dat.gz");
    assert!(
        quotas.contains("quota_us = 30000\nperiod_us = 100000"),
        "{quotas}"
    );
    let (cfs, ..) = of_linux("cfs-v7.dat");
    assert!(cfs.contains("policy = \"cfs\"\n"), "{cfs}");
}

#[test]
fn control_groups_around_guests_are_groups_of_the_scenario() {
    let moved = |host: &mut LinuxHost| {
        host.groups.push(HostGroup {
            path: "/machine".to_owned(),
            weight: 300,
            quota_us: Some(90_000),
            period_us: Some(100_000),
            ..HostGroup::default()
        });
        // As libvirt has it: vcpus in groups of their own, below that of the guest.
        for thread in &mut host.threads {
            if thread.cgroup.as_deref() == Some("/machine/vm2") {
                thread.cgroup = Some("/machine/gold.slice/vm2/libvirt/vcpu0".to_owned());
            }
        }
        for group in &mut host.groups {
            if group.path == "/machine/vm2" {
                group.path = "/machine/gold.slice/vm2".to_owned();
            }
        }
    };
    let (text, ..) = of_linux_with("perf-sched.data.gz", moved);
    for part in [
        "# The control group \"/machine\".\n[[group]]\nname = \"machine\"\nweight = 300\n\
         quota_us = 90000\nperiod_us = 100000\n",
        "[[group]]\nname = \"gold.slice\"\nparent = \"machine\"\n\n",
        "vcpus = 1\ngroup = \"machine\"\nweight = 100\n",
        "vcpus = 1\ngroup = \"gold.slice\"\nweight = 200\n",
        "# - groups around guests have the default weight where nothing says another one",
    ] {
        assert!(text.contains(part), "no {part} in:\n{text}");
    }
    // This trace has no groups of its own.
    let (plain, ..) = of_linux_with("perf-sched.data.gz", |host| *host = LinuxHost::default());
    assert!(!plain.contains("[[group]]"), "{plain}");
}

#[test]
fn a_replayed_linux_host_runs_as_the_recorded_one() {
    let found = replayed("cfs-v7.dat", "cfs");
    let of = |name: &str| found[&(name.to_owned(), 0)];
    // What the kernel counted in 10 s (figures.json), of the 11.276 s of the trace.
    let counted = [
        ("vm1", 1.2846),
        ("vm2", 2.5665),
        ("vm3", 5.1332),
        ("vm4", 1.0158),
    ];
    for (name, seconds) in counted {
        let ran = seconds / 11.2756 * 100.0;
        assert!((of(name).0 - ran).abs() < 0.1, "{name}: {ran} in {found:?}");
    }
    assert!(of("vm4").1 < 0.5, "who wakes runs at once: {:?}", of("vm4"));
    let eevdf = replayed("cfs-v7.dat", "eevdf");
    let waits = eevdf[&("vm4".to_owned(), 0)].1;
    assert!(waits > 10.0, "there is no credit for sleepers: {waits}");
}

#[test]
fn a_helper_follows_the_vcpu_that_wakes_it() {
    // Under credit the vcpu runs at other times than in the recording, and the vhost thread too.
    let found = replayed("vhost-v7.dat", "credit");
    let of = |vcpu| found[&("vm1".to_owned(), vcpu)];
    assert!((18.0..21.5).contains(&of(0).0), "the vcpu: {found:?}");
    assert!(
        (16.5..19.0).contains(&of(2).0),
        "the vhost thread: {found:?}"
    );
}
