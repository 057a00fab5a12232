//! What one key of a scenario goes through: `KEY=A,B,C`, `KEY=LO..HI:N` or `KEY=LO..HI`.
//!
//! | written | values |
//! |---|---|
//! | `a,b,c` | these, in this order; a comma in brackets or quotes parts nothing |
//! | `1..4` | all whole numbers from the first to the last |
//! | `64..1024:5` | 5 whole numbers at equal distances, rounded to the nearest |
//! | `0.5..2.0:4` | 4 fractions at equal distances |
//! | `0.5..2.0` | fractions without a number of points: for designs that choose points themselves |
//!
//! Both ends belong to the values. Ends without a point and without an exponent are whole numbers.

use domio_answer::Holds;
use std::fmt;

/// Points of a range of fractions that names no number, for designs that choose among them.
pub const FINE: u64 = 1_001;

/// Values that one axis has at most.
pub const MOST_VALUES: u64 = 1_000_000;

/// Why a text is no axis. The message says what was expected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key}={text}: {why}")]
pub struct AxisError {
    /// The key.
    pub key: String,
    /// What was to be its values.
    pub text: String,
    /// What is wrong, and what to write.
    pub why: String,
}

/// A key of a scenario and the values that it goes through.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    key: String,
    values: Values,
}

#[derive(Clone, PartialEq, Debug)]
enum Values {
    /// As they were written, at least one.
    List(Vec<String>),
    /// `count` whole numbers from `lo` to `hi`.
    Whole { lo: i64, hi: i64, count: u64 },
    /// Fractions from `lo` to `hi`: `count` of them, or as many as a design likes.
    Fractions {
        lo: f64,
        hi: f64,
        count: Option<u64>,
    },
}

impl Axis {
    /// Reads `text` as the values of `key`.
    ///
    /// # Errors
    /// When a value is empty or is there twice, when a range has no end, is upside down, has fewer
    /// than two points, more whole numbers than there are, or more than [`MOST_VALUES`].
    pub fn parse(key: &str, text: &str) -> Result<Self, AxisError> {
        let refused = |why: String| AxisError {
            key: key.to_owned(),
            text: text.to_owned(),
            why,
        };
        let values = match range(text) {
            Some(range) => range.map_err(refused)?,
            None => Values::List(list(text).map_err(refused)?),
        };
        let axis = Axis {
            key: key.to_owned(),
            values,
        };
        if axis.len() > MOST_VALUES {
            let count = axis.len();
            return Err(refused(format!(
                "{count} values are more than {MOST_VALUES}; write {text}:N for N of them"
            )));
        }
        Ok(axis)
    }

    /// The key, as the scenario's overrides have it.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How many values there are, at least 1.
    pub fn len(&self) -> u64 {
        match &self.values {
            Values::List(values) => values.len() as u64,
            Values::Whole { count, .. } => *count,
            Values::Fractions { count, .. } => count.unwrap_or(FINE),
        }
    }

    /// Whether there is no value: never.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it says itself how many values it has. A range of fractions may leave that open.
    pub fn is_counted(&self) -> bool {
        !matches!(&self.values, Values::Fractions { count: None, .. })
    }

    /// Whether its values are points of a range, so that neighbours are alike.
    pub fn is_range(&self) -> bool {
        !matches!(&self.values, Values::List(_))
    }

    /// Value `index`, as TOML or as a word.
    ///
    /// # Panics
    /// When there is no such value.
    pub fn value(&self, index: u64) -> String {
        assert!(index < self.len(), "{} has no value {index}", self.key);
        match &self.values {
            Values::List(values) => values[index as usize].clone(),
            Values::Whole { lo, hi, count } => whole(*lo, *hi, *count, index).to_string(),
            Values::Fractions { lo, hi, count } => {
                fraction(*lo, *hi, count.unwrap_or(FINE), index).to_string()
            }
        }
    }

