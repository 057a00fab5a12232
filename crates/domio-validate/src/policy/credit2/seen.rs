//! What the private records of credit2 show of its state at the first record of a trace.

use crate::recording::Recording;
use crate::start::Start;
use domio_core::{DomainId, Duration, Instant, Kind, PcpuId, Runstate, Topology, VcpuName};
use domio_replay::NamedRecord;
use domio_replay::private::Private;
use std::collections::BTreeMap;

/// Credit2's private events (Xen 4.17) that tell something about its state.
mod event {
    pub const QUEUED: u8 = 2;
    pub const BURNED: u8 = 3;
    pub const RESET: u8 = 7;
    pub const VCPU_LOAD: u8 = 11;
    pub const RUNQ_LOAD: u8 = 12;
    pub const TICKLE_FOR: u8 = 13;
    pub const CANDIDATE: u8 = 20;
    pub const SCHEDULE: u8 = 21;
}

/// What a trace shows of a vcpu at its first record; `None` what it does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShownCredit {
    /// Credit, in nanoseconds.
    pub credit: Option<i64>,
    /// What it may run before its domain is asked, in nanoseconds.
    pub budget: Option<i64>,
    /// Its average load.
    pub average: Option<i64>,
}

/// What a trace shows of a run queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShownRunq {
    /// A pcpu of it.
    pub pcpu: PcpuId,
    /// Its average load, and the same moved on by balancing.
    pub average: i64,
    /// See `average`.
    pub balanced: i64,
}

/// Event and words of `r`, if it is a private record of credit2.
fn private(r: &NamedRecord) -> Option<(u8, Private)> {
    let private = r.private.filter(|p| p.policy == "credit2")?;
    Some((private.event?, private))
}

/// What `recording` shows of each vcpu of `start`.
pub(super) fn vcpus(recording: &Recording, topology: &Topology, start: &Start) -> Vec<ShownCredit> {
    let mut found: BTreeMap<VcpuName, ShownCredit> = BTreeMap::new();
    for r in &recording.records {
        let Some((event, p)) = private(r) else {
            continue;
        };
        let [first, second, ..] = p.words;
        let signed = |word: u32| i64::from(word as i32);
        let name = r.vcpu;
        let credit = match event {
            event::BURNED => {
                let ran = ran_by(start, name, r.at);
                let shown = found.entry(name).or_default();
                if second != i32::MIN as u32 && shown.budget.is_none() && ran.is_some() {
                    shown.budget = Some(signed(second) + ran.unwrap_or(0));
                }
                let by = burned(recording, topology, start, name, ran.unwrap_or(0));
                signed(first) + by
            }
            event::RESET => signed(first),
            event::TICKLE_FOR | event::CANDIDATE => signed(second),
            event::VCPU_LOAD => {
                let shown = found.entry(name).or_default();
                shown.average.get_or_insert(p.wide());
                continue;
            }
            _ => continue,
        };
        found.entry(name).or_default().credit.get_or_insert(credit);
    }
    let of = |v: &crate::start::StartVcpu| found.get(&v.name).copied().unwrap_or_default();
    start.vcpus.iter().map(of).collect()
}

/// How long `name` has run at `at` since `start`, in nanoseconds, if it was current then.
fn ran_by(start: &Start, name: VcpuName, at: Instant) -> Option<i64> {
    let current = start.pcpus.iter().any(|p| p.current == Some(name));
    current.then(|| at.since(start.at).as_nanos() as i64)
}

/// What `time` nanoseconds cost `name`: the more the less it weighs beside the heaviest vcpu of its
/// run queue.
fn burned(
    recording: &Recording,
    topology: &Topology,
    start: &Start,
    name: VcpuName,
    time: i64,
) -> i64 {
    let weight = |name: VcpuName| {
        let mut domains = recording.description.domains.iter();
        let found = domains.find(|d| d.id == name.domain.0);
        found.map_or(256, |d| d.weight.max(1))
    };
    let socket = |name: VcpuName| {
        let found = start.vcpus.iter().find(|v| v.name == name)?;
        Some(topology.socket_of(found.pcpu))
    };
    let own = socket(name);
    let peers = start.vcpus.iter().map(|v| v.name);
    let peers = peers.filter(|v| socket(*v) == own);
    let heaviest = peers.map(weight).max().unwrap_or(1);
    time * heaviest / weight(name)
}

