//! Tables of policies against metrics, with intervals over replications.

use crate::numbers::{Difference, Estimate};
use domio_core::Better;
use domio_run::Sample;
use serde::{Serialize, Serializer};

/// One column of a comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Metric {
    /// Name of the value in the [`Sample`]s.
    pub key: String,
    /// Heading for people.
    pub title: String,
    /// Unit, empty for none.
    pub unit: String,
    /// Which way it improves.
    #[serde(serialize_with = "by_name")]
    pub better: Better,
}

fn by_name<S: Serializer>(better: &Better, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(better.name())
}

/// One policy (or one other choice) of a comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// Name of the policy.
    pub name: String,
    /// By metric: the estimate, `None` where no replication measured it.
    pub cells: Vec<Option<MetricCell>>,
}

/// One metric of one policy.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MetricCell {
    /// Mean and interval over replications.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Against the first row, paired by replication: `Some(true)` better and `Some(false)` worse
    /// beyond the 95 % interval; `None` for no proven difference, for the first row itself, and
    /// where neither way is better.
    pub better_than_first: Option<bool>,
}

/// Policies by metrics. The first row is what the others are compared with.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// Columns.
    pub metrics: Vec<Metric>,
    /// Rows.
    pub rows: Vec<Row>,
}

impl Comparison {
    /// The table of `metrics` from each policy's samples, one a replication.
    ///
    /// Replication n of every policy must have used the same seed, so that differences can be
    /// paired.
    pub fn of(metrics: Vec<Metric>, policies: &[(String, Vec<Sample>)]) -> Self {
        let rows = policies.iter().map(|(name, samples)| Row {
            name: name.clone(),
            cells: metrics
                .iter()
                .map(|metric| {
                    let values = values(samples, metric);
                    let first = values_of_first(policies, metric);
                    Some(MetricCell {
                        estimate: Estimate::of(&values)?,
                        better_than_first: better(metric.better, &values, &first),
                    })
                })
                .collect(),
        });
        Comparison {
            rows: rows.collect(),
            metrics,
        }
    }

    /// The table with its metrics in another order, which has the place of each.
    pub fn in_order(&self, order: &[usize]) -> Comparison {
        let rows = self.rows.iter().map(|row| Row {
            name: row.name.clone(),
            cells: order.iter().map(|index| row.cells[*index]).collect(),
        });
        Comparison {
            metrics: order.iter().map(|i| self.metrics[*i].clone()).collect(),
            rows: rows.collect(),
        }
    }
}

fn values(samples: &[Sample], metric: &Metric) -> Vec<f64> {
    samples.iter().filter_map(|s| s.get(&metric.key)).collect()
}

fn values_of_first(policies: &[(String, Vec<Sample>)], metric: &Metric) -> Vec<f64> {
    let first = policies.first().map(|(_, samples)| samples.as_slice());
    values(first.unwrap_or_default(), metric)
}

/// Whether `values` are better (`true`) or worse than `first`, paired by replication and beyond the
/// 95 % interval; `None` for no proven difference, and where neither way is better.
pub fn better(way: Better, values: &[f64], first: &[f64]) -> Option<bool> {
    let difference = Difference::paired(values, first)?;
    let higher = match (difference.is_greater(), difference.is_less()) {
        (true, _) => true,
        (_, true) => false,
        _ => return None,
    };
    match way {
        Better::Higher => Some(higher),
        Better::Lower => Some(!higher),
        Better::Neither => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_with_the_first() {
        let metric = |key: &str, better| Metric {
            key: key.into(),
            title: key.into(),
            unit: "ms".into(),
            better,
        };
        let samples = |latency: [f64; 3], rate: f64| {
            let one = |l: f64| Sample::new().with("latency", l).with("rate", rate);
            latency.map(one).to_vec()
        };
        let table = Comparison::of(
            vec![
                metric("latency", Better::Lower),
                metric("rate", Better::Higher),
                metric("absent", Better::Neither),
            ],
            &[
                ("credit".into(), samples([5.0, 6.0, 5.5], 100.0)),
                ("credit2".into(), samples([1.0, 2.1, 1.4], 90.0)),
            ],
        );
        let verdicts = |row: usize| -> Vec<Option<Option<bool>>> {
            let cells = table.rows[row].cells.iter();
            cells.map(|c| c.map(|c| c.better_than_first)).collect()
        };
        assert_eq!(verdicts(0), [Some(None), Some(None), None]);
        assert_eq!(verdicts(1), [Some(Some(true)), Some(Some(false)), None]);
        assert_eq!(table.rows[1].cells[1].unwrap().estimate.mean, 90.0);
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(json["rows"][1]["cells"][1]["mean"], 90.0);
    }
}
