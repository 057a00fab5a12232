//! From devices to domains that are equipped for them: event channels, kernels that take their
//! time, processes.

use super::resolved::{Domain, Resolved, emptiest, moves};
use crate::check::Cx;
use crate::devices::DeviceConfig;
use crate::plan::Input;
use domio_core::XenVersion;
use domio_core::keys::{Code, Mistake};
use domio_vmm::Hardware;
use domio_vmm::bus::side::{DeviceHost, DeviceProcess, Equipped, Evtchn};
use domio_vmm::config::{DomainConfig, DomainKind, KernelCosts, TaskConfig};
use domio_vmm::evtchn::Abi;
use std::rc::Rc;

/// A device before it comes to the bus.
pub(super) type Device = Equipped<DeviceConfig>;

/// The devices of the machine under this release of Xen, kind by kind, and what is declared in
/// vain.
pub(super) fn devices(
    cx: &mut Cx<'_>,
    (machine, version): (Option<&'static Hardware>, Option<XenVersion>),
    resolved: &Resolved,
) -> (Vec<Device>, Vec<String>) {
    let (mut all, mut unused) = (Vec::new(), Vec::new());
    if cx.known.kvm.is_some() {
        without_threads(cx, resolved);
    }
    for (kind, side) in Rc::clone(&cx.known.devices).iter().enumerate() {
        let host = DeviceHost {
            machine,
            version,
            domains: resolved.domains(),
            kernel: resolved.kernel(),
            kvm: cx.known.kvm.is_some(),
            parts: resolved.domains.iter().map(|d| &d.parts[kind]).collect(),
        };
        let own = side.devices(cx, &host);
        all.extend(own.all);
        unused.extend(own.unused);
    }
    (all, unused)
}

/// Reports devices that need a driver domain, which a host with KVM does not have.
fn without_threads(cx: &mut Cx<'_>, resolved: &Resolved) {
    let needs_domain = |domain: &&Domain| {
        let mut parts = domain.parts.iter();
        parts.any(|part| part.ports > 0 && part.threads.is_empty())
    };
    for domain in resolved.domains.iter().filter(needs_domain) {
        let name = &domain.config.name;
        let message = format!("a device of {name} needs a driver domain, which KVM has not");
        cx.push(
            Mistake::new(Code::Conflict, domain.span, message)
                .key(format!("domain.{name}"))
                .expected("devices that KVM has, or `hypervisor = \"xen\"`")
                .hint(
                    "take the device out; a [[domain.thread]] with the processor time of the \
                     thread that would serve it stands for a device here",
                ),
        );
    }
}

/// Gives the domains with a part in `devices` their event channels (`default` where no device says
/// which), what their kernels cost on the machine, and the processes that use the devices.
pub(super) fn equip(
    cx: &mut Cx<'_>,
    devices: &[Device],
    kernel: KernelCosts,
    default: Option<Abi>,
    resolved: &mut Resolved,
) {
    // Guests come first, so that a driver domain is blamed last.
    let mut told = false;
    for driver_domains in [false, true] {
        for i in 0..resolved.domains.len() {
            let domain = &resolved.domains[i];
            let is_driver = devices.iter().any(|d| d.drives(i));
            if !devices.iter().any(|d| d.serves(i)) || is_driver != driver_domains {
                continue;
            }
            let Some(abi) = abi(cx, devices, i, domain, default) else {
                continue;
            };
            told = told || !ports_suffice(cx, devices, i, domain, abi);
            let config = &mut resolved.domains[i].config;
            let is_host = matches!(config.kind, DomainKind::Threads(_));
            let guest = &mut config.guest;
            guest.abi = abi;
            // A thread of the host is switched to, and nothing else: that is the host's cost.
            if !is_host {
                guest.costs = kernel;
            }
        }
    }
    for (number, device) in (0..).zip(devices) {
        for process in (device.processes)(number) {
            let domain = &mut resolved.domains[process.domain].config;
            add(process, domain, &mut resolved.inputs);
        }
    }
}

/// Gives `domain` a process. Where that has an input, `inputs` gets it.
fn add(process: DeviceProcess, domain: &mut DomainConfig, inputs: &mut Vec<Input>) {
    let roams = moves(&domain.guest) && process.may_roam;
    let place = match roams {
        true => Some(emptiest(&domain.vcpus)),
        false => process.vcpu,
    };
    let all = domain.vcpus.iter_mut().enumerate();
    for (v, vcpu) in all.filter(|(v, _)| place.is_none_or(|own| own == *v)) {
        inputs.extend(process.input.clone().map(|input| Input {
            at: (process.domain, v, vcpu.tasks.len()),
            input,
        }));
        vcpu.tasks.push(TaskConfig {
            roams,
            ..process.task.clone()
        });
    }
}

/// The event channels of a domain: those that its devices want, which have to agree, or `default`.
fn abi(
    cx: &mut Cx<'_>,
    devices: &[Device],
    index: usize,
    domain: &Domain,
    default: Option<Abi>,
) -> Option<Abi> {
    let own = devices.iter().filter(|d| d.serves(index));
    let mut own = own.flat_map(|d| &d.evtchn);
    let Some(first) = own.next() else {
        return default;
    };
    let Some(other) = own.find(|n| n.abi != first.abi) else {
        return Some(first.abi);
    };
    let name = &domain.config.name;
    let (of, keys) = other.of;
    cx.push(
        Mistake::new(
            Code::Conflict,
            other.span,
            format!("domain {name} has a part in two {of}s with different event channels"),
        )
        .key(&other.key)
        .expected(format!("the same {keys} as the other {of}"))
        .related(first.span, format!("the other {of}"))
        .hint("a kernel has one kind of event channels"),
    );
    None
}

/// Whether the domain has enough event channels; says when it has not.
fn ports_suffice(
    cx: &mut Cx<'_>,
    devices: &[Device],
    index: usize,
    domain: &Domain,
    abi: Abi,
) -> bool {
    let ports = match abi {
        Abi::TwoLevel { width, .. } => width.ports() as usize,
        // More than there can be domains and vcpus.
        Abi::Fifo => return true,
    };
    // Port 0 is never used; each vcpu has one for its timer, each card one for its interrupt, each
    // interface and each disk one at both ends.
    let driven = devices.iter().flat_map(|d| &d.drivers);
    let driven = driven.filter(|(driver, _)| *driver == index);
    let driven: usize = driven.map(|(_, ports)| ports).sum();
    let needed = 1 + domain.config.vcpus.len() + domain.ports() + driven;
    if needed <= ports {
        return true;
    }
    let own = devices.iter().filter(|d| d.serves(index));
    let evtchn = own.flat_map(|d| &d.evtchn).next();
    let (key, hint) = match evtchn {
        Some(Evtchn {
            key, of: (of, _), ..
        }) => (
            key.as_str(),
            format!("other kinds of event channels have more: see `evtchn` of [{of}]"),
        ),
        None => (
            "host.xen",
            "domains of Xen 4.5 and later have more".to_owned(),
        ),
    };
    cx.push(
        Mistake::new(
            Code::Limit,
            domain.span,
            format!(
                "domain {} needs {needed} event channels",
                domain.config.name
            ),
        )
        .key(key)
        .found(needed.to_string())
        .expected(format!("{ports} at most"))
        .hint(hint),
    );
    false
}
