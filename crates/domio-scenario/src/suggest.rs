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

/// Schedulers of Xen and others that people ask for and that are not modelled, with what is there
/// instead.
const UNMODELLED: [(&str, &str); 5] = [
    ("rt", "it is called rtds"),
    ("arinc653", "it is called arinc653"),
    ("arinc", "it is called arinc653"),
    ("rr", "it is called round-robin"),
    ("fifo", "null lets each vcpu keep its pcpu"),
];

/// What to say of a policy that exists somewhere, but is not modelled.
pub fn unmodelled_policy(name: &str) -> Option<String> {
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let plain = plain.to_ascii_lowercase();
    let (name, instead) = UNMODELLED.iter().find(|(n, _)| *n == plain)?;
    Some(match *name {
        "rr" => "did you mean `round-robin`?".to_owned(),
        "rt" => "did you mean `rtds`?".to_owned(),
        "arinc653" | "arinc" => "did you mean `arinc653`?".to_owned(),
        name => format!("{name} is not modelled; {instead} (`domio policy list`)"),
    })
}
