//! A figure of a cell, as users name it: `wake_p99(web)`, `share(web)`, `throughput`.
//!
//! A figure is named by its key (`wake_p99_us`), by its key without the unit (`wake_p99`), or by a
//! word of its key (`p99`). Of several figures with that word the one is meant whose table is
//! nearest to what people feel ([`FigureTable::nearness`](domio_core::FigureTable::nearness)): of
//! web servers, else of the network, the disks, jobs, processors. `throughput` is what a host gets
//! done, in the same order: replies, packets, disk blocks, jobs.
//!
//! In brackets is the domain. Without one the figure is of all guests: shares and rates are added,
//! and of figures that are better the smaller, or the larger, the guest counts that fares worst.

use domio_core::accounted::SHARE;
use domio_core::{Better, Figure, FigureTable};
use domio_run::Sample;
use domio_run::measure::Measures;
use std::fmt;

/// The control domain, which is no guest.
const CONTROL: &str = "Domain-0";

/// Why a text names no figure, or none that there is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FigureError {
    /// It is written in another way.
    #[error("\"{0}\" is no figure; write a measure and a domain, as wake_p99(web)")]
    Form(String),
    /// No figure has such a name.
    #[error("no measure is called \"{word}\"; there are {}", .all.join(", "))]
    Unknown {
        /// What was written.
        word: String,
        /// Those that there are, without units.
        all: Vec<&'static str>,
    },
    /// Several figures may be meant.
    #[error("\"{word}\" may be {}; write one of them", .keys.join(", "))]
    Several {
        /// What was written.
        word: String,
        /// Keys.
        keys: Vec<&'static str>,
    },
    /// The host has nothing of the kind.
    #[error("the first cell has no {word}{of}; it has {}", .there.join(", "))]
    Missing {
        /// What was written.
        word: String,
        /// " of DOMAIN", or nothing.
        of: String,
        /// Keys of what it has.
        there: Vec<&'static str>,
    },
    /// There is no figure of all guests together.
    #[error("{key} of all guests is nothing; name a domain, as {key}(web)")]
    Domain {
        /// Key of the figure.
        key: &'static str,
    },
}

/// A figure that was named; which of the declared ones that is may depend on what the host has.
#[derive(Clone, Debug)]
pub struct NamedFigure {
    word: String,
    domain: Option<String>,
}

impl NamedFigure {
    /// Reads `text`. Whether there is such a figure is seen where the figures are known.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(text: &str) -> Result<Self, FigureError> {
        let text = text.trim();
        let form = || FigureError::Form(text.to_owned());
        let (word, domain) = match text.split_once('(') {
            None => (text, None),
            Some((word, rest)) => {
                let domain = rest.strip_suffix(')').ok_or_else(form)?.trim();
                (
                    word.trim(),
                    Some(domain).filter(|domain| !domain.is_empty()),
                )
            }
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if word.is_empty() || !word.chars().all(is_word) {
            return Err(form());
        }
        Ok(NamedFigure {
            word: word.to_owned(),
            domain: domain.map(str::to_owned),
        })
    }

