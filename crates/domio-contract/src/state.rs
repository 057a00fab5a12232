//! [`StateRows`]: what a policy has in its books, as rows of named values that are sentences, too.
//!
//! A policy gives its state once ([`crate::Scheduler::state`]). Programs ask rows and fields by
//! name; people read the text, which [`StateRows`] makes of the same rows (Xen's debug key `r`). A
//! policy that starts in the middle of a run takes its state from rows of the same names
//! ([`crate::Scheduler::resume`]).
//!
//! ```
//! use domio_core::VcpuId;
//! use domio_contract::state::{About, StateRows};
//!
//! let mut state = StateRows::default();
//! let row = state.row("  waits: ", About::Vcpu(VcpuId(3)));
//! row.say("v3, credit ").tell("credit", "", -20).flag("parked", ", parked", false);
//! assert_eq!(state.to_string(), "  waits: v3, credit -20\n");
//! let row = state.about(About::Vcpu(VcpuId(3))).next().expect("told");
//! assert_eq!((row.int("credit"), row.int("parked")), (Some(-20), Some(0)));
//! ```

use crate::contract::Scheduler;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use domio_core::{CpuSet, DomainId, Duration, Instant, PcpuId, VcpuId};

/// What a row is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// The policy as a whole.
    Policy,
    /// A pcpu, with what queues there in the rows that follow.
    Pcpu(PcpuId),
    /// A run queue of several pcpus, by its number.
    Runq(usize),
    /// A domain.
    Domain(DomainId),
    /// A vcpu. It has a row for each list in which it is.
    Vcpu(VcpuId),
}

/// A value of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StateValue {
    /// A number, in the unit of its field.
    Int(i64),
    /// A length of time.
    Length(Duration),
    /// A time of the host.
    Time(Instant),
    /// A word of the policy's.
    Word(String),
    /// A set of pcpus.
    Pcpus(CpuSet),
    /// A list of vcpus, the first one at the head.
    Vcpus(Vec<VcpuId>),
}

/// A named value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateField {
    /// What it is called, unique in its row.
    pub name: &'static str,
    /// The unit of a number, empty for none and for other values.
    pub unit: &'static str,
    /// The value.
    pub value: StateValue,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Piece {
    Said(&'static str),
    /// The field with this index.
    Told(usize),
}

/// A line of the state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateRow {
    /// What it is about.
    pub about: About,
    /// What comes before the sentence: the list in which the row is, and how deep.
    pub list: &'static str,
    fields: Vec<StateField>,
    pieces: Vec<Piece>,
}

/// What a policy has in its books, in its own order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StateRows {
    rows: Vec<StateRow>,
}

impl StateRows {
    /// Begins a row, in `list`.
    pub fn row(&mut self, list: &'static str, about: About) -> &mut StateRow {
        self.rows.push(StateRow {
            about,
            list,
            fields: Vec::new(),
            pieces: Vec::new(),
        });
        self.rows.last_mut().expect("one was pushed")
    }

    /// The state of `policy`.
    pub fn of(policy: &dyn Scheduler) -> StateRows {
        let mut state = StateRows::default();
        policy.state(&mut state);
        state
    }

    /// All rows.
    pub fn rows(&self) -> &[StateRow] {
        &self.rows
    }

    /// The rows about `what`.
    pub fn about(&self, what: About) -> impl Iterator<Item = &StateRow> {
        self.rows.iter().filter(move |row| row.about == what)
    }
}

impl StateRow {
    /// Continues with these words.
    pub fn say(&mut self, words: &'static str) -> &mut Self {
        self.pieces.push(Piece::Said(words));
        self
    }

    /// Continues with a value, which has this name and unit.
    pub fn tell(
        &mut self,
        name: &'static str,
        unit: &'static str,
        value: impl Into<StateValue>,
    ) -> &mut Self {
        self.pieces.push(Piece::Told(self.fields.len()));
        let value = value.into();
        self.fields.push(StateField { name, unit, value });
        self
    }

