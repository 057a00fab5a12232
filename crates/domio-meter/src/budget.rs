//! Time for which a vcpu's own budget holds it back: it is runnable, and its policy lets it run
//! only when the budget is filled up (RTDS, SEDF). Such time is parked, as that of a vcpu whose cap
//! is used up, which credit and credit2 put to sleep.

use domio_core::{Declared, Record, Runstate, Says};
use domio_trace::{StayPassed, TakenFor, Track};

use crate::account::Window;

/// Whether `record` says that the budget of its actor is used up, or is not; `None` where it says
/// nothing of budgets.
#[inline]
pub(crate) fn used_up(declared: &Declared, record: &Record) -> Option<bool> {
    match declared.says {
        Says::Budget { left } => {
            let left = declared.fields.get(usize::from(left));
            Some(left.is_some_and(|field| field.signed(record) <= 0))
        }
        Says::Filled => Some(false),
        _ => None,
    }
}

/// The budget of one vcpu, and for how long the vcpu has been held back in its present runstate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    /// Since when it is used up; `None` while it is not.
    since: Option<u64>,
    /// Time held back that is over, and not taken yet.
    over: u64,
}

impl Budget {
    /// Whether it is used up.
    #[inline]
    pub fn is_used_up(&self) -> bool {
        self.since.is_some()
    }

    /// A record says at `at` whether the budget is used up. `track` is the vcpu's, and time in
    /// `window` counts. Returns whether that is new.
    pub fn says(&mut self, at: u64, used_up: bool, track: &Track, window: Window) -> bool {
        if used_up == self.is_used_up() {
            return false;
        }
        if used_up {
            self.since = Some(at);
        } else if let Some(since) = self.since.take()
            && track.taken_for() == TakenFor::State(Runstate::Runnable)
        {
            let held = window.part(since.max(track.since()), at);
            self.over = self.over.saturating_add(held);
        }
        true
    }

    /// Records are missing: the budget may have been filled up.
    pub fn forget(&mut self) {
        self.since = None;
    }

    /// The part of `passed`, as far as it counts, for which the budget held the vcpu back. None of
    /// it does where the state is not known for sure.
    #[inline]
    pub fn take(&mut self, passed: &StayPassed, window: Window) -> u64 {
        let held = self.take_until(passed.known, passed.to, window);
        match passed.state == Runstate::Runnable && passed.sure {
            true => held,
            false => 0,
        }
    }

    /// The part of the time between `from` and `to`, in which the vcpu was runnable, for which the
    /// budget held it back.
    #[inline]
    pub fn take_until(&mut self, from: u64, to: u64, window: Window) -> u64 {
        let lasts = self
            .since
            .map_or(0, |since| window.part(since.max(from), to));
        core::mem::take(&mut self.over).saturating_add(lasts)
    }
}
