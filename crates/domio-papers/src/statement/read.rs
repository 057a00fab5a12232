//! Reads statements from the tables of a file of claims, with every mistake.

mod measures;
mod words;

use super::decide::claims_own;
use super::{Clause, Gauge, Least, Operand, Recipe, Relation, ShownFigures, Statement, Versus};
use crate::claim::Claim;
use crate::strict::{Placed, Strict};
use crate::tolerance::Tolerance;
use std::ops::Range;
use std::sync::Arc;
use toml::de::DeTable;

pub(crate) use words::Vocabulary;

/// Keys of a claim that say how it is decided.
pub(crate) const CLAIM_KEYS: [&str; 5] = ["check", "show", "numbers", "also", "how"];

const CHECK_KEYS: [&str; 16] = [
    "measure",
    "cells",
    "over",
    "under",
    "within",
    "factor",
    "part",
    "pairs",
    "below",
    "above",
    "never",
    "always",
    "near",
    "tolerance",
    "at-least",
    "of",
];

/// Word of `show` for the figure that is farthest from what it should be near.
const FARTHEST: &str = "farthest";

/// Relations, of which each check has one.
const RELATIONS: [&str; 8] = [
    "over", "under", "within", "below", "above", "never", "always", "near",
];

impl Vocabulary {
    /// The statement of `claim`, whose table is at `at`; `None` when it has no checks, and when it
    /// has mistakes.
    pub fn statement<'t>(
        &self,
        strict: &mut Strict<'t>,
        at: &Range<usize>,
        fields: &DeTable<'t>,
        claim: &Claim,
    ) -> Option<Statement> {
        let checks = strict.tables(fields, "check", "claim.check");
        if checks.is_empty() {
            for key in CLAIM_KEYS {
                let Some(value) = fields.get(key) else {
                    continue;
                };
                // A check that is no list of tables has been told.
                let told = key == "check" && !value.get_ref().is_array();
                if !told {
                    let what = format!("\"{key}\" belongs to a claim with a [[claim.check]]");
                    strict.mistake(value.span(), what);
                }
            }
            return None;
        }
        let before = strict.mistakes.len();
        let mut clauses = Vec::new();
        for (at, check) in &checks {
            clauses.extend(self.clauses(strict, at, check, claim));
        }
        let shows = self.shows(strict, fields, &clauses);
        let also = strict.texts(fields, "also");
        let also = also
            .iter()
            .filter_map(|text| self.operand(strict, text, None));
        let also: Vec<Operand> = also.collect();
        let how = strict.text_if_any(fields, "how").map(|(_, how)| how);
        let only_shown = |operand: &&Operand| matches!(operand.gauge.recipe, Recipe::Median(_));
        let judged = clauses.iter().flat_map(Clause::operands);
        let beside = match &shows {
            ShownFigures::Operands(list) if list.len() > 1 => list.as_slice(),
            ShownFigures::Numbers(list) => list.as_slice(),
            _ => &[],
        };
        if let Some(operand) = judged.chain(&also).chain(beside).find(only_shown) {
            let what = format!(
                "the measure \"{}\" is a median, which has no value a replication; it can only be \
                 all that \"show\" names",
                operand.gauge.key
            );
            strict.mistake(at.clone(), what);
        }
        (strict.mistakes.len() == before).then(|| Statement {
            paper: claim.paper().to_owned(),
            clauses,
            shows,
            also,
            how,
        })
    }

    fn clauses<'t>(
        &self,
        strict: &mut Strict<'t>,
        at: &Range<usize>,
        check: &DeTable<'t>,
        claim: &Claim,
    ) -> Vec<Clause> {
        strict.known(check, &CHECK_KEYS);
        let Some(relation) = self.relation_key(strict, at, check) else {
            return Vec::new();
        };
        misplaced(strict, check, relation);
        let cells = strict.texts(check, "cells");
        if check.get("cells").is_none() {
            strict.mistake(at.clone(), "the check has no \"cells\"");
        }
        let measures = strict.texts(check, "measure");
        let gauges: Vec<Option<Arc<Gauge>>> = match measures.as_slice() {
            [] => vec![None],
            some => {
                let found = some.iter().map(|(at, name)| self.measure(strict, at, name));
                found.filter(Option::is_some).collect()
            }
        };
        let line = strict.line(at);
        let mut clauses = Vec::new();
        for gauge in gauges {
            let left = cells
                .iter()
                .filter_map(|text| self.operand(strict, text, gauge.as_ref()));
            let left: Vec<Operand> = left.collect();
            let Some(left) = joined(strict, at, left) else {
                continue;
            };
            let relation = self.relation(strict, at, check, relation, &left, claim);
            let least = self.least(strict, check, &left, relation.as_ref());
            clauses.extend(relation.map(|relation| Clause {
                line,
                left,
                relation,
                least,
            }));
        }
        clauses
    }

    fn relation_key(
        &self,
        strict: &mut Strict<'_>,
        at: &Range<usize>,
        check: &DeTable<'_>,
    ) -> Option<&'static str> {
        let there: Vec<&str> = RELATIONS
            .into_iter()
            .filter(|key| check.get(*key).is_some())
            .collect();
        let list = RELATIONS.join(", ");
        match there.as_slice() {
            [one] => return RELATIONS.into_iter().find(|key| key == one),
            [] => strict.mistake(at.clone(), format!("the check has none of {list}")),
            several => {
                let several = several.join(" and ");
                let what = format!("the check has {several}; expected one of {list}");
                strict.mistake(at.clone(), what);
            }
        }
        None
    }

    fn relation<'t>(
        &self,
        strict: &mut Strict<'t>,
        at: &Range<usize>,
        check: &DeTable<'t>,
        key: &'static str,
        left: &Operand,
        claim: &Claim,
    ) -> Option<Relation> {
        let number = |strict: &mut Strict<'t>| self.number_if_any(strict, check, key);
        match key {
            "below" => Some(Relation::Below(number(strict)?)),
            "above" => Some(Relation::Above(number(strict)?)),
            "never" => strict.flag(check, key).then_some(Relation::Never),
            "always" => strict.flag(check, key).then_some(Relation::Always),
            "near" => {
                let published = number(strict)?;
                let tolerance = self.tolerance(strict, at, check, left, claim)?;
                Some(Relation::Near(published, tolerance))
            }
            _ => self.comparison(strict, at, check, key, left),
        }
    }

    /// The check's own tolerance, `Some(None)` for the claim's.
    fn tolerance(
        &self,
        strict: &mut Strict<'_>,
        at: &Range<usize>,
        check: &DeTable<'_>,
        left: &Operand,
        claim: &Claim,
    ) -> Option<Option<Tolerance>> {
        const FORMS: &str = "\"x2\", \"25%\", \"2pt\", \"0.08\" or \"1.2 to 2.2\"";
        if check.get("tolerance").is_some() {
            let (at, text) = strict.text_if_any(check, "tolerance")?;
            let tolerance = Tolerance::parse(&text);
            if tolerance.is_none() {
                strict.mistake(at, format!("\"{text}\" is no tolerance; expected {FORMS}"));
            }
            return tolerance.map(Some);
        }
        if claims_own(claim, &left.gauge.unit).is_some() {
            return Some(None);
        }
        let what = match &claim.tolerance {
            None => "the claim has no tolerance".to_owned(),
            Some(text) => format!("the claim's tolerance \"{text}\" is not one figure"),
        };
        let what = format!("{what}; give the check a tolerance of its own, as {FORMS}");
        strict.mistake(at.clone(), what);
        None
    }

    fn comparison<'t>(
        &self,
        strict: &mut Strict<'t>,
        at: &Range<usize>,
        check: &DeTable<'t>,
        key: &str,
        left: &Operand,
    ) -> Option<Relation> {
        let texts = strict.texts(check, key);
        let right = texts
            .iter()
            .map(|text| self.operand(strict, text, Some(&left.gauge)));
        let right: Vec<Operand> = right.collect::<Option<_>>()?;
        let (how, factor) = match key {
            "within" => {
                if check.get("part").is_none() {
                    let what = "\"within\" needs a \"part\": 0.1 for a tenth of the other";
                    strict.mistake(at.clone(), what);
                }
                (Versus::Within, self.number_if_any(strict, check, "part")?)
            }
            key => {
                let how = match key {
                    "over" => Versus::Over,
                    _ => Versus::Under,
                };
                let factor = match check.get("factor") {
                    None => 1.0,
                    Some(value) => self.number(strict, "factor", value)?,
                };
                (how, factor)
            }
        };
        if factor <= 0.0 {
            strict.mistake(at.clone(), "a factor or part is not over zero");
        }
        let twins = self.twins(strict, check)?;
        for operand in right.iter().filter(|_| twins) {
            let (here, there) = (left.cells.len(), operand.cells.len());
            let single = left.choice.is_none() && operand.choice.is_none();
            if here != there || !single {
                let what = format!(
                    "twins need as many cells on both sides, each by itself: {here} on the left, \
                     {there} in \"{key}\""
                );
                strict.mistake(at.clone(), what);
            }
        }
        for operand in &right {
            let (here, there) = (left.gauge.count(), operand.gauge.count());
            if there != 1 && here != there {
                let what = format!(
                    "\"{}\" has {here} figures and \"{}\" has {there}; expected as many or one",
                    left.gauge.key, operand.gauge.key
                );
                strict.mistake(at.clone(), what);
            }
        }
        Some(Relation::Compared {
            how,
            factor,
            right,
            twins,
        })
    }

    fn twins(&self, strict: &mut Strict<'_>, check: &DeTable<'_>) -> Option<bool> {
        if check.get("pairs").is_none() {
            return Some(false);
        }
        let (at, word) = strict.text_if_any(check, "pairs")?;
        match word.as_str() {
            "twins" => Some(true),
            "all" => Some(false),
            _ => {
                let what = format!("pairs \"{word}\" is not one of all, twins");
                strict.mistake(at, what);
                None
            }
        }
    }

    fn least(
        &self,
        strict: &mut Strict<'_>,
        check: &DeTable<'_>,
        left: &Operand,
        relation: Option<&Relation>,
    ) -> Option<Least> {
        let value = check.get("at-least")?;
        let count = self.number(strict, "at-least", value)?;
        let what = strict.text_if_any(check, "of").map(|(_, what)| what);
        let here = match left.choice {
            Some(_) => 1,
            None => left.cells.len(),
        };
        let most = match relation? {
            Relation::Compared {
                right,
                twins: false,
                ..
            } => right
                .iter()
                .map(|o| o.choice.map_or(o.cells.len(), |_| 1))
                .sum(),
            Relation::Compared { .. } => here,
            _ => here * left.gauge.count(),
        };
        if count.fract() != 0.0 || !(1.0..=most as f64).contains(&count) {
            let what = format!("at-least is not a whole number of 1 to {most}, which are compared");
            strict.mistake(value.span(), what);
            return None;
        }
        Some(Least {
            count: count as usize,
            what: what.unwrap_or_else(|| "that are so".to_owned()),
        })
    }

    fn shows(
        &self,
        strict: &mut Strict<'_>,
        fields: &DeTable<'_>,
        clauses: &[Clause],
    ) -> ShownFigures {
        let show = strict.texts(fields, "show");
        let numbers = strict.texts(fields, "numbers");
        if let (Some(_), Some((at, _))) = (show.first(), numbers.first()) {
            strict.mistake(at.clone(), "a claim has \"show\" or \"numbers\", not both");
        }
        if let [(at, word)] = show.as_slice()
            && word == FARTHEST
        {
            let is_near = |clause: &Clause| matches!(clause.relation, Relation::Near(..));
            if !clauses.is_empty() && !clauses.iter().any(is_near) {
                strict.mistake(at.clone(), "\"farthest\" needs a check with \"near\"");
            }
            return ShownFigures::Farthest;
        }
        let mut operands = |texts: &[Placed]| -> Vec<Operand> {
            let list = texts
                .iter()
                .filter_map(|text| self.operand(strict, text, None));
            list.collect()
        };
        match (show.is_empty(), numbers.is_empty()) {
            (_, false) => ShownFigures::Numbers(operands(&numbers)),
            (false, true) => ShownFigures::Operands(operands(&show)),
            (true, true) => ShownFigures::Operands(usual(clauses)),
        }
    }
}

