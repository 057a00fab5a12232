//! Text in pictures: sizes, how wide a line is, and what to do where one does not fit.

/// Size of small text: ticks, legends, values.
pub const SMALL: f64 = 12.0;

/// Size of the titles of axes, of headings and of names of bars.
pub const TITLE: f64 = 13.0;

/// About how wide `text` is at `size`. Fonts differ; this errs on the wide side.
pub fn text_width(text: &str, size: f64) -> f64 {
    let narrow = |c: char| {
        matches!(
            c,
            'i' | 'j' | 'l' | 't' | 'f' | '.' | ',' | ' ' | '\'' | ':'
        )
    };
    let wide = |c: char| c.is_uppercase() || matches!(c, 'm' | 'w' | '%' | '±') || !c.is_ascii();
    let parts = text.chars().map(|c| match c {
        c if narrow(c) => 0.36,
        c if wide(c) => 0.86,
        _ => 0.61,
    });
    size * parts.sum::<f64>()
}

/// Width of the widest of `texts` at `size`, and at least `least`.
pub fn widest<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, size: f64, least: f64) -> f64 {
    let widths = texts.into_iter().map(|t| text_width(t.as_ref(), size));
    widths.fold(least, f64::max)
}

/// `text`, cut with an ellipsis so that it fits into `width` at `size`.
pub fn fit(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut cut: String = text.to_owned();
    while cut.pop().is_some() {
        let shown = format!("{}…", cut.trim_end());
        if text_width(&shown, size) <= width {
            return shown;
        }
    }
    "…".to_owned()
}

/// `text` in lines that are not wider than `width` at `size`, broken between words where they can
/// be.
pub fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| fit(line, size, width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_to_fit() {
        assert_eq!(fit("credit", 12.0, 100.0), "credit");
        let cut = fit("a very long name of a policy", 12.0, 80.0);
        assert!(cut.ends_with('…') && text_width(&cut, 12.0) <= 80.0);
        assert_eq!(fit("x", 12.0, 0.0), "…");
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrap("credit", 12.0, 100.0), ["credit"]);
        let lines = wrap("the average of the guests that burn", 12.0, 90.0);
        assert!(lines.len() > 1 && lines.iter().all(|l| text_width(l, 12.0) <= 90.0));
        assert_eq!(lines.join(" "), "the average of the guests that burn");
    }
}
