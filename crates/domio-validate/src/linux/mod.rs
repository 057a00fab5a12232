//! Recorded Linux hosts: what their threads were asked to do becomes plans of simulated threads,
//! and everything after that is the model's own: who runs when, and how much each of them gets.
//!
//! ```text
//! scenario.json ─▶ DescribedLinux ─▶ LinuxSimulation ─▶ simulated host ─▶ Meter ─┐
//! trace.dat, perf.data ─▶ records ─▶ Meter ──────────────────────────────────────┴─▶ Agreement
//! ```
//!
//! The trace shows when the window begins and when ticks are due ([`start`]). What it does not show
//! is drawn: what threads had run before, in which order they were woken at the start, and when the
//! periods of a quota begin. One machine serves every recording
//! ([`LINUX_RIG`](domio_vmm::hardware::LINUX_RIG)).

pub mod described;
mod figures;
pub mod host;
pub mod start;
mod tree;
pub mod work;

use self::described::DescribedLinux;
use self::host::LinuxSimulation;
use self::start::LinuxStart;
use crate::agreement::{Agreement, usable};
use crate::ensemble::TWINS;
use crate::limits::Judgement;
use crate::recording::{Description, Recording, RecordingError};
use domio_answer::Maybe;
use domio_core::cpuset::MAX_PCPUS;
use domio_core::{DomainId, Instant, VcpuName};
use domio_meter::{Meter, Summary};
use domio_replay::NamedRecord;
use domio_replay::NamedRecords;
use domio_replay::named::copy_to;
use domio_trace::order::in_order;
use domio_trace::{Format, LinuxOptions, LinuxThread, ReadOptions, TraceReader};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

/// The domain of threads that are of no machine in a recording's records.
const OTHERS: DomainId = DomainId(0);

/// Reads the recording called `name` of a Linux host from the text of its description and its
/// trace. In its records a machine is a domain, from 1 on in the order of the description, and a
/// thread a vcpu of it.
///
/// # Errors
/// As [`Recording::load`].
pub(crate) fn read(
    name: String,
    [described, traced]: [PathBuf; 2],
    text: &[u8],
    trace: impl Read,
) -> Result<Recording, RecordingError> {
    let of_linux: DescribedLinux =
        serde_json::from_slice(text).map_err(|source| RecordingError::DescriptionOfLinux {
            path: described,
            source,
        })?;
    let unusable = |problem| RecordingError::Unusable {
        name: name.clone(),
        problem,
    };
    of_linux.check().map_err(unusable)?;
    host::policy(&of_linux).map_err(unusable)?;
    if !(1..=MAX_PCPUS).contains(&usize::from(of_linux.cpus)) {
        let problem = format!(
            "{} cpus; expected 1 to {MAX_PCPUS}: correct `cpus` in scenario.json",
            of_linux.cpus
        );
        return Err(unusable(problem));
    }
    let broken = |source| RecordingError::Trace {
        path: traced.clone(),
        source: Box::new(source),
    };
    let options = ReadOptions {
        format: Some(Format::Linux),
        linux: LinuxOptions {
            host: Some(of_linux.host()),
            ..LinuxOptions::default()
        },
        ..ReadOptions::default()
    };
    let mut reader = TraceReader::new(trace, &options).map_err(broken)?;
    let mut read = NamedRecords::default();
    reader.copy_to(&mut read).map_err(broken)?;
    let mut records = read.0;
    if let Err(problem) = in_order(records.iter().map(|r| r.at)) {
        return Err(RecordingError::OutOfOrder {
            path: traced,
            problem,
        });
    }
    if let Some(r) = records.iter().find(|r| r.pcpu.0 >= of_linux.cpus) {
        let problem = format!(
            "an event of cpu {} in the trace, but scenario.json says {} cpus",
            r.pcpu.0, of_linux.cpus
        );
        return Err(unusable(problem));
    }
    rename(&mut records, &of_linux, &reader.linux_threads());
    Ok(Recording {
        name,
        description: description(&of_linux),
        records,
        truth: None,
        linux: Some(of_linux),
    })
}

