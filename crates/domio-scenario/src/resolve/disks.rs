//! The virtual disks of the host, by the driver domains that have them.

use super::device::{Device, Process};
use super::disk::{self, Disk};
use super::driver::{self, Users};
use super::host_disks::HostDisks;
use super::resolved::Resolved;
use super::work::{DiskProgram, DiskWork, Task};
use crate::check::Cx;
use crate::devices::DeviceConfig;
use crate::jobs;
use crate::plan::DiskInput;
use crate::source::Span;
use domio_vmm::Hardware;
use domio_vmm::config::{TaskConfig, Workload};
use domio_vmm::process::FileId;
use domio_vmm::process::programs::{Ffsb, FileCopy, PostMark, Zip};

/// Disks that ask for their driver domain in the same words: how, and of which domains they are.
type Together<'a> = (Option<&'a (String, Span)>, Vec<(usize, usize, &'a Disk)>);

/// The disks of one device: its driver domain, and the domains with the disks, in their order, each
/// with the place among the domain's disks.
struct Disks {
    config: DeviceConfig,
    driver: usize,
    users: Vec<(usize, usize)>,
}

/// The devices with the disks of the host, in the order of the text; disks that something is wrong
/// with are left out.
pub(super) fn disks(
    cx: &mut Cx<'_>,
    machine: Option<&'static Hardware>,
    host: &HostDisks,
    resolved: &Resolved,
) -> Vec<Device> {
    // Disks of one driver domain that ask for it in the same place share what is wrong with it.
    let mut asked: Vec<Together<'_>> = Vec::new();
    let domains = resolved.domains.iter().enumerate();
    let disks = domains.flat_map(|(i, d)| d.disks.iter().enumerate().map(move |(k, d)| (i, k, d)));
    for (i, place, disk) in disks {
        let backend = disk.backend.as_ref();
        match asked.iter_mut().find(|(b, _)| *b == backend) {
            Some((_, users)) => users.push((i, place, disk)),
            None => asked.push((backend, vec![(i, place, disk)])),
        }
    }
    if let Some(machine) = machine {
        unknown_costs(cx, machine, &asked);
    }
    let mut all: Vec<Disks> = Vec::new();
    for (backend, disks) in asked {
        let users = Users {
            what: "disk",
            key: disks[0].2.backend_key.clone(),
            says: "`backend` of [domain.disk]",
            chosen: backend.map(|(_, span)| *span),
            all: disks.iter().map(|(i, _, disk)| (*i, disk.span)).collect(),
        };
        let found = match backend {
            Some((name, span)) => driver::named(cx, name, *span, &users, resolved),
            None => driver::default(cx, &users, resolved),
        };
        let (Some(found), Some(machine)) = (found, machine) else {
            continue;
        };
        driver::serves(cx, found, &users, resolved);
        // What is wrong with the place of a disk was told.
        let placed = |disk: &Disk| disk.part.is_placed();
        for (user, place, disk) in disks.into_iter().filter(|(.., disk)| placed(disk)) {
            put(&mut all, machine, found, (user, place), disk, resolved);
        }
    }
    all.into_iter()
        .map(|disks| device(disks, host, resolved))
        .collect()
}

/// Tells once for all disks of a machine that does not say what they cost.
fn unknown_costs(cx: &mut Cx<'_>, machine: &Hardware, asked: &[Together<'_>]) {
    let mut disks = asked.iter().flat_map(|(_, disks)| disks);
    if disks.any(|(.., disk)| machine.table(disk.part.costs()).is_none()) {
        cx.notices.push(format!(
            "the hardware profile {} does not know what a disk costs: its work takes no time",
            machine.profile.name
        ));
    }
}

