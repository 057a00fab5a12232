//! What a sample is a sample of.

use domio_answer::rows;
use domio_scenario::Scenario;
use domio_trace::scenario_sha256;

rows! {
    /// An experiment or a scenario with its settings. Seed and replication distinguish its samples.
    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub struct Subject {
        /// Name of the experiment or scenario: "ongaro.test3.orig", "small-host".
        pub name: String = key("name").title("experiment or scenario");
        /// What was set, for people; empty for nothing.
        pub settings: String = fact("settings");
        /// Digest of everything that a sample depends on in addition to seed, replication and
        /// program.
        pub fingerprint: String = fact("fingerprint").for_programs();
    }
}

impl Subject {
    /// The subject called `name` that depends on `settings` and on `inputs`, whatever they are.
    pub fn new(name: &str, settings: &str, inputs: &[&[u8]]) -> Self {
        let mut all = Vec::new();
        for part in [name.as_bytes(), settings.as_bytes()].iter().chain(inputs) {
            // With its length before each part, no two lists of parts look alike.
            all.extend((part.len() as u64).to_le_bytes());
            all.extend(*part);
        }
        Subject {
            name: name.to_owned(),
            settings: settings.to_owned(),
            fingerprint: scenario_sha256(&all),
        }
    }

    /// A scenario: its bytes, its overrides, and the bytes of the files that it names, in the
    /// order of its plan.
    pub fn of_scenario(scenario: &Scenario, files: &[Vec<u8>]) -> Self {
        // The seed is distinguished from the rest.
        let overrides = scenario.overrides().filter(|o| !is_seed(o));
        let overrides: Vec<&str> = overrides.collect();
        let mut inputs = vec![scenario.text().as_bytes()];
        inputs.extend(files.iter().map(Vec::as_slice));
        inputs.extend(overrides.iter().map(|change| change.as_bytes()));
        let fingerprint = Subject::new("scenario", "", &inputs).fingerprint;
        Subject {
            name: scenario.name().to_owned(),
            settings: overrides.join(", "),
            fingerprint,
        }
    }
}

/// Which sample: of what, with which seed, which replication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleKey<'s> {
    /// What is simulated.
    pub subject: &'s Subject,
    /// Seed of all replications.
    pub seed: u64,
    /// Number of the replication.
    pub replication: u32,
}

fn is_seed(change: &str) -> bool {
    change
        .split_once('=')
        .is_some_and(|(key, _)| key.trim() == "seed")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "run.duration_s = 1\nscheduler.policy = \"credit\"\n\
                        [[domain]]\nname = \"g\"\nworkload = \"burn\"\n";

    fn subject(name: &str, text: &str, changes: &[(&str, &str)]) -> Subject {
        let scenario = Scenario::parse(name, text.as_bytes(), domio_sched::policies()).unwrap();
        Subject::of_scenario(&scenario.with(changes).unwrap(), &[])
    }

    #[test]
    fn a_scenario_is_known_by_its_bytes_and_overrides() {
        let plain = subject("a", TEXT, &[]);
        assert_eq!(plain.fingerprint, subject("b", TEXT, &[]).fingerprint);
        let seed = subject("a", TEXT, &[("seed", "7")]);
        assert_eq!(plain, seed, "the seed is told apart");
        let other = subject("a", &TEXT.replace("= 1", "= 2"), &[]);
        assert_ne!(plain.fingerprint, other.fingerprint);
        let set = subject("a", TEXT, &[("run.duration_s", "3")]);
        assert_ne!(plain.fingerprint, set.fingerprint);
        assert!(set.settings.contains("run.duration_s"), "{}", set.settings);
        let scenario = Scenario::parse("a", TEXT.as_bytes(), domio_sched::policies()).unwrap();
        let replayed = Subject::of_scenario(&scenario, &[b"a trace".to_vec()]);
        assert_ne!(plain.fingerprint, replayed.fingerprint);
    }

    #[test]
    fn parts_do_not_run_together() {
        let of =
            |name, settings, inputs: &[&[u8]]| Subject::new(name, settings, inputs).fingerprint;
        assert_ne!(of("ab", "c", &[]), of("a", "bc", &[]));
        assert_ne!(of("a", "", &[b"bc"]), of("a", "", &[b"b", b"c"]));
    }
}
