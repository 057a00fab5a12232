//! What the samples of several replications say together.
//!
//! | file | holds |
//! |---|---|
//! | `numbers` | means with intervals, differences, quantiles |
//! | `compare` | tables of policies against figures |
//! | `domains` | measures of domains: tables, fairness, starvation, drops |
//! | `drivers` | for whom driver domains worked |
//! | `overhead` | what driver domains execute, by kind of work |
//! | `gains` | what a change gains and costs, the largest first |
//! | `pooled` | figures of all observations, whatever replication they are from |
//!
//! Everything here is a function of samples: nothing is simulated, and nothing is kept.

pub mod compare;
pub mod domains;
pub mod drivers;
pub mod gains;
mod numbers;
pub mod overhead;
pub mod pooled;

pub use numbers::{
    Difference, Estimate, binomial_at_most, deviation, greater, jain, mean, median, median_ci95,
    quantile, span, spread, wilson,
};