/// Keeps mistakes for keys that the relation `key` has no use for.
fn misplaced(strict: &mut Strict<'_>, check: &DeTable<'_>, key: &str) {
    let companions: [(&str, &[&str]); 5] = [
        ("factor", &["over", "under"]),
        ("part", &["within"]),
        ("pairs", &["over", "under", "within"]),
        ("tolerance", &["near"]),
        ("of", &RELATIONS),
    ];
    for (companion, relations) in companions {
        let Some(value) = check.get(companion) else {
            continue;
        };
        if !relations.contains(&key) {
            let with = relations.join(", ");
            let what = format!("\"{companion}\" goes with {with}, and not with \"{key}\"");
            strict.mistake(value.span(), what);
        } else if companion == "of" && check.get("at-least").is_none() {
            strict.mistake(value.span(), "\"of\" goes with \"at-least\"");
        }
    }
}

/// One operand with the cells of all of `list`.
fn joined(strict: &mut Strict<'_>, at: &Range<usize>, list: Vec<Operand>) -> Option<Operand> {
    let mut rest = list.into_iter();
    let mut first = rest.next()?;
    for other in rest {
        if other.gauge != first.gauge || other.choice.is_some() || first.choice.is_some() {
            let what = "\"cells\" has several measures, or lowest, highest or mean beside others; \
                        write a check for each";
            strict.mistake(at.clone(), what);
            return None;
        }
        first.cells.extend(other.cells);
    }
    Some(first)
}

/// What is shown when the claim does not say: each measure of all cells that it is judged of.
fn usual(clauses: &[Clause]) -> Vec<Operand> {
    let mut shown: Vec<Operand> = Vec::new();
    for operand in clauses.iter().flat_map(Clause::operands) {
        match shown.iter_mut().find(|other| other.gauge == operand.gauge) {
            None => shown.push(Operand {
                choice: None,
                ..operand.clone()
            }),
            Some(other) => {
                for cell in &operand.cells {
                    if !other.cells.contains(cell) {
                        other.cells.push(cell.clone());
                    }
                }
            }
        }
    }
    shown
}
