//! The plain loop that simulated hosts are compared with: round robin written straight down around
//! a binary heap, with no policy and no trace. Like them it accounts for all time of each guest.
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
    /// What became of the time of each guest; the one that wakes comes last.
    pub guests: Vec<Account>,
}

/// What became of a guest's time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Time on a pcpu.
    pub got: u64,
    /// Time in the queue.
    pub waited: u64,
    /// Time asleep.
    pub slept: u64,
    /// Since when it is where it is.
    since: u64,
}

/// What the heap holds, earliest first: when, which pcpu is to decide (the number after the last
/// one for the guest that wakes), and how often that pcpu had decided when this was posted. If it
/// has decided since, the event is void.
type Event = Reverse<(u64, u32, u32)>;

#[derive(Clone, Copy, Default)]
struct Pcpu {
    current: Option<usize>,
    decided: u32,
}

/// Runs `burning` guests and one that wakes on `pcpus` pcpus (at least one) for `until_ns`
/// nanoseconds.
pub fn round_robin(pcpus: u16, burning: u16, until_ns: u64) -> Outcome {
    let waking = usize::from(burning);
    let mut host = vec![Pcpu::default(); usize::from(pcpus)];
    let mut queue: VecDeque<usize> = (0..waking).collect();
    let mut guests = vec![Account::default(); waking + 1];
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
            let account = &mut guests[guest];
            account.got += now - account.since;
            if guest == waking {
                heap.push(wake_at(account.since + WAKE_PERIOD_NS));
            } else {
                queue.push_back(guest);
            }
            account.since = now;
        }
        pcpu.current = if wake {
            Some(waking)
        } else {
            queue.pop_front()
        };
        pcpu.decided = pcpu.decided.wrapping_add(1);
        decisions += 1;
        if let Some(guest) = pcpu.current {
            let account = &mut guests[guest];
            let time = if guest == waking {
                account.slept += now - account.since;
                WORK_NS
            } else {
                account.waited += now - account.since;
                SLICE_NS
            };
            account.since = now;
            heap.push(Reverse((now + time, at as u32, pcpu.decided)));
        }
    }
    for (guest, account) in guests.iter_mut().enumerate() {
        let time = until_ns - account.since;
        if host.iter().any(|pcpu| pcpu.current == Some(guest)) {
            account.got += time;
        } else if guest == waking {
            account.slept += time;
        } else {
            account.waited += time;
        }
        account.since = until_ns;
    }
    Outcome { decisions, guests }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn no_time_is_lost_and_the_ninth_gets_its_work_done() {
        for pcpus in [1, 2, 8] {
            let until = 100 * SECOND_NS;
            let guests = round_robin(pcpus, 8, until).guests;
            let got: u64 = guests.iter().map(|g| g.got).sum();
            assert_eq!(got, u64::from(pcpus) * until, "no pcpu idles");
            let accounted = |g: &Account| g.got + g.waited + g.slept == until;
            assert!(guests.iter().all(accounted), "{guests:?}");
            // It wakes first after 10 ms, and never waits.
            let ninth = guests[8];
            assert_eq!((ninth.got, ninth.waited), (9_999 * WORK_NS, 0));
        }
    }

    #[test]
    fn one_pcpu_is_shared_alike() {
        let guests = &round_robin(1, 8, 100 * SECOND_NS).guests[..8];
        let got = || guests.iter().map(|g| g.got);
        let (least, most) = (got().min().unwrap(), got().max().unwrap());
        assert!(most - least <= SLICE_NS, "{guests:?}");
    }

    #[test]
    fn idle_pcpus_are_used_before_one_is_preempted() {
        let guests = round_robin(9, 8, SECOND_NS).guests;
        assert_eq!((guests[0].got, guests[0].waited), (SECOND_NS, 0));
        assert_eq!(guests[8].got, 99 * WORK_NS);
    }

    #[test]
    fn decisions_are_counted() {
        // 25 ms on one pcpu: the start, two wake-ups and two ends of work.
        assert_eq!(round_robin(1, 8, 25_000_000).decisions, 5);
        // 65 ms without a wake-up that preempts: three slices on one of two pcpus for each guest.
        assert_eq!(round_robin(3, 2, 65_000_000).decisions, 3 * 2 + 1 + 6 * 2);
    }
}
