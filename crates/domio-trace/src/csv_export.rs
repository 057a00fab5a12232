//! CSV: one row a record, or one row a runstate interval.

use std::borrow::Cow;
use std::io::{self, Write};

use domio_core::{ActorId, Names, PcpuId, Record, Runstate, Sink, VcpuName};

use crate::describe::{Value, record_name, unit_suffix, value};
use crate::{Interval, Intervals};

/// A record as a row of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordRow {
    /// When it was, in nanoseconds.
    pub time_ns: u64,
    /// The pcpu that wrote it.
    pub pcpu: PcpuId,
    /// Name of its class; empty where the class is not declared.
    pub class: &'static str,
    /// Its name.
    pub record: Cow<'static, str>,
    /// Whom it is about, where that is a vcpu.
    pub vcpu: Option<VcpuName>,
    /// The vcpu's runstates before and after, where it tells of them.
    pub change: Option<[Runstate; 2]>,
    /// The fields that the class declares, as `name=value` with a semicolon between two. The name
    /// of a field ends with its unit ("ran_ns"). A record that nobody declares has its words as
    /// fields.
    pub fields: String,
}

impl RecordRow {
    /// Names of the columns of such rows.
    pub const COLUMNS: [&'static str; 9] = [
        "time_ns", "pcpu", "class", "record", "domain", "vcpu", "old", "new", "fields",
    ];

    /// The row of `record`.
    pub fn of(names: &Names, record: &Record) -> Self {
        RecordRow {
            time_ns: record.at.as_nanos(),
            pcpu: record.pcpu,
            class: names.class(record.class).map_or("", |class| class.name),
            record: record_name(names, record),
            vcpu: names.vcpu(record.actor),
            change: record.changes()[0].map(|(_, old, new)| [old, new]),
            fields: fields(names, record),
        }
    }
}

/// Writes every record as a row ([`RecordRow`]); cells of what there is not are empty.
pub struct CsvRecords<W: Write> {
    out: W,
    rows: Rows,
}

/// Writes every completed runstate interval as a row: start, end and length in nanoseconds, domain,
/// vcpu, runstate ("unknown" where records are missing), the runstates before and after, and the
/// pcpu that recorded the start.
pub struct CsvIntervals<W: Write> {
    out: W,
    rows: Rows,
    intervals: Intervals,
    names: Names,
}

/// Bytes that are written at a time.
const AT_ONCE: usize = 1 << 16;

/// A CSV file that keeps its first error. It is the same for every output, and compiled here.
struct Rows {
    /// Rows that wait to be written.
    buffer: Vec<u8>,
    rows: u64,
    error: Option<io::Error>,
}

/// A row to which fields are added, one after the other.
struct Row<'r> {
    buffer: &'r mut Vec<u8>,
    /// Whether a field is there.
    begun: bool,
}

impl Row<'_> {
    fn text(&mut self, text: &str) -> &mut Self {
        self.next();
        if text.contains(['"', ',', '\r', '\n']) {
            let quoted = text.replace('"', "\"\"");
            self.buffer.push(b'"');
            self.buffer.extend_from_slice(quoted.as_bytes());
            self.buffer.push(b'"');
        } else {
            self.buffer.extend_from_slice(text.as_bytes());
        }
        self
    }

    fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        self.next();
        let number: u64 = number.into();
        write!(self.buffer, "{number}").expect("a vector has room");
        self
    }

    /// Domain and index of the vcpu that `id` is, empty for nobody.
    fn actor(&mut self, names: &Names, id: ActorId) -> &mut Self {
        self.vcpu(names.vcpu(id))
    }

    /// Domain and index of `vcpu`, empty for nobody.
    fn vcpu(&mut self, vcpu: Option<VcpuName>) -> &mut Self {
        match vcpu {
            Some(name) => self.number(name.domain.0).number(name.index),
            None => self.text("").text(""),
        }
    }

    fn next(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            self.buffer.push(b',');
        }
    }
}

impl Rows {
    fn new(header: &[&str]) -> Self {
        Rows {
            buffer: (header.join(",") + "\n").into_bytes(),
            rows: 0,
            error: None,
        }
    }

    /// Adds the row of which `fill` adds the fields.
    fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) {
        if self.error.is_none() {
            fill(&mut Row {
                buffer: &mut self.buffer,
                begun: false,
            });
            self.buffer.push(b'\n');
            self.rows += 1;
        }
    }

    /// Writes the rows that wait, if they are enough.
    fn write(&mut self, out: &mut dyn Write) {
        if self.buffer.len() >= AT_ONCE {
            self.write_all(out);
        }
    }

    fn write_all(&mut self, out: &mut dyn Write) {
        if self.error.is_none() {
            self.error = out.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.write_all(out);
        match self.error.take() {
            Some(error) => Err(error),
            None => out.flush(),
        }
    }

    fn record(&mut self, out: &mut dyn Write, names: &Names, r: &Record) {
        let of = RecordRow::of(names, r);
        let [old, new] = of
            .change
            .map_or(["", ""], |states| states.map(Runstate::name));
        self.row(|row| {
            row.number(of.time_ns).number(of.pcpu.0).text(of.class);
            row.text(&of.record).vcpu(of.vcpu);
            row.text(old).text(new).text(&of.fields);
        });
        self.write(out);
    }

    fn interval(&mut self, names: &Names, i: &Interval) {
        self.row(|row| {
            row.number(i.start.as_nanos()).number(i.end.as_nanos());
            row.number(i.end.saturating_since(i.start).as_nanos());
            row.actor(names, i.actor);
            row.text(i.state.map_or("unknown", |s| s.name()));
            row.text(i.after.name()).text(i.next.name());
            row.number(i.pcpu.0);
        });
    }
}

impl<W: Write> CsvRecords<W> {
    /// Writes the column names to `out`, which needs no buffer of its own.
    pub fn new(out: W) -> Self {
        CsvRecords {
            out,
            rows: Rows::new(&RecordRow::COLUMNS),
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
        self.rows.finish(&mut self.out)?;
        Ok(self.out)
    }
}

impl<W: Write> Sink for CsvRecords<W> {
    fn record(&mut self, names: &Names, record: &Record) {
        self.rows.record(&mut self.out, names, record);
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
        out += &format!("{between}{name}{unit}={value}");
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
            out,
            rows: Rows::new(&columns),
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
        end_intervals(self.intervals, &mut self.rows, &self.names);
        self.rows.finish(&mut self.out)?;
        Ok(self.out)
    }
}

impl<W: Write> Sink for CsvIntervals<W> {
    fn record(&mut self, names: &Names, r: &Record) {
        if self.names.actors().len() < names.actors().len() {
            self.names.clone_from(names);
        }
        feed(&mut self.intervals, &mut self.rows, names, r);
        self.rows.write(&mut self.out);
    }
}

/// Writes the rows of the intervals that `record` ends.
fn feed(intervals: &mut Intervals, rows: &mut Rows, names: &Names, record: &Record) {
    intervals.feed(record, |i| rows.interval(names, i));
}

/// Writes the rows of the intervals that last.
fn end_intervals(intervals: Intervals, rows: &mut Rows, names: &Names) {
    intervals.finish(|i| rows.interval(names, i));
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
    fn a_field_with_commas_or_quotes_is_quoted() {
        let mut rows = Rows::new(&["a", "b"]);
        rows.row(|row| {
            row.text("x,\"y\"").text("").number(7u16);
        });
        let text = String::from_utf8(rows.buffer).unwrap();
        assert_eq!(text, "a,b\n\"x,\"\"y\"\"\",,7\n");
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
