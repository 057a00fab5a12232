//! Where the wake-ups of recorded guests come from.
//!
//! A recorded wake-up is at its time because of what went before: a sleeping Linux guest sets its
//! timer when it blocks. When its simulated twin is done later, because a rate limit held it back,
//! the wake-up is later too; it does not fall into the work before and merge with it. The same
//! holds for the kernel tick that still comes after a guest went idle. What tells them:
//!
//! - a wake-up within one tick of the block, at the phase of most such wake-ups, is the tick;
//! - any other is a timer. One that was due already when it was set comes [`LEAST`] after the
//!   block;
//! - a tick that works for as long as a tick and a turn of a loop is both: the turn was due by the
//!   time the guest could execute.

use super::demand::Recorded;
use super::kernel_tick::{KERNEL_TICK, apart};
use super::recur;
use domio_core::{Duration, Instant};
use domio_vmm::config::{Arrival, Demand};

/// From a block to the wake-up by a timer that was due before. Linux sets its Xen timer no nearer
/// than 100 us ahead, and has about 21 us to go until it blocks.
pub const LEAST: Duration = Duration::from_nanos(78_800);

/// Wake-ups that come by no more than this later after a block come as early as they can.
const JITTER: Duration = Duration::from_micros(3);

/// Nor do they come by more than this earlier: guests differ in what they do until they block.
const EARLY: Duration = Duration::from_micros(6);

/// Turns of a loop that are late show that it is one, if they are a fiftieth of all.
const LATE_TURNS: usize = 10;

/// Ticks of one guest differ by less, modulo their period.
const SPREAD: u64 = 30_000;

/// The demands of `recorded` with the arrivals that its wake-ups speak for.
pub fn attributed(recorded: Recorded) -> Vec<Demand> {
    let Recorded {
        mut demands,
        mut blocks,
    } = recorded;
    let phase = tick_phase(&demands, &blocks);
    let loops = loops(&demands, &blocks);
    // The first wake-up follows no block.
    for (demand, block) in demands.iter_mut().skip(1).zip(&blocks) {
        let gap = demand.at.saturating_since(*block);
        let tick = gap <= KERNEL_TICK && phase.is_some_and(|p| apart(demand.at, p) <= SPREAD);
        demand.arrival = if tick {
            Arrival::Tick {
                period: KERNEL_TICK,
                least: gap.min(LEAST),
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
        (demands, blocks) = with_turns(demands, blocks);
    }
    recur::due(demands, &blocks, phase)
}

/// `demands`, done at `blocks`, with the turns apart from the ticks that found them due.
fn with_turns(demands: Vec<Demand>, blocks: Vec<Instant>) -> (Vec<Demand>, Vec<Instant>) {
    let is_tick = |d: &&Demand| matches!(d.arrival, Arrival::Tick { .. }) && d.spin.is_zero();
    let is_turn = |d: &&Demand| matches!(d.arrival, Arrival::Loop { .. });
    // Turns that are woken by a tick's interrupt besides take longer.
    let turn = quantile(demands.iter().filter(is_turn), 10);
    let tick = quantile(demands.iter().filter(is_tick).filter(|d| d.work < turn), 2);
    let mut split = (Vec::new(), Vec::new());
    for (i, demand) in demands.into_iter().enumerate() {
        let done = blocks.get(i).copied();
        // A tick alone has to idle again afterwards, which takes longer.
        let of_tick = demand.work.saturating_sub(turn);
        let both = is_tick(&&demand) && tick < turn && !of_tick.is_zero() && of_tick <= tick;
        match done.filter(|_| both) {
            Some(done) => {
                // While the tick was handled, at the latest.
                let at = done.saturating_sub(turn + of_tick / 2).max(demand.at);
                split.0.push(Demand {
                    work: of_tick,
                    ..demand
                });
                split.1.push(at);
                split.0.push(Demand {
                    at,
                    work: turn,
                    arrival: Arrival::Loop { least: LEAST },
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
/// that happens to be due between the last work and the sleep is no more than chance.
fn loops(demands: &[Demand], blocks: &[Instant]) -> bool {
    let wakes = demands.iter().skip(1).zip(blocks);
    let late = wakes.filter(|(demand, block)| is_late(demand.at.saturating_since(**block)));
    let late = late.count();
    late >= LATE_TURNS && late * 50 >= demands.len()
}

/// The phase that most wake-ups within one tick of a block share, if it is no chance: ticks are a
/// sixtieth of the period wide, so a tenth of at least ten are many.
fn tick_phase(demands: &[Demand], blocks: &[Instant]) -> Option<Instant> {
    let soon: Vec<Instant> = demands
        .iter()
        .skip(1)
        .zip(blocks)
        .map(|(demand, block)| (demand.at, demand.at.saturating_since(*block)))
        .filter(|(_, gap)| *gap > LEAST + JITTER && *gap <= KERNEL_TICK)
        .map(|(at, _)| at)
        .collect();
    let same = |at: Instant| soon.iter().filter(|t| apart(**t, at) <= SPREAD).count();
    let (count, at) = soon.iter().map(|at| (same(*at), *at)).max()?;
    (soon.len() >= 10 && count * 10 >= soon.len()).then_some(at)
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
        let tick = |at, work| {
            let (period, least) = (KERNEL_TICK, LEAST);
            demand(at, work, Arrival::Tick { period, least })
        };
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
        ];
        let dones = [10_400, 12_040, 20_402, 22_060, 30_400, 41_420, 44_700].map(us);
        let (found, blocks) = with_turns(demands.clone(), dones.to_vec());
        let (at, done) = (us(41_010), us(41_420));
        assert_eq!(found[..5], demands[..5]);
        let both = [tick(36_000, 20), Demand { at, ..turn(0, 400) }];
        assert_eq!(found[5..7], both);
        assert_eq!(found[7..], demands[6..]);
        assert_eq!(blocks[5..], [at, done, us(44_700)]);
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
