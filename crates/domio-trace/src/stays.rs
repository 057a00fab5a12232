//! What records prove of runstates: for each vcpu, which state it was in when, and when that is
//! not known.
//!
//! Everything that measures runstates follows vcpus with a [`Track`] each, over one [`Ground`] for
//! the trace, so that all have the same figures. The rules:
//!
//! - **Between two records** of a vcpu it is in the state that the first one tells, if the second
//!   one tells the same as its old state. Where the two contradict each other, a record is missing
//!   that nothing reports, and all of the time between is unknown.
//! - **Before its first record** a vcpu was in the state that this record says as its old one,
//!   since the first record of the trace: a change meanwhile would have been recorded. Of a vcpu
//!   that was offline nothing before is told: it may not have been there.
//! - **After its last record** it stays in its state up to the last record of the trace.
//! - **Lost records**: records of a pcpu are missing from [`Kind::Lost`] to the pcpu's next record.
//!   They may hide a change of every vcpu, but of one that runs elsewhere: what ends a run is
//!   recorded where it runs. Such a vcpu's time is known up to the loss, and unknown then. Its next
//!   record gives the state since the end of the loss.
//! - **Continuing** ([`Kind::Continue`]) reports a vcpu without other records that it runs, and as
//!   a first record that it ran since the trace began, if nobody else was seen on the pcpu. Another
//!   vcpu there ends the run.
//!
//! Times are nanoseconds. A time before one that was told already counts as that one.

use domio_core::{Kind, PcpuId, Record, Runstate};

/// What a trace reports all vcpus: when it begins, and when records are missing.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    span: Option<(u64, u64)>,
    pcpus: Vec<Pcpu>,
    /// Pcpus of which records are missing now.
    missing: usize,
    /// When the last loss ended.
    until: u64,
}

/// What is known of one pcpu.
#[derive(Clone, Copy, Debug, Default)]
struct Pcpu {
    /// Whether its records are missing now.
    missing: bool,
    /// When its last loss ended.
    until: u64,
    /// Whether a record told who is there.
    told: bool,
}

impl Ground {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Ground::default()
    }

    /// Takes the next record, before any [`Track`] does.
    #[inline]
    pub fn see(&mut self, record: &Record) {
        let at = record.at.as_nanos();
        let (begin, end) = self.span.unwrap_or((at, at));
        self.span = Some((begin.min(at), end.max(at)));
        if record.is(Kind::SwitchOnly) {
            self.tells(record.pcpu);
        }
        if self.missing > 0 {
            self.resume(record);
        }
    }

    /// A record of a pcpu: whatever is missing of it was before.
    #[cold]
    fn resume(&mut self, record: &Record) {
        if record.is(Kind::Lost) {
            return;
        }
        let at = record.at.as_nanos();
        if let Some(pcpu) = self.pcpus.get_mut(record.pcpu.index())
            && pcpu.missing
        {
            pcpu.missing = false;
            pcpu.until = at;
            self.missing -= 1;
            self.until = self.until.max(at);
        }
    }

    /// Records of `pcpu` are missing from now on. Every [`Track`] has to be told, too
    /// ([`Track::lose`]).
    pub fn lose(&mut self, pcpu: PcpuId) {
        let pcpu = self.pcpu(pcpu);
        let new = !std::mem::replace(&mut pcpu.missing, true);
        self.missing += usize::from(new);
    }

    /// A record says who is on `pcpu`. Returns whether that is the first one.
    #[inline]
    fn tells(&mut self, pcpu: PcpuId) -> bool {
        !std::mem::replace(&mut self.pcpu(pcpu).told, true)
    }

    #[inline]
    fn pcpu(&mut self, pcpu: PcpuId) -> &mut Pcpu {
        let index = pcpu.index();
        if index >= self.pcpus.len() {
            self.pcpus.resize(index + 1, Pcpu::default());
        }
        &mut self.pcpus[index]
    }

    /// Time of the first record and of the latest one; `None` before the first.
    pub fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// Whether records are missing now that may report a vcpu in `state`, on `pcpu` if it runs.
    #[inline]
    fn hides(&self, state: Runstate, pcpu: PcpuId) -> bool {
        self.missing > 0 && self.complete_since(state, pcpu) == u64::MAX
    }

    /// Since when a record would have told if a vcpu had left `state`, in which it is, and is on
    /// `pcpu` if it runs.
    fn complete_since(&self, state: Runstate, pcpu: PcpuId) -> u64 {
        let (missing, until) = if state == Runstate::Running {
            let pcpu = self.pcpus.get(pcpu.index()).copied().unwrap_or_default();
            (pcpu.missing, pcpu.until)
        } else {
            (self.missing > 0, self.until)
        };
        if missing { u64::MAX } else { until }
    }
}

