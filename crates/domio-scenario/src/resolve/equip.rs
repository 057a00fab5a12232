//! From networks and disks to devices on the bus, and to domains that are equipped for them: event
//! channels, kernels that take their time, processes.

use super::disk::Disks;
use super::domain::{Domain, Resolved, emptiest, moves};
use super::network::{Network, default_abi};
use super::task::{Flow, Serving};
use crate::check::{self, Cx, Fields};
use crate::devices::DeviceConfig;
use crate::keys::costs::{HOST_KERNEL, host_kernel};
use crate::problem::{Code, Problem};
use domio_core::XenVersion;
use domio_vmm::config::{DomainConfig, KernelCosts, TaskConfig, Workload};
use domio_vmm::evtchn::Abi;
use domio_vmm::process::FileId;
use domio_vmm::process::programs::{FileCopy, Server};
use domio_vmm::profile::Profile;

/// The devices of a host, and the index of each one's driver domain.
pub(super) struct Devices {
    networks: Vec<Network>,
    disks: Vec<Disks>,
}

impl Devices {
    /// Puts networks and disks together: networks come to the bus first.
    pub fn new(networks: Vec<Network>, disks: Vec<Disks>) -> Self {
        Devices { networks, disks }
    }

    /// Index of the driver domain of the first one.
    pub fn first_driver(&self) -> Option<usize> {
        let networks = self.networks.iter().map(|n| n.driver);
        networks.chain(self.disks.iter().map(|d| d.driver)).next()
    }

    /// Indices of the domains that have a card, each once.
    pub fn network_drivers(&self) -> Vec<usize> {
        let mut drivers: Vec<usize> = self.networks.iter().map(|n| n.driver).collect();
        drivers.sort_unstable();
        drivers.dedup();
        drivers
    }

    /// Whether the domain with this index has a part in a device.
    fn serve(&self, index: usize, domain: &Domain) -> bool {
        let networks = self.networks.iter();
        networks.clone().any(|n| n.driver == index)
            || domain
                .vifs
                .iter()
                .any(|v| self.networks.iter().any(|n| n.index == v.network))
            || self
                .disks
                .iter()
                .any(|d| d.driver == index || d.users.contains(&index))
    }

    /// Gives the domains their event channels, what their kernels cost on the machine, and the
    /// processes that use the devices.
    pub fn equip(
        &self,
        cx: &mut Cx<'_>,
        top: &Fields<'_>,
        host: &Fields<'_>,
        resolved: &mut Resolved,
    ) {
        let version = host.text("xen");
        let version = version.and_then(|name| XenVersion::from_name(&name));
        let kernel = kernel(cx, host);
        let default = version.and_then(|version| default_abi(cx, top, version));
        // Guests come first, so that a driver domain is blamed last.
        let mut told = false;
        for driver_domains in [false, true] {
            for i in 0..resolved.domains.len() {
                let domain = &resolved.domains[i];
                if !self.serve(i, domain) || self.is_driver(i) != driver_domains {
                    continue;
                }
                let Some(abi) = self.abi(cx, i, domain, default) else {
                    continue;
                };
                told = told || !self.ports_suffice(cx, i, domain, abi);
                let guest = &mut resolved.domains[i].config.guest;
                guest.abi = abi;
                guest.costs = kernel.unwrap_or(KernelCosts::FREE);
            }
        }
        for (device, network) in (0..).zip(&self.networks) {
            for domain in &mut resolved.domains {
                network_processes(device, network, domain);
            }
        }
        for (device, disks) in (self.networks.len() as u16..).zip(&self.disks) {
            for (file, user) in (0..).zip(&disks.users) {
                let bytes = disks.config.disks[file as usize].bytes;
                copies(FileId { device, file }, bytes, &mut resolved.domains[*user]);
            }
        }
    }

    fn is_driver(&self, index: usize) -> bool {
        self.networks.iter().any(|n| n.driver == index)
            || self.disks.iter().any(|d| d.driver == index)
    }

    /// The event channels of a domain: those of its networks, which have to agree, or `default`.
    fn abi(
        &self,
        cx: &mut Cx<'_>,
        index: usize,
        domain: &Domain,
        default: Option<Abi>,
    ) -> Option<Abi> {
        let part =
            |n: &&Network| n.driver == index || domain.vifs.iter().any(|v| v.network == n.index);
        let mut own = self.networks.iter().filter(part);
        let Some(first) = own.next() else {
            return default;
        };
        let Some(other) = own.find(|n| n.abi != first.abi) else {
            return Some(first.abi);
        };
        let name = &domain.config.name;
        cx.push(
            Problem::new(
                Code::Conflict,
                other.evtchn.1,
                format!("domain {name} has a part in two networks with different event channels"),
            )
            .key(&other.evtchn.0)
            .expected("the same `evtchn` and `scan` as the other network")
            .related(first.evtchn.1, "the other network")
            .hint("a kernel has one kind of event channels"),
        );
        None
    }

