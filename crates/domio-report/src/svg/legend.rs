//! Legends: a name for each series that has a mark in the picture, and no other.
//!
//! There are colours for eight series. Of more, the worst have colours, the rest is grey, and the
//! legend says so.

use super::letters::{SMALL, fit, text_width};
use super::look::{COLOURS, colour};
use super::shape::{self, Area, PUBLISHED, Xy};
use maud::{Markup, html};

/// The look of those that have no colour of their own: the last colour is grey.
pub const OTHERS: usize = COLOURS - 1;

/// How a legend shows a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swatch {
    /// A filled box, hatched.
    Box,
    /// A line, dashed.
    Line,
}

/// A line of a legend.
#[derive(Clone, PartialEq, Debug)]
struct Entry {
    name: String,
    look: usize,
}

/// How series look, and how the legend tells.
#[derive(Clone, PartialEq, Debug)]
pub struct Legend {
    looks: Vec<usize>,
    entries: Vec<Entry>,
}

impl Legend {
    /// The legend of series by name and badness. A series whose badness is `None` has no mark in
    /// the picture, and no place in the legend. `worst_are` says which have colours ("the longest
    /// waits").
    pub fn new<'n>(
        series: impl IntoIterator<Item = (&'n String, Option<f64>)>,
        worst_are: &str,
    ) -> Self {
        let (names, badness): (Vec<&String>, Vec<Option<f64>>) = series.into_iter().unzip();
        let few = names.len() <= COLOURS;
        let ranked = badness.iter().enumerate();
        let mut ranked: Vec<(usize, f64)> = ranked.filter_map(|(i, b)| Some((i, (*b)?))).collect();
        if !few {
            // Stable, so that equal ones stay in their order.
            ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        }
        let coloured = ranked.len().min(if few { COLOURS } else { OTHERS });
        let others = ranked.len() - coloured;
        let mut shown: Vec<usize> = ranked[..coloured].iter().map(|(i, _)| *i).collect();
        shown.sort_unstable();
        let look = |i: usize| match few {
            true => i,
            false => shown.iter().position(|s| *s == i).unwrap_or(OTHERS),
        };
        let entry = |name: String, look: usize| Entry { name, look };
        let own = shown.iter().map(|i| entry(names[*i].clone(), look(*i)));
        let rest = format!("{others} others (in colour: {worst_are})");
        let rest = (others > 0).then(|| entry(rest, OTHERS));
        Legend {
            entries: own.chain(rest).collect(),
            looks: (0..names.len()).map(look).collect(),
        }
    }

    /// Number of the colour and pattern of series `index`.
    pub fn look(&self, index: usize) -> usize {
        self.looks.get(index).copied().unwrap_or(index)
    }

    /// The series in the order of drawing: grey ones first, so that nothing in colour is covered.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.looks.len()).collect();
        if self.looks.len() > COLOURS {
            order.sort_by_key(|i| self.looks[*i] != OTHERS);
        }
        order
    }

    /// Places of the entries in a picture of this width, as (row, x), and the number of rows.
    fn places(&self, width: f64) -> (Vec<(usize, f64)>, usize) {
        let sizes = self
            .entries
            .iter()
            .map(|e| (SWATCH + text_width(&e.name, SMALL), 1));
        flow(sizes, [0.0, width], 18.0)
    }

    /// Whether there is anything to tell apart.
    fn is_needed(&self) -> bool {
        self.looks.len() > 1 && !self.entries.is_empty()
    }

    /// Height; zero for fewer than two series, which need none.
    pub fn height(&self, width: f64) -> f64 {
        match self.is_needed() {
            true => self.places(width).1 as f64 * 20.0 + 8.0,
            false => 0.0,
        }
    }

    /// The legend at the top of a picture; nothing for fewer than two series.
    pub fn draw(&self, width: f64, swatch: Swatch) -> Markup {
        let (places, _) = self.places(width);
        html! {
            @if self.is_needed() {
                g class="legend" {
                    @for (entry, (row, x)) in self.entries.iter().zip(places) {
                        @let y = row as f64 * 20.0 + 10.0;
                        (draw_swatch(swatch, entry.look, (x, y)))
                        @let shown = fit(&entry.name, SMALL, width - x - SWATCH);
                        (shape::text("start", (x + SWATCH, y + 4.0), &shown))
                    }
                }
            }
        }
    }
}

