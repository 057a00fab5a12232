//! Drives by name.

use super::Drive;
use super::array::{ARRAY, ArrayConfig, ArrayDrive, RaidLevel};
use super::disk::{GENERIC_2008, HITACHI_7K500, MechanicalConfig, MechanicalDisk};
use super::flash::{FlashConfig, FlashDrive, NVME, SSD_SATA};
use super::keys::{ArrayKeys, FlashKeys, MechanicalKeys};
use alloc::boxed::Box;
use domio_core::keys::{Keys, WordOf};

/// What a drive is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriveConfig {
    /// A mechanical disk.
    Mechanical(MechanicalConfig),
    /// A flash drive.
    Flash(FlashConfig),
    /// An array of mechanical disks.
    Array(ArrayConfig),
}

/// A drive that has a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveProfile {
    /// What the drive is made of.
    pub config: DriveConfig,
    /// Where the figures are from.
    pub source: &'static str,
}

impl DriveConfig {
    /// Why there is no such drive, if there is none.
    pub fn fault(&self) -> Option<&'static str> {
        match self {
            DriveConfig::Mechanical(config) => config.fault(),
            DriveConfig::Flash(config) => config.fault(),
            DriveConfig::Array(config) => config.fault(),
        }
    }

    /// Sectors of the drive, which need not be built for that.
    pub fn sectors(&self) -> u64 {
        match self {
            DriveConfig::Mechanical(config) => config.capacity(),
            DriveConfig::Flash(config) => config.sectors,
            DriveConfig::Array(config) => config.capacity(),
        }
    }

    /// A drive that has done nothing yet.
    ///
    /// # Panics
    /// When the configuration has a [`DriveConfig::fault`].
    pub fn build(&self) -> Box<dyn Drive> {
        match self {
            DriveConfig::Mechanical(config) => Box::new(MechanicalDisk::new(config)),
            DriveConfig::Flash(config) => Box::new(FlashDrive::new(config)),
            DriveConfig::Array(config) => Box::new(ArrayDrive::new(config)),
        }
    }
}

const ASSUMED: &str = "assumed, within the ranges of data sheets";
const DISKS: &str = "disks: profile hitachi-7k500; the rest is assumed";

const fn mechanical(
    name: &'static str,
    doc: &'static str,
    config: MechanicalConfig,
    source: &'static str,
) -> WordOf<DriveProfile> {
    let config = DriveConfig::Mechanical(config);
    let profile = DriveProfile { config, source };
    WordOf::with_keys(name, profile, doc, MechanicalKeys::KEYS)
}

const fn flash(name: &'static str, doc: &'static str, config: FlashConfig) -> WordOf<DriveProfile> {
    let config = DriveConfig::Flash(config);
    let profile = DriveProfile {
        config,
        source: ASSUMED,
    };
    WordOf::with_keys(name, profile, doc, FlashKeys::KEYS)
}

const fn array(name: &'static str, doc: &'static str, level: RaidLevel) -> WordOf<DriveProfile> {
    let config = DriveConfig::Array(ArrayConfig { level, ..ARRAY });
    let profile = DriveProfile {
        config,
        source: DISKS,
    };
    WordOf::with_keys(name, profile, doc, ArrayKeys::KEYS)
}

/// Every drive with a name.
pub static DRIVES: [WordOf<DriveProfile>; 7] = [
    mechanical(
        "hitachi-7k500",
        "Hitachi Deskstar 7K500, 500 GB, 7200/min, of 2005.",
        HITACHI_7K500,
        "the maker's specification, siblings of the disk, a review",
    ),
    mechanical(
        "sata-2008",
        "A SATA disk of 500 GB, 7200/min, of about 2008.",
        GENERIC_2008,
        "specification of the Deskstar 7K1000.C and a review; half of the figures are assumed",
    ),
    flash("ssd-sata", "A flash drive behind SATA: 10 dies.", SSD_SATA),
    flash("nvme", "A flash drive behind PCI Express: 64 dies.", NVME),
    array(
        "array-raid0",
        "Eight disks behind a network, with stripes.",
        RaidLevel::Raid0,
    ),
    array(
        "array-raid10",
        "Eight disks behind a network, as stripes over four pairs.",
        RaidLevel::Raid10,
    ),
    array(
        "array-raid5",
        "Eight disks behind a network, with stripes and parity.",
        RaidLevel::Raid5,
    ),
];

/// The drive of that name.
pub fn find_drive(name: &str) -> Option<&'static DriveProfile> {
    WordOf::find(&DRIVES, name)
}