    /// What a column of its values holds: whole numbers, numbers, or texts for anything else, as
    /// names, flags, tables.
    pub fn holds(&self) -> Holds {
        match &self.values {
            Values::Whole { .. } => Holds::Whole,
            Values::Fractions { .. } => Holds::Number,
            Values::List(values) => {
                let all = |is: fn(&str) -> bool| values.iter().all(|value| is(value));
                if all(is_whole) {
                    Holds::Whole
                } else if all(is_number) {
                    Holds::Number
                } else {
                    Holds::Text
                }
            }
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=", self.key)?;
        match &self.values {
            Values::List(values) => f.write_str(&values.join(",")),
            Values::Whole { lo, hi, count } => write!(f, "{lo}..{hi}:{count}"),
            Values::Fractions {
                lo,
                hi,
                count: Some(count),
            } => write!(f, "{lo:?}..{hi:?}:{count}"),
            Values::Fractions { lo, hi, .. } => write!(f, "{lo:?}..{hi:?}"),
        }
    }
}

/// Point `index` of `count` from `lo` to `hi`, rounded to the nearest whole number.
fn whole(lo: i64, hi: i64, count: u64, index: u64) -> i64 {
    let steps = i128::from(count.saturating_sub(1).max(1));
    let span = i128::from(hi) - i128::from(lo);
    // Halves go up: 2 * x + d over 2 * d, with nothing negative in it.
    let along = (2 * span * i128::from(index) + steps) / (2 * steps);
    (i128::from(lo) + along) as i64
}

/// Point `index` of `count` from `lo` to `hi`, with 12 significant digits, so that steps of a
/// tenth are written as tenths.
fn fraction(lo: f64, hi: f64, count: u64, index: u64) -> f64 {
    let last = count.saturating_sub(1).max(1);
    let point = match index {
        0 => lo,
        _ if index >= last => hi,
        _ => lo + (hi - lo) * (index as f64 / last as f64),
    };
    // A finite number that was just written can be read.
    format!("{point:.11e}").parse().unwrap_or(point)
}

fn is_whole(text: &str) -> bool {
    text.parse::<i64>().is_ok()
}

fn is_number(text: &str) -> bool {
    // Not the words that `f64` has for numbers that are none.
    let begins = |c: char| c.is_ascii_digit() || "+-.".contains(c);
    text.starts_with(begins) && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The range that `text` stands for; `None` when it is none.
fn range(text: &str) -> Option<Result<Values, String>> {
    let (lo, rest) = text.split_once("..")?;
    let (hi, count) = match rest.split_once(':') {
        Some((hi, count)) => (hi.trim(), Some(count.trim())),
        None => (rest.trim(), None),
    };
    let lo = lo.trim();
    // A path may have two dots in it.
    if !is_number(lo) && !is_number(hi) {
        return None;
    }
    Some(ends(lo, hi).and_then(|ends| counted(ends, count)))
}

/// The ends of a range.
enum Ends {
    Whole(i64, i64),
    Fractions(f64, f64),
}

const AS: &str = "write LO..HI:N, as 64..1024:5, or the values themselves, as 64,256,1024";

fn ends(lo: &str, hi: &str) -> Result<Ends, String> {
    if let (Ok(lo), Ok(hi)) = (lo.parse::<i64>(), hi.parse::<i64>()) {
        return match lo < hi {
            true => Ok(Ends::Whole(lo, hi)),
            false => Err(upside_down(lo, hi)),
        };
    }
    let number = |text: &str| text.parse::<f64>().ok().filter(|_| is_number(text));
    let end = |text: &str| number(text).ok_or_else(|| format!("\"{text}\" is no number; {AS}"));
    let (lo, hi) = (end(lo)?, end(hi)?);
    match lo < hi {
        true => Ok(Ends::Fractions(lo, hi)),
        false => Err(upside_down(lo, hi)),
    }
}

fn upside_down(lo: impl fmt::Display, hi: impl fmt::Display) -> String {
    format!("{lo} is not below {hi}; the smaller end comes first")
}

fn counted(ends: Ends, count: Option<&str>) -> Result<Values, String> {
    let read = |text: &str| text.parse::<u64>().ok().filter(|count| *count >= 2);
    let points = |text: &str| {
        read(text).ok_or_else(|| format!("\"{text}\" is no number of points, 2 or more; {AS}"))
    };
    let count = count.map(points).transpose()?;
    match ends {
        Ends::Whole(lo, hi) => {
            let there = hi.abs_diff(lo).saturating_add(1);
            match count {
                Some(count) if count > there => Err(format!(
                    "there are only {there} whole numbers from {lo} to {hi}; write \
                     {lo}.0..{hi}.0:{count} for fractions"
                )),
                count => Ok(Values::Whole {
                    lo,
                    hi,
                    count: count.unwrap_or(there),
                }),
            }
        }
        Ends::Fractions(lo, hi) => Ok(Values::Fractions { lo, hi, count }),
    }
}

/// The values of a list: parted by commas, but not by those in brackets or quotes.
fn list(text: &str) -> Result<Vec<String>, String> {
    let mut values = vec![String::new()];
    let mut depth = 0_u32;
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                values.push(String::new());
                continue;
            }
            (None, _) => {}
        }
        if let Some(last) = values.last_mut() {
            last.push(c);
        }
    }
    let values: Vec<String> = values.iter().map(|value| value.trim().to_owned()).collect();
    if values.iter().any(String::is_empty) {
        return Err(
            "a value is empty; write values with commas between, as 64,256,1024".to_owned(),
        );
    }
    for (i, value) in values.iter().enumerate() {
        if values[..i].contains(value) {
            return Err(format!("{value} is there twice; leave one out"));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str) -> Vec<String> {
        let axis = Axis::parse("k", text).unwrap_or_else(|e| panic!("{e}"));
        (0..axis.len()).map(|i| axis.value(i)).collect()
    }

    fn refused(text: &str) -> String {
        Axis::parse("k", text).expect_err(text).to_string()
    }

    #[test]
    fn a_list_has_its_values_in_order() {
        assert_eq!(values("5"), ["5"]);
        assert_eq!(
            values("credit, credit2,null"),
            ["credit", "credit2", "null"]
        );
        assert_eq!(values("[0,1],[2, 3]"), ["[0,1]", "[2, 3]"]);
        assert_eq!(
            values(r#"{ a = 1, b = "x,y" },"p,q""#),
            [r#"{ a = 1, b = "x,y" }"#, r#""p,q""#]
        );
        assert_eq!(values(r#""a\",b",c"#), [r#""a\",b""#, "c"]);
        // Two dots alone make no range.
        assert_eq!(values("../trace.bin"), ["../trace.bin"]);
    }

    #[test]
    fn a_range_has_both_ends() {
        assert_eq!(values("1..4"), ["1", "2", "3", "4"]);
        assert_eq!(values("-2..1"), ["-2", "-1", "0", "1"]);
        assert_eq!(values("64..1024:5"), ["64", "304", "544", "784", "1024"]);
        // 1 + 4.5 and -4 + 1.5: halves go up.
        assert_eq!(values("1..10:3"), ["1", "6", "10"]);
        assert_eq!(values("-4..-1:3"), ["-4", "-2", "-1"]);
        assert_eq!(values("0.0..1.0:11")[3], "0.3");
        assert_eq!(values("0.5..2:4"), ["0.5", "1", "1.5", "2"]);
        assert_eq!(values("1e-3..2e-3:2"), ["0.001", "0.002"]);
        let open = Axis::parse("k", "0.5..2.0").unwrap();
        assert!(!open.is_counted());
        assert_eq!((open.len(), open.value(1_000)), (FINE, "2".to_owned()));
    }

    #[test]
    fn columns_are_as_wide_as_their_values() {
        let kind = |text| Axis::parse("k", text).unwrap().holds();
        assert_eq!(kind("1,2,-3"), Holds::Whole);
        assert_eq!(kind("1..5"), Holds::Whole);
        assert_eq!(kind("1,2.5"), Holds::Number);
        assert_eq!(kind("0.5..2.0:3"), Holds::Number);
        assert_eq!(kind("credit,5"), Holds::Text);
        assert_eq!(kind("inf,nan"), Holds::Text);
        assert_eq!(kind("true,false"), Holds::Text);
    }

    #[test]
    fn what_is_wrong_is_told() {
        assert!(refused("").contains("empty"));
        assert!(refused("1,,2").contains("empty"));
        assert!(refused("1,2,1").contains("1 is there twice"));
        assert!(refused("5..1").contains("smaller end comes first"));
        assert!(refused("5..5").contains("not below"));
        assert!(refused("1..x:3").contains("\"x\" is no number"));
        assert!(refused("1..9:1").contains("2 or more"));
        assert!(refused("1..9:").contains("LO..HI:N"));
        assert!(refused("1..3:5").contains("write 1.0..3.0:5"));
        assert!(refused("0..9000000").contains("more than 1000000"));
        assert_eq!(refused("5..1").split(':').next(), Some("k=5..1"));
    }

    proptest! {
        #[test]
        fn any_text_is_an_axis_or_is_refused(text in ".{0,24}") {
            if let Ok(axis) = Axis::parse("k", &text) {
                prop_assert!(!axis.is_empty() && axis.len() <= MOST_VALUES);
                axis.value(0);
                axis.value(axis.len() - 1);
            }
        }

        #[test]
        fn whole_numbers_rise_from_end_to_end(
            lo in any::<i64>(), span in 1..u64::MAX, n in 2..99_u64,
        ) {
            let hi = lo.saturating_add_unsigned(span);
            prop_assume!(hi > lo && hi.abs_diff(lo) >= n);
            let axis = Axis::parse("k", &format!("{lo}..{hi}:{n}")).unwrap();
            let points: Vec<i64> = (0..n).map(|i| axis.value(i).parse().unwrap()).collect();
            prop_assert_eq!((points[0], points[n as usize - 1]), (lo, hi));
            prop_assert!(points.windows(2).all(|w| w[0] < w[1]));
            // As it is shown, it is read again.
            let again = Axis::parse("k", axis.to_string().strip_prefix("k=").unwrap());
            prop_assert_eq!(again, Ok(axis));
        }

        #[test]
        fn fractions_rise_from_end_to_end(
            lo in -1e6..1e6_f64, span in 0.01..1e6_f64, n in 2..99_u64,
        ) {
            let axis = Axis::parse("k", &format!("{lo:?}..{:?}:{n}", lo + span)).unwrap();
            let points: Vec<f64> = (0..n).map(|i| axis.value(i).parse().unwrap()).collect();
            prop_assert!((points[0] - lo).abs() < 1e-4);
            prop_assert!((points[n as usize - 1] - lo - span).abs() < 1e-4);
            prop_assert!(points.windows(2).all(|w| w[0] < w[1]));
        }

        #[test]
        fn lists_come_back(words in prop::collection::btree_set("[a-z0-9]{1,6}", 1..8)) {
            let words: Vec<String> = words.into_iter().collect();
            prop_assert_eq!(values(&words.join(",")), words);
        }
    }
}
