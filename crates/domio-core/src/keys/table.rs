//! Tables of a text under check, as whoever declares their keys reads them.

use super::mistake::path_in;
use super::{Code, Given, Good, KeyPlace, KeySection, Mistake, Named, Nested, Slot, Span, Words};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// A table that was checked, with its places in the text.
pub trait KeyTable: Given {
    /// Path of the table, for messages.
    fn path(&self) -> &str;

    /// Where the table starts.
    fn header(&self) -> Span;

    /// The word that decides about further keys, if it is good.
    fn word(&self) -> Option<&'static str>;

    /// The key that decides about further keys, if it was written, good or bad.
    fn selected(&self) -> Option<KeyPlace>;

    /// The key called `name`, if it was written, good or bad.
    fn place(&self, name: &str) -> Option<KeyPlace>;

    /// The texts at the key `name`: one, or those of a list.
    fn items(&self, name: &str) -> Vec<(Span, String)>;

    /// What stands at the key `name` under names of the writer's own.
    fn entries(&self, name: &str) -> Vec<KeyEntry<'_>>;

    /// The text at the key `name`, good or bad, if it is a text.
    fn written(&self, name: &str) -> Option<&str>;

    /// The tables at the key `name`, as the text has them and [`Checker::table`] takes them, each
    /// with its path.
    fn nodes(&self, name: &str) -> Vec<(&dyn Any, String)>;
}

/// What stands under a name of the writer's own.
pub struct KeyEntry<'t> {
    /// The name, where it stands, and the path.
    pub named: Named,
    /// Whether a table stands there.
    pub is_table: bool,
    /// The table, as [`Checker::table`] takes it.
    pub node: &'t dyn Any,
    /// The texts there, each with its place: one, or those of a list.
    pub texts: Vec<(Span, String)>,
}

/// Who checks a text.
pub trait Checker {
    /// Checks `node`, one of [`KeyTable::nodes`], against `section`.
    fn table(
        &mut self,
        node: &dyn Any,
        section: &'static KeySection,
        path: &str,
    ) -> Box<dyn KeyTable>;

    /// A table that is not there: every key has its default. Mistakes are told at `near`.
    fn absent(&self, section: &'static KeySection, path: &str, near: Span) -> Box<dyn KeyTable>;

    /// Says what is wrong. The text is refused then.
    fn tell(&mut self, mistake: Mistake);

    /// Says what to know of the text that is no mistake.
    fn note(&mut self, notice: String);

    /// The line of `span`, from 1.
    fn line(&self, span: Span) -> usize;

    /// Whether the text has errors of syntax: what seems to be missing may be in a part that could
    /// not be read.
    fn is_partial(&self) -> bool;

    /// The parts of the program that scenarios name by `words`, as their own crates declare them
    /// ([`Any::downcast_ref`]); none for words that stand for no parts.
    fn parts(&self, words: Words) -> Vec<&'static (dyn Any + Send + Sync)>;

    /// A hint with the one of `known` that `word` was most likely meant to be, if one is near
    /// enough.
    fn did_you_mean(&self, word: &str, known: &[&str]) -> Option<String>;
}

impl dyn KeyTable + '_ {
    /// The place of the value of `slot`, or of the table when it was not written.
    pub fn span<T>(&self, slot: &Slot<T>) -> Span {
        self.place(slot.name)
            .map_or(self.header(), |place| place.value)
    }

    /// Path of `slot`, without a unit.
    pub fn path_of<T>(&self, slot: &Slot<T>) -> String {
        path_in(self.path(), slot.name)
    }

    /// The name at `slot`: `Some(None)` when none was written, `None` when it was bad.
    pub fn named(&self, slot: &Slot<String>) -> Option<Option<Named>> {
        Some(slot.if_given()?.map(|name| Named {
            name,
            span: self.span(slot),
            key: self.path_of(slot),
        }))
    }

    /// The tables at `slot`, checked by `cx` against `section`: one, or those of a list.
    pub fn tables(
        &self,
        cx: &mut dyn Checker,
        slot: &Slot<Nested>,
        section: &'static KeySection,
    ) -> Vec<Box<dyn KeyTable>> {
        let nodes = self.nodes(slot.name).into_iter();
        nodes
            .map(|(node, path)| cx.table(node, section, &path))
            .collect()
    }

    /// The number that the figure at `slot` is: `Some(None)` when none was written, `None` when the
    /// figure is bad.
    pub fn number(&self, cx: &mut dyn Checker, slot: &Slot<String>) -> Option<Option<f64>> {
        match slot.if_given()? {
            None => Some(None),
            Some(text) => number(cx, self.span(slot), &text).map(Some),
        }
    }

    /// The texts at `slot`, each with its place: one, or those of a list.
    pub fn texts<T>(&self, slot: &Slot<T>) -> Vec<(Span, String)> {
        self.items(slot.name)
    }

    /// The value `found` of `slot` is wrong.
    pub fn wrong<T>(&self, code: Code, slot: &Slot<T>, found: impl Into<String>) -> Mistake {
        let mistake = Mistake::new(code, self.span(slot), "");
        mistake.key(self.path_of(slot)).found(found)
    }

    /// The key of `slot` is where it cannot be, whatever its value.
    pub fn misplaced<T>(&self, slot: &Slot<T>) -> Mistake {
        let (span, path) = match self.place(slot.name) {
            Some(place) => (place.key, place.path),
            None => (self.header(), self.path_of(slot)),
        };
        Mistake::new(Code::Conflict, span, "").key(path)
    }

    /// The place of the key of `slot`, or of the table when it was not written.
    pub fn key_span<T>(&self, slot: &Slot<T>) -> Span {
        self.place(slot.name)
            .map_or(self.header(), |place| place.key)
    }
}

/// The number that the text of a figure at `at` is.
pub fn number(cx: &mut dyn Checker, at: Span, text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok().filter(|n| n.is_finite());
    if number.is_none() {
        let what = format!("\"{text}\" is not a number");
        cx.tell(Mistake::new(Code::WrongType, at, what).expected("a number"));
    }
    number
}

impl Given for Box<dyn KeyTable> {
    fn given(&self, name: &str) -> (bool, Option<Good>) {
        (**self).given(name)
    }
}

/// A table under check and who checks it.
pub struct KeyReader<'a> {
    /// Who checks it.
    pub cx: &'a mut dyn Checker,
    /// The table.
    pub keys: &'a dyn KeyTable,
}

impl Given for KeyReader<'_> {
    fn given(&self, name: &str) -> (bool, Option<Good>) {
        self.keys.given(name)
    }
}

impl KeyReader<'_> {
    /// The tables at `slot`, checked against `section`.
    pub fn tables(
        &mut self,
        slot: &Slot<Nested>,
        section: &'static KeySection,
    ) -> Vec<Box<dyn KeyTable>> {
        self.keys.tables(self.cx, slot, section)
    }

    /// The parts of the program that scenarios name by `words`: see [`Checker::parts`].
    pub fn parts(&self, words: Words) -> Vec<&'static (dyn Any + Send + Sync)> {
        self.cx.parts(words)
    }

    /// Says what is wrong.
    pub fn tell(&mut self, mistake: Mistake) {
        self.cx.tell(mistake);
    }
}
