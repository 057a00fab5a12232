//! The scheduler configurations of the paper's table 1.

use domio_vmm::evtchn::ScanForm;

/// One row of table 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Name in cells and figures: the paper's, in letters that a command line takes as they are.
    pub name: &'static str,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// How all kernels look for pending event channels (section 4.1): from the start of the word
    /// again after each handler, or in turns, which the paper calls patched.
    pub scan: ScanForm,
}

/// Scheduler of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduler {
    /// Credit, with the three options of the paper.
    Credit {
        /// An event invokes the scheduler at once (section 3.2).
        tickle: bool,
        /// An idle domain that gets an event has a higher priority (section 3.4).
        boost: bool,
        /// The run queue is ordered by what is left of the credits (section 4.3).
        sort: bool,
    },
    /// SEDF, which has none of them.
    Sedf,
}

const fn credit(name: &'static str, tickle: bool, boost: bool, sort: bool) -> Configuration {
    Configuration {
        name,
        scheduler: Scheduler::Credit {
            tickle,
            boost,
            sort,
        },
        scan: ScanForm::RoundRobin,
    }
}

const fn sedf(name: &'static str, scan: ScanForm) -> Configuration {
    Configuration {
        name,
        scheduler: Scheduler::Sedf,
        scan,
    }
}

/// Table 1, in its order.
pub const CONFIGURATIONS: [Configuration; 11] = [
    Configuration {
        scan: ScanForm::Restart,
        ..credit("orig", true, true, false)
    },
    credit("all-off", false, false, false),
    credit("t", true, false, false),
    credit("b", false, true, false),
    credit("s", false, false, true),
    credit("tb", true, true, false),
    credit("ts", true, false, true),
    credit("bs", false, true, true),
    credit("tbs", true, true, true),
    sedf("sedf", ScanForm::Restart),
    sedf("sedf-patched", ScanForm::RoundRobin),
];

/// The names of table 1, in its order.
pub const ALL: [&str; 11] = {
    let mut names = [""; 11];
    let mut i = 0;
    while i < names.len() {
        names[i] = CONFIGURATIONS[i].name;
        i += 1;
    }
    names
};

/// Credit with the event channel fix, in all combinations.
pub const FIXED_CREDIT: [&str; 8] = ["all-off", "t", "b", "s", "tb", "ts", "bs", "tbs"];

/// Credit with the fix and tickling, each beside its twin without: the same at the same place.
pub const TICKLING: [&str; 4] = ["t", "tb", "ts", "tbs"];
/// See [`TICKLING`].
pub const NOT_TICKLING: [&str; 4] = ["all-off", "b", "s", "bs"];

/// Credit with the fix and boost.
pub const BOOSTING: [&str; 4] = ["b", "tb", "bs", "tbs"];
/// Credit with the fix and without boost.
pub const NOT_BOOSTING: [&str; 4] = ["all-off", "t", "s", "ts"];

/// Credit with and without the fix.
pub const CREDIT: [&str; 9] = ["orig", "all-off", "t", "b", "s", "tb", "ts", "bs", "tbs"];

/// Both SEDF configurations.
pub const SEDF: [&str; 2] = ["sedf", "sedf-patched"];

/// All names of table 1 but `names`.
pub fn all_but(names: &[&str]) -> Vec<&'static str> {
    ALL.into_iter().filter(|n| !names.contains(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(name: &str) -> (bool, bool, bool) {
        let found = CONFIGURATIONS.iter().find(|c| c.name == name).unwrap();
        match found.scheduler {
            Scheduler::Credit {
                tickle,
                boost,
                sort,
            } => (tickle, boost, sort),
            Scheduler::Sedf => panic!("{name} is not credit"),
        }
    }

    #[test]
    fn names_say_what_is_on() {
        for name in FIXED_CREDIT.into_iter().filter(|n| *n != "all-off") {
            let on = |letter| name.contains(letter);
            assert_eq!(options(name), (on('t'), on('b'), on('s')), "{name}");
        }
        assert_eq!(options("all-off"), (false, false, false));
        assert_eq!(options("orig"), (true, true, false));
    }

    #[test]
    fn twins_differ_in_tickling_alone() {
        for (with, without) in TICKLING.into_iter().zip(NOT_TICKLING) {
            let ((t, b, s), (u, c, r)) = (options(with), options(without));
            assert!(t && !u && b == c && s == r, "{with} and {without}");
        }
        assert!(BOOSTING.iter().all(|n| options(n).1));
        assert!(NOT_BOOSTING.iter().all(|n| !options(n).1));
    }

    #[test]
    fn groups_are_made_of_the_table() {
        assert_eq!(all_but(&SEDF), CREDIT);
        assert_eq!(all_but(&["orig", "sedf", "sedf-patched"]), FIXED_CREDIT);
    }
}
