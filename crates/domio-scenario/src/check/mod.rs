//! Checks tables of the document against their declared keys.
//!
//! | file | holds |
//! |---|---|
//! | `cx` | what checking knows of the scenario, and where it puts problems |
//! | `checker` | checking as the crates of devices and controllers see it |
//! | `fields` | one table: which keys were written, which are missing |
//! | `value`, `lengths` | one value against the kind of its key |
//! | `words` | words that a key takes, and what is said of others |
//! | `unknown`, `meant` | a key that does not exist: what was meant |
//! | `refused`, `hint` | what is said of a value that is refused, and what to do about it |

mod checker;
mod cx;
mod fields;
mod hint;
mod lengths;
pub(crate) mod meant;
mod refused;
mod unknown;
pub(crate) mod value;
pub(crate) mod words;

pub(crate) use cx::Cx;
pub(crate) use fields::{Fields, absent, allows, inner, param_specs, table};
pub(crate) use hint::example_of;
pub(crate) use lengths::LENGTHS;
