//! Arguments of `alert`.

use super::keeping::Keeping;
use super::named::Named;
use super::{key_and_value, seed};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

pub(super) const ALERT_EXAMPLES: &str = "\
Examples:
  domio alert --policy credit --cap-range 1..90
  domio alert --policy sedf --policy credit:version=3.1 --plot alert.svg
  domio alert --policy credit --pcpus 2 --dom0 burn --cap-range 10,20,50 --trace worst.domio

The ALlocation ERror Test of Cherkasova, Gupta and Vahdat 2007: dom1 runs a tight loop on each of
its vcpus and is allocated a percentage of one pcpu, another one in each simulation. The error
is what dom1 gets less what it is allocated, over windows of several lengths.

How an allocation is set depends on the policy: by a cap; by a slice or a budget in each period; in
work-conserving mode by weights, against a second loop that has the rest. A mode that a policy does
not have is an error. The host's own work takes no time; its Xen release is that of the policy's
version unless --set host.xen names another release.";

/// Arguments of `alert`.
#[derive(Debug, Args)]
pub struct Alert {
    /// Policy to test, with parameters, e.g. credit:version=3.1; may be given several times
    #[arg(long = "policy", value_name = "NAME", required = true, add = Named::Policy)]
    pub policies: Vec<String>,
    /// Allocations of dom1 in percent of one pcpu: ranges and numbers, e.g. 1..90 or 1..10,20,30
    #[arg(long, value_name = "PERCENT", default_value = "1..10,20,30,40,50,60,70,80,90",
        value_parser = allocations)]
    pub cap_range: Allocations,
    /// Allocation of dom0 in percent of one pcpu
    #[arg(long, value_name = "PERCENT", default_value_t = 6,
        value_parser = clap::value_parser!(u32).range(1..=99))]
    pub dom0_cap: u32,
    /// What dom0 does [default: light in capped mode, burn in work-conserving mode]
    #[arg(long, value_name = "WORK")]
    pub dom0: Option<Dom0>,
    /// Pcpus of the host
    #[arg(long, value_name = "NUMBER", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=64))]
    pub pcpus: u32,
    /// Vcpus of each domain [default: as many as pcpus]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub vcpus: Option<u32>,
    /// Whether an allocation also limits a domain while pcpus would be idle
    #[arg(long, value_name = "MODE", default_value = "capped")]
    pub mode: Mode,
    /// Lengths of the windows in seconds [default: 1, 10, 60 and 180, as far as they fit]
    #[arg(long, value_name = "SECONDS", value_delimiter = ',',
        value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub windows: Vec<u64>,
    /// Measured time in seconds, after 5 s of warm-up
    #[arg(long, value_name = "SECONDS", default_value_t = 180,
        value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub duration: u64,
    /// Period, in milliseconds, of policies that take a slice or a budget
    #[arg(long, value_name = "MS", default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub period_ms: u64,
    /// Seed of all random streams
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = seed,
        allow_negative_numbers = true)]
    pub seed: u64,
    /// Set a parameter of the policies, or another key of the scenario, e.g. host.xen=3.1
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
    /// Draw the errors over the allocations
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    /// Write the trace of the worst allocation, in domio's own format; of one policy
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// Overwrite a file that domio did not write as the same kind
    #[arg(long)]
    pub force: bool,
    /// Where finished simulations are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}

/// What dom0 does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Dom0 {
    /// Kernel, daemons and a monitor: 1 to 2 % of a pcpu
    Light,
    /// A tight loop on each vcpu
    Burn,
}

/// Whether an allocation also limits a domain while pcpus would be idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Mode {
    /// It limits: no domain gets more
    Capped,
    /// It does not limit: it is a share of the time that all compete for
    WorkConserving,
}

/// Allocations in percent, ascending and each once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocations(pub Vec<u32>);

/// Highest allocation that is read, in percent of one pcpu.
const MOST: u32 = 6_400;

fn allocations(text: &str) -> Result<Allocations, String> {
    let expected =
        || format!("expected percents from 1 to {MOST} or ranges, e.g. 1..90 or 1..10,20,30");
    let number = |text: &str| {
        let number = text.trim().parse::<u32>().ok();
        number.filter(|n| (1..=MOST).contains(n))
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        let ends = match part.split_once("..") {
            Some((from, until)) => number(from).zip(number(until.trim_start_matches('='))),
            None => number(part).map(|n| (n, n)),
        };
        let (from, until) = ends.ok_or_else(expected)?;
        if from > until {
            return Err(format!("{part} ends before it begins; {}", expected()));
        }
        all.extend(from..=until);
    }
    all.sort_unstable();
    all.dedup();
    Ok(Allocations(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_ranges_and_numbers() {
        let read = |text| allocations(text).map(|a| a.0);
        assert_eq!(read("1..3, 10,2"), Ok(vec![1, 2, 3, 10]));
        assert_eq!(read("1..90").unwrap().len(), 90);
        assert_eq!(read("5..=6"), Ok(vec![5, 6]));
        for text in ["", "0..3", "3..", "5..4", "1,x", "6401", "-1"] {
            assert!(read(text).unwrap_err().contains("1..10,20,30"), "{text}");
        }
    }
}
