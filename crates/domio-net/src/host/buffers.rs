//! How many buffers netfront posts for packets (xen-spec 6.2).

/// Buffers that netfront wants to have posted at least and at most (`RX_MIN_TARGET`,
/// `RX_MAX_TARGET`).
///
/// What it wants doubles at a refill that finds fewer than a quarter of them unfilled, and falls by
/// one at the end of a poll that leaves more than three quarters unfilled. Netback leaves 19, so
/// that 64 to 79 never double.
const TARGET: core::ops::RangeInclusive<u32> = 64..=256;

/// What netfront wants to have posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Buffers {
    target: u32,
}

impl Buffers {
    /// A driver that wants `target` buffers posted at first.
    pub fn new(target: u32) -> Self {
        Buffers {
            target: target.clamp(*TARGET.start(), *TARGET.end()),
        }
    }

    /// How many it wants now.
    pub fn target(&self) -> u32 {
        self.target
    }

    /// A poll has left `unfilled` buffers: fewer may do.
    pub fn lower_target(&mut self, unfilled: u32) {
        if unfilled > self.target * 3 / 4 {
            self.target = (self.target - 1).max(*TARGET.start());
        }
    }

    /// How many buffers to post while `outstanding` are not taken back, `unfilled` of them not
    /// filled; none where the batch is not worth its hypercall (`network_alloc_rx_buffers`).
    pub fn refill(&mut self, outstanding: u32, unfilled: u32) -> Option<u32> {
        let missing = self.target.saturating_sub(outstanding);
        if missing < self.target / 2 {
            return None;
        }
        if unfilled < self.target / 4 {
            self.target = (self.target * 2).min(*TARGET.end());
        }
        Some(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of 128 posted, as of an interface that has just come up, from which single packets
    /// are taken: 64 polls later 64 are wanted, and the ring has come down with that.
    #[test]
    fn polls_that_find_little_bring_the_target_down() {
        let mut buffers = Buffers::new(128);
        let mut outstanding = 128;
        for _ in 0..64 {
            outstanding -= 1;
            buffers.lower_target(outstanding);
            assert_eq!(buffers.refill(outstanding, outstanding), None);
        }
        assert_eq!((buffers.target, outstanding), (64, 64));
        buffers.lower_target(64);
        assert_eq!(buffers.target, 64, "never less");
    }

    /// Netback leaves 19: not under a quarter of 64 to 79, but of 80.
    #[test]
    fn a_ring_that_is_drained_doubles_a_target_of_80() {
        for (target, expected) in [(64, 64), (79, 79), (80, 160), (128, 256), (200, 256)] {
            let mut buffers = Buffers::new(target);
            // All is taken but what netback left; the batch is what was missing before.
            assert_eq!(buffers.refill(19, 19), Some(target - 19));
            assert_eq!(buffers.target, expected);
        }
    }

    #[test]
    fn half_of_the_target_is_worth_a_refill() {
        let mut buffers = Buffers::new(64);
        assert_eq!(buffers.refill(33, 33), None);
        assert_eq!(buffers.refill(32, 32), Some(32));
        // More is posted than wanted.
        assert_eq!(buffers.refill(100, 90), None);
    }
}
