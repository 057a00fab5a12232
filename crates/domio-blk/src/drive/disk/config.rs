//! What a mechanical disk is made of, and the two profiles.

use super::geometry::{Geometry, PlatterShape};
use super::seek::SeekTimes;
use domio_core::Duration;

/// Sectors of a disk of 500 GB, as its makers agreed on (IDEMA LBA1-02).
const SECTORS_500_GB: u64 = 976_773_168;

/// How a disk chooses among the commands that it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskOrder {
    /// The oldest.
    Fifo,
    /// The one with the least positioning time (policy 8 of DiskSim).
    Sptf,
    /// The least positioning time after a share of its age was taken off (policy 14 of DiskSim).
    AgedSptf,
}

/// When writes leave the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destage {
    /// While no command waits, and when more than half of the cache is full of writes.
    ReadsFirst,
    /// At any time: they compete with the commands for the arm.
    Together,
}

/// A mechanical disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MechanicalConfig {
    /// Sectors of 512 bytes; fewer where the platters have no room for them.
    pub sectors: u64,
    /// Heads, at least 1.
    pub heads: u32,
    /// Zones, at least 1.
    pub zones: u32,
    /// Cylinders, equally many in each zone.
    pub cylinders: u32,
    /// Sectors of a track at the outer edge.
    pub track_outer: u32,
    /// Sectors of a track at the inner edge; those of zones between are linear.
    pub track_inner: u32,
    /// Time of a revolution.
    pub revolution: Duration,
    /// Seek times.
    pub seek: SeekTimes,
    /// Settling after a move before a write, beyond that of a read.
    pub write_settle: Duration,
    /// Switch to another head of a cylinder: the skew of tracks.
    pub head_switch: Duration,
    /// Transfer that continues in the next cylinder: the skew of cylinders.
    pub cylinder_switch: Duration,
    /// Work of the firmware for a command, before the arm moves.
    pub overhead: Duration,
    /// Bytes a second between host and cache.
    pub link: u64,
    /// Commands that the disk holds at a time: 1 without NCQ.
    pub depth: u32,
    /// How the disk chooses among commands.
    pub order: DiskOrder,
    /// A command that is older goes first, whatever the order; zero for no such limit.
    pub age_limit: Duration,
    /// Share of its age that aged SPTF takes off a command's positioning time, in thousandths.
    pub age_weight: u32,
    /// A sector that passes the head sooner after the arm's arrival is missed for a revolution.
    pub slack: Duration,
    /// Bytes of cache.
    pub cache: u64,
    /// Sectors that are read on after a read; 0 for none.
    pub read_ahead: u32,
    /// Sectors of the longest read segment and of the longest write out of the cache.
    pub segment: u32,
    /// Writes are finished when they are in the cache (WCE).
    pub write_cache: bool,
    /// Separate places of writes in the cache.
    pub extents: u32,
    /// When they leave the cache.
    pub destage: Destage,
}

/// Profile A: Hitachi Deskstar 7K500, 500 GB (2005).
///
/// The specification is the maker's for the 7K500, with the page in brackets. What it does not say
/// is marked: *derived* from its other figures, from a *sibling*, or *assumed*.
pub const HITACHI_7K500: MechanicalConfig = MechanicalConfig {
    sectors: SECTORS_500_GB,
    // 5 platters.
    heads: 10,
    zones: 30,
    // Derived: 30 zones of 3547 cylinders hold the sectors.
    cylinders: 106_410,
    // Derived from 76.3 and 36.5 MB/s at the edges (p. 17).
    track_outer: 1242,
    track_inner: 594,
    // 7200 a minute.
    revolution: Duration::from_nanos(8_333_333),
    seek: SeekTimes {
        // Assumed.
        next: Duration::from_micros(800),
        // Fits the specification's times of random reads (p. 18); a review measured 8.5.
        mean: Duration::from_micros(8200),
        // Siblings of 7200 a minute: 60GXP and 75GXP.
        full: Duration::from_micros(14_700),
    },
    // Those siblings: 15.7 ms for a full seek of a write.
    write_settle: Duration::from_micros(1000),
    // Derived from sustained against instantaneous rates (64.8 to 76.3 MB/s); siblings: 1.4, 1.8.
    head_switch: Duration::from_micros(1450),
    cylinder_switch: Duration::from_micros(1750),
    // Derived from 52.9 s for 4096 random reads (p. 18).
    overhead: Duration::from_micros(500),
    link: 300_000_000,
    depth: 31,
    order: DiskOrder::Sptf,
    // Assumed: 0.5 to 2 s are plausible.
    age_limit: Duration::from_secs(2),
    age_weight: 0,
    // Assumed: the firmware predicts well.
    slack: Duration::ZERO,
    cache: 16 << 20,
    read_ahead: 512,
    segment: 1024,
    write_cache: true,
    extents: 128,
    // Assumed: firmware is not published. A host waits for reads alone.
    destage: Destage::ReadsFirst,
};