/// Time of a vcpu that passed, up to now: unknown first, then in one state. Either part may be
/// empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StayPassed {
    /// First instant: what was before has been told.
    pub from: u64,
    /// First instant of which the state is known.
    pub known: u64,
    /// First instant that is not told yet.
    pub to: u64,
    /// The state between `known` and `to`.
    pub state: Runstate,
    /// The state before that one; [`Runstate::Offline`] where that is not known.
    pub after: Runstate,
    /// When it came into the state; `None` where no record says.
    pub entered: Option<u64>,
    /// Whether the record agrees with the one before, and none is missing between.
    pub sure: bool,
    /// What the time counted for until now.
    pub taken_for: TakenFor,
}

/// What time of a vcpu counts for while it passes, until a record says more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakenFor {
    /// Nothing: no record has reported the vcpu.
    Unheard,
    /// Unknown time.
    Unknown,
    /// Time in its state.
    State(Runstate),
}

impl StayPassed {
    /// Nothing passed.
    pub const NONE: StayPassed = StayPassed {
        from: 0,
        known: 0,
        to: 0,
        state: Runstate::Offline,
        after: Runstate::Offline,
        entered: None,
        sure: false,
        taken_for: TakenFor::Unheard,
    };

    /// The two parts: unknown time, and time in the state.
    #[inline]
    pub fn parts(&self) -> [(u64, u64, Option<Runstate>); 2] {
        [
            (self.from, self.known, None),
            (self.known, self.to, Some(self.state)),
        ]
    }
}

/// How much the latest record of a vcpu is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// There is none.
    Unheard,
    /// The vcpu is in the state that it says.
    Known,
    /// Records are missing. The next one tells more.
    Lost,
    /// It has left that state, and no record told. The next one proves nothing of the time before.
    Left,
}

/// One vcpu.
#[derive(Clone, Copy, Debug)]
pub struct Track {
    standing: Standing,
    state: Runstate,
    before: Runstate,
    pcpu: PcpuId,
    /// All before has been told.
    since: u64,
    entered: Option<u64>,
    /// Whether a record told of a change.
    changed: bool,
}

impl Default for Track {
    fn default() -> Self {
        Track::new()
    }
}

impl Track {
    /// A vcpu that no record told of.
    pub const fn new() -> Self {
        Track {
            standing: Standing::Unheard,
            state: Runstate::Offline,
            before: Runstate::Offline,
            pcpu: PcpuId(0),
            since: 0,
            entered: None,
            changed: false,
        }
    }

