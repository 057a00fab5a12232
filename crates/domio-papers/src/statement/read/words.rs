//! What the checks of a file may name: sets, numbers and measures.

use super::super::names::{NamedSets, expand, is_name};
use super::super::{Choice, Gauge, Operand};
use super::measures;
use crate::strict::{Placed, Strict, near, plain_number};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What the checks of a file may name.
#[derive(Default)]
pub(crate) struct Vocabulary {
    pub(super) sets: NamedSets,
    numbers: BTreeMap<String, f64>,
    pub(super) measures: BTreeMap<String, Arc<Gauge>>,
}

impl Vocabulary {
    /// Keys of the file that it is read from.
    pub const KEYS: [&'static str; 3] = ["sets", "numbers", "measure"];

    /// Reads the sets, numbers and measures of a file.
    pub fn read<'t>(strict: &mut Strict<'t>, root: &DeTable<'t>) -> Self {
        let mut words = Vocabulary::default();
        for ((at, name), value) in strict.entries(root, "sets") {
            let members = strict.as_texts(&name, value);
            words.name_is_plain(strict, at, "set", &name);
            for (at, member) in &members {
                if !is_name(member) {
                    let what = format!(
                        "\"{member}\" cannot be a part of a cell's name; expected a-z, 0-9, - and _"
                    );
                    strict.mistake(at.clone(), what);
                }
            }
            let members = members.into_iter().map(|(_, member)| member);
            words.sets.insert(name, members.collect());
        }
        words.sets_are_no_members(strict, root);
        for ((at, name), value) in strict.entries(root, "numbers") {
            words.name_is_plain(strict, at, "number", &name);
            match plain_number(value.get_ref()) {
                Some(number) => {
                    words.numbers.insert(name, number);
                }
                None => strict.mistake(value.span(), format!("\"{name}\" is not a number")),
            }
        }
        measures::read(&mut words, strict, root);
        words
    }

    pub(super) fn name_is_plain(
        &self,
        strict: &mut Strict<'_>,
        at: Range<usize>,
        what: &str,
        name: &str,
    ) {
        if !is_name(name) {
            let told = format!("the {what} \"{name}\" has a name that is not of a-z, 0-9, - and _");
            strict.mistake(at, told);
        }
    }

    /// A set that is called like one of the members of a set could be meant as either.
    fn sets_are_no_members(&self, strict: &mut Strict<'_>, root: &DeTable<'_>) {
        let is_member = |name: &String| self.sets.values().flatten().any(|member| member == name);
        for ((at, name), _) in strict.entries(root, "sets") {
            if is_member(&name) {
                let what = format!(
                    "the set \"{name}\" is called like a member of a set; give it another name"
                );
                strict.mistake(at, what);
            }
        }
    }

    /// The number that `value` is or names: `2`, `"much"`, `"1/3"`, `"1/much"`.
    pub(super) fn number(
        &self,
        strict: &mut Strict<'_>,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<f64> {
        if let Some(number) = plain_number(value.get_ref()) {
            return Some(number);
        }
        let one = |text: &str| {
            let text = text.trim();
            let plain = text.parse::<f64>().ok().filter(|n| n.is_finite());
            plain.or_else(|| self.numbers.get(text).copied())
        };
        let found = match value.get_ref() {
            DeValue::String(text) => match text.split_once('/') {
                None => one(text),
                Some((a, b)) => one(a).zip(one(b)).map(|(a, b)| a / b),
            },
            _ => None,
        };
        let found = found.filter(|number| number.is_finite());
        if found.is_none() {
            let names: Vec<&str> = self.numbers.keys().map(String::as_str).collect();
            let mut what = format!("\"{key}\" is not a number, nor a fraction as \"1/3\"");
            if !names.is_empty() {
                what += &format!(", nor one of the file's numbers: {}", names.join(", "));
            }
            strict.mistake(value.span(), what);
        }
        found
    }

    pub(super) fn number_if_any(
        &self,
        strict: &mut Strict<'_>,
        fields: &DeTable<'_>,
        key: &str,
    ) -> Option<f64> {
        self.number(strict, key, fields.get(key)?)
    }

    /// The measure called `name`.
    pub(super) fn measure(
        &self,
        strict: &mut Strict<'_>,
        at: &Range<usize>,
        name: &str,
    ) -> Option<Arc<Gauge>> {
        let found = self.measures.get(name).cloned();
        if found.is_none() {
            let known = self.measures.keys().map(String::as_str);
            let hint = near(name, known);
            let what =
                format!("no measure is called \"{name}\"; expected a [measure.{name}]{hint}");
            strict.mistake(at.clone(), what);
        }
        found
    }

    /// `[MEASURE of ] [mean of |lowest of |highest of ] CELLS`.
    pub(super) fn operand(
        &self,
        strict: &mut Strict<'_>,
        (at, text): &Placed,
        usual: Option<&Arc<Gauge>>,
    ) -> Option<Operand> {
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
                let what = format!("\"{text}\" has no measure; expected MEASURE of CELLS");
                strict.mistake(at.clone(), what);
                return None;
            }
            ([name], _) => self.measure(strict, at, name)?,
            _ => {
                let what = format!(
                    "\"{text}\" is not understood; expected CELLS, MEASURE of CELLS or MEASURE of \
                     mean of CELLS (or lowest, or highest)"
                );
                strict.mistake(at.clone(), what);
                return None;
            }
        };
        match expand(cells, &self.sets) {
            Ok(cells) => Some(Operand {
                gauge,
                choice,
                cells: cells.into_iter().map(|(_, cell)| cell).collect(),
            }),
            Err(what) => {
                strict.mistake(at.clone(), what);
                None
            }
        }
    }
}
