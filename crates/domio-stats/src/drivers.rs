//! For whom driver domains worked, over replications.

use crate::compare::{MeasureOf, VariantFigure};
use crate::numbers::Estimate;
use domio_answer::rows;
use domio_core::accounted::SHARE;
use domio_core::{Better, DomainId};
use domio_meter::DriverWork;
use domio_run::Sample;
use domio_run::driver_work::{self, WorkPart};
use std::collections::BTreeSet;

rows! {
    /// The work of one driver domain, in milliseconds of the measured time.
    #[derive(Clone, PartialEq, Debug)]
    pub struct DriverFigures {
        /// Name of the driver domain.
        pub driver: String = key("driver");
        /// Its vcpus executed.
        pub busy: Estimate = sum("busy_ms", "ms");
        /// The part of `busy_ms` that was done for others: their names and the time, by id.
        pub done_for: Vec<(String, Estimate)> = parts("for", [
            key("domain").doc("Name of the domain."),
            sum("ms", "ms").doc("The time."),
        ]);
        /// The rest of `busy_ms`, which was done for nobody.
        pub nobody: Estimate = sum("nobody_ms", "ms");
    }
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

/// The part of one pcpu, in percent, that each driver domain that worked for others under any of
/// the variants did for each of these, for nobody, and in all: the figures of its table.
pub fn comparisons(
    domains: &[(DomainId, String)],
    variants: &[(String, Vec<Sample>)],
    measured_ms: f64,
) -> Vec<VariantFigure> {
    let samples = variants.iter().flat_map(|(_, samples)| samples);
    let found = samples.flat_map(Sample::values);
    let found: BTreeSet<(DomainId, WorkPart)> = found
        .filter_map(|(name, _)| driver_work::parse(name))
        .collect();
    let of = |(driver, part): &(DomainId, WorkPart)| {
        let known_as = name(*driver, domains);
        let measured = MeasureOf {
            domain: match part {
                WorkPart::For(owner) => name(*owner, domains),
                WorkPart::Nobody => "nobody".to_owned(),
                WorkPart::Busy => "busy".to_owned(),
            },
            measure: "driver_work_pct".into(),
            title: format!("work of {known_as} for others").into(),
            unit: "% of one pcpu".into(),
            better: Better::Neither,
            driver: Some(known_as),
        };
        let share = |sample: &Sample| {
            let ms = value(sample, *driver, *part, domains, measured_ms);
            Some(ms / measured_ms * 100.0)
        };
        measured.compared(variants, share)
    };
    found.iter().flat_map(of).collect()
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
    fn json_has_the_estimates_by_name() {
        let samples = [sample(&[(2, 100), (1, 100)]), sample(&[(2, 100), (1, 200)])];
        let figures = figures(&samples, &domains(), 1_000.0);
        let answered = domio_answer::Answered::of("work", 1, "", &figures[0]);
        let json = serde_json::to_value(&answered).unwrap();
        assert_eq!(json["driver"], "Domain-0");
        assert_eq!(json["busy_ms"]["mean"], 500.0);
        assert_eq!(json["for"][0]["domain"], "web.example");
        assert_eq!(json["for"][0]["ms"]["mean"], 150.0);
        assert_eq!(json["for"][1]["ms"]["n"], 2);
        assert_eq!(json["nobody_ms"]["mean"], 250.0);
    }

    #[test]
    fn policies_are_compared_on_everybody_that_any_of_them_worked_for() {
        let policies = [
            ("credit".to_owned(), vec![sample(&[(1, 100)])]),
            ("sedf".to_owned(), vec![sample(&[(2, 30)])]),
            ("null".to_owned(), vec![sample(&[])]),
        ];
        let figures = comparisons(&domains(), &policies, 1_000.0);
        let told: Vec<_> = figures
            .iter()
            .map(|f| (&*f.of.domain, &*f.variant, f.mean.mean))
            .collect();
        let expected = [
            ("web.example", [10.0, 0.0, 0.0]),
            ("db", [0.0, 3.0, 0.0]),
            ("nobody", [40.0, 47.0, 50.0]),
            ("busy", [50.0, 50.0, 50.0]),
        ];
        let names = ["credit", "sedf", "null"];
        let expected = expected.iter().flat_map(|(domain, means)| {
            let each = names.iter().zip(means);
            each.map(move |(name, mean)| (*domain, *name, *mean))
        });
        assert_eq!(told, expected.collect::<Vec<_>>());
        assert!(
            figures
                .iter()
                .all(|f| f.of.driver.as_deref() == Some("Domain-0"))
        );
        assert_eq!(comparisons(&domains(), &policies[2..], 1_000.0), []);
    }
}
