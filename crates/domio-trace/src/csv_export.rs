//! CSV: one row a record, or one row a runstate interval.

use std::io::{self, Write};

use domio_core::{Kind, Record, Sink};

use crate::Intervals;

/// Writes every record as a row: time in nanoseconds, pcpu, kind, domain, vcpu, old and new
/// runstate where there are some, detail and data words as [`Kind`] describes them.
pub struct CsvRecords<W: Write>(Rows<W>);

/// Writes every completed runstate interval as a row: start, end and length in nanoseconds, domain,
/// vcpu, runstate ("unknown" where records are missing), the runstates before and after, and the
/// pcpu that recorded the start.
pub struct CsvIntervals<W: Write> {
    rows: Rows<W>,
    intervals: Intervals,
}

/// A CSV file that keeps its first error.
struct Rows<W: Write> {
    csv: csv::Writer<W>,
    rows: u64,
    error: Option<csv::Error>,
}

impl<W: Write> Rows<W> {
    fn new(out: W, header: &[&str]) -> Self {
        let mut rows = Rows {
            csv: csv::Writer::from_writer(out),
            rows: 0,
            error: None,
        };
        rows.write(header);
        rows.rows = 0;
        rows
    }

    fn write<T: AsRef<[u8]>>(&mut self, row: &[T]) {
        if self.error.is_none() {
            self.error = self.csv.write_record(row).err();
            self.rows += 1;
        }
    }

    fn finish(mut self) -> io::Result<W> {
        if let Some(e) = self.error.take() {
            // The library's own conversion hides the kind of the error, by which callers tell an
            // output that nobody reads any more.
            return Err(match e.into_kind() {
                csv::ErrorKind::Io(e) => e,
                kind => io::Error::other(format!("{kind:?}")),
            });
        }
        self.csv.into_inner().map_err(|e| e.into_error())
    }
}

impl<W: Write> CsvRecords<W> {
    /// Writes the column names to `out`, which needs no buffer of its own.
    pub fn new(out: W) -> Self {
        CsvRecords(Rows::new(
            out,
            &[
                "time_ns", "pcpu", "kind", "domain", "vcpu", "old", "new", "detail", "data0",
                "data1", "data2", "data3",
            ],
        ))
    }

    /// Rows written, without the column names.
    pub fn rows(&self) -> u64 {
        self.0.rows
    }

    /// Writes what is left and returns the output.
    ///
    /// # Errors
    /// The first error of any write since the start.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

impl<W: Write> Sink for CsvRecords<W> {
    fn record(&mut self, r: &Record) {
        let (old, new) = match r.changes()[0] {
            Some((_, old, new)) => (old.name(), new.name()),
            None => ("", ""),
        };
        let [a, b, c, d] = r.data;
        self.0.write(&[
            r.at.as_nanos().to_string(),
            r.pcpu.0.to_string(),
            kind_name(r.kind).to_owned(),
            r.vcpu.domain.0.to_string(),
            r.vcpu.index.to_string(),
            old.to_owned(),
            new.to_owned(),
            r.detail.to_string(),
            a.to_string(),
            b.to_string(),
            c.to_string(),
            d.to_string(),
        ]);
    }
}

impl<W: Write> CsvIntervals<W> {
    /// Writes the column names to `out`, which needs no buffer of its own.
    pub fn new(out: W) -> Self {
        let columns = [
            "start_ns",
            "end_ns",
            "length_ns",
            "domain",
            "vcpu",
            "state",
            "after",
            "next",
            "pcpu",
        ];
        CsvIntervals {
            rows: Rows::new(out, &columns),
            intervals: Intervals::new(),
        }
    }

    /// Rows written, without the column names.
    pub fn rows(&self) -> u64 {
        self.rows.rows
    }

