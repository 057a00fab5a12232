//! Figures 2 to 12 of Ongaro, Cox and Rixner, 2008, from the samples of `domio reproduce`, each
//! with the claims about it.
//!
//! The paper draws bandwidth, shares and latency over one another; here each has a panel of its
//! own. Guests lie side by side in the order in which they were started, and a bar shows the range
//! within a replication, which the guests' means alone would hide where another one is fastest each
//! time.

use crate::data::{
    BarGroup, Bars, Chart, Figure, MarkShape, Panel, PanelCell, Panels, Quantity, Section, Sequence,
};
use crate::figure;
use domio_lab::experiments::ongaro::{
    CONFIGURATIONS, FIGURE_4, PINGS, Role, TESTS, Test, experiment,
};
use domio_lab::pooled::{self, Group};
use domio_lab::{Estimate, Ledger, Sample};
use std::collections::BTreeMap;

/// Samples by experiment, one a replication.
type All = BTreeMap<String, Vec<Sample>>;

/// Experiment of figure 2, and its guests.
const FIGURE_2: &str = "ongaro.fig2.burn7";
const FIGURE_2_GUESTS: u16 = 7;

/// What the paper prints of figures 5 and 6, in Mb/s: test, configuration, value.
const PRINTED_RATES: [(&str, &str, f64); 3] = [
    ("test1", "orig", 23.9),
    ("test1", "orig", 192.3),
    ("test2", "bs", OVER_100),
];
/// Printed as "over 100 Mbps".
const OVER_100: f64 = 100.0;
/// What the paper prints of shares, in percent.
const PRINTED_SHARES: [(&str, &str, f64); 11] = [
    ("test7", "orig", 30.5),
    ("test3", "orig", SEVENTH),
    ("test3", "all-off", SEVENTH),
    ("test3", "t", SEVENTH),
    ("test3", "b", SEVENTH),
    ("test3", "s", SEVENTH),
    ("test3", "tb", SEVENTH),
    ("test3", "ts", SEVENTH),
    ("test3", "bs", SEVENTH),
    ("test3", "sedf", SEVENTH),
    ("test3", "sedf-patched", SEVENTH),
];
/// Printed as "approximately one seventh", of all configurations but tbs.
const SEVENTH: f64 = 100.0 / 7.0;
/// What the paper prints of average latencies, in ms.
const PRINTED_LATENCIES: [(&str, &str, f64); 9] = [
    ("test3", "orig", 36_600.0),
    ("test3", "tbs", 5.5),
    ("test4", "orig", 12_300.0),
    ("test4", "tbs", 3.5),
    ("test5", "orig", 67.2),
    ("test6", "orig", 2.6),
    ("test7", "orig", 1_800.0),
    ("test8", "orig", 3_800.0),
    ("test8", "tb", 593.3),
];

/// Figures 5 to 12: number, test, and first words of the claims about it.
const OF_TESTS: [(u32, &str, &[&str]); 8] = [
    (5, "test1", &["ongaro.test1"]),
    (6, "test2", &["ongaro.test2"]),
    (7, "test3", &["ongaro.test3"]),
    (8, "test4", &["ongaro.test4"]),
    (9, "test5", &["ongaro.test5", "ongaro.test56"]),
    (10, "test6", &["ongaro.test6", "ongaro.test56"]),
    (11, "test7", &["ongaro.test7"]),
    (12, "test8", &["ongaro.test8"]),
];

/// Whether the samples of the experiment called `name` are drawn by [`sections`].
pub fn draws(name: &str) -> bool {
    let cell = |test: &Test| {
        let mut configurations = CONFIGURATIONS.iter();
        configurations.any(|c| experiment(test.name, c.name) == name)
    };
    name == FIGURE_2 || TESTS.iter().chain([&FIGURE_4]).any(cell)
}

/// One section a figure, of those for which there are samples and claims in `ledger`.
pub fn sections(samples: &All, ledger: &Ledger) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut add = |number: u32, title: &str, text: &str, figure: Option<Figure>, about: &[&str]| {
        let about = claims(ledger, about);
        if let (Some(figure), Some(about)) = (figure, about) {
            sections.push(Section {
                title: format!("Figure {number}: {title}"),
                text: text.to_owned(),
                figures: vec![figure, about],
            });
        }
    };
    add(
        2,
        "seven guests that burn",
        "",
        figure_2(samples),
        &["ongaro.fig2"],
    );
    add(3, "seven streams", "", figure_3(samples), &["ongaro.fig3"]);
    add(
        4,
        "what boost does for a ping",
        "Seven guests burn, one answers pings.",
        figure_4(samples),
        &["ongaro.fig4"],
    );
    for (number, name, about) in OF_TESTS {
        let Some(test) = TESTS.iter().find(|t| t.name == name) else {
            continue;
        };
        let text = match (name, test.has(Role::answers)) {
            ("test3", _) => format!("{NO_REPLY} {PRINTED_RANGE}"),
            (_, true) => NO_REPLY.to_owned(),
            (_, false) => String::new(),
        };
        add(number, test.title, &text, figure_of(test, samples), about);
    }
    sections
}