    /// Whether any record told of it.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.standing != Standing::Unheard
    }

    /// Whether its state was seen to change.
    #[inline]
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// The pcpu of its latest record.
    #[inline]
    pub fn pcpu(&self) -> PcpuId {
        self.pcpu
    }

    /// The state that its latest record told; offline without any.
    #[inline]
    pub fn state(&self) -> Runstate {
        self.state
    }

    /// The state before that one; offline where that is not known.
    #[inline]
    pub fn before(&self) -> Runstate {
        self.before
    }

    /// What its time counts for now.
    #[inline]
    pub fn taken_for(&self) -> TakenFor {
        match self.standing {
            Standing::Unheard => TakenFor::Unheard,
            Standing::Known => TakenFor::State(self.state),
            Standing::Lost | Standing::Left => TakenFor::Unknown,
        }
    }

    /// Since when its time is to be told.
    #[inline]
    pub fn since(&self) -> u64 {
        self.since
    }

    /// It goes from `old` to `new` at `at`. Where they are equal, that marks the state.
    #[inline]
    pub fn change(
        &mut self,
        ground: &mut Ground,
        at: u64,
        pcpu: PcpuId,
        [old, new]: [Runstate; 2],
    ) -> StayPassed {
        if old == Runstate::Running || new == Runstate::Running {
            ground.tells(pcpu);
        }
        let passed = self.passed(ground, at, pcpu, old);
        self.tell(ground, &passed, pcpu, [old, new]);
        passed
    }

    /// What passed up to a record that tells `old`.
    #[inline]
    fn passed(&self, ground: &Ground, at: u64, pcpu: PcpuId, old: Runstate) -> StayPassed {
        let to = at.max(self.since);
        let sure = self.standing == Standing::Known && self.state == old;
        if sure {
            return self.until(to);
        }
        let from = match self.standing {
            Standing::Unheard if old == Runstate::Offline => to,
            Standing::Unheard => ground.span.map_or(to, |(begin, _)| begin.min(to)),
            _ => self.since,
        };
        let since = ground.complete_since(old, pcpu);
        let known = match self.standing {
            Standing::Known | Standing::Left => to,
            // It did not run there before, and that pcpu's records are all here.
            Standing::Lost if old == Runstate::Running && since < self.since => to,
            Standing::Unheard | Standing::Lost => since.clamp(from, to),
        };
        StayPassed {
            from,
            known,
            to,
            state: old,
            after: Runstate::Offline,
            entered: None,
            sure,
            taken_for: self.taken_for(),
        }
    }

    /// What passes up to `to` in the state that is known.
    #[inline]
    fn until(&self, to: u64) -> StayPassed {
        StayPassed {
            from: self.since,
            known: self.since,
            to,
            state: self.state,
            after: self.before,
            entered: self.entered,
            sure: true,
            taken_for: TakenFor::State(self.state),
        }
    }

    /// Takes what a record says.
    #[inline]
    fn tell(
        &mut self,
        ground: &Ground,
        passed: &StayPassed,
        pcpu: PcpuId,
        [old, new]: [Runstate; 2],
    ) {
        self.since = passed.to;
        if old != new {
            self.changed = true;
            self.entered = Some(passed.to);
            self.before = old;
        } else if !passed.sure {
            self.entered = None;
            self.before = Runstate::Offline;
        }
        self.state = new;
        self.pcpu = pcpu;
        // A loss that continues may hide what comes next.
        self.standing = match ground.hides(new, pcpu) {
            true => Standing::Lost,
            false => Standing::Known,
        };
    }

    /// It continues on `pcpu`, and no record has reported a change so far.
    pub fn goes_on(&mut self, ground: &mut Ground, at: u64, pcpu: PcpuId) -> StayPassed {
        let first = ground.tells(pcpu);
        let elsewhere = self.standing == Standing::Known && self.pcpu != pcpu;
        let passed = match self.standing {
            // The vcpu that was there before has left, and it came without a record.
            Standing::Unheard if !first => StayPassed {
                from: at,
                known: at,
                to: at,
                ..StayPassed::NONE
            },
            // It has left its pcpu without a record.
            _ if elsewhere => {
                let to = at.max(self.since);
                StayPassed {
                    known: to,
                    after: Runstate::Offline,
                    entered: None,
                    sure: false,
                    ..self.until(to)
                }
            }
            _ => self.passed(ground, at, pcpu, Runstate::Running),
        };
        self.tell(ground, &passed, pcpu, [Runstate::Running; 2]);
        passed
    }

    /// Another vcpu is on `pcpu` at `at`. When this one is there, and only records that it
    /// continues tell so, its run is over: since `at` where the record says so (`now`), else since
    /// nobody knows when. Until its next record its time is unknown.
    pub fn displace(&mut self, at: u64, pcpu: PcpuId, now: bool) -> Option<StayPassed> {
        let runs = self.standing == Standing::Known && self.state == Runstate::Running;
        if !runs || self.changed || self.pcpu != pcpu {
            return None;
        }
        let mut passed = self.until(at.max(self.since));
        if !now {
            (passed.known, passed.sure) = (passed.to, false);
        }
        self.since = passed.to;
        self.standing = Standing::Left;
        Some(passed)
    }

    /// Records of `pcpu` are missing from `at` on.
    #[inline]
    pub fn lose(&mut self, at: u64, pcpu: PcpuId) -> Option<StayPassed> {
        let hidden = self.state != Runstate::Running || self.pcpu == pcpu;
        if self.standing != Standing::Known || !hidden {
            return None;
        }
        let passed = self.until(at.max(self.since));
        self.since = passed.to;
        self.standing = Standing::Lost;
        Some(passed)
    }

    /// What passed up to `at`, at which nothing happens, as far as can be told by now.
    #[inline]
    pub fn advance(&mut self, at: u64) -> Option<StayPassed> {
        if !self.is_known() {
            return None;
        }
        let mut passed = self.until(at.max(self.since));
        passed.taken_for = self.taken_for();
        if self.standing != Standing::Known {
            passed.known = passed.to;
            passed.sure = false;
        }
        self.since = passed.to;
        Some(passed)
    }

    /// Something says at `at` that it executes: what passed, if it is known to run.
    pub fn executes(&mut self, at: u64) -> Option<StayPassed> {
        match self.taken_for() {
            TakenFor::State(Runstate::Running) => self.advance(at),
            _ => None,
        }
    }
}