    /// Writes what is left and returns the output. Intervals that the trace does not end are left
    /// out.
    ///
    /// # Errors
    /// The first error of any write since the start.
    pub fn finish(self) -> io::Result<W> {
        self.rows.finish()
    }
}

impl<W: Write> Sink for CsvIntervals<W> {
    fn record(&mut self, r: &Record) {
        let rows = &mut self.rows;
        self.intervals.feed(r, |i| {
            rows.write(&[
                i.start.as_nanos().to_string(),
                i.end.as_nanos().to_string(),
                i.end.saturating_since(i.start).as_nanos().to_string(),
                i.vcpu.domain.0.to_string(),
                i.vcpu.index.to_string(),
                i.state.map_or("unknown", |s| s.name()).to_owned(),
                i.after.name().to_owned(),
                i.next.name().to_owned(),
                i.pcpu.0.to_string(),
            ]);
        });
    }
}

/// The kind in lower case with hyphens.
fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::RunstateChange => "runstate-change",
        Kind::Switch => "switch",
        Kind::Continue => "continue",
        Kind::Wake => "wake",
        Kind::Block => "block",
        Kind::Sleep => "sleep",
        Kind::Yield => "yield",
        Kind::DomainAdd => "domain-add",
        Kind::DomainRemove => "domain-remove",
        Kind::Policy => "policy",
        Kind::Lost => "lost",
        Kind::InfPrev => "infprev",
        Kind::InfNext => "infnext",
        Kind::SwitchOnly => "switch-only",
        Kind::Other => "other",
        Kind::JobDone => "job-done",
        Kind::NetDelivered => "net-delivered",
        Kind::NetReply => "net-reply",
        Kind::EvtchnSend => "evtchn-send",
        Kind::EvtchnServe => "evtchn-serve",
        Kind::NetMove => "net-move",
        Kind::DriverWork => "driver-work",
        Kind::Web => "web",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{DomainId, Instant, PcpuId, Runstate, VcpuName};

    fn switch() -> Record {
        let mut r = Record::new(
            Instant::from_nanos(30),
            PcpuId(1),
            Kind::Switch,
            VcpuName::new(DomainId(3), 2),
        );
        r.detail = Runstate::Blocked as u8;
        r.data = [VcpuName::idle(PcpuId(1)).word(), 20, 10, u32::MAX];
        r
    }

    #[test]
    fn records_are_rows() {
        let mut w = CsvRecords::new(Vec::new());
        w.record(&switch());
        assert_eq!(w.rows(), 1);
        let text = String::from_utf8(w.finish().unwrap()).unwrap();
        assert_eq!(
            text,
            "time_ns,pcpu,kind,domain,vcpu,old,new,detail,data0,data1,data2,data3\n\
             30,1,switch,3,2,running,blocked,2,2147418113,20,10,4294967295\n"
        );
    }

    #[test]
    fn work_of_a_driver_domain_is_a_row_with_its_owner() {
        let mut w = CsvRecords::new(Vec::new());
        let v = VcpuName::new(DomainId(0), 1);
        let at = Instant::from_nanos(40);
        w.record(&Record::driver_work(at, PcpuId(1), v, DomainId(3), 3 << 32));
        let text = String::from_utf8(w.finish().unwrap()).unwrap();
        // The owner's domain in the high half of the word; 3 in the high word of the time.
        let row = "40,1,driver-work,0,1,,,0,196608,0,0,3";
        assert_eq!(text.lines().nth(1), Some(row));
    }

    #[test]
    fn intervals_are_rows() {
        let mut w = CsvIntervals::new(Vec::new());
        w.record(&Record::runstate(
            Instant::from_nanos(10),
            PcpuId(1),
            VcpuName::new(DomainId(3), 2),
            Runstate::Runnable,
            Runstate::Running,
        ));
        w.record(&switch());
        assert_eq!(w.rows(), 1);
        let text = String::from_utf8(w.finish().unwrap()).unwrap();
        assert_eq!(
            text.lines().nth(1),
            Some("10,30,20,3,2,running,runnable,blocked,1")
        );
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut w = CsvRecords::new(Full);
        for _ in 0..10_000 {
            w.record(&switch());
        }
        assert!(w.finish().is_err());
    }
}
