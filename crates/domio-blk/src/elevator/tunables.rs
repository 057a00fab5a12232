//! Tunables of elevators, under the names that they have in sysfs.
//!
//! An elevator declares its tunables as a structure, each line of which is a field: see
//! `domio_core::params`, whose kinds of values these are.

use super::request::Jiffies;
use domio_core::keys::{Key, Need};
use domio_core::params::{TypedParam, int};
use domio_core::{ParamError, ParamSpec};

/// Most tunables that an elevator has.
const MOST: usize = 12;

/// Milliseconds in jiffies, rounded up as the kernel does for what is written to sysfs.
pub const fn jiffies_of_ms(ms: i64, hz: i64) -> Jiffies {
    (ms * hz + 999) / 1000
}

/// A value that can be written to `/sys/block/DISK/queue/iosched/NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Tunable {
    /// Name, unit, range, meaning. The default is the one at 1000 ticks a second.
    pub spec: ParamSpec,
    /// For a time: the default is this part of a second, as (numerator, denominator), in whole
    /// ticks, at least [`Tunable::least`]. `None` for what is no time.
    pub part: Option<(i64, i64)>,
    /// Fewest ticks of the default.
    pub least: Jiffies,
}

impl Tunable {
    /// Default with a clock of `hz` ticks a second: in ticks for a time.
    pub fn default(&self, hz: i64) -> i64 {
        match self.part {
            Some((num, den)) => (num * hz / den).max(self.least),
            None => self.spec.default,
        }
    }
}

/// The tunables as keys of scenarios.
pub const fn keys<const N: usize>(tunables: &[Tunable]) -> [Key; N] {
    let mut keys = [Key::of(&ParamSpec::int("", "", (0, 0), 0, "")); N];
    let mut i = 0;
    while i < N {
        let key = Key::of(&tunables[i].spec);
        keys[i] = match tunables[i].part {
            // The default of a time depends on the clock of the kernel.
            Some(_) => Key {
                need: Need::Optional("the kernel's"),
                ..key
            },
            None => key,
        };
        i += 1;
    }
    keys
}

/// Values of an elevator's tunables as the kernel holds them: times in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    tunables: &'static [Tunable],
    values: [i64; MOST],
    hz: i64,
}

impl Tuning {
    /// Every tunable at its default, with a clock of `hz` ticks a second.
    pub fn defaults(tunables: &'static [Tunable], hz: i64) -> Self {
        let mut values = [0; MOST];
        for (value, tunable) in values.iter_mut().zip(tunables) {
            *value = tunable.default(hz);
        }
        Tuning {
            tunables,
            values,
            hz,
        }
    }

    /// Ticks a second.
    pub fn hz(&self) -> i64 {
        self.hz
    }

    /// Writes a value as to sysfs: times in milliseconds, rounded up to ticks.
    ///
    /// # Errors
    /// There is no such tunable, or its range does not have the value; nothing changes then.
    pub fn write(&mut self, name: &str, value: i64) -> Result<(), ParamError> {
        let at = self.tunables.iter().position(|t| t.spec.name == name);
        let at = at.ok_or(ParamError::Unknown)?;
        let tunable = &self.tunables[at];
        if !tunable.spec.allows(value) {
            return Err(ParamError::OutOfRange(&tunable.spec));
        }
        self.values[at] = match tunable.part {
            Some(_) => jiffies_of_ms(value, self.hz),
            None => value,
        };
        Ok(())
    }

    /// Value of the tunable called `name`: times in ticks.
    fn get(&self, name: &str) -> i64 {
        let at = self.tunables.iter().position(|t| t.spec.name == name);
        self.values[at.expect("a tunable of this elevator")]
    }
}

/// What a tunable can be, for a reader who wants a `T`.
pub struct TypedTunable<T> {
    param: TypedParam<T>,
    part: Option<(i64, i64)>,
    least: Jiffies,
}

/// A time in milliseconds, at least `min`, whose default is a part of a second; read in ticks.
pub const fn time(min: i64, (num, den): (i64, i64)) -> TypedTunable<Jiffies> {
    TypedTunable {
        part: Some((num, den)),
        ..plain(int("ms", (min, 1_000_000), 1000 * num / den))
    }
}

/// What is no time.
pub const fn plain<T>(param: TypedParam<T>) -> TypedTunable<T> {
    TypedTunable {
        param,
        part: None,
        least: 0,
    }
}

impl<T> TypedTunable<T> {
    /// The same, with a default of one tick at least.
    pub const fn at_least_a_tick(mut self) -> Self {
        self.least = 1;
        self
    }

    /// The declaration with this name and meaning.
    pub const fn declare(&self, name: &'static str, doc: &'static str) -> Tunable {
        Tunable {
            spec: self.param.declare(name, doc),
            part: self.part,
            least: self.least,
        }
    }

    /// The value called `name` of `tuning`.
    pub fn of(&self, tuning: &Tuning, name: &str) -> T {
        self.param.value(tuning.get(name))
    }
}

/// Declares tunables as a structure: each line is `name: Type = kind, "meaning";`, and the name is
/// a
/// field of that type. A line without a type is a tunable that has no field, because it can be one
/// value alone.
macro_rules! tunables {
    ($(#[$meta:meta])* struct $name:ident {
        $($field:tt $(: $type:ty)? = $kind:expr, $doc:expr;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        struct $name {
            $($($field: $type,)?)*
        }

        impl $name {
            const ALL: &'static [$crate::elevator::Tunable] = &[$({
                let typed $(: $crate::elevator::tunables::TypedTunable<$type>)? = $kind;
                typed.declare(tunables!(@name $field), $doc)
            }),*];
            const KEYS: &'static [::domio_core::keys::Key] =
                &$crate::elevator::tunables::keys::<{ $name::ALL.len() }>($name::ALL);
        }

        impl From<&$crate::elevator::Tuning> for $name {
            fn from(tuning: &$crate::elevator::Tuning) -> Self {
                $name {
                    $($($field: {
                        let typed: $crate::elevator::tunables::TypedTunable<$type> = $kind;
                        typed.of(tuning, tunables!(@name $field))
                    },)?)*
                }
            }
        }
    };
    (@name $name:literal) => { $name };
    (@name $name:ident) => { stringify!($name) };
}
