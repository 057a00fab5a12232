//! Demands of recorded vcpus, for scenarios that replay a trace.

use crate::block::recorded_calls;
use crate::demand::unseen::Unseen;
use crate::demand::wakers::wakers;
use crate::demand::{Recorded, demands_with};
use crate::named::{NamedRecord, NamedRecords};
use crate::process::{Arrival, ReplayProcess};
use domio_core::{Class, DomainId, Kind, Runstate, VcpuName};
use domio_scenario::{
    InputFiles, NoDemands, RecordedCalls, RecordedRequests, Replay, ReplaySource, Scenario,
};
use domio_trace::block::BlockTraceError;
use domio_trace::order::{ADVICE, in_order};
use domio_trace::{
    Format, LinuxHost, LinuxOptions, ReadOptions, TraceError, TraceErrorKind, TraceReader,
};
use domio_vmm::Profile;
use domio_vmm::config::Workload;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

/// The traces that scenarios name.
pub trait Traces {
    /// The trace that a scenario calls `trace`.
    ///
    /// # Errors
    /// Why there is none and what to do about it.
    fn open(&self, trace: &str) -> Result<OpenTrace<'_>, NoDemands>;
}

/// A trace that can be read.
pub struct OpenTrace<'a> {
    /// What messages call it.
    pub name: String,
    /// Its bytes, from the first on.
    pub read: Box<dyn Read + 'a>,
    /// What to do when they cannot be read to the end: a sentence without a full stop.
    pub hint: String,
    /// What is known of the host beside a trace of Linux.
    pub host: Option<LinuxHost>,
}

/// Traces in memory, by name.
impl Traces for BTreeMap<String, Vec<u8>> {
    fn open(&self, trace: &str) -> Result<OpenTrace<'_>, NoDemands> {
        let hint = "give the trace with the scenario, or correct `trace`".to_owned();
        let name = trace.to_owned();
        match self.get(trace) {
            Some(bytes) => Ok(OpenTrace {
                name,
                read: Box::new(&bytes[..]),
                hint,
                host: None,
            }),
            None => Err(NoDemands {
                why: format!("there is no trace {name}"),
                hint,
            }),
        }
    }
}

/// Name of a trace, and counts a second of its clock.
type Source = (String, Option<u64>);

/// Largest job file (bytes).
const JOB_FILE_MAX: u64 = 1 << 20;

type ByVcpu = BTreeMap<VcpuName, Recorded>;

/// Reads the traces that a scenario names, each once.
pub struct RecordedDemands<T> {
    traces: T,
    profile: Profile,
    classes: Vec<&'static Class>,
    read: RefCell<BTreeMap<Source, Result<ByVcpu, NoDemands>>>,
}

impl<T: Traces> RecordedDemands<T> {
    /// A source for `scenario`, which names some of `traces`. The times that the hypervisor takes,
    /// which a recording counts to its vcpus, are those of the scenario's hardware profile.
    pub fn of(scenario: &Scenario, traces: T) -> Self {
        RecordedDemands {
            traces,
            profile: scenario.plan().host.profile,
            classes: scenario.parts().classes(),
            read: RefCell::default(),
        }
    }

    fn read(&self, trace: &str, tsc_hz: Option<u64>) -> Result<ByVcpu, NoDemands> {
        let OpenTrace {
            name,
            read,
            hint,
            host,
        } = self.traces.open(trace)?;
        let failed = |e| refused(&name, &hint, &e);
        let options = ReadOptions {
            tsc_hz,
            classes: self.classes.clone(),
            linux: LinuxOptions {
                host,
                ..LinuxOptions::default()
            },
            ..ReadOptions::default()
        };
        let mut reader = TraceReader::new(read, &options).map_err(failed)?;
        let mut read = NamedRecords::default();
        reader.copy_to(&mut read).map_err(failed)?;
        if let Some(damage) = reader.take_damage() {
            return Err(failed(damage));
        }
        let records = read.0;
        let Some(first) = records.first() else {
            return Err(NoDemands {
                why: format!("{name} holds no record"),
                hint: "record the host for longer, or name another trace".to_owned(),
            });
        };
        in_order(records.iter().map(|r| r.at)).map_err(|out| NoDemands {
            why: format!("{name}: {out}"),
            hint: ADVICE.to_owned(),
        })?;
        let begin = first.at;
        let is_linux = reader.format() == Format::Linux;
        let records = records.into_iter().flat_map(as_xen_writes);
        let records: Vec<_> = match is_linux {
            true => records.filter_map(without_parking).collect(),
            false => records.collect(),
        };
        let wakers = wakers(&records);
        let (profile, unseen) = (&self.profile, Unseen::default());
        Ok(demands_with(&records, begin, profile, &unseen, &wakers))
    }
}

