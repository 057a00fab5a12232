//! The domains of a simulated host, with intervals over replications.

use crate::run_answer::Dropped;
use crate::samples;
use crate::text::View;
use crate::text::table::render as draw;
use domio_answer::{Sentence, Table};
use domio_core::DomainId;
use domio_run::Sample;
use domio_run::measure::Measures;

/// One row a domain, one column a figure of `measures` that any of `domains` has; further tables
/// for jobs and devices, of those domains that have any. Then `findings`, and where packets were
/// dropped, if any were.
pub fn render(
    measures: &Measures,
    domains: &[(DomainId, String)],
    samples: &[Sample],
    dropped: &[Dropped],
    findings: &[Sentence],
    view: &View,
) -> String {
    let mut tables: Vec<Table> = Vec::new();
    for declared in measures.tables() {
        let figures = declared.figures.iter();
        tables.push(match declared.is_accounted() {
            true => samples::of_domains(samples, domains, figures).filled(),
            false => samples::of_concerned(samples, domains, figures),
        });
    }
    tables.retain(|table| !table.is_empty());
    let mut parts: Vec<String> = tables.iter().map(|table| draw(table, view)).collect();
    parts.retain(|part| !part.is_empty());
    parts.extend(findings.iter().map(|finding| format!("{}\n", finding.text)));
    if !dropped.is_empty() {
        let table = draw(&Table::of("", dropped), view);
        parts.extend((!table.is_empty()).then_some(table));
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_answer::findings;

    fn shown(names: &[&str], samples: &[Sample]) -> String {
        let names = names.iter().map(|name| (*name).to_owned());
        let domains: Vec<_> = (0..).map(DomainId).zip(names).collect();
        render(
            &Measures::shipped(),
            &domains,
            samples,
            &[],
            &findings(&domains, samples),
            &View::default(),
        )
    }

    #[test]
    fn measures_that_nobody_has_are_no_columns() {
        let samples = [14.1, 14.3].map(|v| Sample::new().with("g1.share_pct", v));
        let text = shown(&["g1", "g2"], &samples);
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
        let names = ["g1", "g2", "web"];
        let text = shown(&names, &[both(sample.clone(), ["g1", "g2"])]);
        let line = "Jain's index of the shares of g1 and g2, which compete: 0.8\n";
        assert!(text.contains(line), "{text}");
        assert!(!text.contains("competes"), "{text}");
        assert!(!shown(&names, &[sample]).contains("Jain"));
    }

    #[test]
    fn only_domains_with_a_network_are_in_its_table() {
        let sample = Sample::new().with("g1.share_pct", 20.0);
        let samples = [sample.with("g2.share_pct", 80.0).with("g2.net_mbps", 94.1)];
        let text = shown(&["g1", "g2"], &samples);
        let (processors, networks) = text.split_once("\n\n").expect("two tables");
        assert!(processors.contains("g1") && !processors.contains("delivered"));
        assert!(networks.contains("delivered") && networks.contains("94.1"));
        assert!(!networks.contains("g1") && !networks.contains("round trip"));
    }
}
