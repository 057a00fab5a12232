//! Tunables of elevators, under the names that they have in sysfs.

use super::request::Jiffies;
use domio_core::keys::{Key, Need};
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
    /// A time in milliseconds, at least `min`, whose default is a part of a second.
    pub const fn time(
        name: &'static str,
        min: i64,
        (num, den): (i64, i64),
        doc: &'static str,
    ) -> Self {
        Tunable {
            spec: ParamSpec::int(name, "ms", (min, 1_000_000), 1000 * num / den, doc),
            part: Some((num, den)),
            least: 0,
        }
    }

    /// The same, with a default of one tick at least.
    pub const fn at_least_a_tick(mut self) -> Self {
        self.least = 1;
        self
    }

    /// What is no time.
    pub const fn plain(spec: ParamSpec) -> Self {
        Tunable {
            spec,
            part: None,
            least: 0,
        }
    }

    /// Default with a clock of `hz` ticks a second: in ticks for a time.
    pub fn default(&self, hz: i64) -> i64 {
        match self.part {
            Some((num, den)) => (num * hz / den).max(self.least),
            None => self.spec.default,
        }
    }
}

/// The tunables as keys of scenarios.
pub const fn keys<const N: usize>(tunables: &[Tunable; N]) -> [Key; N] {
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

    /// Value of the tunable at `index`: times in ticks.
    pub fn get(&self, index: usize) -> i64 {
        self.values[index]
    }
}
