//! Tables as Arrow, handed over through the PyCapsule interface: `__arrow_c_stream__`.

use crate::errors::refused;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchReader, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use domio_answer::{Cell, Holds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of one batch.
pub const BATCH: usize = 16_384;

/// Collects rows into batches.
pub struct Rows {
    schema: SchemaRef,
    columns: Vec<Builder>,
    length: usize,
    batches: Vec<RecordBatch>,
}

enum Builder {
    Whole(Int64Builder),
    Number(Float64Builder),
    Text(StringBuilder),
    Flag(BooleanBuilder),
}

impl Builder {
    fn of(holds: Holds) -> Self {
        match holds {
            Holds::Whole => Builder::Whole(Int64Builder::new()),
            Holds::Number => Builder::Number(Float64Builder::new()),
            Holds::Flag => Builder::Flag(BooleanBuilder::new()),
            _ => Builder::Text(StringBuilder::new()),
        }
    }

    fn add(&mut self, cell: &Cell) {
        match (self, cell) {
            (Builder::Whole(out), Cell::Whole(n)) => out.append_value(*n),
            (Builder::Whole(out), _) => out.append_null(),
            (Builder::Number(out), Cell::Number(n)) if !n.is_nan() => out.append_value(*n),
            (Builder::Number(out), Cell::Whole(n)) => out.append_value(*n as f64),
            (Builder::Number(out), _) => out.append_null(),
            (Builder::Text(out), Cell::Text(text)) => out.append_value(text),
            (Builder::Text(out), _) => out.append_null(),
            (Builder::Flag(out), Cell::Flag(flag)) => out.append_value(*flag),
            (Builder::Flag(out), _) => out.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Whole(out) => Arc::new(out.finish()),
            Builder::Number(out) => Arc::new(out.finish()),
            Builder::Text(out) => Arc::new(out.finish()),
            Builder::Flag(out) => Arc::new(out.finish()),
        }
    }
}

fn data_type(holds: Holds) -> DataType {
    match holds {
        Holds::Whole => DataType::Int64,
        Holds::Number => DataType::Float64,
        Holds::Flag => DataType::Boolean,
        _ => DataType::Utf8,
    }
}

/// The schema of `columns`; `about` tells what the rows come from.
pub fn schema(columns: &[domio_answer::Column], about: &[(String, String)]) -> SchemaRef {
    let field = |column: &domio_answer::Column| {
        Field::new(&*column.key, data_type(column.holds), column.optional)
    };
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let about: HashMap<String, String> = about.iter().cloned().collect();
    Arc::new(Schema::new(fields).with_metadata(about))
}

impl Rows {
    /// No rows of `columns`; `about` tells what they come from.
    pub fn new(columns: &[domio_answer::Column], about: &[(String, String)]) -> Self {
        Rows {
            schema: schema(columns, about),
            columns: columns.iter().map(|c| Builder::of(c.holds)).collect(),
            length: 0,
            batches: Vec::new(),
        }
    }

    /// Adds a row, with a field for each column.
    pub fn add(&mut self, fields: &[Cell]) {
        assert_eq!(fields.len(), self.columns.len(), "a field for each column");
        for (column, field) in self.columns.iter_mut().zip(fields) {
            column.add(field);
        }
        self.length += 1;
        if self.length == BATCH {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.length == 0 {
            return;
        }
        self.length = 0;
        let arrays = self.columns.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        self.batches
            .push(batch.expect("columns of one length, of the kinds of the schema"));
    }

    /// The batches that are full, which are handed over.
    pub fn take_full(&mut self) -> Vec<RecordBatch> {
        std::mem::take(&mut self.batches)
    }

    /// What was not handed over yet.
    pub fn rest(&mut self) -> Vec<RecordBatch> {
        self.close();
        self.take_full()
    }

    /// The schema.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The table.
    pub fn finish(mut self) -> Table {
        self.close();
        Table {
            schema: self.schema,
            batches: self.batches,
        }
    }
}

/// A table in memory, in Arrow's layout. Every library that takes Arrow takes it as it is, without
/// a copy: `pyarrow.table(t)`, `polars.DataFrame(t)`, `duckdb.sql("FROM t")`,
/// `pandas.DataFrame.from_arrow(t)`.
#[pyclass(frozen, module = "domio")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// A capsule with a stream of batches.
pub fn capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(reader);
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// A capsule with a schema.
pub fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(arrow)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn arrow(error: ArrowError) -> PyErr {
    refused(error.to_string())
}

impl Table {
    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn field<'py>(&self, py: Python<'py>, column: &ArrayRef, row: usize) -> Bound<'py, PyAny> {
        if column.is_null(row) {
            return py.None().into_bound(py);
        }
        let any = column.as_any();
        if let Some(whole) = any.downcast_ref::<Int64Array>() {
            return whole.value(row).into_pyobject(py).unwrap().into_any();
        }
        if let Some(number) = any.downcast_ref::<Float64Array>() {
            return number.value(row).into_pyobject(py).unwrap().into_any();
        }
        if let Some(flag) = any.downcast_ref::<BooleanArray>() {
            return flag
                .value(row)
                .into_pyobject(py)
                .unwrap()
                .to_owned()
                .into_any();
        }
        match any.downcast_ref::<StringArray>() {
            Some(text) => text.value(row).into_pyobject(py).unwrap().into_any(),
            None => py.None().into_bound(py),
        }
    }
}

#[pymethods]
impl Table {
    /// A stream of the rows for whoever takes Arrow.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Whoever asks for other types converts them.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        capsule(py, Box::new(reader))
    }

    /// The schema for whoever takes Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// How many rows there are.
    #[getter]
    fn num_rows(&self) -> usize {
        self.rows()
    }

    /// Names of the columns; a name ends in its unit.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// What the rows come from.
    #[getter]
    fn metadata(&self) -> HashMap<String, String> {
        self.schema.metadata().clone().into()
    }

    /// The rows as dictionaries, for small tables.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let names = self.column_names();
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                let entry = PyDict::new(py);
                for (name, column) in names.iter().zip(batch.columns()) {
                    entry.set_item(name, self.field(py, column, row))?;
                }
                list.append(entry)?;
            }
        }
        Ok(list)
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __repr__(&self) -> String {
        let columns = self.schema.fields().len();
        format!("<domio.Table of {} rows, {columns} columns>", self.rows())
    }
}

/// A table of columns, each its name, its kind ("int", "float" or "text") and its values.
#[pyfunction]
pub fn table(columns: Vec<(String, String, Bound<'_, PyList>)>) -> PyResult<Table> {
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (name, kind, values) in columns {
        let (data_type, array): (DataType, ArrayRef) = match kind.as_str() {
            "int" => {
                let values: Vec<Option<i64>> = values.extract()?;
                (DataType::Int64, Arc::new(Int64Array::from(values)))
            }
            "float" => {
                let values: Vec<Option<f64>> = values.extract()?;
                (DataType::Float64, Arc::new(Float64Array::from(values)))
            }
            "text" => {
                let values: Vec<Option<String>> = values.extract()?;
                (DataType::Utf8, Arc::new(StringArray::from(values)))
            }
            _ => return Err(PyValueError::new_err(format!("no kind {kind}"))),
        };
        fields.push(Field::new(name, data_type, true));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(arrow)?;
    Ok(Table {
        schema,
        batches: vec![batch],
    })
}
