//! BarRows of bars that lie, each with its name: beside the bars, or above them where names are
//! long.

use super::letters::{TITLE, fit, widest};
use super::shape;
use maud::Markup;

const GAP: f64 = 12.0;
/// Height of a name above its bars.
const NAME_LINE: f64 = 17.0;
/// Part of the width that names may take beside their bars.
const NAME_PART: f64 = 0.28;

/// Where the rows are.
#[derive(Clone, Copy)]
pub struct BarRows {
    /// Left end of the bars.
    pub left: f64,
    pub top: f64,
    pub bottom: f64,
    /// Width of the picture.
    pub width: f64,
    /// Height of the name above the bars of a row; zero where it stands beside them.
    above: f64,
    /// Height of the bars of a row.
    height: f64,
}

impl BarRows {
    /// BarRows with `names` from `top` on, each with bars that are `height` high together.
    pub fn new<'n>(
        names: impl ExactSizeIterator<Item = &'n String>,
        height: f64,
        top: f64,
        width: f64,
    ) -> Self {
        let count = names.len() as f64;
        let widest = widest(names, TITLE, 30.0);
        let (left, above) = match widest <= width * NAME_PART {
            true => (widest + 14.0, 0.0),
            false => (6.0, NAME_LINE),
        };
        BarRows {
            left,
            top,
            bottom: top + (above + height + GAP) * count,
            width,
            above,
            height,
        }
    }

    /// Upper end of the bars of row `index`.
    pub fn begin(self, index: usize) -> f64 {
        let row = self.above + self.height + GAP;
        self.top + row * index as f64 + self.above + GAP / 2.0
    }

    /// A line from the top of the rows to the bottom.
    pub fn down(self, class: &str, x: f64) -> Markup {
        shape::line(class, (x, self.top), (x, self.bottom))
    }

    /// The name of row `index`.
    pub fn name(self, index: usize, name: &str) -> Markup {
        let begin = self.begin(index);
        let (class, place) = match self.above {
            0.0 => (
                "name end",
                (self.left - 10.0, begin + self.height / 2.0 + 4.0),
            ),
            _ => ("name", (0.0, begin - 5.0)),
        };
        shape::short_text(class, place, &fit(name, TITLE, self.width), name)
    }
}
