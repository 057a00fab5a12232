//! Which experiments exist, and which check decides which claim.

use crate::claim::Claim;
use crate::claims::{Claims, ClaimsError};
use crate::ledger::ClaimResult;
use crate::samples::Samples;
use crate::statement::Statement;
use crate::strict::near;
use domio_run::{Sample, Subject};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What an experiment gets in addition to its replication number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LabContext {
    /// Seed of the whole invocation. Replications differ by their number, never by the seed.
    pub seed: u64,
}

type Run = dyn Fn(&LabContext, u32) -> Result<Sample, String> + Send + Sync;
type Decide = dyn Fn(&Samples<'_>, &Claim) -> ClaimResult + Send + Sync;

/// A simulation that is repeated, each time with another replication number.
pub struct Experiment {
    name: String,
    replications: u32,
    run: Box<Run>,
    subject: Option<Subject>,
    takes_s: Option<f64>,
}

impl Experiment {
    /// Lets samples of the experiment be kept. `settings` tell people what was set, `inputs` is all
    /// that a sample depends on in addition to name, settings, seed, replication and program: the
    /// text of a scenario and its overrides, the fields of a structure. Experiments whose samples
    /// may differ must differ in one of them. without the call nothing is kept.
    pub fn kept(&mut self, settings: &str, inputs: &[&[u8]]) -> &mut Self {
        self.subject = Some(Subject::new(&self.name, settings, inputs));
        self
    }

    /// Says that a replication took `seconds` of processor time where the times were recorded;
    /// nobody knows without the call.
    pub fn takes(&mut self, seconds: f64) -> &mut Self {
        self.takes_s = Some(seconds);
        self
    }

    /// Processor time of a replication where the times were recorded, in seconds.
    pub fn takes_s(&self) -> Option<f64> {
        self.takes_s
    }

    /// What its samples are kept as; `None` when they are not.
    pub fn subject(&self) -> Option<&Subject> {
        self.subject.as_ref()
    }

    /// Name in checks, progress and messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Replications after which its checks are looked at for the first time at full effort.
    pub fn replications(&self) -> u32 {
        self.replications
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
pub struct Decider {
    claim: String,
    reads: Vec<String>,
    decide: Box<Decide>,
}

impl Decider {
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
    pub fn decide(&self, samples: &Samples<'_>, claim: &Claim) -> ClaimResult {
        (self.decide)(samples, claim)
    }
}

/// All experiments and checks. Mistakes in it are mistakes in domio's source, and panic.
#[derive(Default)]
pub struct Registry {
    /// What `domio reproduce` is given before ids of claims, with a blank if there is anything.
    folders: String,
    experiments: BTreeMap<String, Experiment>,
    checks: BTreeMap<String, Decider>,
}

impl Registry {
    /// A registry without experiments: no claim is implemented.
    pub fn new() -> Self {
        Registry::default()
    }

    /// Says that experiments and checks are of papers of which `domio reproduce` is told `folders`,
    /// with a blank behind each.
    pub fn of_folders(&mut self, folders: String) {
        self.folders = folders;
    }

    /// The command that decides `claim` again.
    pub fn command(&self, claim: &str) -> String {
        format!("domio reproduce {}{claim}", self.folders)
    }

    /// Adds the experiment `name`. Its checks are looked at after `replications` first.
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
            run: Box::new(run),
            subject: None,
            takes_s: None,
        };
        match self.experiments.entry(name) {
            Entry::Vacant(place) => place.insert(experiment),
            Entry::Occupied(taken) => {
                panic!("experiment {} is registered twice", taken.key())
            }
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
        decide: impl Fn(&Samples<'_>, &Claim) -> ClaimResult + Send + Sync + 'static,
    ) {
        assert!(!reads.is_empty(), "the check of {claim} reads nothing");
        for name in reads {
            assert!(
                self.experiments.contains_key(*name),
                "the check of {claim} reads {name}, which is not registered"
            );
        }
        let check = Decider {
            claim: claim.to_owned(),
            reads: reads.iter().map(|r| (*r).to_owned()).collect(),
            decide: Box::new(decide),
        };
        let taken = self.checks.insert(claim.to_owned(), check);
        assert!(taken.is_none(), "{claim} has two checks");
    }

    /// Adds the checks of `claims`, in place of those that the same claims have. Claims without
    /// checks keep what they have.
    ///
    /// # Errors
    /// Every check that reads a cell that no experiment simulates.
    pub fn claims(&mut self, claims: &Claims) -> Result<(), ClaimsError> {
        let mut mistakes = Vec::new();
        for claim in claims.iter() {
            let Some(statement) = &claim.statement else {
                continue;
            };
            mistakes.extend(self.unknown(statement, claims.file()));
            let decides = statement.clone();
            let check = Decider {
                claim: claim.id.clone(),
                reads: statement.experiments(),
                decide: Box::new(move |samples, claim| decides.decide(samples, claim)),
            };
            self.checks.insert(claim.id.clone(), check);
        }
        match mistakes.is_empty() {
            true => Ok(()),
            false => Err(ClaimsError { mistakes }),
        }
    }

    /// A mistake for each cell of `statement`, which is of `file`, that is not simulated.
    fn unknown(&self, statement: &Statement, file: &str) -> Vec<String> {
        let paper = &statement.paper;
        let prefix = format!("{paper}.");
        let known: Vec<String> = self
            .experiments
            .keys()
            .filter_map(|name| Some(name.strip_prefix(&prefix)?.replace('.', "/")))
            .collect();
        let line = statement.clauses.first().map_or(1, |clause| clause.line);
        let mut mistakes = Vec::new();
        for cell in statement.cells() {
            if known.iter().any(|name| name == cell) {
                continue;
            }
            let names = known.iter().map(String::as_str);
            let line = statement.line_of(cell).unwrap_or(line);
            let mut what = format!(
                "no cell of {paper} is called \"{cell}\"{}",
                near(cell, names)
            );
            if known.is_empty() {
                what += &format!("; {paper} has no cells: an id begins with the name of its paper");
            }
            mistakes.push(format!("{file}:{line}: {what}"));
        }
        mistakes
    }

    /// The experiment called `name`.
    pub fn find(&self, name: &str) -> Option<&Experiment> {
        self.experiments.get(name)
    }

    /// The check of the claim `id`.
    pub fn check_of(&self, id: &str) -> Option<&Decider> {
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
            ClaimResult::decided(true, s.values("burn", "x"), "%")
        });
        registry.check("ongaro.renamed", &["burn"], |_, _| {
            ClaimResult::not_implemented()
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
    fn an_experiment_is_kept_by_all_that_makes_its_samples() {
        let mut registry = with_burn();
        assert_eq!(registry.find("burn").unwrap().subject(), None);
        let mut add = |name: &str, settings: &str, input: &[u8]| {
            let experiment = registry.experiment(name, 1, |_, _| Ok(Sample::new()));
            let subject = experiment.kept(settings, &[input]).subject();
            subject.unwrap().fingerprint.clone()
        };
        let mut all = vec![
            add("a", "5 s", b"x"),
            add("b", "5 s", b"x"),
            add("c", "6 s", b"x"),
            add("d", "6 s", b"y"),
        ];
        all.dedup();
        assert_eq!(all.len(), 4);
    }

    #[test]
    #[should_panic(expected = "burn is registered twice")]
    fn a_name_is_taken_once() {
        with_burn().experiment("burn", 1, |_, _| Ok(Sample::new()));
    }

    #[test]
    #[should_panic(expected = "reads brun, which is not registered")]
    fn a_check_reads_registered_experiments() {
        with_burn().check("a.b", &["brun"], |_, _| ClaimResult::not_implemented());
    }
}
