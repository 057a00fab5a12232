//! Reads `[measure.NAME]`.

use super::super::{Choice, Gauge, Moment, Recipe, Shape, Term};
use super::Vocabulary;
use super::words::name_is_plain;
use crate::strict::{SAID, said};
use crate::tolerance::Tolerance;
use domio_core::keys::{
    Checker, Code, KeyEntry, KeySection, KeyTable, Keys, Mistake, Need, Nested, Slot, WordOf,
    figure, form, list, nested, texts, word,
};
use std::sync::Arc;

/// `[measure.NAME]`.
pub(super) static MEASURE: KeySection =
    KeySection::plain("[measure.NAME]", "What is measured.", MeasureKeys::KEYS);

keys! {
    struct MeasureKeys {
        name: String = form(&SAID, said), Need::Required, "For people.";
        unit: String = form(&SAID, said), Need::Optional("none"), "Unit, for people.";
        value: String = form(&SAID, said), Need::Optional("none"), "A value of a sample.";
        each: String = form(&SAID, said), Need::Optional("none"),
            "Several values, as a text with braces.";
        pooled: Nested = nested(&POOLED), Need::Optional("none"),
            "What stands for many values that are not there one by one.";
        list: String = form(&SAID, said), Need::Optional("none"), "A list of a sample.";
        ratio: Vec<String> = texts(), Need::Optional("none"), "One measure over another.";
        difference: Vec<String> = texts(), Need::Optional("none"), "One measure less another.";
        take: Take = word(&TAKES), Need::Optional("each by itself"), "What is made of several.";
        from: String = figure(), Need::Optional("none"), "The part of a list from here on.";
        to: String = figure(), Need::Optional("none"), "The part of a list up to here.";
        over: String = figure(), Need::Optional("none"), "The part of a list over this.";
        tolerance: String = form(&SAID, said), Need::Optional("none"),
            "How far both ends of the part may be off.";
        times: String = figure(), Need::Optional("1"), "Of the second measure of a difference.";
    }
}

static POOLED: KeySection = KeySection::plain("pooled", "Names of values.", PooledKeys::KEYS);

keys! {
    struct PooledKeys {
        count: String = form(&SAID, said), Need::Required, "How many there are.";
        mean: String = form(&SAID, said), Need::Required, "Their mean.";
        deviation: String = form(&SAID, said), Need::Required, "Their standard deviation.";
    }
}

/// What is made of several values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Take {
    Shape(Shape),
    Ranks,
    Deviation,
    Median,
}

static TAKES: [WordOf<Take>; 9] = [
    WordOf::new("lowest", Take::Shape(Shape::Lowest), "The lowest."),
    WordOf::new("highest", Take::Shape(Shape::Highest), "The highest."),
    WordOf::new("mean", Take::Shape(Shape::Mean), "Their mean."),
    WordOf::new("spread", Take::Shape(Shape::Spread), "Highest less lowest."),
    WordOf::new(
        "unevenness",
        Take::Shape(Shape::Unevenness),
        "Spread over mean.",
    ),
    WordOf::new("fairness", Take::Shape(Shape::Fairness), "Jain's index."),
    WordOf::new("ranks", Take::Ranks, "The order of their means."),
    WordOf::new("deviation", Take::Deviation, "Their deviation."),
    WordOf::new("median", Take::Median, "The one in the middle."),
];

/// What a measure is made of, of which each has one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MadeOf {
    Value,
    Each,
    Pooled,
    List,
    Ratio,
    Difference,
}

const MADE_OF: [(&str, MadeOf); 6] = [
    ("value", MadeOf::Value),
    ("each", MadeOf::Each),
    ("pooled", MadeOf::Pooled),
    ("list", MadeOf::List),
    ("ratio", MadeOf::Ratio),
    ("difference", MadeOf::Difference),
];

