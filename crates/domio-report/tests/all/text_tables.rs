//! Tables in the terminal: what has room, in which order, and what stands out.

use anstream::adapter::strip_str;
use domio_answer::{Cell, MeanCell, Table, Tone};
use domio_report::tables::{mean, name, number, text};
use domio_report::text::View;
use domio_report::text::table::{render, titled};

/// `table` as `view` asks for, without the codes for colours.
fn plain(table: &Table, view: &View) -> String {
    strip_str(&render(table, view)).to_string()
}

fn estimate(mean: f64, half: f64) -> Cell {
    let ci95 = Some([mean - half, mean + half]);
    let n = 3;
    MeanCell {
        ci95,
        n,
        ..MeanCell::alone(mean)
    }
    .into()
}

const REMARK: &str = "the head of the queue runs for one slice, then joins the tail";

fn policies() -> Table {
    let columns = [name("policy"), mean("latency", ""), text("remark")];
    let mut table = Table::new("", columns);
    table.row(["credit".into(), estimate(14.29, 0.03), REMARK.into()]);
    table.row(["credit2".into(), MeanCell::alone(0.2).into(), "fast".into()]);
    table.set_tone(1, 2, Tone::Good);
    table
}

/// A domain and thirty columns of figures, the titles of which say their number.
fn wide() -> Table {
    let columns = (0..30).map(|i| mean(format!("latency {i:02}"), "%"));
    let columns: Vec<_> = [name("domain")].into_iter().chain(columns).collect();
    let mut table = Table::new("Latencies", columns);
    for (domain, base) in [("web", 7.0), ("db", 12.0), ("batch", 0.5)] {
        let figures = (0..30).map(|i| estimate(base + f64::from(i), 0.25));
        table.row([domain.into()].into_iter().chain(figures));
    }
    table
}

/// The order of rows that begin with a letter each.
fn order(table: &Table, sort: &str) -> String {
    let view = View {
        sort: sort.parse().ok(),
        ..View::default()
    };
    let text = plain(table, &view);
    let rows = text.lines().skip(2).map(|line| line[..1].to_owned());
    rows.collect()
}

#[test]
fn figures_are_right_aligned_and_tones_are_codes() {
    let text = render(&policies(), &View::default());
    assert!(text.contains('\u{1b}'));
    insta::assert_snapshot!(strip_str(&text));
}

#[test]
fn words_wrap_and_figures_do_not() {
    let mut long = policies();
    let remark = format!("{REMARK} ").repeat(2);
    long.row(["null".into(), MeanCell::alone(1.0).into(), remark.into()]);
    let text = plain(&long, &View::of_width(80));
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(text.contains("14.29 ± 0.03"));
    assert!(text.lines().count() > 5);
}

#[test]
fn columns_without_room_are_named() {
    for width in [0, 80, 97, 150, 200, u16::MAX] {
        let view = View::of_width(width);
        let text = plain(&wide(), &view);
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(view.width.into()), "{width}: {text}");
        let text = text.replace('\n', " ");
        assert!(
            text.contains("no room for latency") && text.contains("29: widen"),
            "{text}"
        );
    }
    let chosen = View {
        columns: vec!["latency 29".into()],
        ..View::of_width(80)
    };
    let text = plain(&wide(), &chosen);
    assert!(text.contains("29") && !text.contains("28"), "{text}");
    assert!(text.contains("web") && !text.contains("no room"), "{text}");
}

#[test]
fn columns_without_room_go_into_further_tables() {
    for width in [80, 200] {
        let text = strip_str(&titled(&wide(), &View::of_width(width))).to_string();
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(width.into()), "{width}: {text}");
        assert!(text.starts_with("Latencies [%]\n\n"), "{text}");
        assert_eq!(text.matches("latency").count(), 30, "{text}");
        let tables = text.matches("domain").count();
        assert_eq!(text.matches("web ").count(), tables, "{text}");
        assert!(tables > 1 && !text.contains("no room"), "{text}");
    }
    let mut long = Table::new("", [name("domain"), number("x".repeat(300), "")]);
    long.row(["web".into(), 1.0.into()]);
    let text = strip_str(&titled(&long, &View::of_width(80))).to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    assert_eq!(text.matches('x').count(), 300, "{text}");
}

#[test]
fn a_name_that_is_too_long_wraps() {
    let mut table = Table::new("", [name("domain"), number("share", "")]);
    table.row(["x".repeat(300).into(), 1.0.into()]);
    let text = plain(&table, &View::of_width(80));
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(text.contains("no room for share"), "{text}");
}

#[test]
fn rows_are_sorted_by_what_cells_are_worth() {
    let mut table = Table::new("", [name("vcpu"), mean("waits_ns", "ns")]);
    table.row(["a".into(), MeanCell::alone(59.7e6).into()]);
    table.row(["b".into(), Cell::None]);
    table.row(["c".into(), MeanCell::alone(812e3).into()]);
    table.row(["d".into(), estimate(1.2e9, 0.1e9)]);
    let text = plain(&table, &View::default());
    assert!(
        text.contains("59.7 ms") && text.contains("1.20 ± 0.10 s"),
        "{text}"
    );
    for (sort, rows) in [
        ("waits", "dacb"),
        ("waits_ns:asc", "cadb"),
        ("vcpu", "dcba"),
        ("other", "abcd"),
    ] {
        assert_eq!(order(&table, sort), rows, "{sort}");
    }
}

#[test]
fn a_table_without_the_columns_is_left_out() {
    let view = View {
        columns: vec!["jitter".into()],
        ..View::default()
    };
    assert_eq!(plain(&policies(), &view), "");
    assert_eq!(titled(&policies(), &view), "");
    assert!(view.unmet().unwrap().contains("latency; "));
}

#[test]
fn a_number_and_its_unit_are_not_parted() {
    let view = View {
        width: 27,
        ..View::default()
    };
    let text = "the guest waits for 12.5 %, then for 30 ms of 1 s or more";
    assert_eq!(
        view.item("", text),
        "- the guest waits for\n  12.5 %, then for 30 ms of\n  1 s or more\n"
    );
}
