//! What driver domains of networks execute, by kind of work, over replications.

use crate::drivers::DriverFigures;
use crate::numbers::Estimate;
use domio_core::DomainId;
use domio_run::Sample;
use domio_run::overhead::{self, WorkKind};

/// What one driver domain executed, in milliseconds of the measured time.
#[derive(Clone, PartialEq, Debug)]
pub struct OverheadFigures {
    /// The driver domain.
    pub id: DomainId,
    /// Its name.
    pub driver: String,
    /// Each kind of work with its time, in the order of [`WorkKind::ALL`].
    pub kinds: Vec<(WorkKind, Estimate)>,
}

impl OverheadFigures {
    /// The kinds that there was any of, and the sum.
    pub fn shown(&self) -> impl Iterator<Item = &(WorkKind, Estimate)> {
        let shown = |(kind, ms): &&(WorkKind, Estimate)| *kind == WorkKind::Busy || ms.mean > 0.0;
        self.kinds.iter().filter(shown)
    }
}

/// What the driver domains of networks executed that are among `drivers`, which worked for others;
/// by id. `domains` gives ids and names.
pub fn figures(
    samples: &[Sample],
    domains: &[(DomainId, String)],
    drivers: &[DriverFigures],
) -> Vec<OverheadFigures> {
    let of = |(id, name): &(DomainId, String)| {
        let worked = drivers.iter().any(|driver| driver.driver == *name);
        let estimate = |kind: WorkKind| {
            let key = overhead::key(*id, kind);
            let values = samples.iter().filter_map(|sample| sample.get(&key));
            Some((kind, Estimate::of(&values.collect::<Vec<f64>>())?))
        };
        let kinds: Option<Vec<_>> = WorkKind::ALL.into_iter().map(estimate).collect();
        Some(OverheadFigures {
            id: *id,
            driver: name.clone(),
            kinds: kinds.filter(|_| worked)?,
        })
    };
    let mut figures: Vec<OverheadFigures> = domains.iter().filter_map(of).collect();
    figures.sort_by_key(|figures| figures.id);
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(busy: f64) -> Sample {
        let mut sample = Sample::new();
        for kind in WorkKind::ALL {
            let ms = match kind {
                WorkKind::Busy => busy,
                WorkKind::Netback => busy / 4.0,
                WorkKind::Rest => busy * 3.0 / 4.0,
                _ => 0.0,
            };
            sample.set(&overhead::key(DomainId(0), kind), ms);
        }
        sample
    }

    fn driver(name: &str) -> DriverFigures {
        let none = Estimate::of(&[0.0]).unwrap();
        DriverFigures {
            driver: name.to_owned(),
            busy: none,
            done_for: Vec::new(),
            nobody: none,
        }
    }

    #[test]
    fn kinds_are_means_over_replications_of_who_worked() {
        let names = ["Domain-0", "web"].map(str::to_owned);
        let domains: Vec<_> = (0..).map(DomainId).zip(names).collect();
        let samples = [sample(100.0), sample(140.0)];
        let found = figures(&samples, &domains, &[driver("Domain-0"), driver("web")]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].id, found[0].driver.as_str()),
            (DomainId(0), "Domain-0")
        );
        let shown: Vec<_> = found[0]
            .shown()
            .map(|(kind, ms)| (*kind, ms.mean, ms.n))
            .collect();
        let expected = [
            (WorkKind::Netback, 30.0, 2),
            (WorkKind::Rest, 90.0, 2),
            (WorkKind::Busy, 120.0, 2),
        ];
        assert_eq!(shown, expected);
        // Who has worked for nobody is not shown, and who has no figures either.
        assert_eq!(figures(&samples, &domains, &[]), []);
        assert_eq!(
            figures(&[Sample::new()], &domains, &[driver("Domain-0")]),
            []
        );
    }
}
