//! Arguments of `dom0-share`.

use super::named::Named;
use super::{How, Keeping};
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const DOM0_SHARE_EXAMPLES: &str = "\
Examples:
  domio dom0-share web-servers
  domio dom0-share web-servers --policy credit --policy sedf --weight 0.5,1,2,4 --plot dom0.svg
  domio dom0-share host.toml --policy credit:version=4.17 --vcpus --pin --full --json

How much of the processor should dom0 get for this mix, and what does a setting change? The scenario
is run unchanged under each policy, and then with each value of each axis, one axis after the other
(--full: in all combinations). An axis that is named without values has its default values; if no
axis is named, all are tried. A weight of 2 is twice the largest weight of a guest; policies without
weights get reservations or advances in that proportion. Settings that a policy does not have are
left out, and reported as left out.

The score of a setting is how well it serves the guests, relative to the scenario's own setting
under the first policy: the geometric mean over the guests of replies, bytes and the inverse of
round trips.";

/// Arguments of `dom0-share`.
#[derive(Debug, Args)]
pub struct Dom0Share {
    /// Scenario file, or name of a shipped scenario; - is standard input
    #[arg(
        value_name = "SCENARIO",
        value_hint = ValueHint::FilePath,
        add = Named::Scenario
    )]
    pub scenario: String,
    /// Policy to try, with parameters, e.g. credit:tslice_ms=5 [default: the scenario's, credit,
    /// credit2, sedf and bvt]
    #[arg(long = "policy", value_name = "NAME", add = Named::Policy)]
    pub policies: Vec<String>,
    /// Name of the domain in question [default: the driver domain]
    #[arg(long, value_name = "DOMAIN")]
    pub dom0: Option<String>,
    /// Weights of dom0, in multiples of the largest weight of a guest
    #[arg(long, value_name = "RATIOS", num_args = 0..=1,
        default_missing_value = "0.25,1,2,4,6,8", value_parser = ratios)]
    pub weight: Option<Ratios>,
    /// Caps of dom0 in percent of one pcpu
    #[arg(long, value_name = "PERCENTS", num_args = 0..=1,
        default_missing_value = "25,50,75,100", value_parser = percents)]
    pub cap: Option<Numbers>,
    /// Time slices or periods in milliseconds
    #[arg(long, value_name = "LENGTHS", num_args = 0..=1,
        default_missing_value = "1,5,10,30,100", value_parser = lengths)]
    pub slice_ms: Option<Numbers>,
    /// Numbers of dom0's vcpus
    #[arg(long, value_name = "NUMBERS", num_args = 0..=1,
        default_missing_value = "1,2", value_parser = vcpus)]
    pub vcpus: Option<Numbers>,
    /// Also try a dedicated pcpu for dom0
    #[arg(long)]
    pub pin: bool,
    /// Try all combinations of the values, instead of one axis after the other
    #[arg(long)]
    pub full: bool,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
    /// Draw the scores over the first axis with several values
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    /// Overwrite a file that domio did not write as the same kind
    #[arg(long)]
    pub force: bool,
    /// What to change in the scenario and how often to run it.
    #[command(flatten)]
    pub how: How,
    /// Where finished replications are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}

/// Ratios, ascending and each once.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratios(pub Vec<f64>);

/// Numbers, ascending and each once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbers(pub Vec<u32>);

fn ratios(text: &str) -> Result<Ratios, String> {
    let ratio = |part: &str| {
        let ratio = part.trim().parse::<f64>().ok();
        ratio.filter(|ratio| (0.01..=100.0).contains(ratio))
    };
    let all: Option<Vec<f64>> = text.split(',').map(ratio).collect();
    let mut all = all.ok_or("expected numbers from 0.01 to 100, e.g. 0.5,1,2")?;
    all.sort_by(f64::total_cmp);
    all.dedup();
    Ok(Ratios(all))
}

fn numbers(text: &str, most: u32, example: &str) -> Result<Numbers, String> {
    let number = |part: &str| {
        let number = part.trim().parse::<u32>().ok();
        number.filter(|n| (1..=most).contains(n))
    };
    let all: Option<Vec<u32>> = text.split(',').map(number).collect();
    let mut all =
        all.ok_or_else(|| format!("expected whole numbers from 1 to {most}, e.g. {example}"))?;
    all.sort_unstable();
    all.dedup();
    Ok(Numbers(all))
}

fn percents(text: &str) -> Result<Numbers, String> {
    numbers(text, 6_400, "25,50")
}

fn lengths(text: &str) -> Result<Numbers, String> {
    numbers(text, 1_000, "1,10,30")
}

fn vcpus(text: &str) -> Result<Numbers, String> {
    numbers(text, 64, "1,2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_lists() {
        assert_eq!(ratios("2, 0.25,1,2"), Ok(Ratios(vec![0.25, 1.0, 2.0])));
        assert_eq!(percents("50,25"), Ok(Numbers(vec![25, 50])));
        for text in ["", "0", "x", "1,", "101", "nan"] {
            assert!(ratios(text).is_err(), "{text}");
        }
        for text in ["", "0", "1.5", "65"] {
            assert!(vcpus(text).unwrap_err().contains("1 to 64"), "{text}");
        }
    }
}
