//! Declared parameters.
//!
//! A policy, a controller or an elevator declares each parameter once, with unit, range, default
//! and meaning. The scenario schema, the error messages, `--help` and the documentation derive from
//! that declaration, which is a field of the structure that is read at the same time:
//!
//! ```text
//! params! {
//!     struct Params {
//!         tslice_ms: u64 = int("ms", (1, 1000), 30).changeable(), "Time slice.";
//!         boost: bool = flag(true), "Whether a vcpu that wakes goes before all others.";
//!     }
//! }
//!
//! static DESCRIPTOR: Descriptor = Descriptor { params: Params::SPECS, .. };
//! let params = Params::from(&values);
//! ```
//!
//! A parameter that nobody reads is a field that nobody reads, of which the compiler warns. Values
//! by name ([`ParamValues`]) are what scenarios, operators and tests hand over.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | [`ParamSpec`], [`ParamValues`]: declarations, and values by name |
//! | `typed` | kinds of parameters with the type of their values |
//! | `declare` | the macro `params!`, a module of each crate that declares parameters |

mod declare;
mod typed;

pub use typed::{ByWord, Params, TypedParam, Whole, choice, chosen, count, flag, int, version};

use alloc::format;
use alloc::string::String;
use core::fmt;

/// Most parameters that one declaration may have.
pub const MAX_PARAMS: usize = 24;

/// What values a parameter can take. All are stored as `i64`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// A whole number from `min` to `max`, both included; 0 as well when `or_zero` (as Xen's
    /// ratelimit: 0 for off, or 100 to 500000).
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
        /// Whether 0 is allowed below `min`.
        or_zero: bool,
    },
    /// 0 or 1, written `false` or `true`.
    Flag,
    /// One of these words; stored as the index.
    Choice(&'static [&'static str]),
}

/// Declaration of one parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamSpec {
    /// Name in scenarios and on the command line; ends in its unit where it has one (`tslice_ms`).
    pub name: &'static str,
    /// Unit for people ("ms", "us", "% of one pcpu"), empty for none.
    pub unit: &'static str,
    /// Range.
    pub kind: ParamKind,
    /// Default, in range.
    pub default: i64,
    /// Meaning, one sentence, with the source.
    pub doc: &'static str,
}

/// Why a value was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParamError {
    /// No parameter has that name.
    Unknown,
    /// The value is not in range; holds the declaration, whose [`ParamSpec::range`] says what is.
    OutOfRange(&'static ParamSpec),
}

/// Values of declared parameters, each in its range, that do not go together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// Name of the parameter to change.
    pub param: &'static str,
    /// Name of the parameter that it clashes with, which may be at its default.
    pub with: &'static str,
    /// What is wrong, as a sentence without a full stop.
    pub problem: String,
    /// What would be right, such as the bound of `param`.
    pub expected: String,
    /// What to do about it.
    pub hint: &'static str,
}

impl Conflict {
    /// The parameter called `param` cannot be changed in a run.
    pub fn fixed(param: &'static str) -> Self {
        Conflict {
            param,
            with: param,
            problem: format!("`{param}` cannot be changed in a run"),
            expected: String::from("the value that it has from the start"),
            hint: "set it in [scheduler]",
        }
    }
}

/// Values of a declared list of parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamValues {
    specs: &'static [ParamSpec],
    values: [i64; MAX_PARAMS],
}

impl ParamSpec {
    /// A number from `min` to `max`.
    pub const fn int(
        name: &'static str,
        unit: &'static str,
        (min, max): (i64, i64),
        default: i64,
        doc: &'static str,
    ) -> ParamSpec {
        let or_zero = false;
        ParamSpec {
            name,
            unit,
            kind: ParamKind::Int { min, max, or_zero },
            default,
            doc,
        }
    }

    /// The same number, which may be 0 as well. What is no number stays what it is.
    #[must_use]
    pub const fn or_zero(mut self) -> ParamSpec {
        if let ParamKind::Int { min, max, .. } = self.kind {
            let or_zero = true;
            self.kind = ParamKind::Int { min, max, or_zero };
        }
        self
    }

    /// Whether `value` is allowed.
    pub const fn allows(&self, value: i64) -> bool {
        match self.kind {
            ParamKind::Int { min, max, or_zero } => {
                (min <= value && value <= max) || (or_zero && value == 0)
            }
            ParamKind::Flag => value == 0 || value == 1,
            ParamKind::Choice(words) => value >= 0 && (value as usize) < words.len(),
        }
    }

    /// The allowed range, for people: "1 to 65535", "true or false", "one of: 3.1, 4.17".
    pub fn range(&self) -> impl fmt::Display {
        Range(*self)
    }

    /// `value` as it is written in a scenario.
    pub fn show(&self, value: i64) -> impl fmt::Display {
        Shown(*self, value)
    }
}