    /// The figures of `measures` that may be meant: one where the name alone says which.
    ///
    /// # Errors
    /// When no figure has the name.
    pub fn candidates(&self, measures: &Measures) -> Result<Vec<&'static Figure>, FigureError> {
        let word = self.word.as_str();
        let all = |is: &dyn Fn(&Figure) -> bool| measures.figures().filter(|f| is(f)).collect();
        let by_key: Vec<_> = all(&|f| f.key == word);
        let by_stem: Vec<_> = all(&|f| stem(f) == word);
        let throughput = || measures.tables().iter().filter_map(|t| t.throughput());
        let found: Vec<_> = match (by_key.is_empty(), by_stem.is_empty()) {
            (false, _) => by_key,
            (_, false) => by_stem,
            _ if word == "throughput" => throughput().collect(),
            _ => all(&|f| stem(f).split('_').any(|part| part == word)),
        };
        match found.is_empty() {
            true => Err(FigureError::Unknown {
                word: word.to_owned(),
                all: measures.figures().map(stem).collect(),
            }),
            false => Ok(found),
        }
    }

    /// The domain that is named.
    pub fn domain(&self) -> Option<&str> {
        self.domain.as_deref()
    }

    /// Decides which figure of `measures` is meant, by a sample of the host where the name leaves
    /// that open.
    ///
    /// # Errors
    /// When no figure has the name; when the sample has none of those that may be meant, or several
    /// of one group; when there is no such figure of all guests together.
    pub fn chosen(
        &self,
        measures: &Measures,
        probe: Option<&Sample>,
    ) -> Result<SweepFigure, FigureError> {
        let of = |figure| self.figure(figure);
        let candidates = self.candidates(measures)?;
        let figure = match (candidates.as_slice(), probe) {
            ([figure], _) => *figure,
            (_, Some(probe)) => {
                let there = |f: &&&'static Figure| of(f).value(probe).is_some();
                let there: Vec<_> = candidates.iter().filter(there).copied().collect();
                let mut nearest: Vec<&FigureTable> = measures.tables().to_vec();
                nearest.sort_by_key(|table| std::cmp::Reverse(table.nearness));
                let own = |table: &FigureTable| -> Vec<&'static Figure> {
                    let own = there.iter().filter(|f| table.figures.contains(f));
                    own.copied().collect()
                };
                let nearest = nearest.into_iter().map(own).find(|own| !own.is_empty());
                match nearest.as_deref() {
                    Some([figure]) => *figure,
                    Some(several) => return Err(self.several(several)),
                    None => return Err(self.missing(measures, probe)),
                }
            }
            (several, None) => return Err(self.several(several)),
        };
        match self.domain.is_none() && Over::of(figure).is_none() {
            true => Err(FigureError::Domain { key: figure.key }),
            false => Ok(of(figure)),
        }
    }

    fn figure(&self, figure: &'static Figure) -> SweepFigure {
        SweepFigure {
            declared: figure,
            domain: self.domain.clone(),
        }
    }

    fn several(&self, figures: &[&'static Figure]) -> FigureError {
        FigureError::Several {
            word: self.word.clone(),
            keys: figures.iter().map(|figure| figure.key).collect(),
        }
    }

    fn missing(&self, measures: &Measures, probe: &Sample) -> FigureError {
        let there = measures
            .figures()
            .filter(|figure| self.figure(figure).value(probe).is_some());
        FigureError::Missing {
            word: self.word.clone(),
            of: self
                .domain
                .as_ref()
                .map_or(String::new(), |d| format!(" of {d}")),
            there: there.map(|figure| figure.key).collect(),
        }
    }
}

impl fmt::Display for NamedFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.domain {
            Some(domain) => write!(f, "{}({domain})", self.word),
            None => f.write_str(&self.word),
        }
    }
}

/// The key of a figure without its unit.
fn stem(figure: &Figure) -> &'static str {
    let units = ["_pct", "_us", "_ms", "_mbps", "_mb_per_s", "_per_s"];
    let key = figure.key;
    let stems = units.iter().filter_map(|unit| key.strip_suffix(unit));
    stems.min_by_key(|stem| stem.len()).unwrap_or(key)
}

/// What a figure of all guests is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Over {
    Sum,
    Largest,
    Smallest,
}

impl Over {
    fn of(figure: &Figure) -> Option<Self> {
        match figure.better {
            _ if figure.adds_up() => Some(Over::Sum),
            Better::Lower => Some(Over::Largest),
            Better::Higher => Some(Over::Smallest),
            Better::Neither => None,
        }
    }
}

/// A figure of a domain, or of all guests.
#[derive(Clone, Debug)]
pub struct SweepFigure {
    /// What is measured.
    pub declared: &'static Figure,
    /// Of whom; `None` for all guests.
    pub domain: Option<String>,
}

impl SweepFigure {
    /// Its value in a replication, in the unit of the figure; `None` where nothing was measured.
    pub fn value(&self, sample: &Sample) -> Option<f64> {
        if let Some(domain) = &self.domain {
            return sample.get(&self.declared.name(domain));
        }
        let guests = domains(sample).filter(|domain| *domain != CONTROL);
        let values = guests.filter_map(|domain| sample.get(&self.declared.name(domain)));
        match Over::of(self.declared)? {
            Over::Sum => values.reduce(|a, b| a + b),
            Over::Largest => values.reduce(f64::max),
            Over::Smallest => values.reduce(f64::min),
        }
    }

    /// Whether a smaller value is better, or a larger one; a share is neither.
    pub fn better(&self) -> Better {
        self.declared.better
    }

    /// What people call it: "wake to run, p99, of web".
    pub fn title(&self) -> String {
        let title = self.declared.title;
        match (&self.domain, Over::of(self.declared)) {
            (Some(domain), _) => format!("{title}, of {domain}"),
            (None, Some(Over::Sum)) => format!("{title}, of all guests"),
            (None, _) => format!("{title}, of the guest that fares worst"),
        }
    }
}

impl fmt::Display for SweepFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.domain {
            Some(domain) => write!(f, "{}({domain})", self.declared.key),
            None => f.write_str(self.declared.key),
        }
    }
}

