//! The domains of the host, with what checks of the other tables need to know of each.

use super::disk::Disk;
use super::shared::GivenParams;
use super::vif::Vif;
use super::work::{DiskWork, Task};
use crate::plan::{DiskInput, Replay};
use crate::source::Span;
use domio_core::ParamValues;
use domio_vmm::config::{DomainConfig, GuestConfig, ProcessOrder, VcpuConfig};
use std::collections::BTreeMap;

/// A domain with what checking actions needs to know.
pub(super) struct Domain {
    pub config: DomainConfig,
    pub span: Span,
    /// Index of its pool, 0 for Pool-0.
    pub pool: usize,
    pub vifs: Vec<Vif>,
    pub disks: Vec<Disk>,
    /// Tasks that go through a disk.
    pub copies: Vec<(Task, DiskWork)>,
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
    /// Number of interfaces and disks that it asks for.
    pub fn parts(&self) -> usize {
        self.vifs.len() + self.disks.len()
    }
}

/// All domains.
#[derive(Default)]
pub(super) struct Resolved {
    pub domains: Vec<Domain>,
    pub replays: Vec<Replay>,
    pub disk_inputs: Vec<DiskInput>,
    /// Domains by name, and groups by theirs.
    pub by_name: BTreeMap<String, Vec<usize>>,
    /// Whether the name of every domain of the text is known.
    pub complete: bool,
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
