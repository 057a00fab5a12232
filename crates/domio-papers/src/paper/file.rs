//! What `machine.toml` and `cells.toml` of a paper hold.

use super::machines::Unknown;
use crate::effort::Effort;
use domio_core::Duration;
use std::collections::BTreeMap;
use toml::Table;

/// `paper.toml`.
#[derive(Clone, Debug)]
pub struct PaperFile {
    /// First word of the names of its experiments and of the ids of its claims.
    pub id: String,
    /// Its title.
    pub title: String,
}

/// `machine.toml`.
#[derive(Clone, Debug, Default)]
pub struct MachineFile {
    /// Keys of a scenario: the host, its network, the domains that are always there.
    pub scenario: Table,
    /// Keys that every task with a workload has, by the word of the workload.
    pub workload: BTreeMap<String, Table>,
    /// What the paper does not say.
    pub unknowns: Vec<Unknown>,
    /// Ids of the claims on which the best machine is chosen.
    pub calibration: Vec<String>,
}

/// `[[suite]]`: tests and configurations, each of which meets each, on one base.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Name for people and messages.
    pub name: String,
    /// Name of a shipped scenario to start from, instead of the machine.
    pub shipped: Option<String>,
    /// Start from nothing, instead of the machine.
    pub alone: bool,
    /// What is put on top of that.
    pub scenario: Table,
    /// How long after the measured time replies are waited for, in seconds.
    pub patience_s: f64,
    /// How long tests are, by name.
    pub times: BTreeMap<String, Times>,
    /// The guests, of which tests say what each does.
    pub guests: Option<Guests>,
    /// What a guest may do, by name.
    pub role: BTreeMap<String, RoleFile>,
    /// What is measured.
    pub figure: Vec<MeasureFile>,
    /// Its tests.
    pub test: Vec<TestFile>,
    /// Its configurations.
    pub configuration: Vec<ConfigurationFile>,
    /// One experiment simulates all configurations of a test.
    pub together: Option<Together>,
    /// Length of the intervals of figures over time.
    pub every_ms: Option<u64>,
}

/// How long a test is, and how often it is repeated at first.
#[derive(Clone, Debug)]
pub struct Times {
    /// Time before the measured time, in seconds.
    pub warmup_s: TimeByEffort,
    /// Measured time, in seconds.
    pub measured_s: TimeByEffort,
    /// Replications at full effort after which checks are looked at first.
    pub replications: u32,
}

/// A simulated time, in seconds.
#[derive(Clone, Copy, Debug)]
pub enum TimeByEffort {
    /// The same at each effort.
    Fixed(f64),
    /// By effort.
    ByEffort {
        /// At quick effort.
        quick: f64,
        /// At normal effort.
        normal: f64,
        /// At full effort.
        full: f64,
    },
}

impl TimeByEffort {
    /// The time at `effort`.
    fn at(self, effort: Effort) -> Duration {
        seconds(match (self, effort) {
            (TimeByEffort::Fixed(fixed), _) => fixed,
            (TimeByEffort::ByEffort { quick, .. }, Effort::Quick) => quick,
            (TimeByEffort::ByEffort { normal, .. }, Effort::Normal) => normal,
            (TimeByEffort::ByEffort { full, .. }, Effort::Full) => full,
        })
    }

    fn hangs_on_effort(self) -> bool {
        matches!(self, TimeByEffort::ByEffort { .. })
    }
}

/// How long cells are simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// As the effort says.
    Effort(Effort),
    /// Cells whose time depends on the effort are measured so many seconds.
    Seconds(u64),
    /// The measured times of full effort divided by that, and short warm-ups: for tests.
    Shortened(u32),
}

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Length::Effort(effort) => write!(f, "effort {effort}"),
            Length::Seconds(seconds) => write!(f, "{seconds} s"),
            Length::Shortened(divisor) => write!(f, "times divided by {divisor}"),
        }
    }
}

/// The warm-up of shortened cells whose time depends on the effort.
const SHORT_WARMUP: Duration = Duration::from_secs(2);

