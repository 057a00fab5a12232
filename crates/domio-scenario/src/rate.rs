//! Rates of lines, as scenarios write them.

use domio_core::keys::quote;

/// The rate that `text` stands for, in bit/s: `1G`, `100M`, `100Mb/s`, `1000000`.
pub(crate) fn line_rate(text: &str) -> Result<u64, String> {
    let bare = text.strip_suffix("b/s").or(text.strip_suffix("bit/s"));
    let (number, factor) = number(bare.unwrap_or(text));
    let digits = number.parse::<u64>().ok();
    let digits = digits.filter(|_| number.bytes().all(|b| b.is_ascii_digit()));
    digits
        .and_then(|n| n.checked_mul(factor))
        .ok_or_else(|| format!("`{}` is no rate", quote(text)))
}

/// `text` without the letter at its end that stands for a factor, and the factor.
fn number(text: &str) -> (&str, u64) {
    let factors = [('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];
    factors
        .iter()
        .find_map(|(letter, factor)| Some((text.strip_suffix(*letter)?, *factor)))
        .unwrap_or((text, 1))
}
