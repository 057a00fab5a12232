//! Virtual disks as scenarios ask for them.
//!
//! | file | holds |
//! |---|---|
//! | `table` | `[domain.disk]`: the disks of a domain |
//! | `kinds` | the kinds of disks, each with keys of its own |
//! | `host` | `[[disk]]`, `[guests]`, `[blkback]`, and the place of each virtual disk |
//! | `qemu` | which threads serve disks with KVM |
//! | `room` | whether files of workloads fit on the disks |
//! | `programs` | workloads that go through disks |
//! | `inputs`, [`jobs`] | workloads that somebody wrote down or recorded elsewhere |

mod host;
mod inputs;
pub mod jobs;
mod kinds;
mod programs;
mod qemu;
mod room;
mod table;

pub(crate) use kinds::{DiskAsked, DiskPart};

use crate::loopback::LoopbackConfig;
use crate::split::SplitConfig;
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::keys::{Checker, KeyTable, Keys, Named, Span};
use domio_vmm::Hardware;
use domio_vmm::bus::side::{
    DeviceHost, DeviceKind, DevicePart, DeviceProcess, DeviceSide, DeviceTask, DeviceUsers,
    DeviceWork, Devices, Equipped, Placing, who,
};
use domio_vmm::process::FileId;
use host::{HostDisks, OfHost};
use kinds::DiskDevice;
use programs::{DiskWork, WORKLOADS, processes};
use table::{Disk, DomainDisks, OfDomain, disks};

/// Virtual disks, among the devices that scenarios can ask for.
pub const fn virtual_disks<C>() -> DeviceKind<C>
where
    C: From<Box<LoopbackConfig>> + From<Box<SplitConfig>>,
{
    DeviceKind {
        of_host: OfHost::KEYS,
        of_domain: OfDomain::KEYS,
        workloads: &WORKLOADS,
        open: |cx, document| Box::new(Disks(HostDisks::read(cx, document))),
    }
}

/// The disks of a scenario.
struct Disks(HostDisks);

