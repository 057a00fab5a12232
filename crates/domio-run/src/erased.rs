//! A sink whose type a simulation does not know, so that a simulation is compiled once for all.
//!
//! A host is generic over its sink and is most of the program's code. Every kind of sink that ran a
//! host of its own cost a second of the compiler, and there are dozens. Records are handed on by
//! the hundred, so that the call through a table costs a record nothing.

use domio_core::{Names, Record, Sink};
use std::cell::RefCell;
use std::rc::Rc;

/// Records that are handed on together: few enough to stay in a core's first cache.
const BATCH: usize = 128;

/// Takes records for a sink of any type that lives at least as long as `'s`. The sink has them all
/// after [`flush`](Sink::flush).
pub struct Erased<'s> {
    to: Rc<RefCell<dyn Takes + 's>>,
    held: Vec<Record>,
    stages: bool,
    owners: bool,
}

/// What is left of [`Sink`] without constants.
trait Takes {
    fn take(&mut self, names: &Names, records: &[Record]);
}

impl<S: Sink> Takes for S {
    fn take(&mut self, names: &Names, records: &[Record]) {
        for record in records {
            self.record(names, record);
        }
    }
}

impl<'s> Erased<'s> {
    /// For `sink`, of whose type it keeps what the sink wants to be told.
    pub fn of<S: Sink + 's>(sink: &Rc<RefCell<S>>) -> Self {
        let (stages, owners) = {
            let sink = sink.borrow();
            (sink.stages(), sink.owners())
        };
        Erased {
            to: Rc::<RefCell<S>>::clone(sink),
            held: Vec::with_capacity(BATCH),
            stages,
            owners,
        }
    }
}

impl Sink for Erased<'_> {
    fn stages(&self) -> bool {
        self.stages
    }

    fn owners(&self) -> bool {
        self.owners
    }

    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        self.held.push(*record);
        if self.held.len() == BATCH {
            self.flush(names);
        }
    }

    fn flush(&mut self, names: &Names) {
        self.to.borrow_mut().take(names, &self.held);
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{ActorId, Instant, PcpuId, Runstate};

    struct Plain(u64);

    impl Sink for Plain {
        const STAGES: bool = false;

        fn record(&mut self, _: &Names, _: &Record) {
            self.0 += 1;
        }
    }

    #[test]
    fn a_sink_without_a_type_wants_and_gets_what_the_sink_does() {
        let sink = Rc::new(RefCell::new(Plain(0)));
        let mut erased = Erased::of(&sink);
        assert_eq!((erased.stages(), erased.owners()), (false, true));
        let (at, names) = (Instant::ZERO, Names::default());
        let change = (Runstate::Blocked, Runstate::Runnable);
        let record = Record::runstate(at, PcpuId(0), ActorId(0), change.0, change.1);
        erased.record(&names, &record);
        erased.flush(&names);
        assert_eq!(sink.borrow().0, 1);
        for _ in 0..2 * BATCH + 1 {
            erased.record(&names, &record);
        }
        assert_eq!(sink.borrow().0, 1 + 2 * BATCH as u64);
        erased.flush(&names);
        assert_eq!(sink.borrow().0, 2 + 2 * BATCH as u64);
    }
}
