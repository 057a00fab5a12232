//! Fields of lines.

use super::event::{BlockEvent, BlockWay};

/// What is wrong with a line: which field, and what it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// What was expected.
    pub expected: &'static str,
}

/// As [`Result`], of what a line should have.
pub type Field<T> = Result<T, Wrong>;

/// Says what was expected of something that is not there or not as it should be.
pub trait Expect<T> {
    /// The value, or what was expected.
    fn expect_of(self, expected: &'static str) -> Field<T>;
}

impl<T> Expect<T> for Option<T> {
    #[inline]
    fn expect_of(self, expected: &'static str) -> Field<T> {
        self.ok_or(Wrong { expected })
    }
}

/// A whole number of digits alone.
#[inline]
pub fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum.checked_mul(10)?.checked_add(digit.into())
    })
}

/// A number with or without a fraction, in units of 10^-`digits`; further digits are dropped.
#[inline]
pub fn decimal(text: &[u8], digits: u32) -> Option<u64> {
    let point = text.iter().position(|b| *b == b'.');
    let (whole, fraction) = match point {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b""[..]),
    };
    let whole = match whole.is_empty() && !fraction.is_empty() {
        true => 0,
        false => number(whole)?,
    };
    if fraction.iter().any(|b| !b.is_ascii_digit()) {
        return None;
    }
    let mut value = whole.checked_mul(10u64.checked_pow(digits)?)?;
    let mut unit = 10u64.pow(digits);
    for digit in fraction.iter().take(digits as usize) {
        unit /= 10;
        value = value.checked_add(u64::from(digit - b'0') * unit)?;
    }
    Some(value)
}

/// The fields of a line between commas, without spaces around them: exactly `N`.
#[inline]
pub fn commas<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let mut fields = [&b""[..]; N];
    let mut count = 0;
    for field in line.split(|b| *b == b',') {
        *fields.get_mut(count)? = field.trim_ascii();
        count += 1;
    }
    Some(fields).filter(|_| count == N)
}

/// The words of a line.
#[inline]
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty())
}

/// The words of a line, and what is behind those that were taken.
pub struct Cut<'a>(pub &'a [u8]);

impl<'a> Cut<'a> {
    /// Takes the next word; an empty one behind the last.
    #[inline]
    pub fn word(&mut self) -> &'a [u8] {
        let text = self.0.trim_ascii_start();
        let end = text.iter().position(u8::is_ascii_whitespace);
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        self.0 = rest;
        word
    }
}

/// A way that is written as a letter or a word.
#[inline]
pub fn way(word: &[u8]) -> Option<BlockWay> {
    let is = |of: &str| word.eq_ignore_ascii_case(of.as_bytes());
    if is("r") || is("read") {
        return Some(BlockWay::Read);
    }
    (is("w") || is("write")).then_some(BlockWay::Write)
}

/// A place and a length in bytes as sectors.
#[inline]
pub fn bytes(offset: &[u8], length: &[u8]) -> Field<(u64, u32)> {
    let offset = number(offset).expect_of("an offset in bytes, as 8192")?;
    let length = number(length).filter(|n| *n > 0);
    let length = length.expect_of("a size in bytes, as 4096")?;
    let sectors = BlockEvent::sectors_of(offset, length);
    sectors.expect_of("a size of less than 2 TiB")
}

/// A place and a length in sectors.
#[inline]
pub fn sectors(sector: &[u8], count: &[u8]) -> Field<(u64, u32)> {
    let sector = number(sector).expect_of("a sector, as 2048")?;
    let count = number(count).and_then(|n| u32::try_from(n).ok());
    Ok((sector, count.expect_of("a number of sectors, as 8")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_that_fit() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for wrong in ["", "-1", "+1", "18446744073709551616", "1a", " 1"] {
            assert_eq!(number(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(decimal(b"15.076671", 9), Some(15_076_671_000));
        assert_eq!(decimal(b"0.1234567891", 9), Some(123_456_789));
        assert_eq!(decimal(b".5", 3), Some(500));
        assert_eq!(decimal(b"7", 3), Some(7000));
        for wrong in [
            "",
            ".",
            "1.2.3",
            "1.x",
            "99999999999999999999.0",
            "18446744074",
        ] {
            assert_eq!(decimal(wrong.as_bytes(), 9), None, "{wrong:?}");
        }
    }

    #[test]
    fn fields_are_counted() {
        assert_eq!(commas::<2>(b"a, b"), Some([&b"a"[..], &b"b"[..]]));
        assert_eq!(commas::<2>(b"a"), None);
        assert_eq!(commas::<2>(b"a,b,c"), None);
    }
}