    /// Whether the domain has enough event channels; tells when it has not.
    fn ports_suffice(&self, cx: &mut Cx<'_>, index: usize, domain: &Domain, abi: Abi) -> bool {
        let ports = match abi {
            Abi::TwoLevel { width, .. } => width.ports() as usize,
            // More than there can be domains and vcpus.
            Abi::Fifo => return true,
        };
        // Port 0 is never used; each vcpu has one for its timer, each card one for its interrupt,
        // each interface and each disk one at both ends.
        let own = 1 + domain.config.vcpus.len() + domain.vifs.len();
        let cards = self.networks.iter().filter(|n| n.driver == index);
        let cards: usize = cards.map(ports_of).sum();
        let disks = self.disks.iter().filter(|d| d.driver == index);
        let disks: usize = disks.map(|d| d.users.len()).sum();
        let needed = own + cards + disks + usize::from(domain.disk.is_some());
        if needed <= ports {
            return true;
        }
        let part =
            |n: &&Network| n.driver == index || domain.vifs.iter().any(|v| v.network == n.index);
        let network = self.networks.iter().find(part);
        let (key, hint) = match network {
            Some(network) => (
                network.evtchn.0.as_str(),
                "other kinds of event channels have more: see `evtchn` of [network]",
            ),
            None => ("host.xen", "domains of Xen 4.5 and later have more"),
        };
        cx.push(
            Problem::new(
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

    /// The devices, in the order in which they come to the bus.
    pub fn configs(self) -> Vec<DeviceConfig> {
        let networks = self.networks.into_iter().map(|n| n.config.into());
        let disks = self.disks.into_iter();
        let disks = disks.map(|d| d.config.into());
        networks.chain(disks).collect()
    }
}

/// What kernels with a part in a device cost on the host; `None` when something is wrong.
fn kernel(cx: &mut Cx<'_>, host: &Fields<'_>) -> Option<KernelCosts> {
    let own = check::inner(cx, host, "kernel", &HOST_KERNEL);
    let mut costs = match Profile::by_name(&host.text("profile")?)? {
        profile if *profile == Profile::OPTERON_242 => KernelCosts::OPTERON_242,
        _ => KernelCosts::FREE,
    };
    host_kernel(&own, &mut costs)?;
    Some(costs)
}

/// Gives `domain` the processes of its flows on `network`, number `device` on the bus.
fn network_processes(device: u16, network: &Network, domain: &mut Domain) {
    let (id, start) = (domain.config.id, domain.config.start);
    let Some(own) = domain.vifs.iter().find(|v| v.network == network.index) else {
        return;
    };
    let mut vifs = network.config.vifs.iter();
    let Some(vif) = vifs.position(|vif| vif.domain == id) else {
        return;
    };
    let mut flows = 0;
    for flow in &own.flows {
        let alike = flow.configs.first().map_or(0, |f| f.kind.processes());
        for _ in 1..alike {
            let process = network.config.process(device, vif, flows, start);
            add(process, flow, &mut domain.config);
        }
        let process = match flow.server {
            None => network.config.process(device, vif, flows, start),
            Some(serving) => {
                let file = network.config.listening(vif);
                let Serving {
                    request,
                    answer,
                    work,
                } = serving;
                let server = Server::new(FileId { device, file }, request, answer, work);
                Some(TaskConfig::from(Workload::program(server)))
            }
        };
        flows += flow.configs.len();
        add(process, flow, &mut domain.config);
    }
}

/// Gives `domain` a process of `flow`, if there is one.
fn add(process: Option<TaskConfig>, flow: &Flow, domain: &mut DomainConfig) {
    if let Some(process) = process {
        let roams = moves(&domain.guest) && !flow.placed;
        let vcpu = match roams {
            true => emptiest(&domain.vcpus),
            false => usize::from(flow.vcpu),
        };
        domain.vcpus[vcpu].tasks.push(TaskConfig {
            priority: flow.priority,
            roams,
            ..process
        });
    }
}

/// Gives `domain` the processes that go through its disk, `file` of `bytes`.
fn copies(file: FileId, bytes: u64, domain: &mut Domain) {
    for (task, copy) in &domain.copies {
        let roams = moves(&domain.config.guest) && task.may_roam();
        let place = match roams {
            true => Some(emptiest(&domain.config.vcpus)),
            false => task.vcpu,
        };
        let all = domain.config.vcpus.iter_mut().enumerate();
        for (_, vcpu) in all.filter(|(v, _)| place.is_none_or(|own| own == *v)) {
            let wanted = copy.bytes.unwrap_or(bytes);
            let program = FileCopy::new(file, copy.direction, copy.block, wanted);
            vcpu.tasks.push(TaskConfig {
                name: task.name.clone(),
                priority: task.priority,
                roams,
                workload: Workload::program(program),
            });
        }
    }
}

/// Ports of the driver domain that `network` needs, with those of others that the scenario names.
fn ports_of(network: &Network) -> usize {
    let others = network.config.other_ports;
    let of_guest = 1 + usize::from(others.guest);
    1 + usize::from(others.boot) + network.config.vifs.len() * of_guest
}