/// Profile B: a disk of 500 GB of about 2008, two platters.
pub const GENERIC_2008: MechanicalConfig = MechanicalConfig {
    heads: 4,
    // Assumed, as are 5970 cylinders of each.
    zones: 30,
    cylinders: 179_100,
    // Derived from 111.7 MB/s, the highest rate of Hitachi's 500 GB of 2008 (Tom's Hardware).
    track_outer: 1818,
    // Assumed: half.
    track_inner: 909,
    seek: SeekTimes {
        // Assumed.
        next: Duration::from_micros(800),
        // Deskstar 7K1000.C, two platters (specification, p. 20); writes 9.5.
        mean: Duration::from_micros(8500),
        // Assumed.
        full: Duration::from_micros(18_000),
    },
    // The same page: 9.5 ms for writes.
    write_settle: Duration::from_micros(1000),
    // Assumed.
    head_switch: Duration::from_micros(1000),
    cylinder_switch: Duration::from_micros(1600),
    overhead: Duration::from_micros(300),
    ..HITACHI_7K500
};

impl MechanicalConfig {
    /// Sectors of the disk: as many as were asked for, and the platters have.
    pub fn capacity(&self) -> u64 {
        self.sectors.min(self.geometry().sectors())
    }

    pub(super) fn geometry(&self) -> Geometry {
        Geometry::new(PlatterShape {
            heads: self.heads.into(),
            zones: self.zones.into(),
            cylinders: self.cylinders.into(),
            track: [self.track_outer.into(), self.track_inner.into()],
            revolution: self.revolution.as_nanos(),
            switches: [self.head_switch.as_nanos(), self.cylinder_switch.as_nanos()],
        })
    }

    /// First sector of a zone, counted from 0 at the outer edge.
    ///
    /// # Panics
    /// When there is no such zone.
    pub fn zone_start(&self, zone: usize) -> u64 {
        self.geometry().zone_start(zone)
    }

    /// Why there is no such disk, if there is none.
    pub fn fault(&self) -> Option<&'static str> {
        let second = Duration::from_secs(1);
        let times = [
            self.revolution,
            self.seek.next,
            self.seek.mean,
            self.seek.full,
        ];
        let none = [self.heads, self.zones, self.track_outer, self.track_inner].contains(&0);
        let faults = [
            (
                none || self.sectors == 0,
                "a disk without heads, zones or sectors",
            ),
            (self.cylinders < self.zones, "fewer cylinders than zones"),
            (self.revolution.is_zero(), "a revolution that takes no time"),
            (
                times.iter().any(|&t| t > second),
                "a seek or a revolution of over a second",
            ),
            (
                self.head_switch
                    .max(self.cylinder_switch)
                    .max(self.write_settle)
                    > second,
                "a switch or a settling of over a second",
            ),
            (
                self.seek.constants().is_none(),
                "seek times without a curve: Lee's constants a or b are negative",
            ),
            (self.depth == 0, "a disk that holds no command"),
            (self.link == 0, "a link without bandwidth"),
            (
                self.slack >= self.revolution,
                "a slack of a revolution or more",
            ),
            (
                u64::from(self.segment) * 512 > self.cache || self.segment == 0,
                "a segment that is empty or larger than the cache",
            ),
            (
                self.write_cache && self.extents == 0,
                "a write cache without extents",
            ),
        ];
        faults.into_iter().find(|(is, _)| *is).map(|(_, why)| why)
    }
}
