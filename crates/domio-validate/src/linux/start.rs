//! What a trace of Linux shows of the start.

use super::described::{DescribedLinux, DescribedWork};
use domio_core::{Instant, Runstate, VcpuName};
use domio_replay::NamedRecord;
use std::collections::BTreeMap;

/// What a trace shows of the start. Times are those of its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinuxStart {
    /// When the threads begin together, and when they stop.
    pub window: [Instant; 2],
    /// A time at which the tick of all cpus is due; `None` where that cannot be seen.
    pub tick: Option<Instant>,
}

/// Preemptions are counted by parts of the tick of this length.
const PART: u64 = 20_000;

/// From a tick to the switch that follows: the least that was measured.
const TICK_TO_SWITCH: u64 = 7_400;

impl LinuxStart {
    /// Reads off `records`, in which threads have the names of their place in the description.
    ///
    /// # Errors
    /// When the window cannot be found.
    pub fn observe(described: &DescribedLinux, records: &[NamedRecord]) -> Result<Self, String> {
        Ok(LinuxStart {
            window: window(described, records)?,
            tick: tick(described, records),
        })
    }
}

/// The window in the trace's clock. Where the clock is another one than that of the description, it
/// begins with the last wake-up of a thread that never blocks again.
fn window(described: &DescribedLinux, records: &[NamedRecord]) -> Result<[Instant; 2], String> {
    let ends = records.first().zip(records.last());
    let Some((first, last)) = ends.map(|(first, last)| (first.at, last.at)) else {
        return Err("the trace has no record".to_owned());
    };
    let [from, to] = described.window();
    if first <= from && to <= last {
        return Ok([from, to]);
    }
    let burns = |name: VcpuName| {
        let vm = described
            .vms
            .get(usize::from(name.domain.0).checked_sub(1)?)?;
        let thread = vm.threads.get(usize::from(name.index))?;
        (thread.workload == DescribedWork::Burn).then_some(())
    };
    let mut woken: BTreeMap<VcpuName, Instant> = BTreeMap::new();
    for record in records {
        for (name, old, new) in record.changes() {
            let wakes = old == Runstate::Blocked && new == Runstate::Runnable;
            if wakes && burns(name).is_some() && !woken.contains_key(&name) {
                woken.insert(name, record.at);
            }
        }
    }
    let length = to.since(from);
    let start = woken.values().min().copied();
    match start.filter(|start| *start + length <= last) {
        Some(start) => Ok([start, start + length]),
        None => Err(format!(
            "window_ns of scenario.json, {from} to {to}, is no part of the trace, which goes from \
             {first} to {last}, and no thread that always computes shows where it begins"
        )),
    }
}

/// A time at which the tick is due: most threads that are preempted are at ticks. Of several cpus
/// the one that shows it best decides: all have their ticks at one time, and an emulator may be
/// late with those of the others.
fn tick(described: &DescribedLinux, records: &[NamedRecord]) -> Option<Instant> {
    let tick = described.tick().as_nanos();
    let mut phases = vec![Vec::new(); usize::from(described.cpus)];
    for record in records {
        let preempted = record
            .changes()
            .any(|(_, old, new)| old == Runstate::Running && new == Runstate::Runnable);
        if preempted {
            phases[record.pcpu.index()].push(record.at.as_nanos() % tick);
        }
    }
    let found = phases.into_iter().filter_map(|phases| most(phases, tick));
    let (_, early) = found.max()?;
    Some(Instant::from_nanos((early + tick - TICK_TO_SWITCH) % tick))
}

/// How many of `phases` are in the part that has most of them, and an early one of these; `None`
/// where too few are.
fn most(phases: Vec<u64>, tick: u64) -> Option<(usize, u64)> {
    let mut parts = vec![0_usize; tick.div_ceil(PART) as usize];
    for phase in &phases {
        parts[(phase / PART) as usize] += 1;
    }
    let (best, count) = parts.iter().enumerate().max_by_key(|(_, n)| **n)?;
    if count * 5 < phases.len() || *count < 20 {
        return None;
    }
    let from = best as u64 * PART;
    let mut within: Vec<u64> = phases
        .into_iter()
        .filter(|phase| (from..from + PART).contains(phase))
        .collect();
    within.sort_unstable();
    Some((*count, within[within.len() / 10]))
}
