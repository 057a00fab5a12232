//! Lines of a text, one at a time, in bounded memory.

use std::io::{self, BufRead, BufReader, Read};

/// Most bytes of a line. What is longer is no line of any format, and read over.
const LINE_MAX: u64 = 1 << 16;

/// Lines of `read`.
pub struct TextLines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Number of the line that was read last, from 1.
    number: u64,
}

impl<R: Read> TextLines<R> {
    /// Lines of `read`, which needs no buffer of its own.
    pub fn new(read: R) -> Self {
        TextLines {
            read: BufReader::with_capacity(1 << 17, read),
            line: Vec::new(),
            number: 0,
        }
    }

    /// Number of the line that was read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The line that was read last, without its end.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Reads the next line; `false` when there is none.
    #[inline]
    pub fn advance(&mut self) -> io::Result<bool> {
        self.line.clear();
        let mut limited = self.read.by_ref().take(LINE_MAX);
        let read = limited.read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if read as u64 == LINE_MAX {
            self.read.skip_until(b'\n')?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_never_ends_takes_no_memory_and_one_number() {
        let mut text = vec![b'x'; 3 << 16];
        text.extend(b"\nnext\n\nlast");
        let mut lines = TextLines::new(&text[..]);
        let mut seen = Vec::new();
        while lines.advance().unwrap() {
            seen.push((lines.number(), lines.line().len()));
        }
        assert_eq!(seen, [(1, 1 << 16), (2, 4), (3, 0), (4, 4)]);
    }
}
