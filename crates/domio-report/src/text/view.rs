//! How tables are shown: how wide, which columns, in which order.

use crate::text::folded::folded;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the reader of a table asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Characters of a line, at most.
    pub width: u16,
    /// Words of the titles of the columns that are shown, besides the first; all without any.
    pub columns: Vec<String>,
    /// What rows are sorted by; the order of the scenario without it.
    pub sort: Option<Sort>,
    /// What tables made of that.
    pub met: Met,
}

/// Which columns the tables had that were made for a view. Clones share what they know, and it says
/// nothing of the view: all are equal.
#[derive(Clone, Debug, Default)]
pub struct Met(Arc<Mutex<Tables>>);

#[derive(Debug, Default)]
struct Tables {
    /// Whether one had the column to sort by.
    sorted: bool,
    /// Words of `--columns` that named something.
    found: BTreeSet<String>,
    titles: BTreeSet<String>,
}

impl PartialEq for Met {
    fn eq(&self, _: &Met) -> bool {
        true
    }
}

impl Eq for Met {}

impl Met {
    /// A table has columns with these titles, and was sorted or not.
    pub(super) fn table(&self, titles: impl Iterator<Item = String>, sorted: bool) {
        let mut tables = self.tables();
        tables.sorted |= sorted;
        tables.titles.extend(titles);
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An order of rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sort {
    /// Part of the title of the column.
    pub column: String,
    /// Whether the largest figure, or the last word, comes first.
    pub descending: bool,
}

impl View {
    /// Fewest characters of a line that tables are made for.
    pub const NARROWEST: u16 = 80;
    /// Most characters that a line ever has.
    pub const WIDEST: u16 = 200;

    /// All columns, in lines of up to `width` characters, or the nearest width that there is.
    pub fn of_width(width: u16) -> Self {
        View {
            width: width.clamp(View::NARROWEST, View::WIDEST),
            columns: Vec::new(),
            sort: None,
            met: Met::default(),
        }
    }

    /// An item of a list that stands behind `indent`, in lines of the view's width.
    pub fn item(&self, indent: &str, text: &str) -> String {
        let width = usize::from(self.width).saturating_sub(indent.len());
        let inner = format!("{indent}  ");
        format!("{indent}{}", folded(&format!("- {text}"), width, &inner))
    }

    /// A paragraph behind `indent`, in lines of the view's width.
    pub fn paragraph(&self, indent: &str, text: &str) -> String {
        let width = usize::from(self.width).saturating_sub(indent.len());
        format!("{indent}{}", folded(text, width, indent))
    }

    /// What of the wishes no table could fulfil, after all tables; `None` when all is well.
    pub fn unmet(&self) -> Option<String> {
        let tables = self.met.tables();
        let is_unknown = |word: &&String| !tables.found.contains(*word);
        let unsorted = self.sort.as_ref().filter(|_| !tables.sorted);
        let (option, asked) = match unsorted {
            Some(sort) => ("--sort", &sort.column),
            None => ("--columns", self.columns.iter().find(is_unknown)?),
        };
        Some(match tables.titles.is_empty() {
            true => format!("{option} {asked}: the command printed no table; leave it out"),
            false => unknown(option, asked, &tables.titles),
        })
    }

    /// What is asked for that is none of the columns that tables will have, before there are any:
    /// each with its title and its name for programs. `None` when all is well.
    pub fn refused(&self, known: &[(String, String)]) -> Option<String> {
        let columns = self.columns.iter().map(|word| ("--columns", word));
        let sort = self.sort.iter().map(|sort| ("--sort", &sort.column));
        let is_unknown = |word: &str| {
            let is_called =
                |(title, key): &(String, String)| names(word, title) || names(word, key);
            !known.iter().any(is_called)
        };
        let (option, asked) = columns.chain(sort).find(|(_, word)| is_unknown(word))?;
        let titles = known.iter().map(|(title, _)| plain_title(title)).collect();
        Some(unknown(option, asked, &titles))
    }

    /// The word `asked` of the columns named something other than a column, as a whole table.
    pub fn is_found(&self, asked: &str) {
        self.met.tables().found.insert(asked.to_owned());
    }

    /// Rows were sorted as is asked, by something that is no column.
    pub fn is_sorted(&self) {
        self.met.tables().sorted = true;
    }

    /// Whether `asked` names what is called `title`: each of its words is there.
    pub fn is_title(asked: &str, title: &str) -> bool {
        names(asked, title)
    }
}

impl Default for View {
    fn default() -> Self {
        View::of_width(View::WIDEST)
    }
}

impl std::str::FromStr for Sort {
    type Err = String;

    /// "share", "share:asc" or "share:desc". The largest comes first unless it is said otherwise.
    fn from_str(text: &str) -> Result<Self, String> {
        let (column, order) = text.rsplit_once(':').unwrap_or((text, "desc"));
        let descending = match order {
            "desc" => true,
            "asc" => false,
            other => {
                return Err(format!(
                    "expected a column, COLUMN:asc or COLUMN:desc, not the order \"{other}\""
                ));
            }
        };
        match column.trim() {
            "" => Err("expected the title of a column, or a part of one".to_owned()),
            column => Ok(Sort {
                column: column.to_owned(),
                descending,
            }),
        }
    }
}

fn unknown(option: &str, asked: &str, titles: &BTreeSet<String>) -> String {
    let mut titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    // Columns of single domains come after a comma, and are many.
    let more = match titles.len() > TITLES {
        true => {
            titles.retain(|title| !title.contains(','));
            titles.truncate(TITLES);
            "; ..."
        }
        false => "",
    };
    format!(
        "{option} {asked}: no table has such a column; name one of: {}{more}",
        titles.join("; ")
    )
}

/// Titles that are listed where a column is unknown, at most.
const TITLES: usize = 80;

/// A title in one line, without its unit and in small letters.
pub(super) fn plain_title(title: &str) -> String {
    let title = title.split('[').next().unwrap_or_default();
    let words: Vec<&str> = title.split_whitespace().collect();
    words.join(" ").trim_end_matches(',').to_lowercase()
}

/// Whether `asked` names the column with `title`: each of its words is in the title.
pub(super) fn names(asked: &str, title: &str) -> bool {
    let (asked, title) = (plain_title(asked), plain_title(title));
    asked.split_whitespace().all(|word| title.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables;
    use crate::text::table::{render, titled};
    use domio_answer::Table;

    #[test]
    fn an_order_is_read() {
        let sort = |column: &str, descending| Sort {
            column: column.to_owned(),
            descending,
        };
        assert_eq!("share".parse(), Ok(sort("share", true)));
        assert_eq!("wake to run:asc".parse(), Ok(sort("wake to run", false)));
        for wrong in ["", ":asc", "share:up"] {
            assert!(wrong.parse::<Sort>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_item_stays_within_the_width() {
        let view = View::of_width(80);
        let text = "word ".repeat(40);
        for indent in ["", "  "] {
            let item = view.item(indent, text.trim_end());
            assert!(item.starts_with(&format!("{indent}- word word ")), "{item}");
            assert!(item.lines().all(|line| line.len() <= 80), "{item}");
            let mut later = item.lines().skip(1).peekable();
            assert!(later.peek().is_some());
            assert!(later.all(|line| line.starts_with(&format!("{indent}  word"))));
        }
    }

    fn of(title: &'static str) -> Table {
        let mut table = Table::new("", [tables::name("domain"), tables::number(title, "us")]);
        table.row(["a".into(), 1.0.into()]);
        table
    }

    #[test]
    fn an_order_that_no_table_has_is_told() {
        let view = View {
            sort: Some("share".parse().unwrap()),
            ..View::default()
        };
        assert!(view.unmet().unwrap().contains("printed no table"));
        render(&of("waits"), &view);
        let told = view.unmet().unwrap();
        assert!(told.contains("one of: domain; waits"), "{told}");
        // One of several tables is enough.
        titled(&of("share"), &view);
        assert_eq!(view.unmet(), None);
        assert_eq!(View::default().unmet(), None);
    }

    #[test]
    fn a_word_for_columns_that_no_table_has_is_told() {
        let view = View {
            columns: ["share", "waits", "whole"].map(str::to_owned).into(),
            ..View::default()
        };
        let is_of = |word: &str| {
            let told = view.unmet();
            told.is_some_and(|told| told.starts_with(&format!("--columns {word}: ")))
        };
        assert!(view.unmet().unwrap().contains("printed no table"));
        render(&of("waits"), &view);
        assert!(is_of("share"), "each word has to name something");
        titled(&of("share"), &view);
        assert!(is_of("whole"));
        view.clone().is_found("whole");
        assert_eq!(view.unmet(), None);
    }

    #[test]
    fn what_no_table_will_have_is_refused_before_there_is_one() {
        let known = [
            ("wake to run,\np95 [us]", "wake_p95_us"),
            ("domain", "name"),
        ];
        let known = known.map(|(title, key)| (title.to_owned(), key.to_owned()));
        let view = |columns: &[&str], sort: Option<&str>| View {
            columns: columns.iter().map(|&word| word.to_owned()).collect(),
            sort: sort.map(|sort| sort.parse().unwrap()),
            ..View::default()
        };
        assert_eq!(
            view(&["wake 95", "wake_p95_us"], Some("name:asc")).refused(&known),
            None
        );
        let told = view(&["domain", "shares"], None).refused(&known).unwrap();
        assert!(told.starts_with("--columns shares: "), "{told}");
        assert!(told.ends_with("one of: domain; wake to run, p95"), "{told}");
        let told = view(&[], Some("shares")).refused(&known).unwrap();
        assert!(told.starts_with("--sort shares: "), "{told}");
    }

    #[test]
    fn titles_are_found_by_their_parts() {
        assert!(names("Share", "share\n[% of one pcpu]"));
        assert!(names("wake 95", "wake to run,\np95 [us]"));
        assert!(!names("wake 99", "wake to run,\np95 [us]"));
        assert!(
            !names("pcpu", "share\n[% of one pcpu]"),
            "a unit is no title"
        );
    }

    #[test]
    fn widths_are_those_that_can_be_read() {
        let widths = [0, 79, 80, 133, 200, 999].map(|width| View::of_width(width).width);
        assert_eq!(widths, [80, 80, 80, 133, 200, 200]);
    }
}
