//! How a table asks for a drive: `profile` names one, and further keys change figures of it.

use super::array::{ArrayConfig, RaidLevel};
use super::disk::{Destage, DiskOrder, GENERIC_2008, HITACHI_7K500, MechanicalConfig};
use super::flash::FlashConfig;
use super::registry::{DRIVES, DriveConfig, DriveProfile};
use domio_core::Duration;
use domio_core::keys::{
    Given, KeySection, Keys, Need, Slot, WordOf, Words, bytes, flag, int, time, word,
};

/// Without the key, the figure of the profile stays.
const OF_PROFILE: Need = Need::Optional("the profile's");
/// Most sectors of a drive: 1 PiB.
const SECTORS_MAX: i64 = 1 << 41;
/// Fastest link: 1 TB/s.
const RATE_MAX: u64 = 1_000_000_000_000;
/// Largest cache: 1 TiB.
const CACHE_MAX: u64 = 1 << 40;

static ORDERS: [WordOf<DiskOrder>; 3] = [
    WordOf::new("fifo", DiskOrder::Fifo, "The oldest command."),
    WordOf::new(
        "sptf",
        DiskOrder::Sptf,
        "The shortest positioning time first.",
    ),
    WordOf::new(
        "aged-sptf",
        DiskOrder::AgedSptf,
        "The shortest move and rotation, less a share of the command's age.",
    ),
];

static DESTAGES: [WordOf<Destage>; 2] = [
    WordOf::new(
        "reads-first",
        Destage::ReadsFirst,
        "While no command waits, and when more than half of the cache is full of writes.",
    ),
    WordOf::new(
        "together",
        Destage::Together,
        "At any time: they compete with the commands for the arm.",
    ),
];

static LEVELS: [WordOf<RaidLevel>; 3] = [
    WordOf::new("raid0", RaidLevel::Raid0, "Stripes."),
    WordOf::new("raid10", RaidLevel::Raid10, "Stripes over pairs."),
    WordOf::new("raid5", RaidLevel::Raid5, "Stripes with parity."),
];

static SPINDLES: [WordOf<MechanicalConfig>; 2] = [
    WordOf::new("hitachi-7k500", HITACHI_7K500, "Hitachi Deskstar 7K500."),
    WordOf::new("sata-2008", GENERIC_2008, "A SATA disk of about 2008."),
];

/// The table of a drive.
pub static DRIVE: KeySection = KeySection::plain(
    "[drive]",
    "A drive: what executes the commands of a disk.",
    ProfileKeys::KEYS,
)
.by("profile", Words::Of(&DRIVES));

keys! {
    struct ProfileKeys {
        profile: DriveProfile = word(&DRIVES), Need::Required,
            "The drive whose figures hold where no other key says otherwise.";
    }
}

keys! {
    /// Keys of a mechanical disk.
    pub(super) struct MechanicalKeys {
        sectors: u64 = int(1, SECTORS_MAX), OF_PROFILE,
            "Sectors of 512 bytes; fewer where the platters have no room.";
        heads: u32 = int(1, 64), OF_PROFILE, "Heads.";
        zones: u32 = int(1, 1000), OF_PROFILE, "Zones of equally many cylinders.";
        cylinders: u32 = int(1, 1 << 22), OF_PROFILE, "Cylinders.";
        track_outer: u32 = int(1, 1 << 20), OF_PROFILE, "Sectors of a track of the outermost zone.";
        track_inner: u32 = int(1, 1 << 20), OF_PROFILE,
            "Sectors of a track of the innermost zone; between them the number is linear.";
        revolution: Duration = time("us", 1000), OF_PROFILE, "Time of a revolution.";
        seek_next: Duration = time("us", 0), OF_PROFILE, "Seek to the next cylinder.";
        seek_mean: Duration = time("us", 0), OF_PROFILE, "Mean seek.";
        seek_full: Duration = time("us", 0), OF_PROFILE, "Seek over all cylinders.";
        write_settle: Duration = time("us", 0), OF_PROFILE,
            "Settling time of a write, beyond that of a read, after a move of the arm.";
        head_switch: Duration = time("us", 0), OF_PROFILE, "Switch to another head.";
        cylinder_switch: Duration = time("us", 0), OF_PROFILE,
            "Switch to the next cylinder within a transfer.";
        overhead: Duration = time("us", 0), OF_PROFILE, "The firmware's work for a command.";
        link: u64 = bytes(1, RATE_MAX), OF_PROFILE, "Bytes a second between host and cache.";
        depth: u32 = int(1, 256), OF_PROFILE,
            "Most commands in the disk: 31 with NCQ, 1 without.";
        order: DiskOrder = word(&ORDERS), OF_PROFILE, "Which command the disk chooses.";
        age_limit: Duration = time("ms", 0), OF_PROFILE,
            "A command that is older goes first; 0 for no limit.";
        age_weight: u32 = int(0, 1_000_000), OF_PROFILE,
            "Thousandths of its age that aged-sptf takes off a command's positioning time.";
        slack: Duration = time("us", 0), OF_PROFILE,
            "A sector that passes sooner after a move is missed for a revolution.";
        cache: u64 = bytes(512, CACHE_MAX), OF_PROFILE, "Cache.";
        read_ahead: u32 = int(0, 1 << 20), OF_PROFILE,
            "Sectors that the heads read on while nobody needs them elsewhere.";
        segment: u32 = int(1, 1 << 20), OF_PROFILE,
            "Sectors of the longest segment that was read, and of the longest write out of the \
               cache.";
        write_cache: bool = flag(), OF_PROFILE,
            "Whether a write is finished when it is in the cache.";
        extents: u32 = int(1, 1 << 16), OF_PROFILE, "Separate places of writes in the cache.";
        destage: Destage = word(&DESTAGES), OF_PROFILE, "When writes leave the cache.";
    }
}

