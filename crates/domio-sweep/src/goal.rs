//! What a sweep is to find: `min wake_p99 where share(web) >= 30 and waiting(db) < 5`.
//!
//! ```text
//! goal      = ("min" | "max") figure [ "where" condition { "and" condition } ]
//! condition = figure ("<" | "<=" | ">" | ">=") number [ unit ]
//! ```
//!
//! A bound is in the unit of its measure unless another unit of time is behind it: `5 ms`, `200us`.
//! A cell with several replications is judged by their means.

use crate::figure::{FigureError, NamedFigure, SweepFigure};
use crate::front::Wanted;
use domio_run::Sample;
use domio_run::measure::Measures;

/// Why a text is no goal.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GoalError {
    /// It does not begin with a direction.
    #[error("\"{0}\" is no goal; write min or max, a figure and conditions, as {EXAMPLE:?}")]
    Form(String),
    /// A condition has another form.
    #[error(
        "\"{0}\" is no condition; write a figure, <, <=, > or >=, and a number, as {CONDITION:?}"
    )]
    Condition(String),
    /// The unit does not fit the measure.
    #[error("\"{unit}\" in \"{condition}\" is no unit of a figure in {of}; leave it out")]
    Unit {
        /// The unit.
        unit: String,
        /// Where it stands.
        condition: String,
        /// Unit of the measure.
        of: &'static str,
    },
    /// A figure is none.
    #[error(transparent)]
    Figure(#[from] FigureError),
}

const EXAMPLE: &str = "min wake_p99 where share(web) >= 30";
const CONDITION: &str = "share(web) >= 30";

/// How a figure is compared with a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// The longer ones first, which begin like the shorter.
const RELATIONS: [(&str, Relation); 4] = [
    ("<=", Relation::LessOrEqual),
    (">=", Relation::MoreOrEqual),
    ("<", Relation::Less),
    (">", Relation::More),
];

/// Units of time in nanoseconds.
const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A goal as it was written.
#[derive(Clone, Debug)]
pub struct NamedGoal {
    text: String,
    wanted: Wanted,
    figure: NamedFigure,
    conditions: Vec<NamedCondition>,
}

#[derive(Clone, Debug)]
struct NamedCondition {
    figure: NamedFigure,
    relation: Relation,
    bound: f64,
    unit: String,
    text: String,
}

impl NamedGoal {
    /// Reads `text`.
    ///
    /// # Errors
    /// What is wrong with the goal, a condition or a figure.
    pub fn parse(text: &str) -> Result<Self, GoalError> {
        let form = || GoalError::Form(text.to_owned());
        let text = text.trim();
        let (wanted, rest) = text.split_once(char::is_whitespace).ok_or_else(form)?;
        let wanted = match wanted {
            "min" => Wanted::Small,
            "max" => Wanted::Large,
            _ => return Err(form()),
        };
        let mut words = Words::of(rest);
        let figure = words.until("where");
        let mut conditions = Vec::new();
        if words.found {
            loop {
                let condition = words.until("and");
                conditions.push(NamedCondition::parse(&condition)?);
                if !words.found {
                    break;
                }
            }
        }
        Ok(NamedGoal {
            text: text.to_owned(),
            wanted,
            figure: NamedFigure::parse(&figure)?,
            conditions,
        })
    }

    /// As it was written.
    pub fn text(&self) -> String {
        self.text.clone()
    }

    /// The figures that it names.
    pub fn figures(&self) -> impl Iterator<Item = &NamedFigure> {
        let conditions = self.conditions.iter().map(|condition| &condition.figure);
        [&self.figure].into_iter().chain(conditions)
    }

    /// Decides which of `measures` are meant, as [`NamedFigure::chosen`].
    ///
    /// # Errors
    /// As there, and when a unit does not fit.
    pub fn chosen(&self, measures: &Measures, probe: Option<&Sample>) -> Result<Goal, GoalError> {
        let conditions = self.conditions.iter().map(|c| c.chosen(measures, probe));
        Ok(Goal {
            wanted: self.wanted,
            figure: self.figure.chosen(measures, probe)?,
            conditions: conditions.collect::<Result<_, _>>()?,
        })
    }
}

