//! The domains of a simulated host, with intervals over replications.

use crate::figure;
use crate::text::{TextCell, TextColumn, TextTable, Tone, View};
use domio_core::Figure;
use domio_run::Sample;
use domio_run::measure;
use domio_stats::Estimate;

/// One row a domain, one column a figure that any of `domains` has; further tables for jobs and
/// devices, of those domains that have any. Then Jain's index of the shares of those that compete,
/// and where packets were dropped, if any were.
pub fn render(domains: &[String], samples: &[Sample], view: &View) -> String {
    let mut tables: Vec<String> = Vec::new();
    for declared in measure::tables() {
        let has = |f: &&Figure| domains.iter().any(|d| estimate(samples, d, f).is_some());
        let figures: Vec<&Figure> = declared.figures.iter().filter(has).collect();
        let mut concerned = domains.to_vec();
        if !declared.is_accounted() {
            concerned.retain(|d| figures.iter().any(|f| estimate(samples, d, f).is_some()));
        }
        if declared.is_accounted() || !concerned.is_empty() {
            tables.push(table(&concerned, samples, &figures).render(view));
        }
    }
    let index = domio_stats::domains::jain(samples, domains).map(|jain| {
        let figures = figure::estimate(&jain.index);
        let over = figure::names(jain.over);
        format!("Jain's index of the shares of {over}, which compete: {figures}\n")
    });
    tables.extend(index);
    let index = domio_stats::domains::jain_of_disks(samples, domains).map(|jain| {
        let figures = figure::estimate(&jain.index);
        let over = figure::names(jain.over);
        format!("Jain's index of what {over} read and write: {figures}\n")
    });
    tables.extend(index);
    let mut dropped = TextTable::new([
        TextColumn::words("dropped at").whole(),
        TextColumn::figures("packets"),
    ]);
    for (place, packets) in domio_stats::domains::drops(samples) {
        dropped.row([place.into(), figure::estimate(&packets).into()]);
    }
    if !dropped.is_empty() {
        tables.push(dropped.render(view));
    }
    tables.join("\n")
}

fn table(domains: &[String], samples: &[Sample], figures: &[&Figure]) -> TextTable {
    let columns = figures
        .iter()
        .map(|f| TextColumn::figures(figure::head(f.title, f.unit)));
    let mut table = TextTable::new(
        [TextColumn::words("domain").whole()]
            .into_iter()
            .chain(columns),
    );
    for domain in domains {
        let cells = figures.iter().map(|f| match estimate(samples, domain, f) {
            Some(estimate) => figure::cell(&estimate, f.unit).into(),
            None => TextCell::new("-", Tone::Dim),
        });
        table.row(
            [TextCell::new(domain, Tone::Strong)]
                .into_iter()
                .chain(cells),
        );
    }
    table
}

/// The estimate of one figure of `domain`; `None` when no replication has it.
pub fn estimate(samples: &[Sample], domain: &str, figure: &Figure) -> Option<Estimate> {
    let name = figure.name(domain);
    let values: Vec<f64> = samples.iter().filter_map(|s| s.get(&name)).collect();
    Estimate::of(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_that_nobody_has_are_no_columns() {
        let samples = [14.1, 14.3].map(|v| Sample::new().with("g1.share_pct", v));
        let text = render(&["g1".into(), "g2".into()], &samples, &View::default());
        assert!(
            text.contains("share") && text.contains("14.2 ± 1.3"),
            "{text}"
        );
        assert!(!text.contains("wake to run"));
    }

    #[test]
    fn the_index_says_whose_shares_are_compared() {
        let both = |sample: Sample, names: [&str; 2]| {
            let name = |name: &str| format!("{name}.competes");
            names.into_iter().fold(sample, |s, n| s.with(&name(n), 1.0))
        };
        let shares = [("g1", 60.0), ("g2", 20.0), ("web", 1.0)];
        let sample = shares.into_iter().fold(Sample::new(), |s, (name, share)| {
            s.with(&format!("{name}.share_pct"), share)
        });
        let names = ["g1", "g2", "web"].map(str::to_owned);
        let text = render(
            &names,
            &[both(sample.clone(), ["g1", "g2"])],
            &View::default(),
        );
        let line = "Jain's index of the shares of g1 and g2, which compete: 0.8\n";
        assert!(text.contains(line), "{text}");
        assert!(!text.contains("competes"), "{text}");
        assert!(!render(&names, &[sample], &View::default()).contains("Jain"));
    }

    #[test]
    fn only_domains_with_a_network_are_in_its_table() {
        let sample = Sample::new().with("g1.share_pct", 20.0);
        let samples = [sample.with("g2.share_pct", 80.0).with("g2.net_mbps", 94.1)];
        let text = render(&["g1".into(), "g2".into()], &samples, &View::default());
        let (processors, networks) = text.split_once("\n\n").expect("two tables");
        assert!(processors.contains("g1") && !processors.contains("delivered"));
        assert!(networks.contains("delivered") && networks.contains("94.1"));
        assert!(!networks.contains("g1") && !networks.contains("round trip"));
    }
}
