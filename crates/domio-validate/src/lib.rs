//! Simulations of recorded hosts: simulate what a real Xen did and compare.
//!
//! ```text
//! scenario.json ─▶ Recording ─┬─▶ demand, start state ─▶ simulated host ─▶ Meter ─┐
//! trace.bin     ─▶            └─▶ Meter ──────────────────────────────────────────┴─▶ Agreement
//! ```
//!
//! From the recording the simulation takes what the host was configured to be (`scenario.json`),
//! what the guests asked for ([`domio_replay::demand`]) and what the trace shows of the state in
//! which it found the host ([`start`]) and its scheduler ([`policy`]). Everything after that is the
//! model's own.
//! One hardware profile serves every recording ([`domio_vmm::Profile::XEN_4_17_EMULATED`]). A
//! description and a trace that cannot be of one host are refused, and so is a release that is none
//! of Xen 4 (`release`). What they leave open is said beside the figures (`fit`).

pub mod agreement;
pub mod ensemble;
mod fit;
pub mod judge;
pub mod limits;
pub mod linux;
mod load;
pub mod net;
pub mod policy;
pub mod recording;
mod release;
mod seen;
pub mod shipped;
pub mod simulated;
pub mod start;

pub use agreement::{Agreement, DomainAgreement, FigureAgreement, Followed, Parting};
pub use limits::{AgreementLimits, Compared, Doubt, Judgement, Widening};
pub use load::OpenFile;
pub use recording::{Recording, RecordingError};
