//! Where the wake-ups of recorded guests come from.
//!
//! A recorded wake-up is at its time because of what went before: a sleeping Linux guest sets its
//! timer when it blocks. When its simulated simulation is done later, because a rate limit held it
//! back, the wake-up is later too; it does not fall into the work before and merge with it. The
//! same holds for the kernel tick that still comes after a guest went idle. What tells them:
//!
//! - a wake-up within one tick of the block, at the phase of most such wake-ups, is the tick;
//! - any other is a timer. One that was due already when it was set comes [`LEAST`] after the
//!   block;
//! - a tick that works for as long as a tick and a turn of a loop is both: the turn was due by the
//!   time the guest could execute.

mod recur;
pub mod tick_wake;

use crate::demand::Recorded;
use crate::demand::clock::usual;
use crate::linux::{JITTER, KERNEL_TICK, LEAST};
use crate::process::{Arrival, Demand};
use domio_core::{Duration, Instant};

/// Nor do they come by more than this earlier: guests differ in what they do until they block.
const EARLY: Duration = Duration::from_micros(6);

/// Turns of a loop that are late show that it is one, if they are a fiftieth of all.
const LATE_TURNS: usize = 10;

/// Nor is it chance that so few come after turns that took longer than the period, if most such
/// turns have one.
const LATE_FEW: usize = 3;

/// A loop that is so many periods late may leave turns out.
const GIVES_UP: u64 = 3;

/// The times between turns differ by less than this both ways.
const SPREAD: u64 = 30_000;

/// The demands of `recorded` with the arrivals that its wake-ups speak for.
pub fn attributed(recorded: Recorded) -> Vec<Demand> {
    let Recorded {
        mut demands,
        mut blocks,
        ..
    } = recorded;
    let wakes = demands.iter().skip(1).map(|d| d.at);
    let phase = tick_wake::phase(wakes.zip(blocks.iter().copied()));
    let is_tick = |at: Instant, gap: Duration| {
        gap <= KERNEL_TICK && phase.is_some_and(|p| tick_wake::is_one(at, p))
    };
    let loops = loops(&demands, &blocks, is_tick);
    // The first wake-up follows no block.
    for (demand, block) in demands.iter_mut().skip(1).zip(&blocks) {
        let gap = demand.at.saturating_since(*block);
        demand.arrival = if is_tick(demand.at, gap) {
            Arrival::Tick {
                period: KERNEL_TICK,
                least: gap.min(LEAST),
                saved: demand.work,
            }
        } else {
            if is_late(gap) {
                // When exactly it was due does not show; it was before the block.
                demand.at = *block;
            }
            let least = gap.min(LEAST);
            match loops {
                true => Arrival::Loop { least },
                false => Arrival::Timer { least },
            }
        };
    }
    if loops {
        only_turns(&mut demands);
    }
    // Those that work by the clock are found by their length.
    let by_clock = demands.iter().filter(|d| !d.spin.is_zero()).count();
    if loops && by_clock * 4 < demands.len() {
        (demands, blocks) = with_turns(demands, blocks);
    }
    recur::due(demands, &blocks, phase)
}

/// Leaves the turns alone in the loop, which does not wait for other timers of the kernel.
fn only_turns(demands: &mut [Demand]) {
    let turns = recur::long(demands, |d| matches!(d.arrival, Arrival::Loop { .. }));
    for (i, demand) in demands.iter_mut().enumerate() {
        if let Arrival::Loop { least } = demand.arrival
            && turns.binary_search(&i).is_err()
        {
            demand.arrival = Arrival::Timer { least };
        }
    }
}

/// `demands`, done at `blocks`, with the turns apart from the ticks that found them due.
fn with_turns(demands: Vec<Demand>, blocks: Vec<Instant>) -> (Vec<Demand>, Vec<Instant>) {
    let is_tick = |d: &&Demand| matches!(d.arrival, Arrival::Tick { .. }) && d.spin.is_zero();
    let is_turn = |d: &&Demand| matches!(d.arrival, Arrival::Loop { .. });
    // Turns that are also woken by a tick's interrupt take longer.
    let turn = quantile(demands.iter().filter(is_turn), 10);
    let tick = quantile(demands.iter().filter(is_tick).filter(|d| d.work < turn), 2);
    let mut split = (Vec::new(), Vec::new());
    for (i, demand) in demands.into_iter().enumerate() {
        let done = blocks.get(i).copied();
        // A tick alone has to idle again afterwards, which takes longer; and turns differ.
        let both = demand.work <= turn + tick && demand.work * 2 > turn + tick && is_tick(&&demand);
        let of_tick = demand.work.saturating_sub(turn).max(tick / 10);
        // Neither part may be nothing.
        let both = both && !of_tick.is_zero() && of_tick < demand.work;
        match done.filter(|_| both) {
            Some(done) => {
                // While the tick was handled, at the latest, and interrupts came in between.
                let of_turn = demand.work.saturating_sub(of_tick);
                let at = done.saturating_sub(demand.work + LEAST).max(demand.at);
                let least = LEAST;
                // One that comes without the turn takes as long as others.
                split.0.push(Demand {
                    work: tick.max(of_tick),
                    arrival: Arrival::Tick {
                        period: KERNEL_TICK,
                        least,
                        saved: tick.saturating_sub(of_tick),
                    },
                    ..demand
                });
                split.1.push(at);
                split.0.push(Demand {
                    at,
                    work: of_turn,
                    arrival: Arrival::Loop { least },
                    ..demand
                });
            }
            None => split.0.push(demand),
        }
        split.1.extend(done);
    }
    split
}

