//! Runstate changes paired into intervals.

use domio_core::{ActorId, Instant, Kind, PcpuId, Record, Runstate};

use crate::{GoingOn, Losses, Over};

/// Most actors that analyses tell apart: those with a higher number are left out. No host has as
/// many vcpus: the bound keeps a damaged file from taking all memory.
pub const VCPUS_MAX: usize = 1 << 16;

/// A completed stay of an actor in one runstate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The actor.
    pub actor: ActorId,
    /// The runstate; `None` when records are missing or contradict each other in between.
    pub state: Option<Runstate>,
    /// The runstate before.
    pub after: Runstate,
    /// The runstate that follows.
    pub next: Runstate,
    /// First instant.
    pub start: Instant,
    /// Instant at which the next runstate starts.
    pub end: Instant,
    /// Pcpu that recorded the start: for running, the one that it ran on.
    pub pcpu: PcpuId,
}

/// Pairs the runstate changes of a trace: feed it every record.
#[derive(Debug, Default)]
pub struct Intervals {
    /// By actor.
    open: Vec<Option<Open>>,
    losses: Losses,
    going_on: GoingOn,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    since: Instant,
    state: Runstate,
    after: Runstate,
    pcpu: PcpuId,
    /// Losses that concerned it when the interval started.
    losses: u64,
    /// Whether only records that it goes on have told of it.
    went_on: bool,
    /// When it was found to have left its pcpu, without a record of its own so far.
    left: Option<Instant>,
}

impl Open {
    /// Whether the state may have ended before `at`, unseen.
    fn left_before(&self, at: Instant) -> bool {
        self.left.is_some_and(|left| left < at)
    }
}

impl Intervals {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Intervals::default()
    }

    /// Takes one record and hands the intervals that it ends, two at most, to `ended`.
    pub fn feed(&mut self, record: &Record, mut ended: impl FnMut(&Interval)) {
        if record.is(Kind::Lost) {
            self.losses.add(record.pcpu);
            return;
        }
        let open = &self.open;
        let is_new = |actor: ActorId| match open.get(actor.index()) {
            Some(Some(open)) => open.went_on,
            _ => true,
        };
        let going = self.going_on.see(record, is_new);
        if let Some(over) = going.over {
            self.displace(record, over);
        }
        if going.goes_on {
            // Whoever has a pcpu to itself has no other record.
            self.open_running(record);
        }
        for (actor, old, new) in record.changes().into_iter().flatten() {
            let losses = self.losses.concerning(new, record.pcpu);
            let Some(place) = place(&mut self.open, actor) else {
                continue;
            };
            let before = place.replace(Open {
                since: record.at,
                state: new,
                after: old,
                pcpu: record.pcpu,
                losses,
                went_on: false,
                left: None,
            });
            if let Some(open) = before {
                let missed = self.losses.concerning(open.state, open.pcpu) != open.losses
                    || open.left_before(record.at);
                ended(&Interval {
                    actor,
                    state: (open.state == old && !missed).then_some(old),
                    after: open.after,
                    next: new,
                    start: open.since,
                    end: record.at,
                    pcpu: open.pcpu,
                });
            }
        }
    }

    /// An actor goes on of which no other record has told: it runs, and that opens an interval.
    fn open_running(&mut self, record: &Record) {
        let pcpu = record.pcpu;
        let losses = self.losses.concerning(Runstate::Running, pcpu);
        let Some(place) = place(&mut self.open, record.actor) else {
            return;
        };
        if place.is_some_and(|open| open.pcpu == pcpu && !open.left_before(record.at)) {
            return;
        }
        *place = Some(Open {
            since: record.at,
            state: Runstate::Running,
            after: Runstate::Running,
            pcpu,
            losses,
            went_on: true,
            left: None,
        });
    }

    /// `record` shows that a run that only went on there is over: since now, or since some time
    /// after its actor was last seen.
    fn displace(&mut self, record: &Record, over: Over) {
        if let Some(Some(open)) = self.open.get_mut(over.actor.index())
            && open.went_on
            && open.pcpu == record.pcpu
        {
            open.left = Some(if over.now { record.at } else { open.since });
        }
    }
}