keys! {
    /// Keys of a flash drive.
    pub(super) struct FlashKeys {
        sectors: u64 = int(1, SECTORS_MAX), OF_PROFILE, "Sectors of 512 bytes.";
        dies: u32 = int(1, 4096), OF_PROFILE, "Dies.";
        channels: u32 = int(1, 256), OF_PROFILE, "Channels to the dies.";
        page: u32 = bytes(512, 1 << 20), OF_PROFILE, "A page.";
        block_pages: u32 = int(1, 1 << 16), OF_PROFILE, "Pages of a block.";
        read: Duration = time("us", 0), OF_PROFILE, "Reading a page.";
        program: Duration = time("us", 0), OF_PROFILE, "Programming a page.";
        erase: Duration = time("us", 0), OF_PROFILE, "Erasing a block.";
        channel: u64 = bytes(1, RATE_MAX), OF_PROFILE, "Bytes a second of a channel.";
        link: u64 = bytes(1, RATE_MAX), OF_PROFILE, "Bytes a second between host and drive.";
        overhead: Duration = time("us", 0), OF_PROFILE, "The drive's work for a command.";
        buffered: Duration = time("us", 0), OF_PROFILE, "Taking a write into the buffer.";
        buffer: u64 = bytes(512, CACHE_MAX), OF_PROFILE, "Buffer of writes.";
        amplification: u32 = int(100, 10_000), OF_PROFILE,
            "Hundredths of a page that are programmed for each page of the host.";
        free_pages: u32 = int(0, 1 << 30), OF_PROFILE,
            "Free pages of each die at the start: 0 for a drive that was written full.";
        suspend: Duration = time("us", 0), OF_PROFILE,
            "Time for which a read waits until a program is suspended; 0 for dies that cannot \
             suspend.";
        depth: u32 = int(1, 65_535), OF_PROFILE, "Most commands in the drive.";
    }
}

keys! {
    /// Keys of an array.
    pub(super) struct ArrayKeys {
        disks: u32 = int(1, 1024), OF_PROFILE, "Disks.";
        level: RaidLevel = word(&LEVELS), OF_PROFILE, "How data is spread over the disks.";
        stripe: u32 = bytes(512, 1 << 30), OF_PROFILE, "What follows each other on a disk.";
        depth: u32 = int(1, 65_535), OF_PROFILE, "Most commands in the LUN.";
        cache: u64 = bytes(0, CACHE_MAX), OF_PROFILE, "Cache in front of the disks.";
        dirty: u64 = bytes(0, CACHE_MAX), OF_PROFILE,
            "Part of the cache that may wait to be written; 0 where writes wait for the disks.";
        hit: Duration = time("us", 0), OF_PROFILE, "Time of a command that the cache serves.";
        network: Duration = time("us", 0), OF_PROFILE, "Delay of the network, each way.";
        spindle: MechanicalConfig = word(&SPINDLES), OF_PROFILE,
            "Which mechanical disks the array has.";
        disk_depth: u32 = int(1, 256), OF_PROFILE, "Most commands in each disk.";
    }
}

