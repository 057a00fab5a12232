//! A whole page from made-up figures: its structure, its escaping, and that it stands alone.
//!
//! Set `DOMIO_REPORT_DEMO` to a file name to have the page written there, to look at it.

use domio_answer::Table;
use domio_core::Runstate;
use domio_papers::ledger::{ClaimResult, LedgerEntry};
use domio_papers::{ClaimLedger, Claims};
use domio_report::data::{
    BarGroup, Bars, Cdf, CdfSeries, Chart, Line, Lines, MarkShape, Panel, PanelCell, Panels,
    PaperTitle, Picture, Point, Printed, Quantity, ReportData, Section, Sequence, Stack, StackBar,
    Timeline, TimelineRow, TimelineSpan, Wait,
};
use domio_report::html::page;
use domio_report::tables;
use domio_stats::Estimate;

/// A repeatable sequence in 0 to 1 (multiplicative congruential, as in Park and Miller).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        self.0 as f64 / 2_147_483_647.0
    }

    fn estimate(&mut self, mean: f64, width: f64) -> Option<Estimate> {
        let values: Vec<f64> = (0..10)
            .map(|_| mean + width * (self.next() - 0.5))
            .collect();
        Estimate::of(&values)
    }
}

fn ledger() -> ClaimLedger {
    let claims = Claims::shipped();
    let mut noise = Noise(7);
    let finding = |i: usize, noise: &mut Noise| match i % 4 {
        0 => ClaimResult::estimated(true, noise.estimate(14.3, 0.2).unwrap(), "% of one pcpu"),
        1 => ClaimResult::decided(
            true,
            "spread 1.42 with boost, 1.47 without: 3.4 % apart",
            "",
        ),
        2 => ClaimResult::decided(false, vec![23.1, 41.7, 188.2], "Mb/s")
            .note("the slowest guest gets more than the paper's 23.9 Mb/s times two"),
        _ => ClaimResult::not_implemented(),
    };
    let entries = claims
        .iter()
        .take(24)
        .enumerate()
        .map(|(i, claim)| LedgerEntry {
            claim: claim.clone(),
            finding: finding(i, &mut noise),
        });
    ClaimLedger {
        entries: entries.collect(),
    }
}

fn shares() -> Chart {
    let mut noise = Noise(3);
    let groups = (0..8).map(|domain| BarGroup {
        name: match domain {
            0 => "Domain-0 (driver domain)".to_owned(),
            n => format!("d{n} <burn & ping>"),
        },
        bars: vec![
            noise.estimate(12.5, 1.0),
            noise.estimate(12.5 + domain as f64 / 2.0, 0.3),
            if domain == 3 {
                None
            } else {
                noise.estimate(10.0, 6.0)
            },
        ],
        marks: vec![None, Some(true), Some(false)],
    });
    Chart::Bars(Bars {
        value: Quantity::new("share of the processor", "% of one pcpu"),
        series: vec!["credit (Xen 3.1)".into(), "credit2".into(), "sedf".into()],
        groups: groups.collect(),
        reference: Some(("fair share of eight".into(), 12.5)),
        published: vec![Printed {
            at: vec!["d1 <burn & ping>".into()],
            of: None,
            value: 13.0,
            text: "13 <printed>".into(),
        }],
        log: None,
    })
}

fn many_series() -> Chart {
    let mut noise = Noise(11);
    let names = ["orig", "all-off", "t", "b", "s", "tb", "ts", "tbs"];
    Chart::Bars(Bars {
        value: Quantity::new("average ping latency", "ms"),
        series: names.iter().map(|n| format!("configuration {n}")).collect(),
        groups: vec![BarGroup {
            name: "test 5, a guest that was started last and answers pings".into(),
            bars: (0..names.len() as i32)
                .map(|i| noise.estimate(3_f64.powi(i), 3_f64.powi(i) / 2.0))
                .collect(),
            marks: Vec::new(),
        }],
        ..Bars::default()
    })
}

fn waits() -> Chart {
    let mut noise = Noise(13);
    let parts = ["run queue", "event-channel scan", "ring", "NIC", "work"];
    let bars = (1..5).map(|domain| StackBar {
        name: format!("d{domain} with a name that is rather long"),
        lengths: parts.iter().map(|_| noise.next() * 20.0).collect(),
    });
    Chart::Stack(Stack {
        value: Quantity::new("time of the packets", "%"),
        parts: parts.map(str::to_owned).into(),
        bars: bars.collect(),
    })
}

