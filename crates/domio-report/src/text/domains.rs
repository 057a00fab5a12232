//! The domains of a simulated host, with intervals over replications.

use crate::figure;
use crate::text::{Cell, Column, Table, Tone};
use domio_lab::measure::{MEASURES, Measure};
use domio_lab::{Estimate, Sample};

/// One row a domain, one column a measure that any of `domains` has.
pub fn render(domains: &[String], samples: &[Sample], width: Option<u16>) -> String {
    let has = |m: &&Measure| domains.iter().any(|d| estimate(samples, d, m).is_some());
    let measures: Vec<&Measure> = MEASURES.iter().filter(has).collect();
    let columns = measures
        .iter()
        .map(|m| Column::figures(figure::two_lines(m.title, m.unit)));
    let mut table = Table::new([Column::words("domain").whole()].into_iter().chain(columns));
    for domain in domains {
        let cells = measures.iter().map(|m| match estimate(samples, domain, m) {
            Some(estimate) => figure::estimate(&estimate).into(),
            None => Cell::new("-", Tone::Dim),
        });
        table.row([Cell::new(domain, Tone::Strong)].into_iter().chain(cells));
    }
    table.render(width)
}

/// The estimate of one measure of `domain`; `None` when no replication has it.
pub fn estimate(samples: &[Sample], domain: &str, measure: &Measure) -> Option<Estimate> {
    let name = measure.name(domain);
    let values: Vec<f64> = samples.iter().filter_map(|s| s.get(&name)).collect();
    Estimate::of(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_that_nobody_has_are_no_columns() {
        let samples = [14.1, 14.3].map(|v| Sample::new().with("g1.share_pct", v));
        let text = render(&["g1".into(), "g2".into()], &samples, None);
        assert!(
            text.contains("share") && text.contains("14.2 ± 1.3"),
            "{text}"
        );
        assert!(!text.contains("wake to run"));
    }
}
