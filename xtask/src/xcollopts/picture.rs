//! A picture of what switches change: a panel for each, with a field for each host.
//!
//! Blue is better and orange is worse, which people tell apart who see no red or no green; the
//! figure in the field says the same. Figures in brackets are not proven.

use super::effects::{Change, Effect, Results};
use super::{Grid, Load, Measure, POLICIES, SWITCHES};
use std::fmt::Write as _;

/// Of a field, in pixels.
const WIDTH: u32 = 46;
const HEIGHT: u32 = 24;
/// Left of a panel, and above.
const LEFT: u32 = 34;
const ABOVE: u32 = 44;
/// Between panels.
const GAP: u32 = 14;
/// Above all, and below.
const TITLE: u32 = 46;
const BELOW: u32 = 26;
/// As many panels as a row has.
const PANELS: u32 = 5;

/// A gain at which a field has its full colour: twice as much, or half as long.
const FULL_COLOUR: f64 = std::f64::consts::LN_2;

/// Draws measure number `i` of `load`; `results` are by policy.
pub fn draw(load: &Load, measure: &Measure, results: &[Results], i: usize, grid: &Grid) -> String {
    let (columns, rows) = (grid.cores.len() as u32, grid.guests.len() as u32);
    let panel = (LEFT + columns * WIDTH + GAP, ABOVE + rows * HEIGHT + GAP);
    let width = PANELS * panel.0 + GAP;
    let height = TITLE + POLICIES.len() as u32 * panel.1 + BELOW;
    let better = if measure.more { "more" } else { "shorter" };
    let what = format!("{}: {}", load.title, measure.title);
    let mut svg = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{what}, what each switch changes by guests and cores\" \
         xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"11\" \
         fill=\"#1b1f24\"><rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{GAP}\" y=\"18\" font-size=\"14\">{what}</text>\n\
         <text x=\"{GAP}\" y=\"34\" fill=\"#57606a\">change in %: blue is better ({better}), \
         orange is worse; in brackets: not proven at 95 %; rows are guests, columns are \
         cores</text>\n"
    );
    for (row, (policy, results)) in POLICIES.iter().zip(results).enumerate() {
        let y = TITLE + row as u32 * panel.1;
        let mut x = GAP;
        let switches = policy.switches.iter().map(|bit| Some(*bit));
        for switch in switches.chain([None]) {
            let name = switch.map_or("all of them", |bit| SWITCHES[bit].name);
            let title = format!("{}: {name}", policy.name);
            let change = |host| match switch {
                Some(bit) => results.of_switch(i, host, bit),
                None => results.of_all(i, host),
            };
            svg += &draw_panel((x, y), &title, grid, change);
            x += panel.0;
        }
    }
    let y = height - 10;
    let _ = writeln!(
        svg,
        "<text x=\"{GAP}\" y=\"{y}\" fill=\"#57606a\">of a switch: the mean over all combinations \
         of the others; {} replications; * : of those with answers; none: no answers; – : one \
         position of the switch</text>",
        grid.replications
    );
    svg + "</svg>\n"
}

fn draw_panel(
    (x, y): (u32, u32),
    title: &str,
    grid: &Grid,
    change: impl Fn((u32, u32)) -> Change,
) -> String {
    let mut svg = String::new();
    let (left, top) = (x + LEFT, y + ABOVE);
    let _ = writeln!(
        svg,
        "<text x=\"{left}\" y=\"{}\" font-size=\"13\">{title}</text>",
        y + 20
    );
    for (column, cores) in grid.cores.iter().enumerate() {
        let middle = left + column as u32 * WIDTH + WIDTH / 2;
        let _ = writeln!(
            svg,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" fill=\"#57606a\">{cores}</text>",
            top - 6
        );
    }
    for (row, guests) in grid.guests.iter().enumerate() {
        let field = top + row as u32 * HEIGHT;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#57606a\">{guests}</text>",
            left - 5,
            field + 16
        );
        for (column, cores) in grid.cores.iter().enumerate() {
            let at = left + column as u32 * WIDTH;
            let found = change((*guests, *cores));
            let (fill, ink) = found
                .effect()
                .map_or(("#f6f8fa".into(), "#57606a"), colours);
            let _ = writeln!(
                svg,
                "<rect x=\"{at}\" y=\"{field}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
                 fill=\"{fill}\" stroke=\"#ffffff\"/><text x=\"{}\" y=\"{}\" \
                 text-anchor=\"middle\" fill=\"{ink}\">{}</text>",
                at + WIDTH / 2,
                field + 16,
                words(found)
            );
        }
    }
    svg
}

/// The figure of a field.
fn words(change: Change) -> String {
    let (effect, all) = match change {
        Change::By { effect, all } => (effect, all),
        Change::NoAnswers => return "none".to_owned(),
        Change::Absent => return "–".to_owned(),
    };
    let percent = effect.percent();
    let star = if all { "" } else { "*" };
    match effect.is_proven() {
        true => format!("{percent:+.0}{star}"),
        false => format!("({percent:+.0}{star})"),
    }
}

/// Colours of a field and of its figure.
fn colours(effect: Effect) -> (String, &'static str) {
    if !effect.is_proven() {
        return ("#f6f8fa".to_owned(), "#57606a");
    }
    // From white to the blue and the vermilion of Okabe and Ito.
    let full = match effect.mean > 0.0 {
        true => [0x00, 0x72, 0xb2],
        false => [0xd5, 0x5e, 0x00],
    };
    let part = (effect.mean.abs() / FULL_COLOUR).min(1.0);
    let mixed = full.map(|c| (255.0 + (f64::from(c) - 255.0) * part).round() as u8);
    let ink = if part > 0.6 { "#ffffff" } else { "#1b1f24" };
    let [r, g, b] = mixed;
    (format!("#{r:02x}{g:02x}{b:02x}"), ink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blue_is_better_and_what_is_not_proven_is_grey() {
        let effect = |mean, half| Effect { mean, half };
        assert_eq!(colours(effect(0.8, 0.1)), ("#0072b2".to_owned(), "#ffffff"));
        assert_eq!(colours(effect(-0.8, 0.1)).0, "#d55e00");
        assert_eq!(colours(effect(0.1, 0.2)).0, "#f6f8fa");
        let by = |effect, all| words(Change::By { effect, all });
        assert_eq!(by(effect(0.1, 0.2), true), "(+11)");
        assert_eq!(by(effect(-0.7, 0.2), true), "-50");
        assert_eq!(by(effect(-0.7, 0.2), false), "-50*");
        assert_eq!(words(Change::NoAnswers), "none");
    }
}
