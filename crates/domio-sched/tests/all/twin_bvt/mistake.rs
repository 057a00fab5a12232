//! Broken copies: what a twin of BVT can get wrong, one thing at a time.

/// What a twin gets wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// Charging units are rounded down.
    UnitsRoundedDown,
    /// A vcpu that goes on is charged from where it was switched in, or from the last pass: the
    /// other one of the two than the release has.
    ChargedAsAnotherRelease,
    /// The quotient of the slice is turned into time, as it was surely meant.
    UnitsMade100Us,
    /// The last of equals runs.
    LastOfEquals,
    /// Whoever wakes goes to the tail.
    WokenToTheTail,
    /// Sleeping earns virtual time.
    CreditForSleeping,
    /// The allowance protects whoever runs from whoever wakes.
    AllowanceProtects,
    /// Nobody is brought forward.
    NeverForward,
    /// Another pcpu has the same time.
    OneTimeForAll,
    /// Times are never set back.
    NeverSetBack,
    /// Only those that wait are set back, and not the sleepers.
    SleepersNotSetBack,
    /// The limit of a warp goes on over passes.
    LimitOverPasses,
    /// A warp begins with the next wake-up only.
    WarpAfterWakeUp,
    /// The end of a warp asks for a pass.
    UnwarpTickles,
    /// Whoever waits is looked at anew when its warp changes.
    WaitingRecomputed,
    /// Time for which one alone runs is that of the others.
    AloneNotLonger,
}

impl Mistake {
    pub const ALL: [Mistake; 16] = [
        Mistake::UnitsRoundedDown,
        Mistake::ChargedAsAnotherRelease,
        Mistake::UnitsMade100Us,
        Mistake::LastOfEquals,
        Mistake::WokenToTheTail,
        Mistake::CreditForSleeping,
        Mistake::AllowanceProtects,
        Mistake::NeverForward,
        Mistake::OneTimeForAll,
        Mistake::NeverSetBack,
        Mistake::SleepersNotSetBack,
        Mistake::LimitOverPasses,
        Mistake::WarpAfterWakeUp,
        Mistake::UnwarpTickles,
        Mistake::WaitingRecomputed,
        Mistake::AloneNotLonger,
    ];
}
