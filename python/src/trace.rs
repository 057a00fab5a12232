//! Traces as streams of Arrow: a batch is read when it is asked for, so that a trace of any length
//! takes the memory of one batch.

use crate::errors::{self, refused, warn};
use crate::policy;
use crate::table::{BATCH, Rows, capsule, schema, schema_capsule};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use domio_answer::column::fact;
use domio_answer::{Cell, Column, Holds};
use domio_core::{ActorId, Names, Record};
use domio_front::input::{self, Stream};
use domio_front::{Tell, trace_file};
use domio_trace::{Interval, Intervals, TraceReader, record_name};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What a row of a trace is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Records,
    Intervals,
}

/// The columns, with the names of `domio trace convert --to csv-records` and `--to csv`.
fn columns(kind: Kind) -> Vec<Column> {
    use Holds::{Text, Whole};
    let columns: &[(&'static str, Holds, bool)] = match kind {
        Kind::Records => &[
            ("time_ns", Whole, false),
            ("pcpu", Whole, false),
            ("class", Text, true),
            ("record", Text, false),
            ("domain", Whole, true),
            ("vcpu", Whole, true),
            ("old", Text, true),
            ("new", Text, true),
            ("word0", Whole, false),
            ("word1", Whole, false),
            ("word2", Whole, false),
            ("word3", Whole, false),
        ],
        Kind::Intervals => &[
            ("start_ns", Whole, false),
            ("end_ns", Whole, false),
            ("length_ns", Whole, false),
            ("domain", Whole, true),
            ("vcpu", Whole, true),
            ("state", Text, false),
            ("after", Text, false),
            ("next", Text, false),
            ("pcpu", Whole, false),
        ],
    };
    let column = |(name, holds, optional): &(&'static str, Holds, bool)| Column {
        optional: *optional,
        ..fact(*name).of(*holds)
    };
    columns.iter().map(column).collect()
}

/// The rows of a trace, read when they are asked for. It can be read once; `read_trace` opens the
/// trace anew.
#[pyclass(frozen, module = "domio")]
pub struct TraceStream {
    batches: Mutex<Option<Batches>>,
    schema: SchemaRef,
}

struct Batches {
    reader: TraceReader<Stream>,
    rows: Rows,
    intervals: Option<Intervals>,
    name: String,
    over: bool,
}

fn vcpu(names: &Names, id: ActorId) -> [Cell; 2] {
    match names.vcpu(id) {
        Some(name) => [name.domain.0, name.index].map(|n| Cell::Whole(i64::from(n))),
        None => [Cell::None, Cell::None],
    }
}

fn time(ns: u64) -> Cell {
    Cell::Whole(ns.cast_signed())
}

fn text(text: &str) -> Cell {
    Cell::text(text.to_owned())
}

fn record(names: &Names, r: &Record) -> Vec<Cell> {
    let (old, new) = match r.changes()[0] {
        Some((_, old, new)) => (text(old.name()), text(new.name())),
        None => (Cell::None, Cell::None),
    };
    let [domain, vcpu] = vcpu(names, r.actor);
    let class = names
        .class(r.class)
        .map_or(Cell::None, |class| text(class.name));
    let mut row = vec![
        time(r.at.as_nanos()),
        Cell::Whole(i64::from(r.pcpu.0)),
        class,
        text(&record_name(names, r)),
        domain,
        vcpu,
        old,
        new,
    ];
    row.extend(r.words.map(|word| Cell::Whole(i64::from(word))));
    row
}

fn interval(names: &Names, i: &Interval) -> Vec<Cell> {
    let [domain, vcpu] = vcpu(names, i.actor);
    vec![
        time(i.start.as_nanos()),
        time(i.end.as_nanos()),
        time(i.end.saturating_since(i.start).as_nanos()),
        domain,
        vcpu,
        text(i.state.map_or("unknown", |s| s.name())),
        text(i.after.name()),
        text(i.next.name()),
        Cell::Whole(i64::from(i.pcpu.0)),
    ]
}

impl Batches {
    /// Reads on until a batch is full or the trace is over.
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut left = BATCH;
        while !self.over && left > 0 {
            match self.reader.next_record() {
                Ok(Some(r)) => {
                    left -= 1;
                    self.take(&r);
                    if let Some(batch) = self.rows.take_full().pop() {
                        return Ok(Some(batch));
                    }
                }
                Ok(None) => self.end(),
                // What is there is used, as every command does.
                Err(error) if error.is_truncation() && error.records > 0 => self.end(),
                Err(error) => {
                    let told = format!("cannot read the trace {}: {error}", self.name);
                    return Err(ArrowError::ExternalError(told.into()));
                }
            }
        }
        Ok(self.rows.rest().pop())
    }

    fn take(&mut self, r: &Record) {
        let names = self.reader.names();
        match &mut self.intervals {
            None => self.rows.add(&record(names, r)),
            Some(intervals) => {
                let rows = &mut self.rows;
                intervals.feed(r, |i| rows.add(&interval(names, i)));
            }
        }
    }

    fn end(&mut self) {
        self.over = true;
        if let Some(intervals) = self.intervals.take() {
            let (rows, names) = (&mut self.rows, self.reader.names());
            intervals.finish(|i| rows.add(&interval(names, i)));
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read() {
                Ok(None) if !self.over => {}
                other => return other.transpose(),
            }
        }
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

#[pymethods]
impl TraceStream {
    /// The stream of rows for whoever takes Arrow, once.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self
            .batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let batches = batches.ok_or_else(|| {
            refused("these rows were read before; domio.read_trace opens the trace anew")
        })?;
        capsule(py, Box::new(batches))
    }

    /// The schema for whoever takes Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// Names of the columns; a name ends in its unit.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// What the trace says of itself.
    #[getter]
    fn metadata(&self) -> std::collections::HashMap<String, String> {
        self.schema.metadata().clone().into()
    }
}

/// Opens the trace of a host, as records or as intervals of runstates.
#[pyfunction]
#[pyo3(signature = (path, rows = "records", cpu_hz = None))]
pub fn read_trace(
    py: Python<'_>,
    path: PathBuf,
    rows: &str,
    cpu_hz: Option<u64>,
) -> PyResult<TraceStream> {
    let kind = match rows {
        "records" => Kind::Records,
        "intervals" => Kind::Intervals,
        other => {
            return Err(refused(format!(
                "rows is \"{other}\"; expected \"records\" or \"intervals\""
            )));
        }
    };
    let told = RefCell::new(Vec::new());
    let tell: Tell<'_> = &|text: &str| told.borrow_mut().push(text.to_owned());
    let how = trace_file::TraceHow::of_clock(cpu_hz);
    let reader = trace_file::open(&path, &how, &policy::parts(), |file| file, tell);
    let reader = reader.map_err(|e| errors::of(py, e))?;
    warn(py, &told.take())?;
    let about = about(&reader);
    let columns = columns(kind);
    let batches = Batches {
        rows: Rows::new(&columns, &about),
        intervals: (kind == Kind::Intervals).then(Intervals::new),
        name: input::name(&path),
        reader,
        over: false,
    };
    Ok(TraceStream {
        batches: Mutex::new(Some(batches)),
        schema: schema(&columns, &about),
    })
}

fn about(reader: &TraceReader<Stream>) -> Vec<(String, String)> {
    let mut about = vec![
        ("domio.format".to_owned(), reader.format().name().to_owned()),
        ("domio.tsc_hz".to_owned(), reader.tsc_hz().to_string()),
    ];
    if let Some(header) = reader.header() {
        let names = header.domains.iter();
        let names = names.map(|d| format!("{}={}", d.id, d.name));
        about.push(("domio.scenario".to_owned(), header.scenario.clone()));
        about.push((
            "domio.domains".to_owned(),
            names.collect::<Vec<_>>().join(" "),
        ));
    }
    about
}
