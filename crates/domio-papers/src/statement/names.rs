//! Names in braces: one text stands for several.
//!
//! | written | stands for |
//! |---|---|
//! | `test1/orig` | itself |
//! | `test1/{t,tb}` | `test1/t` and `test1/tb` |
//! | `test1/{tickling}` | one for each member of the set `tickling` |
//! | `test1/{all but orig}` | one for each member of `all`, without `orig` |
//! | `guest{1..7}.rate_mbps` | `guest1.rate_mbps` to `guest7.rate_mbps` |

use std::collections::BTreeMap;

/// Sets of names, by their own names.
pub type NamedSets = BTreeMap<String, Vec<String>>;

/// Most names that one text may stand for.
const MOST: usize = 10_000;

/// The texts that `text` stands for, each with what the braces were replaced by.
///
/// # Errors
/// What is wrong with the braces.
pub fn expand(text: &str, sets: &NamedSets) -> Result<Vec<(String, String)>, String> {
    let Some(open) = text.find('{') else {
        return match text.contains('}') {
            true => Err(format!("\"{text}\" has a }} without a {{")),
            false => Ok(vec![(String::new(), text.to_owned())]),
        };
    };
    let (before, rest) = (&text[..open], &text[open + 1..]);
    let Some(close) = rest.find('}') else {
        return Err(format!("\"{text}\" has a {{ without a }}"));
    };
    let members = members(&rest[..close], sets)?;
    let tails = expand(&rest[close + 1..], sets)?;
    if members.len() * tails.len() > MOST {
        return Err(format!("\"{text}\" stands for more than {MOST} names"));
    }
    let mut all = Vec::new();
    for member in &members {
        for (label, tail) in &tails {
            let label = match label.is_empty() {
                true => member.clone(),
                false => format!("{member}/{label}"),
            };
            all.push((label, format!("{before}{member}{tail}")));
        }
    }
    Ok(all)
}

/// The members that the text between two braces names.
fn members(text: &str, sets: &NamedSets) -> Result<Vec<String>, String> {
    let (some, without) = match text.split_once(" but ") {
        Some((some, without)) => (some, listed(without, sets)?),
        None => (text, Vec::new()),
    };
    let mut members = listed(some, sets)?;
    if let Some(stray) = without.iter().find(|name| !members.contains(name)) {
        return Err(format!("\"{stray}\" in {{{text}}} is not among \"{some}\""));
    }
    members.retain(|name| !without.contains(name));
    match members.is_empty() {
        true => Err(format!("{{{text}}} stands for nothing")),
        false => Ok(members),
    }
}

fn listed(text: &str, sets: &NamedSets) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for item in text.split(',').map(str::trim) {
        if let Some(members) = sets.get(item) {
            names.extend(members.iter().cloned());
        } else if let Some((from, to)) = item.split_once("..") {
            let number = |text: &str| text.trim().parse::<u32>().ok();
            let (Some(from), Some(to)) = (number(from), number(to)) else {
                return Err(format!("\"{item}\" is no range; expected numbers, as 1..7"));
            };
            if to < from || (to - from) as usize >= MOST {
                return Err(format!("\"{item}\" is no range of up to {MOST} numbers"));
            }
            names.extend((from..=to).map(|n| n.to_string()));
        } else if is_name(item) {
            names.push(item.to_owned());
        } else {
            return Err(format!(
                "\"{item}\" in braces is neither a set, nor a name of a-z, 0-9, - and _, nor a \
                 range as 1..7"
            ));
        }
    }
    Ok(names)
}

/// Whether `text` can be a name of a set, of a measure or of a part of a cell.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    !text.is_empty() && text.chars().all(plain)
}

/// Names of cells in short: `test1/{t,tb}`, one text for each test.
pub fn short<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for cell in cells {
        let (test, last) = cell.rsplit_once('/').unwrap_or(("", cell));
        match groups.iter_mut().find(|(other, _)| *other == test) {
            Some((_, names)) if names.contains(&last) => {}
            Some((_, names)) => names.push(last),
            None => groups.push((test, vec![last])),
        }
    }
    let texts = groups.iter().map(|(test, names)| {
        let slash = if test.is_empty() { "" } else { "/" };
        match names.as_slice() {
            [one] => format!("{test}{slash}{one}"),
            several => format!("{test}{slash}{{{}}}", several.join(",")),
        }
    });
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, String> {
        let sets = [
            ("all", vec!["orig", "t", "tb"]),
            ("tickling", vec!["t", "tb"]),
        ];
        let sets = sets.map(|(name, list)| {
            let list = list.into_iter().map(str::to_owned);
            (name.to_owned(), list.collect())
        });
        let expanded = expand(text, &sets.into())?;
        Ok(expanded.into_iter().map(|(_, text)| text).collect())
    }

    #[test]
    fn braces_stand_for_several() {
        for (text, expected) in [
            ("a/b", &["a/b"][..]),
            ("x/{all}", &["x/orig", "x/t", "x/tb"]),
            ("x/{all but orig}", &["x/t", "x/tb"]),
            ("x/{all but tickling}", &["x/orig"]),
            ("x/{b, tickling}", &["x/b", "x/t", "x/tb"]),
            ("{a,b}/{1..2}", &["a/1", "a/2", "b/1", "b/2"]),
            ("guest{4..6}.x", &["guest4.x", "guest5.x", "guest6.x"]),
        ] {
            assert_eq!(names(text).unwrap(), expected, "{text}");
        }
        let labels = expand("a{1..2}.{x,y}", &NamedSets::new()).unwrap();
        assert_eq!(labels[1], ("1/y".to_owned(), "a1.y".to_owned()));
    }

    #[test]
    fn wrong_braces_are_told() {
        for (text, part) in [
            ("a{b", "without a }"),
            ("a}b", "without a {"),
            ("{}", "neither a set"),
            ("{3..1}", "no range"),
            ("{a..b}", "expected numbers"),
            ("{0..99999999}", "no range of up to"),
            ("{1..5000}{1..5000}", "more than 10000"),
            ("{all but b}", "\"b\" in {all but b} is not among"),
            ("{tickling but tickling}", "stands for nothing"),
            ("{A}", "neither a set"),
        ] {
            let told = names(text).unwrap_err();
            assert!(told.contains(part), "{text}: {told}");
        }
    }

    #[test]
    fn names_are_told_in_short() {
        assert_eq!(short(["x/a", "x/b", "y/a", "z", "x/a"]), "x/{a,b}, y/a, z");
    }
}
