//! Which rules a release of Linux has, where releases differ (linux-spec 13.1): each difference is
//! a question that the pages of the rules ask.

/// Releases of Linux whose rules are modelled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Release {
    V6_1,
    V6_12,
    V6_18,
    V7_0,
    V7_2,
    V7_3,
}

/// What a changed weight does to the virtual times of an entity (1.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reweight {
    /// Nothing (6.1).
    Untouched,
    /// Virtual time and deadline are scaled about the mean (6.12).
    AboutMean,
    /// The entity leaves and is placed anew (6.18).
    Anew,
    /// As about the mean, and so is what protects the entity (7.0).
    WithProtection,
}

/// When the favourite of a queue runs (`PICK_BUDDY`, 3.7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Buddy {
    /// Before anything is compared, so that a wake-up does not see it.
    First,
    /// Wherever a choice is made.
    InChoice,
    /// Only in a choice that heeds protection.
    WhileProtected,
}

/// When a thread that wakes preempts (2.9, 3.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waking {
    /// It is behind by a granularity (6.1).
    Behind,
    /// It is picked; a shorter slice ends the protection of the running one first (6.12).
    Picked,
    /// It is picked, with a shorter slice without regard to protection (6.18).
    PickedOrShorter,
    /// The same, but neither new threads nor those that sleep on the queue (7.0).
    NoneButAwake,
    /// The thread alone counts, and with a shorter slice it need only be eligible (7.3).
    Thread,
}

impl Release {
    /// A group learns of a queue's load at most once a millisecond (1.6).
    #[inline]
    pub fn tells_groups_rarely(self) -> bool {
        self >= Release::V6_12
    }

    /// The weight of a group is set wherever it is computed, also of an empty group and where the
    /// weight stays (1.7).
    #[inline]
    pub fn reweights_always(self) -> bool {
        self == Release::V6_1
    }

    /// The utilisation of a new thread goes by its weight with ten more bits.
    pub fn starts_busy(self) -> bool {
        self == Release::V6_1
    }

    /// The timer of a quota ends the throttling of all queues itself, in turn. Later releases have
    /// other pcpus do that on their own, when the timer's own has done its part (4.8).
    pub fn unthrottles_in_turn(self) -> bool {
        self == Release::V6_1
    }

    /// A pass on a pcpu that idles and has no threads looks for none (`SM_IDLE`).
    #[inline]
    pub fn idles_without_a_look(self) -> bool {
        self >= Release::V6_12
    }

    /// Protection is a virtual time of its own, and whoever has none is resched at any update; that
    /// is lazy.
    #[inline]
    pub fn has_vprot(self) -> bool {
        self >= Release::V6_18
    }

    /// Quotas take effect where a thread returns to user mode.
    #[inline]
    pub fn throttles_threads(self) -> bool {
        self >= Release::V6_18
    }

    /// A yield ends the request of a thread that is not eligible, too.
    pub fn yields_always(self) -> bool {
        self == Release::V6_18
    }

    /// The limit of lag is of the longest slice on the queue (3.4).
    #[inline]
    pub fn limits_lag_by_queue(self) -> bool {
        self >= Release::V7_0
    }

    /// Protection is set where a thread is picked, and not where it comes back as the running one
    /// after a change of its settings; it ends only where there is some (3.7).
    #[inline]
    pub fn protects_picks_alone(self) -> bool {
        self >= Release::V7_0
    }

    pub fn reweight(self) -> Reweight {
        match self {
            Release::V6_1 => Reweight::Untouched,
            Release::V6_12 => Reweight::AboutMean,
            Release::V6_18 => Reweight::Anew,
            Release::V7_0 | Release::V7_2 | Release::V7_3 => Reweight::WithProtection,
        }
    }

    #[inline]
    pub fn buddy(self) -> Buddy {
        match self {
            Release::V6_1 | Release::V6_12 | Release::V6_18 => Buddy::First,
            Release::V7_0 => Buddy::InChoice,
            Release::V7_2 | Release::V7_3 => Buddy::WhileProtected,
        }
    }

    pub fn waking(self) -> Waking {
        match self {
            Release::V6_1 => Waking::Behind,
            Release::V6_12 => Waking::Picked,
            Release::V6_18 => Waking::PickedOrShorter,
            Release::V7_0 | Release::V7_2 => Waking::NoneButAwake,
            Release::V7_3 => Waking::Thread,
        }
    }

    /// A group whose quota is changed keeps a nanosecond, without which it would not be unthrottled
    /// (4.9).
    pub fn keeps_a_nanosecond(self) -> bool {
        self >= Release::V7_0
    }

    /// A thread that is ahead on its queue is not pulled to a pcpu that has others (6.3).
    pub fn pulls_eligible(self) -> bool {
        self >= Release::V7_0
    }

    /// Times are scaled by weight exactly, and weights have all their bits in sums (1.4, 3.1).
    #[inline]
    pub fn is_exact(self) -> bool {
        self >= Release::V7_2
    }

    /// A timer can end a request at its deadline (3.10).
    pub fn has_hrtick(self) -> bool {
        self >= Release::V7_2
    }

    /// What a thread was ahead when it went to sleep on its queue is recorded (3.6).
    #[inline]
    pub fn records_lag_of_sleepers(self) -> bool {
        self >= Release::V7_2
    }

    /// A group is throttled where its time is charged, and where a thread in it becomes current
    /// (4.4, 4.9).
    #[inline]
    pub fn throttles_at_charge(self) -> bool {
        self >= Release::V7_2
    }

    /// How often balancing before idling looks depends on how long the last looks took (6.8).
    pub fn has_ni_rate(self) -> bool {
        self >= Release::V7_2
    }

    /// Threads of all groups are on one tree (3.9).
    #[inline]
    pub fn is_flat(self) -> bool {
        self >= Release::V7_3
    }
}