/// The place of `actor` in the table, which grows for it; `None` beyond [`VCPUS_MAX`].
#[inline]
fn place(table: &mut Vec<Option<Open>>, actor: ActorId) -> Option<&mut Option<Open>> {
    let index = actor.index();
    if index >= table.len() {
        if index >= VCPUS_MAX {
            return None;
        }
        table.resize(index + 1, None);
    }
    table.get_mut(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Runstate::{Blocked, Runnable, Running};

    #[test]
    fn who_goes_on_was_running() {
        let v = ActorId(1);
        let at = Instant::from_nanos;
        let goes_on = |ns| Record::new(at(ns), PcpuId(2), Kind::Continue, v);
        let mut intervals = Intervals::new();
        let mut out = Vec::new();
        let stops = Record::runstate(at(40), PcpuId(2), v, Running, Blocked);
        for r in [goes_on(10), goes_on(20), stops] {
            intervals.feed(&r, |i| out.push((i.start, i.end, i.state, i.pcpu)));
        }
        assert_eq!(out, [(at(10), at(40), Some(Running), PcpuId(2))]);
    }

    #[test]
    fn a_run_without_records_of_its_end_is_not_sure() {
        let [v, w] = [ActorId(1), ActorId(2)];
        let at = Instant::from_nanos;
        let goes_on = |ns, pcpu, v| Record::new(at(ns), PcpuId(pcpu), Kind::Continue, v);
        let switch = |ns| Record::with(at(ns), PcpuId(2), Kind::SwitchOnly, v, [w.0, 0, 0, 0]);
        let comes = Record::runstate(at(30), PcpuId(2), w, Runnable, Running);
        let stops = |pcpu| Record::runstate(at(40), PcpuId(pcpu), v, Running, Blocked);
        let run = |records: &[Record]| {
            let mut intervals = Intervals::new();
            let mut out = Vec::new();
            for r in records {
                intervals.feed(r, |i| out.push((i.start.as_nanos(), i.state)));
            }
            out
        };
        let first = goes_on(10, 2, v);
        // Another one goes on there, is put there, or takes the pcpu at some earlier time.
        assert_eq!(run(&[first, goes_on(30, 2, w), stops(2)]), [(10, None)]);
        assert_eq!(run(&[first, comes, stops(2)]), [(10, None)]);
        assert_eq!(run(&[first, switch(30), stops(2)]), [(10, None)]);
        // The records of a switch have one time.
        assert_eq!(run(&[first, switch(40), stops(2)]), [(10, Some(Running))]);
        // It is there again, or elsewhere: since when, nothing tells.
        let again = [first, goes_on(30, 2, w), goes_on(35, 2, v), stops(2)];
        assert_eq!(run(&again), [(35, Some(Running))]);
        let elsewhere = [first, goes_on(30, 3, v), stops(3)];
        assert_eq!(run(&elsewhere), [(30, Some(Running))]);
    }

    #[test]
    fn changes_pair_and_losses_make_unsure() {
        let v = ActorId(1);
        let change =
            |ns, old, new| Record::runstate(Instant::from_nanos(ns), PcpuId(2), v, old, new);
        let mut intervals = Intervals::new();
        let mut out = Vec::new();
        let lost = Record::new(Instant::from_nanos(25), PcpuId(2), Kind::Lost, v);
        for r in [
            change(10, Blocked, Runnable),
            change(15, Runnable, Running),
            lost,
            change(40, Running, Blocked),
        ] {
            intervals.feed(&r, |i| {
                out.push((
                    i.start.as_nanos(),
                    i.end.as_nanos(),
                    i.state,
                    i.after,
                    i.next,
                ));
            });
        }
        assert_eq!(
            out,
            [
                (10, 15, Some(Runnable), Blocked, Running),
                (15, 40, None, Runnable, Blocked),
            ]
        );
    }
}
