//! Sockets, cores and hardware threads of a host.

use crate::cpuset::MAX_PCPUS;
use crate::{CpuSet, PcpuId};
use alloc::vec::Vec;

/// How pcpus share cores and sockets. One socket is one NUMA node.
///
/// Pcpus are numbered thread by thread inside a core, core by core inside a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    sockets: u16,
    cores_per_socket: u16,
    threads_per_core: u16,
    core_sets: Vec<CpuSet>,
    socket_sets: Vec<CpuSet>,
}

impl Topology {
    /// `sockets` of `cores_per_socket` cores of `threads_per_core` threads each.
    ///
    /// `None` when a count is zero or the product is over [`MAX_PCPUS`].
    pub fn new(sockets: u16, cores_per_socket: u16, threads_per_core: u16) -> Option<Self> {
        let per_socket = cores_per_socket as usize * threads_per_core as usize;
        let pcpus = sockets as usize * per_socket;
        if pcpus == 0 || pcpus > MAX_PCPUS {
            return None;
        }
        let groups = |size: usize| {
            (0..pcpus / size)
                .map(|g| {
                    (g * size..(g + 1) * size)
                        .map(|p| PcpuId(p as u16))
                        .collect()
                })
                .collect()
        };
        Some(Topology {
            sockets,
            cores_per_socket,
            threads_per_core,
            core_sets: groups(threads_per_core as usize),
            socket_sets: groups(per_socket),
        })
    }

    /// `pcpus` single-threaded cores in one socket.
    ///
    /// `None` when `pcpus` is zero or over [`MAX_PCPUS`].
    pub fn flat(pcpus: u16) -> Option<Self> {
        Topology::new(1, pcpus, 1)
    }

    /// Number of pcpus.
    #[inline]
    pub fn pcpus(&self) -> usize {
        self.sockets as usize * self.cores_per_socket as usize * self.threads_per_core as usize
    }

    /// Number of sockets.
    #[inline]
    pub fn sockets(&self) -> usize {
        self.sockets as usize
    }

    /// Cores in each socket.
    #[inline]
    pub fn cores_per_socket(&self) -> usize {
        self.cores_per_socket as usize
    }

    /// Hardware threads in each core.
    #[inline]
    pub fn threads_per_core(&self) -> usize {
        self.threads_per_core as usize
    }

    /// Every pcpu.
    pub fn all(&self) -> CpuSet {
        CpuSet::first_n(self.pcpus())
    }

    /// Number of the core of `pcpu`, dense over the host.
    #[inline]
    pub fn core_of(&self, pcpu: PcpuId) -> usize {
        pcpu.index() / self.threads_per_core as usize
    }

    /// Number of the socket (and NUMA node) of `pcpu`.
    #[inline]
    pub fn socket_of(&self, pcpu: PcpuId) -> usize {
        pcpu.index() / (self.threads_per_core as usize * self.cores_per_socket as usize)
    }

    /// Threads that share the core of `pcpu`, itself included (Xen's `cpu_sibling_mask`).
    #[inline]
    pub fn siblings(&self, pcpu: PcpuId) -> &CpuSet {
        &self.core_sets[self.core_of(pcpu)]
    }

    /// Pcpus of the socket of `pcpu`, itself included (Xen's `cpu_core_mask`).
    #[inline]
    pub fn socket(&self, pcpu: PcpuId) -> &CpuSet {
        &self.socket_sets[self.socket_of(pcpu)]
    }

    /// Pcpus of socket (NUMA node) `socket`.
    #[inline]
    pub fn node(&self, socket: usize) -> &CpuSet {
        &self.socket_sets[socket]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn threads_cores_and_sockets_nest() {
        let t = Topology::new(2, 4, 2).unwrap();
        assert_eq!(t.pcpus(), 16);
        assert_eq!(t.core_of(PcpuId(5)), 2);
        assert_eq!(t.socket_of(PcpuId(8)), 1);
        assert_eq!(
            t.siblings(PcpuId(5))
                .iter()
                .map(|p| p.0)
                .collect::<Vec<_>>(),
            [4, 5]
        );
        assert_eq!(t.socket(PcpuId(9)).len(), 8);
        assert!(Topology::new(2, 200, 1).is_none() && Topology::flat(0).is_none());
    }
}