/// Disks that ask for their driver domain in the same words: how, and of which domains they are,
/// each with its place among the domain's disks.
type Together<'a> = (Option<&'a Named>, Vec<(usize, usize, &'a Disk)>);

/// The disks of one device: its driver domain, and the domains with the disks, in their order, each
/// with the place among the domain's disks.
struct Group {
    device: DiskDevice,
    driver: usize,
    users: Vec<(usize, usize)>,
}

/// A way through a disk: the domain, the file, the bytes of the disk and of the room for files.
struct Way {
    domain: usize,
    file: u32,
    sizes: (u64, u64),
    task: DeviceTask,
}

impl<C> DeviceSide<C> for Disks
where
    C: From<Box<LoopbackConfig>> + From<Box<SplitConfig>>,
{
    fn work(
        &self,
        cx: &mut dyn Checker,
        table: &dyn KeyTable,
        _: Option<Placing<'_>>,
    ) -> Option<DeviceWork> {
        let work = Rc::new(DiskWork::read(cx, table)?);
        Some(DeviceWork { work, tasks: None })
    }

    fn part(
        &self,
        cx: &mut dyn Checker,
        domain: &dyn KeyTable,
        tasks: &[DeviceTask],
        _: Span,
    ) -> Option<DevicePart> {
        let disks = disks(cx, domain, tasks)?;
        Some(DevicePart {
            threads: disks.iter().map(qemu::thread).collect(),
            ports: disks.len(),
            begins: Vec::new(),
            part: Rc::new(DomainDisks {
                disks,
                tasks: tasks.to_vec(),
            }),
        })
    }

    /// The devices with the disks of the host, in the order of the text.
    fn devices(&self, cx: &mut dyn Checker, host: &DeviceHost<'_>) -> Devices<C> {
        let mut domains: Vec<DomainDisks> = host.parts().cloned().collect();
        self.0.place(cx, &mut domains);
        let groups = match qemu::serve(cx, host, &self.0, &mut domains) {
            true => groups(cx, host, &domains),
            false => Vec::new(),
        };
        let groups = groups.into_iter();
        let all = groups.map(|group| self.device(group, &domains, host));
        let all = all.collect();
        let idle = domains.iter().zip(&host.domains.all);
        let idle = idle.filter(|(own, _)| !own.disks.is_empty() && own.tasks.is_empty());
        let names = idle.map(|(_, member)| member.config.name.as_str());
        let idle = who(&names.collect::<Vec<_>>()).map(|(who, many)| match many {
            true => format!("{who} have disks that no task uses"),
            false => format!("{who} has a disk that no task uses"),
        });
        let unused = idle.into_iter().collect();
        Devices { all, unused }
    }
}

/// The disks by driver domain and kind, without those that something is wrong with.
fn groups(cx: &mut dyn Checker, host: &DeviceHost<'_>, domains: &[DomainDisks]) -> Vec<Group> {
    // Disks of one driver domain that ask for it in the same place share what is wrong with it.
    let mut asked: Vec<Together<'_>> = Vec::new();
    let disks = domains.iter().enumerate();
    let disks = disks.flat_map(|(i, d)| d.disks.iter().enumerate().map(move |(k, d)| (i, k, d)));
    for (i, place, disk) in disks {
        let backend = disk.backend.as_ref();
        match asked.iter_mut().find(|(b, _)| *b == backend) {
            Some((_, users)) => users.push((i, place, disk)),
            None => asked.push((backend, vec![(i, place, disk)])),
        }
    }
    if let Some(machine) = host.machine {
        unknown_costs(cx, machine, &asked);
    }
    let mut all: Vec<Group> = Vec::new();
    for (backend, disks) in asked {
        let users = DeviceUsers {
            what: "disk",
            key: disks[0].2.backend_key.clone(),
            says: "`backend` of [domain.disk]",
            elsewhere: "disks in other domains",
            chosen: backend.map(|named| named.span),
            all: disks.iter().map(|(i, _, disk)| (*i, disk.span)).collect(),
        };
        let found = match host.kvm {
            true => host.kernel,
            false => host.domains.driver(cx, backend, &users),
        };
        let (Some(found), Some(machine)) = (found, host.machine) else {
            continue;
        };
        host.domains.serves(cx, found, &users);
        // What is wrong with the place of a disk was told.
        let placed = |disk: &Disk| disk.part.vbd().is_none_or(|vbd| vbd.is_placed());
        for (user, place, disk) in disks.into_iter().filter(|(.., disk)| placed(disk)) {
            put(&mut all, machine, found, (user, place), disk, host);
        }
    }
    all
}

/// Tells once for all disks of a machine that does not say what they cost.
fn unknown_costs(cx: &mut dyn Checker, machine: &Hardware, asked: &[Together<'_>]) {
    let mut disks = asked.iter().flat_map(|(_, disks)| disks);
    if disks.any(|(.., disk)| machine.table(disk.part.costs()).is_none()) {
        cx.note(format!(
            "the hardware profile {} does not know what a disk costs: its work takes no time",
            machine.profile.name
        ));
    }
}

/// Puts `disk` of the domain number `user` to the others of its kind and driver domain.
fn put(
    all: &mut Vec<Group>,
    machine: &Hardware,
    driver: usize,
    user: (usize, usize),
    disk: &Disk,
    host: &DeviceHost<'_>,
) {
    let id_of = |domain: usize| host.domains.all[domain].config.id;
    let id = id_of(user.0);
    for group in all.iter_mut().filter(|group| group.driver == driver) {
        if disk.part.add_to(&mut group.device, id) {
            group.users.push(user);
            return;
        }
    }
    let mut device = disk.part.device(machine, id_of(driver));
    let added = disk.part.add_to(&mut device, id);
    assert!(added, "a device takes disks of its own kind");
    all.push(Group {
        device,
        driver,
        users: vec![user],
    });
}

impl Disks {
    /// The device with these disks.
    fn device<C>(&self, group: Group, domains: &[DomainDisks], host: &DeviceHost<'_>) -> Equipped<C>
    where
        C: From<Box<LoopbackConfig>> + From<Box<SplitConfig>>,
    {
        let Group {
            device,
            driver,
            users,
        } = group;
        let mut ports = users.len();
        let mut threads: Vec<(usize, usize)> = Vec::new();
        let config = match device {
            DiskDevice::Loopback(config) => C::from(config),
            DiskDevice::Split(mut split) => {
                self.0.equip(&mut split);
                ports += split.disks.len();
                split.kblockd = qemu::kblockd(host);
                for (domain, place) in &users {
                    let vbd = domains[*domain].disks[*place].part.vbd();
                    let own = vbd.and_then(|vbd| host.domains.with_id(vbd.qemu()?.domain));
                    threads.extend(own.map(|own| (own, 1)));
                }
                C::from(split)
            }
        };
        let mut ways: Vec<Way> = Vec::new();
        for (number, (domain, place)) in (0..).zip(&users) {
            let of_domain = &domains[*domain];
            let own = &of_domain.disks[*place];
            let through = |task: &&DeviceTask| {
                task.work::<DiskWork>().place_among(&of_domain.disks) == Some(*place)
            };
            let tasks = of_domain.tasks.iter().filter(through);
            ways.extend(tasks.map(|task| Way {
                domain: *domain,
                file: own.part.file(number),
                sizes: (own.bytes, own.part.room()),
                task: task.clone(),
            }));
        }
        Equipped {
            config,
            drivers: [(driver, ports)].into_iter().chain(threads).collect(),
            users: users.into_iter().map(|(user, _)| user).collect(),
            evtchn: Vec::new(),
            packets: false,
            free: (!ways.is_empty()).then_some(("disks", true)),
            processes: Box::new(move |device| {
                let all = ways.iter();
                all.flat_map(|way| way.processes(device)).collect()
            }),
        }
    }
}

impl Way {
    /// The processes that use the disk of the device with this number on the bus.
    fn processes(&self, device: u16) -> Vec<DeviceProcess> {
        let file = FileId {
            device,
            file: self.file,
        };
        processes(&self.task, self.domain, file, self.sizes)
    }
}
