//! For whom driver domains worked, over replications.

use crate::compare::{Comparison, Metric};
use crate::numbers::Estimate;
use domio_core::accounted::SHARE;
use domio_core::{Better, DomainId};
use domio_meter::{DriverWork, DriverWorkJson, InOrder};
use domio_run::Sample;
use domio_run::driver_work::{self, WorkPart};
use serde::Serialize;
use std::collections::BTreeSet;

/// The work of one driver domain, in milliseconds of the measured time.
#[derive(Clone, PartialEq, Debug)]
pub struct DriverFigures {
    /// Name of the driver domain.
    pub driver: String,
    /// Its vcpus executed.
    pub busy: Estimate,
    /// The part that was done for others, with their names, by id.
    pub done_for: Vec<(String, Estimate)>,
    /// The part that was done for nobody.
    pub nobody: Estimate,
}

/// For whom driver domains worked, by id, as the samples of the replications tell; `domains` gives
/// ids and names, `measured_ms` the length of the measured time.
///
/// A replication in which a driver domain worked for nobody counts as that.
pub fn figures(
    samples: &[Sample],
    domains: &[(DomainId, String)],
    measured_ms: f64,
) -> Vec<DriverFigures> {
    let found = samples.iter().flat_map(Sample::values);
    let found: BTreeSet<(DomainId, WorkPart)> = found
        .filter_map(|(name, _)| driver_work::parse(name))
        .collect();
    let drivers: BTreeSet<DomainId> = found.iter().map(|(driver, _)| *driver).collect();
    let of_driver = |driver: DomainId| {
        let estimate = |part: WorkPart| {
            let value = |s: &Sample| value(s, driver, part, domains, measured_ms);
            Estimate::of(&samples.iter().map(value).collect::<Vec<f64>>())
        };
        let parts = found.iter().filter(|(other, _)| *other == driver);
        let owners = parts.filter_map(|(_, part)| match part {
            WorkPart::For(owner) => Some((name(*owner, domains), estimate(*part)?)),
            _ => None,
        });
        Some(DriverFigures {
            driver: name(driver, domains),
            done_for: owners.collect(),
            busy: estimate(WorkPart::Busy)?,
            nobody: estimate(WorkPart::Nobody)?,
        })
    };
    drivers.into_iter().filter_map(of_driver).collect()
}

/// `part` of the work of `driver` in one replication.
fn value(
    sample: &Sample,
    driver: DomainId,
    part: WorkPart,
    domains: &[(DomainId, String)],
    measured_ms: f64,
) -> f64 {
    // Its share is that of the whole domain, and known in any case.
    let share = || {
        let share = sample.get(&format!("{}.{SHARE}", name(driver, domains)));
        share.unwrap_or(0.0) / 100.0 * measured_ms
    };
    match (sample.get(&driver_work::key(driver, part)), part) {
        (Some(value), _) => value,
        (None, WorkPart::For(_)) => 0.0,
        (None, WorkPart::Nobody | WorkPart::Busy) => share(),
    }
}

fn name(id: DomainId, domains: &[(DomainId, String)]) -> String {
    let known = domains.iter().find(|(other, _)| *other == id);
    known.map_or_else(|| id.to_string(), |(_, name)| name.clone())
}

impl DriverFigures {
    /// The figures of one run.
    pub fn of(work: &DriverWork, domains: &[(DomainId, String)]) -> Self {
        let exactly = |ns: u64| Estimate {
            mean: ns as f64 / 1e6,
            ci95: None,
            deviation: None,
            n: 1,
        };
        let owners = work.done_for.iter();
        DriverFigures {
            driver: name(work.driver, domains),
            busy: exactly(work.busy),
            done_for: owners
                .map(|(owner, ns)| (name(*owner, domains), exactly(*ns)))
                .collect(),
            nobody: exactly(work.nobody()),
        }
    }

    /// All parts and the sum, with their titles: those for others first.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Estimate)> {
        let others = self.done_for.iter().map(|(name, e)| (name.as_str(), e));
        others.chain([("nobody", &self.nobody), ("busy", &self.busy)])
    }
}

/// [`DriverFigures`] in `domio run --json`: means, and beside them the whole estimates.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DriverFiguresJson {
    #[serde(flatten)]
    means: DriverWorkJson,
    estimates: EstimatesJson,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct EstimatesJson {
    busy_ms: Estimate,
    #[serde(rename = "for")]
    done_for: InOrder<Estimate>,
    nobody_ms: Estimate,
}

impl From<DriverFigures> for DriverFiguresJson {
    fn from(figures: DriverFigures) -> Self {
        let owners = figures.done_for.iter();
        DriverFiguresJson {
            means: DriverWorkJson {
                driver: figures.driver,
                busy_ms: figures.busy.mean,
                done_for: InOrder(owners.map(|(name, e)| (name.clone(), e.mean)).collect()),
                nobody_ms: figures.nobody.mean,
            },
            estimates: EstimatesJson {
                busy_ms: figures.busy,
                done_for: InOrder(figures.done_for),
                nobody_ms: figures.nobody,
            },
        }
    }
}

