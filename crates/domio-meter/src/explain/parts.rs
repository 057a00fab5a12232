//! Time of one wait by who ran, and why.

use domio_core::VcpuName;

use super::waits::why::Why;

/// Who ran, if anybody did, and the cause.
pub(super) type Part = (Option<VcpuName>, Why);

/// Times in the order of their parts. A wait has a few; a list that is searched by halves takes a
/// fraction of a tree's time.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<(Part, u64)>);

impl Parts {
    /// Adds to one.
    #[inline]
    pub fn add(&mut self, part: Part, time: u64) {
        match self.0.binary_search_by_key(&part, |(part, _)| *part) {
            Ok(at) => self.0[at].1 += time,
            Err(at) => self.0.insert(at, (part, time)),
        }
    }

    /// Adds all that `other` has, which has nothing after.
    pub fn take_from(&mut self, other: &mut Parts) {
        if self.0.is_empty() {
            core::mem::swap(self, other);
        } else {
            for (part, time) in other.0.drain(..) {
                self.add(part, time);
            }
        }
    }

    /// Without any, for another wait.
    pub fn cleared(mut self) -> Self {
        self.0.clear();
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &(Part, u64)> {
        self.0.iter()
    }

    /// The sum.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, time)| time).sum()
    }
}
