//! The oldest scan (xen-spec 5.4): the lowest port of a word, again and again until none is left.

use crate::evtchn::port::Port;
use crate::evtchn::two_level::TwoLevel;

/// A pass that serves the lowest active port of the lowest selected word.
///
/// After each handler the word is read again from its begin, so a low port that is sent to again
/// comes before all higher ports of its word and before all later words.
#[derive(Clone, Debug, Default)]
pub(in crate::evtchn) struct Restart {
    /// Words that are still to be looked at.
    selected: u64,
    /// The word whose ports are being served.
    word: Option<u32>,
    /// Nested upcalls go over the ports themselves.
    nests: bool,
}

impl Restart {
    /// A pass; `nests` is whether nested upcalls make passes of their own.
    pub(super) fn new(nests: bool) -> Self {
        Restart {
            nests,
            ..Restart::default()
        }
    }

    /// Puts the pass aside for that of a nested upcall, if those make their own.
    pub(super) fn set_aside(&mut self) -> Option<Self> {
        let fresh = Restart::new(true);
        self.nests.then(|| core::mem::replace(self, fresh))
    }

    pub(super) fn begin(&mut self, selected: u64) {
        self.selected = selected;
        self.word = None;
    }

    pub(super) fn next(&mut self, events: &TwoLevel, vcpu: u16) -> Option<Port> {
        loop {
            if let Some(word) = self.word {
                let active = events.active(word, vcpu);
                if active != 0 {
                    return Some(events.width().port(word, active.trailing_zeros()));
                }
            }
            if self.selected == 0 {
                self.word = None;
                return None;
            }
            self.word = Some(self.selected.trailing_zeros());
            self.selected &= self.selected - 1;
        }
    }
}