/// What a latency is, and what it hides.
const NO_REPLY: &str = "A latency is the average of all round trips of all replications. Their \
                        requests left within the measured time, and their replies were waited for \
                        after it; those without one are not counted.";

/// What the paper prints of the other averages of figure 7.
const PRINTED_RANGE: &str = "Printed: 5.5 to 259 ms for all configurations but orig, without \
                             saying which is which but for tbs.";

fn claims(ledger: &Ledger, about: &[&str]) -> Option<Figure> {
    let entries = ledger.entries.iter();
    let entries = entries.filter(|e| about.iter().any(|prefix| e.claim.has_prefix(prefix)));
    let entries: Vec<_> = entries.cloned().collect();
    (!entries.is_empty()).then(|| Figure {
        caption: "What the paper says about it".to_owned(),
        chart: Chart::Claims(entries),
    })
}

fn estimate(samples: &[Sample], key: &str) -> Option<Estimate> {
    let values: Vec<f64> = samples.iter().filter_map(|s| s.get(key)).collect();
    Estimate::of(&values)
}

fn mean(samples: &[Sample], key: &str) -> Option<f64> {
    estimate(samples, key).map(|e| e.mean)
}

fn figure_2(all: &All) -> Option<Figure> {
    let samples = all.get(FIGURE_2)?;
    let group = |guest: u16| BarGroup {
        name: format!("guest{guest}"),
        bars: vec![estimate(samples, &format!("guest{guest}.share_pct"))],
    };
    Some(Figure {
        caption: "Share of the processor of each of seven guests that burn, under credit with all \
                  defaults"
            .to_owned(),
        chart: Chart::Bars(Bars {
            value: Quantity::new("share of the processor", "%"),
            series: vec!["credit".to_owned()],
            groups: (1..=FIGURE_2_GUESTS).map(group).collect(),
            reference: Some(("a seventh".to_owned(), 100.0 / f64::from(FIGURE_2_GUESTS))),
        }),
    })
}

fn figure_3(all: &All) -> Option<Figure> {
    let series = [("tb", "with boost (tb)"), ("t", "without boost (t)")];
    let samples: Vec<&[Sample]> = series
        .iter()
        .map(|(c, _)| {
            all.get(&experiment("test1", c))
                .map_or(&[][..], Vec::as_slice)
        })
        .collect();
    if samples.iter().all(|s| s.is_empty()) {
        return None;
    }
    let streaming = TESTS[0].guests(Role::streams);
    let group = |guest: u16| BarGroup {
        name: format!("guest{guest}"),
        bars: samples
            .iter()
            .map(|s| estimate(s, &format!("guest{guest}.rate_mbps")))
            .collect(),
    };
    Some(Figure {
        caption: "Bandwidth of each of seven guests that stream, under credit with tickling and \
                  the event channel fix"
            .to_owned(),
        chart: Chart::Bars(Bars {
            value: Quantity::new("bandwidth", "Mb/s"),
            series: series.iter().map(|(_, name)| (*name).to_owned()).collect(),
            groups: streaming.map(group).collect(),
            reference: None,
        }),
    })
}

