//! Draws the screen: a table of domains, below it waits and the use of driver domains.

use super::Screen;
use super::columns::{COLUMNS, Column, EXECUTIONS, PARKED, WIDTH, Window, figure};
use super::keys::KEYS;
use super::rows::{Row, Windows};
use crate::names::DomainNames;
use crate::untold;
use domio_core::DomainId;
use domio_meter::{IntervalSample, QueueWait, charges};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use std::collections::BTreeMap;

/// Least size of a terminal.
const WIDTH_MIN: u16 = 80;
const HEIGHT_MIN: u16 = 16;

/// Characters of names, and of a share over time at least.
const NAME: usize = 15;
const SHARE: usize = 8;

/// Bars of a share, from an eighth to all.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Percent of a window from which waiting is worth a colour.
const MUCH: f64 = 10.0;

/// Draws `screen`.
pub fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let area = frame.area();
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        let told = format!(
            "This terminal has {}x{} characters; domio mon needs {WIDTH_MIN}x{HEIGHT_MIN}. \
             Make it larger, or press q.",
            area.width, area.height
        );
        let told = Paragraph::new(told).wrap(ratatui::widgets::Wrap { trim: true });
        return frame.render_widget(told, area);
    }
    let windows = screen.windows();
    let below = windows.as_ref().map_or_else(Vec::new, |(short, long)| {
        below(screen, short, long, usize::from(area.height - 8) / 3)
    });
    let [head, table, bottom, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(5),
        Constraint::Length(below.len() as u16),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(title(screen, head.width)), head);
    match &windows {
        Some((short, long)) => draw_table(frame, screen, &screen.of(short, long), table),
        None => {
            let told = match (&screen.note, screen.ended) {
                (Some(note), _) => note.clone(),
                (None, true) => "the trace is over, and has no runstates".to_owned(),
                (None, false) => "waiting for the first sample".to_owned(),
            };
            let told = Paragraph::new(told).wrap(ratatui::widgets::Wrap { trim: true });
            frame.render_widget(told, table);
        }
    }
    frame.render_widget(Paragraph::new(below), bottom);
    let keys = "q quit  h help  c n p pcpu  space pause  ←→ time  s sort  ↑↓ Enter vcpus";
    frame.render_widget(Paragraph::new(styled(screen, keys, Look::Dim)), foot);
    if screen.help {
        help(frame, screen, area);
    }
}

/// How a piece of text stands out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Strong,
    Bar,
    Dim,
    Bad,
    Good,
}

fn style(screen: &Screen, look: Look) -> Style {
    let plain = Style::default();
    let colour = |colour| match screen.colour {
        true => plain.fg(colour),
        false => plain,
    };
    match look {
        Look::Plain => plain,
        Look::Strong => plain.add_modifier(Modifier::BOLD),
        Look::Bar => plain.add_modifier(Modifier::REVERSED),
        Look::Dim => plain.add_modifier(Modifier::DIM),
        Look::Bad => colour(Color::Yellow),
        Look::Good => colour(Color::Cyan),
    }
}

fn styled(screen: &Screen, text: impl Into<String>, look: Look) -> Span<'static> {
    Span::styled(text.into(), style(screen, look))
}

/// `text` in exactly `width` characters.
fn fit(text: &str, width: usize) -> String {
    let cut: String = match text.chars().count() > width {
        true => text
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    };
    format!("{cut:width$}")
}

