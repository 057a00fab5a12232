//! What a record says of a wait or of a packet's way, and what a trace with such records shows.

/// What a record says to a reader that knows neither the policy nor the device. Numbers are indices
/// of [`Declared::fields`](crate::Declared::fields).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Says {
    /// Nothing but its name and words.
    Nothing,
    /// A scheduler pass begins on the record's pcpu.
    Pass,
    /// A pcpu is asked for a pass.
    Tickled {
        /// That pcpu.
        pcpu: u8,
    },
    /// The actor has a boost from now on.
    Boosted,
    /// The actor has no boost from now on.
    BoostOver,
    /// The actor continues where it runs: its time under the rate limit is not over.
    RateLimited,
    /// The actor, of a driver domain, continues where it runs: it has packets at hand.
    Dispatches,
    /// The actor, which was woken with a boost, queues on a pcpu, wherever it ran last.
    Queued {
        /// That pcpu.
        pcpu: u8,
    },
    /// The policy would have the actor on a pcpu.
    Wants {
        /// That pcpu.
        pcpu: u8,
    },
    /// Credit that the actor has left, with a sign.
    Credit {
        /// That credit.
        credit: u8,
        /// What the cap leaves the actor's domain, with a sign; the lowest value for "no cap".
        budget: Option<u8>,
    },
    /// What is left of the actor's own budget for this period, in nanoseconds with a sign. With
    /// nothing left the policy does not run the actor until the budget is filled up.
    Budget {
        /// That time.
        left: u8,
    },
    /// The actor's own budget is filled up.
    Filled,
    /// The actor is held back by the limit of a group inside its domain's, until it goes on.
    HeldInside,
    /// An item of the actor's domain goes from one place to another.
    Moved {
        /// The place that it leaves.
        from: u8,
        /// The place where it is.
        to: u8,
        /// Actor of the driver domain.
        driver: u8,
        /// Nanoseconds that the item has been at the new place when the record is written.
        ago: u8,
    },
    /// The actor's domain has found the ring full that leads from `place`.
    Full {
        /// The place where the item stays.
        place: u8,
        /// Actor of the driver domain.
        driver: u8,
    },
    /// The actor's domain has used up its rate: the first item at `place` stays for a while.
    Held {
        /// The place where the item stays.
        place: u8,
        /// Actor of the driver domain.
        driver: u8,
        /// Nanoseconds until it may continue.
        time: u8,
    },
    /// From now on the actor's domain has so much in the memory of a driver domain, which holds up
    /// everybody's items at places that hold for [`Hold::Memory`](crate::Hold::Memory).
    Fills {
        /// How much, in any unit.
        amount: u8,
        /// Actor of the driver domain.
        driver: u8,
    },
    /// The actor's wait is for this reason, as long as no other record says more.
    Waits(WaitsFor),
    /// The actor waits in the queue of a pcpu from now on, wherever it ran last.
    QueuesOn {
        /// That pcpu.
        pcpu: u8,
    },
    /// The actor is of a rank from now on: those of a smaller number always run first. Without
    /// such a record the rank is [`Says::RANK`].
    Ranks {
        /// That rank.
        rank: u8,
    },
    /// The record's pcpu served interrupts until now, in the time of the actor.
    Interrupted {
        /// For so many nanoseconds.
        time: u8,
    },
    /// Pcpus that the actor may use: for each 64 of them a record, the first of which is for those
    /// from 0 on and replaces what was said before. Pcpus beyond the last are not allowed.
    MayUse {
        /// The first pcpu that the record is about, a multiple of 64.
        first: u8,
        /// A bit for each pcpu from there on.
        mask: u8,
    },
    /// The actor, which is blocked, cannot be interrupted until it is runnable: it waits for a
    /// disk, a lock of the kernel or memory, and not for something to do.
    Uninterruptible,
    /// The actor, which was blocked and is woken now, waited for requests of a disk.
    WaitedForDisk {
        /// For so many nanoseconds.
        time: u8,
    },
    /// A request of the actor goes from the queue to the disk.
    DiskQueued {
        /// Number of the disk.
        disk: u8,
        /// Nanoseconds in the queue.
        time: u8,
    },
    /// A request of the actor is done.
    DiskDone {
        /// Number of the disk.
        disk: u8,
        /// Nanoseconds at the disk.
        time: u8,
        /// Sectors of 512 bytes.
        sectors: u8,
        /// Whether data went to the disk.
        writes: u8,
    },
    /// The actor executes a vcpu of a guest. Actors of which no record says so are of the host
    /// itself, where the class has such a record.
    OfGuest,
}

impl Says {
    /// The rank of an actor of which no record says one.
    pub const RANK: u8 = 2;
}

/// What a wait is for, where the writer of the trace knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitsFor {
    /// The pcpu is free and has yet to be told, or to leave its idle state.
    Pass,
    /// The actor was woken, and the one that ran went on.
    Queue,
    /// The actor's time was over, and others had their turns.
    Turn,
    /// A limit of the actor's domain, or of a group above, has left it no time.
    Limit,
}

/// What a trace says in general, as far as one record shows: a release that writes this record
/// writes the others, too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Shows {
    /// Who is tickled.
    pub tickles: bool,
    /// When the rate limit lets somebody continue.
    pub limits: bool,
    /// Who is boosted.
    pub boosts: bool,
    /// How much credit is left.
    pub credits: bool,
}

impl Shows {
    /// Nothing.
    pub const NOTHING: Shows = Shows {
        tickles: false,
        limits: false,
        boosts: false,
        credits: false,
    };

    /// What either shows.
    pub const fn and(self, other: Shows) -> Shows {
        Shows {
            tickles: self.tickles | other.tickles,
            limits: self.limits | other.limits,
            boosts: self.boosts | other.boosts,
            credits: self.credits | other.credits,
        }
    }
}