fn figure_4(all: &All) -> Option<Figure> {
    let curve = |configuration: &str, name: &str| {
        let first = all
            .get(&experiment(FIGURE_4.name, configuration))?
            .first()?;
        Some((name.to_owned(), first.list(PINGS).to_vec()))
    };
    let series: Vec<_> = [
        curve("tb", "with boost (tb)"),
        curve("t", "without boost (t)"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!series.is_empty()).then(|| Figure {
        caption: "Latency of consecutive pings in the first replication, with tickling and the \
                  event channel fix"
            .to_owned(),
        chart: Chart::Sequence(Sequence {
            count: "ping".to_owned(),
            value: Quantity::new("round trip", "ms"),
            series,
            published: vec![
                (
                    [150.0; 2],
                    "printed, without boost: about 150 ms".to_owned(),
                ),
                (
                    [0.2, 0.3],
                    "printed, with boost: mostly 0.2 to 0.3 ms".to_owned(),
                ),
            ],
        }),
    })
}

fn figure_of(test: &Test, all: &All) -> Option<Figure> {
    let cells: Vec<&[Sample]> = CONFIGURATIONS
        .iter()
        .map(|c| {
            let samples = all.get(&experiment(test.name, c.name));
            samples.map_or(&[][..], Vec::as_slice)
        })
        .collect();
    if cells.iter().all(|samples| samples.is_empty()) {
        return None;
    }
    let mut panels = Vec::new();
    if test.has(Role::streams) {
        panels.push(bandwidth(test, &cells));
    }
    if test.has(Role::burns) {
        panels.push(shares(test, &cells));
    }
    if test.has(Role::answers) {
        panels.push(latency(test, &cells));
    }
    Some(Figure {
        caption: format!("{} under each configuration", capitalised(test.name)),
        chart: Chart::Panels(Panels {
            columns: CONFIGURATIONS.iter().map(|c| c.name.to_owned()).collect(),
            panels,
        }),
    })
}

/// "Test 3" for "test3".
fn capitalised(test: &str) -> String {
    test.replace("test", "Test ")
}

/// A cell of every configuration; `of` gets its name and its samples.
fn by_configuration(
    cells: &[&[Sample]],
    of: impl Fn(&'static str, &[Sample]) -> PanelCell,
) -> Vec<PanelCell> {
    let named = CONFIGURATIONS.iter().zip(cells);
    named.map(|(c, samples)| of(c.name, samples)).collect()
}

fn bandwidth(test: &Test, cells: &[&[Sample]]) -> Panel {
    let guests: Vec<u16> = test.guests(Role::streams).collect();
    Panel {
        value: Quantity::new("bandwidth", "Mb/s"),
        log: false,
        mean: "average of the guests".to_owned(),
        range: "slowest to fastest guest of a replication".to_owned(),
        marks: vec![(MarkShape::Cross, "each guest that streams".to_owned())],
        remark: String::new(),
        cells: by_configuration(cells, |name, samples| PanelCell {
            mean: estimate(samples, "streams.average_mbps"),
            label: String::new(),
            range: range(samples, "streams.lowest_mbps", "streams.highest_mbps"),
            marks: vec![of_guests(samples, &guests, "rate_mbps")],
            published: printed(&PRINTED_RATES, test, name, |v| match v {
                OVER_100 => "over 100".to_owned(),
                v => format!("{v}"),
            }),
            remark: String::new(),
        }),
    }
}

fn shares(test: &Test, cells: &[&[Sample]]) -> Panel {
    let guests: Vec<u16> = test.guests(Role::burns).collect();
    Panel {
        value: Quantity::new("share of the processor", "%"),
        log: false,
        mean: "average of the guests that burn".to_owned(),
        range: String::new(),
        marks: vec![
            (MarkShape::Box, "each guest that burns".to_owned()),
            (MarkShape::Ring, "dom0".to_owned()),
        ],
        remark: String::new(),
        cells: by_configuration(cells, |name, samples| PanelCell {
            mean: estimate(samples, "burn.average_pct"),
            label: String::new(),
            range: None,
            marks: vec![
                of_guests(samples, &guests, "share_pct"),
                mean(samples, "dom0.share_pct").into_iter().collect(),
            ],
            published: printed(&PRINTED_SHARES, test, name, |v| match v {
                SEVENTH => "1/7".to_owned(),
                v => format!("{v} %"),
            }),
            remark: String::new(),
        }),
    }
}

fn latency(test: &Test, cells: &[&[Sample]]) -> Panel {
    Panel {
        value: Quantity::new("ping latency", "ms"),
        log: true,
        mean: "average".to_owned(),
        range: "standard deviation around it".to_owned(),
        marks: vec![(MarkShape::Dash, "median".to_owned())],
        remark: "replies a replication".to_owned(),
        cells: by_configuration(cells, |name, samples| {
            let pings: Vec<Group> = samples.iter().map(Group::pings).collect();
            let average = Estimate::of(&pooled::means(&pings));
            let range = average.and_then(|e| {
                let deviation = Estimate::of(&pooled::deviations(&pings))?.mean;
                Some([e.mean - deviation, e.mean + deviation])
            });
            let label = match average {
                Some(average) => milliseconds(average.mean),
                None if samples.is_empty() => String::new(),
                None => "no reply".to_owned(),
            };
            let median = mean(samples, "ping.p50_ms");
            PanelCell {
                mean: average,
                label,
                range,
                marks: median.map(|m| vec![m]).into_iter().collect(),
                published: printed(&PRINTED_LATENCIES, test, name, milliseconds),
                remark: mean(samples, "ping.replies").map_or(String::new(), figure::short),
            }
        }),
    }
}

fn of_guests(samples: &[Sample], guests: &[u16], measure: &str) -> Vec<f64> {
    let keys = guests.iter().map(|guest| format!("guest{guest}.{measure}"));
    keys.filter_map(|key| mean(samples, &key)).collect()
}

fn range(samples: &[Sample], low: &str, high: &str) -> Option<[f64; 2]> {
    Some([mean(samples, low)?, mean(samples, high)?])
}

fn printed(
    list: &[(&str, &str, f64)],
    test: &Test,
    configuration: &str,
    text: impl Fn(f64) -> String,
) -> Vec<(f64, String)> {
    let here = list
        .iter()
        .filter(|(t, c, _)| *t == test.name && *c == configuration);
    here.map(|(_, _, value)| (*value, text(*value))).collect()
}

/// A latency for people: "36.6 s", "259 ms", "0.16 ms".
fn milliseconds(ms: f64) -> String {
    let short = |value: f64| match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 0.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    };
    match ms {
        ms if ms >= 999.5 => format!("{} s", short(ms / 1e3)),
        ms => format!("{} ms", short(ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_lab::Claims;
    use domio_lab::ledger::{Entry, Finding};

    fn ledger() -> Ledger {
        let claims = Claims::shipped();
        let entry = |claim: &domio_lab::Claim| Entry {
            claim: claim.clone(),
            finding: Finding::not_implemented(),
        };
        let ongaro = claims.iter().filter(|c| c.paper() == "ongaro");
        Ledger {
            entries: ongaro.map(entry).collect(),
        }
    }

    fn streams() -> Sample {
        Sample::new()
            .with("streams.average_mbps", 100.0)
            .with("streams.lowest_mbps", 20.0)
            .with("streams.highest_mbps", 180.0)
            .with("guest1.rate_mbps", 20.0)
            .with("guest2.rate_mbps", 180.0)
    }

    fn panels(section: &Section) -> &Panels {
        match &section.figures[0].chart {
            Chart::Panels(panels) => panels,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn figures_come_with_their_claims() {
        let all: All = TESTS
            .iter()
            .map(|t| (experiment(t.name, "orig"), vec![streams(); 2]))
            .chain([(FIGURE_2.to_owned(), vec![Sample::new()])])
            .chain([(experiment("test1", "tb"), vec![streams(); 2])])
            .chain([(experiment("fig4", "t"), vec![Sample::new()])])
            .collect();
        assert!(all.keys().all(|name| draws(name)));
        let sections = sections(&all, &ledger());
        assert_eq!(sections.len(), 11, "figures 2 to 12");
        for (section, number) in sections.iter().zip(2..) {
            assert!(section.title.starts_with(&format!("Figure {number}: ")));
            let Chart::Claims(entries) = &section.figures[1].chart else {
                panic!("no claims");
            };
            assert!(!entries.is_empty());
        }
        assert!(!draws("ongaro.debit.1ms") && !draws("ongaro.test9.orig"));
    }

    #[test]
    fn a_cell_has_what_its_guests_do() {
        let pings = streams()
            .with("ping.mean_ms", 20.0)
            .with("ping.deviation_ms", 30.0)
            .with("ping.replies", 400.0);
        let none = streams().with("ping.replies", 0.0);
        let twice = streams()
            .with("ping.mean_ms", 50.0)
            .with("ping.deviation_ms", 30.0)
            .with("ping.replies", 200.0);
        let all: All = [
            (experiment("test7", "orig"), vec![none.clone()]),
            (experiment("test7", "tb"), vec![pings.clone()]),
            (experiment("test7", "bs"), vec![pings, none, twice]),
        ]
        .into();
        let sections = sections(&all, &ledger());
        let panels = panels(&sections[0]);
        let names: Vec<&str> = panels
            .panels
            .iter()
            .map(|p| p.value.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["bandwidth", "share of the processor", "ping latency"]
        );
        let [bandwidth, _, latency] = panels.panels.as_slice() else {
            panic!("three panels");
        };
        assert_eq!(bandwidth.cells[0].marks, [[20.0, 180.0]]);
        assert_eq!(bandwidth.cells[0].range, Some([20.0, 180.0]));
        assert_eq!(latency.cells[0].label, "no reply");
        assert_eq!(latency.cells[0].published, [(1_800.0, "1.8 s".to_owned())]);
        assert_eq!(latency.cells[5].label, "20.0 ms");
        let [low, high] = latency.cells[5].range.expect("a deviation");
        assert!((low + 10.0).abs() < 0.1 && (high - 50.0).abs() < 0.1);
        assert_eq!(latency.cells[7].label, "30.0 ms", "of all 600 round trips");
        assert_eq!(latency.cells[5].remark, "400");
        assert_eq!(latency.cells[1], PanelCell::default(), "not run");
    }

    #[test]
    fn latencies_read_as_people_say_them() {
        for (ms, text) in [
            (36_600.0, "36.6 s"),
            (999.6, "1.0 s"),
            (259.2, "259 ms"),
            (5.5, "5.5 ms"),
            (0.157, "0.16 ms"),
        ] {
            assert_eq!(milliseconds(ms), text);
        }
    }
}
