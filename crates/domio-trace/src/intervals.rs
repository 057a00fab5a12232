//! Runstate changes paired into intervals.

use domio_core::{ActorId, Instant, Kind, PcpuId, Record, Runstate};

use crate::{GoingOn, Ground, Over, StayPassed, TakenFor, Track};

/// Most actors that analyses tell apart: those with a higher number are left out. No host has as
/// many vcpus: the bound keeps a damaged file from taking all memory.
pub const VCPUS_MAX: usize = 1 << 16;

/// A stay of an actor in one runstate, or a part of one where the trace begins or ends, a record
/// marks the state, or records are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The actor.
    pub actor: ActorId,
    /// The runstate; `None` when records are missing or contradict each other in between.
    pub state: Option<Runstate>,
    /// The runstate before; the same one where the begin of the stay was not seen.
    pub after: Runstate,
    /// The runstate that follows; the same one where the end was not seen.
    pub next: Runstate,
    /// First instant.
    pub start: Instant,
    /// Instant at which the next runstate starts.
    pub end: Instant,
    /// Pcpu that recorded the start, or the end where that was not seen: for running, the one that
    /// it ran on.
    pub pcpu: PcpuId,
}

/// Pairs the runstate changes of a trace, as [`Track`] follows them: feed it every record, and at
/// the end ask for the stays that last.
#[derive(Debug, Default)]
pub struct Intervals {
    /// By actor.
    tracks: Vec<Track>,
    ground: Ground,
    going_on: GoingOn,
    /// Whether a record told of a runstate. Without any, what is known is not half of it.
    told: bool,
}

impl Intervals {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Intervals::default()
    }

    /// Takes one record and hands the intervals that it ends, in most cases two at most, to
    /// `ended`.
    pub fn feed(&mut self, record: &Record, mut ended: impl FnMut(&Interval)) {
        self.ground.see(record);
        if record.is(Kind::Lost) {
            return self.lose(record, ended);
        }
        let (at, pcpu) = (record.at.as_nanos(), record.pcpu);
        let tracks = &self.tracks;
        let is_new = |actor: ActorId| {
            let track = tracks.get(actor.index());
            track.is_none_or(|track| !track.has_changed())
        };
        let going = self.going_on.see(record, is_new);
        if let Some(Over { actor, now }) = going.over
            && let Some(track) = self.tracks.get_mut(actor.index())
            && let Some(passed) = track.displace(at, pcpu, now)
            && self.told
        {
            tell(actor, pcpu, &passed, Runstate::Running, &mut ended);
        }
        let runs = TakenFor::State(Runstate::Running);
        if going.goes_on
            && let Some(track) = place(&mut self.tracks, record.actor)
            && (track.taken_for(), track.pcpu()) != (runs, pcpu)
        {
            // The vcpu that has a pcpu to itself has no other record.
            let passed = track.goes_on(&mut self.ground, at, pcpu);
            if self.told {
                tell(record.actor, pcpu, &passed, Runstate::Running, &mut ended);
            }
        }
        for (actor, old, new) in record.changes().into_iter().flatten() {
            let Some(track) = place(&mut self.tracks, actor) else {
                continue;
            };
            self.told = true;
            let before = track.is_known().then(|| track.pcpu());
            let passed = track.change(&mut self.ground, at, pcpu, [old, new]);
            let on = before.filter(|_| passed.sure).unwrap_or(pcpu);
            tell(actor, on, &passed, new, &mut ended);
        }
    }

    /// Records of the record's pcpu are missing.
    #[cold]
    fn lose(&mut self, record: &Record, mut ended: impl FnMut(&Interval)) {
        self.ground.lose(record.pcpu);
        let tracks = self.tracks.iter_mut().enumerate();
        for (actor, track) in tracks {
            let on = track.pcpu();
            if let Some(passed) = track.lose(record.at.as_nanos(), record.pcpu) {
                let actor = ActorId(actor as u32);
                tell(actor, on, &passed, passed.state, &mut ended);
            }
        }
    }

    /// Hands the stays that last when the trace ends to `ended`, up to its last record.
    pub fn finish(mut self, mut ended: impl FnMut(&Interval)) {
        if !self.told {
            return;
        }
        let (_, end) = self.ground.span().unwrap_or_default();
        for (actor, track) in self.tracks.iter_mut().enumerate() {
            let on = track.pcpu();
            if let Some(passed) = track.advance(end)
                && passed.to > passed.from
            {
                let actor = ActorId(actor as u32);
                tell(actor, on, &passed, passed.state, &mut ended);
            }
        }
    }
}

/// Hands on what `passed` of `actor`, which is in `next` then.
fn tell(
    actor: ActorId,
    pcpu: PcpuId,
    passed: &StayPassed,
    next: Runstate,
    mut ended: impl FnMut(&Interval),
) {
    for (from, to, state) in passed.parts() {
        // Several changes may have one time.
        if from == to && !(passed.sure && state.is_some()) {
            continue;
        }
        let begun = passed.entered == Some(from);
        ended(&Interval {
            actor,
            state,
            after: if begun { passed.after } else { passed.state },
            next: if to == passed.to { next } else { passed.state },
            start: Instant::from_nanos(from),
            end: Instant::from_nanos(to),
            pcpu,
        });
    }
}

/// The track of `actor` in the table, which grows for it; `None` beyond [`VCPUS_MAX`].
#[inline]
fn place(table: &mut Vec<Track>, actor: ActorId) -> Option<&mut Track> {
    let index = actor.index();
    if index >= table.len() {
        if index >= VCPUS_MAX {
            return None;
        }
        table.resize(index + 1, Track::new());
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
                intervals.feed(r, |i| out.push((i.actor, i.start.as_nanos(), i.state)));
            }
            let of_v = out.into_iter().filter(|(actor, ..)| *actor == v);
            of_v.map(|(_, start, state)| (start, state))
                .collect::<Vec<_>>()
        };
        let first = goes_on(10, 2, v);
        // There are runstates, of somebody elsewhere.
        let x = ActorId(3);
        let other = Record::runstate(at(10), PcpuId(0), x, Runnable, Running);
        // Another one goes on there, is put there, or takes the pcpu at some earlier time.
        let unsure = [(10, None), (30, None)];
        assert_eq!(run(&[other, first, goes_on(30, 2, w), stops(2)]), unsure);
        assert_eq!(run(&[other, first, comes, stops(2)]), unsure);
        let left = [(10, Some(Running)), (30, None)];
        assert_eq!(run(&[other, first, switch(30), stops(2)]), left);
        // The records of a switch have one time.
        let whole = [(10, Some(Running))];
        assert_eq!(run(&[other, first, switch(40), stops(2)])[..1], whole);
        // It is there again, or elsewhere: since when, nothing tells.
        let again = [other, first, goes_on(30, 2, w), goes_on(35, 2, v), stops(2)];
        assert_eq!(run(&again)[2..], [(35, Some(Running))]);
        let elsewhere = [other, first, goes_on(30, 3, v), stops(3)];
        assert_eq!(run(&elsewhere), [(10, None), (30, Some(Running))]);
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
                (15, 25, Some(Running), Runnable, Running),
                (25, 40, None, Running, Blocked),
            ]
        );
    }
}
