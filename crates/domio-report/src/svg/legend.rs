//! Legends: a name for each series that has a mark in the picture, and no other.
//!
//! There are colours for eight series. Of more, the worst have colours, the rest is grey, and the
//! legend says so.

use super::shape::{self, Area};
use super::{COLOURS, SMALL, colour, fit, hatch, text_width};
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
    /// The legend of series with these names. A series whose badness is `None` has no mark in the
    /// picture, and no place in the legend. `worst_are` says which have colours ("the longest
    /// waits").
    pub fn new(names: &[String], badness: &[Option<f64>], worst_are: &str) -> Self {
        let shown: Vec<(usize, f64)> = badness
            .iter()
            .enumerate()
            .filter_map(|(i, bad)| Some((i, (*bad)?)))
            .collect();
        let name = |i: usize| names.get(i).cloned().unwrap_or_default();
        if names.len() <= COLOURS {
            let entry = |(i, _): &(usize, f64)| Entry {
                name: name(*i),
                look: *i,
            };
            return Legend {
                looks: (0..names.len()).collect(),
                entries: shown.iter().map(entry).collect(),
            };
        }
        let mut ranked = shown.clone();
        // Stable, so that equal ones stay in their order.
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut worst: Vec<usize> = ranked.iter().take(OTHERS).map(|(i, _)| *i).collect();
        worst.sort_unstable();
        let look = |i: usize| worst.iter().position(|w| *w == i).unwrap_or(OTHERS);
        let mut entries: Vec<Entry> = worst
            .iter()
            .map(|i| Entry {
                name: name(*i),
                look: look(*i),
            })
            .collect();
        let others = shown.len() - worst.len();
        if others > 0 {
            entries.push(Entry {
                name: format!("{others} others (in colour: {worst_are})"),
                look: OTHERS,
            });
        }
        Legend {
            looks: (0..names.len()).map(look).collect(),
            entries,
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

    /// Rows of the entries between two places, as (row, x) by entry; and the number of rows.
    fn places(&self, from: f64, until: f64) -> (Vec<(usize, f64)>, usize) {
        let (mut row, mut x) = (0, from);
        let mut places = Vec::new();
        for entry in &self.entries {
            let width = SWATCH + text_width(&entry.name, SMALL);
            if x > from && x + width > until {
                row += 1;
                x = from;
            }
            places.push((row, x));
            x += width + 18.0;
        }
        (places, if self.entries.is_empty() { 0 } else { row + 1 })
    }

    /// Whether there is anything to tell apart.
    fn is_needed(&self) -> bool {
        self.looks.len() > 1 && !self.entries.is_empty()
    }

    /// Height; zero for fewer than two series, which need none.
    pub fn height(&self, from: f64, until: f64) -> f64 {
        match self.is_needed() {
            true => self.places(from, until).1 as f64 * 20.0 + 8.0,
            false => 0.0,
        }
    }

    /// The legend between two places at the top; nothing for fewer than two series.
    pub fn draw(&self, from: f64, until: f64, swatch: Swatch) -> Markup {
        let (places, _) = self.places(from, until);
        html! {
            @if self.is_needed() {
                g class="legend" {
                    @for (entry, (row, x)) in self.entries.iter().zip(places) {
                        @let y = row as f64 * 20.0 + 10.0;
                        (draw_swatch(swatch, entry.look, (x, y)))
                        @let shown = fit(&entry.name, SMALL, until - x - SWATCH);
                        (shape::text("start", (x + SWATCH, y + 4.0), &shown))
                    }
                }
            }
        }
    }
}

/// Room of the swatch before a name in a legend.
const SWATCH: f64 = 26.0;

fn draw_swatch(swatch: Swatch, look: usize, (x, y): shape::Xy) -> Markup {
    match swatch {
        Swatch::Box => {
            let sample = Area {
                x,
                y: y - 6.0,
                width: 18.0,
                height: 12.0,
            };
            let fill = format!("fill {}", colour(look));
            html! { (sample.filled(&fill, "")) (sample.hatched(&hatch(look))) }
        }
        Swatch::Line => {
            let curve = format!("curve {}", colour(look));
            shape::line(&curve, (x, y), (x + 20.0, y))
        }
    }
}

/// How bad values are that are worse the larger they are: the largest that is a number; `None`
/// without any.
pub fn largest(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    values
        .into_iter()
        .filter(|v| v.is_finite())
        .reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::{NARROW, WIDE};

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("policy number {i}")).collect()
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
            let (places, rows) = legend.places(10.0, width);
            assert!(rows > 3);
            for (entry, (row, x)) in legend.entries.iter().zip(places) {
                assert!(row < rows && x + SWATCH + text_width(&entry.name, SMALL) <= width);
            }
        }
        assert_eq!(
            Legend::new(&names(1), &[Some(1.0)], "").height(0.0, WIDE),
            0.0
        );
    }

    #[test]
    fn of_many_the_worst_have_colours() {
        let badness: Vec<Option<f64>> = (0..12)
            .map(|i| (i != 11).then_some(f64::from(i * 7 % 12)))
            .collect();
        let legend = Legend::new(&names(12), &badness, "the longest waits");
        // 0 7 2 9 4 11 6 1 8 3 10: the seven largest are 4 and more.
        let looks: Vec<usize> = (0..12).map(|i| legend.look(i)).collect();
        assert_eq!(looks, [7, 0, 7, 1, 2, 3, 4, 7, 5, 7, 6, 7]);
        assert_eq!(legend.order()[5..], [1, 3, 4, 5, 6, 8, 10]);
        let last = legend.entries.last().unwrap();
        assert_eq!(last.name, "4 others (in colour: the longest waits)");
        assert_eq!(legend.entries.len(), 8);
        let few = Legend::new(&names(8), &[Some(0.0); 8], "");
        assert_eq!(few.order(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn what_has_no_mark_has_no_entry() {
        let legend = Legend::new(&names(3), &[Some(1.0), None, Some(2.0)], "");
        let svg = legend.draw(0.0, WIDE, Swatch::Line).into_string();
        assert!(svg.contains("number 0") && !svg.contains("number 1"));
        assert!(svg.contains("curve c2"), "colours stay: {svg}");
    }
}
