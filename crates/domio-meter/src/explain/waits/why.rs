//! Causes of waits.

use domio_answer::texts;
use domio_core::Class;

/// Why a vcpu that could execute did not, as far as records tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// It was woken and a pcpu was tickled for it: the scheduler has yet to run there.
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
    /// The budget that it has of its own for the period was used up (RTDS).
    Budget,
    /// It was parked by its cap, or paused: offline, and not runnable. No wait has this cause; it
    /// is named where time that a vcpu lost is.
    Parked,
}

/// What there is to say of a cause, to programs and to people.
struct Text {
    /// Name in JSON.
    key: &'static str,
    /// Name in tables.
    name: &'static str,
    /// What the name means.
    meaning: &'static str,
    /// What to try against it; empty where nothing helps.
    cure: &'static str,
}

texts! {
    Why: |why| why.key().into(), |text, _| Why::ALL.into_iter().find(|why| why.key() == text);
}

impl Why {
    /// All causes, in the order in which tables show them.
    pub const ALL: [Why; 17] = [
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
        Why::Budget,
        Why::Parked,
    ];

    const fn text(self) -> Text {
        match self {
            Why::Pass => Text {
                key: "pass",
                name: "scheduler pending",
                meaning: "woken, waiting for the scheduler to run on the chosen pcpu",
                cure: "",
            },
            Why::RateLimit => Text {
                key: "rate_limit",
                name: "rate limit",
                meaning: "the running vcpu was protected by the rate limit",
                cure: "a shorter rate limit (`ratelimit_us`), or 0 for none",
            },
            Why::NotTickled => Text {
                key: "not_tickled",
                name: "not tickled",
                meaning: "woken, but no pcpu was asked to make room: its priority was no higher",
                cure: "more `weight`; another policy (`credit2` compares credits)",
            },
            Why::PassedOver => Text {
                key: "passed_over",
                name: "passed over",
                meaning: "woken, and the scheduler chose another vcpu when it ran",
                cure: "more `weight`, fewer busy vcpus on its pcpus",
            },
            Why::Woken => Text {
                key: "woken",
                name: "woken",
                meaning: "woken (details not recorded)",
                cure: "",
            },
            Why::OverCredit => Text {
                key: "over_credit",
                name: "over its credit",
                meaning: "it had used up its credit; vcpus with credit run first",
                cure: "more `weight`, or a `cap` for whoever ran meanwhile",
            },
            Why::BoostAhead => Text {
                key: "boost_ahead",
                name: "boost ahead",
                meaning: "a vcpu that woke later ran first, with a boost",
                cure: "another policy; look who wakes so often",
            },
            Why::Preempted => Text {
                key: "preempted",
                name: "preempted",
                meaning: "another vcpu took its pcpu before its slice was over",
                cure: "more `weight`, or pcpus of its own (`pin`)",
            },
            Why::SliceOver => Text {
                key: "slice_over",
                name: "slice over",
                meaning: "its slice was over, and others had their turns",
                cure: "more `weight`, or a shorter slice (`tslice_ms`)",
            },
            Why::Displaced => Text {
                key: "displaced",
                name: "displaced",
                meaning: "it lost its pcpu (its slice is not recorded)",
                cure: "more `weight`, or pcpus of its own (`pin`)",
            },
            Why::Yielded => Text {
                key: "yielded",
                name: "yielded",
                meaning: "it gave its pcpu up by itself (yield)",
                cure: "",
            },
            Why::Cap => Text {
                key: "cap",
                name: "cap",
                meaning: "its cap was used up",
                cure: "a larger `cap`, or none",
            },
            Why::Released => Text {
                key: "released",
                name: "after a pause",
                meaning: "its pause or parking was over, and no pcpu had taken it yet",
                cure: "",
            },
            Why::Before => Text {
                key: "before",
                name: "begin not seen",
                meaning: "it waited when the trace began, or records are missing",
                cure: "",
            },
            Why::Dispatching => Text {
                key: "dispatching",
                name: "packets at hand",
                meaning: "a driver domain ran on, as it had packets at hand",
                cure: "`dom0-share`, or a pcpu of the driver domain's own",
            },
            Why::Budget => Text {
                key: "budget",
                name: "own budget used up",
                meaning: "its budget for the period was used up",
                cure: "a larger `budget_us`, or extra time (`extratime`)",
            },
            Why::Parked => Text {
                key: "parked",
                name: "parked",
                meaning: "held back by its own cap, or paused",
                cure: "a larger `cap`, or none",
            },
        }
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        self.text().name
    }

    /// Its name in JSON.
    pub const fn key(self) -> &'static str {
        self.text().key
    }

    /// What the name means, for a legend.
    pub const fn meaning(self) -> &'static str {
        self.text().meaning
    }

    /// What to try against waits of this cause under `policy`; `None` where nothing that an
    /// operator sets helps. Policies of reservations have neither weights nor slices to set.
    pub fn cure(self, policy: Option<&Class>) -> Option<&'static str> {
        let reserves = policy.is_some_and(|policy| ["rtds", "sedf"].contains(&policy.name));
        let is_turn = matches!(
            self,
            Why::NotTickled | Why::PassedOver | Why::Preempted | Why::SliceOver | Why::Displaced
        );
        match self.text().cure {
            "" => None,
            _ if reserves && is_turn => {
                Some("a larger reservation or a shorter period, or fewer reservations on its pcpus")
            }
            cure => Some(cure),
        }
    }
}
