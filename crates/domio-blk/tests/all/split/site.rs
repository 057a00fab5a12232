//! Hosts with virtual disks on disks of the host.

use crate::site::{Records, at, domain};
use domio_blk::drive::{Command, Drive, FinishedCommand, ServiceTime};
use domio_blk::elevator::{IoWay, elevators, find_elevator};
use domio_blk::fs::config::FsCosts;
use domio_blk::split::{
    BackKind, DriveBlueprint, HostDiskConfig, LayerConfig, PendingPool, Split, SplitConfig,
    SplitCosts, VbdConfig,
};
use domio_core::{DomainId, Duration, Instant, ParamValues};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::bus::{Device as _, Passed};
use domio_vmm::config::{DomainConfig, HostConfig, TaskConfig, Workload};
use domio_vmm::process::programs::{CopyDirection, FileCopy};
use domio_vmm::process::{FileId, Program};
use std::sync::{Arc, Mutex};

domio_vmm::device_models! {
    /// What a host of these tests has.
    pub enum Model {
        /// Disks.
        Disk(Split),
    }
}

pub type Host = Simulation<Records, Model>;

/// What a drive was told, in order.
pub type Seen = Arc<Mutex<Vec<(Instant, Command)>>>;

/// A drive that serves each command in the same time, several at once, and remembers all commands.
#[derive(Clone, Debug)]
pub struct Fixed {
    pub sectors: u64,
    pub depth: u32,
    pub time: Duration,
    /// Commands that are served at once.
    pub servers: usize,
    pub seen: Seen,
}

impl DriveBlueprint for Fixed {
    fn make(&self, _: u64, _: u32) -> Box<dyn Drive> {
        Box::new(FixedDrive {
            config: self.clone(),
            free: vec![Instant::ZERO; self.servers],
            ends: Vec::new(),
        })
    }

    fn is_rotational(&self) -> bool {
        false
    }

    fn copy(&self) -> Box<dyn DriveBlueprint> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct FixedDrive {
    config: Fixed,
    free: Vec<Instant>,
    ends: Vec<(Instant, FinishedCommand)>,
}

impl Drive for FixedDrive {
    fn sectors(&self) -> u64 {
        self.config.sectors
    }

    fn depth(&self) -> u32 {
        self.config.depth
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(
            command.sectors > 0
                && command.sector + u64::from(command.sectors) <= self.config.sectors
        );
        let held = self.ends.iter().filter(|(end, _)| *end > now).count();
        assert!(
            held < self.config.depth as usize,
            "{held} commands in the drive"
        );
        assert!(self.ends.iter().all(|(_, end)| end.tag != command.tag));
        let mut seen = self
            .config
            .seen
            .lock()
            .expect("nobody panics with the lock");
        seen.push((now, command));
        let first = (0..self.free.len()).min_by_key(|i| self.free[*i]);
        let server = &mut self.free[first.expect("a server at least")];
        let begins = now.max(*server);
        let ends = begins + self.config.time;
        *server = ends;
        let spent = ServiceTime {
            queued: begins.saturating_since(now),
            transfer: self.config.time,
            ..ServiceTime::default()
        };
        let finished = FinishedCommand {
            tag: command.tag,
            at: ends,
            spent,
            cached: false,
        };
        self.ends.push((ends, finished));
        self.ends.sort_by_key(|(end, _)| *end);
    }

    fn next(&self) -> Option<Instant> {
        self.ends.first().map(|(end, _)| *end)
    }

