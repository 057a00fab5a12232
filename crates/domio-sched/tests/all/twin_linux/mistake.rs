//! Broken copies: what a twin of CFS or EEVDF can get wrong, one thing at a time.

/// What a twin gets wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// Times are scaled by weight without the kernel's inverse.
    ExactScaling,
    /// The last of equals runs.
    LastOfEquals,
    /// Who sleeps gets the whole latency as credit.
    WholeCredit,
    /// The pcpu does not prefer the group of whoever blocked.
    NoBuddy,
    /// A slice ends at the tick without regard to the shortest one.
    NoShortestSlice,
    /// Whoever is ahead leaves the queue at once.
    NeverDelayed,
    /// Lag is forgotten in sleep.
    LagForgotten,
    /// Whoever runs is protected for as long as it is eligible.
    AlwaysProtected,
    /// A debt of quota is forgiven.
    DebtForgiven,
    /// Ticks begin anew with each thread.
    TicksOffGrid,
    /// Changed weights of a group wait for its next wake-up.
    WeightLate,
    /// A group in another counts as if it were beside it.
    GroupsFlat,
    /// Only a group's own threads are held back with it, and not those of groups in it.
    HeldShallow,
    /// A group that empties as a group in it has no more time may sleep on its queue.
    SleepsAtQuota,
    /// A domain that goes into another group keeps what it is ahead or behind.
    LagTakenAlong,
    /// I/O threads are in the group of the emulator.
    IothreadWithEmulator,
    /// A thread that sleeps keeps its virtual time on its way to another group.
    CarriedUnplaced,
    /// The lag with which a thread went to sleep on the queue does not matter (7.2).
    SleepersLagForgotten,
    /// A changed weight leaves the end of the protection as it is (7.0).
    ProtectionUnscaled,
    /// Who runs is protected anew when its settings change (7.0).
    ProtectsRestored,
    /// New threads preempt as all others (7.0).
    NewPreempt,
    /// Groups compete, and not their threads (7.3).
    Nested,
    /// The weights of threads in the flat hierarchy follow at once, whatever changes (7.3).
    FreshWeights,
    /// The timer at the end of a request is set again when the thread goes on (7.2).
    TimerSetAgain,
    /// A shorter slice preempts only when it is picked (7.3).
    ShorterIsPicked,
}

impl Mistake {
    /// Whether it is of a rule that only releases since 7.0 have.
    pub fn is_of_7(self) -> bool {
        Mistake::ALL[17..].contains(&self)
    }

    pub const ALL: [Mistake; 25] = [
        Mistake::ExactScaling,
        Mistake::LastOfEquals,
        Mistake::WholeCredit,
        Mistake::NoBuddy,
        Mistake::NoShortestSlice,
        Mistake::NeverDelayed,
        Mistake::LagForgotten,
        Mistake::AlwaysProtected,
        Mistake::DebtForgiven,
        Mistake::TicksOffGrid,
        Mistake::WeightLate,
        Mistake::GroupsFlat,
        Mistake::HeldShallow,
        Mistake::SleepsAtQuota,
        Mistake::LagTakenAlong,
        Mistake::IothreadWithEmulator,
        Mistake::CarriedUnplaced,
        Mistake::SleepersLagForgotten,
        Mistake::ProtectionUnscaled,
        Mistake::ProtectsRestored,
        Mistake::NewPreempt,
        Mistake::Nested,
        Mistake::FreshWeights,
        Mistake::TimerSetAgain,
        Mistake::ShorterIsPicked,
    ];
}
