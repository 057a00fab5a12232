//! Checkers of what an operator or a controller says: parameters of the policy, and charges.

use super::checker::Checker;
use crate::conformance::log::{LogEntry, Occurrence, PolicyCall};
use crate::conformance::world::World;
use alloc::boxed::Box;
use alloc::string::String;
use domio_contract::Promises;
use domio_core::Duration;

pub(super) fn in_force() -> Box<dyn Checker> {
    Box::new(ParametersInForce { slice: None })
}

struct ParametersInForce {
    /// The longest slice that the parameters allow, once they are known.
    slice: Option<Duration>,
}

impl Checker for ParametersInForce {
    fn name(&self) -> &'static str {
        "parameters-in-force"
    }

    fn entry(&mut self, _: &World, entry: &LogEntry) -> Option<String> {
        match entry.what {
            Occurrence::Call(PolicyCall::SetParams(change)) => {
                let slice = |ms: i64| Duration::from_millis(ms as u64);
                self.slice = change.tslice_ms.map(slice);
                let wrong = || alloc::format!("{change}, but what is in force then is not that");
                (!change.as_told).then(wrong)
            }
            Occurrence::Call(PolicyCall::Schedule(p, _, pick)) => {
                let (most, slice) = (self.slice?, pick.time_slice?);
                (slice > most).then(|| {
                    alloc::format!("a slice of {slice} on {p}, where `tslice_ms` is {most}")
                })
            }
            _ => None,
        }
    }
}

pub(super) fn charges(promises: &Promises) -> Box<dyn Checker> {
    Box::new(ChargesAsPromised {
        promised: promises.charges,
    })
}

struct ChargesAsPromised {
    promised: bool,
}

impl Checker for ChargesAsPromised {
    fn name(&self) -> &'static str {
        "charges-as-promised"
    }

    fn entry(&mut self, _: &World, entry: &LogEntry) -> Option<String> {
        let Occurrence::Call(PolicyCall::Charge(charge)) = entry.what else {
            return None;
        };
        let owed = charge.before.filter(|_| self.promised);
        let expected = owed.map(|owed| owed.saturating_add(charge.done));
        if charge.taken == expected.is_some() && (charge.after == expected || !charge.taken) {
            return None;
        }
        let shown = |debt: Option<Duration>| match debt {
            Some(debt) => alloc::format!("{debt}"),
            None => String::from("no debt"),
        };
        Some(alloc::format!(
            "{charge}: {} before, {} after",
            shown(charge.before),
            shown(charge.after)
        ))
    }
}