    fn advance(&mut self, now: Instant, done: &mut Vec<FinishedCommand>) {
        let over = self.ends.partition_point(|(end, _)| *end <= now);
        done.extend(self.ends.drain(..over).map(|(_, finished)| finished));
    }
}

/// A drive with room for 31 commands that serves one at a time in `time`.
pub fn fixed(time: Duration) -> Fixed {
    Fixed {
        sectors: 1 << 22,
        depth: 31,
        time,
        servers: 1,
        seen: Seen::default(),
    }
}

/// A request layer with this elevator, at 250 ticks a second.
pub fn layer(elevator: &str) -> LayerConfig {
    LayerConfig::new(
        find_elevator(elevators(), elevator).expect("a shipped elevator"),
        250,
    )
}

/// What work costs in these tests.
pub const COSTS: SplitCosts = SplitCosts {
    submit: Duration::from_nanos(3_000),
    request: Duration::from_nanos(1_000),
    complete: Duration::from_nanos(1_500),
    irq: Duration::from_nanos(400),
    send_event: Duration::from_nanos(500),
    serve: Duration::from_nanos(12_000),
    respond: Duration::from_nanos(5_000),
    process: Duration::from_nanos(8_000),
    command: Duration::from_nanos(2_000),
    end: Duration::from_nanos(2_000),
};

/// A disk of 128 MiB for each of these guests on one drive, guest above host elevator.
pub fn disks(
    drive: &Fixed,
    guests: &[u16],
    [guest, host]: [&str; 2],
    back: BackKind,
) -> SplitConfig {
    let sectors = 1 << 18;
    let vbd = |(i, domain): (u64, &u16)| VbdConfig {
        domain: DomainId(*domain),
        disk: 0,
        start: i * sectors,
        sectors,
        layer: layer(guest),
        back,
        cached: false,
        files: None,
    };
    SplitConfig {
        driver: DomainId(0),
        kblockd: 0,
        costs: COSTS,
        file_costs: FsCosts::default(),
        disks: vec![HostDiskConfig {
            name: "sda".to_owned(),
            drive: Box::new(drive.clone()),
            layer: layer(host),
            files: None,
        }],
        vbds: (0..).zip(guests).map(vbd).collect(),
        pool: PendingPool::XEN,
    }
}

/// Number of the file that is the disk number `disk` itself.
pub fn raw(disk: u32) -> FileId {
    FileId {
        device: 0,
        file: disk << 24,
    }
}

/// Goes through so many bytes of a disk.
pub fn copy(disk: u32, direction: CopyDirection, block: u64, bytes: u64) -> FileCopy {
    FileCopy::new(raw(disk), direction, block, bytes)
}

/// `domain` with a process.
pub fn runs(mut domain: DomainConfig, program: impl Program + Clone + 'static) -> DomainConfig {
    domain.vcpus[0].tasks.push(TaskConfig {
        priority: TaskConfig::IO_BOUND,
        ..TaskConfig::from(Workload::program(program))
    });
    domain
}

/// The driver domain and these guests.
pub fn domains(guests: impl IntoIterator<Item = DomainConfig>) -> Vec<DomainConfig> {
    let mut all = vec![domain(0, 1)];
    all.extend(guests);
    all
}

/// The host under credit of 4.17.
pub fn simulation(host: &HostConfig, disks: &SplitConfig) -> Host {
    let credit = domio_sched::find("credit").expect("a shipped policy");
    let params = ParamValues::defaults(credit.descriptor.params);
    Simulation::with_devices(
        host,
        (credit.make)(&params, &host.topology),
        |bus| {
            bus.add(|attach| Model::Disk(Split::new(disks, attach, 1, 0)));
        },
        Records::default(),
        1,
        0,
    )
}

#[track_caller]
pub fn run(simulation: &mut Host, until_ms: u64) {
    let outcome = simulation.run(at(until_ms));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
}

/// The disks of a host.
pub fn model(simulation: &Host) -> &Split {
    let Model::Disk(disks) = simulation.host().device(0);
    disks
}

/// What has gone through the disks of `domain`.
pub fn passed(simulation: &Host, domain: u16) -> Passed {
    simulation.host().device(0).passed(DomainId(domain))
}

/// Bytes that a drive was told to read and to write.
pub fn moved(seen: &Seen) -> (u64, u64) {
    let seen = seen.lock().expect("nobody panics with the lock");
    let of = |way: IoWay| {
        let own = seen.iter().filter(|(_, command)| command.way == way);
        own.map(|(_, command)| u64::from(command.sectors) * 512)
            .sum()
    };
    (of(IoWay::Read), of(IoWay::Write))
}
