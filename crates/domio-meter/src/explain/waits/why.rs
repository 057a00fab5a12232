//! Causes of waits.

use domio_answer::texts;

/// Why a vcpu that could execute did not, as far as records tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// It was woken and a pcpu was tickled for it: the way to the pass that puts it there.
    Pass,
    /// The vcpu went on that ran, whose time under the rate limit was not over: a pass for it let
    /// that one go on, or none was asked for (credit2).
    RateLimit,
    /// It was woken and no pcpu was tickled: its priority was no higher than that of who ran.
    NotTickled,
    /// It was woken and a pcpu was tickled, and the pass took another vcpu.
    PassedOver,
    /// It was woken. The trace does not tell whether a pcpu was tickled.
    Woken,
    /// It had used up its credit, and one with credit ran.
    OverCredit,
    /// A vcpu that was woken later went before it with a boost.
    BoostAhead,
    /// Another one took its pcpu before its slice was over.
    Preempted,
    /// Its slice was over and it was not its turn again.
    SliceOver,
    /// It left its pcpu, and the trace does not tell the slice that it had.
    Displaced,
    /// It yielded.
    Yielded,
    /// Its cap left it no time (credit2).
    Cap,
    /// It had been paused or parked.
    Released,
    /// It waited already when the trace began or where records are missing.
    Before,
    /// The vcpu went on that ran, of a driver domain with packets at hand.
    Dispatching,
}

texts! {
    Why: |why| why.key().into(), |text, _| Why::ALL.into_iter().find(|why| why.key() == text);
}

impl Why {
    /// All causes, in the order in which tables show them.
    pub const ALL: [Why; 15] = [
        Why::Pass,
        Why::RateLimit,
        Why::NotTickled,
        Why::PassedOver,
        Why::Woken,
        Why::OverCredit,
        Why::BoostAhead,
        Why::Preempted,
        Why::SliceOver,
        Why::Displaced,
        Why::Yielded,
        Why::Cap,
        Why::Released,
        Why::Before,
        Why::Dispatching,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Why::Pass => "pass under way",
            Why::RateLimit => "rate limit",
            Why::NotTickled => "not tickled",
            Why::PassedOver => "passed over",
            Why::Woken => "woken",
            Why::OverCredit => "over its credit",
            Why::BoostAhead => "boost ahead",
            Why::Preempted => "preempted",
            Why::SliceOver => "slice over",
            Why::Displaced => "displaced",
            Why::Yielded => "yielded",
            Why::Cap => "cap",
            Why::Released => "after a pause",
            Why::Before => "begin not seen",
            Why::Dispatching => "packets at hand",
        }
    }

    /// Its name in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Why::Pass => "pass",
            Why::RateLimit => "rate_limit",
            Why::NotTickled => "not_tickled",
            Why::PassedOver => "passed_over",
            Why::Woken => "woken",
            Why::OverCredit => "over_credit",
            Why::BoostAhead => "boost_ahead",
            Why::Preempted => "preempted",
            Why::SliceOver => "slice_over",
            Why::Displaced => "displaced",
            Why::Yielded => "yielded",
            Why::Cap => "cap",
            Why::Released => "released",
            Why::Before => "before",
            Why::Dispatching => "dispatching",
        }
    }

    /// What the word means, for a legend.
    pub const fn meaning(self) -> &'static str {
        match self {
            Why::Pass => "woken, and a pcpu was tickled: the way to the pass that puts it there",
            Why::RateLimit => "the rate limit let who ran go on",
            Why::NotTickled => {
                "woken, and no pcpu was tickled: its priority was no higher than that of who ran"
            }
            Why::PassedOver => "woken, a pcpu was tickled, and the pass took another one",
            Why::Woken => "woken; whether a pcpu was tickled is not told",
            Why::OverCredit => "it had used up its credit, and one with credit ran",
            Why::BoostAhead => "one that was woken later ran first, with a boost",
            Why::Preempted => {
                "another one took its pcpu before its slice was over, and it had to queue again"
            }
            Why::SliceOver => "its slice was over and it was not its turn again",
            Why::Displaced => "it left its pcpu; which slice it had is not told",
            Why::Yielded => "it yielded",
            Why::Cap => "its cap left it no time",
            Why::Released => "it had been paused or parked, and was not yet put on a pcpu",
            Why::Before => "it waited already when the trace began, or records are missing",
            Why::Dispatching => "a driver domain ran that had packets at hand, and went on",
        }
    }
}
