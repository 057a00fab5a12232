//! A policy beside its slow twin: both run the same script, and their boundary logs are compared.

use core::fmt::Write;
use domio_contract::Scheduler;
use domio_core::Topology;
use domio_sched::conformance::{Occurrence, PolicyCall, Run, Script, host};

/// Makes a policy for a host.
pub type Make<'a> = &'a dyn Fn(&Topology) -> Box<dyn Scheduler>;

/// Entries that a report shows before the first difference, and after it.
const BEFORE: usize = 40;
const AFTER: usize = 4;

/// A policy and its twin.
pub struct Beside<'a> {
    /// Name of the policy.
    pub name: &'a str,
    /// Makes the policy.
    pub policy: Make<'a>,
    /// Makes the twin.
    pub twin: Make<'a>,
    /// Whether even what has no effect is compared: stopping a timer that is not set.
    pub to_the_letter: bool,
}

impl Beside<'_> {
    /// Runs both; `None` when they agree, else a report for people.
    pub fn difference(&self, script: &Script) -> Option<String> {
        let both = |script: &Script| [self.policy, self.twin].map(|make| self.run(script, make));
        let [one, two] = both(script);
        let i = one.first_difference(&two)?;
        let mut text = format!("they differ at entry {i}:\n");
        for entry in &one.log[i.saturating_sub(BEFORE)..i] {
            writeln!(text, "{entry}").unwrap();
        }
        for (who, run) in [(self.name, &one), ("twin", &two)] {
            for entry in run.log.iter().skip(i).take(AFTER) {
                writeln!(text, "{who}: {entry}").unwrap();
            }
        }
        let at = |run: &Run| run.log.get(i).map_or(run.end, |entry| entry.at);
        let mut before = script.clone();
        before.end = at(&one).min(at(&two));
        let [one, _] = both(&before);
        writeln!(
            text,
            "before that instant {} was:\n{}",
            self.name, one.state
        )
        .unwrap();
        Some(text)
    }

    fn run(&self, script: &Script, make: Make<'_>) -> Run {
        let mut run = host::run(script, make(&script.topology)).expect("a sound script");
        if !self.to_the_letter {
            forget_idle_stops(&mut run);
        }
        run
    }
}

/// Takes out of a log where a timer is stopped that is not set.
fn forget_idle_stops(run: &mut Run) {
    let mut set = Vec::new();
    run.log.retain(|entry| match entry.what {
        Occurrence::Timer(pcpu, slot, at) => {
            let was_set = set.contains(&(pcpu, slot));
            set.retain(|s| *s != (pcpu, slot));
            if at.is_some() {
                set.push((pcpu, slot));
            }
            was_set || at.is_some()
        }
        Occurrence::Call(PolicyCall::Timer(pcpu, slot)) => {
            set.retain(|s| *s != (pcpu, slot));
            true
        }
        _ => true,
    });
}
