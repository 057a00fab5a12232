//! Reads statements from the tables of a file of claims, with every mistake.

mod measures;
mod words;

use super::decide::claims_own;
use super::{Clause, Gauge, Least, Operand, Recipe, Relation, ShownFigures, Statement, Versus};
use crate::claim::Claim;
use crate::strict::{SAID, said};
use crate::tolerance::Tolerance;
use domio_core::keys::{
    Checker, Code, KeySection, KeyTable, Keys, Mistake, Need, Slot, Span, WordOf, figure, flag,
    form, list, texts, word,
};
use std::sync::Arc;
use words::Placed;

pub(crate) use words::Vocabulary;

/// `[[claim.check]]`.
pub(crate) static CHECK: KeySection =
    KeySection::plain("[[claim.check]]", "What decides a claim.", CheckKeys::KEYS);

keys! {
    struct CheckKeys {
        measure: Vec<String> = texts(), Need::Optional("the cells say"),
            "What is measured of the cells.";
        cells: Vec<String> = texts(), Need::Required, "The cells.";
        over: Vec<String> = texts(), Need::Optional("none"), "More than these.";
        under: Vec<String> = texts(), Need::Optional("none"), "Less than these.";
        within: Vec<String> = texts(), Need::Optional("none"), "Close to these.";
        factor: String = figure(), Need::Optional("1"), "More, or less, than so many times.";
        part: String = figure(), Need::Optional("none"), "Closer than this part of the other.";
        pairs: bool = word(&PAIRS), Need::Word("all"), "Which cells are compared.";
        below: String = figure(), Need::Optional("none"), "Less than this.";
        above: String = figure(), Need::Optional("none"), "More than this.";
        never: bool = flag(), Need::Int(0), "Zero in every replication.";
        always: bool = flag(), Need::Int(0), "Not zero in any replication.";
        near: String = figure(), Need::Optional("none"), "The figure that the paper prints.";
        tolerance: String = form(&SAID, said), Need::Optional("the claim's"), "How far from it.";
        at_least: "at-least" String = figure(), Need::Optional("all"), "So many are so.";
        of: String = form(&SAID, said), Need::Optional("that are so"), "Of what, for people.";
    }
}

static PAIRS: [WordOf<bool>; 2] = [
    WordOf::new("all", false, "Each with each."),
    WordOf::new("matched", true, "The n-th with the n-th."),
];

/// Word of `show` for the figure that is farthest from what it should be near.
const FARTHEST: &str = "farthest";

/// Which relation a check has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Compared(Versus),
    Below,
    Above,
    Never,
    Always,
    Near,
}

/// Relations, of which each check has one.
const RELATIONS: [(&str, Which); 8] = [
    ("over", Which::Compared(Versus::Over)),
    ("under", Which::Compared(Versus::Under)),
    ("within", Which::Compared(Versus::Within)),
    ("below", Which::Below),
    ("above", Which::Above),
    ("never", Which::Never),
    ("always", Which::Always),
    ("near", Which::Near),
];

/// What a claim says of its statement.
pub(crate) struct Said<'t> {
    /// The checks, one at least.
    pub checks: &'t [Box<dyn KeyTable>],
    /// Figures to show.
    pub show: Vec<Placed>,
    /// Figures to show as numbers.
    pub numbers: Vec<Placed>,
    /// Further measured figures.
    pub also: Vec<Placed>,
    /// What to say of the decision.
    pub how: Option<String>,
    /// Where the claim begins.
    pub at: Span,
}

