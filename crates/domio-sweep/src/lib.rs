//! Sweeps: many cells of one scenario, and what they show together.
//!
//! ```text
//! "KEY=A,B,C", "KEY=LO..HI:N" ─▶ Axis ─┐
//! grid, Latin hypercube, search ───────┴▶ SweepPlan, CellSearch ─▶ cells ─▶ samples (by the
//! caller)
//!
//! samples ─▶ rows ─▶ Parquet or CSV (domio-answer)
//!         ─▶ SweepFigure ─▶ ParetoFront, Goal
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `axis` | what one key goes through |
//! | `plan` | which cells there are |
//! | `search` | which cell to look at next |
//! | `figure`, `goal` | figures of a cell as users name them, and what is to be found |
//! | `front` | cells that no other beats in two figures |
//! | `rows` | what is written of each cell |
//!
//! Nothing here simulates, opens a file or starts a thread: who does so is the command line, or a
//! program of a user.

pub mod axis;
pub mod figure;
pub mod front;
pub mod goal;
pub mod plan;
pub mod rows;
pub mod search;

pub use axis::{Axis, AxisError};
pub use figure::{FigureError, NamedFigure, SweepFigure};
pub use front::{FrontCell, ParetoFront, Wanted};
pub use goal::{Goal, GoalError, NamedGoal, Score};
pub use plan::{Design, PlanError, SweepPlan};
pub use search::CellSearch;
