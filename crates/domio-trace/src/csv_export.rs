//! CSV: one row a record, or one row a runstate interval.

use std::fmt::Write as _;
use std::io::{self, Write};

use domio_core::{ActorId, Names, Record, Sink};

use crate::describe::{Value, record_name, unit_suffix, value};
use crate::{Interval, Intervals};

/// Writes every record as a row: time in nanoseconds, pcpu, class, name, domain and vcpu of the
/// actor where there is one, the actor's runstates before and after where they change, and the
/// fields that the class declares, as `name=value` with a semicolon between two. The name of a
/// field ends with its unit ("ran_ns"). A record that nobody declares has its words as fields.
pub struct CsvRecords<W: Write>(Rows<W>);

/// Writes every completed runstate interval as a row: start, end and length in nanoseconds, domain,
/// vcpu, runstate ("unknown" where records are missing), the runstates before and after, and the
/// pcpu that recorded the start.
pub struct CsvIntervals<W: Write> {
    rows: Rows<W>,
    intervals: Intervals,
    names: Names,
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
                "time_ns", "pcpu", "class", "record", "domain", "vcpu", "old", "new", "fields",
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
    fn record(&mut self, names: &Names, r: &Record) {
        let (old, new) = match r.changes()[0] {
            Some((_, old, new)) => (old.name(), new.name()),
            None => ("", ""),
        };
        let [domain, vcpu] = actor(names, r.actor);
        let class = names.class(r.class).map_or("", |class| class.name);
        self.0.write(&[
            r.at.as_nanos().to_string(),
            r.pcpu.0.to_string(),
            class.to_owned(),
            record_name(names, r).into_owned(),
            domain,
            vcpu,
            old.to_owned(),
            new.to_owned(),
            fields(names, r),
        ]);
    }
}

/// Domain and index of the vcpu that `id` is, empty for nobody.
fn actor(names: &Names, id: ActorId) -> [String; 2] {
    match names.vcpu(id) {
        Some(name) => [name.domain.0.to_string(), name.index.to_string()],
        None => [String::new(), String::new()],
    }
}

fn fields(names: &Names, r: &Record) -> String {
    let mut out = String::new();
    let mut put = |name: &str, unit: Option<&str>, value: Value| {
        let between = if out.is_empty() { "" } else { ";" };
        let unit = unit.map_or(String::new(), |unit| format!("_{unit}"));
        let value = match value {
            Value::Number(number) => number.to_string(),
            Value::Name(name) => name.into_owned(),
        };
        write!(out, "{between}{name}{unit}={value}").expect("writing to a string cannot fail");
    };
    match names.declared(r) {
        Some(declared) => {
            for field in declared.fields {
                put(field.name, unit_suffix(field.unit), value(names, r, field));
            }
        }
        None => {
            for (name, word) in ["word0", "word1", "word2", "word3"].iter().zip(r.words) {
                put(name, None, Value::Number(word.into()));
            }
        }
    }
    out
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
            names: Names::new(),
        }
    }

    /// Rows written, without the column names.
    pub fn rows(&self) -> u64 {
        self.rows.rows
    }

    /// Writes what is left and returns the output.
    ///
    /// # Errors
    /// The first error of any write since the start.
    pub fn finish(mut self) -> io::Result<W> {
        let (rows, names) = (&mut self.rows, &self.names);
        self.intervals.finish(|i| write(rows, names, i));
        self.rows.finish()
    }
}

impl<W: Write> Sink for CsvIntervals<W> {
    fn record(&mut self, names: &Names, r: &Record) {
        if self.names.actors().len() < names.actors().len() {
            self.names.clone_from(names);
        }
        let rows = &mut self.rows;
        self.intervals.feed(r, |i| write(rows, names, i));
    }
}

/// Writes the row of an interval.
fn write<W: Write>(rows: &mut Rows<W>, names: &Names, i: &Interval) {
    let [domain, vcpu] = actor(names, i.actor);
    rows.write(&[
        i.start.as_nanos().to_string(),
        i.end.as_nanos().to_string(),
        i.end.saturating_since(i.start).as_nanos().to_string(),
        domain,
        vcpu,
        i.state.map_or("unknown", |s| s.name()).to_owned(),
        i.after.name().to_owned(),
        i.next.name().to_owned(),
        i.pcpu.0.to_string(),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{ClassId, DomainId, Instant, PcpuId, Runstate, VcpuName};

    fn names() -> Names {
        let mut names = Names::new();
        names.add_actor(VcpuName::new(DomainId(3), 2));
        names.add_actor(VcpuName::idle(PcpuId(1)));
        names
    }

    fn switch() -> Record {
        let (at, prev, next) = (Instant::from_nanos(30), ActorId(0), ActorId(1));
        let prev = (prev, Runstate::Blocked);
        Record::switch(at, PcpuId(1), prev, next, [20, 10, u32::MAX])
    }

    /// The second row of a file with `record` alone.
    fn row(record: &Record) -> String {
        let mut w = CsvRecords::new(Vec::new());
        w.record(&names(), record);
        assert_eq!(w.rows(), 1);
        let text = String::from_utf8(w.finish().unwrap()).unwrap();
        let (header, row) = text.split_once('\n').unwrap();
        assert_eq!(
            header,
            "time_ns,pcpu,class,record,domain,vcpu,old,new,fields"
        );
        row.trim_end().to_owned()
    }

    #[test]
    fn records_are_rows() {
        assert_eq!(
            row(&switch()),
            "30,1,sched,switch,3,2,running,blocked,\
             next=idlev1;left_to=blocked;ran_ns=20;waited_ns=10;slice_ns=4294967295"
        );
    }

    #[test]
    fn work_of_a_driver_domain_is_a_row_with_its_owner() {
        let at = Instant::from_nanos(40);
        let record = Record::driver_work(at, PcpuId(1), ActorId(0), DomainId(3), 3 << 32);
        let expected = "40,1,sched,driver-work,3,2,,,owner=d3;executed_ns=12884901888";
        assert_eq!(row(&record), expected);
    }

    #[test]
    fn a_record_that_nobody_declares_has_its_words() {
        let words = [0x20_100d, 1, 2, 3];
        let what = (ClassId::FOREIGN, 6);
        let record = Record::of(Instant::ZERO, PcpuId(0), what, ActorId::NONE, words);
        assert_eq!(
            row(&record),
            "0,0,foreign,pv-hypercall-v2 0x20100d,,,,,word0=2101261;word1=1;word2=2;word3=3"
        );
    }

    #[test]
    fn intervals_are_rows() {
        let mut w = CsvIntervals::new(Vec::new());
        let at = Instant::from_nanos(10);
        let (old, new) = (Runstate::Runnable, Runstate::Running);
        let change = Record::runstate(at, PcpuId(1), ActorId(0), old, new);
        w.record(&names(), &change);
        w.record(&names(), &switch());
        let text = String::from_utf8(w.finish().unwrap()).unwrap();
        let rows: Vec<&str> = text.lines().skip(1).collect();
        // Who comes had waited since the trace began.
        assert_eq!(
            rows,
            [
                "10,30,20,3,2,running,runnable,blocked,1",
                "10,30,20,32767,1,runnable,runnable,running,1",
            ]
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
            w.record(&names(), &switch());
        }
        assert!(w.finish().is_err());
    }
}
