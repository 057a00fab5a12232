//! Demands of recorded vcpus, for scenarios that replay a trace.

use crate::validate::demand::demands;
use crate::validate::unseen::Unseen;
use domio_core::{DomainId, Kind, Record, VcpuName};
use domio_scenario::{Replay, ReplaySource, Scenario};
use domio_trace::{ReadOptions, TraceReader};
use domio_vmm::Profile;
use domio_vmm::config::Demand;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

type ByVcpu = BTreeMap<VcpuName, Arc<[Demand]>>;

/// Reads the traces that a scenario names, each once.
pub struct RecordedDemands {
    folder: PathBuf,
    profile: Profile,
    read: RefCell<BTreeMap<String, Result<ByVcpu, String>>>,
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

    fn read(&self, trace: &str) -> Result<ByVcpu, String> {
        let path = self.folder.join(trace);
        let failed = |e| format!("{}: {e}", path.display());
        let mut reader = TraceReader::open(&path, &ReadOptions::default()).map_err(failed)?;
        let mut records = Vec::new();
        reader.copy_to(&mut records).map_err(failed)?;
        let Some(first) = records.first() else {
            return Err(format!("{}: the trace holds no record", path.display()));
        };
        let begin = first.at;
        let records: Vec<Record> = records.into_iter().flat_map(as_xen_writes).collect();
        let by_vcpu = demands(&records, begin, &self.profile, &Unseen::default());
        Ok(by_vcpu
            .into_iter()
            .map(|(vcpu, recorded)| (vcpu, recorded.demands.into()))
            .collect())
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
    fn demands(&self, replay: &Replay) -> Result<Arc<[Demand]>, String> {
        let mut read = self.read.borrow_mut();
        let trace = read
            .entry(replay.trace.clone())
            .or_insert_with(|| self.read(&replay.trace));
        let vcpu = VcpuName::new(DomainId(replay.domain), replay.vcpu);
        match trace {
            Ok(demands) => demands
                .get(&vcpu)
                .cloned()
                .ok_or_else(|| format!("the trace has no vcpu {vcpu}")),
            Err(why) => Err(why.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{simulate, trace_header};
    use domio_core::NullSink;
    use domio_scenario::NoReplay;
    use domio_trace::TraceWriter;

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

        let missing = parse(
            path.to_str().unwrap(),
            &text.replace("trace_vcpu = 0", "trace_vcpu = 7"),
        );
        let refused = missing.build(&RecordedDemands::of(&missing)).err().unwrap();
        assert!(
            refused.to_string().contains("the trace has no vcpu"),
            "{refused}"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
