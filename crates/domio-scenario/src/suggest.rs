//! Near misses: "did you mean".

/// The candidate that `word` was most likely meant to be, if any is near enough: a third of its
/// letters may differ (but not half of a short word), a swap of neighbours counting as one
/// difference.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Nobody types this by mistake, and the distance is quadratic in the length.
    if word.chars().count() > 40 {
        return None;
    }
    let lower = word.to_lowercase().replace(' ', "-");
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&lower, &c.to_lowercase()), c))
        .filter(|(distance, c)| {
            let longer = c.chars().count().max(word.chars().count());
            *distance <= longer.div_ceil(3) && distance * 2 < longer
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// [`nearest`] as a hint.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, candidates).map(|c| format!("did you mean `{c}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("wieght", ["weight", "cap", "name"]), Some("weight"));
        assert_eq!(nearest("Credit 2", ["credit", "credit2"]), Some("credit2"));
        assert_eq!(nearest("banana", ["weight", "cap"]), None);
        assert_eq!(nearest(&"w".repeat(100_000), ["weight"]), None);
        assert_eq!(nearest("", ["cap"]), None);
        assert_eq!(nearest("b", ["a"]), None);
    }
}
