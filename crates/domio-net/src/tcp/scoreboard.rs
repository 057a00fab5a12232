//! What the other end has of what is under way, and what of the rest is lost.
//!
//! Selective acknowledgements (RFC 2018) tell the one. As for the other, Linux takes everything for
//! lost that is further than three segments before the last one that has arrived (forward
//! acknowledgement, `tcp_fack`, the default until 2018); so a burst's losses are all sent again in
//! the next round trip.

use super::ranges::Ranges;
use crate::packet::Segment;

#[derive(Clone, Default, Debug)]
pub struct Scoreboard {
    /// What has arrived beyond the first unacknowledged number.
    got: Ranges,
    /// In recovery, behind the last number that counts as lost.
    lost: u64,
    /// In recovery, behind the last number that was sent again.
    again: u64,
}

impl Scoreboard {
    /// Takes in what `segment` reports numbers between `una` and `max`.
    pub fn mark(&mut self, segment: &Segment, una: u64, max: u64) {
        for (start, end) in segment.sack.blocks(segment.ack) {
            if start >= una && end <= max {
                self.got.insert(start, end);
            }
        }
    }

    /// Everything before `una` is acknowledged.
    pub fn acknowledged(&mut self, una: u64) {
        self.got.cut(una);
        self.again = self.again.max(una);
    }

    /// Numbers from `una` to the last one that has arrived.
    pub fn reach(&self, una: u64) -> u64 {
        self.got.end().map_or(0, |end| end.saturating_sub(una))
    }

    /// Recovery begins: everything may be sent again.
    pub fn begin(&mut self, una: u64) {
        (self.again, self.lost) = (una, una);
    }

    /// Numbers before `edge` are lost unless they have arrived.
    pub fn lose(&mut self, edge: u64) {
        self.lost = self.lost.max(edge);
    }

    /// Recovery is over, or a timeout has ended it.
    pub fn end(&mut self) {
        self.lost = 0;
    }

    /// First number of what is lost and was not sent again, and the one behind the last.
    pub fn next_lost(&self) -> Option<(u64, u64)> {
        let (start, end) = self.got.gap(self.again);
        let end = end.map_or(self.lost, |end| end.min(self.lost));
        (start < end).then_some((start, end))
    }

    /// Everything that is lost before `number` was sent again.
    pub fn sent_again(&mut self, number: u64) {
        self.again = number;
    }

    /// Where the next gap at or behind `number` begins and, unless it is the last one, ends.
    pub fn gap(&self, number: u64) -> (u64, Option<u64>) {
        if self.got.is_empty() {
            return (number, None);
        }
        self.got.gap(number)
    }

    /// How many numbers are under way, with those from `una` to before `nxt` sent: those that have
    /// not arrived, less those that are lost.
    pub fn under_way(&self, una: u64, nxt: u64) -> u64 {
        if self.got.is_empty() {
            return nxt - una;
        }
        self.got.missing(una, nxt) - self.got.missing(self.again, self.lost.min(nxt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Flags, Sack};
    use domio_core::Instant;

    /// An acknowledgement of everything before `ack`, and of `blocks`.
    fn segment(ack: u64, blocks: &[(u64, u64)]) -> Segment {
        Segment {
            seq: 1,
            ack,
            window: 0,
            len: 0,
            flags: Flags::ACK,
            sent: Instant::ZERO,
            echo: Instant::ZERO,
            sack: Sack::new(ack, blocks.iter().copied()),
        }
    }

    #[test]
    fn what_is_lost_is_sent_again_once() {
        let mut board = Scoreboard::default();
        board.mark(&segment(10, &[(40, 60), (20, 30)]), 10, 100);
        assert_eq!((board.reach(10), board.under_way(10, 100)), (50, 60));
        board.begin(10);
        board.lose(45);
        assert_eq!(
            board.under_way(10, 100),
            40,
            "10 to 20 and 30 to 40 are lost"
        );
        assert_eq!(board.next_lost(), Some((10, 20)));
        board.sent_again(20);
        assert_eq!(
            (board.next_lost(), board.under_way(10, 100)),
            (Some((30, 40)), 50)
        );
        board.sent_again(40);
        assert_eq!((board.next_lost(), board.under_way(10, 100)), (None, 60));
        board.acknowledged(30);
        assert_eq!(board.under_way(30, 100), 50);
        board.end();
        assert_eq!(board.next_lost(), None);
    }

    #[test]
    fn blocks_from_elsewhere_are_not_believed() {
        let mut board = Scoreboard::default();
        board.mark(&segment(10, &[(40, 60)]), 45, 100);
        board.mark(&segment(10, &[(40, 60)]), 10, 50);
        assert_eq!(board.reach(10), 0);
    }

    #[test]
    fn without_anything_that_came_early_all_is_under_way() {
        let mut board = Scoreboard::default();
        assert_eq!((board.under_way(10, 30), board.gap(10)), (20, (10, None)));
        board.mark(&segment(10, &[(20, 25)]), 10, 30);
        assert_eq!((board.gap(10), board.gap(20)), ((10, Some(20)), (25, None)));
    }
}