/// Why the trace called `name` could not be read; `hint` is what to do if its bytes do not come.
fn refused(name: &str, hint: &str, error: &TraceError) -> NoDemands {
    match &error.kind {
        TraceErrorKind::Io(io) => NoDemands {
            why: format!("{name} cannot be read: {io}"),
            hint: hint.to_owned(),
        },
        _ => NoDemands {
            why: format!("{name}: {error}"),
            hint: format!("`domio trace summary {name}` shows what can be read of it"),
        },
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

/// A record of Linux, where threads that are offline are stopped or have ended: they ask for
/// nothing, as if they slept, and are not held back by a policy as on Xen.
fn without_parking(record: NamedRecord) -> Option<NamedRecord> {
    let Some((old, new)) = record.runstates() else {
        return Some(record);
    };
    let asleep = |state| match state {
        Runstate::Offline => Runstate::Blocked,
        state => state,
    };
    let (was, is) = (asleep(old), asleep(new));
    let changed = NamedRecord::runstate(record.at, record.pcpu, record.vcpu, was, is);
    // A mark stays what it is.
    (was != is || old == new).then_some(changed)
}

/// The process that asks for what `recorded` asked for, as `replay` has it.
fn process(recorded: &Recorded, replay: &Replay) -> ReplayProcess {
    let mut demands = recorded.demands.clone();
    if !replay.kicked {
        for demand in demands.iter_mut().filter(|d| d.arrival == Arrival::Kicked) {
            demand.arrival = Arrival::Outside;
        }
    }
    let process = ReplayProcess::new(demands.into());
    match replay.kicks {
        Some(vcpu) => process.kicking(recorded.kicks.clone().into(), vcpu),
        None => process,
    }
}

/// A switch as the two runstate changes that it stands for; other records as they are.
fn as_xen_writes(record: NamedRecord) -> Vec<NamedRecord> {
    if !record.is(Kind::Switch) {
        return vec![record];
    }
    let change = |(vcpu, old, new)| NamedRecord::runstate(record.at, record.pcpu, vcpu, old, new);
    record.changes().map(change).collect()
}

impl<T: Traces> ReplaySource for RecordedDemands<T> {
    fn workload(&self, replay: &Replay) -> Result<Workload, NoDemands> {
        let mut read = self.read.borrow_mut();
        let trace = read
            .entry((replay.trace.clone(), replay.hz))
            .or_insert_with(|| self.read(&replay.trace, replay.hz));
        let vcpu = VcpuName::new(DomainId(replay.domain), replay.vcpu);
        match trace {
            Ok(demands) => demands
                .get(&vcpu)
                .map(|recorded| Workload::Jobs(Arc::new(process(recorded, replay))))
                .ok_or_else(|| not_among(demands, vcpu)),
            Err(why) => Err(why.clone()),
        }
    }
}

impl<T: Traces> InputFiles for RecordedDemands<T> {
    fn job_file(&self, path: &str) -> Result<String, NoDemands> {
        let OpenTrace {
            name, read, hint, ..
        } = self.traces.open(path)?;
        let mut text = String::new();
        let mut read = read.take(JOB_FILE_MAX + 1);
        let length = read.read_to_string(&mut text).map_err(|e| NoDemands {
            why: format!("{name} cannot be read: {e}"),
            hint,
        })?;
        if length as u64 > JOB_FILE_MAX {
            return Err(NoDemands {
                why: format!("{name} has more than {JOB_FILE_MAX} bytes"),
                hint: "name a job file of fio".to_owned(),
            });
        }
        Ok(text)
    }

    fn requests(
        &self,
        path: &str,
        wanted: &RecordedRequests,
    ) -> Result<(Vec<RecordedCalls>, Vec<String>), NoDemands> {
        let OpenTrace {
            name, read, hint, ..
        } = self.traces.open(path)?;
        recorded_calls(&name, read, wanted).map_err(|error| NoDemands {
            hint: match error {
                BlockTraceError::Io(_) => hint,
                _ => format!("`domio trace summary {name}` shows what can be read of it"),
            },
            why: format!("{name}: {error}"),
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::NullSink;
    use domio_run::simulate::{simulate, trace_header};
    use domio_scenario::{Built, NoReplay, ScenarioErrors};
    use domio_trace::{TraceWriter, XentraceWriter};

    fn parse(text: &str) -> Scenario {
        Scenario::parse("s.toml", text.as_bytes(), domio_sched::policies()).unwrap()
    }

    fn build(text: &str, traces: &[(&str, &[u8])]) -> Result<Built, ScenarioErrors> {
        let named = traces.iter().map(|(n, b)| ((*n).to_owned(), b.to_vec()));
        let traces: BTreeMap<String, Vec<u8>> = named.collect();
        let scenario = parse(text);
        scenario.build(&RecordedDemands::of(&scenario, traces))
    }

    #[test]
    fn a_simulated_trace_is_replayed() {
        let original = parse(
            "run.duration_s = 1\nrun.warmup_s = 0\nhost.profile = \"ideal\"\n\
             scheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
             workload = \"periodic\"\nperiod_ms = 10\nburst_ms = 2\n",
        );
        let built = original.build(&NoReplay).unwrap();
        let header = trace_header(&original, &built, 0);
        let writer = TraceWriter::new(Vec::new(), &header).unwrap();
        let recorded = simulate(&built, 0, writer).unwrap();
        let running = |s: &domio_meter::Summary| s.domains[0].total.running as f64;
        let asked = running(&recorded.summary);
        let own = recorded.sink.finish().unwrap();
        let id = built.host.domains[0].id;

        let text = format!(
            "run.duration_s = 1\nrun.warmup_s = 0\nhost.profile = \"ideal\"\n\
             scheduler.policy = \"credit\"\n[[domain]]\nname = \"again\"\n\
             workload = \"replay\"\ntrace = \"t.domio\"\ntrace_domain = {}\ntrace_vcpu = 0\n",
            id.0
        );
        let built = build(&text, &[("t.domio", &own)]).unwrap();
        let repeated = simulate(&built, 0, NullSink).unwrap();
        let ratio = running(&repeated.summary) / asked;
        assert!((0.98..=1.02).contains(&ratio), "{ratio}");

        // The same by a host whose clock counts 2.4 times in a nanosecond.
        let mut source = TraceReader::new(&own[..], &ReadOptions::default()).unwrap();
        let mut writer = XentraceWriter::new(Vec::new(), 2_400_000_000).unwrap();
        source.copy_to(&mut writer).unwrap();
        let xen = writer.finish().unwrap();
        let counted = text.replace("t.domio", "t.bin") + "trace_hz = 2400000000\n";
        let built = build(&counted, &[("t.bin", &xen)]).unwrap();
        let repeated = simulate(&built, 0, NullSink).unwrap();
        let ratio = running(&repeated.summary) / asked;
        assert!((0.98..=1.02).contains(&ratio), "{ratio}");

        let missing = text.replace("trace_vcpu = 0", "trace_vcpu = 7");
        let refused = build(&missing, &[("t.domio", &own)]).err().unwrap();
        let said = format!("the trace has no vcpu d{}v7", id.0);
        assert!(refused.to_string().contains(&said), "{refused}");
        let there = format!("it has d{}v0, which", id.0);
        assert!(refused.to_string().contains(&there), "{refused}");
    }

    #[test]
    fn a_trace_that_cannot_be_read_is_told_with_its_name_and_the_reason() {
        let refused = |trace: &str| {
            let text = format!(
                "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
                 workload = \"replay\"\ntrace = \"{trace}\"\ntrace_domain = 3\n"
            );
            let errors = build(&text, &[("text", b"no trace at all")]).err().unwrap();
            let p = errors.problems()[0].clone();
            assert_eq!((p.line, p.column), (6, 9), "{p:?}");
            (p.message, p.hint.unwrap())
        };
        let (message, hint) = refused("none.bin");
        let why = "cannot be replayed: there is no trace none.bin";
        assert!(message.ends_with(why), "{message}");
        assert!(hint.contains("correct `trace`"), "{hint}");
        let (message, hint) = refused("text");
        assert!(message.contains("cannot be replayed: text: "), "{message}");
        assert!(message.contains("not a trace"), "{message}");
        assert!(hint.contains("domio trace summary text"), "{hint}");
    }
}