/// Places of entries that follow one another in rows between two ends, each as (row, x), and the
/// number of rows. Of each entry its width and its number of lines are given.
pub fn flow(
    sizes: impl IntoIterator<Item = (f64, usize)>,
    [from, until]: [f64; 2],
    gap: f64,
) -> (Vec<(usize, f64)>, usize) {
    let (mut row, mut x, mut height) = (0, from, 1);
    let mut places = Vec::new();
    for (width, lines) in sizes {
        if x > from && x + width > until {
            (row, x, height) = (row + height, from, 1);
        }
        height = height.max(lines);
        places.push((row, x));
        x += width + gap;
    }
    (places, row + height)
}

/// The legend of what a paper prints, at `y`.
pub fn printed(y: f64) -> Markup {
    html! {
        g class="legend" {
            (shape::diamond((9.0, y), "a diamond"))
            (shape::text("start", (SWATCH, y + 4.0), PUBLISHED))
        }
    }
}

/// Room of the swatch before a name in a legend.
pub const SWATCH: f64 = 26.0;

fn draw_swatch(swatch: Swatch, look: usize, (x, y): Xy) -> Markup {
    match swatch {
        Swatch::Box => Area::new((x, y - 6.0), (18.0, 12.0)).of_series("fill", look, ""),
        Swatch::Line => {
            let curve = format!("curve {}", colour(look));
            shape::line(&curve, (x, y), (x + 20.0, y))
        }
    }
}

/// How bad values are that are worse the larger they are: the largest that is a number; `None`
/// without any.
pub fn largest(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let numbers = values.into_iter().filter(|v| v.is_finite());
    numbers.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::{NARROW, WIDE};

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("policy number {i}")).collect()
    }

    fn legend_of(badness: &[Option<f64>], worst_are: &str) -> Legend {
        let names = names(badness.len());
        Legend::new(names.iter().zip(badness.iter().copied()), worst_are)
    }

    #[test]
    fn a_legend_stays_inside_the_picture() {
        let legend = Legend {
            looks: (0..30).collect(),
            entries: names(30)
                .into_iter()
                .map(|name| Entry { name, look: 0 })
                .collect(),
        };
        for width in [WIDE, NARROW] {
            let (places, rows) = legend.places(width);
            assert!(rows > 3);
            for (entry, (row, x)) in legend.entries.iter().zip(places) {
                assert!(row < rows && x + SWATCH + text_width(&entry.name, SMALL) <= width);
            }
        }
        assert_eq!(legend_of(&[Some(1.0)], "").height(WIDE), 0.0);
    }

    #[test]
    fn of_many_the_worst_have_colours() {
        let badness: Vec<Option<f64>> = (0..12)
            .map(|i| (i != 11).then_some(f64::from(i * 7 % 12)))
            .collect();
        let legend = legend_of(&badness, "the longest waits");
        // 0 7 2 9 4 11 6 1 8 3 10: the seven largest are 4 and more.
        let looks: Vec<usize> = (0..12).map(|i| legend.look(i)).collect();
        assert_eq!(looks, [7, 0, 7, 1, 2, 3, 4, 7, 5, 7, 6, 7]);
        assert_eq!(legend.order()[5..], [1, 3, 4, 5, 6, 8, 10]);
        let last = legend.entries.last().unwrap();
        assert_eq!(last.name, "4 others (in colour: the longest waits)");
        assert_eq!(legend.entries.len(), 8);
        let few = legend_of(&[Some(0.0); 8], "");
        assert_eq!(few.order(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn what_has_no_mark_has_no_entry() {
        let legend = legend_of(&[Some(1.0), None, Some(2.0)], "");
        let svg = legend.draw(WIDE, Swatch::Line).into_string();
        assert!(svg.contains("number 0") && !svg.contains("number 1"));
        assert!(svg.contains("curve c2"), "colours stay: {svg}");
    }
}