/// Reads all measures of the file into `words`: those of samples first, then those of others.
pub(super) fn read(words: &mut Vocabulary, cx: &mut dyn Checker, entries: Vec<KeyEntry<'_>>) {
    let mut derived = Vec::new();
    for entry in entries {
        let name = entry.named.name.clone();
        name_is_plain(cx, &entry.named, "measure");
        if Choice::ALL.iter().any(|choice| choice.name() == name) {
            let what = format!("`{name}` has a meaning of its own before cells");
            let mistake = Mistake::new(Code::Conflict, entry.named.span, what);
            cx.tell(mistake.hint("use another name"));
        }
        if !entry.is_table {
            continue;
        }
        let table = cx.table(entry.node, &MEASURE, &entry.named.key);
        let keys = MeasureKeys::read(&table);
        let there = MADE_OF.iter();
        let there = there.filter(|(key, _)| table.place(key).is_some());
        let there: Vec<MadeOf> = there.map(|(_, of)| *of).collect();
        let measure = Measure { name, keys, table };
        match there[..] {
            [of @ (MadeOf::Ratio | MadeOf::Difference)] => derived.push((measure, of)),
            [of] => words.measures.extend(measure.gauge(words, cx, of)),
            _ => {
                let what = format!("the measure `{}` is made of {}", measure.name, there.len());
                cx.tell(
                    Mistake::new(Code::Conflict, entry.named.span, what)
                        .expected(format!("one of: {}", list(MADE_OF.map(|(key, _)| key)))),
                );
            }
        }
    }
    // Those that are made of others are made of plain ones alone, so that none goes in circles.
    let made = derived
        .iter()
        .map(|(measure, of)| measure.gauge(words, cx, *of));
    let made: Vec<_> = made.collect();
    words.measures.extend(made.into_iter().flatten());
}

/// A measure under way.
struct Measure {
    name: String,
    keys: MeasureKeys,
    table: Box<dyn KeyTable>,
}

impl Measure {
    /// The measure, by its name.
    fn gauge(
        &self,
        words: &Vocabulary,
        cx: &mut dyn Checker,
        of: MadeOf,
    ) -> Option<(String, Arc<Gauge>)> {
        let keys = &self.keys;
        let good = self.belong_together(cx, of);
        let recipe = match of {
            MadeOf::Value => keys.value.get().map(Recipe::Value),
            MadeOf::Each => self.each(words, cx),
            MadeOf::Pooled => self.pooled(cx),
            MadeOf::List => self.list(words, cx),
            MadeOf::Ratio => self.terms(words, cx, &keys.ratio).map(Recipe::Ratio),
            MadeOf::Difference => self.difference(words, cx),
        };
        let gauge = Gauge {
            key: self.name.clone(),
            name: keys.name.get()?,
            unit: keys.unit.or(String::new())?,
            recipe: recipe.filter(|_| good)?,
        };
        Some((self.name.clone(), Arc::new(gauge)))
    }