/// What is watched, when, and whether it goes on.
fn title(screen: &Screen, width: u16) -> Line<'static> {
    let scope = screen
        .pcpu
        .map_or_else(|| "host".to_owned(), |p| format!("pcpu {}", p.0));
    let figures = match screen.compatible {
        true => " as xenbaked",
        false => "",
    };
    let mut right = String::new();
    if let (Some(shown), Some((_, last))) = (screen.shown(), screen.history.ends()) {
        let end = screen.history.windows(shown).0.end;
        let back = last - shown;
        let state = match (screen.at, screen.ended) {
            (None, false) => "LIVE".to_owned(),
            (None, true) => "END".to_owned(),
            (Some(_), _) if back == 0 => "PAUSED".to_owned(),
            (Some(_), _) => format!("PAUSED, {back} back"),
        };
        right = format!("{:.2} s  {state} ", end.as_nanos() as f64 / 1e9);
    }
    let left = format!(" domio mon: {}  {scope}{figures}", screen.title);
    let room = usize::from(width).saturating_sub(right.chars().count());
    let text = fit(&left, room) + &right;
    Line::from(styled(screen, text, Look::Bar))
}

/// The columns that there is room for. Where a vcpu was `parked`, a column says for how long, and
/// those of executions make room where there is none.
fn columns(width: u16, parked: bool) -> Vec<(usize, &'static Column)> {
    let all = COLUMNS.iter().enumerate();
    let all = all.filter(|(_, column)| parked || column.title != PARKED);
    let all: Vec<(usize, &Column)> = all.collect();
    let few = |(_, column): &(usize, &Column)| !parked || column.title != EXECUTIONS;
    let fits =
        |columns: &[(usize, &Column)]| usize::from(width) > NAME + columns.len() * WIDTH + SHARE;
    if fits(&all) {
        return all;
    }
    let without: Vec<(usize, &Column)> = all.into_iter().filter(few).collect();
    if fits(&without) {
        return without;
    }
    let narrow = without.into_iter().filter(|(_, column)| !column.wide);
    narrow.collect()
}

fn draw_table(frame: &mut Frame<'_>, screen: &Screen, windows: &Windows<'_>, area: Rect) {
    let parked = |sample: &IntervalSample| {
        let mut domains = sample.domains.iter();
        domains.any(|domain| domain.figures.parked > 0)
    };
    let parked = parked(windows.short) || parked(windows.long);
    let columns = columns(area.width, parked);
    let rows = screen.rows(windows);
    let cells = usize::from(area.width).saturating_sub(NAME + columns.len() * WIDTH + 1);
    let shares = screen.shown().map_or_else(BTreeMap::new, |at| {
        screen.history.shares(at, screen.pcpu, cells)
    });
    let room = usize::from(area.height).saturating_sub(3);
    let selected = rows
        .iter()
        .position(|r| !r.is_vcpu && Some(r.domain) == screen.selected);
    let skipped = selected.map_or(0, |at| (at + 1).saturating_sub(room));
    let mut lines = head(screen, &columns, cells);
    let largest = shares.iter().filter(|(id, _)| **id != DomainId::IDLE);
    let largest = largest
        .flat_map(|(_, cells)| cells)
        .fold(100.0_f64, |a, b| a.max(*b));
    for row in rows.iter().skip(skipped).take(room) {
        lines.push(line(screen, windows, &columns, row, &shares, largest));
    }
    let hidden = rows.len().saturating_sub(skipped + room);
    lines.resize(2 + room, Line::default());
    lines.push(total(screen, windows, &columns, hidden));
    frame.render_widget(Paragraph::new(lines), area);
}

