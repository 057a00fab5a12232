//! What a vcpu does.

/// What a vcpu does (Xen's `RUNSTATE_*`, same numbers).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Runstate {
    /// Executes on a pcpu.
    Running = 0,
    /// Could execute but no pcpu executes it.
    Runnable = 1,
    /// Waits for an event.
    Blocked = 2,
    /// Paused, parked by a cap, or not brought up.
    Offline = 3,
}

impl Runstate {
    /// All four, by number.
    pub const ALL: [Runstate; 4] = [
        Runstate::Running,
        Runstate::Runnable,
        Runstate::Blocked,
        Runstate::Offline,
    ];

    /// The runstate with Xen's number `n`.
    #[inline]
    pub const fn from_number(n: u8) -> Option<Self> {
        match n {
            0 => Some(Runstate::Running),
            1 => Some(Runstate::Runnable),
            2 => Some(Runstate::Blocked),
            3 => Some(Runstate::Offline),
            _ => None,
        }
    }

    /// Lower-case English name.
    pub const fn name(self) -> &'static str {
        match self {
            Runstate::Running => "running",
            Runstate::Runnable => "runnable",
            Runstate::Blocked => "blocked",
            Runstate::Offline => "offline",
        }
    }
}
