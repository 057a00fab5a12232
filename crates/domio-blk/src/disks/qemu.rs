//! Disks on a host with KVM: which thread of QEMU serves each, and what only one of the two
//! hypervisors has.

use super::host::HostDisks;
use super::table::{Disk, DomainDisks};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::VcpuName;
use domio_core::keys::{Checker, Code, Mistake, Span};
use domio_vmm::bus::side::{DeviceHost, DeviceThread, KernelThread, ServingThread};
use domio_vmm::config::{DomainKind, KvmThread};

/// The kernel's thread in which request layers of disks have their timers and `kblockd` (Linux:
/// the workqueue `kblockd`, which has a high priority).
const KBLOCKD: &str = "kworker/0:1H";

/// The thread that a host with KVM has for `disk`.
pub(super) fn thread(disk: &Disk) -> DeviceThread {
    DeviceThread {
        serves: serving(disk),
        kernel: vec![KernelThread::Named(KBLOCKD)],
        kworkers: false,
    }
}

fn serving(disk: &Disk) -> ServingThread {
    ServingThread::Qemu(disk.iothread.as_ref().map(|(name, _)| name.clone()))
}

/// Gives each disk of the `domains` of a host with KVM the thread that serves it. Reports keys that
/// the hypervisor of `host` does not have, those of `disks` too; whether there is none.
pub(super) fn serve(
    cx: &mut dyn Checker,
    host: &DeviceHost<'_>,
    disks: &HostDisks,
    domains: &mut [DomainDisks],
) -> bool {
    let mut good = true;
    if let (true, Some(span)) = (host.kvm, disks.blkback) {
        good = false;
        cx.tell(of_other(
            "blkback",
            "blkback".to_owned(),
            span,
            ["Xen", "KVM"],
        ));
    }
    let disks = domains.iter_mut().enumerate();
    for (i, disk) in disks.flat_map(|(i, own)| own.disks.iter_mut().map(move |d| (i, d))) {
        let wrong: Vec<(&str, Span)> = match host.kvm {
            true => disk.of_xen.clone(),
            false => {
                let named = disk.iothread.as_ref();
                named
                    .map(|(_, span)| ("iothread", *span))
                    .into_iter()
                    .collect()
            }
        };
        let whose = match host.kvm {
            true => ["Xen", "KVM"],
            false => ["KVM", "Xen"],
        };
        for (key, span) in &wrong {
            good = false;
            let path = format!("{}.{key}", disk.path);
            cx.tell(of_other(key, path, *span, whose));
        }
        if host.kvm {
            // A thread that is not there was told.
            match (thread_of(host, i, &serving(disk)), disk.part.vbd_mut()) {
                (Some(thread), Some(vbd)) => vbd.serve_in(thread),
                _ => good = false,
            }
        }
    }
    good
}

/// A key at `path` is of one hypervisor, and the host has the other one.
fn of_other(key: &str, path: String, span: Span, [whose, host]: [&str; 2]) -> Mistake {
    let says = format!("`{key}` is of {whose}, and the host has {host}");
    let (expected, hint) = match whose {
        "Xen" => (
            "`kind = \"vbd\"` with `size`, `on`, `at`, `iothread` and keys of the guest",
            "take it out: a thread of QEMU serves disks of KVM, with asynchronous I/O past the \
             page cache",
        ),
        _ => (
            "`path` or `backend`",
            "take it out, or choose the hypervisor by `hypervisor` of [host]",
        ),
    };
    let mistake = Mistake::new(Code::Conflict, span, says).key(path);
    mistake.expected(expected).hint(hint)
}

/// The thread of QEMU that serves a device of the domain with index `guest`.
fn thread_of(host: &DeviceHost<'_>, guest: usize, serving: &ServingThread) -> Option<VcpuName> {
    let guest = host.domains.all[guest].config.id;
    let all = host.domains.all.iter().enumerate();
    let beside = all.filter(|(i, _)| Some(*i) != host.kernel);
    beside.into_iter().find_map(|(_, member)| {
        let DomainKind::Threads(threads) = &member.config.kind else {
            return None;
        };
        let own = threads.iter().filter(|thread| thread.of == Some(guest));
        let name = serving.in_qemu(own.map(|thread| &*thread.name))?;
        let is_it = |thread: &KvmThread| thread.of == Some(guest) && thread.name == name;
        let place = threads.iter().position(is_it)?;
        Some(VcpuName::new(member.config.id, place as u16))
    })
}

/// The vcpu of the kernel's threads on which request layers of disks have their timers and
/// `kblockd`; the first one on a host with Xen.
pub(super) fn kblockd(host: &DeviceHost<'_>) -> u16 {
    let kernel = host.kernel.filter(|_| host.kvm);
    let kind = kernel.map(|kernel| &host.domains.all[kernel].config.kind);
    let Some(DomainKind::Threads(threads)) = kind else {
        return 0;
    };
    let place = threads.iter().position(|thread| thread.name == KBLOCKD);
    place.unwrap_or(0) as u16
}
