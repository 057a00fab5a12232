//! Figures of domains under several variants, each beside the first, with intervals over
//! replications.

use crate::numbers::{Difference, Estimate};
use domio_answer::rows;
use domio_core::Better;
use domio_run::Sample;
use std::borrow::Cow;

rows! {
    /// What is measured of whom.
    #[derive(Clone, PartialEq, Debug)]
    pub struct MeasureOf {
        /// Name of the domain; of the work of a driver domain, for whom.
        pub domain: String = key("domain");
        /// Key of the measure.
        pub measure: Cow<'static, str> = key("measure");
        /// The measure for people.
        pub title: Cow<'static, str> = fact("title");
        /// Its unit.
        pub unit: Cow<'static, str> = fact("unit");
        /// Which way it improves: `higher`, `lower` or `neither`.
        pub better: Better = fact("better");
        /// The driver domain, of figures of its work for others.
        pub driver: Option<String> = fact("driver");
    }

    /// A figure of a domain under one variant.
    #[derive(Clone, PartialEq, Debug)]
    pub struct VariantFigure {
        /// Label of the variant.
        pub variant: String = key("variant");
        /// What is measured.
        pub of: MeasureOf = fact("");
        /// Mean over replications.
        pub mean: Estimate = fact("mean");
        /// Against the first variant, paired by replication and beyond the 95 % interval: better
        /// or worse; null for no proven difference, for the first variant itself, and where
        /// neither way is better.
        pub better_than_first: Option<bool> = fact("better_than_first");
    }
}

impl MeasureOf {
    /// The figure under each of `variants`, of whose samples `value` gives it, in those of them
    /// where some replication has it.
    ///
    /// Replication n of every variant must have used the same seed, so that differences can be
    /// paired.
    pub fn compared(
        self,
        variants: &[(String, Vec<Sample>)],
        value: impl Fn(&Sample) -> Option<f64>,
    ) -> Vec<VariantFigure> {
        let values = |samples: &[Sample]| samples.iter().filter_map(&value).collect::<Vec<f64>>();
        let first = variants.first().map(|(_, samples)| values(samples));
        let first = first.unwrap_or_default();
        let figure = |(variant, samples): &(String, Vec<Sample>)| {
            let values = values(samples);
            Some(VariantFigure {
                variant: variant.clone(),
                mean: Estimate::of(&values)?,
                better_than_first: better(self.better, &values, &first),
                of: self.clone(),
            })
        };
        variants.iter().filter_map(figure).collect()
    }
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
    fn variants_are_compared_with_the_first() {
        let samples = |latency: [f64; 3], rate: f64| {
            let one = |l: f64| Sample::new().with("latency", l).with("rate", rate);
            latency.map(one).to_vec()
        };
        let variants = [
            ("credit".into(), samples([5.0, 6.0, 5.5], 100.0)),
            ("credit2".into(), samples([1.0, 2.1, 1.4], 90.0)),
        ];
        let told = |key: &'static str, better| {
            let measured = MeasureOf {
                domain: "web".into(),
                measure: key.into(),
                title: key.into(),
                unit: "ms".into(),
                better,
                driver: None,
            };
            let figures = measured.compared(&variants, |sample| sample.get(key));
            let told = figures.iter().map(|f| (f.mean.mean, f.better_than_first));
            told.collect::<Vec<_>>()
        };
        assert_eq!(
            told("latency", Better::Lower),
            [(5.5, None), (1.5, Some(true))]
        );
        assert_eq!(
            told("rate", Better::Higher),
            [(100.0, None), (90.0, Some(false))]
        );
        assert_eq!(told("absent", Better::Neither), []);
    }
}
