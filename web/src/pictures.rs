//! Pictures and tables of the variants side by side, as HTML.

use crate::variant::Variant;
use domio_core::DomainId;
use domio_core::accounted::{SHARE, WAITING, WAKE_P50, WAKE_P95, WAKE_P99};
use domio_report::data::{Chart, Picture};
use domio_report::text::gains as words;
use domio_report::{html, observed, samples};
use domio_run::Sample;
use domio_run::measure::Measures;
use domio_stats::gains;
use serde::Serialize;

/// Measures that the shares are.
const SHARES: [&str; 1] = [SHARE];
/// Measures that the waits are.
const WAITS: [&str; 4] = [WAKE_P50, WAKE_P95, WAKE_P99, WAITING];

/// What the page shows of its variants.
#[derive(Serialize, Default)]
pub struct Compared {
    /// What is compared, and how sure it is; empty for a variant alone.
    title: String,
    /// Lines, with whether somebody gains.
    gains: Vec<(Option<bool>, String)>,
    timelines: String,
    shares: String,
    waits: String,
    /// All measures, in tables.
    tables: String,
}

/// Shows `variants`.
pub fn compare(variants: &[&Variant]) -> Compared {
    // The page has the parts that ship.
    let measures = Measures::shipped();
    let domains = domains(variants);
    let names: Vec<String> = domains.iter().map(|(_, name)| name.clone()).collect();
    let bars = |keys: &[&str]| -> Vec<Picture> {
        let kept: Vec<(String, Vec<Sample>)> = variants.iter().map(|v| only(v, keys)).collect();
        let kept: Vec<(String, &[Sample])> = kept
            .iter()
            .map(|(label, s)| (label.clone(), &s[..]))
            .collect();
        samples::figures(&measures, &kept, &names)
    };
    let seen: Vec<_> = variants
        .iter()
        .map(|v| (v.label.clone(), v.seen.clone()))
        .collect();
    let observed = observed::compared(&seen, &domains);
    let figures = observed.into_iter().flat_map(|section| section.figures);
    let (timelines, curves): (Vec<Picture>, Vec<Picture>) =
        figures.partition(|figure| matches!(figure.chart, Chart::Timeline(_)));
    let mut waits = bars(&WAITS);
    waits.extend(curves);
    let tables = variants.iter().map(|variant| {
        let table = samples::of_domains(&variant.samples, &variant.domains, measures.figures());
        Picture::new(
            format!("All measures of {}", variant.label),
            Chart::Table(table.filled()),
        )
    });
    let (title, gains) = gained(&measures, variants, &names);
    Compared {
        title,
        gains,
        timelines: drawn("timeline", &timelines),
        shares: drawn("share", &bars(&SHARES)),
        waits: drawn("wait", &waits),
        tables: drawn("table", &tables.collect::<Vec<_>>()),
    }
}

/// Who gains and who pays under the second variant.
fn gained(
    measures: &Measures,
    variants: &[&Variant],
    names: &[String],
) -> (String, Vec<(Option<bool>, String)>) {
    let [first, second] = variants else {
        return (String::new(), Vec::new());
    };
    let samples = [first, second].map(|v| (v.label.clone(), v.samples.clone()));
    let changes = gains::changes(measures, names, &samples);
    let changes: Vec<&gains::Gain> = changes.iter().collect();
    let sure = words::chance(&changes);
    let title = format!("{} against {}{sure}", second.label, first.label);
    (title, words::lines(&changes))
}

/// The domains of all variants: those of the first, and what others have besides.
fn domains(variants: &[&Variant]) -> Vec<(DomainId, String)> {
    let mut all: Vec<(DomainId, String)> = Vec::new();
    for domain in variants.iter().flat_map(|v| &v.domains) {
        if !all.iter().any(|(_, name)| *name == domain.1) {
            all.push(domain.clone());
        }
    }
    all
}

/// The label of `variant`, and its samples with the measures `keys` of domains alone.
fn only(variant: &Variant, keys: &[&str]) -> (String, Vec<Sample>) {
    let wanted = |name: &str| {
        name.rsplit_once('.')
            .is_some_and(|(_, key)| keys.contains(&key))
    };
    let kept = |sample: &Sample| {
        let values = sample.values().filter(|(name, _)| wanted(name));
        values.fold(Sample::new(), |kept, (name, value)| kept.with(name, value))
    };
    (
        variant.label.clone(),
        variant.samples.iter().map(kept).collect(),
    )
}

/// `figures` one below the other; their ids begin with `prefix`.
pub fn drawn(prefix: &str, figures: &[Picture]) -> String {
    let each = figures.iter().enumerate();
    let each = each.map(|(n, figure)| html::draw_picture(&format!("{prefix}-{}", n + 1), figure));
    each.map(maud::PreEscaped::into_string).collect()
}