/// Puts what was written at `slot` into `figure`; `None` when that is bad.
fn put<T: Clone>(slot: &Slot<T>, figure: &mut T) -> Option<()> {
    if let Some(value) = slot.if_given()? {
        *figure = value;
    }
    Some(())
}

impl DriveConfig {
    /// The drive that a table of [`DRIVE`] asks for; `None` when one of its values is bad.
    pub fn read(table: &dyn Given) -> Option<DriveConfig> {
        let profile = ProfileKeys::read(table).profile.get()?;
        let mut drive = profile.config;
        match &mut drive {
            DriveConfig::Mechanical(config) => read_mechanical(table, config)?,
            DriveConfig::Flash(config) => read_flash(table, config)?,
            DriveConfig::Array(config) => read_array(table, config)?,
        }
        Some(drive)
    }
}

fn read_mechanical(table: &dyn Given, config: &mut MechanicalConfig) -> Option<()> {
    let keys = MechanicalKeys::read(table);
    put(&keys.sectors, &mut config.sectors)?;
    put(&keys.heads, &mut config.heads)?;
    put(&keys.zones, &mut config.zones)?;
    put(&keys.cylinders, &mut config.cylinders)?;
    put(&keys.track_outer, &mut config.track_outer)?;
    put(&keys.track_inner, &mut config.track_inner)?;
    put(&keys.revolution, &mut config.revolution)?;
    put(&keys.seek_next, &mut config.seek.next)?;
    put(&keys.seek_mean, &mut config.seek.mean)?;
    put(&keys.seek_full, &mut config.seek.full)?;
    put(&keys.write_settle, &mut config.write_settle)?;
    put(&keys.head_switch, &mut config.head_switch)?;
    put(&keys.cylinder_switch, &mut config.cylinder_switch)?;
    put(&keys.overhead, &mut config.overhead)?;
    put(&keys.link, &mut config.link)?;
    put(&keys.depth, &mut config.depth)?;
    put(&keys.order, &mut config.order)?;
    put(&keys.age_limit, &mut config.age_limit)?;
    put(&keys.age_weight, &mut config.age_weight)?;
    put(&keys.slack, &mut config.slack)?;
    put(&keys.cache, &mut config.cache)?;
    put(&keys.read_ahead, &mut config.read_ahead)?;
    put(&keys.segment, &mut config.segment)?;
    put(&keys.write_cache, &mut config.write_cache)?;
    put(&keys.extents, &mut config.extents)?;
    put(&keys.destage, &mut config.destage)
}

fn read_flash(table: &dyn Given, config: &mut FlashConfig) -> Option<()> {
    let keys = FlashKeys::read(table);
    put(&keys.sectors, &mut config.sectors)?;
    put(&keys.dies, &mut config.dies)?;
    put(&keys.channels, &mut config.channels)?;
    put(&keys.page, &mut config.page)?;
    put(&keys.block_pages, &mut config.block_pages)?;
    put(&keys.read, &mut config.read)?;
    put(&keys.program, &mut config.program)?;
    put(&keys.erase, &mut config.erase)?;
    put(&keys.channel, &mut config.channel)?;
    put(&keys.link, &mut config.link)?;
    put(&keys.overhead, &mut config.overhead)?;
    put(&keys.buffered, &mut config.buffered)?;
    put(&keys.buffer, &mut config.buffer)?;
    put(&keys.amplification, &mut config.amplification)?;
    put(&keys.free_pages, &mut config.free_pages)?;
    put(&keys.suspend, &mut config.suspend)?;
    put(&keys.depth, &mut config.depth)
}

fn read_array(table: &dyn Given, config: &mut ArrayConfig) -> Option<()> {
    let keys = ArrayKeys::read(table);
    put(&keys.disks, &mut config.disks)?;
    put(&keys.level, &mut config.level)?;
    put(&keys.stripe, &mut config.stripe)?;
    put(&keys.depth, &mut config.depth)?;
    put(&keys.cache, &mut config.cache)?;
    put(&keys.dirty, &mut config.dirty)?;
    put(&keys.hit, &mut config.hit)?;
    put(&keys.network, &mut config.network)?;
    put(&keys.spindle, &mut config.disk)?;
    put(&keys.disk_depth, &mut config.disk.depth)
}
