//! Counts what a trace of Linux has, and prints the counts as JSON:
//! `cargo run -p domio-linux --example counts FILE`.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use domio_linux::{LinuxEvent, LinuxReader, LinuxWhat, Tid};
use serde_json::json;

/// What a cpu does.
#[derive(Default)]
struct Cpu {
    running: Option<(Tid, u64)>,
    events: u64,
    switches: u64,
    idle: u64,
}

#[derive(Default)]
struct Counts {
    cpus: BTreeMap<u32, Cpu>,
    /// Run time of each thread.
    ran: BTreeMap<Tid, u64>,
    kinds: BTreeMap<&'static str, u64>,
    span: Option<(u64, u64)>,
    events: u64,
    /// Runs without a switch at their end.
    unended: u64,
}

impl Counts {
    fn take(&mut self, event: &LinuxEvent) {
        self.events += 1;
        *self.kinds.entry(kind(event.what)).or_default() += 1;
        let cpu = self.cpus.entry(event.cpu).or_default();
        cpu.events += 1;
        if !matches!(event.what, LinuxWhat::Lost { .. }) {
            let (first, _) = self.span.get_or_insert((event.time, event.time));
            self.span = Some((*first, event.time));
        }
        let foreign = match (cpu.running, event.current) {
            (Some((running, _)), Some(current)) => running != current,
            _ => false,
        };
        let next = match event.what {
            LinuxWhat::Switch { next, .. } => Some(next),
            _ => None,
        };
        if next.is_none() && !foreign {
            return;
        }
        self.unended += u64::from(foreign);
        if let Some((tid, since)) = cpu.running.take() {
            let ran = event.time - since;
            match tid == Tid::IDLE {
                true => cpu.idle += ran,
                false => *self.ran.entry(tid).or_default() += ran,
            }
        }
        if let Some(next) = next {
            cpu.switches += 1;
            cpu.running = Some((next, event.time));
        }
    }
}

fn kind(what: LinuxWhat) -> &'static str {
    match what {
        LinuxWhat::Switch { .. } => "sched_switch",
        LinuxWhat::Waking { .. } => "sched_waking",
        LinuxWhat::Wakeup { .. } => "sched_wakeup",
        LinuxWhat::WakeupNew { .. } => "sched_wakeup_new",
        LinuxWhat::Migrate { .. } => "sched_migrate_task",
        LinuxWhat::Fork { .. } => "sched_process_fork",
        LinuxWhat::Exit { .. } => "sched_process_exit",
        LinuxWhat::Runtime { .. } => "sched_stat_runtime",
        LinuxWhat::Lost { .. } => "lost",
        LinuxWhat::Other => "other",
        LinuxWhat::Attach { .. } => "cgroup_attach_task",
        LinuxWhat::IrqEntry { .. } | LinuxWhat::IrqExit { .. } => "irq",
        LinuxWhat::SoftirqRaise { .. }
        | LinuxWhat::SoftirqEntry { .. }
        | LinuxWhat::SoftirqExit { .. } => "softirq",
        LinuxWhat::Disk(_) => "block",
        _ => "kvm and napi",
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: counts FILE")?;
    let start = Instant::now();
    let mut reader = LinuxReader::open(path)?;
    let mut counts = Counts::default();
    let error = loop {
        match reader.next_event() {
            Ok(Some(event)) => counts.take(&event),
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    let took = start.elapsed().as_secs_f64();
    let mut most: Vec<_> = counts.ran.iter().collect();
    most.sort_by_key(|(tid, ns)| (std::cmp::Reverse(**ns), **tid));
    let threads = most.iter().take(8).map(|(tid, ns)| {
        let comm = reader.tasks().get(**tid).map_or("?", |t| t.comm.as_str());
        json!({ "thread": format!("{tid}:{comm}"), "run_s": seconds(**ns) })
    });
    let threads = threads.collect::<Vec<_>>();
    let idle: BTreeMap<_, _> = counts
        .cpus
        .iter()
        .map(|(cpu, c)| (cpu.to_string(), seconds(c.idle)))
        .collect();
    let busy: u64 = counts.ran.values().sum();
    let about = reader.about();
    let answer = json!({
        "format": reader.format().to_string(),
        "error": error,
        "first_ts_s": counts.span.map(|s| seconds(s.0)),
        "span_s": counts.span.map(|s| seconds(s.1 - s.0)),
        "cpus_with_events": counts.cpus.len(),
        "cpus_with_switches": counts.cpus.values().filter(|c| c.switches > 0).count(),
        "events": counts.events,
        "kinds": counts.kinds,
        "busy_s_total": seconds(busy),
        "idle_s_by_cpu": idle,
        "distinct_threads_run": counts.ran.len(),
        "unended_runs": counts.unended,
        "threads": threads,
        "tasks": reader.tasks().iter().count(),
        "losses": format!("{:?}", reader.losses()),
        "damage": format!("{:?}", reader.damage()),
        "about": format!("{about:?}"),
        "million_events_a_second": counts.events as f64 / took / 1e6,
    });
    println!("{}", serde_json::to_string_pretty(&answer)?);
    Ok(())
}
