//! Terminal tables and the self-contained HTML report.
//!
//! [`text`] renders tables for a terminal, with colour codes that the caller strips where they are
//! not wanted. [`html::page`] renders [`data::ReportData`] as one file that needs no network: style
//! and pictures are inside it. Neither knows the simulator: whoever has figures fills the structs
//! of [`data`], or takes a [`ClaimLedger`](domio_papers::ClaimLedger) or
//! [`VariantFigure`](domio_stats::compare::VariantFigure)s from the laboratory. [`run_answer`] is
//! what `domio run` answers.

#[macro_use]
mod declare;

pub mod block_opening;
pub mod csv;
pub mod data;
pub mod driver_work;
pub mod explained;
pub mod files;
pub mod finding;
pub mod html;
#[cfg(feature = "terminal")]
pub mod machines;
pub mod observed;
pub mod overhead;
pub mod pictures;
pub mod residence;
pub mod run_answer;
pub mod samples;
pub mod summed;
#[cfg(feature = "terminal")]
pub mod survival;
pub mod svg;
pub mod tables;
pub mod text;
pub mod written;