impl Vocabulary {
    /// The statement of `claim`; `None` when it has mistakes.
    pub fn statement(
        &self,
        cx: &mut dyn Checker,
        says: Said<'_>,
        claim: &Claim,
    ) -> Option<Statement> {
        let mut clauses = Vec::new();
        let mut good = true;
        for table in says.checks {
            match self.clauses(cx, &**table, claim) {
                Some(own) => clauses.extend(own),
                None => good = false,
            }
        }
        let shows = self.shows(cx, &says, &clauses);
        let also = self.operands(cx, &says.also, None);
        good &= also.len() == says.also.len();
        let only_shown = |operand: &&Operand| matches!(operand.gauge.recipe, Recipe::Median(_));
        let judged = clauses.iter().flat_map(Clause::operands);
        let beside = match &shows {
            Some(ShownFigures::Operands(list)) if list.len() > 1 => list.as_slice(),
            Some(ShownFigures::Numbers(list)) => list.as_slice(),
            _ => &[],
        };
        if let Some(operand) = judged.chain(&also).chain(beside).find(only_shown) {
            let key = &operand.gauge.key;
            let what = format!("the measure `{key}` is a median, which has no value a replication");
            cx.tell(
                Mistake::new(Code::Conflict, says.at, what)
                    .expected("a measure with a value of each replication")
                    .hint("a median can only be all that `show` names"),
            );
            return None;
        }
        Some(Statement {
            paper: claim.paper().to_owned(),
            clauses,
            shows: shows.filter(|_| good)?,
            also,
            how: says.how,
        })
    }

    /// What a check asks for, of each of its measures; `None` when something is wrong.
    fn clauses(
        &self,
        cx: &mut dyn Checker,
        table: &dyn KeyTable,
        claim: &Claim,
    ) -> Option<Vec<Clause>> {
        let check = Check {
            keys: CheckKeys::read(table),
            table,
            words: self,
            claim,
        };
        let which = check.which(cx)?;
        let mut good = check.belong_together(cx, which);
        let gauges: Vec<Option<Arc<Gauge>>> = match check.keys.measure.given {
            false => vec![None],
            true => {
                let names = table.texts(&check.keys.measure).into_iter();
                let found = names.map(|(at, name)| self.measure(cx, at, &name));
                let found: Vec<_> = found.collect();
                good &= found.iter().all(Option::is_some);
                found.into_iter().filter(Option::is_some).collect()
            }
        };
        let cells = table.texts(&check.keys.cells);
        let mut clauses = Vec::new();
        for gauge in gauges {
            let left = self.operands(cx, &cells, gauge.as_ref());
            good &= left.len() == cells.len();
            match check.clause(cx, which, left) {
                Some(clause) => clauses.push(clause),
                None => good = false,
            }
        }
        good.then_some(clauses)
    }

    fn shows(
        &self,
        cx: &mut dyn Checker,
        says: &Said<'_>,
        clauses: &[Clause],
    ) -> Option<ShownFigures> {
        let Said { show, numbers, .. } = says;
        if let (Some(_), Some((at, _))) = (show.first(), numbers.first()) {
            let what = "a claim has `show` or `numbers`, not both";
            cx.tell(Mistake::new(Code::Conflict, *at, what).expected("one of the two"));
            return None;
        }
        if let [(at, word)] = show.as_slice()
            && word == FARTHEST
        {
            let is_near = |clause: &Clause| matches!(clause.relation, Relation::Near(..));
            if !clauses.is_empty() && !clauses.iter().any(is_near) {
                let what = format!("`{FARTHEST}` needs a check with `near`");
                cx.tell(Mistake::new(Code::Conflict, *at, what));
                return None;
            }
            return Some(ShownFigures::Farthest);
        }
        let mut operands = |texts: &[Placed]| {
            let list = self.operands(cx, texts, None);
            (list.len() == texts.len()).then_some(list)
        };
        match (show.is_empty(), numbers.is_empty()) {
            (_, false) => operands(numbers).map(ShownFigures::Numbers),
            (false, true) => operands(show).map(ShownFigures::Operands),
            (true, true) => Some(ShownFigures::Operands(usual(clauses))),
        }
    }
}

/// A check under way.
struct Check<'c> {
    keys: CheckKeys,
    table: &'c dyn KeyTable,
    words: &'c Vocabulary,
    claim: &'c Claim,
}

