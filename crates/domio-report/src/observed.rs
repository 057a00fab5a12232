//! Charts from what a trace shows: who runs when, and how long runs and waits are.

use crate::data::{Cdf, CdfSeries, Chart, Figure, Quantity, Section, Span, Timeline, TimelineRow};
use domio_core::{DomainId, Duration, Instant, PcpuId, Runstate, VcpuName};
use domio_lab::observe::Seen;
use std::collections::BTreeMap;

/// Most curves of one chart and most vcpus of a timeline: more cannot be told apart.
const CURVES_MAX: usize = 8;
const ROWS_MAX: usize = 40;

/// What a timeline shows.
const MOMENTS: &str = "What runs on each pcpu, and what each vcpu does";

/// Sections on waits, runs and the first moments (`timeline` of them). Charts without anything to
/// show are left out.
pub fn sections(seen: &Seen, names: &[(DomainId, String)], timeline: Duration) -> Vec<Section> {
    let section = |title: &str, figures: Vec<Option<Figure>>| {
        let figures: Vec<Figure> = figures.into_iter().flatten().collect();
        (!figures.is_empty()).then(|| Section {
            title: title.to_owned(),
            text: String::new(),
            figures,
        })
    };
    [
        section(
            "Waits and runs",
            vec![
                lengths(
                    "From a wake-up until the vcpu runs",
                    "wake to run",
                    &seen.wake_to_run_us,
                    names,
                ),
                lengths("Length of a run", "run", &seen.runs_us, names),
            ],
        ),
        section(
            "The first moments",
            vec![first_moments(MOMENTS, seen, names, timeline)],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Lengths in microseconds, one curve for each of `curves` that has any.
pub fn curves(caption: &str, quantity: &str, curves: &[(&str, &[f64])]) -> Figure {
    let series = curves
        .iter()
        .map(|(name, values)| CdfSeries::of(name, values));
    Figure {
        caption: caption.to_owned(),
        chart: Chart::Cdf(Cdf {
            value: Quantity::new(quantity, "us"),
            series: series.filter(|s| s.count > 0).collect(),
        }),
    }
}

fn lengths(
    caption: &str,
    quantity: &str,
    by_domain: &BTreeMap<DomainId, Vec<f64>>,
    names: &[(DomainId, String)],
) -> Option<Figure> {
    let curve = |(id, values): (&DomainId, &Vec<f64>)| {
        let series = CdfSeries::of(&name(*id, names), values);
        (series.count > 0).then_some(series)
    };
    let mut series: Vec<CdfSeries> = by_domain.iter().filter_map(curve).collect();
    let left_out = series.len().saturating_sub(CURVES_MAX);
    series.truncate(CURVES_MAX);
    let caption = match left_out {
        0 => caption.to_owned(),
        n => format!("{caption}; the first {CURVES_MAX} domains, {n} more are left out"),
    };
    (!series.is_empty()).then(|| Figure {
        caption,
        chart: Chart::Cdf(Cdf {
            value: Quantity::new(quantity, "us"),
            series,
        }),
    })
}

/// The first `timeline` of what was seen; `None` when nothing was.
pub fn first_moments(
    caption: &str,
    seen: &Seen,
    names: &[(DomainId, String)],
    timeline: Duration,
) -> Option<Figure> {
    let begin = seen.begin?;
    let last = seen.stays.iter().map(|s| s.end).max()?;
    let end = last.min(begin + timeline);
    let owners: Vec<String> = names.iter().map(|(_, name)| name.clone()).collect();
    let owner = |id| names.iter().position(|(other, _)| *other == id);
    let mut pcpus: BTreeMap<PcpuId, Vec<Span>> = BTreeMap::new();
    let mut vcpus: BTreeMap<VcpuName, Vec<Span>> = BTreeMap::new();
    for stay in &seen.stays {
        let (Some(owner), Some(state)) = (owner(stay.vcpu.domain), stay.state) else {
            continue;
        };
        let span = Span {
            from_ns: since(stay.start, begin),
            until_ns: since(stay.end, begin),
            owner,
            state,
        };
        vcpus.entry(stay.vcpu).or_default().push(span);
        if state == Runstate::Running {
            pcpus.entry(stay.pcpu).or_default().push(span);
        }
    }
    let left_out = vcpus.len().saturating_sub(ROWS_MAX);
    let mut rows: Vec<TimelineRow> = Vec::new();
    rows.extend(
        pcpus
            .into_iter()
            .map(|(pcpu, spans)| row(pcpu.to_string(), spans)),
    );
    rows.extend(vcpus.into_iter().take(ROWS_MAX).map(|(vcpu, spans)| {
        let domain = name(vcpu.domain, names);
        row(format!("{domain} v{}", vcpu.index), spans)
    }));
    let mut caption = caption.to_owned();
    if left_out > 0 {
        caption += &format!("; {left_out} vcpus are left out");
    }
    Some(Figure {
        caption,
        chart: Chart::Timeline(Timeline {
            from_ns: 0,
            until_ns: since(end, begin),
            owners,
            rows,
        }),
    })
}

fn row(name: String, mut spans: Vec<Span>) -> TimelineRow {
    spans.sort_by_key(|s| s.from_ns);
    TimelineRow { name, spans }
}

fn since(at: Instant, begin: Instant) -> u64 {
    at.saturating_since(begin).as_nanos()
}

fn name(id: DomainId, names: &[(DomainId, String)]) -> String {
    let known = names.iter().find(|(other, _)| *other == id);
    known.map_or_else(|| id.to_string(), |(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Record, Sink};
    use domio_lab::observe::Observer;

    #[test]
    fn a_trace_becomes_rows_and_curves() {
        let mut observer = Observer::new(Duration::from_millis(10));
        let guest = VcpuName::new(DomainId(5), 0);
        let states = [
            (0, Runstate::Blocked, Runstate::Runnable),
            (1, Runstate::Runnable, Runstate::Running),
            (4, Runstate::Running, Runstate::Blocked),
            (30, Runstate::Blocked, Runstate::Runnable),
        ];
        for (ms, old, new) in states {
            let at = Instant::ZERO + Duration::from_millis(100 + ms);
            observer.record(&Record::runstate(at, PcpuId(2), guest, old, new));
        }
        let names = [(DomainId(5), "web".to_owned())];
        let sections = sections(&observer.finish(), &names, Duration::from_millis(10));
        assert_eq!(sections.len(), 2);
        assert_eq!(sections[0].figures.len(), 2);
        let Chart::Timeline(timeline) = &sections[1].figures[0].chart else {
            panic!("not a timeline");
        };
        assert_eq!((timeline.from_ns, timeline.until_ns), (0, 10_000_000));
        let rows: Vec<(&str, usize)> = timeline
            .rows
            .iter()
            .map(|r| (r.name.as_str(), r.spans.len()))
            .collect();
        assert_eq!(rows, [("p2", 1), ("web v0", 3)]);
    }

    #[test]
    fn nothing_seen_gives_no_section() {
        let seen = Observer::new(Duration::from_millis(1)).finish();
        assert!(sections(&seen, &[], Duration::from_millis(1)).is_empty());
    }
}