/// Puts `disk` of the domain number `user` to the others of its kind and driver domain.
fn put(
    all: &mut Vec<Disks>,
    machine: &Hardware,
    driver: usize,
    user: (usize, usize),
    disk: &Disk,
    resolved: &Resolved,
) {
    let id = resolved.domains[user.0].config.id;
    for disks in all.iter_mut().filter(|disks| disks.driver == driver) {
        if disk.part.add_to(&mut disks.config, id) {
            disks.users.push(user);
            return;
        }
    }
    let mut config = disk
        .part
        .blueprint(machine, resolved.domains[driver].config.id);
    let added = disk.part.add_to(&mut config, id);
    assert!(added, "a device takes disks of its own kind");
    all.push(Disks {
        config,
        driver,
        users: vec![user],
    });
}

/// A way through a disk: the domain, the file, the bytes of the disk and of the room for files.
type Way = (usize, u32, (u64, u64), Task, DiskWork);

/// The device with these disks.
fn device(disks: Disks, host: &HostDisks, resolved: &Resolved) -> Device {
    let Disks {
        mut config,
        driver,
        users,
    } = disks;
    let mut ports = users.len();
    if let Some(split) = config.split() {
        split.equip(&host.good(), host.pool);
        ports += split.disks.len();
    }
    let mut copies: Vec<Way> = Vec::new();
    for (number, (user, place)) in (0..).zip(&users) {
        let domain = &resolved.domains[*user];
        let own = &domain.disks[*place];
        let file = own.part.file(number);
        let bytes = (own.bytes, own.part.room());
        let through = |copy: &DiskWork| disk::place_of(&domain.disks, copy) == Some(*place);
        let ways = domain.copies.iter().filter(|(_, copy)| through(copy));
        copies.extend(ways.map(|(task, copy)| (*user, file, bytes, task.clone(), copy.clone())));
    }
    Device {
        config,
        drivers: vec![(driver, ports)],
        users: users.into_iter().map(|(user, _)| user).collect(),
        evtchn: Vec::new(),
        packets: false,
        processes: Box::new(move |device| {
            let all = copies.iter();
            all.flat_map(|way| processes(device, way)).collect()
        }),
    }
}

/// The processes that use a disk of the device with this number on the bus.
fn processes(device: u16, (domain, file, (bytes, room), task, work): &Way) -> Vec<Process> {
    let file = FileId {
        device,
        file: *file,
    };
    let process = |name: String, workload| Process {
        domain: *domain,
        vcpu: task.vcpu,
        may_roam: task.may_roam(),
        task: TaskConfig {
            name,
            priority: task.priority,
            roams: false,
            workload,
        },
        input: None,
    };
    match &work.program {
        DiskProgram::Copy(copy) => {
            let wanted = copy.bytes.unwrap_or(*bytes);
            let mut program = FileCopy::new(file, copy.direction, copy.block, wanted);
            if copy.new_file {
                program = program.into_new_file();
            }
            if copy.syncs {
                program = program.synced();
            }
            vec![process(task.name.clone(), Workload::program(program))]
        }
        DiskProgram::PostMark(config) => {
            let program = PostMark::new(file, *config);
            vec![process(task.name.clone(), Workload::program(program))]
        }
        DiskProgram::Zip(config) => {
            let program = Zip::new(file, *config);
            vec![process(task.name.clone(), Workload::program(program))]
        }
        DiskProgram::Ffsb(config) => {
            let thread = |n: u32| {
                let name = match config.threads {
                    1 => task.name.clone(),
                    _ => format!("{}-{n}", task.name),
                };
                process(name, Workload::program(Ffsb::new(file, *config)))
            };
            (1..=config.threads).map(thread).collect()
        }
        DiskProgram::Fio(all) => {
            let processes = jobs::processes(all, file, &task.name).into_iter();
            processes.map(|(name, work)| process(name, work)).collect()
        }
        DiskProgram::Input(path, holds) => {
            let input = DiskInput {
                path: path.clone(),
                holds: holds.clone(),
                disk: file,
                bytes: *bytes,
                room: *room,
                at: (0, 0, 0),
                span: work.span,
            };
            let stand_in = process(task.name.clone(), Workload::Idle);
            vec![Process {
                input: Some(input),
                ..stand_in
            }]
        }
    }
}
