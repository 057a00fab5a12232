//! How much a read takes in at once (`mm/readahead.c` of 2.6.24, `ondemand_readahead`).

/// What is known of a file that a task has open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Readahead {
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
pub struct ReadWindow {
    /// First page of the file.
    pub first: u64,
    /// Number of pages.
    pub pages: u64,
    /// The page of the file at which the next window is asked for, if any.
    pub marker: Option<u64>,
}

impl ReadWindow {
    /// What was asked for.
    pub fn just(first: u64, pages: u64) -> Self {
        let marker = None;
        ReadWindow {
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
    pub fn window(&mut self, page: u64, wanted: u64, marked: bool, max: u64) -> ReadWindow {
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
            return ReadWindow::just(page, wanted);
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

    fn submitted(&self) -> ReadWindow {
        ReadWindow {
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
