//! Who runs where, as far as only records that it goes on tell.

use domio_core::{Kind, PcpuId, Record, Runstate, VcpuName};

/// For each pcpu the vcpu of which [`Kind::Continue`] is all that has told that it runs there.
///
/// Such a run has no record of its end where runstates were not recorded. It is over when another
/// vcpu is on the pcpu: show this table every record, and it says whose run that ends.
#[derive(Clone, Debug, Default)]
pub struct GoingOn {
    by_pcpu: Vec<Option<VcpuName>>,
}

/// What a record tells of runs that only go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Going {
    /// Whether the record's vcpu goes on, of which nothing else is known.
    pub goes_on: bool,
    /// The run on the record's pcpu that is over by now.
    pub over: Option<Over>,
}

/// A run that only went on and is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Over {
    /// Whose it was.
    pub vcpu: VcpuName,
    /// Whether it ends with the record. Otherwise it ended at an unknown time before.
    pub now: bool,
}

impl GoingOn {
    /// Nobody goes on yet.
    pub fn new() -> Self {
        GoingOn::default()
    }

    /// Takes the next record. `is_new` says whether nothing but that it goes on has told of a vcpu
    /// so far, and is asked where a vcpu goes on.
    #[inline]
    pub fn see(&mut self, record: &Record, is_new: impl FnOnce(VcpuName) -> bool) -> Going {
        let mut going = Going::default();
        match record.kind {
            // Most pcpus have nobody who only goes on.
            Kind::Switch | Kind::RunstateChange if self.holds(record.pcpu) => {
                going.over = self.changes(record);
            }
            Kind::SwitchOnly => {
                let other = self.comes(record.pcpu, VcpuName::from_word(record.data[0]));
                going.over = other.map(|vcpu| Over {
                    vcpu,
                    now: vcpu == record.vcpu,
                });
            }
            Kind::Continue => {
                going.goes_on = is_new(record.vcpu);
                let other = match going.goes_on {
                    true => self.goes_on(record.pcpu, record.vcpu),
                    false => self.comes(record.pcpu, record.vcpu),
                };
                going.over = other.map(|vcpu| Over { vcpu, now: false });
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
        let other = other.filter(|vcpu| *vcpu != record.vcpu);
        other.map(|vcpu| Over { vcpu, now: false })
    }

    /// `vcpu`, of which nothing else is known, goes on on `pcpu`. Returns the other vcpu whose run
    /// there is over by now.
    fn goes_on(&mut self, pcpu: PcpuId, vcpu: VcpuName) -> Option<VcpuName> {
        let index = pcpu.index();
        if self.by_pcpu.len() <= index {
            self.by_pcpu.resize(index + 1, None);
        }
        let before = self.by_pcpu[index].replace(vcpu);
        before.filter(|before| *before != vcpu)
    }

    /// `vcpu` is on `pcpu`, as another record tells. Returns the other vcpu whose run there is over
    /// by now.
    fn comes(&mut self, pcpu: PcpuId, vcpu: VcpuName) -> Option<VcpuName> {
        let before = self.by_pcpu.get_mut(pcpu.index())?.take();
        before.filter(|before| *before != vcpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Runstate::{Blocked, Runnable, Running};
    use domio_core::Instant;

    const HERE: PcpuId = PcpuId(1);

    fn vcpus() -> [VcpuName; 3] {
        [1, 2, 3].map(VcpuName::from_word)
    }

    fn record(pcpu: PcpuId, kind: Kind, vcpu: VcpuName, next: VcpuName) -> Record {
        let mut record = Record::new(Instant::ZERO, pcpu, kind, vcpu);
        record.data[0] = next.word();
        record
    }

    fn goes_on(pcpu: PcpuId, vcpu: VcpuName) -> Record {
        record(pcpu, Kind::Continue, vcpu, VcpuName::default())
    }

    fn over(vcpu: VcpuName, now: bool) -> Option<Over> {
        Some(Over { vcpu, now })
    }

    #[test]
    fn a_run_is_over_once_and_where_it_was() {
        let [a, b, _] = vcpus();
        let there = PcpuId(3);
        let mut going_on = GoingOn::new();
        let mut goes_on = |pcpu, vcpu, is_new| {
            let going = going_on.see(&goes_on(pcpu, vcpu), |_| is_new);
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
        let [a, b, c] = vcpus();
        let change = |vcpu, old, new| Record::runstate(Instant::ZERO, HERE, vcpu, old, new);
        let switch = |vcpu, next, left_to: Runstate| Record {
            detail: left_to as u8,
            ..record(HERE, Kind::Switch, vcpu, next)
        };
        let unknown = Record {
            detail: 9,
            ..switch(b, c, Blocked)
        };
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
