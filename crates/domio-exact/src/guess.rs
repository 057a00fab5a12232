//! Guesses of what a trace does not show of its start: a first one, and others near it or far.

use core::cmp::Reverse;
use domio_core::{Duration, PcpuId, Runstate};
use domio_replay::NamedRecord;
use domio_sched::credit::{ACCOUNTING, Priority};
use domio_sim::RandomStream;
use domio_validate::policy::credit::CreditHost;
use domio_validate::policy::credit::seen::{FirstWake, accounting_records};
use domio_validate::policy::credit::{Hidden, HiddenVcpu};

/// Parts of a credit that a guess distinguishes.
const PARTS: i64 = 1_000_000;

/// Nanoseconds of a credit.
const CREDIT: i64 = 100_000;

/// Where guesses of one recording begin.
pub struct Guesser<'a> {
    host: &'a CreditHost,
    first: Hidden,
}

impl<'a> Guesser<'a> {
    /// Guesses for the recording that `simulation` and its `records` come from.
    pub fn new(host: &'a CreditHost, records: &[NamedRecord]) -> Guesser<'a> {
        let mut first = first_guess(host);
        align_accounting(host, records, &mut first);
        Guesser { host, first }
    }

    /// The guess that the trace suggests.
    pub fn first(&self) -> &Hidden {
        &self.first
    }

    /// Most credit that a vcpu keeps: a slice's worth.
    fn most(&self) -> i64 {
        10 * (self.host.tslice().as_nanos() / 1_000_000) as i64
    }

    /// A state far from any other: credits and classes drawn anew.
    pub fn elsewhere(&self, random: &mut RandomStream) -> Hidden {
        let mut next = self.first.clone();
        let most = self.most();
        for v in &mut next.vcpus {
            v.credit = random.below(2 * most as u64) as i64 - most;
            if v.priority != Priority::Boost && random.below(2) == 0 {
                v.priority = Priority::Over;
            }
        }
        if random.below(2) == 0 {
            by_waiting(self.host, &mut next);
        }
        if self.host.has_cap() {
            for i in (1..next.earners.len()).rev() {
                next.earners.swap(i, random.below(i as u64 + 1) as usize);
            }
        }
        next
    }

    /// A state near `from`: one to three values differ, half of them of `suspects`, the vcpus of
    /// the first decision that is not as recorded.
    pub fn neighbour(
        &self,
        from: &Hidden,
        suspects: &[usize],
        random: &mut RandomStream,
    ) -> Hidden {
        let mut next = from.clone();
        for _ in 0..=random.below(3) {
            if random.below(8) == 0 {
                next.accounting_in = self.another_accounting(random);
                continue;
            }
            let one_of = |n: usize, random: &mut RandomStream| random.below(n as u64) as usize;
            let i = match suspects.is_empty() || random.below(2) == 0 {
                true => one_of(next.vcpus.len(), random),
                false => suspects[one_of(suspects.len(), random)],
            };
            if random.below(8) == 0 && i > 0 {
                next.queue.swap(i - 1, i);
            } else if self.host.has_cap() && random.below(8) == 0 {
                next.earners.swap(0, i);
            } else {
                self.change(&mut next.vcpus, i, random);
            }
        }
        next
    }

    fn another_accounting(&self, random: &mut RandomStream) -> Duration {
        if self.host.policy().accounting.is_none() {
            return Duration::from_nanos(random.below(self.host.tslice().as_nanos()));
        }
        // The trace shows a later one; to count back is exact to what held those between up.
        let slack = match random.below(2) {
            0 => Duration::from_micros(2),
            _ => Duration::from_micros(100),
        };
        let around = self.first.accounting_in.saturating_sub(slack);
        around + Duration::from_nanos(random.below(2 * slack.as_nanos()))
    }

    /// Changes what is thought of vcpu `i`, and of others where they depend on it: what is shared
    /// out depends on the sum of all credits.
    fn change(&self, vcpus: &mut [HiddenVcpu], i: usize, random: &mut RandomStream) {
        let most = self.most();
        let v = &mut vcpus[i];
        match random.below(10) {
            0 => {
                v.priority = match v.priority {
                    Priority::Under => Priority::Over,
                    Priority::Over if random.below(4) == 0 => Priority::Boost,
                    _ => Priority::Under,
                };
            }
            1 => v.credit = random.below(2 * most as u64) as i64 - most,
            2 => v.residual = random.below(PARTS as u64) as u32,
            3 => v.ahead = random.below(2 * CREDIT as u64) as i64 - CREDIT,
            4 => {
                let step = 1 << random.below(17);
                let by = random.below(2 * step + 1) as i64 - step as i64;
                v.ahead = (v.ahead + by).clamp(-CREDIT, CREDIT);
            }
            _ => {
                // From a millionth of a credit to about half of what one can have.
                let step = 1 << random.below(28);
                let by = random.below(2 * step + 1) as i64 - step as i64;
                let other = random.below(vcpus.len() as u64) as usize;
                match random.below(8) {
                    0 => vcpus.iter_mut().for_each(|v| earn(v, by)),
                    1 | 2 if other != i => {
                        earn(&mut vcpus[i], by);
                        earn(&mut vcpus[other], -by);
                    }
                    _ => earn(&mut vcpus[i], by),
                }
            }
        }
        for v in vcpus {
            v.credit = v.credit.clamp(-2 * most, most);
        }
    }
}

/// Gives `v` so many parts of a credit.
fn earn(v: &mut HiddenVcpu, parts: i64) {
    let burned = i64::from(v.residual) - v.credit * PARTS - parts;
    v.credit = -burned.div_euclid(PARTS);
    v.residual = burned.rem_euclid(PARTS) as u32;
}

/// Sets the first accounting of `guess` so that the simulation's falls on the first of which the
/// trace has a record. How far those between drift follows from the model, which is asked.
fn align_accounting(host: &CreditHost, records: &[NamedRecord], guess: &mut Hidden) {
    let Some(first) = accounting_records(records).next() else {
        return;
    };
    let takes = host.profile().timer_to_handler[usize::from(ACCOUNTING)];
    let due = host.origin() + first.at.saturating_since(host.start().at + takes);
    let before = due.saturating_sub(host.tslice() / 2);
    if before < host.origin() {
        return;
    }
    // Another start can meet other timers on the way, so once may not be enough.
    for _ in 0..5 {
        let mut simulation = host.simulation(guess);
        let outcome = simulation.until(before);
        let expires = simulation.policy_timer(PcpuId(0), ACCOUNTING);
        let (Ok(()), Some(expires)) = (outcome, expires) else {
            return;
        };
        let aligned = (guess.accounting_in + due.saturating_since(expires))
            .saturating_sub(expires.saturating_since(due));
        if aligned == guess.accounting_in {
            return;
        }
        guess.accounting_in = aligned;
    }
}

fn first_guess(host: &CreditHost) -> Hidden {
    let vcpus: Vec<HiddenVcpu> = host
        .start()
        .vcpus
        .iter()
        .zip(&host.policy().vcpus)
        .map(|(v, shown)| {
            let asleep = v.state >= Runstate::Blocked;
            let priority = match shown.first_wake {
                Some(FirstWake::Preferred) if asleep => Priority::Boost,
                // Only accounting makes a vcpu OVER, and only an active one.
                Some(FirstWake::Queued) if asleep && shown.active != Some(true) => Priority::Boost,
                _ => Priority::Under,
            };
            HiddenVcpu {
                credit: 0,
                residual: 500_000,
                ahead: 0,
                priority,
            }
        })
        .collect();
    let start = host.start();
    let accounting_in = host
        .policy()
        .accounting
        .map_or(Duration::ZERO, |at| at.since(start.at));
    Hidden {
        queue: (0..vcpus.len()).collect(),
        earners: (0..vcpus.len()).collect(),
        vcpus,
        accounting_in,
        tick_shift: Duration::ZERO,
    }
}

/// A queue is first in, first out inside a class: the order of it by how long each has waited.
///
/// It holds for those whose class has not changed meanwhile. The order in which they are
/// dispatched, which is the other guess, holds for those whose class will not change before.
fn by_waiting(host: &CreditHost, hidden: &mut Hidden) {
    let start = &host.start().vcpus;
    let vcpus = &hidden.vcpus;
    hidden
        .queue
        .sort_by_key(|i| (Reverse(vcpus[*i].priority), start[*i].since));
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_validate::{Recording, shipped};
    use domio_vmm::Profile;

    fn recording(name: &str) -> (Recording, CreditHost) {
        let recording = shipped::recording(name).unwrap();
        let host = crate::host(&recording, &Profile::XEN_4_17_EMULATED).unwrap();
        (recording, host)
    }

    /// How far the accounting of which the trace has the first record is from the simulation's, in
    /// nanoseconds.
    fn off(recording: &Recording, host: &CreditHost, guess: &Hidden) -> i64 {
        let first = accounting_records(&recording.records).next().unwrap();
        let takes = host.profile().timer_to_handler[usize::from(ACCOUNTING)];
        let due = host.origin() + first.at.since(host.start().at + takes);
        let mut simulation = host.simulation(guess);
        let outcome = simulation.until(due.saturating_sub(Duration::from_micros(200)));
        assert!(outcome.is_ok());
        let expires = simulation.policy_timer(PcpuId(0), ACCOUNTING).unwrap();
        expires.as_nanos() as i64 - due.as_nanos() as i64
    }

    #[test]
    fn accounting_falls_on_the_first_that_left_a_record() {
        for name in ["c1-burn7", "c1-weights-1-2-4"] {
            let (recording, host) = recording(name);
            let guesser = Guesser::new(&host, &recording.records);
            assert_eq!(off(&recording, &host, guesser.first()), 0, "{name}");
            // To count back from that record alone is not as exact.
            let counted = first_guess(&host);
            assert!(off(&recording, &host, &counted).abs() > 5_000, "{name}");
        }
    }

    #[test]
    fn parts_of_a_credit_add_up() {
        let parts = |v: &HiddenVcpu| v.credit * PARTS - i64::from(v.residual);
        let mut v = HiddenVcpu {
            credit: 3,
            residual: 999_999,
            ahead: 0,
            priority: Priority::Under,
        };
        for by in [0, 1, -1, 999_999, -5_000_001, 268_435_456] {
            let before = parts(&v);
            earn(&mut v, by);
            assert_eq!(parts(&v), before + by);
            assert!(i64::from(v.residual) < PARTS);
        }
    }

    #[test]
    fn neighbours_are_states_of_the_same_vcpus() {
        let (recording, host) = recording("c1-cap30");
        let guesser = Guesser::new(&host, &recording.records);
        let mut random = RandomStream::new(0, 0, "guess/test");
        let most = guesser.most();
        let mut state = guesser.elsewhere(&mut random);
        for _ in 0..2_000 {
            state = guesser.neighbour(&state, &[0], &mut random);
            let mut queue = state.queue.clone();
            queue.sort_unstable();
            assert!(queue.into_iter().eq(0..state.vcpus.len()));
            let mut earners = state.earners.clone();
            earners.sort_unstable();
            assert!(earners.into_iter().eq(0..state.vcpus.len()));
            for v in &state.vcpus {
                assert!((-2 * most..=most).contains(&v.credit) && v.residual < 1_000_000);
                assert!((-CREDIT..=CREDIT).contains(&v.ahead));
            }
        }
        assert!(state.vcpus.iter().all(|v| v.ahead != 0), "looked for");
    }
}
