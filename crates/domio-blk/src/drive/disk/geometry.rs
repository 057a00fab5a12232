//! Where sectors are on the platters, and when they pass the heads.
//!
//! Sectors go track by track, head by head within a cylinder, then to the next cylinder inwards. A
//! *way* is the time that the heads need from the first sector of the disk to a place, if they read
//! everything before without a pause. Tracks are skewed by the time of the switch to them, so that
//! a way modulo the revolution is the angle at which the place lies.

use alloc::vec::Vec;

/// PlatterShape of the platters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlatterShape {
    /// Heads, each with a surface.
    pub heads: u64,
    /// Zones, with equally many cylinders each.
    pub zones: u64,
    /// Cylinders of all zones.
    pub cylinders: u64,
    /// Sectors of a track of the outermost zone, and of the innermost one.
    pub track: [u64; 2],
    /// Time of a revolution (ns).
    pub revolution: u64,
    /// Time of a switch to the next head, and to the next cylinder (ns).
    pub switches: [u64; 2],
}

/// A zone: cylinders whose tracks have equally many sectors.
#[derive(Clone, Copy, Debug)]
struct Zone {
    /// First sector.
    sector: u64,
    /// First cylinder.
    cylinder: u64,
    /// Sectors of a track.
    track: u64,
    /// Way of the first sector (ns).
    way: u64,
}

/// A shape with its zones.
#[derive(Clone, Debug)]
pub struct Geometry {
    shape: PlatterShape,
    zones: Vec<Zone>,
    sectors: u64,
}

/// Where a sector is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// The cylinder, counted from the outermost one.
    pub cylinder: u32,
    /// The head.
    pub head: u32,
    /// Angle of the sector's start, as the time (ns) that the platters need to turn so far.
    pub angle: u32,
}

impl Geometry {
    /// The geometry of a shape with cylinders for each zone.
    pub fn new(shape: PlatterShape) -> Geometry {
        let cylinders = shape.cylinders / shape.zones;
        let mut zones = Vec::new();
        let mut next = Zone {
            sector: 0,
            cylinder: 0,
            track: 0,
            way: 0,
        };
        for index in 0..shape.zones {
            next.track = shape.track_of(index);
            zones.push(next);
            next.sector += cylinders * shape.heads * next.track;
            next.cylinder += cylinders;
            next.way += cylinders * shape.cylinder_way();
        }
        Geometry {
            shape,
            zones,
            sectors: next.sector,
        }
    }

    /// Number of sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Number of cylinders.
    pub fn cylinders(&self) -> u64 {
        self.zones.len() as u64 * (self.shape.cylinders / self.shape.zones)
    }

    /// First sector of a zone, counted from the outermost one.
    pub fn zone_start(&self, zone: usize) -> u64 {
        self.zones[zone].sector
    }

    /// Where a sector is.
    pub fn spot(&self, sector: u64) -> Spot {
        let (zone, cylinder, head, place) = self.split(sector);
        let way = self.track_start(zone, cylinder, head) + self.turn(zone, place);
        Spot {
            cylinder: (zone.cylinder + cylinder) as u32,
            head: head as u32,
            angle: (way % self.shape.revolution) as u32,
        }
    }

    /// Way of the start of a sector.
    pub fn way(&self, sector: u64) -> u64 {
        let (zone, cylinder, head, place) = self.split(sector);
        self.track_start(zone, cylinder, head) + self.turn(zone, place)
    }

    /// Way of the end of a sector. Behind the last sector of a track this is before the way of
    /// the next sector, by the switch.
    pub fn way_behind(&self, sector: u64) -> u64 {
        let (zone, cylinder, head, place) = self.split(sector);
        self.track_start(zone, cylinder, head) + self.turn(zone, place + 1)
    }

    /// The first sector that is not wholly before `way`; the number of sectors at most.
    pub fn sector_at(&self, way: u64) -> u64 {
        let after = self.zones.partition_point(|zone| zone.way <= way);
        let zone = &self.zones[after - 1];
        let rest = way - zone.way;
        let cylinder = rest / self.shape.cylinder_way();
        let rest = rest % self.shape.cylinder_way();
        let step = self.shape.revolution + self.shape.switches[0];
        let head = (rest / step).min(self.shape.heads - 1);
        let turned = rest - head * step;
        let place = turned * zone.track / self.shape.revolution;
        let track = cylinder * self.shape.heads + head;
        let sector = zone.sector + track * zone.track + place.min(zone.track);
        sector.min(self.sectors)
    }

    /// Zone, cylinder in the zone, head, and place on the track of a sector.
    fn split(&self, sector: u64) -> (&Zone, u64, u64, u64) {
        let after = self.zones.partition_point(|zone| zone.sector <= sector);
        let zone = &self.zones[after - 1];
        let within = sector - zone.sector;
        let (track, place) = (within / zone.track, within % zone.track);
        let (cylinder, head) = (track / self.shape.heads, track % self.shape.heads);
        (zone, cylinder, head, place)
    }

    fn track_start(&self, zone: &Zone, cylinder: u64, head: u64) -> u64 {
        let step = self.shape.revolution + self.shape.switches[0];
        zone.way + cylinder * self.shape.cylinder_way() + head * step
    }

    fn turn(&self, zone: &Zone, places: u64) -> u64 {
        places * self.shape.revolution / zone.track
    }
}

impl PlatterShape {
    /// Sectors of a track of a zone: linear from the outermost to the innermost, rounded.
    fn track_of(&self, zone: u64) -> u64 {
        let [outer, inner] = self.track;
        let steps = (self.zones - 1).max(1);
        let sum = outer * (steps - zone.min(steps)) + inner * zone.min(steps);
        (sum + steps / 2) / steps
    }

    /// Way from a cylinder's first sector to that of the next cylinder.
    fn cylinder_way(&self) -> u64 {
        let [head, cylinder] = self.switches;
        self.heads * self.revolution + (self.heads - 1) * head + cylinder
    }
}
