//! Texts that a scenario came from (its file, and one for each override) and places in them.

use domio_core::keys::Span;

/// One text with its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    /// Path of the file, or `--set` for an override.
    pub name: String,
    /// The text; bytes that were no UTF-8 are replaced one by one, so that offsets stay true.
    pub text: String,
    /// Whether it is an override, whose values need no quotes.
    pub is_override: bool,
    /// Offset of the first byte of each line.
    line_starts: Vec<u32>,
}

/// A place as people count: from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub line: usize,
    pub column: usize,
}

impl Source {
    pub fn new(name: String, text: String, is_override: bool) -> Self {
        let line_starts = std::iter::once(0)
            .chain(
                text.bytes()
                    .enumerate()
                    .filter(|(_, b)| *b == b'\n')
                    .map(|(i, _)| i as u32 + 1),
            )
            .collect();
        Source {
            name,
            text,
            is_override,
            line_starts,
        }
    }

    /// Index of the line (from 0) that holds the byte at `offset`.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts
            .partition_point(|s| *s as usize <= offset)
            .saturating_sub(1)
    }

    /// Where the line with this index starts; the end of the text for lines past the last.
    pub fn line_start(&self, line: usize) -> usize {
        self.line_starts
            .get(line)
            .map_or(self.text.len(), |s| *s as usize)
    }

    /// Line and column of the byte at `offset`.
    pub fn place(&self, offset: usize) -> Place {
        let offset = self.floor(offset);
        let line = self.line_of(offset);
        let column = self.text[self.line_start(line)..offset].chars().count() + 1;
        Place {
            line: line + 1,
            column,
        }
    }

    /// The text of `span`.
    pub fn slice(&self, span: Span) -> &str {
        let start = self.floor(span.start as usize);
        &self.text[start..self.floor(span.end as usize).max(start)]
    }

    /// The nearest character boundary at or before `offset`.
    pub fn floor(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset)
    }
}
