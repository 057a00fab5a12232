//! Who runs where, as far as only records that it continues tell.

use domio_core::{ActorId, Kind, PcpuId, Record, Runstate};

/// For each pcpu the actor of which [`Kind::Continue`] is all that has told that it runs there.
///
/// Such a run has no record of its end where runstates were not recorded. It is over when another
/// actor is on the pcpu: show this table every record, and it says whose run that ends.
#[derive(Clone, Debug, Default)]
pub struct GoingOn {
    by_pcpu: Vec<Option<ActorId>>,
}

/// What a record reports runs that only continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Going {
    /// Whether the record's actor continues, of which nothing else is known.
    pub goes_on: bool,
    /// The run on the record's pcpu that is over by now.
    pub over: Option<Over>,
}

/// A run that only continued and is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Over {
    /// Whose it was.
    pub actor: ActorId,
    /// Whether it ends with the record. Otherwise it ended at an unknown time before.
    pub now: bool,
}

impl GoingOn {
    /// Nobody continues yet.
    pub fn new() -> Self {
        GoingOn::default()
    }

    /// Takes the next record. `is_new` says whether nothing but that it continues has reported an
    /// actor so far, and is asked where one continues.
    #[inline]
    pub fn see(&mut self, record: &Record, is_new: impl FnOnce(ActorId) -> bool) -> Going {
        let mut going = Going::default();
        match record.kind() {
            // Most pcpus have nobody who only continues.
            Some(Kind::Switch | Kind::RunstateChange) if self.holds(record.pcpu) => {
                going.over = self.changes(record);
            }
            Some(Kind::SwitchOnly) => {
                let next = record.next().unwrap_or(ActorId::NONE);
                let other = self.comes(record.pcpu, next);
                going.over = other.map(|actor| Over {
                    actor,
                    now: actor == record.actor,
                });
            }
            Some(Kind::Continue) => {
                going.goes_on = is_new(record.actor);
                let other = match going.goes_on {
                    true => self.goes_on(record.pcpu, record.actor),
                    false => self.comes(record.pcpu, record.actor),
                };
                going.over = other.map(|actor| Over { actor, now: false });
            }
            _ => {}
        }
        going
    }

    fn holds(&self, pcpu: PcpuId) -> bool {
        self.by_pcpu.get(pcpu.index()).is_some_and(Option::is_some)
    }

    /// Whose run is over by a record of runstates, which tells itself of those that it names.
    #[cold]
    fn changes(&mut self, record: &Record) -> Option<Over> {
        let changes = record.changes().into_iter().flatten();
        let mut comes = changes.filter(|(_, _, new)| *new == Runstate::Running);
        let (next, ..) = comes.next()?;
        let other = self.comes(record.pcpu, next);
        let other = other.filter(|actor| *actor != record.actor);
        other.map(|actor| Over { actor, now: false })
    }

    /// `actor`, of which nothing else is known, continues on `pcpu`. Returns the other one whose
    /// run there is over by now.
    fn goes_on(&mut self, pcpu: PcpuId, actor: ActorId) -> Option<ActorId> {
        let index = pcpu.index();
        if self.by_pcpu.len() <= index {
            self.by_pcpu.resize(index + 1, None);
        }
        let before = self.by_pcpu[index].replace(actor);
        before.filter(|before| *before != actor)
    }

    /// `actor` is on `pcpu`, as another record says. Returns the other one whose run there is over
    /// by now.
    fn comes(&mut self, pcpu: PcpuId, actor: ActorId) -> Option<ActorId> {
        let before = self.by_pcpu.get_mut(pcpu.index())?.take();
        before.filter(|before| *before != actor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Runstate::{Blocked, Runnable, Running};
    use domio_core::Instant;

    const HERE: PcpuId = PcpuId(1);

    const ACTORS: [ActorId; 3] = [ActorId(1), ActorId(2), ActorId(3)];

    fn record(pcpu: PcpuId, kind: Kind, actor: ActorId, next: ActorId) -> Record {
        Record::with(Instant::ZERO, pcpu, kind, actor, [next.0, 0, 0, 0])
    }

    fn goes_on(pcpu: PcpuId, actor: ActorId) -> Record {
        record(pcpu, Kind::Continue, actor, ActorId(0))
    }

    fn over(actor: ActorId, now: bool) -> Option<Over> {
        Some(Over { actor, now })
    }

    #[test]
    fn a_run_is_over_once_and_where_it_was() {
        let [a, b, _] = ACTORS;
        let there = PcpuId(3);
        let mut going_on = GoingOn::new();
        let mut goes_on = |pcpu, actor, is_new| {
            let going = going_on.see(&goes_on(pcpu, actor), |_| is_new);
            assert_eq!(going.goes_on, is_new);
            going.over
        };
        assert_eq!(goes_on(HERE, a, true), None);
        assert_eq!(goes_on(HERE, a, true), None);
        assert_eq!(goes_on(there, b, false), None);
        assert_eq!(goes_on(HERE, b, false), over(a, false));
        assert_eq!(goes_on(HERE, b, false), None);
        assert_eq!(goes_on(there, b, true), None);
        assert_eq!(goes_on(there, a, true), over(b, false));
    }

    #[test]
    fn each_kind_of_record_ends_what_it_tells_of() {
        let [a, b, c] = ACTORS;
        let change = |actor, old, new| Record::runstate(Instant::ZERO, HERE, actor, old, new);
        let switch =
            |actor, next, to| Record::switch(Instant::ZERO, HERE, (actor, to), next, [0; 3]);
        let unknown = Record::with(Instant::ZERO, HERE, Kind::RunstateChange, b, [9, 0, 0, 0]);
        // While `a` only goes on; whether its run is over for good is asked of the next switch.
        for (then, expected, still_there) in [
            // A record of the vcpu's own switch says when; one of other vcpus does not.
            (record(HERE, Kind::SwitchOnly, a, b), over(a, true), false),
            (record(HERE, Kind::SwitchOnly, b, c), over(a, false), false),
            (record(HERE, Kind::SwitchOnly, b, a), None, false),
            (change(b, Runnable, Running), over(a, false), false),
            (change(b, Running, Running), over(a, false), false),
            (change(b, Running, Runnable), None, true),
            (change(a, Running, Running), None, false),
            (switch(b, c, Blocked), over(a, false), false),
            // The record itself tells what became of `a`.
            (switch(a, b, Blocked), None, false),
            (change(a, Running, Blocked), None, true),
            (unknown, None, true),
            (record(HERE, Kind::Wake, b, c), None, true),
            (record(PcpuId(0), Kind::SwitchOnly, a, b), None, true),
        ] {
            let mut going_on = GoingOn::new();
            assert!(going_on.see(&goes_on(HERE, a), |_| true).goes_on);
            let asked = |_| panic!("nobody goes on: {then:?}");
            let going = going_on.see(&then, asked);
            assert_eq!((going.goes_on, going.over), (false, expected), "{then:?}");
            let last = going_on.see(&record(HERE, Kind::SwitchOnly, a, b), asked);
            assert_eq!(last.over.is_some(), still_there, "{then:?}");
        }
    }
}