/// One table a driver domain that worked for others under any of `policies`, with its name:
/// policies by those that it worked for, in percent of one pcpu.
pub fn comparisons(
    domains: &[(DomainId, String)],
    policies: &[(String, Vec<Sample>)],
    measured_ms: f64,
) -> Vec<(String, Comparison)> {
    let samples = policies.iter().flat_map(|(_, samples)| samples);
    let found = samples.flat_map(Sample::values);
    let found: BTreeSet<(DomainId, WorkPart)> = found
        .filter_map(|(name, _)| driver_work::parse(name))
        .collect();
    let drivers: BTreeSet<DomainId> = found.iter().map(|(driver, _)| *driver).collect();
    let table = |driver: DomainId| {
        let parts = found.iter().filter(|(other, _)| *other == driver);
        let parts: Vec<WorkPart> = parts.map(|(_, part)| *part).collect();
        let in_percent = |part: WorkPart| driver_work::key(driver, part).replace("_ms", "_pct");
        let metric = |part: &WorkPart| Metric {
            key: in_percent(*part),
            title: match part {
                WorkPart::For(owner) => name(*owner, domains),
                WorkPart::Nobody => "nobody".to_owned(),
                WorkPart::Busy => "busy".to_owned(),
            },
            unit: "% of one pcpu".to_owned(),
            better: Better::Neither,
        };
        let shares = |sample: &Sample| {
            let mut shares = Sample::new();
            for part in &parts {
                let ms = value(sample, driver, *part, domains, measured_ms);
                shares.set(&in_percent(*part), ms / measured_ms * 100.0);
            }
            shares
        };
        let policies: Vec<(String, Vec<Sample>)> = policies
            .iter()
            .map(|(name, samples)| (name.clone(), samples.iter().map(shares).collect()))
            .collect();
        let metrics = parts.iter().map(metric).collect();
        (name(driver, domains), Comparison::of(metrics, &policies))
    };
    drivers.into_iter().map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Instant, Names, PcpuId, Record, Runstate, Sink, VcpuName};
    use domio_meter::Meter;

    fn domains() -> Vec<(DomainId, String)> {
        let names = ["Domain-0", "web.example", "db"];
        let ids = (0..).map(DomainId);
        ids.zip(names.map(str::to_owned)).collect()
    }

    /// A second in which Domain-0 executed for half of it, on behalf of these, in ms.
    fn sample(owners: &[(u16, u64)]) -> Sample {
        let mut names = Names::new();
        let driver = names.add_actor(VcpuName::new(DomainId(0), 0));
        let pcpu = PcpuId(0);
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let (running, blocked) = (Runstate::Running, Runstate::Blocked);
        let mut meter = Meter::new();
        let mut record = |record| meter.record(&names, &record);
        record(Record::runstate(at(0), pcpu, driver, running, running));
        for &(owner, ms) in owners {
            let (owner, ns) = (DomainId(owner), ms * 1_000_000);
            record(Record::driver_work(at(500), pcpu, driver, owner, ns));
        }
        record(Record::runstate(at(500), pcpu, driver, running, blocked));
        let summary = meter.finish_at(at(1_000));
        let mut sample = domio_run::measure::sample(&summary, &domains());
        driver_work::note(&mut sample, &summary);
        sample
    }

    #[test]
    fn means_are_over_all_replications_and_sum_up() {
        let samples = [
            sample(&[(1, 100), (2, 20)]),
            sample(&[(1, 140)]),
            // It worked for nobody.
            sample(&[]),
        ];
        let figures = figures(&samples, &domains(), 1_000.0);
        assert_eq!(figures.len(), 1);
        let rows: Vec<_> = figures[0].rows().map(|(name, e)| (name, e.mean)).collect();
        let third = 20.0 / 3.0;
        assert_eq!(
            rows,
            [
                ("web.example", 80.0),
                ("db", third),
                ("nobody", (380.0 + 360.0 + 500.0) / 3.0),
                ("busy", 500.0),
            ]
        );
        assert_eq!(figures[0].driver, "Domain-0");
        assert!(figures[0].rows().all(|(_, e)| e.n == 3));
        assert_eq!(self::figures(&samples[2..], &domains(), 1_000.0), []);
    }

    #[test]
    fn json_has_plain_means_by_name_and_the_estimates() {
        let samples = [sample(&[(2, 100), (1, 100)]), sample(&[(2, 100), (1, 200)])];
        let figures = figures(&samples, &domains(), 1_000.0).remove(0);
        let json = serde_json::to_string(&DriverFiguresJson::from(figures)).unwrap();
        let means = r#"{"driver":"Domain-0","busy_ms":500.0,"#.to_owned()
            + r#""for":{"web.example":150.0,"db":100.0},"nobody_ms":250.0,"#;
        let begin = means + r#""estimates":{"busy_ms":{"mean":500.0,"#;
        assert!(json.starts_with(&begin), "{json}");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["estimates"]["for"]["web.example"]["n"], 2);
        assert_eq!(json["estimates"]["nobody_ms"]["mean"], 250.0);
    }

    #[test]
    fn policies_are_compared_on_everybody_that_any_of_them_worked_for() {
        let policies = [
            ("credit".to_owned(), vec![sample(&[(1, 100)])]),
            ("sedf".to_owned(), vec![sample(&[(2, 30)])]),
            ("null".to_owned(), vec![sample(&[])]),
        ];
        let tables = comparisons(&domains(), &policies, 1_000.0);
        assert_eq!(tables.len(), 1);
        let (driver, table) = &tables[0];
        let titles: Vec<&str> = table.metrics.iter().map(|m| m.title.as_str()).collect();
        assert_eq!(driver, "Domain-0");
        assert_eq!(titles, ["web.example", "db", "nobody", "busy"]);
        assert_eq!(table.metrics[0].key, "driver_work.0.for.1_pct");
        let means = |row: usize| -> Vec<f64> {
            let cells = table.rows[row].cells.iter();
            cells.map(|c| c.unwrap().estimate.mean).collect()
        };
        assert_eq!(means(0), [10.0, 0.0, 40.0, 50.0]);
        assert_eq!(means(1), [0.0, 3.0, 47.0, 50.0]);
        assert_eq!(means(2), [0.0, 0.0, 50.0, 50.0]);
        assert_eq!(comparisons(&domains(), &policies[2..], 1_000.0), []);
    }
}
