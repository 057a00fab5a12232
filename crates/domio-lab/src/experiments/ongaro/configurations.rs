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
        for name in ["t", "b", "s", "tb", "ts", "bs", "tbs"] {
            let on = |letter| name.contains(letter);
            assert_eq!(options(name), (on('t'), on('b'), on('s')), "{name}");
        }
        assert_eq!(options("all-off"), (false, false, false));
        assert_eq!(options("orig"), (true, true, false));
    }
}
