//! Which experiments exist, and which check decides which claim.

use crate::claims::{Claim, Claims};
use crate::ledger::Finding;
use crate::sample::{Sample, Samples};
use crate::stats::Estimate;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What an experiment gets besides its replication number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LabContext {
    /// Seed of the whole invocation. Replications differ by their number, never by the seed.
    pub seed: u64,
}

type Run = dyn Fn(&LabContext, u32) -> Result<Sample, String> + Send + Sync;
type Decide = dyn Fn(&Samples<'_>, &Claim) -> Finding + Send + Sync;

/// How exactly a figure of an experiment has to be known: it is repeated until the figure's 95 %
/// interval is narrow enough.
///
/// Looked at after every [`Experiment::replications`], so that the number of replications follows
/// from the samples alone.
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    /// Makes values of the samples, of which the figure is the mean; none when there is no figure.
    pub figure: fn(&[Sample]) -> Vec<f64>,
    /// Half of the interval's width is this part of the mean at most.
    pub part: f64,
    /// Replications after which it is given up.
    pub most: u32,
}

impl Precision {
    /// Whether `samples` are enough. Those without the figure are: more would not help.
    fn is_reached(&self, samples: &[Sample]) -> bool {
        let Some(estimate) = Estimate::of(&(self.figure)(samples)) else {
            return true;
        };
        let near = |half: f64| half <= self.part * estimate.mean.abs();
        estimate.half_width().is_some_and(near)
    }
}

/// A simulation that is repeated, each time with another replication number.
pub struct Experiment {
    name: String,
    replications: u32,
    precision: Option<Precision>,
    run: Box<Run>,
}

impl Experiment {
    /// Name in checks, progress and messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Replications unless the user asks for another number; more follow as long as a
    /// [`Precision`] is not reached.
    pub fn replications(&self) -> u32 {
        self.replications
    }

    /// Asks for as many replications as `precision` needs.
    pub fn until(&mut self, precision: Precision) {
        self.precision = Some(precision);
    }

    /// How many replications there have to be, given the `samples` of the first ones: their number
    /// when they are enough.
    pub fn wanted(&self, samples: &[Sample]) -> u32 {
        let have = samples.len() as u32;
        match self.precision {
            _ if have < self.replications => self.replications,
            Some(p) if have < p.most && !p.is_reached(samples) => {
                (have + self.replications).min(p.most)
            }
            _ => have,
        }
    }

    /// Runs replication `replication`. The same seed and number give the same sample.
    ///
    /// # Errors
    /// Why the run has no figures (a policy fault, a scenario that cannot be built), in one
    /// sentence.
    pub fn run(&self, cx: &LabContext, replication: u32) -> Result<Sample, String> {
        (self.run)(cx, replication)
    }
}

/// What decides one claim.
pub struct Check {
    claim: String,
    reads: Vec<String>,
    decide: Box<Decide>,
}

impl Check {
    /// Id of the claim.
    pub fn claim(&self) -> &str {
        &self.claim
    }

    /// Names of the experiments whose samples it reads.
    pub fn reads(&self) -> &[String] {
        &self.reads
    }

    /// Decides `claim` from the samples of the experiments that it reads. The tolerance is the
    /// claim's: whoever brings claims of their own decides how exact is exact.
    pub fn decide(&self, samples: &Samples<'_>, claim: &Claim) -> Finding {
        (self.decide)(samples, claim)
    }
}

/// All experiments and checks. Mistakes in it are mistakes in domio's source, and panic.
#[derive(Default)]
pub struct Registry {
    experiments: BTreeMap<String, Experiment>,
    checks: BTreeMap<String, Check>,
}

impl Registry {
    /// A registry without experiments: no claim is implemented.
    pub fn new() -> Self {
        Registry::default()
    }

    /// Adds the experiment `name`, repeated `replications` times by default, and hands it out.
    ///
    /// # Panics
    /// When the name is taken or `replications` is zero.
    pub fn experiment(
        &mut self,
        name: impl Into<String>,
        replications: u32,
        run: impl Fn(&LabContext, u32) -> Result<Sample, String> + Send + Sync + 'static,
    ) -> &mut Experiment {
        let name = name.into();
        assert!(replications > 0, "experiment {name} has no replications");
        let experiment = Experiment {
            name: name.clone(),
            replications,
            precision: None,
            run: Box::new(run),
        };
        match self.experiments.entry(name) {
            Entry::Vacant(place) => place.insert(experiment),
            Entry::Occupied(taken) => panic!("experiment {} is registered twice", taken.key()),
        }
    }