    /// Has the number 1 where `set`, and `words` say so; 0 and no words elsewhere.
    pub fn flag(&mut self, name: &'static str, words: &'static str, set: bool) -> &mut Self {
        self.hold(name, "", i64::from(set));
        if set {
            self.say(words);
        }
        self
    }

    /// Has a value that is no part of the sentence.
    pub fn hold(
        &mut self,
        name: &'static str,
        unit: &'static str,
        value: impl Into<StateValue>,
    ) -> &mut Self {
        let value = value.into();
        self.fields.push(StateField { name, unit, value });
        self
    }

    /// The values.
    pub fn fields(&self) -> &[StateField] {
        &self.fields
    }

    /// The value called `name`; `None` where there is none, or one of another sort.
    pub fn get<'r, T: OfState<'r>>(&'r self, name: &str) -> Option<T> {
        let field = self.fields.iter().find(|f| f.name == name)?;
        T::of_state(&field.value)
    }

    /// The number called `name`.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name)
    }

    /// Puts the value called `name` into `to`, which stays as it is where there is none.
    pub fn put<'r, T: OfState<'r>>(&'r self, name: &str, to: &mut T) {
        if let Some(value) = self.get(name) {
            *to = value;
        }
    }
}

/// What can be read off a value of a row.
pub trait OfState<'r>: Sized {
    /// The value as this type has it; `None` where the value is of another sort.
    fn of_state(value: &'r StateValue) -> Option<Self>;
}

macro_rules! of_state {
    ($($pattern:pat => $to:ty: $value:expr;)*) => {$(
        impl<'r> OfState<'r> for $to {
            fn of_state(value: &'r StateValue) -> Option<Self> {
                match value {
                    $pattern => $value,
                    _ => None,
                }
            }
        }
    )*};
}

of_state! {
    StateValue::Int(n) => i64: Some(*n);
    StateValue::Int(n) => u32: u32::try_from(*n).ok();
    StateValue::Int(n) => bool: Some(*n != 0);
    StateValue::Length(length) => Duration: Some(*length);
    StateValue::Time(at) => Instant: Some(*at);
    StateValue::Word(word) => &'r str: Some(word);
    StateValue::Pcpus(set) => CpuSet: Some(*set);
}

macro_rules! values {
    ($($from:ty, $value:ident => $to:expr;)*) => {$(
        impl From<$from> for StateValue {
            fn from($value: $from) -> Self {
                $to
            }
        }
    )*};
}

values! {
    i64, n => StateValue::Int(n);
    i32, n => StateValue::Int(i64::from(n));
    u32, n => StateValue::Int(i64::from(n));
    u16, n => StateValue::Int(i64::from(n));
    u64, n => StateValue::Int(n as i64);
    usize, n => StateValue::Int(n as i64);
    Duration, d => StateValue::Length(d);
    Instant, at => StateValue::Time(at);
    &str, word => StateValue::Word(word.into());
    String, word => StateValue::Word(word);
    CpuSet, set => StateValue::Pcpus(set);
    Vec<VcpuId>, vcpus => StateValue::Vcpus(vcpus);
}

impl fmt::Display for StateValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateValue::Int(n) => n.fmt(f),
            StateValue::Length(length) => length.fmt(f),
            StateValue::Time(at) => at.fmt(f),
            StateValue::Word(word) => word.fmt(f),
            StateValue::Pcpus(set) => write!(f, "{set:?}"),
            StateValue::Vcpus(vcpus) => {
                for (i, vcpu) in vcpus.iter().enumerate() {
                    let gap = if i == 0 { "" } else { " " };
                    write!(f, "{gap}{}", vcpu.0)?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for StateRow {
    /// The sentence, without what comes before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| match *piece {
            Piece::Said(words) => f.write_str(words),
            Piece::Told(i) => self.fields[i].value.fmt(f),
        })
    }
}

impl fmt::Display for StateRows {
    /// A line for each row.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows
            .iter()
            .try_for_each(|row| writeln!(f, "{}{row}", row.list))
    }
}