/// The rest of a text, word by word.
struct Words<'t> {
    words: std::str::SplitWhitespace<'t>,
    /// Whether the last search ended at its word, and not at the end.
    found: bool,
}

impl<'t> Words<'t> {
    fn of(text: &'t str) -> Self {
        Words {
            words: text.split_whitespace(),
            found: false,
        }
    }

    fn until(&mut self, word: &str) -> String {
        let mut before = Vec::new();
        self.found = false;
        for next in self.words.by_ref() {
            if next == word {
                self.found = true;
                break;
            }
            before.push(next);
        }
        before.join(" ")
    }
}

impl NamedCondition {
    fn parse(text: &str) -> Result<Self, GoalError> {
        let wrong = || GoalError::Condition(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (figure, rest) = text.split_at(at);
        let mut relations = RELATIONS.iter();
        let (sign, relation) = relations
            .find(|(sign, _)| rest.starts_with(sign))
            .ok_or_else(wrong)?;
        let bound = rest[sign.len()..].trim();
        let unit = bound.trim_start_matches(|c: char| c.is_ascii_digit() || "+-._".contains(c));
        let number = bound[..bound.len() - unit.len()].parse::<f64>();
        let bound = number.ok().filter(|n| n.is_finite()).ok_or_else(wrong)?;
        Ok(NamedCondition {
            figure: NamedFigure::parse(figure)?,
            relation: *relation,
            bound,
            unit: unit.trim().to_owned(),
            text: text.to_owned(),
        })
    }

    fn chosen(&self, measures: &Measures, probe: Option<&Sample>) -> Result<Condition, GoalError> {
        let figure = self.figure.chosen(measures, probe)?;
        let of = figure.declared.unit;
        let time = |unit: &str| {
            TIMES
                .iter()
                .find(|(name, _)| *name == unit)
                .map(|(_, ns)| ns)
        };
        let factor = match (self.unit.as_str(), time(&self.unit), time(of)) {
            ("", ..) => 1.0,
            ("%", ..) if of.starts_with('%') => 1.0,
            (_, Some(unit), Some(of)) => unit / of,
            (unit, ..) if unit == of => 1.0,
            (unit, ..) => {
                return Err(GoalError::Unit {
                    unit: unit.to_owned(),
                    condition: self.text.clone(),
                    of: if of.is_empty() { "no unit" } else { of },
                });
            }
        };
        Ok(Condition {
            figure,
            relation: self.relation,
            bound: self.bound * factor,
        })
    }
}

/// A goal whose figures are known.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Which way the figure is to go.
    pub wanted: Wanted,
    /// The figure.
    pub figure: SweepFigure,
    conditions: Vec<Condition>,
}

/// A figure and its bound.
#[derive(Clone, Debug)]
struct Condition {
    figure: SweepFigure,
    relation: Relation,
    bound: f64,
}

/// How well a cell does. Smaller is better; each of these is worse than all before it.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub enum Score {
    /// It meets all conditions; the figure, or its opposite, such that smaller is better.
    Meets(f64),
    /// It breaks a condition; by how much, altogether, relative to the bounds.
    Breaks(f64),
    /// A figure of the goal was not measured.
    Unmeasured,
}

impl Score {
    /// The same order in one number.
    pub fn as_number(self) -> f64 {
        // Rises with `x`, between -1 and 1.
        let squeezed = |x: f64| x / (1.0 + x.abs());
        match self {
            Score::Meets(cost) => squeezed(cost.clamp(-f64::MAX, f64::MAX)),
            Score::Breaks(by) => 3.0 + squeezed(by.min(f64::MAX)),
            Score::Unmeasured => 5.0,
        }
    }
}

impl Goal {
    /// All figures that decide: the goal's, then those of the conditions.
    pub fn figures(&self) -> Vec<SweepFigure> {
        let conditions = self
            .conditions
            .iter()
            .map(|condition| condition.figure.clone());
        [self.figure.clone()]
            .into_iter()
            .chain(conditions)
            .collect()
    }

