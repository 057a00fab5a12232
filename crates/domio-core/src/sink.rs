//! Where a host puts its records.

use crate::{Names, Record};

/// Takes the records of a stream.
///
/// Hosts are generic over it, so that a host without a trace pays nothing.
pub trait Sink {
    /// Whether records are wanted at all. A host skips the work of making them when not.
    const ENABLED: bool = true;

    /// Whether every step of a packet, a request or an event is wanted too
    /// ([`Kind::EvtchnSend`](crate::Kind::EvtchnSend),
    /// [`Kind::EvtchnServe`](crate::Kind::EvtchnServe), records that say
    /// [`Moved`](crate::Says::Moved)): several records a packet, which nobody needs who only wants
    /// to know how much was delivered.
    const STAGES: bool = Self::ENABLED;

    /// Whether it is wanted too for whom driver domains work
    /// ([`Kind::DriverWork`](crate::Kind::DriverWork)): up to one record a guest whenever a driver
    /// domain leaves its pcpu, and the host keeps the time of each guest for that.
    const OWNERS: bool = Self::ENABLED;

    /// [`STAGES`](Sink::STAGES) of this sink, which a host asks for once, at its start. Differs
    /// from the constant where a sink passes its records on to one of a type that is not known.
    fn stages(&self) -> bool {
        Self::STAGES
    }

    /// [`OWNERS`](Sink::OWNERS) of this sink, as [`stages`](Sink::stages).
    fn owners(&self) -> bool {
        Self::OWNERS
    }

    /// Takes one record. Times never go back within one pcpu. `names` says what its numbers stand
    /// for, and is the same table in every call, which grows at its end only.
    fn record(&mut self, names: &Names, record: &Record);

    /// The host stands still, and somebody may look at the sink: what the sink holds back goes
    /// where it belongs. Most hold nothing back.
    fn flush(&mut self, names: &Names) {
        let _ = names;
    }
}

/// No trace wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl Sink for NullSink {
    const ENABLED: bool = false;

    #[inline]
    fn record(&mut self, _: &Names, _: &Record) {}
}

impl Sink for alloc::vec::Vec<Record> {
    #[inline]
    fn record(&mut self, _: &Names, record: &Record) {
        self.push(*record);
    }
}

impl<S: Sink> Sink for &mut S {
    const ENABLED: bool = S::ENABLED;
    const STAGES: bool = S::STAGES;
    const OWNERS: bool = S::OWNERS;

    fn stages(&self) -> bool {
        (**self).stages()
    }

    fn owners(&self) -> bool {
        (**self).owners()
    }

    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        (**self).record(names, record);
    }

    fn flush(&mut self, names: &Names) {
        (**self).flush(names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActorId, Instant, Kind, PcpuId};
    use alloc::vec::Vec;

    #[test]
    fn a_sink_that_is_lent_is_flushed_too() {
        /// Records that are held back, and those that are let go.
        #[derive(Default)]
        struct Holding(Vec<Record>, Vec<Record>);
        impl Sink for Holding {
            fn record(&mut self, _: &Names, record: &Record) {
                self.0.push(*record);
            }
            fn flush(&mut self, _: &Names) {
                self.1.append(&mut self.0);
            }
        }
        fn lent<S: Sink>(mut sink: S, names: &Names) {
            sink.record(
                names,
                &Record::new(Instant::ZERO, PcpuId(0), Kind::Wake, ActorId(0)),
            );
            sink.flush(names);
        }
        let mut holding = Holding::default();
        lent(&mut holding, &Names::default());
        assert_eq!((holding.0.len(), holding.1.len()), (0, 1));
    }

    #[test]
    fn who_wants_records_wants_all_of_them_unless_it_says_so() {
        struct Shares;
        impl Sink for Shares {
            const STAGES: bool = false;
            const OWNERS: bool = false;
            fn record(&mut self, _: &Names, _: &Record) {}
        }
        const fn wants<S: Sink>() -> (bool, bool) {
            (S::STAGES, S::OWNERS)
        }
        assert_eq!(wants::<alloc::vec::Vec<Record>>(), (true, true));
        assert_eq!(wants::<NullSink>(), (false, false));
        assert_eq!(wants::<&mut &mut Shares>(), (false, false));
        assert_eq!(wants::<&mut alloc::vec::Vec<Record>>(), (true, true));
    }
}
