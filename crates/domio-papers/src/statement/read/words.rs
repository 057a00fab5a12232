//! What the checks of a file may name: sets, numbers and measures.

use super::super::names::{NamedSets, expand, is_name};
use super::super::{Choice, Gauge, Operand};
use super::measures::{self, MEASURE};
use domio_core::keys::{
    Checker, Code, Key, KeyKind, KeyTable, Mistake, Named, Need, Nested, Slot, Span,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A text with its place.
pub(crate) type Placed = (Span, String);

/// What the checks of a file may name.
#[derive(Default)]
pub(crate) struct Vocabulary {
    pub(super) sets: NamedSets,
    numbers: BTreeMap<String, f64>,
    pub(super) measures: BTreeMap<String, Arc<Gauge>>,
}

impl Vocabulary {
    /// What stands in `[sets]`.
    pub const SET: Key = Key::new("NAME", KeyKind::Texts, Need::Required, "Its members.");
    /// What stands in `[numbers]`.
    pub const NUMBER: Key = Key::new("NAME", KeyKind::Figure, Need::Required, "The number.");
    /// What stands in `[measure]`.
    pub const MEASURE: Key = {
        let kind = KeyKind::Section(&MEASURE);
        Key::new("NAME", kind, Need::Required, "What it is made of.")
    };

    /// Reads the sets, numbers and measures of a file, which are at these keys.
    pub fn read(
        cx: &mut dyn Checker,
        document: &dyn KeyTable,
        [sets, numbers, measure]: [&Slot<Nested>; 3],
    ) -> Self {
        let mut words = Vocabulary::default();
        let sets = document.entries(sets.name);
        for entry in &sets {
            name_is_plain(cx, &entry.named, "set");
            for (at, member) in entry.texts.iter().filter(|(_, member)| !is_name(member)) {
                cx.tell(
                    Mistake::new(
                        Code::OutOfRange,
                        *at,
                        format!("`{member}` cannot be a part of a cell's name"),
                    )
                    .expected("a-z, 0-9, - and _"),
                );
            }
            let members = entry.texts.iter().map(|(_, member)| member.clone());
            words
                .sets
                .insert(entry.named.name.clone(), members.collect());
        }
        // A set that is called like one of the members of a set could be meant as either.
        for Named { name, span, .. } in sets.iter().map(|entry| &entry.named) {
            if words.sets.values().flatten().any(|member| member == name) {
                let what = format!("the set `{name}` is called like a member of a set");
                cx.tell(Mistake::new(Code::Duplicate, *span, what).hint("give it another name"));
            }
        }
        for entry in document.entries(numbers.name) {
            name_is_plain(cx, &entry.named, "number");
            let [(at, text)] = &entry.texts[..] else {
                continue;
            };
            let name = entry.named.name;
            match text.parse::<f64>() {
                Ok(number) if number.is_finite() => {
                    words.numbers.insert(name, number);
                }
                _ => cx.tell(
                    Mistake::new(Code::WrongType, *at, format!("`{name}` is not a number"))
                        .expected("a number"),
                ),
            }
        }
        measures::read(&mut words, cx, document.entries(measure.name));
        words
    }

    /// The number at `slot`, which may name one: `2`, `"much"`, `"1/3"`, `"1/much"`.
    pub(super) fn number(
        &self,
        cx: &mut dyn Checker,
        table: &dyn KeyTable,
        slot: &Slot<String>,
    ) -> Option<f64> {
        let text = slot.get()?;
        let one = |text: &str| {
            let text = text.trim();
            let plain = text.parse::<f64>().ok().filter(|n| n.is_finite());
            plain.or_else(|| self.numbers.get(text).copied())
        };
        let found = match text.split_once('/') {
            None => one(&text),
            Some((a, b)) => one(a).zip(one(b)).map(|(a, b)| a / b),
        };
        let found = found.filter(|number| number.is_finite());
        if found.is_none() {
            let names: Vec<&str> = self.numbers.keys().map(String::as_str).collect();
            let known = match names[..] {
                [] => String::new(),
                _ => format!(", or one of the file's numbers: {}", names.join(", ")),
            };
            let near = cx.did_you_mean(&text, &names);
            let mistake = table.wrong(Code::UnknownName, slot, text.as_str()).says(
                format!("`{}` is no number", slot.name),
                format!("a number, a fraction as \"1/3\"{known}"),
                "[numbers] gives numbers names",
            );
            cx.tell(mistake.maybe_hint(near));
        }
        found
    }

    /// The measure called `name`, as the text at `at` says.
    pub(super) fn measure(&self, cx: &mut dyn Checker, at: Span, name: &str) -> Option<Arc<Gauge>> {
        let found = self.measures.get(name).cloned();
        if found.is_none() {
            let known: Vec<&str> = self.measures.keys().map(String::as_str).collect();
            let what = format!("no measure is called `{name}`");
            let hint = cx.did_you_mean(name, &known);
            cx.tell(
                Mistake::new(Code::UnknownName, at, what)
                    .found(name)
                    .expected(format!("a [measure.{name}]"))
                    .maybe_hint(hint),
            );
        }
        found
    }

    /// `[MEASURE of ] [mean of |lowest of |highest of ] CELLS`.
    pub(super) fn operand(
        &self,
        cx: &mut dyn Checker,
        (at, text): &Placed,
        usual: Option<&Arc<Gauge>>,
    ) -> Option<Operand> {
        let strange = |what: &str, expected: &str| {
            Mistake::new(Code::OutOfRange, *at, format!("\"{text}\" {what}")).expected(expected)
        };
        let mut words: Vec<&str> = text.split(" of ").map(str::trim).collect();
        let cells = words.pop().unwrap_or_default();
        let choice = words.last().and_then(|word| {
            let named = |choice: &Choice| choice.name() == *word;
            Choice::ALL.into_iter().find(named)
        });
        if choice.is_some() {
            words.pop();
        }
        let gauge = match (words.as_slice(), usual) {
            ([], Some(usual)) => usual.clone(),
            ([], None) => {
                cx.tell(strange("has no measure", "MEASURE of CELLS"));
                return None;
            }
            ([name], _) => self.measure(cx, *at, name)?,
            _ => {
                let expected = "CELLS, MEASURE of CELLS or MEASURE of mean of CELLS (or lowest, \
                                or highest)";
                cx.tell(strange("is not understood", expected));
                return None;
            }
        };
        let cells = self.expanded(cx, &(*at, cells.to_owned()))?;
        Some(Operand {
            gauge,
            choice,
            cells: cells.into_iter().map(|(_, cell)| cell).collect(),
        })
    }

    /// The operands of `texts`, without those that something is wrong with.
    pub(super) fn operands(
        &self,
        cx: &mut dyn Checker,
        texts: &[Placed],
        usual: Option<&Arc<Gauge>>,
    ) -> Vec<Operand> {
        let all = texts.iter();
        all.filter_map(|text| self.operand(cx, text, usual))
            .collect()
    }

    /// The names that a text with braces stands for.
    pub(super) fn expanded(
        &self,
        cx: &mut dyn Checker,
        (at, text): &Placed,
    ) -> Option<Vec<(String, String)>> {
        let expanded = expand(text, &self.sets);
        expanded
            .map_err(|what| cx.tell(Mistake::new(Code::OutOfRange, *at, what)))
            .ok()
    }
}

/// Reports a name of the writer's own that texts could not name.
pub(super) fn name_is_plain(cx: &mut dyn Checker, named: &Named, what: &str) {
    if !is_name(&named.name) {
        let told = format!("the {what} `{}` has a strange name", named.name);
        let mistake = Mistake::new(Code::OutOfRange, named.span, told);
        cx.tell(mistake.expected("a name of a-z, 0-9, - and _"));
    }
}