    /// Judges a cell by the means of [`Goal::figures`].
    ///
    /// # Panics
    /// When there are not as many.
    pub fn score(&self, means: &[Option<f64>]) -> Score {
        assert_eq!(
            means.len(),
            1 + self.conditions.len(),
            "a mean for each figure"
        );
        let Some(means) = means.iter().copied().collect::<Option<Vec<f64>>>() else {
            return Score::Unmeasured;
        };
        let broken = self.conditions.iter().zip(&means[1..]);
        let broken = broken.filter_map(|(condition, mean)| condition.broken(*mean));
        match broken.reduce(|a, b| a + b) {
            Some(by) => Score::Breaks(by),
            None => Score::Meets(match self.wanted {
                Wanted::Small => means[0],
                Wanted::Large => -means[0],
            }),
        }
    }
}

impl Condition {
    /// By how much `mean` breaks it, relative to the bound; `None` when it does not.
    fn broken(&self, mean: f64) -> Option<f64> {
        let bound = self.bound;
        let (holds, beyond) = match self.relation {
            Relation::Less => (mean < bound, mean - bound),
            Relation::LessOrEqual => (mean <= bound, mean - bound),
            Relation::More => (mean > bound, bound - mean),
            Relation::MoreOrEqual => (mean >= bound, bound - mean),
        };
        (!holds).then(|| beyond / bound.abs().max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(text: &str) -> Result<Goal, String> {
        let named = NamedGoal::parse(text).map_err(|e| e.to_string())?;
        named
            .chosen(&Measures::shipped(), None)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn the_words_of_a_goal() {
        let goal = goal("min wake_p99 where share(web) >= 30 and wake_p95(db)<5ms").unwrap();
        assert_eq!(goal.wanted, Wanted::Small);
        let figures: Vec<String> = goal.figures().iter().map(|f| f.to_string()).collect();
        assert_eq!(
            figures,
            ["wake_p99_us", "share_pct(web)", "wake_p95_us(db)"]
        );
        let score = |means: [f64; 3]| goal.score(&means.map(Some));
        assert_eq!(score([7.0, 30.0, 4_999.0]), Score::Meets(7.0));
        assert_eq!(score([7.0, 15.0, 4_999.0]), Score::Breaks(0.5));
        assert_eq!(score([7.0, 15.0, 5_000.0]), Score::Breaks(0.5));
        assert_eq!(score([7.0, 30.0, 5_000.0]), Score::Breaks(0.0));
        assert_eq!(goal.score(&[Some(1.0), None, Some(1.0)]), Score::Unmeasured);
    }

    #[test]
    fn large_may_be_wanted() {
        let goal = goal("max  throughput").unwrap_err();
        assert!(goal.contains("may be"), "{goal}");
        let goal = super::tests::goal("max net").unwrap();
        let of = |mbps| goal.score(&[Some(mbps)]);
        assert!(of(9.0) < of(8.0));
    }

    #[test]
    fn scores_keep_their_order_as_numbers() {
        let order = [
            Score::Meets(f64::NEG_INFINITY),
            Score::Meets(-1e9),
            Score::Meets(-1.0),
            Score::Meets(0.0),
            Score::Meets(1_000_000.0),
            Score::Meets(1_000_001.0),
            Score::Meets(f64::INFINITY),
            Score::Breaks(0.0),
            Score::Breaks(0.1),
            Score::Breaks(f64::INFINITY),
            Score::Unmeasured,
        ];
        for pair in order.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
            assert!(pair[0].as_number() <= pair[1].as_number(), "{pair:?}");
        }
        assert!(order[4].as_number() < order[5].as_number());
        assert!(order[6].as_number() < order[7].as_number());
    }

    #[test]
    fn what_is_no_goal_is_told() {
        let told = |text: &str| goal(text).unwrap_err();
        assert!(told("wake_p99").contains("min or max"));
        assert!(told("least wake_p99").contains("min or max"));
        assert!(told("min share(web) where").contains("is no condition"));
        assert!(told("min share(web) where share(web) = 3").contains("is no condition"));
        assert!(told("min share(web) where share(web) > x").contains("is no condition"));
        assert!(told("min share(web) where share(web) > 3 ms").contains("is no unit"));
        assert!(told("min jobs_done where jobs_done > 3 s").contains("in no unit"));
        assert!(told("min wak(web)").contains("no measure"));
        assert!(goal("min share(web) where share(db) > 3 %").is_ok());
        assert!(goal("min share(web) where net > 3Mb/s and net < 9 Mb/s").is_ok());
    }
}