    /// Reports keys that a measure made of `of` has no use for; whether there are none.
    fn belong_together(&self, cx: &mut dyn Checker, of: MadeOf) -> bool {
        let MeasureKeys {
            take,
            from,
            to,
            over,
            tolerance,
            times,
            ..
        } = &self.keys;
        let given = |slot: &Slot<String>| (slot.given, self.table.misplaced(slot), slot.name);
        let take = (take.given, self.table.misplaced(take), take.name);
        let of_several = matches!(of, MadeOf::Each | MadeOf::Pooled | MadeOf::List);
        let of_list = of == MadeOf::List;
        let all = [
            (take, of_several, "each, pooled, list"),
            (given(from), of_list, "list"),
            (given(to), of_list, "list"),
            (given(over), of_list, "list"),
            (given(tolerance), of_list, "list"),
            (given(times), of == MadeOf::Difference, "difference"),
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

    /// Reports a word of `take` that what the measure is made of has not.
    fn no_take<T>(&self, cx: &mut dyn Checker, expected: &str) -> Option<T> {
        let mistake = match self.table.written("take") {
            Some(word) => self.table.wrong(Code::Conflict, &self.keys.take, word),
            None => Mistake::new(Code::MissingKey, self.table.header(), ""),
        };
        cx.tell(mistake.says(
            "`take` does not say what is made of the measure",
            expected,
            "other words go with other measures",
        ));
        None
    }

    fn each(&self, words: &Vocabulary, cx: &mut dyn Checker) -> Option<Recipe> {
        let text = (self.table.span(&self.keys.each), self.keys.each.get()?);
        let names = words.expanded(cx, &text)?;
        let Some(take) = self.keys.take.if_given()? else {
            return Some(Recipe::Each(names));
        };
        let names = names.into_iter().map(|(_, name)| name).collect();
        match take {
            Take::Shape(shape) => Some(Recipe::Shaped(names, shape)),
            Take::Ranks => Some(Recipe::Ranks(names)),
            Take::Deviation | Take::Median => self.no_take(
                cx,
                "one of: lowest, highest, mean, spread, unevenness, fairness, ranks",
            ),
        }
    }

    fn pooled(&self, cx: &mut dyn Checker) -> Option<Recipe> {
        let table = self.table.tables(cx, &self.keys.pooled, &POOLED).pop()?;
        let PooledKeys {
            count,
            mean,
            deviation,
        } = PooledKeys::read(&table);
        let names = [count.get()?, mean.get()?, deviation.get()?];
        let moment = match self.keys.take.if_given()? {
            Some(Take::Shape(Shape::Mean)) => Moment::Mean,
            Some(Take::Deviation) => Moment::Deviation,
            _ => return self.no_take(cx, "`take = \"mean\"` or `take = \"deviation\"`"),
        };
        Some(Recipe::Pooled { names, moment })
    }

    fn list(&self, words: &Vocabulary, cx: &mut dyn Checker) -> Option<Recipe> {
        let keys = &self.keys;
        let list = keys.list.get()?;
        let number = |cx: &mut dyn Checker, slot| words.number(cx, &*self.table, slot);
        if keys.tolerance.given && !keys.from.given {
            cx.tell(self.table.misplaced(&keys.tolerance).says(
                "`tolerance` goes with `from` and `to`",
                "`from` and `to` with it",
                "remove the key",
            ));
            return None;
        }
        let (range, closed) = match (
            keys.take.given,
            keys.over.given,
            keys.from.given,
            keys.to.given,
        ) {
            (true, false, false, false) => {
                return match keys.take.get()? {
                    Take::Median => Some(Recipe::Median(list)),
                    _ => self.no_take(cx, "`take = \"median\"`"),
                };
            }
            (false, true, false, false) => ((number(cx, &keys.over)?, f64::INFINITY), false),
            (false, false, true, true) => {
                let (from, to) = (number(cx, &keys.from)?, number(cx, &keys.to)?);
                match keys.tolerance.if_given()? {
                    None => ((from, to), true),
                    Some(text) => {
                        let tolerance = self.tolerance(cx, &text)?;
                        ((tolerance.range(from).0, tolerance.range(to).1), true)
                    }
                }
            }
            _ => {
                cx.tell(
                    Mistake::new(
                        Code::Conflict,
                        self.table.header(),
                        "the measure does not say what is made of the list",
                    )
                    .expected("`take = \"median\"`, or `over`, or `from` and `to`"),
                );
                return None;
            }
        };
        Some(Recipe::Part {
            list,
            range,
            closed,
        })
    }

    fn tolerance(&self, cx: &mut dyn Checker, text: &str) -> Option<Tolerance> {
        let tolerance = Tolerance::parse(text);
        if tolerance.is_none() {
            let slot = &self.keys.tolerance;
            cx.tell(self.table.wrong(Code::OutOfRange, slot, text).says(
                format!("\"{text}\" is no tolerance"),
                "as x2",
                "both ends of the part are as far off",
            ));
        }
        tolerance
    }

    fn difference(&self, words: &Vocabulary, cx: &mut dyn Checker) -> Option<Recipe> {
        let terms = self.terms(words, cx, &self.keys.difference)?;
        let times = match self.keys.times.given {
            false => 1.0,
            true => words.number(cx, &*self.table, &self.keys.times)?,
        };
        Some(Recipe::Difference(terms, times))
    }

    /// The two measures that `slot` names.
    fn terms(
        &self,
        words: &Vocabulary,
        cx: &mut dyn Checker,
        slot: &Slot<Vec<String>>,
    ) -> Option<Box<[Term; 2]>> {
        let mut terms = Vec::new();
        for (at, text) in self.table.texts(slot) {
            let (name, cell) = match text.split_once(" of ") {
                Some((name, cell)) => (name.trim(), Some(cell.trim().to_owned())),
                None => (text.trim(), None),
            };
            let gauge = words.measure(cx, at, name)?;
            if gauge.count() != 1 || matches!(gauge.recipe, Recipe::Median(_)) {
                let what = format!("`{name}` is not one figure a replication");
                cx.tell(Mistake::new(Code::Conflict, at, what));
                return None;
            }
            terms.push(Term { gauge, cell });
        }
        let Ok(terms) = <[Term; 2]>::try_from(terms) else {
            let name = slot.name;
            let what = format!("`{name}` is of two measures");
            let mistake = Mistake::new(Code::OutOfRange, self.table.span(slot), what);
            cx.tell(mistake.expected("two, as [\"a\", \"b\"]"));
            return None;
        };
        Some(Box::new(terms))
    }
}
