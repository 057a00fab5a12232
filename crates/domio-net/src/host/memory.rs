//! What a driver domain has in memory for the interfaces of guests.

use super::config::{NetworkConfig, VifConfig};
use super::netback::PENDING_MAX;
use super::pairs::NetbackConfig;
use alloc::vec::Vec;
use domio_core::DomainId;
use domio_vmm::grant::PAGE_BYTES;

/// Pages of an interface's rings: one for each direction.
const RING_PAGES: u64 = 2;

/// Bytes that the backends of a driver domain take in its address space. Only what is in
/// [`pools`](Self::pools) is memory of its own; the others are room for pages of guests, which
/// are mapped there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NetMemory {
    /// Rings: a page for each direction of an interface.
    pub rings: u64,
    /// Places of packets that guests send, while they are with the driver domain: 256 pages for
    /// each pair of tasklets.
    pub pending: u64,
    /// Pools of small packets from guests ([`NetworkConfig::pool_bytes`]).
    pub pools: u64,
    /// Pools of small packets to guests, who own them.
    pub guest_pools: u64,
}

impl NetMemory {
    /// All of it, on two networks.
    pub fn plus(self, other: NetMemory) -> NetMemory {
        NetMemory {
            rings: self.rings + other.rings,
            pending: self.pending + other.pending,
            pools: self.pools + other.pools,
            guest_pools: self.guest_pools + other.guest_pools,
        }
    }
}

impl NetworkConfig {
    /// Its driver domains that have backends, each once: that of the card comes first.
    pub fn drivers(&self) -> Vec<DomainId> {
        let mut drivers = Vec::new();
        for (driver, _, vifs) in self.backends() {
            if vifs.count() > 0 && !drivers.contains(&driver) {
                drivers.push(driver);
            }
        }
        drivers
    }

    /// What `domain` has in memory for the interfaces whose backends it has; nothing without any.
    pub fn memory(&self, domain: DomainId) -> NetMemory {
        let mut all = NetMemory::default();
        for (driver, netback, vifs) in self.backends() {
            let vifs = vifs.count() as u64;
            if driver != domain || vifs == 0 {
                continue;
            }
            let pages = |pages: u64| pages * u64::from(PAGE_BYTES);
            let small = netback.small;
            let pool = |there| match there {
                true => vifs * pages(u64::from(small.pages)),
                false => 0,
            };
            all = all.plus(NetMemory {
                rings: vifs * pages(RING_PAGES),
                pending: pages(u64::from(netback.pairs()) * u64::from(PENDING_MAX)),
                pools: pool(small.out),
                guest_pools: pool(small.inward),
            });
        }
        all
    }

    /// Each driver domain with its netback and the interfaces that it serves.
    fn backends(
        &self,
    ) -> impl Iterator<Item = (DomainId, &NetbackConfig, impl Iterator<Item = &VifConfig>)> {
        let of = |place| self.vifs.iter().filter(move |vif| vif.behind == place);
        let first = (self.driver, &self.netback, of(None));
        let behind = (0..).zip(&self.behind);
        let behind = behind.map(move |(i, site)| (site.driver, &site.netback, of(Some(i))));
        core::iter::once(first).chain(behind)
    }
}
