//! From a table that was checked to a structure.

use super::{Key, Typed};
use crate::{CpuSet, Duration};
use alloc::string::String;
use alloc::vec::Vec;

/// A value that was found to be good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Good {
    /// A text, a name or a word; a number that a text may stand for, as a text.
    Text(String),
    /// Some texts.
    Texts(Vec<String>),
    /// A number; a flag is 0 or 1.
    Int(i64),
    /// A time.
    Time(Duration),
    /// A time that may be drawn.
    Lengths(Distribution),
    /// Bytes, or bits a second.
    Count(u64),
    /// Pcpus.
    Pcpus(CpuSet),
    /// Pcpus of the vcpus of a domain.
    VcpuPins(VcpuPins),
    /// Index of a vcpu, none for all.
    Vcpu(Option<u16>),
    /// One or more tables.
    Nested,
}

/// Pcpus of the vcpus of a domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VcpuPins {
    /// The same for all of them.
    Alike(CpuSet),
    /// One set a vcpu, in order.
    Each(Vec<CpuSet>),
}

/// How a length of time is drawn. All parameters are processor time or real time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// Always this.
    Constant(Duration),
    /// Uniform between two values, both included.
    Uniform(Duration, Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// Normal with mean and standard deviation, cut off at zero.
    Normal(Duration, Duration),
}

/// A table that was checked.
pub trait Given {
    /// Whether the key called `name` was written, and its value: what was written, if that is good,
    /// or else the default, if there is one.
    ///
    /// # Panics
    /// When no such key is declared for the table.
    fn given(&self, name: &str) -> (bool, Option<Good>);
}

/// What a table says at one key.
#[derive(Clone, Debug)]
pub struct Slot<T> {
    /// Name of the key, without its unit.
    pub name: &'static str,
    /// Whether it was written, good or bad.
    pub given: bool,
    value: Option<T>,
}

impl<T> Slot<T> {
    /// What `table` says at the key `name` of this kind.
    pub fn read<G>(table: &G, name: &'static str, typed: &Typed<T>) -> Slot<T>
    where
        G: Given + ?Sized,
        T: Clone,
    {
        let (given, good) = table.given(name);
        let value = good.and_then(|good| typed.of(&good));
        Slot { name, given, value }
    }

    /// The value; the default when none was written and there is one, `None` when it is missing or
    /// was bad.
    pub fn get(&self) -> Option<T>
    where
        T: Clone,
    {
        self.value.clone()
    }

    /// The value of a key that may be left out: `Some(None)` when it was, `None` when it was bad.
    pub fn if_given(&self) -> Option<Option<T>>
    where
        T: Clone,
    {
        match self.given {
            false => Some(None),
            true => self.get().map(Some),
        }
    }

    /// The value, or `default` when none was written; `None` when it was bad.
    pub fn or(&self, default: T) -> Option<T>
    where
        T: Clone,
    {
        self.if_given().map(|value| value.unwrap_or(default))
    }
}

/// A structure with a field for each key of a table, made with the macro `keys!`
/// (`crates/domio-core/src/keys/declare.rs`).
pub trait Keys {
    /// The keys, in order.
    const KEYS: &'static [Key];

    /// What `table` says.
    fn read<G: Given + ?Sized>(table: &G) -> Self;
}

/// Declares a table of times that stand in a structure of figures, each with its name, its place
/// and its meaning: the section, the function that puts those that were written into a value of
/// the type, and the function that lists them.
#[macro_export]
macro_rules! times {
    ($section:ident, $apply:ident, $list:ident, $type:ty, $header:literal, $doc:literal, {
        $($name:ident: $($field:ident $([$slot:literal])?).+, $what:literal;)*
    }) => {
        #[doc = $doc]
        pub static $section: $crate::keys::KeySection = $crate::keys::KeySection::plain(
            $header,
            $doc,
            &[$($crate::keys::Key::new(
                stringify!($name),
                $crate::keys::KeyKind::Time { unit: "us", min_ns: 0 },
                $crate::keys::Need::Optional("the profile's"),
                $what,
            ),)*],
        );

        /// Puts the times that `table` gives into `figures`; `None` when one of them is bad.
        pub fn $apply(table: &dyn $crate::keys::Given, figures: &mut $type) -> Option<()> {
            $(
                if let (true, time) = table.given(stringify!($name)) {
                    let $crate::keys::Good::Time(time) = time? else { return None };
                    figures.$($field $([$slot])?).+ = time;
                }
            )*
            Some(())
        }

        /// Keys and values of all `figures`.
        pub fn $list(figures: &$type) -> [(&'static str, $crate::Duration); [$($what),*].len()] {
            [$((stringify!($name), figures.$($field $([$slot])?).+)),*]
        }
    };
}