fn latencies() -> Chart {
    let mut noise = Noise(5);
    let mut series = |name: &str, scale: f64, n: usize| {
        let values: Vec<f64> = (0..n)
            .map(|_| scale * (-(1.0 - noise.next()).ln()).powi(2) + 0.002)
            .collect();
        CdfSeries::of(name, &values)
    };
    Chart::Cdf(Cdf {
        value: Quantity::new("time from wake to run", "ms"),
        series: vec![
            series("credit (Xen 3.1)", 8.0, 5000),
            series("credit2", 0.4, 5000),
            series("round-robin", 30.0, 400),
        ],
    })
}

fn timeline() -> Chart {
    const END: u64 = 60_000_000;
    let mut noise = Noise(9);
    let owners: Vec<String> = (0..4).map(|n| format!("d{n}")).collect();
    let mut pcpu = Vec::new();
    let mut vcpus = vec![Vec::new(); owners.len()];
    let (mut at, mut owner) = (0, 0);
    while at < END {
        let ran = (noise.next() * 4e6) as u64 + 100_000;
        let span = |owner, state| TimelineSpan {
            from_ns: at,
            until_ns: at + ran,
            owner,
            state,
        };
        let idle = noise.next() < 0.1;
        for (n, spans) in vcpus.iter_mut().enumerate() {
            spans.push(span(
                n,
                match n {
                    _ if n == owner && !idle => Runstate::Running,
                    2 => Runstate::Blocked,
                    3 if at > END / 2 => Runstate::Offline,
                    _ => Runstate::Runnable,
                },
            ));
        }
        if !idle {
            pcpu.push(span(owner, Runstate::Running));
        }
        at += ran;
        owner = (owner + 1 + (noise.next() * 2.0) as usize) % owners.len();
    }
    let row = |name: String, spans| TimelineRow { name, spans };
    let mut rows = vec![row("p0".into(), pcpu)];
    rows.extend(
        vcpus
            .into_iter()
            .enumerate()
            .map(|(n, spans)| row(format!("d{n}v0"), spans)),
    );
    Chart::Timeline(Timeline {
        from_ns: 0,
        until_ns: END,
        owners,
        worst: rows.last().map(|row| Wait {
            row: row.name.clone(),
            from_ns: END / 4,
            until_ns: END / 2,
        }),
        rows,
    })
}

/// Three panels of four configurations.
fn panels() -> Chart {
    let mut noise = Noise(5);
    let columns = ["orig", "all-off", "tb", "sedf-patched"];
    let mut panel = |name: &str, unit: &str, log: bool, mean: f64| Panel {
        value: Quantity::new(name, unit),
        log,
        mean: "average".into(),
        range: "lowest to highest".into(),
        marks: vec![(MarkShape::Cross, "each guest".into())],
        remark: "remark <1>".into(),
        cells: (0..columns.len())
            .map(|i| {
                let scale = if log { 30_f64.powi(i as i32) } else { 1.0 };
                PanelCell {
                    mean: noise.estimate(mean * scale, mean * scale / 10.0),
                    label: if log { "9 <ms>".into() } else { String::new() },
                    range: Some([mean * scale * 0.4, mean * scale * 1.9]),
                    marks: vec![
                        (0..5)
                            .map(|_| mean * scale * (noise.next() + 0.5))
                            .collect(),
                    ],
                    published: match i {
                        0 => vec![(mean * 1.5, "published".into())],
                        _ => Vec::new(),
                    },
                    remark: format!("{i} & more"),
                }
            })
            .collect(),
    };
    Chart::Panels(Panels {
        panels: vec![
            panel("bandwidth", "Mb/s", false, 110.0),
            panel("share of the processor", "%", false, 24.0),
            panel("ping latency", "ms", true, 0.2),
        ],
        columns: columns.map(str::to_owned).to_vec(),
    })
}

fn sequence() -> Chart {
    let mut noise = Noise(9);
    let mut curve = |mean: f64| (0..90).map(|_| mean * (noise.next() + 0.5)).collect();
    Chart::Sequence(Sequence {
        count: "ping".into(),
        value: Quantity::new("round trip", "ms"),
        log: true,
        series: vec![
            ("with <boost>".into(), curve(0.25)),
            ("without".into(), curve(150.0)),
        ],
        published: vec![([0.2, 0.3], "published: 0.2 to 0.3 ms".into())],
    })
}

fn lines() -> Chart {
    let mut noise = Noise(17);
    let mut line = |name: &str, slope: f64| Line {
        name: name.into(),
        points: (1..=8)
            .map(|x| Point {
                x: f64::from(x),
                y: noise.estimate(slope * f64::from(x), 20.0),
            })
            .collect(),
    };
    Chart::Lines(Lines {
        along: Quantity::new("vcpus, times the cores", ""),
        value: Quantity::new("turnaround", "s"),
        log: false,
        lines: vec![line("credit", 362.0), line("<sedf>", 300.0)],
        published: vec![(8.0, 2_895.7, "2895.7 s".into())],
    })
}

