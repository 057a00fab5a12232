//! Where an array's sectors are on its disks.

use super::{ArrayConfig, RaidLevel};
use crate::drive::SectorRange;
use alloc::vec::Vec;

/// Sectors of one disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub disk: usize,
    pub range: SectorRange,
}

/// A part of a write, with what goes before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Writing {
    /// Old data and old parity, read first.
    pub reads: Vec<Piece>,
    /// Written when all of `reads` are there.
    pub writes: Vec<Piece>,
}

/// How units of an array are spread over disks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    level: RaidLevel,
    disks: u64,
    /// Sectors of a unit.
    unit: u64,
}

impl Layout {
    pub fn new(config: &ArrayConfig) -> Layout {
        Layout {
            level: config.level,
            disks: config.disks.into(),
            unit: u64::from(config.stripe) / 512,
        }
    }

    /// Units with data of a row.
    pub fn data_units(&self) -> u64 {
        match self.level {
            RaidLevel::Raid0 => self.disks,
            RaidLevel::Raid10 => self.disks / 2,
            RaidLevel::Raid5 => self.disks - 1,
        }
    }

    /// Sectors of an array of disks with so many.
    pub fn sectors(&self, of_disk: u64) -> u64 {
        of_disk / self.unit * self.unit * self.data_units()
    }

    /// The pieces of a range, each with its row. With mirrors, the first copy.
    fn pieces(self, range: SectorRange) -> impl Iterator<Item = (u64, Piece)> {
        let units = range.start / self.unit..range.end.div_ceil(self.unit);
        units.map(move |unit| {
            let start = range.start.max(unit * self.unit);
            let end = range.end.min((unit + 1) * self.unit);
            let (row, column) = (unit / self.data_units(), unit % self.data_units());
            let disk = match self.level {
                RaidLevel::Raid0 => column,
                RaidLevel::Raid10 => column * 2,
                RaidLevel::Raid5 => (self.parity(row) + 1 + column) % self.disks,
            };
            let shift = |sector: u64| row * self.unit + (sector - unit * self.unit);
            let range = SectorRange {
                start: shift(start),
                end: shift(end),
            };
            let disk = disk as usize;
            (row, Piece { disk, range })
        })
    }

    /// The disk with a row's parity: one to the left with each row.
    fn parity(&self, row: u64) -> u64 {
        self.disks - 1 - row % self.disks
    }

    /// What is read, each from one of the disks that `mirrors` may choose among.
    pub fn reads(self, range: SectorRange, choose: impl Fn(usize, usize) -> usize) -> Vec<Piece> {
        let mirrored = self.level == RaidLevel::Raid10;
        let chosen = |piece: Piece| match mirrored {
            true => Piece {
                disk: choose(piece.disk, piece.disk + 1),
                ..piece
            },
            false => piece,
        };
        self.pieces(range).map(|(_, piece)| chosen(piece)).collect()
    }

    /// What is written, and what is read before.
    pub fn writes(self, range: SectorRange) -> Vec<Writing> {
        let row_sectors = self.data_units() * self.unit;
        let whole =
            |row: u64| range.start <= row * row_sectors && (row + 1) * row_sectors <= range.end;
        let mut writings: Vec<Writing> = Vec::new();
        let mut row_before = None;
        for (row, piece) in self.pieces(range) {
            let parity = Piece {
                disk: self.parity(row) as usize,
                ..piece
            };
            let mirror = Piece {
                disk: piece.disk + 1,
                ..piece
            };
            let new_row = row_before.replace(row) != Some(row);
            let (reads, writes) = match self.level {
                RaidLevel::Raid0 => (alloc::vec![], alloc::vec![piece]),
                RaidLevel::Raid10 => (alloc::vec![], alloc::vec![piece, mirror]),
                RaidLevel::Raid5 if !whole(row) => {
                    (alloc::vec![piece, parity], alloc::vec![piece, parity])
                }
                RaidLevel::Raid5 if new_row => (alloc::vec![], alloc::vec![piece, parity]),
                RaidLevel::Raid5 => (alloc::vec![], alloc::vec![piece]),
            };
            writings.push(Writing { reads, writes });
        }
        writings
    }
}