    /// Adds the check of `claim`, which reads the experiments `reads`, all registered before it.
    ///
    /// # Panics
    /// When the claim has a check already, or reads nothing or an experiment that is not there.
    pub fn check(
        &mut self,
        claim: &str,
        reads: &[&str],
        decide: impl Fn(&Samples<'_>, &Claim) -> Finding + Send + Sync + 'static,
    ) {
        assert!(!reads.is_empty(), "the check of {claim} reads nothing");
        for name in reads {
            assert!(
                self.experiments.contains_key(*name),
                "the check of {claim} reads {name}, which is not registered"
            );
        }
        let check = Check {
            claim: claim.to_owned(),
            reads: reads.iter().map(|r| (*r).to_owned()).collect(),
            decide: Box::new(decide),
        };
        let taken = self.checks.insert(claim.to_owned(), check);
        assert!(taken.is_none(), "{claim} has two checks");
    }

    /// The experiment called `name`.
    pub fn find(&self, name: &str) -> Option<&Experiment> {
        self.experiments.get(name)
    }

    /// The check of the claim `id`.
    pub fn check_of(&self, id: &str) -> Option<&Check> {
        self.checks.get(id)
    }

    /// Ids of checks whose claim is not in `claims`: a renamed claim, most likely.
    pub fn strays(&self, claims: &Claims) -> Vec<&str> {
        let ids = self.checks.keys().map(String::as_str);
        ids.filter(|id| claims.find(id).is_none()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_burn() -> Registry {
        let mut registry = Registry::new();
        registry.experiment("burn", 3, |cx, n| {
            Ok(Sample::new().with("x", cx.seed as f64 + f64::from(n)))
        });
        registry
    }

    #[test]
    fn experiments_and_checks_are_found() {
        let mut registry = with_burn();
        registry.check("ongaro.fig2.cpu-fairness", &["burn"], |s, _| {
            Finding::decided(true, s.values("burn", "x"), "%")
        });
        registry.check("ongaro.renamed", &["burn"], |_, _| {
            Finding::not_implemented()
        });
        let sample = registry
            .find("burn")
            .unwrap()
            .run(&LabContext { seed: 5 }, 2);
        assert_eq!(sample.unwrap().get("x"), Some(7.0));
        assert!(registry.check_of("zeng.fig5.p3").is_none());
        assert_eq!(registry.strays(&Claims::shipped()), ["ongaro.renamed"]);
    }

    #[test]
    fn replications_go_on_until_a_figure_is_exact() {
        let mut registry = with_burn();
        let experiment = registry.experiment("ping", 2, |_, _| Ok(Sample::new()));
        let wanted = |experiment: &Experiment, values: &[f64]| {
            let sample = |v: &f64| Sample::new().with("ms", *v);
            experiment.wanted(&values.iter().map(sample).collect::<Vec<_>>())
        };
        let [none, two]: [&[f64]; 2] = [&[], &[1.0, 9.0]];
        assert_eq!((wanted(experiment, none), wanted(experiment, two)), (2, 2));
        experiment.until(Precision {
            figure: |samples| samples.iter().filter_map(|s| s.get("ms")).collect(),
            part: 0.1,
            most: 5,
        });
        assert_eq!(wanted(experiment, none), 2);
        assert_eq!(wanted(experiment, &[5.0, 5.01]), 2, "exact");
        assert_eq!(wanted(experiment, two), 4, "as many again");
        assert_eq!(wanted(experiment, &[1.0, 9.0, 2.0, 8.0]), 5, "at most");
        assert_eq!(
            wanted(experiment, &[1.0, 9.0, 2.0, 8.0, 3.0]),
            5,
            "given up"
        );
        let without = [Sample::new(), Sample::new()];
        assert_eq!(experiment.wanted(&without), 2, "none has the figure");
        let one = [Sample::new(), Sample::new().with("ms", 3.0)];
        assert_eq!(experiment.wanted(&one), 4, "one figure has no interval");
    }

    #[test]
    #[should_panic(expected = "burn is registered twice")]
    fn a_name_is_taken_once() {
        with_burn().experiment("burn", 1, |_, _| Ok(Sample::new()));
    }

    #[test]
    #[should_panic(expected = "reads brun, which is not registered")]
    fn a_check_reads_registered_experiments() {
        with_burn().check("a.b", &["brun"], |_, _| Finding::not_implemented());
    }
}