fn demo() -> ReportData {
    let figure = |caption: &str, chart| Picture::new(caption, chart);
    ReportData {
        name: "demo".into(),
        title: "Demonstration <of> the report".into(),
        lead: "Made-up figures: eight domains & three policies.".into(),
        provenance: vec![
            ("version".into(), "domio 0.1.0".into()),
            ("command".into(), "domio reproduce ongaro --seed 1".into()),
            ("seed".into(), "1".into()),
            ("replications".into(), "10".into()),
        ],
        overview: Vec::new(),
        ledger: Some(ledger()),
        papers: vec![PaperTitle {
            id: "boutcher".into(),
            title: "Scheduling <I/O>".into(),
        }],
        sections: vec![
            Section {
                title: "Shares".into(),
                text: "Who gets how much of the processor. \"Quoted\" & <marked>.".into(),
                figures: vec![
                    figure("Share of the processor by domain and policy", shares()),
                    figure(
                        "Average ping latency in eight configurations",
                        many_series(),
                    ),
                    figure("What packets waited for", waits()),
                ],
            },
            Section {
                title: "Latency".into(),
                text: String::new(),
                figures: vec![figure("Time that a woken vcpu waits", latencies())],
            },
            Section {
                title: "A figure with its claims".into(),
                text: String::new(),
                figures: vec![
                    figure("Three quantities", panels()),
                    figure("One ping after the other", sequence()),
                    figure("Turnaround by load", lines()),
                    figure("About it", Chart::Claims(ledger().entries[..3].to_vec())),
                ],
            },
            Section {
                title: "The first 60 ms".into(),
                text: String::new(),
                figures: vec![
                    figure("What runs on p0, and what each vcpu does", timeline()),
                    figure("A table without a picture", Chart::Table(switches())),
                ],
            },
        ],
    }
}

fn switches() -> Table {
    let columns = [tables::name("policy"), tables::number("switches", "1/s")];
    let mut table = Table::new("", columns);
    table.row(["credit".into(), 1204.0.into()]);
    table
}

/// The page reduced to its tags with their classes, without pictures' shapes and repeated lines.
fn outline(page: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut depth = 0_usize;
    for tag in page.split('<').skip(1).filter_map(|t| t.split('>').next()) {
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
            continue;
        }
        let name = tag.split(' ').next().unwrap_or_default();
        let shape = [
            "rect", "line", "path", "text", "g", "title", "pattern", "defs",
        ];
        let lone = tag.starts_with('!') || ["meta", "input"].contains(&name);
        if !shape.contains(&name) {
            let class = tag
                .split("class=\"")
                .nth(1)
                .and_then(|c| c.split('"').next());
            let class = class
                .map(|c| format!(".{}", c.replace(' ', ".")))
                .unwrap_or_default();
            let line = format!("{}{name}{class}", "  ".repeat(depth));
            if out.last() != Some(&line) {
                out.push(line);
            }
        }
        depth += usize::from(!lone);
    }
    out.dedup();
    let mut shown: Vec<String> = Vec::new();
    for line in out {
        let cell = ["td", "th", "small", "tr"]
            .iter()
            .any(|c| line.trim_start().starts_with(c));
        if !(cell && shown.iter().rev().take(12).any(|s| *s == line)) {
            shown.push(line);
        }
    }
    shown.join("\n")
}

#[test]
fn the_page_has_its_parts() {
    let page = page(&demo());
    if let Some(path) = std::env::var_os("DOMIO_REPORT_DEMO") {
        std::fs::write(path, &page).expect("the demo file can be written");
    }
    insta::assert_snapshot!(outline(&page));
}

#[test]
fn the_page_stands_alone() {
    let page = page(&demo());
    for outside in [
        "http://", "https://", "src=", "@import", "<script", "url(\"", "url('",
    ] {
        assert!(!page.contains(outside), "the page refers to {outside}");
    }
    // Every url() is a pattern of the page itself.
    for (at, _) in page.match_indices("url(") {
        let target = page[at + 4..].split(')').next().unwrap();
        let id = target.strip_prefix('#').expect("only ids of the page");
        assert!(
            page.contains(&format!("id=\"{id}\"")),
            "{id} is not defined"
        );
    }
}

