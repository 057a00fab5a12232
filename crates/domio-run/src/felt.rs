//! From which change of a figure on somebody feels the change.
//!
//! Each floor is a judgement, and its reason stands beside it. A change below its floor may be
//! proven all the same; nobody notices it.

/// How people and their programs meet a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Felt {
    /// They feel the figure itself, from a change of so much on, in the figure's unit.
    Itself(f64),
    /// The figure is a cause of what they feel, from a change of so much on.
    Cause(f64),
    /// They never feel it: neither way is better.
    Never,
}

impl Felt {
    /// Least change that is felt, in the figure's unit; `None` for what never is.
    pub fn floor(self) -> Option<f64> {
        match self {
            Felt::Itself(floor) | Felt::Cause(floor) => Some(floor),
            Felt::Never => None,
        }
    }

    /// Places of figures in an order by what matters: the smaller comes first.
    pub fn rank(self) -> u8 {
        match self {
            Felt::Itself(_) => 0,
            Felt::Cause(_) => 1,
            Felt::Never => 2,
        }
    }
}

/// Least part of the larger figure that a change must have. A job of a minute ends three seconds
/// earlier or later with it; less is what one day of the same host differs from another.
pub const PART: f64 = 0.05;

/// Shares and parts of time, in points of percent: two recordings of one host differ by up to one
/// (`docs/FIDELITY.md`, "How near two recordings are").
pub const POINTS: f64 = 1.0;

/// Waits from wake-up to running, in microseconds. A millisecond is the shortest period that guests
/// commonly ask timers for: kernels that tick a thousand times a second, sound, control loops.
pub const WAIT_US: f64 = 1_000.0;

/// Turnarounds of jobs and answers of web servers, in milliseconds: a third of a picture on a
/// screen, of which there are sixty a second. Who sends many short jobs meets shares and rates.
pub const ANSWER_MS: f64 = 5.0;

/// Round trips of packets, in milliseconds: what an idle local network takes in all.
pub const TRIP_MS: f64 = 1.0;

/// Rates of streams, in Mb/s: what one film of low quality needs.
pub const STREAM_MBPS: f64 = 1.0;

/// Counts and counts in a second: one job, ping, reply or failure more or less.
pub const ONE: f64 = 1.0;
