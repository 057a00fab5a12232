//! The plain loop that simulated hosts are held against: round robin written straight down around a
//! binary heap, with no policy, no trace, and no accounts but what the rules need.
//!
//! Some guests burn; one more wakes every 10 ms and works for 50 us. A slice is 30 ms, one queue
//! serves all pcpus, and the waking guest preempts: an idle pcpu if there is one, else the pcpu on
//! which it ran last.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const SLICE_NS: u64 = 30_000_000;
const WAKE_PERIOD_NS: u64 = 10_000_000;
const WORK_NS: u64 = 50_000;

/// What came of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// How often it was decided who runs next on a pcpu.
    pub decisions: u64,
    /// Nanoseconds of pcpu that each guest got; the one that wakes comes last.
    pub got_ns: Vec<u64>,
}

/// What the heap holds, earliest first: when, which pcpu is to decide (the number after the last
/// one for the guest that wakes), and how often that pcpu had decided when this was posted. If it
/// has decided since, the event is void.
type Event = Reverse<(u64, u32, u32)>;

#[derive(Clone, Copy, Default)]
struct Pcpu {
    current: Option<usize>,
    since: u64,
    decided: u32,
}

/// Runs `burning` guests and one that wakes on `pcpus` pcpus (at least one) for `until_ns`
/// nanoseconds.
pub fn round_robin(pcpus: u16, burning: u16, until_ns: u64) -> Outcome {
    let waking = usize::from(burning);
    let mut host = vec![Pcpu::default(); usize::from(pcpus)];
    let mut queue: VecDeque<usize> = (0..waking).collect();
    let mut got_ns = vec![0; waking + 1];
    let (mut decisions, mut last) = (0, 0);
    let mut heap: BinaryHeap<Event> = (0..u32::from(pcpus)).map(|p| Reverse((0, p, 0))).collect();
    let wake_at = |at: u64| Reverse((at, u32::from(pcpus), 0));
    heap.push(wake_at(WAKE_PERIOD_NS));
    while let Some(Reverse((now, number, decided))) = heap.pop() {
        if now >= until_ns {
            break;
        }
        let wake = number == u32::from(pcpus);
        let at = if wake {
            last = host
                .iter()
                .position(|p| p.current.is_none())
                .unwrap_or(last);
            last
        } else {
            number as usize
        };
        let pcpu = &mut host[at];
        if !wake && pcpu.decided != decided {
            continue;
        }
        if let Some(guest) = pcpu.current {
            got_ns[guest] += now - pcpu.since;
            if guest == waking {
                heap.push(wake_at(pcpu.since + WAKE_PERIOD_NS));
            } else {
                queue.push_back(guest);
            }
        }
        pcpu.current = if wake {
            Some(waking)
        } else {
            queue.pop_front()
        };
        pcpu.since = now;
        pcpu.decided = pcpu.decided.wrapping_add(1);
        decisions += 1;
        if let Some(guest) = pcpu.current {
            let time = if guest == waking { WORK_NS } else { SLICE_NS };
            heap.push(Reverse((now + time, at as u32, pcpu.decided)));
        }
    }
    for pcpu in &host {
        if let Some(guest) = pcpu.current {
            got_ns[guest] += until_ns - pcpu.since;
        }
    }
    Outcome { decisions, got_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn no_time_is_lost_and_the_ninth_gets_its_work_done() {
        for pcpus in [1, 2, 8] {
            let until = 100 * SECOND_NS;
            let outcome = round_robin(pcpus, 8, until);
            let all: u64 = outcome.got_ns.iter().sum();
            assert_eq!(all, u64::from(pcpus) * until, "no pcpu idles");
            // It wakes first after 10 ms.
            assert_eq!(outcome.got_ns[8], 9_999 * WORK_NS);
        }
    }

    #[test]
    fn one_pcpu_is_shared_alike() {
        let got = &round_robin(1, 8, 100 * SECOND_NS).got_ns[..8];
        let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
        assert!(most - least <= SLICE_NS, "{got:?}");
    }

    #[test]
    fn idle_pcpus_are_used_before_one_is_preempted() {
        let outcome = round_robin(9, 8, SECOND_NS);
        assert_eq!(outcome.got_ns[0], SECOND_NS);
        assert_eq!(outcome.got_ns[8], 99 * WORK_NS);
    }

    #[test]
    fn decisions_are_counted() {
        // 25 ms on one pcpu: the start, two wake-ups and two ends of work.
        assert_eq!(round_robin(1, 8, 25_000_000).decisions, 5);
        // 65 ms without a wake-up that preempts: three slices on one of two pcpus for each guest.
        assert_eq!(round_robin(3, 2, 65_000_000).decisions, 3 * 2 + 1 + 6 * 2);
    }
}
