//! Names of tables, by which other keys choose one.

use super::{Checker, Code, KeyTable, Mistake, Named, Span, list, path_in, quote};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Words for tables that have names.
pub struct NamedTables {
    /// What one of them describes ("network").
    pub what: &'static str,
    /// What a table without a name is called, if anything.
    pub usual: Option<&'static str>,
    /// What to say before a name that no table has ("there is no network").
    pub missing: &'static str,
    /// What is expected where no table has a name.
    pub nameless: &'static str,
    /// What to do about a name that is not near to any.
    pub hint: &'static str,
}

/// Names of tables, in the order of the text.
pub struct TableNames {
    words: &'static NamedTables,
    names: Vec<(Option<String>, Span)>,
}

impl TableNames {
    /// The names of `tables`, good or bad, at their key `name`. Reports those that are given twice.
    pub fn read(
        cx: &mut dyn Checker,
        tables: &[Box<dyn KeyTable>],
        words: &'static NamedTables,
    ) -> Self {
        let mut names: Vec<(Option<String>, Span)> = Vec::new();
        for table in tables {
            let span = table
                .place("name")
                .map_or(table.header(), |place| place.value);
            let name = table.written("name").or(words.usual).map(String::from);
            let mut others = names.iter().filter(|_| name.is_some());
            if let Some((_, first)) = others.find(|(other, _)| *other == name) {
                let name = quote(name.as_deref().unwrap_or(""));
                cx.tell(
                    Mistake::new(
                        Code::Duplicate,
                        span,
                        format!("there are two {}s `{name}`", words.what),
                    )
                    .key(path_in(table.path(), "name"))
                    .found(name)
                    .expected("a unique name")
                    .related(*first, "the first one")
                    .hint("give one of the two another name"),
                );
            }
            names.push((name, span));
        }
        TableNames { words, names }
    }

    /// How many tables there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no table.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of the table with this index, if it has one.
    pub fn name(&self, index: usize) -> Option<&str> {
        self.names.get(index)?.0.as_deref()
    }

    /// Where the name of the table with this index stands, or the table.
    pub fn span(&self, index: usize) -> Span {
        self.names[index].1
    }

    /// Index of the table that `asked` names. Says when there is none.
    pub fn find(&self, cx: &mut dyn Checker, asked: &Named) -> Option<usize> {
        let mut names = self.names.iter();
        if let Some(index) = names.position(|(name, _)| name.as_ref() == Some(&asked.name)) {
            return Some(index);
        }
        if cx.is_partial() {
            return None;
        }
        let known: Vec<&str> = self
            .names
            .iter()
            .filter_map(|(n, _)| n.as_deref())
            .collect();
        let words = self.words;
        let expected = match known[..] {
            [] => words.nameless.into(),
            _ => format!("one of: {}", list(known.iter().copied())),
        };
        let mistake = Mistake::new(
            Code::UnknownName,
            asked.span,
            format!("{} `{}`", words.missing, asked.name),
        )
        .key(asked.key.as_str())
        .found(asked.name.as_str())
        .expected(expected)
        .hint_or(cx.did_you_mean(&asked.name, &known), words.hint);
        cx.tell(mistake);
        None
    }
}
