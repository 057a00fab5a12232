//! Names with braces, which stand for several names: "guest{1..7}.share_pct".

use domio_core::keys::{Checker, Code, KeyEntry, Mistake, Span};
use std::collections::BTreeMap;

/// Most names that a range of numbers gives.
const RANGE_MAX: u32 = 1_000;

/// Words by the name of their set.
pub type NamedWords = BTreeMap<String, Vec<String>>;

/// Sets of words by name: those of a figure, then those of the file.
#[derive(Clone, Copy)]
pub struct Sets<'a> {
    /// The figure's own.
    pub own: &'a NamedWords,
    /// The file's.
    pub shared: &'a NamedWords,
}

/// The sets of words in `entries`: lists, or ranges of numbers as "1..7".
pub fn sets(cx: &mut dyn Checker, entries: Vec<KeyEntry<'_>>) -> NamedWords {
    let mut all = NamedWords::new();
    for entry in entries {
        let words = match &entry.texts[..] {
            [(at, text)] if text.contains("..") => told(cx, *at, range(text)),
            list => Some(list.iter().map(|(_, word)| word.clone()).collect()),
        };
        all.extend(words.map(|words| (entry.named.name, words)));
    }
    all
}

/// What is good of `result`; what is not is told at `at`.
fn told<T>(cx: &mut dyn Checker, at: Span, result: Result<T, Box<Mistake>>) -> Option<T> {
    let placed = |mistake: Box<Mistake>| Mistake {
        span: at,
        ..*mistake
    };
    result.map_err(|mistake| cx.tell(placed(mistake))).ok()
}

/// All names that `pattern`, which stands at `at`, is for, in order, each with the words in its
/// braces; without braces the name alone. `None` when something is wrong, which is told.
pub fn expand(
    cx: &mut dyn Checker,
    (at, pattern): &(Span, String),
    sets: Sets<'_>,
) -> Option<Vec<(String, Option<String>)>> {
    let mut done: Vec<(String, Option<String>)> = vec![(String::new(), None)];
    let mut rest = pattern.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inside, after)) = after.split_once('}') else {
            let what = format!("\"{pattern}\" has a brace that is not closed");
            cx.tell(Mistake::new(Code::OutOfRange, *at, what));
            return None;
        };
        let words = told(cx, *at, words(inside, sets))?;
        let each = |(name, word): &(String, Option<String>)| -> Vec<(String, Option<String>)> {
            let joined = |w: &str| match word {
                Some(word) => format!("{word} {w}"),
                None => w.to_owned(),
            };
            let one = |w: &String| (format!("{name}{before}{w}"), Some(joined(w)));
            words.iter().map(one).collect()
        };
        done = done.iter().flat_map(each).collect();
        rest = after;
    }
    for (name, _) in &mut done {
        name.push_str(rest);
    }
    Some(done)
}

/// The words of a range or of a set.
fn words(inside: &str, sets: Sets<'_>) -> Result<Vec<String>, Box<Mistake>> {
    if inside.contains("..") {
        return range(inside);
    }
    let set = sets.own.get(inside).or_else(|| sets.shared.get(inside));
    set.cloned().ok_or_else(|| {
        let known = sets.own.keys().chain(sets.shared.keys());
        let known: Vec<&str> = known.map(String::as_str).collect();
        let what = format!("no set is called \"{inside}\"");
        Box::new(
            Mistake::new(Code::UnknownName, Span::default(), what)
                .expected(format!("one of: {}", known.join(", ")))
                .hint("a range is written {1..7}"),
        )
    })
}

/// The numbers of "1..7", both ends included.
fn range(text: &str) -> Result<Vec<String>, Box<Mistake>> {
    let ends = text.split_once("..");
    let ends = ends.and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
    match ends {
        Some((low, high)) if low <= high && high - low < RANGE_MAX => {
            Ok((low..=high).map(|n| n.to_string()).collect())
        }
        _ => {
            let what = format!("\"{text}\" is not a range");
            let mistake = Mistake::new(Code::OutOfRange, Span::default(), what);
            Err(Box::new(
                mistake.expected("two whole numbers that rise, as 1..7"),
            ))
        }
    }
}
