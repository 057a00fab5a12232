//! Charts from what a trace shows: who runs when, and how long runs and waits are.

use crate::data::{
    Cdf, CdfSeries, Chart, Picture, Quantity, Section, Timeline, TimelineRow, TimelineSpan, Wait,
};
use domio_core::{DomainId, Instant, PcpuId, Runstate, VcpuName};
use domio_run::observe::Seen;
use std::collections::BTreeMap;

/// Most curves of one chart, of which some are grey, and most vcpus of a timeline.
const CURVES_MAX: usize = 40;
const ROWS_MAX: usize = 40;
/// Most charts of one domain each.
const CHARTS_MAX: usize = 8;
/// The part of the waits behind which a tail begins.
const TAIL: f64 = 0.99;

/// What a timeline shows.
const MOMENTS: &str = "What runs on each pcpu, and what each vcpu does";

/// Sections on waits, runs, and the moments that were watched. Charts without anything to show are
/// left out.
pub fn sections(seen: &Seen, names: &[(DomainId, String)]) -> Vec<Section> {
    let section = |title: &str, figures: Vec<Option<Picture>>| {
        let figures: Vec<Picture> = figures.into_iter().flatten().collect();
        (!figures.is_empty()).then(|| Section {
            title: title.to_owned(),
            text: String::new(),
            figures,
        })
    };
    let moments = match seen.worst {
        Some(_) => "Around the longest wait",
        None => "Which vcpu runs when",
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
        section(moments, vec![moments_of(MOMENTS, seen, names)]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Sections that compare what was seen under each of several policies: the waits of each domain,
/// and a timeline of each policy.
pub fn compared(seen: &[(String, Seen)], names: &[(DomainId, String)]) -> Vec<Section> {
    let of_domain = |(id, domain): &(DomainId, String)| {
        let lists: Vec<(&str, &[f64])> = seen
            .iter()
            .filter_map(|(policy, s)| Some((policy.as_str(), s.wake_to_run_us.get(id)?.as_slice())))
            .collect();
        let caption = format!("{domain}, from a wake-up until it runs");
        let tails = lists
            .iter()
            .filter_map(|(_, waits)| domio_stats::quantile(waits, TAIL));
        let worst = tails.fold(0.0, f64::max);
        (!lists.is_empty()).then(|| (worst, curves(&caption, "wake to run", &lists)))
    };
    let waits: Vec<(f64, Picture)> = names.iter().filter_map(of_domain).collect();
    let left_out = waits.len().saturating_sub(CHARTS_MAX);
    let waits = worst_of(waits, CHARTS_MAX);
    let moments = seen
        .iter()
        .filter_map(|(policy, seen)| moments_of(&format!("Under {policy}"), seen, names));
    let moments: Vec<Picture> = moments.collect();
    let worst = seen.iter().any(|(_, seen)| seen.worst.is_some());
    let section = |title: &str, text: String, figures: Vec<Picture>| Section {
        title: title.to_owned(),
        text,
        figures,
    };
    let title = if worst {
        "Around the longest waits"
    } else {
        "Which vcpu runs when"
    };
    let text = match left_out {
        0 => String::new(),
        n => format!("The {CHARTS_MAX} domains that wait longest; {n} more are left out."),
    };
    let moments = section(
        title,
        format!("{MOMENTS}, in the first replication."),
        moments,
    );
    let sections = [section("Waits by policy", text, waits), moments];
    sections
        .into_iter()
        .filter(|s| !s.figures.is_empty())
        .collect()
}

/// Lengths in microseconds, one curve for each of `curves` that has any.
pub fn curves(caption: &str, quantity: &str, curves: &[(&str, &[f64])]) -> Picture {
    let series = curves
        .iter()
        .map(|(name, values)| CdfSeries::of(name, values));
    let cdf = Cdf {
        value: Quantity::new(quantity, "us"),
        series: series.filter(|s| s.count > 0).collect(),
    };
    Picture::new(caption, Chart::Cdf(cdf))
}

/// The `most` with the largest numbers, in their order.
fn worst_of<T>(all: Vec<(f64, T)>, most: usize) -> Vec<T> {
    let mut ranked: Vec<(usize, f64, T)> = all
        .into_iter()
        .enumerate()
        .map(|(place, (bad, one))| (place, bad, one))
        .collect();
    // Stable, so that equal ones stay in their order.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.truncate(most);
    ranked.sort_by_key(|(place, ..)| *place);
    ranked.into_iter().map(|(.., one)| one).collect()
}

fn lengths(
    caption: &str,
    quantity: &str,
    by_domain: &BTreeMap<DomainId, Vec<f64>>,
    names: &[(DomainId, String)],
) -> Option<Picture> {
    let curve = |(id, values): (&DomainId, &Vec<f64>)| {
        let series = CdfSeries::of(&name(*id, names), values);
        (series.count > 0).then_some(series)
    };
    let series = by_domain.iter().filter_map(curve);
    let tail = |s: CdfSeries| (s.quantile(TAIL).unwrap_or(0.0), s);
    let series: Vec<(f64, CdfSeries)> = series.map(tail).collect();
    let left_out = series.len().saturating_sub(CURVES_MAX);
    let series = worst_of(series, CURVES_MAX);
    let caption = match left_out {
        0 => caption.to_owned(),
        n => format!(
            "{caption}; the {CURVES_MAX} domains with the longest tails, {n} more are left out"
        ),
    };
    (!series.is_empty()).then(|| {
        let value = Quantity::new(quantity, "us");
        Picture::new(caption, Chart::Cdf(Cdf { value, series }))
    })
}

/// The moments that were watched; `None` when nothing was seen.
pub fn moments_of(caption: &str, seen: &Seen, names: &[(DomainId, String)]) -> Option<Picture> {
    let begin = seen.begin?;
    let (from, until) = seen.window?;
    let last = seen.stays.iter().map(|s| s.end).max()?;
    let until = last.min(until);
    let owners: Vec<String> = names.iter().map(|(_, name)| name.clone()).collect();
    let owner = |id| names.iter().position(|(other, _)| *other == id);
    let mut pcpus: BTreeMap<PcpuId, Vec<TimelineSpan>> = BTreeMap::new();
    let mut vcpus: BTreeMap<VcpuName, Vec<TimelineSpan>> = BTreeMap::new();
    for stay in &seen.stays {
        let (Some(owner), Some(state)) = (owner(stay.vcpu.domain), stay.state) else {
            continue;
        };
        let span = TimelineSpan {
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
    let row_of = |vcpu: VcpuName| vcpu.called(told(vcpu.domain, names));
    // The vcpu that the timeline is about is shown, however many there are.
    let worst = seen.worst.as_ref().map(|wait| wait.vcpu);
    let left_out = vcpus.len().saturating_sub(ROWS_MAX);
    let mut shown: Vec<(VcpuName, Vec<TimelineSpan>)> = Vec::new();
    for (number, (vcpu, spans)) in vcpus.into_iter().enumerate() {
        if number < ROWS_MAX || Some(vcpu) == worst {
            shown.push((vcpu, spans));
        }
    }
    let mut rows: Vec<TimelineRow> = Vec::new();
    rows.extend(
        pcpus
            .into_iter()
            .map(|(pcpu, spans)| row(pcpu.to_string(), spans)),
    );
    rows.extend(
        shown
            .into_iter()
            .map(|(vcpu, spans)| row(row_of(vcpu), spans)),
    );
    let mut caption = caption.to_owned();
    if left_out > 0 {
        caption += &format!("; {left_out} vcpus are left out");
    }
    let worst = seen.worst.as_ref().map(|wait| Wait {
        row: row_of(wait.vcpu),
        from_ns: since(wait.start, begin),
        until_ns: since(wait.end, begin),
    });
    let timeline = Timeline {
        from_ns: since(from, begin),
        until_ns: since(until, begin),
        owners,
        rows,
        worst,
    };
    Some(Picture::new(caption, Chart::Timeline(timeline)))
}

fn row(name: String, mut spans: Vec<TimelineSpan>) -> TimelineRow {
    spans.sort_by_key(|s| s.from_ns);
    TimelineRow { name, spans }
}

fn since(at: Instant, begin: Instant) -> u64 {
    at.saturating_since(begin).as_nanos()
}

fn name(id: DomainId, names: &[(DomainId, String)]) -> String {
    id.called(told(id, names))
}

fn told(id: DomainId, names: &[(DomainId, String)]) -> Option<&str> {
    let known = names.iter().find(|(other, _)| *other == id);
    known.map(|(_, name)| &**name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Duration, Names, Record, Sink};
    use domio_run::observe::{Observer, Window};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn seen(window: Window) -> Seen {
        let mut observer = Observer::new(window);
        let mut names = Names::new();
        let guest = names.add_actor(VcpuName::new(DomainId(5), 0));
        let states = [
            (0, Runstate::Blocked, Runstate::Runnable),
            (1, Runstate::Runnable, Runstate::Running),
            (4, Runstate::Running, Runstate::Blocked),
            (30, Runstate::Blocked, Runstate::Runnable),
            (37, Runstate::Runnable, Runstate::Running),
            (40, Runstate::Running, Runstate::Blocked),
        ];
        for (at, old, new) in states {
            let at = Instant::ZERO + ms(100 + at);
            observer.record(&names, &Record::runstate(at, PcpuId(2), guest, old, new));
        }
        observer.finish()
    }

    fn timeline(section: &Section) -> &Timeline {
        match &section.figures[0].chart {
            Chart::Timeline(timeline) => timeline,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_trace_becomes_rows_and_curves() {
        let names = [(DomainId(5), "web".to_owned())];
        let sections = sections(&seen(Window::Between(ms(0), ms(10))), &names);
        assert_eq!(sections.len(), 2);
        assert_eq!(sections[0].figures.len(), 2);
        assert_eq!(sections[1].title, "Which vcpu runs when");
        let timeline = timeline(&sections[1]);
        assert_eq!((timeline.from_ns, timeline.until_ns), (0, 10_000_000));
        assert_eq!(timeline.worst, None);
        let rows: Vec<(&str, usize)> = timeline
            .rows
            .iter()
            .map(|r| (r.name.as_str(), r.spans.len()))
            .collect();
        assert_eq!(rows, [("p2", 1), ("web.0", 3)]);
    }

    #[test]
    fn the_longest_wait_is_shown_unless_another_window_is_wanted() {
        let names = [(DomainId(5), "web".to_owned())];
        let sections = sections(&seen(Window::Worst(ms(20))), &names);
        assert_eq!(sections[1].title, "Around the longest wait");
        let timeline = timeline(&sections[1]);
        let worst = timeline.worst.as_ref().unwrap();
        assert_eq!(
            (&*worst.row, worst.from_ns, worst.until_ns),
            ("web.0", 30_000_000, 37_000_000)
        );
        assert!(timeline.from_ns < 30_000_000 && timeline.until_ns >= 37_000_000);
    }

    #[test]
    fn policies_are_compared_by_domain_and_by_timeline() {
        let names = [
            (DomainId(5), "web".to_owned()),
            (DomainId(6), "idle".to_owned()),
        ];
        let both = ["credit", "sedf"].map(|p| (p.to_owned(), seen(Window::Worst(ms(20)))));
        let sections = compared(&both, &names);
        let captions: Vec<Vec<&str>> = sections
            .iter()
            .map(|s| s.figures.iter().map(|f| f.caption.as_str()).collect())
            .collect();
        assert_eq!(captions[0], ["web, from a wake-up until it runs"]);
        assert_eq!(captions[1], ["Under credit", "Under sedf"]);
        let Chart::Cdf(cdf) = &sections[0].figures[0].chart else {
            panic!("no distribution");
        };
        assert_eq!(cdf.series.len(), 2);
        assert!(compared(&[], &names).is_empty());
    }

    #[test]
    fn of_many_domains_those_that_wait_longest_are_shown() {
        let all: Vec<(f64, u32)> = [3.0, 9.0, 1.0, 9.0, 4.0].into_iter().zip(0..).collect();
        assert_eq!(worst_of(all.clone(), 3), [1, 3, 4]);
        assert_eq!(worst_of(all, 9), [0, 1, 2, 3, 4]);
        let names: Vec<(DomainId, String)> =
            (0..50).map(|i| (DomainId(i), format!("d{i}"))).collect();
        let waits = names
            .iter()
            .map(|(id, _)| (*id, vec![1.0, f64::from(id.0 % 45)]));
        let figure = lengths("Waits", "wait", &waits.collect(), &names).unwrap();
        assert!(
            figure.caption.ends_with("10 more are left out"),
            "{}",
            figure.caption
        );
        let Chart::Cdf(cdf) = &figure.chart else {
            panic!("no distribution");
        };
        let shown = |name: &str| cdf.series.iter().any(|s| s.name == name);
        assert!(cdf.series.len() == CURVES_MAX && shown("d44") && !shown("d0"));
    }

    #[test]
    fn nothing_seen_gives_no_section() {
        let seen = Observer::new(Window::Worst(ms(1))).finish();
        assert!(sections(&seen, &[]).is_empty());
    }
}