/// Two lines: the windows, and the titles with a mark at the one that rows are sorted by.
fn head(screen: &Screen, columns: &[(usize, &Column)], cells: usize) -> Vec<Line<'static>> {
    let of = |window| columns.iter().filter(|(_, c)| c.window == window).count() * WIDTH;
    let (short, long) = (of(Window::Short), of(Window::Long));
    let group = |title: &str, width: usize| match width.checked_sub(1) {
        Some(width) => format!(" {:─^width$}", format!(" {title} ")),
        None => String::new(),
    };
    let share = match cells {
        0..16 => format!("{cells} s"),
        _ => format!("gotten, {cells} s"),
    };
    let groups = format!(
        "{:NAME$}{}{} {}",
        "",
        group("last 1 s", short),
        group("last 10 s", long),
        fit(&share, cells)
    );
    let mark = match screen.order.reversed {
        false => '▾',
        true => '▴',
    };
    let name = match screen.order.column {
        None => format!("domain{mark}"),
        Some(_) => "domain".to_owned(),
    };
    let mut spans = vec![styled(screen, fit(&name, NAME), Look::Strong)];
    for (at, column) in columns {
        let is_sorted = screen.order.column == Some(*at);
        let title = match is_sorted {
            true => format!("{}{mark}", column.title),
            false => column.title.to_owned(),
        };
        spans.push(styled(screen, format!("{title:>WIDTH$}"), Look::Strong));
    }
    vec![
        Line::from(styled(screen, groups, Look::Dim)),
        Line::from(spans),
    ]
}

fn line(
    screen: &Screen,
    windows: &Windows<'_>,
    columns: &[(usize, &Column)],
    row: &Row,
    shares: &BTreeMap<DomainId, Vec<f64>>,
    largest: f64,
) -> Line<'static> {
    let is_selected = !row.is_vcpu && screen.selected == Some(row.domain);
    let look = match (row.is_vcpu, is_selected) {
        (_, true) => Look::Bar,
        (true, false) => Look::Dim,
        (false, false) => Look::Plain,
    };
    let marker = if is_selected { ">" } else { " " };
    let name = fit(&format!("{marker}{}", row.name), NAME);
    let mut spans = vec![styled(screen, name, look)];
    let untold = !windows.short.tells.packets && !windows.short.tells.grants;
    for (_, column) in columns {
        let mut value = windows.value(row, column);
        if column.title == "io/s" && untold && row.short.io == 0 {
            value = None;
        }
        let is_wait = column.title == "waited%" && row.domain != DomainId::IDLE;
        let look = match value {
            Some(value) if is_wait && value >= MUCH => Look::Bad,
            _ => Look::Plain,
        };
        spans.push(styled(screen, format!("{:>WIDTH$}", figure(value)), look));
    }
    if let Some(cells) = shares.get(&row.domain).filter(|_| !row.is_vcpu) {
        let bar = |share: &f64| {
            let eighths = (share * 8.0 / largest).ceil() as usize;
            match eighths {
                0 => ' ',
                n => BARS[n.min(8) - 1],
            }
        };
        let bars: String = cells.iter().map(bar).collect();
        spans.push(styled(screen, format!(" {bars}"), Look::Good));
    }
    Line::from(spans)
}

/// The sum over domains that are not idle, and what there is no room for.
fn total(
    screen: &Screen,
    windows: &Windows<'_>,
    columns: &[(usize, &Column)],
    hidden: usize,
) -> Line<'static> {
    let sum = |sample: &IntervalSample| {
        let busy = sample.domains.iter().filter(|d| d.id != DomainId::IDLE);
        busy.fold(0_u64, |sum, d| sum.saturating_add(d.figures.gotten))
    };
    let sums = [sum(windows.short), sum(windows.long)];
    let mut text = fit(" all", NAME);
    for (_, column) in columns {
        let of = usize::from(column.window == Window::Long);
        let time = windows.times[of];
        let cell = match column.title {
            "gotten%" if time > 0.0 => figure(Some(sums[of] as f64 * 100.0 / time)),
            _ => String::new(),
        };
        text += &format!("{cell:>WIDTH$}");
    }
    if hidden > 0 {
        text += &format!(" {hidden} more");
    }
    Line::from(styled(screen, text, Look::Strong))
}