impl Times {
    /// Warm-up and measured time.
    pub fn of(&self, length: Length) -> (Duration, Duration) {
        let (warmup, measured) = (self.warmup_s, self.measured_s);
        let hangs = measured.hangs_on_effort();
        match length {
            Length::Effort(effort) => (warmup.at(effort), measured.at(effort)),
            Length::Seconds(asked) if hangs => {
                (warmup.at(Effort::Full), Duration::from_secs(asked))
            }
            Length::Seconds(_) => (warmup.at(Effort::Full), measured.at(Effort::Full)),
            Length::Shortened(divisor) => {
                let warmup = warmup.at(Effort::Full);
                let measured = measured.at(Effort::Full) / u64::from(divisor);
                (
                    if hangs {
                        warmup.min(SHORT_WARMUP)
                    } else {
                        warmup
                    },
                    measured,
                )
            }
        }
    }
}

/// `s` seconds.
pub fn seconds(s: f64) -> Duration {
    Duration::from_nanos((s * 1e9).round() as u64)
}

/// The guests of a suite: domains with a common name and numbers from 1.
#[derive(Clone, Debug)]
pub struct Guests {
    /// What comes before the number.
    pub name: String,
    /// Keys of each one's domain.
    pub domain: Table,
    /// What replications draw of each.
    pub vary: Vec<VaryFile>,
}

/// What a guest does.
#[derive(Clone, Debug, Default)]
pub struct RoleFile {
    /// Groups that figures name.
    pub groups: Vec<String>,
    /// Keys of its domain.
    pub domain: Table,
    /// What replications draw of it.
    pub vary: Vec<VaryFile>,
}

/// What replications draw of a guest: `[[vary]]` of a scenario, with `{name}` for the guest's name.
#[derive(Clone, Debug)]
pub struct VaryFile {
    /// Key of the domain, without its unit.
    pub key: String,
    /// Shortest, of the first guest.
    pub from_ms: f64,
    /// Longest, of the first guest.
    pub to_ms: f64,
    /// How much later both are with each guest after the first.
    pub later_ms: f64,
    /// Name of the random stream.
    pub stream: String,
}

/// What is measured, of which domains.
#[derive(Clone, Debug)]
pub struct MeasureFile {
    /// See [`super::measures`].
    pub measure: String,
    /// Of the domains of a group; of all without.
    pub group: Option<String>,
    /// Of the domain of that name.
    pub domain: Option<String>,
    /// The key of `[[vary]]` that `drawn_ms` tells.
    pub key: Option<String>,
    /// Name of the figure of each domain, with `{domain}`; without a name it is `{domain}.MEASURE`,
    /// and no domain has a figure where `over` is.
    pub name: Option<String>,
    /// Names of figures over all of these domains, by what they are: `average`, `p95`.
    pub over: BTreeMap<String, String>,
    /// A list of the first values.
    pub first: Option<First>,
    /// Name of a list of the measure in each of the suite's intervals, with `{domain}`. Figures
    /// over all domains are over all intervals as well, then.
    pub over_time: Option<String>,
    /// How much more a packet that a guest sends costs than one that it receives, for measures of
    /// charges.
    pub send_weight: Option<f64>,
}

/// A list of the first values of a measure that has many in a domain.
#[derive(Clone, Debug)]
pub struct First {
    /// Name of the list.
    pub name: String,
    /// How many.
    pub count: usize,
}

/// A test: what is done.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// Second word of its experiments' names.
    pub name: String,
    /// In the paper's words.
    pub title: String,
    /// Name of its times.
    pub times: String,
    /// The roles of the guests, in the order in which they are started; "burn x 7" are seven.
    pub guests: Vec<String>,
    /// The configurations that the test meets; without the key, all.
    pub configurations: Option<Vec<String>>,
    /// What is put on top of the suite's scenario.
    pub scenario: Table,
}

/// A configuration: how it is done.
#[derive(Clone, Debug)]
pub struct ConfigurationFile {
    /// Last word of its experiments' names.
    pub name: String,
    /// The roles of the guests, where these are the configuration's to say.
    pub guests: Vec<String>,
    /// What is put on top of the test's scenario.
    pub scenario: Table,
}

/// One experiment of all configurations of a test: its figures have the name of the configuration
/// before theirs.
#[derive(Clone, Debug)]
pub struct Together {
    /// Last word of the experiment's name.
    pub name: String,
    /// How far a figure is off a line.
    pub line: Option<LineFile>,
}

/// A figure that should be once, twice, three times that of the first configuration in the first,
/// second, third one.
#[derive(Clone, Debug)]
pub struct LineFile {
    /// The figure.
    pub figure: String,
    /// Name of the largest distance from the line, in percent of it.
    pub off_pct: String,
}
