//! Sentences in lines of a width.

/// `text` in lines of up to `width` characters, broken at blanks, the second and later ones behind
/// `indent`. A number keeps its unit.
pub(super) fn folded(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let last = lines.last_mut().expect("there is one");
        let is_begin = last.trim().is_empty();
        if !is_begin && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{indent}{word}"));
            continue;
        }
        if !last.is_empty() || word.is_empty() {
            last.push(' ');
        }
        last.push_str(&word);
    }
    lines.join("\n") + "\n"
}

/// What stands behind a number.
const UNITS: [&str; 10] = [
    "%", "ns", "us", "ms", "s", "min", "KiB", "MiB", "MB/s", "Mb/s",
];

/// The words of a text: what stands between blanks, but a number and its unit are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let plain = word.trim_end_matches(['.', ',', ';', ':', ')']);
        match words.last_mut() {
            Some(last)
                if UNITS.contains(&plain) && last.ends_with(|c: char| c.is_ascii_digit()) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}