#[test]
fn text_is_escaped_everywhere() {
    let evil = "<b onload=\"x\">&'";
    let mut data = demo();
    data.title = evil.into();
    data.lead = evil.into();
    data.provenance.push((evil.into(), evil.into()));
    for section in &mut data.sections {
        section.title = evil.into();
        section.text = evil.into();
        for figure in &mut section.figures {
            figure.caption = evil.into();
            match &mut figure.chart {
                Chart::Bars(bars) => {
                    bars.series[0] = evil.into();
                    bars.groups[0].name = evil.into();
                    bars.value = Quantity::new(evil, evil);
                    bars.reference = Some((evil.into(), 1.0));
                    bars.published = vec![Printed {
                        at: Vec::new(),
                        of: None,
                        value: 1.0,
                        text: evil.into(),
                    }];
                }
                Chart::Stack(stack) => {
                    stack.parts[0] = evil.into();
                    stack.bars[0].name = evil.into();
                    stack.value = Quantity::new(evil, evil);
                }
                Chart::Cdf(cdf) => {
                    cdf.series[0].name = evil.into();
                    cdf.value = Quantity::new(evil, evil);
                }
                Chart::Timeline(timeline) => {
                    timeline.owners[0] = evil.into();
                    timeline.rows[0].name = evil.into();
                    timeline.worst.as_mut().unwrap().row = evil.into();
                }
                Chart::Table(table) => {
                    *table = Table::new(evil, [tables::name(evil)]);
                    table.row([evil.into()]);
                }
                Chart::Panels(panels) => {
                    panels.columns[0] = evil.into();
                    let panel = &mut panels.panels[0];
                    panel.value = Quantity::new(evil, evil);
                    (panel.mean, panel.range) = (evil.into(), evil.into());
                    panel.marks[0].1 = evil.into();
                    panel.cells[0].label = evil.into();
                    panel.cells[0].published[0].1 = evil.into();
                }
                Chart::Sequence(sequence) => {
                    sequence.count = evil.into();
                    sequence.value = Quantity::new(evil, evil);
                    sequence.series[0].0 = evil.into();
                    sequence.published[0].1 = evil.into();
                }
                Chart::Lines(lines) => {
                    lines.along = Quantity::new(evil, evil);
                    lines.value = Quantity::new(evil, evil);
                    lines.lines[0].name = evil.into();
                    lines.published[0].2 = evil.into();
                }
                Chart::Claims(entries) => {
                    entries[0].claim.experiment = evil.into();
                    entries[0].finding = ClaimResult::decided(true, evil, evil).note(evil);
                }
            }
        }
    }
    let entry = &mut data.ledger.as_mut().unwrap().entries[0];
    entry.claim.expect = evil.into();
    entry.finding = ClaimResult::decided(false, evil, evil).note(evil);
    let page = page(&data);
    assert!(!page.contains("<b onload"), "a tag slipped through");
    for (at, _) in page.match_indices("b onload=") {
        let before = &page[..at];
        assert!(
            before.ends_with("&lt;"),
            "…{}",
            &before[before.len() - 40..]
        );
    }
    assert!(
        !page.contains("onload=\"x"),
        "a quotation mark slipped through"
    );
    for (name, content) in domio_report::files::of(&data) {
        assert!(
            !content.contains("<b onload") || name.ends_with(".csv"),
            "{name}"
        );
        assert!(!name.contains(['/', '<', '&']), "{name}");
    }
}

#[test]
fn an_empty_report_is_a_page() {
    let page = page(&ReportData::default());
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
}

/// Figures are tabulated where nobody looks first, pictures are there for both kinds of screen, and
/// each says what it shows.
#[test]
fn tables_are_closed_and_pictures_have_texts() {
    let page = page(&demo());
    assert!(!page.contains("<details open"));
    let pictures = |class: &str| page.matches(&format!("class=\"chart {class}\"")).count();
    assert_eq!(pictures("wide"), pictures("narrow"));
    assert_eq!(
        pictures("wide"),
        page.matches("<summary>Figures</summary>").count()
    );
    for (at, _) in page.match_indices("role=\"img\"") {
        let label = page[at..].split("aria-label=\"").nth(1).unwrap();
        let label = label.split('"').next().unwrap();
        assert!(
            label.contains(". ") && label.chars().any(|c| c.is_ascii_digit()),
            "{label}"
        );
    }
    assert!(page.contains("<span class=\"better\"> +</span>"));
    assert!(page.contains("<span class=\"worse\"> −</span>"));
}

/// Every link of the contents leads somewhere, and no id is used twice.
#[test]
fn contents_lead_somewhere() {
    let page = page(&demo());
    let links: Vec<&str> = page
        .split("href=\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(links.len() > 10, "{links:?}");
    for link in links {
        assert_eq!(page.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
    }
}

/// Rules and marks of the page: a phone has lists in the place of tables, paper shows what is
/// closed.
#[test]
fn every_cell_has_its_heading_for_narrow_screens() {
    let page = page(&demo());
    let figures = page
        .split("<td")
        .skip(1)
        .filter(|td| td.starts_with(" class=\"figure\""));
    let mut count = 0;
    for cell in figures {
        let tag = cell.split('>').next().unwrap();
        assert!(tag.contains("data-label="), "{tag}");
        count += 1;
    }
    assert!(count > 50);
}
