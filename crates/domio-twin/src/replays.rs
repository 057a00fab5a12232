//! Demands of recorded vcpus, for scenarios that replay a trace.

use crate::demand::demands;
use crate::demand::unseen::Unseen;
use domio_core::{DomainId, Kind, Record, VcpuName};
use domio_scenario::{NoDemands, Replay, ReplaySource, Scenario};
use domio_trace::order::{ADVICE, in_order};
use domio_trace::{ReadOptions, TraceError, TraceErrorKind, TraceReader};
use domio_vmm::Profile;
use domio_vmm::config::Demand;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Path of a trace, and counts a second of its clock.
type Source = (String, Option<u64>);

type ByVcpu = BTreeMap<VcpuName, Arc<[Demand]>>;

/// Reads the traces that a scenario names, each once.
pub struct RecordedDemands {
    folder: PathBuf,
    profile: Profile,
    read: RefCell<BTreeMap<Source, Result<ByVcpu, NoDemands>>>,
}

impl RecordedDemands {
    /// A source for `scenario`: paths are relative to its file, and the times that the hypervisor
    /// takes, which a recording counts to its vcpus, are those of its hardware profile.
    pub fn of(scenario: &Scenario) -> Self {
        RecordedDemands {
            folder: scenario.folder(),
            profile: scenario.plan().host.profile,
            read: RefCell::default(),
        }
    }

    fn read(&self, trace: &str, tsc_hz: Option<u64>) -> Result<ByVcpu, NoDemands> {
        // Whoever reads a message need not know which folder the program was started in.
        let path = self.folder.join(trace);
        let path = std::path::absolute(&path).unwrap_or(path);
        let failed = |e| refused(trace, &path, &e);
        let options = ReadOptions {
            tsc_hz,
            ..ReadOptions::default()
        };
        let mut reader = TraceReader::open(&path, &options).map_err(failed)?;
        let mut records = Vec::new();
        reader.copy_to(&mut records).map_err(failed)?;
        let Some(first) = records.first() else {
            return Err(NoDemands {
                why: format!("{} holds no record", path.display()),
                hint: "record the host for longer, or name another trace".to_owned(),
            });
        };
        in_order(&records).map_err(|out| NoDemands {
            why: format!("{}: {out}", path.display()),
            hint: ADVICE.to_owned(),
        })?;
        let begin = first.at;
        let records: Vec<Record> = records.into_iter().flat_map(as_xen_writes).collect();
        let by_vcpu = demands(&records, begin, &self.profile, &Unseen::default());
        Ok(by_vcpu
            .into_iter()
            .map(|(vcpu, recorded)| (vcpu, recorded.demands.into()))
            .collect())
    }
}

/// Why the trace at `path`, which the scenario calls `trace`, could not be read.
fn refused(trace: &str, path: &Path, error: &TraceError) -> NoDemands {
    let file = path.display();
    let TraceErrorKind::Io(io) = &error.kind else {
        return NoDemands {
            why: format!("{file}: {error}"),
            hint: format!("`domio trace summary {file}` tells what can be read of it"),
        };
    };
    let why = match io.kind() {
        ErrorKind::NotFound => format!("there is no file {file}"),
        _ => format!("{file} cannot be read: {io}"),
    };
    let hint = match Path::new(trace).is_absolute() {
        true => "put the recording there, or correct `trace`",
        false => {
            "`trace` counts from the folder of the scenario's file; put the recording there, or \
             give an absolute path"
        }
    };
    NoDemands {
        why,
        hint: hint.to_owned(),
    }
}

/// What to say of a vcpu that is not among those of a trace.
fn not_among(by_vcpu: &ByVcpu, vcpu: VcpuName) -> NoDemands {
    const MOST: usize = 12;
    let names = by_vcpu.keys().take(MOST).map(VcpuName::to_string);
    let names: Vec<String> = names.collect();
    let more = match by_vcpu.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    NoDemands {
        why: format!("the trace has no vcpu {vcpu}"),
        hint: match names.is_empty() {
            true => "the trace shows no vcpu at all; name another one".to_owned(),
            false => format!(
                "it has {}{more}, which `trace_domain` (d) and `trace_vcpu` (v) name",
                names.join(", ")
            ),
        },
    }
}

/// A switch as the two runstate changes that it stands for; other records as they are.
fn as_xen_writes(record: Record) -> Vec<Record> {
    if record.kind != Kind::Switch {
        return vec![record];
    }
    let change = |(vcpu, old, new)| Record::runstate(record.at, record.pcpu, vcpu, old, new);
    record.changes().into_iter().flatten().map(change).collect()
}

