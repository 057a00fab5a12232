//! Patterns of rules: `*` stands for any text inside a part, `#` for a number.

/// Whether `pattern` matches some of the parts of `text` that `separator` divides, one after the
/// other, each as a whole; the texts that its `*` and `#` stand for, in order.
///
/// A `*` takes as little as it can, so that `guest=*,*` ends the first at the first comma.
pub(super) fn find<'t>(pattern: &str, text: &'t str, separator: char) -> Option<Vec<&'t str>> {
    let parts = text.split(separator).filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    let wanted = pattern.split(separator).filter(|part| !part.is_empty());
    let wanted: Vec<&str> = wanted.collect();
    if wanted.is_empty() {
        return None;
    }
    parts.windows(wanted.len()).find_map(|window| {
        let mut found = Vec::new();
        let mut both = wanted.iter().zip(window);
        both.all(|(pattern, part)| matches(pattern, part, &mut found))
            .then_some(found)
    })
}

/// Whether `pattern` matches all of `text`; what `*` and `#` stand for is added to `found`.
pub(super) fn matches<'t>(pattern: &str, text: &'t str, found: &mut Vec<&'t str>) -> bool {
    // Most parts of command lines begin with another letter.
    match (pattern.bytes().next(), text.bytes().next()) {
        (None | Some(b'*' | b'#'), _) => {}
        (first, begin) if first != begin => return false,
        _ => {}
    }
    let Some(place) = pattern.find(['*', '#']) else {
        return pattern == text;
    };
    let Some(rest) = text.strip_prefix(&pattern[..place]) else {
        return false;
    };
    let after = &pattern[place + 1..];
    let is_number = pattern.as_bytes()[place] == b'#';
    let before = found.len();
    let ends = (0..=rest.len()).filter(|end| rest.is_char_boundary(*end));
    let mut ends: Vec<usize> = ends.collect();
    if is_number {
        // All of its digits.
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        ends.retain(|end| *end > 0 && *end <= digits);
        ends.reverse();
    }
    for end in ends {
        found.truncate(before);
        found.push(&rest[..end]);
        if matches(after, &rest[end..], found) {
            return true;
        }
    }
    found.truncate(before);
    false
}

/// `name` with `$1` to `$9` replaced by what was found.
pub(super) fn named(name: &str, found: &[&str]) -> String {
    let mut said = String::with_capacity(name.len());
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        let digit = match letter {
            '$' => letters.clone().next().and_then(|digit| digit.to_digit(10)),
            _ => None,
        };
        match digit {
            Some(nth) => {
                letters.next();
                let place = (nth as usize).checked_sub(1);
                said += place.and_then(|place| found.get(place)).unwrap_or(&"");
            }
            None => said.push(letter),
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_matched_as_a_whole_and_anywhere() {
        let found = find("qemu.slice/#.scope", "/qemu.slice/100.scope/x", '/');
        assert_eq!(found, Some(vec!["100"]));
        assert_eq!(
            find("qemu.slice/#.scope", "/qemu.slice/100b.scope", '/'),
            None
        );
        assert_eq!(find("slice/#.scope", "/qemu.slice/100.scope", '/'), None);
        assert_eq!(find("a/b", "/a/c/a/b", '/'), Some(vec![]));
        assert_eq!(find("a/b/c", "/a/b", '/'), None);
        assert_eq!(find("", "/a", '/'), None);
    }

    #[test]
    fn a_star_takes_little_and_a_number_all() {
        let mut found = Vec::new();
        assert!(matches("guest=*,*", "guest=a,b,c", &mut found));
        assert_eq!(found, ["a", "b,c"]);
        found.clear();
        assert!(matches("m-#-*.x", "m-12-3-é.x", &mut found));
        assert_eq!(found, ["12", "3-é"]);
        found.clear();
        assert!(!matches("m-#", "m-", &mut found));
        assert!(found.is_empty());
    }

    #[test]
    fn names_take_what_was_found() {
        assert_eq!(named("vm$1/$2$3", &["7", "b"]), "vm7/b");
        assert_eq!(named("$x$", &["7"]), "$x$");
    }
}
