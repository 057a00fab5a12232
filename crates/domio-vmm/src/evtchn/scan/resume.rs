//! The final scan (xen-spec 5.6): one look at each word, from behind the last port that was served.

use super::super::port::from_bit;
use crate::evtchn::port::Port;
use crate::evtchn::two_level::TwoLevel;

/// A pass that reads each selected word once and serves what it saw; the first word twice, as its
/// ports up to the last one that was served come at the end.
///
/// A port that is sent to during the pass waits for the next one, in which all others are looked at
/// first: no port is starved.
#[derive(Clone, Debug)]
pub(in crate::evtchn) struct Resume {
    /// Mainline Linux: the last look at the first word takes in all of it.
    mainline: bool,
    /// Word and bit behind the last port that was served; 0 and 0 at first.
    saved: (u32, u32),
    /// Where this pass began.
    start: (u32, u32),
    /// Words that are still to be looked at.
    selected: u64,
    /// Nothing has been looked at in this pass.
    first: bool,
    /// The word that is being served, or looked at next.
    word: u32,
    /// What was active there when it was looked at and has not been served, if it was.
    seen: Option<u64>,
}

impl Resume {
    pub(super) fn new(mainline: bool) -> Resume {
        Resume {
            mainline,
            saved: (0, 0),
            start: (0, 0),
            selected: 0,
            first: true,
            word: 0,
            seen: None,
        }
    }

    /// Whether this is mainline's variant.
    pub(super) fn mainline(&self) -> bool {
        self.mainline
    }

    pub(super) fn begin(&mut self, selected: u64) {
        self.selected = selected;
        self.start = self.saved;
        self.word = self.start.0;
        self.first = true;
        self.seen = None;
    }

    pub(super) fn next(&mut self, events: &TwoLevel, vcpu: u16) -> Option<Port> {
        let width = events.width();
        loop {
            match self.seen {
                Some(0) => {
                    // The first word comes again at the end, all others are done.
                    if self.word != self.start.0 || !self.first {
                        self.selected &= !(1 << self.word);
                    }
                    self.first = false;
                    self.word = width.after(self.word);
                    self.seen = None;
                }
                Some(seen) => {
                    let bit = seen.trailing_zeros();
                    self.seen = Some(seen & (seen - 1));
                    let next = width.after(bit);
                    self.saved = match next {
                        0 => (width.after(self.word), 0),
                        _ => (self.word, next),
                    };
                    return Some(width.port(self.word, bit));
                }
                None if self.selected == 0 => return None,
                None => match self.selected & from_bit(self.word) {
                    0 => {
                        self.word = 0;
                        self.first = false;
                    }
                    later => {
                        self.word = later.trailing_zeros();
                        self.seen = Some(self.look(events, vcpu));
                    }
                },
            }
        }
    }

    /// What of the word is served at this look.
    fn look(&self, events: &TwoLevel, vcpu: u16) -> u64 {
        let active = events.active(self.word, vcpu);
        let (start_word, start_bit) = self.start;
        if self.word != start_word {
            active
        } else if self.first {
            active & from_bit(start_bit)
        } else if self.mainline {
            active
        } else {
            active & !from_bit(start_bit)
        }
    }
}