impl ReplaySource for RecordedDemands {
    fn demands(&self, replay: &Replay) -> Result<Arc<[Demand]>, NoDemands> {
        let mut read = self.read.borrow_mut();
        let trace = read
            .entry((replay.trace.clone(), replay.hz))
            .or_insert_with(|| self.read(&replay.trace, replay.hz));
        let vcpu = VcpuName::new(DomainId(replay.domain), replay.vcpu);
        match trace {
            Ok(demands) => demands
                .get(&vcpu)
                .cloned()
                .ok_or_else(|| not_among(demands, vcpu)),
            Err(why) => Err(why.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::NullSink;
    use domio_run::simulate::{simulate, trace_header};
    use domio_scenario::NoReplay;
    use domio_trace::{TraceWriter, XentraceWriter};

    fn parse(name: &str, text: &str) -> Scenario {
        Scenario::parse(name, text.as_bytes(), domio_sched::policies()).unwrap()
    }

    #[test]
    fn a_simulated_trace_is_replayed() {
        let folder = std::env::temp_dir().join(format!("domio-replay-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let original = parse(
            "a.toml",
            "run.duration_s = 1\nrun.warmup_s = 0\nhost.profile = \"ideal\"\n\
             scheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
             workload = \"periodic\"\nperiod_ms = 10\nburst_ms = 2\n",
        );
        let built = original.build(&NoReplay).unwrap();
        let file = std::fs::File::create(folder.join("t.domio")).unwrap();
        let writer = TraceWriter::new(file, &trace_header(&original, &built, 0)).unwrap();
        let recorded = simulate(&built, 0, writer).unwrap();
        recorded.sink.finish().unwrap();
        let id = built.host.domains[0].id;

        let text = format!(
            "run.duration_s = 1\nrun.warmup_s = 0\nhost.profile = \"ideal\"\n\
             scheduler.policy = \"credit\"\n[[domain]]\nname = \"again\"\n\
             workload = \"replay\"\ntrace = \"t.domio\"\ntrace_domain = {}\ntrace_vcpu = 0\n",
            id.0
        );
        let path = folder.join("b.toml");
        let replay = parse(path.to_str().unwrap(), &text);
        let built = replay.build(&RecordedDemands::of(&replay)).unwrap();
        let repeated = simulate(&built, 0, NullSink).unwrap();
        let running = |s: &domio_meter::Summary| s.domains[0].total.running as f64;
        let ratio = running(&repeated.summary) / running(&recorded.summary);
        assert!((0.98..=1.02).contains(&ratio), "{ratio}");

        // The same by a host whose clock counts 2.4 times in a nanosecond.
        let source = TraceReader::open(&folder.join("t.domio"), &ReadOptions::default());
        let file = std::fs::File::create(folder.join("t.bin")).unwrap();
        let mut writer = XentraceWriter::new(file, 2_400_000_000).unwrap();
        source.unwrap().copy_to(&mut writer).unwrap();
        writer.finish().unwrap();
        let counted = text.replace("t.domio", "t.bin") + "trace_hz = 2400000000\n";
        let counted = parse(path.to_str().unwrap(), &counted);
        let built = counted.build(&RecordedDemands::of(&counted)).unwrap();
        let repeated = simulate(&built, 0, NullSink).unwrap();
        let ratio = running(&repeated.summary) / running(&recorded.summary);
        assert!((0.98..=1.02).contains(&ratio), "{ratio}");

        let missing = parse(
            path.to_str().unwrap(),
            &text.replace("trace_vcpu = 0", "trace_vcpu = 7"),
        );
        let refused = missing.build(&RecordedDemands::of(&missing)).err().unwrap();
        let said = format!("the trace has no vcpu d{}v7", id.0);
        assert!(refused.to_string().contains(&said), "{refused}");
        let there = format!("it has d{}v0, which", id.0);
        assert!(refused.to_string().contains(&there), "{refused}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_trace_that_cannot_be_read_is_told_with_its_path_and_the_reason() {
        let folder = std::env::temp_dir().join(format!("domio-no-replay-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("folder")).unwrap();
        std::fs::write(folder.join("text"), "no trace at all").unwrap();
        let refused = |trace: &str| {
            let text = format!(
                "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
                 workload = \"replay\"\ntrace = \"{trace}\"\ntrace_domain = 3\n"
            );
            let scenario = parse(folder.join("s.toml").to_str().unwrap(), &text);
            let errors = scenario
                .build(&RecordedDemands::of(&scenario))
                .err()
                .unwrap();
            let p = errors.problems()[0].clone();
            assert_eq!((p.line, p.column), (6, 9), "{p:?}");
            (p.message, p.hint.unwrap())
        };
        let (message, hint) = refused("none.bin");
        let path = folder.join("none.bin").display().to_string();
        let why = format!("cannot be replayed: there is no file {path}");
        assert!(message.ends_with(&why), "{message}");
        assert!(hint.contains("folder of the scenario's file"), "{hint}");
        let (message, hint) = refused(&path);
        assert!(message.ends_with(&why), "{message}");
        assert!(
            !hint.contains("folder"),
            "an absolute path counts from nowhere: {hint}"
        );
        let (message, _) = refused("folder");
        assert!(message.contains("cannot be read: "), "{message}");
        let (message, hint) = refused("text");
        assert!(message.contains("not a trace"), "{message}");
        assert!(hint.contains("domio trace summary"), "{hint}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