/// The work that one in `parts` of `demands` does not exceed.
fn quantile<'a>(demands: impl Iterator<Item = &'a Demand>, parts: usize) -> Duration {
    let mut works: Vec<Duration> = demands.map(|d| d.work).collect();
    // One that the trace does not see the end of says nothing.
    works.retain(|work| *work != Duration::MAX);
    works.sort_unstable();
    works.get(works.len() / parts).copied().unwrap_or_default()
}

/// Whether a wake-up `gap` after the block came as early as it could: it was due before.
fn is_late(gap: Duration) -> bool {
    gap <= LEAST + JITTER && gap + EARLY >= LEAST
}

/// Whether the guest works in a loop that sleeps until a time of its own choice: when it is late
/// for the next turn it goes to sleep all the same, and the wake-up comes as early as it can. A
/// timer that is not set by who works expires while he does, and is over by the time he sleeps; one
/// that happens to be due between the last work and the sleep is no more than chance. `is_tick`
/// tells ticks by their time and the time since the block before.
fn loops(
    demands: &[Demand],
    blocks: &[Instant],
    is_tick: impl Fn(Instant, Duration) -> bool,
) -> bool {
    let gaps = demands.iter().skip(1).zip(blocks);
    let gaps: Vec<Duration> = gaps.map(|(d, b)| d.at.saturating_since(*b)).collect();
    let late = gaps.iter().filter(|gap| is_late(**gap)).count();
    if late >= LATE_TURNS && late * 50 >= demands.len() {
        return true;
    }
    // A guest that is seldom late is so whenever a turn takes longer than the period, or a tick
    // longer than two: the turn that is due first takes place with it.
    let ticks = |i: usize| i > 0 && is_tick(demands[i].at, gaps[i - 1]);
    let turns: Vec<usize> = (0..demands.len()).filter(|i| !ticks(*i)).collect();
    let Some(period) = period(&turns, demands) else {
        return false;
    };
    let (mut over, mut followed) = (0, 0);
    for (i, gap) in gaps.iter().enumerate() {
        let took = blocks[i].saturating_since(demands[i].at);
        let most = if ticks(i) { period * 2 } else { period };
        // One that leaves turns out says nothing by the next being on time.
        if took > most + LEAST && (is_late(*gap) || took < period * GIVES_UP) {
            over += 1;
            followed += usize::from(is_late(*gap));
        }
    }
    followed >= LATE_FEW && followed * 3 >= over * 2
}

