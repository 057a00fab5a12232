//! Names with braces, which stand for several names: "guest{1..7}.share_pct".

use super::raw::RawWords;
use super::{Mistake, mistake};
use std::collections::BTreeMap;
use std::ops::Range;

/// Most names that a range of numbers gives.
const RANGE_MAX: u32 = 1_000;

/// Sets of words by name: those of a figure, then those of the file.
#[derive(Clone, Copy)]
pub struct Sets<'a> {
    /// The figure's own.
    pub own: &'a BTreeMap<String, RawWords>,
    /// The file's.
    pub shared: &'a BTreeMap<String, RawWords>,
}

/// All names that `pattern` stands for, in order, each with the words in its braces; without
/// braces the name alone.
pub fn expand(
    pattern: &str,
    at: &Range<usize>,
    sets: Sets<'_>,
) -> Result<Vec<(String, Option<String>)>, Mistake> {
    let mut done: Vec<(String, Option<String>)> = vec![(String::new(), None)];
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inside, after)) = after.split_once('}') else {
            let what = format!("\"{pattern}\" has a brace that is not closed");
            return mistake(at.clone(), what);
        };
        let words = words(inside, sets).map_err(|what| (at.clone(), what))?;
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
    Ok(done)
}

/// The words of a range or of a set.
fn words(inside: &str, sets: Sets<'_>) -> Result<Vec<String>, String> {
    if inside.contains("..") {
        return range(inside);
    }
    match sets.own.get(inside).or_else(|| sets.shared.get(inside)) {
        Some(RawWords::List(list)) => Ok(list.clone()),
        Some(RawWords::Range(text)) => range(text),
        None => {
            let known = sets.own.keys().chain(sets.shared.keys());
            let known: Vec<&str> = known.map(String::as_str).collect();
            Err(format!(
                "no set is called \"{inside}\"; known: {}; a range is written {{1..7}}",
                known.join(", ")
            ))
        }
    }
}

/// The numbers of "1..7", both ends included.
fn range(text: &str) -> Result<Vec<String>, String> {
    let ends = text.split_once("..");
    let ends = ends.and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
    match ends {
        Some((low, high)) if low <= high && high - low < RANGE_MAX => {
            Ok((low..=high).map(|n| n.to_string()).collect())
        }
        _ => Err(format!(
            "\"{text}\" is not a range; expected two whole numbers that rise, as 1..7"
        )),
    }
}