struct Range(ParamSpec);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            ParamKind::Int { min, max, or_zero } => {
                if or_zero {
                    f.write_str("0, or ")?;
                }
                write!(f, "{min} to {max}")
            }
            ParamKind::Flag => f.write_str("true or false"),
            ParamKind::Choice(words) => {
                f.write_str("one of: ")?;
                for (i, word) in words.iter().enumerate() {
                    write!(f, "{}{word}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

struct Shown(ParamSpec, i64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            ParamKind::Int { .. } => write!(f, "{}", self.1),
            ParamKind::Flag => f.write_str(if self.1 == 0 { "false" } else { "true" }),
            ParamKind::Choice(words) => f.write_str(words[self.1 as usize]),
        }
    }
}

impl ParamValues {
    /// Every parameter at its default.
    ///
    /// # Panics
    /// When the declaration is wrong: over [`MAX_PARAMS`] entries or a default out of range.
    pub fn defaults(specs: &'static [ParamSpec]) -> Self {
        assert!(specs.len() <= MAX_PARAMS, "too many parameters declared");
        let mut values = [0; MAX_PARAMS];
        for (value, spec) in values.iter_mut().zip(specs) {
            assert!(
                spec.allows(spec.default),
                "default of {} is out of range",
                spec.name
            );
            *value = spec.default;
        }
        ParamValues { specs, values }
    }

    /// The declarations, in order.
    pub fn specs(&self) -> &'static [ParamSpec] {
        self.specs
    }

    /// Declarations and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static ParamSpec, i64)> + '_ {
        self.specs.iter().zip(self.values.iter().copied())
    }

    /// Value of the parameter called `name`.
    pub fn by_name(&self, name: &str) -> Option<i64> {
        self.position(name).map(|i| self.values[i])
    }

    /// Sets the parameter called `name`.
    ///
    /// # Errors
    /// [`ParamError`] when there is no such parameter or `value` is out of range; nothing changes
    /// then.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), ParamError> {
        let i = self.position(name).ok_or(ParamError::Unknown)?;
        if !self.specs[i].allows(value) {
            return Err(ParamError::OutOfRange(&self.specs[i]));
        }
        self.values[i] = value;
        Ok(())
    }

    /// Sets the [`ParamKind::Choice`] parameter called `name` to `word`.
    ///
    /// # Errors
    /// As [`ParamValues::set`].
    pub fn choose(&mut self, name: &str, word: &str) -> Result<(), ParamError> {
        let i = self.position(name).ok_or(ParamError::Unknown)?;
        let ParamKind::Choice(words) = self.specs[i].kind else {
            return Err(ParamError::OutOfRange(&self.specs[i]));
        };
        match words.iter().position(|w| *w == word) {
            Some(at) => self.set(name, at as i64),
            None => Err(ParamError::OutOfRange(&self.specs[i])),
        }
    }

    /// The word of the [`ParamKind::Choice`] parameter called `name`.
    pub fn word(&self, name: &str) -> Option<&'static str> {
        let i = self.position(name)?;
        match self.specs[i].kind {
            ParamKind::Choice(words) => Some(words[self.values[i] as usize]),
            _ => None,
        }
    }

    /// Puts the parameter called `name` back to its default; one that is not declared has none.
    pub fn reset(&mut self, name: &str) {
        if let Some(i) = self.position(name) {
            self.values[i] = self.specs[i].default;
        }
    }

    /// Whether the parameter called `name` is at its default; what is not declared is.
    pub fn is_default(&self, name: &str) -> bool {
        let i = self.position(name);
        i.is_none_or(|i| self.values[i] == self.specs[i].default)
    }

    /// Whether every parameter is at its default.
    pub fn are_defaults(&self) -> bool {
        self.iter().all(|(spec, value)| value == spec.default)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.specs.iter().position(|s| s.name == name)
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamError::Unknown => f.write_str("no parameter of that name"),
            ParamError::OutOfRange(spec) => {
                write!(f, "{} must be {}", spec.name, spec.range())
            }
        }
    }
}

impl core::error::Error for ParamError {}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; expected {}: {}",
            self.problem, self.expected, self.hint
        )
    }
}

impl core::error::Error for Conflict {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const SPECS: &[ParamSpec] = &[
        ParamSpec {
            name: "ratelimit_us",
            unit: "us",
            kind: ParamKind::Int {
                min: 100,
                max: 500_000,
                or_zero: true,
            },
            default: 1000,
            doc: "",
        },
        ParamSpec {
            name: "version",
            unit: "",
            kind: ParamKind::Choice(&["3.1", "4.17"]),
            default: 1,
            doc: "",
        },
    ];

    #[test]
    fn values_stay_in_their_range() {
        let mut v = ParamValues::defaults(SPECS);
        assert_eq!(v.set("ratelimit_us", 0), Ok(()));
        let refused = v.set("ratelimit_us", 99).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "ratelimit_us must be 0, or 100 to 500000"
        );
        assert_eq!(v.by_name("ratelimit_us"), Some(0));
        assert_eq!(v.set("rate", 1), Err(ParamError::Unknown));
        assert_eq!(v.choose("version", "3.1"), Ok(()));
        assert_eq!(v.by_name("version"), Some(0));
        assert!(v.choose("version", "5").is_err());
        assert_eq!(SPECS[1].range().to_string(), "one of: 3.1, 4.17");
        assert_eq!(SPECS[1].show(1).to_string(), "4.17");
    }
}