/// What programs for all recordings need to know of `described`.
fn description(described: &DescribedLinux) -> Description {
    Description {
        xen: String::new(),
        scheduler: described.scheduler.clone(),
        pcpus: described.cpus,
        tsc_hz: 1_000_000_000,
        params: BTreeMap::new(),
        domains: Vec::new(),
        guest_tsc_mode: None,
        network: None,
        assumed: Vec::new(),
    }
}

/// Gives the threads of machines the names that they have by their description, and all others
/// names of [`OTHERS`].
fn rename(records: &mut [NamedRecord], described: &DescribedLinux, threads: &[LinuxThread]) {
    let places = LinuxSimulation::places(described);
    let by_tid: BTreeMap<u32, VcpuName> = places
        .map(|(vm, thread)| {
            let name = VcpuName::new(DomainId(1 + vm as u16), thread as u16);
            (described.vms[vm].threads[thread].tid, name)
        })
        .collect();
    let mut names: BTreeMap<VcpuName, VcpuName> = threads
        .iter()
        .filter_map(|thread| Some((thread.name, *by_tid.get(&thread.tid)?)))
        .collect();
    let mut others = 0;
    let mut renamed = |name: VcpuName| {
        if name.is_idle() {
            return name;
        }
        *names.entry(name).or_insert_with(|| {
            others += 1;
            VcpuName::new(OTHERS, others - 1)
        })
    };
    for record in records {
        record.vcpu = renamed(record.vcpu);
        record.next = record.next.map(&mut renamed);
    }
}

/// A side that is compared: its figures, and the names of threads in the order of the description.
pub(crate) struct Side {
    pub summary: Summary,
    pub names: Vec<VcpuName>,
}

/// Compares `recording` of the host that `described` describes with an ensemble of simulations.
///
/// # Errors
/// [`RecordingError::Unusable`] when the host cannot be simulated.
pub(crate) fn check(
    recording: &Recording,
    described: &DescribedLinux,
) -> Result<Agreement, RecordingError> {
    let start = usable(
        recording,
        LinuxStart::observe(described, &recording.records),
    )?;
    let simulation = usable(recording, LinuxSimulation::new(described, start))?;
    let places: Vec<_> = LinuxSimulation::places(described).collect();
    let recorded = Side {
        summary: measure(&recording.records, start.window),
        names: places
            .iter()
            .map(|(vm, thread)| VcpuName::new(DomainId(1 + *vm as u16), *thread as u16))
            .collect(),
    };
    let simulated: Result<Vec<Side>, String> = (0..TWINS)
        .into_par_iter()
        .map(|number| {
            let hidden = simulation.draw(number);
            let records = simulation.run(&hidden)?;
            let names = places.iter().map(|at| simulation.name(&hidden, *at));
            Ok(Side {
                summary: measure(&records, simulation.window(&hidden)),
                names: names.collect(),
            })
        })
        .collect();
    let simulated = usable(recording, simulated)?;
    let sides = figures::Sides {
        described,
        recorded,
        simulated,
    };
    let domains = sides.threads();
    let verdict = match Judgement::of_all(domains.iter().map(|d| d.verdict)) {
        Judgement::NotJudged => Judgement::CannotTell,
        verdict => verdict,
    };
    Ok(Agreement {
        name: recording.name.clone(),
        verdict,
        pcpus: described.cpus,
        simulations: TWINS as usize,
        exact: Maybe(None),
        domains,
        remarks: remarks(described, &start),
    })
}

/// The figures of `records` within the window.
fn measure(records: &[NamedRecord], [from, to]: [Instant; 2]) -> Summary {
    let mut meter = Meter::window(from, to);
    copy_to(records, &mut meter);
    meter.finish_at(to)
}

/// What a reader of the figures has to know.
fn remarks(described: &DescribedLinux, start: &LinuxStart) -> Vec<String> {
    let mut remarks = Vec::new();
    if start.tick.is_none() {
        remarks.push("the trace does not show when ticks are due: drawn".to_owned());
    }
    if described.time == "real" {
        remarks.push(
            "recorded in real time, on a machine whose costs are not known: simulated with those \
             of the emulated one"
                .to_owned(),
        );
    }
    if described.vms.iter().any(|vm| vm.has_inner_groups()) {
        remarks.push(
            "threads with a control group of their own have it within another one without \
             settings, as libvirt makes them"
                .to_owned(),
        );
    }
    remarks
}