/// The run queue of each pcpu that `records` tell of, by Xen's numbers.
pub(super) fn arrangement(records: &[NamedRecord]) -> BTreeMap<u16, u16> {
    let mut found = BTreeMap::new();
    for r in records {
        if let Some((event::SCHEDULE, p)) = private(r) {
            let word = p.words[0];
            found.entry(word as u16).or_insert((word >> 16) as u16);
        }
    }
    found
}

/// The first load of each run queue that `records` tell.
pub(super) fn runqs(records: &[NamedRecord]) -> Vec<ShownRunq> {
    let numbers = arrangement(records);
    let mut found: BTreeMap<u16, ShownRunq> = BTreeMap::new();
    for r in records {
        if let Some((event::RUNQ_LOAD, p)) = private(r)
            && let Some(number) = numbers.get(&r.pcpu.0)
        {
            found.entry(*number).or_insert(ShownRunq {
                pcpu: r.pcpu,
                average: p.wide(),
                balanced: i64::from(p.words[2]),
            });
        }
    }
    found.into_values().collect()
}

/// Pools are filled up no later than this after they are due.
const LATE: Duration = Duration::from_micros(200);

/// When the pools of domains with a cap are filled up first after `begin`: from the records of
/// vcpus that queue up without having been woken, which those do that were parked. Fillings are a
/// `period` apart, and a timer is never early: the first is the one that most others follow soon.
pub(super) fn refills(
    records: &[NamedRecord],
    period: Duration,
    begin: Instant,
) -> BTreeMap<DomainId, Instant> {
    let mut parked: BTreeMap<VcpuName, bool> = BTreeMap::new();
    let mut times: BTreeMap<DomainId, Vec<Instant>> = BTreeMap::new();
    for r in records {
        match (r.kind, r.runstates()) {
            (Some(Kind::Wake), _) => {
                parked.insert(r.vcpu, false);
            }
            (_, Some((_, new))) => {
                parked.insert(r.vcpu, new == Runstate::Offline);
            }
            _ => {}
        }
        if let Some((event::QUEUED, _)) = private(r)
            && parked.insert(r.vcpu, false) == Some(true)
        {
            times.entry(r.vcpu.domain).or_default().push(r.at);
        }
    }
    let phase = |at: Instant| at.as_nanos() % period.as_nanos();
    let after = |from: Instant, at: Instant| {
        let period = period.as_nanos();
        (phase(at) + period - phase(from)) % period
    };
    let first = |times: Vec<Instant>| {
        let follow = |from: &Instant| {
            let soon = times
                .iter()
                .filter(|at| after(*from, **at) <= LATE.as_nanos());
            soon.count()
        };
        let best = *times.iter().rev().max_by_key(|from| follow(from))?;
        Some(begin + Duration::from_nanos(after(begin, best)))
    };
    times
        .into_iter()
        .filter_map(|(domain, times)| Some((domain, first(times)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Description;
    use crate::start::{StartPcpu, StartVcpu};
    use serde_json::json;

    const P0: PcpuId = PcpuId(0);

    fn us(at: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(at)
    }

    fn guest(id: u16) -> VcpuName {
        VcpuName::new(DomainId(id), 0)
    }

    fn note(at: u64, event: u8, id: u16, words: &[u32]) -> NamedRecord {
        let private = Private::new("credit2", event, words);
        NamedRecord::of_policy(us(at), P0, private, Some(guest(id)))
    }

    fn burned(at: u64, id: u16, credit: i32, budget: i32) -> NamedRecord {
        note(at, event::BURNED, id, &[credit as u32, budget as u32])
    }

    /// Guests 1 and 2, of weights 256 and 1024, of whom the first runs.
    fn shown(records: Vec<NamedRecord>) -> Vec<ShownCredit> {
        let domain = |id: u16, weight: i64| {
            let workload = "burn";
            json!({ "id": id, "name": "g", "weight": weight, "workload": workload })
        };
        let text = json!({
            "xen": "4.17.7", "scheduler": "credit2", "pcpus": 1, "tsc_hz": 1_000_000_000,
            "params": {}, "domains": [domain(1, 256), domain(2, 1024)],
        });
        let recording = Recording {
            name: "test".into(),
            description: Description::parse(text.to_string().as_bytes()).unwrap(),
            records,
            truth: None,
            linux: None,
        };
        let vcpu = |id, state| StartVcpu {
            name: guest(id),
            state,
            pcpu: P0,
            since: us(1_000),
            parked: false,
        };
        let start = Start {
            at: us(1_000),
            pcpus: vec![StartPcpu {
                current: Some(guest(1)),
                ..StartPcpu::default()
            }],
            vcpus: vec![vcpu(1, Runstate::Running), vcpu(2, Runstate::Runnable)],
        };
        vcpus(&recording, &Topology::flat(1).unwrap(), &start)
    }

    #[test]
    fn credit_is_what_the_first_record_of_it_tells_and_what_was_burned_until_then() {
        let found = shown(vec![
            // 500 us, at 1024 to 256: it began with 2 ms more, and with 500 us more budget.
            burned(1_500, 1, -700_000, 100_000),
            note(1_500, event::CANDIDATE, 2, &[u32::MAX, 900_000]),
            note(1_600, event::RESET, 1, &[5, 6]),
            burned(2_500, 2, -100_000, i32::MIN),
            note(2_600, event::VCPU_LOAD, 2, &[7, 1]),
        ]);
        let both = [found[0].credit, found[1].credit];
        assert_eq!(both, [Some(1_300_000), Some(900_000)]);
        assert_eq!([found[0].budget, found[1].budget], [Some(600_000), None]);
        assert_eq!(found[1].average, Some(7 + (1 << 32)));
    }

    #[test]
    fn who_waits_all_the_time_shows_his_credit_at_the_first_reset() {
        let reset = note(4_000, event::RESET, 2, &[-3_i32 as u32, 9_999_997]);
        let found = shown(vec![reset]);
        assert_eq!([found[0].credit, found[1].credit], [None, Some(-3)]);
        // The same numbers of another scheduler mean other things.
        let private = Private::new("credit", event::RESET, &[1, 1]);
        let other = NamedRecord::of_policy(us(4_000), P0, private, Some(guest(2)));
        assert_eq!(shown(vec![other])[1], ShownCredit::default());
    }

    #[test]
    fn pools_are_filled_up_when_the_parked_queue_up() {
        let period = Duration::from_millis(10);
        let parks = |at: u64| {
            NamedRecord::runstate(us(at), P0, guest(1), Runstate::Running, Runstate::Offline)
        };
        let queues = |at: u64| note(at, event::QUEUED, 1, &[0]);
        let records = [
            parks(2_000),
            // A budget came back from another vcpu, which is no filling.
            queues(3_000),
            parks(9_000),
            queues(14_020),
            parks(19_000),
            queues(24_000),
            parks(29_000),
            queues(34_050),
            // Who is woken was not parked.
            parks(41_000),
            NamedRecord::new(us(42_000), P0, Kind::Wake, guest(1)),
            queues(42_000),
        ];
        let found = refills(&records, period, us(1_000));
        assert_eq!(found, BTreeMap::from([(DomainId(1), us(4_000))]));
    }

    #[test]
    fn passes_tell_which_pcpus_share_a_run_queue() {
        let pass = |pcpu: u32, runq: u32| note(5, event::SCHEDULE, 1, &[runq << 16 | pcpu, 0]);
        let found = arrangement(&[pass(0, 0), pass(3, 1), pass(1, 0)]);
        assert_eq!(found, BTreeMap::from([(0, 0), (1, 0), (3, 1)]));
    }
}
