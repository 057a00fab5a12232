//! What records of the common class change in the books.

use domio_core::{ActorId, Kind, Names, PcpuId, Record, Runstate, VcpuName};
use domio_trace::Going;

use super::WaitBooks;
use super::books::Who;
use super::map::{MapChange, MapRow};

impl WaitBooks {
    /// Takes the runstate changes of a record.
    fn changes(&mut self, names: &Names, record: &Record) {
        let at = record.at.as_nanos();
        let mut left = None;
        for (actor, old, new) in record.changes().into_iter().flatten() {
            let Some(name) = names.vcpu(actor) else {
                continue;
            };
            if old == Runstate::Running && new != old {
                left = Some((name, new));
                self.left(record.pcpu, name, new);
            }
            if new == Runstate::Running {
                match old == new {
                    true => self.cartographer.runs_already(name, record.pcpu),
                    false => {
                        let left = left.take().or_else(|| self.who_left(record.pcpu));
                        self.cartographer.change(MapRow {
                            at: record.at,
                            pcpu: record.pcpu,
                            what: MapChange::Runs(name, left),
                        });
                    }
                }
            }
            self.change(at, record.pcpu, Who { actor, name }, [old, new]);
        }
    }

    fn left(&mut self, pcpu: PcpuId, vcpu: VcpuName, to: Runstate) {
        self.pcpu(pcpu).left = Some((vcpu, to));
    }

    fn who_left(&mut self, pcpu: PcpuId) -> Option<(VcpuName, Runstate)> {
        self.pcpu(pcpu).left.take()
    }

    /// Records of `pcpu` are missing.
    fn lost(&mut self, at: u64, pcpu: PcpuId, count: u32) {
        self.lost_records += u64::from(count);
        self.lose(at, pcpu);
        self.put(at, pcpu, None);
        for pcpu in &mut self.pcpus {
            pcpu.pending = None;
        }
        for vcpu in &mut self.list {
            // What was not seen may have changed all of that.
            vcpu.boosted = None;
            vcpu.credit = None;
            vcpu.budget = None;
            vcpu.spent = false;
            vcpu.held_inside = false;
            vcpu.slice = None;
        }
    }

    /// Takes a record of the common class.
    #[inline]
    pub fn common(&mut self, names: &Names, record: &Record, kind: Kind) {
        self.pcpu(record.pcpu).seen = true;
        self.settle(record.pcpu);
        let going = self.going(record);
        match kind {
            Kind::Switch | Kind::RunstateChange => {
                if kind == Kind::Switch {
                    let slice = Some(record.words[3]).filter(|ns| *ns != u32::MAX);
                    self.slice(record.pcpu, slice);
                }
                self.changes(names, record);
            }
            Kind::InfNext => {
                let slice = Some(record.words[1]).filter(|ns| *ns != u32::MAX);
                self.slice(record.pcpu, slice);
            }
            Kind::Continue => self.goes_on(names, record, going.goes_on),
            Kind::Yield => {
                if let Some(vcpu) = self.known(record.actor) {
                    vcpu.yielded = true;
                }
            }
            Kind::Lost => self.lost(record.at.as_nanos(), record.pcpu, record.words[0]),
            _ => {}
        }
    }

    /// What the record tells of runs that only go on.
    #[inline]
    fn going(&mut self, record: &Record) -> Going {
        let (places, list) = (&self.places, &self.list);
        let going = self.going_on.see(record, |actor| {
            let place = places.get(actor.index());
            let vcpu = place.and_then(|place| list.get(*place as usize));
            vcpu.is_none_or(|vcpu| !vcpu.track.has_changed())
        });
        if let Some(over) = going.over {
            self.displace(record.at.as_nanos(), record.pcpu, over);
        }
        going
    }

    /// Whether the vcpu runs on `pcpu`.
    pub(super) fn runs(&mut self, actor: ActorId, pcpu: PcpuId) -> bool {
        let current = self.pcpu(pcpu).current;
        current.is_some_and(|who| who.actor == actor)
    }

    /// Who is put on `pcpu` next has this slice.
    fn slice(&mut self, pcpu: PcpuId, slice: Option<u32>) {
        self.tells.slices = true;
        self.pcpu(pcpu).slice = Some(slice.map(u64::from));
    }

    /// A pass lets a vcpu go on.
    fn goes_on(&mut self, names: &Names, record: &Record, is_new: bool) {
        let (at, pcpu, actor) = (record.at.as_nanos(), record.pcpu, record.actor);
        if let Some(name) = names.vcpu(actor).filter(|_| is_new) {
            self.cartographer.runs_already(name, pcpu);
            self.found_running(at, pcpu, Who { actor, name });
        }
        let length = record.words[1];
        if let Some(vcpu) = self.known(actor) {
            vcpu.yielded = false;
            // The rest of the rate limit is no slice; and some releases do not tell the slice.
            let limited = core::mem::take(&mut vcpu.limited);
            match (length, vcpu.slice) {
                _ if limited => {}
                (0, None) => {}
                (0, Some((_, before))) => vcpu.slice = Some((at, before)),
                (u32::MAX, _) => vcpu.slice = Some((at, None)),
                (length, _) => vcpu.slice = Some((at, Some(u64::from(length)))),
            }
        }
    }
}
