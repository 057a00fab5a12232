//! The first fix (xen-spec 5.5): on from the last port that was served, in a circle.

use super::super::port::from_bit;
use crate::evtchn::port::{Port, Width};
use crate::evtchn::two_level::TwoLevel;

/// A pass that goes round the selected words until nothing in them is active.
///
/// A word is read again before each of its ports, but from behind the last one, so within a word
/// every port gets its turn. A word leaves the circle when nothing in it is active at its end.
///
/// Two details of the kernel's code are kept, for they decide the order. A pass begins in the word
/// *after* the last one, but there at the *bit* after the last one; what is below waits for the
/// next round. And no word joins the circle: one that is selected during a pass waits for the next
/// pass, which never comes if the words of this one stay active.
#[derive(Clone, Debug)]
pub(in crate::evtchn) struct RoundRobin {
    /// Word and bit of the last port that was served; the highest ones at first, so that the first
    /// pass begins at port 0.
    last: (u32, u32),
    /// Words in the circle.
    selected: u64,
    /// Where the pass is: word, and the bit behind which it continues.
    word: u32,
    bit: u32,
    /// In the middle of `word`, rather than between two words.
    inside: bool,
}

impl RoundRobin {
    pub(super) fn new(width: Width) -> RoundRobin {
        let end = width.bits() - 1;
        RoundRobin {
            last: (end, end),
            selected: 0,
            word: end,
            bit: end,
            inside: false,
        }
    }

    pub(super) fn begin(&mut self, selected: u64) {
        self.selected = selected;
        (self.word, self.bit) = self.last;
        self.inside = false;
    }

    pub(super) fn next(&mut self, events: &TwoLevel, vcpu: u16) -> Option<Port> {
        let width = events.width();
        let end = width.bits() - 1;
        loop {
            // The highest bit ends a word; before the first bit of a word, it stands for its begin.
            if self.inside && self.bit == end {
                self.leave(events, vcpu);
            }
            if !self.inside && !self.enter(width) {
                return None;
            }
            let behind = events.active(self.word, vcpu) & from_bit(width.after(self.bit));
            if behind != 0 {
                self.inside = true;
                self.bit = behind.trailing_zeros();
                self.last = (self.word, self.bit);
                return Some(width.port(self.word, self.bit));
            }
            self.bit = end;
            self.inside = true;
        }
    }

    /// Goes to the next word of the circle; false if none is left.
    fn enter(&mut self, width: Width) -> bool {
        if self.selected == 0 {
            return false;
        }
        let first = width.after(self.word);
        let later = self.selected & from_bit(first);
        if later == 0 {
            // Round the end, and from the first bit.
            self.bit = width.bits() - 1;
            self.word = self.selected.trailing_zeros();
        } else {
            self.word = later.trailing_zeros();
        }
        true
    }

    /// Leaves a word, for good if nothing in it is active.
    fn leave(&mut self, events: &TwoLevel, vcpu: u16) {
        if events.active(self.word, vcpu) == 0 {
            self.selected &= !(1 << self.word);
        }
        self.inside = false;
    }
}