/// The time between most of the `turns` among `demands` that follow each other, if there is one.
fn period(turns: &[usize], demands: &[Demand]) -> Option<Duration> {
    let gap = |pair: &[usize]| demands[pair[1]].at.saturating_since(demands[pair[0]].at);
    let gaps = turns.windows(2).map(gap).collect();
    usual(gaps, Duration::from_nanos(2 * SPREAD), LATE_TURNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(at: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(at)
    }

    fn recorded(wakes: &[u64], blocks: &[u64]) -> Recorded {
        let demand = |at: &u64| Demand {
            at: us(*at),
            spin: Duration::ZERO,
            work: Duration::from_micros(10),
            arrival: Arrival::Outside,
        };
        Recorded {
            demands: wakes.iter().map(demand).collect(),
            blocks: blocks.iter().map(|at| us(*at)).collect(),
            kicks: Vec::new(),
        }
    }

    #[test]
    fn a_timer_that_was_due_comes_as_early_as_it_can() {
        let found = attributed(recorded(&[100, 279, 5_000, 5_060], &[200, 300, 5_010]));
        assert_eq!(found[0].arrival, Arrival::Outside);
        assert_eq!(found[1].arrival, Arrival::Timer { least: LEAST });
        assert_eq!(found[1].at, us(200), "it was due before the block");
        assert_eq!(found[2].arrival, Arrival::Timer { least: LEAST });
        assert_eq!(found[2].at, us(5_000));
        let least = Duration::from_micros(50);
        assert_eq!(found[3].arrival, Arrival::Timer { least });
    }

    #[test]
    fn turns_that_are_late_show_a_loop() {
        // A turn every 10 ms; `late` of them follow the block before as early as they can.
        let arrivals = |late: u64| {
            let (mut wakes, mut blocks) = (vec![0], vec![1_000]);
            for turn in 1..=100 {
                let before = *blocks.last().expect("a block");
                let at = match turn <= late {
                    true => before + 74,
                    false => before.max(10_000 * turn) + 1_000,
                };
                wakes.push(at);
                blocks.push(at + 1_000);
            }
            attributed(recorded(&wakes, &blocks))
        };
        let is_loop = |d: &Demand| matches!(d.arrival, Arrival::Loop { .. });
        assert!(arrivals(10)[1..].iter().all(is_loop));
        assert_eq!(arrivals(10)[3].at, us(1_000 + 2 * 1_074), "due before");
        assert!(!arrivals(9).iter().any(is_loop), "could be chance");
    }

    #[test]
    fn a_tick_that_works_as_long_as_a_turn_more_is_both() {
        let demand = |at, work, arrival| Demand {
            at: us(at),
            spin: Duration::ZERO,
            work: Duration::from_micros(work),
            arrival,
        };
        let ticking = |at, work, saved| {
            let arrival = Arrival::Tick {
                period: KERNEL_TICK,
                least: LEAST,
                saved: Duration::from_micros(saved),
            };
            demand(at, work, arrival)
        };
        let tick = |at, work| ticking(at, work, work);
        let turn = |at, work| demand(at, work, Arrival::Loop { least: LEAST });
        let demands = vec![
            turn(10_000, 400),
            tick(12_000, 40),
            turn(20_000, 402),
            tick(22_000, 60),
            turn(30_000, 400),
            // Woken by a tick, it executed from 41 ms on, when its turn was due; and one that
            // merely has more to do than a tick.
            tick(36_000, 420),
            tick(44_000, 700),
            // A turn that was shorter than most.
            tick(54_000, 396),
            // One that the trace does not see the end of.
            Demand {
                work: Duration::MAX,
                ..tick(64_000, 0)
            },
        ];
        let dones = [
            10_400, 12_040, 20_402, 22_060, 30_400, 41_420, 44_700, 61_396,
        ];
        let dones = dones.map(us);
        let (found, blocks) = with_turns(demands.clone(), dones.to_vec());
        let (at, done) = (us(41_000) - LEAST, us(41_420));
        assert_eq!(found[..5], demands[..5]);
        let both = [ticking(36_000, 60, 40), Demand { at, ..turn(0, 400) }];
        assert_eq!(found[5..7], both);
        assert_eq!(found[7..8], demands[6..7]);
        assert_eq!(blocks[5..8], [at, done, us(44_700)]);
        assert_eq!(found[10..], demands[8..]);
        assert_eq!(
            found[8..10],
            [
                ticking(54_000, 60, 54),
                Demand {
                    at: us(61_000) - LEAST,
                    ..turn(0, 390)
                }
            ]
        );
    }

    #[test]
    fn a_guest_that_is_seldom_late_shows_a_loop_when_it_is() {
        // A turn every 10 ms that takes 1 ms, some of them 14 ms: those that `follow` come as early
        // as they can, the others once they are due again.
        let loops = |long: &[u64], follow: u64| {
            let (mut wakes, mut blocks) = (vec![0], vec![1_000]);
            for turn in 1..=100 {
                let before = *blocks.last().expect("a block");
                let late = before > 10_000 * turn;
                let followed =
                    long.iter().position(|l| l + 1 == turn).unwrap_or(0) < follow as usize;
                wakes.push(match late && followed {
                    true => before + 74,
                    false => before.max(10_000 * turn) + 300,
                });
                let takes = if long.contains(&turn) { 14_000 } else { 1_000 };
                blocks.push(wakes[wakes.len() - 1] + takes);
            }
            let found = attributed(recorded(&wakes, &blocks));
            found[1..]
                .iter()
                .all(|d| matches!(d.arrival, Arrival::Loop { .. }))
        };
        assert!(loops(&[20, 40, 60], 3));
        assert!(loops(&[20, 40, 60, 80], 3), "most of four");
        assert!(!loops(&[20, 40], 2), "could be chance");
        assert!(
            !loops(&[10, 20, 40, 60, 80], 3),
            "its timers are not its own"
        );
    }

    /// A guest that had to wait: in which turn, for how long, and whether it was woken by the tick
    /// after it instead.
    type Wait = (u64, u64, bool);

    /// A turn of 150 us every 10 ms, and the tick of 60 us after it, done later by `waits`. What is
    /// due then follows as early as it can if it `follows`, and is left out otherwise.
    fn waiting(waits: &[Wait], follows: bool) -> Vec<Demand> {
        let (mut wakes, mut blocks) = (Vec::new(), Vec::new());
        let mut add = |at: u64, takes: u64| {
            wakes.push(at);
            blocks.push(at + takes);
            at + takes
        };
        let waited = |turn: u64, by_tick: bool| -> u64 {
            let wait = waits.iter().find(|w| (w.0, w.2) == (turn, by_tick));
            wait.map_or(0, |w| w.1)
        };
        let (mut turn, mut done) = (0, 0);
        while turn < 100 {
            let (of_turn, of_tick) = (waited(turn, false), waited(turn, true));
            done = add((10_000 * turn).max(done + 74), 150 + of_turn);
            turn += 1;
            let tick = (done - 72) / 4_000 * 4_000 + 4_072;
            if tick < 10_000 * turn {
                done = add(tick, 60 + of_tick);
                // The turn that is due first takes place with the tick.
                turn += u64::from(of_tick > 0);
            }
            while !follows && 10_000 * turn < done {
                turn += 1;
            }
        }
        attributed(recorded(&wakes, &blocks))
    }

    fn is_loop(demands: &[Demand]) -> bool {
        let turns = |d: &&Demand| d.has_timer();
        let mut turns = demands.iter().filter(turns);
        turns.all(|d| matches!(d.arrival, Arrival::Loop { .. }))
    }

    #[test]
    fn turns_that_follow_a_long_wait_show_a_loop() {
        // Three times make three to nine late turns of two hundred, which are few.
        let thrice = |wait, by_tick| [20, 40, 60].map(|turn| (turn, wait, by_tick));
        for (wait, by_tick) in [(15_000, false), (35_000, false), (25_000, true)] {
            let waits = thrice(wait, by_tick);
            assert!(is_loop(&waiting(&waits, true)), "{waits:?}");
            assert!(!is_loop(&waiting(&waits, false)), "{waits:?}: left out");
        }
        // Where the one turn that is due takes place with the tick, nothing has to follow.
        let mut waits = thrice(15_000, false).to_vec();
        waits.extend([70, 75, 80, 85].map(|turn| (turn, 12_000, true)));
        assert!(is_loop(&waiting(&waits, true)));
    }

    #[test]
    fn what_is_no_turn_is_not_of_the_loop() {
        // Turns that are late, and every seventh time something short of the kernel's.
        let (mut wakes, mut blocks) = (vec![0], vec![1_000]);
        let mut add = |at: u64, done: u64| {
            wakes.push(at);
            blocks.push(done);
        };
        for turn in 1..=70 {
            let at = 20_000 * turn;
            add(at, at + 1_000);
            if turn <= 20 {
                add(at + 1_074, at + 2_074);
            }
            if turn % 7 == 0 {
                add(at + 9_000 + 130 * turn, at + 9_050 + 130 * turn);
            }
        }
        let mut recorded = recorded(&wakes, &blocks);
        for (demand, done) in recorded.demands.iter_mut().zip(&recorded.blocks) {
            demand.work = done.since(demand.at);
        }
        let found = attributed(recorded);
        let short = |d: &&Demand| d.work < Duration::from_micros(500);
        let kinds = |looping: bool| {
            let is = |d: &Demand| matches!(d.arrival, Arrival::Loop { .. }) == looping;
            let shorts = found.iter().skip(1).filter(short).filter(|d| is(d)).count();
            let all = found.iter().skip(1).filter(|d| is(d)).count();
            (shorts, all - shorts)
        };
        assert_eq!((kinds(false), kinds(true)), ((10, 0), (0, 90)));
    }

    #[test]
    fn wake_ups_soon_after_the_block_that_share_a_phase_are_ticks() {
        // A job every 20 ms and, at 2.5 ms modulo 4 ms, one tick after it.
        let mut wakes = Vec::new();
        let mut blocks = Vec::new();
        for job in 0..12 {
            let at = 20_000 * job;
            wakes.extend([at + 1_000, at + 2_500]);
            blocks.extend([at + 1_200, at + 2_520]);
        }
        let found = attributed(recorded(&wakes, &blocks));
        let ticks = found
            .iter()
            .filter(|d| matches!(d.arrival, Arrival::Tick { .. }))
            .map(|d| d.at.as_nanos() % KERNEL_TICK.as_nanos());
        assert_eq!(ticks.collect::<Vec<_>>(), [2_500_000; 12]);
        // Fewer could be chance.
        let found = attributed(recorded(&wakes[..8], &blocks[..8]));
        assert!(
            found
                .iter()
                .all(|d| !matches!(d.arrival, Arrival::Tick { .. }))
        );
    }
}
