//! Kinds of parameters with the type of their values.

use super::{ParamKind, ParamSpec, ParamValues};
use crate::version::XenVersion;

/// Parameters that are declared together: what `params!` makes of a structure.
pub trait Params {
    /// The declarations, in order.
    const SPECS: &'static [ParamSpec];

    /// Those that may change in a run, in order.
    const CHANGEABLE: &'static [ParamSpec];
}

/// What a parameter can be, for a reader who wants a `T`.
pub struct TypedParam<T> {
    kind: ParamKind,
    unit: &'static str,
    default: i64,
    changeable: bool,
    read: fn(ParamKind, i64) -> T,
}

impl<T> TypedParam<T> {
    const fn new(kind: ParamKind, default: i64, read: fn(ParamKind, i64) -> T) -> Self {
        TypedParam {
            kind,
            unit: "",
            default,
            changeable: false,
            read,
        }
    }

    /// The same number, which may be 0 as well.
    #[must_use]
    pub const fn or_zero(mut self) -> Self {
        if let ParamKind::Int { min, max, .. } = self.kind {
            let or_zero = true;
            self.kind = ParamKind::Int { min, max, or_zero };
        }
        self
    }

    /// The same, which an operator can change in a run.
    #[must_use]
    pub const fn changeable(mut self) -> Self {
        self.changeable = true;
        self
    }

    /// Whether an operator can change it in a run.
    pub const fn is_changeable(&self) -> bool {
        self.changeable
    }

    /// The declaration with this name and meaning.
    pub const fn declare(&self, name: &'static str, doc: &'static str) -> ParamSpec {
        ParamSpec {
            name,
            unit: self.unit,
            kind: self.kind,
            default: self.default,
            doc,
        }
    }

    /// The value called `name` among `values`.
    ///
    /// # Panics
    /// When none of `values` is called so: they are of another declaration.
    pub fn of(&self, values: &ParamValues, name: &str) -> T {
        match values.by_name(name) {
            Some(value) => self.value(value),
            None => panic!("no parameter `{name}` is declared here"),
        }
    }

    /// What the number `value` stands for.
    pub fn value(&self, value: i64) -> T {
        (self.read)(self.kind, value)
    }
}

/// Types of whole numbers, as which a parameter can be read.
pub trait Whole: Sized {
    /// The number as the type has it.
    ///
    /// # Panics
    /// When the type has no such number: the range of the declaration is too wide.
    fn whole(value: i64) -> Self;
}

macro_rules! whole {
    ($($type:ty)*) => {$(
        impl Whole for $type {
            fn whole(value: i64) -> Self {
                value.try_into().expect("the range fits in the type")
            }
        }
    )*};
}

whole!(i64 u64 u32 usize u128);

/// A number from `min` to `max`, with this unit (empty for none) and default.
pub const fn int<T: Whole>(
    unit: &'static str,
    (min, max): (i64, i64),
    default: i64,
) -> TypedParam<T> {
    let or_zero = false;
    let kind = ParamKind::Int { min, max, or_zero };
    TypedParam {
        unit,
        ..TypedParam::new(kind, default, |_, value| T::whole(value))
    }
}

/// Yes or no.
pub const fn flag(default: bool) -> TypedParam<bool> {
    TypedParam::new(ParamKind::Flag, default as i64, |_, value| value != 0)
}

/// What one of several words stands for.
pub trait ByWord: Copy + 'static {
    /// The words.
    const WORDS: &'static [&'static str];
    /// What each stands for.
    const ALL: &'static [Self];
}

/// One word of several, by default the one with this place.
pub const fn choice<T: ByWord>(default: usize) -> TypedParam<T> {
    assert!(T::WORDS.len() == T::ALL.len(), "a meaning for each word");
    let kind = ParamKind::Choice(T::WORDS);
    TypedParam::new(kind, default as i64, |_, value| T::ALL[value as usize])
}

/// A release of Xen from `first` to `last`.
pub const fn version(
    first: XenVersion,
    last: XenVersion,
    default: XenVersion,
) -> TypedParam<XenVersion> {
    const NAMES: &[&str] = &XenVersion::NAMES;
    let words = NAMES
        .split_at(last as usize + 1)
        .0
        .split_at(first as usize)
        .1;
    let default = default as i64 - first as i64;
    TypedParam::new(ParamKind::Choice(words), default, |kind, value| {
        let ParamKind::Choice(words) = kind else {
            unreachable!("a release is a word");
        };
        XenVersion::from_name(words[value as usize]).expect("every word is a release")
    })
}

/// How many of `flags` are set.
pub const fn count(flags: &[bool]) -> usize {
    let (mut i, mut count) = (0, 0);
    while i < flags.len() {
        count += flags[i] as usize;
        i += 1;
    }
    count
}

/// Those of `specs` whose flag is set, `N` of them.
pub const fn chosen<const N: usize>(specs: &[ParamSpec], flags: &[bool]) -> [ParamSpec; N] {
    let mut chosen = [ParamSpec::int("", "", (0, 0), 0, ""); N];
    let (mut i, mut to) = (0, 0);
    while i < specs.len() {
        if flags[i] {
            chosen[to] = specs[i];
            to += 1;
        }
        i += 1;
    }
    chosen
}