/// What is below the table, with at most `guests` lines for driver domains.
fn below(
    screen: &Screen,
    short: &IntervalSample,
    long: &IntervalSample,
    guests: usize,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (title, sample) in [
        (" longest wait  1 s: ", short),
        ("              10 s: ", long),
    ] {
        let mut spans = vec![styled(screen, title, Look::Strong)];
        let told = match &sample.longest_wait {
            Some(wait) => brief(&screen.names, wait),
            None => "none".to_owned(),
        };
        spans.push(styled(screen, told, Look::Plain));
        lines.push(Line::from(spans));
    }
    lines.extend(drivers(screen, long, guests));
    if long.lost_records > 0 {
        let lost = format!(" lost records in 10 s: {}", long.lost_records);
        lines.push(Line::from(styled(screen, lost, Look::Bad)));
    }
    if let Some(note) = &screen.note {
        lines.push(Line::from(styled(screen, format!(" {note}"), Look::Bad)));
    }
    lines
}

/// A wait in few words, the longest name last.
fn brief(names: &DomainNames, wait: &QueueWait) -> String {
    let ms = |ns: u64| format!("{:.2} ms", ns as f64 / 1e6);
    let so_far = match wait.goes_on {
        true => " so far",
        false => "",
    };
    let (who, length, pcpu) = (names.vcpu(wait.vcpu), ms(wait.length), wait.pcpu.0);
    let behind = match wait.behind {
        Some((vcpu, ran)) if vcpu.is_idle() => format!(", {} of it idle", ms(ran)),
        Some((vcpu, ran)) => format!(", {} of it behind {}", ms(ran), names.vcpu(vcpu)),
        None => String::new(),
    };
    format!("{who} {length}{so_far} on pcpu {pcpu}{behind}")
}

/// What driver domains did in ten seconds for whom: by their packets, and in truth.
fn drivers(screen: &Screen, long: &IntervalSample, most: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let untold = untold(long);
    for of in charges(long, screen.weight) {
        let share = of.used as f64 * 100.0 / (long.length() as f64).max(1.0);
        let name = screen.names.domain(of.driver);
        let head = format!(
            " {:<27}{:>9}{:>10}{:>13}{:>9}{:>10}",
            fit(&format!("{name} used {share:.2} % for"), 27),
            "sent",
            "received",
            "by packets",
            "exact",
            "error"
        );
        lines.push(Line::from(styled(screen, head, Look::Strong)));
        let mut charges = of.charges.clone();
        charges.sort_by_key(|c| std::cmp::Reverse(c.exact.or(c.estimate)));
        for charge in charges {
            let percent = |ns: Option<u64>| match ns {
                Some(ns) if of.used > 0 => format!("{:.1} %", ns as f64 * 100.0 / of.used as f64),
                _ => "-".to_owned(),
            };
            let packets = |count: u64| match long.tells.packets {
                true => count.to_string(),
                false => "-".to_owned(),
            };
            let error = charge.error_points(of.used);
            lines.push(Line::from(styled(
                screen,
                format!(
                    "   {}{:>9}{:>10}{:>13}{:>9}{:>10}",
                    fit(&screen.names.domain(charge.traffic.guest), 25),
                    packets(charge.traffic.sent),
                    packets(charge.traffic.received),
                    percent(charge.estimate),
                    percent(charge.exact),
                    error.map_or_else(|| "-".to_owned(), |e| format!("{e:+.1} pt")),
                ),
                Look::Plain,
            )));
        }
    }
    lines.truncate(most.max(2));
    lines.extend(untold.map(|told| Line::from(styled(screen, format!(" {told}"), Look::Dim))));
    lines
}

fn help(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let lines = KEYS.iter().map(|(keys, what)| {
        let keys = styled(screen, format!(" {keys:>11}  "), Look::Strong);
        Line::from(vec![keys, styled(screen, *what, Look::Plain)])
    });
    let lines: Vec<Line<'_>> = lines.collect();
    let (width, height) = (
        62.min(area.width),
        (lines.len() as u16 + 2).min(area.height),
    );
    let place = Rect {
        x: (area.width - width) / 2,
        y: (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    let block = Block::bordered().title(" keys ");
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
