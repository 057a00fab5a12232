//! One variant of a scenario: simulated, measured, watched.

use crate::printed::pretty;
use domio_core::{DomainId, Duration, Names, Record, Sink};
use domio_report::run_answer;
use domio_run::driver_work::OwnersOnly;
use domio_run::observe::{Observer, Seen, Window};
use domio_run::simulate::{self, RunFault, measured, of_replication};
use domio_run::{Sample, WHOLE};
use domio_scenario::{Built, NoReplay, Scenario};
use domio_sched::policies;
use serde::{Deserialize, Serialize};

/// Time that a timeline shows around the longest wait.
const TIMELINE: Duration = Duration::from_millis(100);

/// What the page asks for.
#[derive(Deserialize)]
pub struct Request {
    /// What the page calls the variant: A or B.
    label: String,
    /// What messages call the scenario.
    name: String,
    /// Its text.
    text: String,
    /// Keys with other values, in the order in which they are set.
    changes: Vec<(String, String)>,
    /// How many replications, at least one.
    replications: u32,
    /// Which part of the measured time the timeline shows, in milliseconds since its begin; the
    /// longest wait with what is around it when there is none.
    window: Option<(f64, f64)>,
}

/// A variant that was simulated.
pub struct Variant {
    /// What pictures call it.
    pub label: String,
    /// Names of its domains.
    pub domains: Vec<(DomainId, String)>,
    /// One a replication.
    pub samples: Vec<Sample>,
    /// What the first replication showed.
    pub seen: Seen,
    scenario: Scenario,
    built: Built,
}

/// Figures of a variant.
#[derive(Serialize)]
pub struct Figures {
    label: String,
    /// What `domio run --json` prints.
    json: String,
    /// What is good to know of the scenario and the run.
    notices: Vec<String>,
}

impl Variant {
    /// Simulates what `request` asks for; `heard` is told how much of all replications is done.
    ///
    /// # Errors
    /// What is wrong with the scenario, or why a run ended early.
    pub fn simulate(request: &Request, heard: &dyn Fn(u64)) -> Result<Self, String> {
        let Request { name, text, .. } = request;
        let changes = request.changes.iter();
        let changes: Vec<(&str, &str)> = changes.map(|(k, v)| (&**k, &**v)).collect();
        let scenario = Scenario::parse(name, text.as_bytes(), policies());
        let scenario = scenario.and_then(|scenario| match changes.is_empty() {
            true => Ok(scenario),
            false => scenario.with(&changes),
        });
        let built = scenario.and_then(|scenario| Ok((scenario.build(&NoReplay)?, scenario)));
        let (built, scenario) = built.map_err(|errors| errors.render(false))?;
        let window = match request.window {
            Some((from, until)) => Window::Between(millis(from), millis(until)),
            None => Window::Worst(TIMELINE),
        };
        let count = u64::from(request.replications.max(1));
        let run = |number: u32| -> Result<(Sample, Option<Seen>), RunFault> {
            let done = u64::from(number) * WHOLE;
            let heard = |thousandths: u64| heard((done + thousandths) / count);
            let built = of_replication(&scenario, &built, &NoReplay, number)?;
            if number > 0 {
                let (sample, _) = measured(&built, number, OwnersOnly, &heard)?;
                return Ok((sample, None));
            }
            let watched = Watched(Observer::new(window));
            let (sample, watched) = measured(&built, number, watched, &heard)?;
            Ok((sample, Some(watched.0.finish())))
        };
        let mut samples = Vec::new();
        let mut seen = Seen::default();
        for number in 0..count as u32 {
            let (sample, first) = run(number).map_err(|fault| told(&fault))?;
            samples.push(sample);
            seen = first.unwrap_or(seen);
        }
        Ok(Variant {
            label: format!("{}: {}", request.label, built.policy.descriptor.name),
            domains: simulate::domains(&built),
            samples,
            seen,
            scenario,
            built,
        })
    }

    /// Its figures.
    pub fn figures(&self) -> Figures {
        let Variant {
            scenario,
            built,
            samples,
            ..
        } = self;
        let notices = scenario.notices().iter().chain(&built.notices).cloned();
        Figures {
            label: self.label.clone(),
            json: pretty(&run_answer::answer(scenario, built, samples)),
            notices: notices
                .chain(run_answer::starvation(built, samples))
                .collect(),
        }
    }
}

/// What to say of a run that ended early.
fn told(fault: &RunFault) -> String {
    format!("{fault}\n{}", fault.dump.trim_end())
}

fn millis(ms: f64) -> Duration {
    Duration::from_nanos((ms.max(0.0) * 1e6) as u64)
}

/// An observer, beside which the figures have the owners of work.
struct Watched(Observer);

impl Sink for Watched {
    const STAGES: bool = false;
    const OWNERS: bool = true;

    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        self.0.record(names, record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_run::run_one;
    use serde_json::{Value, json};
    use std::cell::RefCell;

    fn request(changes: Value, replications: u32) -> Request {
        let text = domio_scenario::example("small-host").unwrap();
        let text = text.replace("duration_s = 20", "duration_s = 2");
        serde_json::from_value(json!({
            "label": "A", "name": "small-host", "text": text, "changes": changes,
            "replications": replications, "window": null,
        }))
        .unwrap()
    }

    #[test]
    fn figures_are_those_of_one_run() {
        let request = request(json!([["domain.web.weight", "512"]]), 2);
        let told = RefCell::new(Vec::new());
        let variant = Variant::simulate(&request, &|at| told.borrow_mut().push(at)).unwrap();
        for (sample, number) in variant.samples.iter().zip(0..) {
            let changes = [("domain.web.weight", "512")];
            assert_eq!(
                *sample,
                run_one(&request.text, &changes, None, number).unwrap()
            );
        }
        let told = told.into_inner();
        assert!(told.is_sorted() && told.last() == Some(&WHOLE), "{told:?}");
        assert!(variant.seen.worst.is_some());
        let figures: Value = serde_json::from_str(&variant.figures().json).unwrap();
        assert_eq!(figures["replications"], 2);
        assert_eq!(figures["overrides"][0], "domain.web.weight = 512");
        assert_eq!(variant.label, "A: credit");
    }

    #[test]
    fn a_change_that_is_refused_is_told() {
        let refused = Variant::simulate(&request(json!([["domain.web.wieght", "5"]]), 1), &|_| ());
        let told = refused.err().unwrap();
        assert!(told.contains("weight"), "{told}");
    }
}
