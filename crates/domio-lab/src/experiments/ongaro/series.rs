//! Figures of cells, by replication, as rows of the claims file read them.

use super::cell::experiment;
use crate::claims::Claim;
use crate::pooled::{self, Group};
use crate::proof::Proof;
use crate::sample::{Sample, Samples};
use crate::series::{MISSING, Series, with_unit};
use crate::tolerance::Tolerance;

/// A figure that cells have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Figure {
    /// Name in samples.
    pub key: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
}

/// Average bandwidth of the streams.
pub const AVERAGE: Figure = Figure {
    key: "streams.average_mbps",
    name: "average bandwidth",
    unit: "Mb/s",
};
/// Fastest less slowest stream.
pub const SPREAD: Figure = Figure {
    key: "streams.spread_mbps",
    name: "spread",
    unit: "Mb/s",
};
/// Average share of those that burn.
pub const BURN: Figure = Figure {
    key: "burn.average_pct",
    name: "share of a burning guest",
    unit: "%",
};
/// Largest less smallest share of those that burn.
pub const BURN_SPREAD: Figure = Figure {
    key: "burn.spread_pct",
    name: "spread of the burning guests' shares",
    unit: "points",
};
/// Share of the driver domain.
pub const DRIVER: Figure = Figure {
    key: "dom0.share_pct",
    name: "share of dom0",
    unit: "%",
};
/// Average round trip, of [all replications](pooled).
pub const PING: Figure = Figure {
    key: "ping.mean_ms",
    name: "average ping latency",
    unit: "ms",
};
/// Standard deviation of the round trip, of [all replications](pooled).
pub const DEVIATION: Figure = Figure {
    key: "ping.deviation_ms",
    name: "deviation of ping latency",
    unit: "ms",
};

/// What a check reads: samples, and the claim that it decides.
pub struct Reading<'a> {
    samples: &'a Samples<'a>,
    claim: &'a Claim,
}

impl<'a> Reading<'a> {
    /// The samples, to decide `claim` by.
    pub fn new(samples: &'a Samples<'a>, claim: &'a Claim) -> Self {
        Reading { samples, claim }
    }

    /// `figure` of the cell of `test` and `configuration`; latencies are missing when no ping was
    /// answered.
    ///
    /// # Errors
    /// When a replication lacks a figure of another kind.
    pub fn series(
        &self,
        test: &str,
        configuration: &str,
        figure: Figure,
    ) -> Result<Series, String> {
        let values = match figure {
            PING => self.pooled(test, configuration, Group::pings, pooled::means),
            DEVIATION => self.pooled(test, configuration, Group::pings, pooled::deviations),
            _ => self.values(test, configuration, figure.key)?,
        };
        let name = format!("{} of {test}/{configuration}", figure.name);
        let reads = vec![experiment(test, configuration)];
        Ok(Series {
            reads,
            ..Series::new(name, figure.unit, values)
        })
    }

    /// What `pool` makes of a group of each replication; all are missing when it makes nothing.
    pub fn pooled(
        &self,
        test: &str,
        configuration: &str,
        group: impl Fn(&Sample) -> Group,
        pool: fn(&[Group]) -> Vec<f64>,
    ) -> Vec<f64> {
        let samples = self.samples.of(&experiment(test, configuration));
        let groups: Vec<Group> = samples.iter().map(group).collect();
        match pool(&groups) {
            values if values.is_empty() => vec![MISSING; samples.len()],
            values => values,
        }
    }

    /// The value called `key` of the cell of `test` and `configuration`, by replication.
    ///
    /// # Errors
    /// When a replication lacks it.
    pub fn values(&self, test: &str, configuration: &str, key: &str) -> Result<Vec<f64>, String> {
        let samples = self.samples.of(&experiment(test, configuration));
        let values = samples.iter().map(|sample| match sample.get(key) {
            Some(value) => Ok(value),
            None => Err(format!(
                "{test}/{configuration} was not measured: it has no {key}"
            )),
        });
        values.collect()
    }

    /// The list called `key` of every replication, one after the other.
    pub fn lists(&self, test: &str, configuration: &str, key: &str) -> Vec<f64> {
        let samples = self.samples.of(&experiment(test, configuration));
        samples.iter().flat_map(|s| s.list(key)).copied().collect()
    }

    /// Nothing to prove yet, at the samples' risk.
    pub fn proof(&self) -> Proof {
        Proof::new(self.samples.risk())
    }

    /// The claim's tolerance.
    ///
    /// # Errors
    /// When it has none that a single figure needs.
    pub fn tolerance(&self) -> Result<Tolerance, String> {
        let text = self.claim.tolerance.as_deref().unwrap_or_default();
        Tolerance::parse(text).ok_or_else(|| NO_TOLERANCE.to_owned())
    }

    /// The claim's tolerance when it ends in `unit`: "100 to 200 Mb/s".
    ///
    /// # Errors
    /// As [`Reading::tolerance`].
    pub fn tolerance_in(&self, unit: &str) -> Result<Tolerance, String> {
        let text = self.claim.tolerance.as_deref().unwrap_or_default();
        let text = text.strip_suffix(unit).unwrap_or(text);
        Tolerance::parse(text).ok_or_else(|| NO_TOLERANCE.to_owned())
    }

    /// The tolerance called `name` of a claim that has several: "latency x3, share 3pt".
    ///
    /// # Errors
    /// When it has none of that name.
    pub fn tolerance_of(&self, name: &str) -> Result<Tolerance, String> {
        let text = self.claim.tolerance.as_deref().unwrap_or_default();
        let mut parts = text.split(',').map(str::trim);
        let part = parts.find_map(|part| part.strip_prefix(name));
        part.and_then(Tolerance::parse)
            .ok_or_else(|| NO_TOLERANCE.to_owned())
    }

    /// Means of `figure` of `test` under each of `configurations`, in words.
    ///
    /// # Errors
    /// As [`Reading::series`].
    pub fn list(
        &self,
        test: &str,
        configurations: &[&str],
        figure: Figure,
    ) -> Result<String, String> {
        let one = |configuration: &&str| {
            let figures = self.series(test, configuration, figure)?.figures();
            Ok(format!("{configuration} {figures}"))
        };
        let all: Result<Vec<String>, String> = configurations.iter().map(one).collect();
        let list = with_unit(&all?.join(", "), figure.unit);
        Ok(format!("{} in {test}: {list}", figure.name))
    }
}

const NO_TOLERANCE: &str = "the claim has no tolerance to decide by";