impl Check<'_> {
    fn missing(&self, what: &str, expected: impl Into<String>) -> Mistake {
        Mistake::new(Code::MissingKey, self.table.header(), what).expected(expected)
    }

    /// The relation that the check has.
    fn which(&self, cx: &mut dyn Checker) -> Option<Which> {
        let there = RELATIONS.iter();
        let there = there.filter(|(key, _)| self.table.place(key).is_some());
        let there: Vec<&(&str, Which)> = there.collect();
        let one_of = format!("one of: {}", list(RELATIONS.map(|(key, _)| key)));
        match there[..] {
            [(_, which)] => return Some(*which),
            [] => cx.tell(self.missing("the check has no relation", one_of)),
            _ => {
                let several: Vec<&str> = there.iter().map(|(key, _)| *key).collect();
                let what = format!("the check has {}", several.join(" and "));
                cx.tell(
                    Mistake::new(Code::Conflict, self.table.header(), what)
                        .expected(one_of)
                        .hint("write a check for each"),
                );
            }
        }
        None
    }

    /// Reports keys that the relation has no use for; whether there are none.
    fn belong_together(&self, cx: &mut dyn Checker, which: Which) -> bool {
        let keys = &self.keys;
        let compared = matches!(which, Which::Compared(_));
        let within = which == Which::Compared(Versus::Within);
        let given = |slot: &Slot<String>| (slot.given, self.table.misplaced(slot), slot.name);
        let pairs = (
            keys.pairs.given,
            self.table.misplaced(&keys.pairs),
            keys.pairs.name,
        );
        let all = [
            (given(&keys.factor), compared && !within, "over, under"),
            (given(&keys.part), within, "within"),
            (pairs, compared, "over, under, within"),
            (given(&keys.tolerance), which == Which::Near, "near"),
            (given(&keys.of), keys.at_least.given, "at-least"),
        ];
        let mut good = true;
        for ((is_given, mistake, name), belongs, with) in all {
            if is_given && !belongs {
                good = false;
                cx.tell(mistake.says(
                    format!("`{name}` does not belong here"),
                    format!("`{name}` with {with}"),
                    "remove the key",
                ));
            }
        }
        good
    }

    /// The clause of the operands `left`, which are those of one measure.
    fn clause(&self, cx: &mut dyn Checker, which: Which, left: Vec<Operand>) -> Option<Clause> {
        let left = self.joined(cx, left)?;
        let relation = self.relation(cx, which, &left)?;
        let least = self.least(cx, &left, &relation)?;
        Some(Clause {
            line: cx.line(self.table.header()),
            left,
            relation,
            least,
        })
    }

    fn relation(&self, cx: &mut dyn Checker, which: Which, left: &Operand) -> Option<Relation> {
        let keys = &self.keys;
        let number = |cx: &mut dyn Checker, slot| self.words.number(cx, self.table, slot);
        match which {
            Which::Compared(how) => self.comparison(cx, how, left),
            Which::Below => number(cx, &keys.below).map(Relation::Below),
            Which::Above => number(cx, &keys.above).map(Relation::Above),
            Which::Never => self.true_alone(cx, &keys.never).then_some(Relation::Never),
            Which::Always => self
                .true_alone(cx, &keys.always)
                .then_some(Relation::Always),
            Which::Near => {
                let published = number(cx, &keys.near)?;
                Some(Relation::Near(published, self.tolerance(cx, left)?))
            }
        }
    }

    /// Whether `slot` is true. False is a mistake, as leaving the key out says that.
    fn true_alone(&self, cx: &mut dyn Checker, slot: &Slot<bool>) -> bool {
        let set = slot.get();
        if set == Some(false) {
            cx.tell(self.table.wrong(Code::OutOfRange, slot, "false").says(
                format!("`{}` can only be true", slot.name),
                "true",
                "leave the key out otherwise",
            ));
        }
        set == Some(true)
    }

    /// The check's own tolerance, `Some(None)` for the claim's.
    fn tolerance(&self, cx: &mut dyn Checker, left: &Operand) -> Option<Option<Tolerance>> {
        const FORMS: &str = "\"x2\", \"25%\", \"2pt\", \"0.08\" or \"1.2 to 2.2\"";
        let slot = &self.keys.tolerance;
        if let Some(text) = slot.if_given()? {
            let tolerance = Tolerance::parse(&text);
            if tolerance.is_none() {
                let mistake = self.table.wrong(Code::OutOfRange, slot, text.as_str());
                let what = format!("\"{text}\" is no tolerance");
                cx.tell(mistake.says(what, FORMS, "the form says how far either way"));
            }
            return tolerance.map(Some);
        }
        if claims_own(self.claim, &left.gauge.unit).is_some() {
            return Some(None);
        }
        let what = match &self.claim.tolerance {
            None => "the claim has no tolerance".to_owned(),
            Some(text) => format!("the claim's tolerance \"{text}\" is not one figure"),
        };
        let mistake = self.missing(&what, format!("a `tolerance` of the check, as {FORMS}"));
        cx.tell(mistake.hint("give the check a tolerance of its own"));
        None
    }

    fn comparison(&self, cx: &mut dyn Checker, how: Versus, left: &Operand) -> Option<Relation> {
        let keys = &self.keys;
        let slot = match how {
            Versus::Over => &keys.over,
            Versus::Under => &keys.under,
            Versus::Within => &keys.within,
        };
        let others = self.table.texts(slot);
        let right = self.words.operands(cx, &others, Some(&left.gauge));
        if right.len() < others.len() || !slot.given {
            return None;
        }
        let factor = match how {
            Versus::Within if !keys.part.given => {
                let what = "`within` needs a `part`";
                cx.tell(self.missing(what, "`part = 0.1` for a tenth of the other"));
                return None;
            }
            Versus::Within => self.words.number(cx, self.table, &keys.part)?,
            _ if keys.factor.given => self.words.number(cx, self.table, &keys.factor)?,
            _ => 1.0,
        };
        if factor <= 0.0 {
            let what = "a factor or part is not over zero";
            cx.tell(Mistake::new(Code::OutOfRange, self.table.header(), what));
            return None;
        }
        let matched = keys.pairs.get()?;
        let single = |operand: &Operand| operand.choice.is_none();
        let mut good = true;
        let mut clash = |what: String, expected: &str| {
            good = false;
            let mistake = Mistake::new(Code::Conflict, self.table.header(), what);
            cx.tell(mistake.expected(expected));
        };
        for operand in &right {
            let (here, there) = (left.cells.len(), operand.cells.len());
            if matched && (here != there || !single(left) || !single(operand)) {
                let key = slot.name;
                clash(
                    format!("matched pairs of {here} cells on the left and {there} in `{key}`"),
                    "as many cells on both sides, each by itself",
                );
            }
            let (here, there) = (left.gauge.count(), operand.gauge.count());
            if there != 1 && here != there {
                let (own, other) = (&left.gauge.key, &operand.gauge.key);
                clash(
                    format!("`{own}` has {here} figures and `{other}` has {there}"),
                    "as many figures, or one",
                );
            }
        }
        good.then_some(Relation::Compared {
            how,
            factor,
            right,
            matched,
        })
    }

    /// How many have to be so, `Some(None)` for all.
    fn least(
        &self,
        cx: &mut dyn Checker,
        left: &Operand,
        relation: &Relation,
    ) -> Option<Option<Least>> {
        let slot = &self.keys.at_least;
        if !slot.given {
            return Some(None);
        }
        let count = self.words.number(cx, self.table, slot)?;
        let here = left.units();
        let most = match relation {
            Relation::Compared {
                right,
                matched: false,
                ..
            } => right.iter().map(Operand::units).sum(),
            Relation::Compared { .. } => here,
            _ => here * left.gauge.count(),
        };
        if count.fract() != 0.0 || !(1.0..=most as f64).contains(&count) {
            let found = slot.get()?;
            cx.tell(self.table.wrong(Code::OutOfRange, slot, found).says(
                format!("`{}` is not so many of those that are compared", slot.name),
                format!("a whole number of 1 to {most}"),
                "without the key all have to be so",
            ));
            return None;
        }
        Some(Some(Least {
            count: count as usize,
            what: self.keys.of.or("that are so".to_owned())?,
        }))
    }

    /// One operand with the cells of all of `list`.
    fn joined(&self, cx: &mut dyn Checker, list: Vec<Operand>) -> Option<Operand> {
        let mut rest = list.into_iter();
        let mut first = rest.next()?;
        for other in rest {
            if other.gauge != first.gauge || other.choice.is_some() || first.choice.is_some() {
                let what = "`cells` has several measures, or lowest, highest or mean beside others";
                cx.tell(
                    Mistake::new(Code::Conflict, self.table.header(), what)
                        .expected("cells of one measure")
                        .hint("write a check for each"),
                );
                return None;
            }
            first.cells.extend(other.cells);
        }
        Some(first)
    }
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
