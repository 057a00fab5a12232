//! Which access is next.

use super::geometry::Spot;
use super::{DiskOrder, MechanicalDisk, Mechanics};
use crate::elevator::IoWay;
use domio_core::{Duration, Instant};

/// An access that can be next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// The command with this place in order of arrival.
    Waiting(usize),
    /// The extent of the cache with this place.
    DirtyExtent(usize),
}

/// What the way to the first sector takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Position {
    pub seek: Duration,
    pub rotation: Duration,
}

/// Where arm and platters are at a time.
struct Stand<'d> {
    mechanics: &'d Mechanics,
    arm: (u32, u32),
    /// How far the platters have turned (ns).
    angle: u32,
    revolution: u32,
}

impl Stand<'_> {
    /// Time (ns) of the move and of the wait after the move.
    #[inline]
    fn position(&self, spot: Spot, way: IoWay) -> (u32, u32) {
        let config = &self.mechanics.config;
        let (cylinder, head) = self.arm;
        let mut seek = self.mechanics.curve[cylinder.abs_diff(spot.cylinder) as usize];
        if head != spot.head {
            seek = seek.max(config.head_switch.as_nanos() as u32);
        }
        if way == IoWay::Write && seek > 0 {
            seek += config.write_settle.as_nanos() as u32;
        }
        let there = (self.angle + seek) % self.revolution;
        let ahead = spot.angle + self.revolution - there;
        let mut wait = if ahead < self.revolution {
            ahead
        } else {
            ahead - self.revolution
        };
        if seek > 0 && u64::from(wait) < config.slack.as_nanos() {
            wait += self.revolution;
        }
        (seek, wait)
    }
}

impl MechanicalDisk {
    /// The access that is next at `now`, and the way to its first sector. Extents of the cache
    /// take part where `destage` is set.
    pub(super) fn choice(&self, now: Instant, destage: bool) -> Option<(Choice, Position)> {
        let config = &self.mechanics.config;
        let revolution = config.revolution.as_nanos();
        let stand = Stand {
            mechanics: &self.mechanics,
            arm: self.arm,
            angle: (now.as_nanos() % revolution) as u32,
            revolution: revolution as u32,
        };
        let old = self.waiting.first().filter(|oldest| {
            let limit = config.age_limit;
            !limit.is_zero() && now.since(oldest.since) > limit
        });
        let first = old.or(self
            .waiting
            .first()
            .filter(|_| config.order == DiskOrder::Fifo));
        if let Some(first) = first {
            let position = stand.position(first.spot, first.command.way);
            return Some((Choice::Waiting(0), as_position(position)));
        }
        let mut best: Option<(i64, Choice, (u32, u32))> = None;
        let mut offer = |choice, position: (u32, u32), credit: u64| {
            let cost = i64::from(position.0) + i64::from(position.1) - credit as i64;
            if best.is_none_or(|(least, _, _)| cost < least) {
                best = Some((cost, choice, position));
            }
        };
        let weight = match config.order {
            DiskOrder::AgedSptf => u64::from(config.age_weight),
            DiskOrder::Fifo | DiskOrder::Sptf => 0,
        };
        for (index, waiting) in self.waiting.iter().enumerate() {
            let credit = match weight {
                0 => 0,
                weight => now.since(waiting.since).as_nanos() / 1000 * weight,
            };
            let position = stand.position(waiting.spot, waiting.command.way);
            offer(Choice::Waiting(index), position, credit);
        }
        let extents = self.dirty.extents().iter().filter(|_| destage);
        for (index, extent) in extents.enumerate() {
            let position = stand.position(extent.spot, IoWay::Write);
            offer(Choice::DirtyExtent(index), position, 0);
        }
        best.map(|(_, choice, position)| (choice, as_position(position)))
    }
}

fn as_position((seek, wait): (u32, u32)) -> Position {
    Position {
        seek: Duration::from_nanos(seek.into()),
        rotation: Duration::from_nanos(wait.into()),
    }
}
