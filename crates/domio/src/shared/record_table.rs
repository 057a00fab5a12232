//! The records of a trace as a table in Parquet, written as they come.

use domio_answer::column::{fact, key};
use domio_answer::file::{TableFormat, TableWriter};
use domio_answer::{Cell, Column, Holds};
use domio_core::{Names, Record, Sink};
use domio_trace::{RecordRow, TraceHeader};
use std::io::{self, Write};

/// Writes every record as a row with the columns of [`CsvRecords`](domio_trace::CsvRecords); what a
/// record does not have is null. In memory there is one row group.
pub struct RecordTable<W: Write> {
    writer: TableWriter<W>,
    cells: Vec<Cell>,
    error: Option<io::Error>,
}

impl<W: Write> RecordTable<W> {
    /// Begins the table. What `header` tells of the run goes into the file's footer.
    ///
    /// # Errors
    /// When `out` refuses.
    pub fn new(out: W, header: Option<&TraceHeader>) -> io::Result<Self> {
        let about = header.map_or_else(Vec::new, about);
        Ok(RecordTable {
            writer: TableWriter::new(TableFormat::Parquet, out, columns().into(), about)?,
            cells: Vec::with_capacity(RecordRow::COLUMNS.len()),
            error: None,
        })
    }

    /// Writes what is left and returns the output.
    ///
    /// # Errors
    /// The first error of any write since the start.
    pub fn finish(self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }
}

impl<W: Write> Sink for RecordTable<W> {
    fn record(&mut self, names: &Names, record: &Record) {
        if self.error.is_some() {
            return;
        }
        let row = RecordRow::of(names, record);
        let vcpu = row.vcpu;
        self.cells.clear();
        self.cells.extend([
            row.time_ns.into(),
            u64::from(row.pcpu.0).into(),
            Cell::text(row.class),
            Cell::text(row.record),
            vcpu.map(|vcpu| u64::from(vcpu.domain.0)).into(),
            vcpu.map(|vcpu| u64::from(vcpu.index)).into(),
            row.change.map(|[old, _]| old.name()).into(),
            row.change.map(|[_, new]| new.name()).into(),
            Cell::text(row.fields),
        ]);
        self.error = self.writer.row(&self.cells).err();
    }
}

/// The columns, in the order of [`RecordRow::COLUMNS`].
fn columns() -> [Column; 9] {
    let [time, pcpu, class, record, domain, vcpu, old, new, fields] = RecordRow::COLUMNS;
    let whole = |name| fact(name).of(Holds::Whole);
    let text = |name| fact(name).of(Holds::Text);
    [
        key(time).of(Holds::Whole),
        whole(pcpu),
        text(class),
        text(record),
        whole(domain).optional(),
        whole(vcpu).optional(),
        text(old).optional(),
        text(new).optional(),
        text(fields),
    ]
}

/// What the rows come from.
fn about(header: &TraceHeader) -> Vec<(String, String)> {
    let facts = [
        ("scenario", header.scenario.clone()),
        ("scenario_sha256", header.scenario_sha256.clone()),
        ("policy", header.policy.clone()),
        ("program", header.program.clone()),
        ("seed", header.seed.to_string()),
        ("replication", header.replication.to_string()),
    ];
    let domain =
        |domain: &domio_trace::DomainInfo| (format!("domain.{}", domain.id), domain.name.clone());
    let facts = facts.map(|(name, fact)| (name.to_owned(), fact));
    let all = facts.into_iter().chain(header.domains.iter().map(domain));
    all.filter(|(_, fact)| !fact.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{ActorId, DomainId, Instant, Kind, PcpuId, VcpuName};

    /// A file that grows with its rows, while what is in memory does not.
    #[test]
    fn rows_are_written_in_groups() {
        let mut names = Names::new();
        names.add_actor(VcpuName::new(DomainId(3), 2));
        let written = |rows: u64| {
            let mut table = RecordTable::new(Vec::new(), None).unwrap();
            for at in 0..rows {
                let at = Instant::from_nanos(at);
                table.record(&names, &Record::new(at, PcpuId(1), Kind::Wake, ActorId(0)));
            }
            table.finish().unwrap()
        };
        let (one, many) = (written(1), written(40_000));
        for file in [&one, &many] {
            assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
        }
        // Five groups, each with a page for each column, which the footer names.
        let pages = |file: &[u8]| file.windows(7).filter(|part| part == b"time_ns").count();
        assert_eq!(pages(&one), 2, "in the schema, and once for each group");
        assert_eq!(pages(&many), 6);
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                match bytes.len() {
                    // The four bytes that a file begins with.
                    4 => Ok(4),
                    _ => Err(io::ErrorKind::StorageFull.into()),
                }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut table = RecordTable::new(Full, None).unwrap();
        for _ in 0..10_000 {
            let record = Record::new(Instant::ZERO, PcpuId(0), Kind::Wake, ActorId::NONE);
            table.record(&Names::new(), &record);
        }
        assert!(table.finish().is_err());
    }
}
