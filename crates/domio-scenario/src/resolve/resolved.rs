//! The domains of the host, with what checks of the other tables need to know of each.

use super::shared::GivenParams;
use crate::plan::{Input, Replay};
use domio_core::ParamValues;
use domio_core::keys::Span;
use domio_vmm::bus::side::{DevicePart, Domains, DriverMember};
use domio_vmm::config::{DomainConfig, GuestConfig, ProcessOrder, VcpuConfig};
use std::collections::BTreeMap;

/// A domain with what checking actions needs to know.
pub(super) struct Domain {
    pub config: DomainConfig,
    pub span: Span,
    /// Index of its pool, 0 for Pool-0.
    pub pool: usize,
    /// Index of its group of domains.
    pub group: Option<usize>,
    /// By kind of device: what it asks for.
    pub parts: Vec<DevicePart>,
    /// By controller: parameters that it has of the domain, if any were given.
    pub controlled: Vec<Option<Controlled>>,
}

/// Parameters of a domain for a controller.
#[derive(Clone)]
pub(super) struct Controlled {
    pub params: ParamValues,
    /// Where they were given.
    pub given: GivenParams,
    /// Path of the domain's table.
    pub path: String,
}

impl Domain {
    /// Event channels that it needs for what it asks of devices.
    pub fn ports(&self) -> usize {
        self.parts.iter().map(|part| part.ports).sum()
    }
}

/// All domains.
#[derive(Default)]
pub(super) struct Resolved {
    pub domains: Vec<Domain>,
    pub replays: Vec<Replay>,
    pub inputs: Vec<Input>,
    /// Domains by name, and groups by theirs.
    pub by_name: BTreeMap<String, Vec<usize>>,
    /// Whether the name of every domain of the text is known.
    pub complete: bool,
}

impl Resolved {
    /// The domains, as devices see them.
    pub fn domains(&self) -> Domains<'_> {
        let all = self.domains.iter().map(|domain| DriverMember {
            config: &domain.config,
            span: domain.span,
        });
        Domains {
            all: all.collect(),
            by_name: &self.by_name,
            complete: self.complete,
        }
    }
}

/// Whether the kernel of a guest moves processes from one vcpu to another.
pub(super) fn moves(guest: &GuestConfig) -> bool {
    guest.order == ProcessOrder::Linux26
}

/// The vcpu with the fewest processes, the first of equals: where a process begins that may leave
/// (Linux: `sched_exec`).
pub(super) fn emptiest(vcpus: &[VcpuConfig]) -> usize {
    let fewest = (0..vcpus.len()).min_by_key(|v| vcpus[*v].tasks.len());
    fewest.unwrap_or(0)
}
