//! Names that somebody may have meant.

/// "; near matches: a, b" when some of `names` look like `wrong`, else nothing.
pub fn near<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    const ALIKE: f64 = 0.6;
    const ENOUGH: usize = 3;
    let wrong = wrong.to_lowercase();
    let score = |name: &str| strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &wrong);
    let mut ranked: Vec<(f64, &str)> = names.into_iter().map(|n| (score(n), n)).collect();
    ranked.retain(|(score, _)| *score >= ALIKE);
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let near: Vec<&str> = ranked.into_iter().take(ENOUGH).map(|(_, n)| n).collect();
    match near.is_empty() {
        true => String::new(),
        false => format!("; near matches: {}", near.join(", ")),
    }
}
