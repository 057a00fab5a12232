//! How much a read takes in at once (`mm/readahead.c` of 2.6.24, `ondemand_readahead`).

/// What is known of a file that a task has open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Readahead {
    /// First page of the last window.
    start: u64,
    /// Pages of the last window.
    size: u64,
    /// Pages of the window behind its marker.
    behind: u64,
    /// The page that was read last.
    last: Option<u64>,
}

/// Pages to be read: those that are cached already are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    /// First page of the file.
    pub first: u64,
    /// Number of pages.
    pub pages: u64,
    /// The page of the file at which the next window is asked for, if any.
    pub marker: Option<u64>,
}

impl Window {
    /// What was asked for.
    pub fn just(first: u64, pages: u64) -> Self {
        let marker = None;
        Window {
            first,
            pages,
            marker,
        }
    }
}

impl Readahead {
    /// Of a file that was just opened.
    pub const OPENED: Readahead = Readahead {
        start: 0,
        size: 0,
        behind: 0,
        last: None,
    };

    /// A call has read up to this page.
    pub fn has_read(&mut self, page: u64) {
        self.last = Some(page);
    }

    /// The window for `page`, when the call wants `wanted` pages more. `marked`: the page is there,
    /// with a marker. `max` is the largest window (pages).
    pub fn window(&mut self, page: u64, wanted: u64, marked: bool, max: u64) -> Window {
        let expected =
            page == self.start + self.size - self.behind || page == self.start + self.size;
        if page != 0 && expected {
            self.start += self.size;
            self.size = self.next_size(max);
            self.behind = self.size;
            return self.submitted();
        }
        let sequential = match self.last {
            None => page == 0,
            Some(last) => page.wrapping_sub(last) <= 1,
        };
        if !marked && !sequential && wanted <= max {
            return Window::just(page, wanted);
        }
        self.start = page;
        self.size = first_size(wanted, max);
        self.behind = match self.size > wanted {
            true => self.size - wanted,
            false => self.size,
        };
        if marked {
            self.start += 1;
            self.size = self.next_size(max);
        }
        self.submitted()
    }

    fn submitted(&self) -> Window {
        Window {
            first: self.start,
            pages: self.size,
            marker: (self.size >= self.behind).then(|| self.start + self.size - self.behind),
        }
    }

    fn next_size(&self, max: u64) -> u64 {
        let factor = if self.size < max / 16 { 4 } else { 2 };
        (self.size * factor).min(max)
    }
}

/// The first window of a file that is read in order.
fn first_size(wanted: u64, max: u64) -> u64 {
    let size = wanted.next_power_of_two();
    if size <= max / 32 {
        size * 4
    } else if size <= max / 4 {
        size * 2
    } else {
        max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 32;

    #[test]
    fn first_windows_grow_with_the_request() {
        for (wanted, size) in [
            (1, 4),
            (2, 4),
            (3, 8),
            (4, 8),
            (5, 16),
            (8, 16),
            (9, 32),
            (64, 32),
        ] {
            let mut opened = Readahead::OPENED;
            let window = opened.window(0, wanted, false, MAX);
            assert_eq!((window.first, window.pages), (0, size), "{wanted} pages");
        }
    }

    #[test]
    fn windows_of_a_reader_in_order_double_at_each_marker() {
        let mut ra = Readahead::OPENED;
        let first = ra.window(0, 1, false, MAX);
        assert_eq!((first.pages, first.marker), (4, Some(1)));
        ra.has_read(0);
        let mut marker = 1;
        for (start, pages) in [(4, 8), (12, 16), (28, 32), (60, 32)] {
            let window = ra.window(marker, 1, true, MAX);
            assert_eq!((window.first, window.pages), (start, pages));
            assert_eq!(window.marker, Some(start));
            ra.has_read(marker);
            marker = start;
        }
    }

    #[test]
    fn a_random_read_takes_what_was_asked_for() {
        let mut ra = Readahead::OPENED;
        let window = ra.window(700, 1, false, MAX);
        assert_eq!((window.first, window.pages, window.marker), (700, 1, None));
        ra.has_read(700);
        assert_eq!(ra.window(300, 3, false, MAX).pages, 3);
        assert_eq!(
            ra.window(701, 1, false, MAX).pages,
            4,
            "the next page is in order"
        );
    }

    #[test]
    fn a_marker_without_a_window_starts_behind_the_marker() {
        let mut opened = Readahead::OPENED;
        let window = opened.window(10, 1, true, MAX);
        assert_eq!((window.first, window.pages), (11, 8));
    }
}