/// Names of the domains of a sample. Every domain has a share.
pub fn domains(sample: &Sample) -> impl Iterator<Item = &str> {
    sample
        .values()
        .filter_map(|(name, _)| name.strip_suffix(SHARE)?.strip_suffix('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sample {
        Sample::new()
            .with("Domain-0.share_pct", 9.0)
            .with("Domain-0.wake_p99_us", 9_000.0)
            .with("a.share_pct", 30.0)
            .with("a.wake_p99_us", 5.0)
            .with("a.net_mbps", 70.0)
            .with("b.share_pct", 40.0)
            .with("b.wake_p99_us", 7.0)
            .with("b.net_mbps", 20.0)
            .with("b.run_p50_us", 3.0)
    }

    fn value(text: &str) -> Result<f64, String> {
        let told = |e: FigureError| e.to_string();
        let named = NamedFigure::parse(text).map_err(told)?;
        let figure = named
            .chosen(&Measures::shipped(), Some(&sample()))
            .map_err(told)?;
        figure.value(&sample()).ok_or_else(|| "nothing".to_owned())
    }

    #[test]
    fn a_domain_stands_in_brackets() {
        assert_eq!(value("wake_p99(a)"), Ok(5.0));
        assert_eq!(value(" wake_p99_us ( Domain-0 )"), Ok(9_000.0));
        assert_eq!(value("run_p50(b)"), Ok(3.0));
        assert_eq!(value("wake_p99(c)"), Err("nothing".to_owned()));
    }

    #[test]
    fn all_guests_are_added_up_or_the_worst_of_them() {
        assert_eq!(value("share"), Ok(70.0));
        assert_eq!(value("net"), Ok(90.0));
        assert_eq!(value("wake_p99"), Ok(7.0));
        assert!(value("run_p50").unwrap_err().contains("run_p50_us(web)"));
    }

    #[test]
    fn a_word_means_what_the_host_has() {
        assert_eq!(value("throughput"), Ok(90.0));
        assert_eq!(value("p99"), Ok(7.0));
        assert_eq!(value("p99(a)"), Ok(5.0));
        let with = |key: &str| sample().with(&format!("a.{key}"), 1.0);
        let meant = |word: &str, sample: &Sample| {
            let figure = NamedFigure::parse(word)
                .unwrap()
                .chosen(&Measures::shipped(), Some(sample));
            figure
                .map(|figure| figure.declared.key)
                .map_err(|e| e.to_string())
        };
        let jobs = with("turnaround_p99_ms");
        assert_eq!(meant("p99", &jobs), Ok("turnaround_p99_ms"));
        let pinged = jobs.with("a.ping_p99_ms", 1.0);
        assert_eq!(meant("p99", &pinged), Ok("ping_p99_ms"));
        let disk = with("disk_read_p99_ms").with("a.disk_write_p99_ms", 1.0);
        let several = meant("p99", &disk).unwrap_err();
        assert!(
            several.contains("may be disk_read_p99_ms, disk_write_p99_ms"),
            "{several}"
        );
        let told = value("p50(b)").unwrap();
        assert_eq!(told, 3.0, "b has no other median");
        let told = value("ping").unwrap_err();
        assert!(
            told.contains("the first cell has no ping; it has share_pct"),
            "{told}"
        );
        let figure = NamedFigure::parse("p99").unwrap();
        assert!(figure.candidates(&Measures::shipped()).unwrap().len() > 1);
        let told = figure
            .chosen(&Measures::shipped(), None)
            .unwrap_err()
            .to_string();
        assert!(
            told.contains("may be wake_p99_us, turnaround_p99_ms"),
            "{told}"
        );
    }

    #[test]
    fn every_figure_has_a_short_name_of_its_own() {
        let measures = Measures::shipped();
        let found = |word: &str| NamedFigure::parse(word).unwrap().candidates(&measures);
        let plain = |word: &str| found(word).is_ok_and(|found| found.len() == 1);
        for figure in measures.figures() {
            let by_stem = found(stem(figure)).expect("it is its own");
            let key = figure.key;
            assert!(by_stem.iter().any(|f| f.key == key), "{key}");
            assert!(plain(key));
        }
        assert!(plain("share") && plain("wake_p99") && plain("jobs_done") && plain("replies"));
    }

    #[test]
    fn what_is_no_figure_is_told() {
        for text in ["", "wake p99", "share(web", "(web)", "share(a))x"] {
            assert!(NamedFigure::parse(text).is_err(), "{text}");
        }
        let banana = NamedFigure::parse("banana(web)").unwrap();
        let told = banana
            .candidates(&Measures::shipped())
            .unwrap_err()
            .to_string();
        assert!(
            told.contains("\"banana\"") && told.contains("wake_p99"),
            "{told}"
        );
    }

    #[test]
    fn titles_say_of_whom() {
        let title = |text| {
            let figure = NamedFigure::parse(text)
                .unwrap()
                .chosen(&Measures::shipped(), None)
                .unwrap();
            figure.title()
        };
        assert_eq!(title("share(web)"), "share, of web");
        assert_eq!(title("share"), "share, of all guests");
        assert_eq!(
            title("wake_p99"),
            "wake to run, p99, of the guest that fares worst"
        );
    }
}
