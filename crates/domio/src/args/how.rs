//! What to change in a scenario, and how often to run it.

use super::values::{key_and_value, seed};
use clap::Args;
use clap::builder::RangedI64ValueParser;

/// Arguments that `run`, `compare` and `explain` share.
#[derive(Clone, Debug, Args)]
pub struct How {
    /// Seed of all random streams, instead of the scenario's
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// How often to run; with two or more, figures come with 95 % confidence intervals
    #[arg(
        long,
        visible_alias = "replication",
        value_name = "NUMBER",
        default_value_t = 1,
        value_parser = replications()
    )]
    pub replications: u32,
    /// Change a key of the scenario; may be given several times, and two values of one key are two
    /// variants of `compare`
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
}

pub(super) fn replications() -> RangedI64ValueParser<u32> {
    const MOST: i64 = 100_000;
    clap::value_parser!(u32).range(1..=MOST)
}
