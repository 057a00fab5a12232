//! What the work on packets costs on one kind of machine.

use domio_core::Duration;
use domio_vmm::grant::GrantCosts;

use crate::writers::by_kib;

/// How a packet gets from netback to netfront.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RxMode {
    /// Netback copies it to a page of its own, which it then transfers to the guest: paravirtual
    /// guests of Xen 3.
    Flip,
    /// Xen copies it to a page that the guest has granted: all later ones.
    Copy,
}

/// Costs of the network path, in processor time of the domain that does the work. "Per packet" is
/// without the copying of its bytes, which [`NetCosts::copy`] prices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetCosts {
    /// Driver domain: the NIC's interrupt handler.
    pub nic_irq: Duration,
    /// Driver domain: taking a packet from the NIC's ring, with a new buffer for the ring.
    pub nic_rx: Duration,
    /// Driver domain: giving a packet to the NIC.
    pub nic_tx: Duration,
    /// Driver domain: freeing a packet that was sent.
    pub nic_reap: Duration,
    /// Driver domain: from `netif_receive_skb` through the bridge to `dev_queue_xmit`.
    pub bridge: Duration,
    /// Netback: `netif_be_start_xmit`, a packet for a guest.
    pub back_queue: Duration,
    /// Netback: its part of the rx tasklet, in addition to the grant operations.
    pub back_rx: Duration,
    /// Netback: flushing the TLB for a batch of pages that are transferred.
    pub back_flush: Duration,
    /// Netback: flushing the TLB for a batch of pages that are unmapped (the end of
    /// `gnttab_unmap_grant_ref`).
    pub back_unmap_flush: Duration,
    /// Netback: getting [`NetCosts::PAGES`] new pages from Xen, in place of those transferred.
    pub back_pages: Duration,
    /// Netback: the interrupt from a guest.
    pub back_irq: Duration,
    /// Netback: its part of the tx tasklet, in addition to the grant operations.
    pub back_tx: Duration,
    /// Netback: answering a request whose packet was sent, in addition to the grant operations.
    pub back_answer: Duration,
    /// Netback: taking a packet from a guest's ring, answering the request and dropping the packet.
    pub back_drop: Duration,
    /// Netfront: the interrupt from netback.
    pub front_irq: Duration,
    /// Netfront: taking a packet from the ring.
    pub front_rx: Duration,
    /// Netfront: the hypercall that maps the pages of all packets of a poll, where pages are
    /// transferred.
    pub front_remap_call: Duration,
    /// Netfront: mapping one of these pages.
    pub front_remap: Duration,
    /// Netfront: a new buffer for the ring.
    pub front_refill: Duration,
    /// Netfront: the hypercall that gives the pages of new buffers to Xen, where pages are
    /// transferred, with the flush of the TLB.
    pub front_release_call: Duration,
    /// Netfront: giving away one of these pages.
    pub front_release: Duration,
    /// Netfront: giving a packet to the ring.
    pub front_tx: Duration,
    /// Netfront: freeing a packet that was answered.
    pub front_reap: Duration,
    /// A guest's IP, TCP, UDP or ICMP, for each packet received, with an answer if there is one.
    pub stack: Duration,
    /// A guest's IP, TCP or UDP, for each packet with data that it sends.
    pub stack_send: Duration,
    /// A process's call to read.
    pub read_call: Duration,
    /// A process's call to write.
    pub write_call: Duration,
    /// Sending an event: the hypercall, without what follows.
    pub send_event: Duration,
    /// Copying a KiB within a domain.
    pub copy_kib: Duration,
    /// Grant operations.
    pub grants: GrantCosts,
}

impl NetCosts {
    /// Pages that netback gets from Xen at a time (`MAX_MFN_ALLOC`).
    pub const PAGES: u32 = 64;

    /// No cost anywhere.
    pub const FREE: NetCosts = NetCosts {
        nic_irq: Duration::ZERO,
        nic_rx: Duration::ZERO,
        nic_tx: Duration::ZERO,
        nic_reap: Duration::ZERO,
        bridge: Duration::ZERO,
        back_queue: Duration::ZERO,
        back_rx: Duration::ZERO,
        back_flush: Duration::ZERO,
        back_unmap_flush: Duration::ZERO,
        back_pages: Duration::ZERO,
        back_irq: Duration::ZERO,
        back_tx: Duration::ZERO,
        back_answer: Duration::ZERO,
        back_drop: Duration::ZERO,
        front_irq: Duration::ZERO,
        front_rx: Duration::ZERO,
        front_remap_call: Duration::ZERO,
        front_remap: Duration::ZERO,
        front_refill: Duration::ZERO,
        front_release_call: Duration::ZERO,
        front_release: Duration::ZERO,
        front_tx: Duration::ZERO,
        front_reap: Duration::ZERO,
        stack: Duration::ZERO,
        stack_send: Duration::ZERO,
        read_call: Duration::ZERO,
        write_call: Duration::ZERO,
        send_event: Duration::ZERO,
        copy_kib: Duration::ZERO,
        grants: GrantCosts::FREE,
    };

    /// Posting `n` buffers of a guest whose packets come as `mode` says, in one go; `kept` of them
    /// were posted before, and nothing has come to them.
    pub(super) fn refilling(&self, n: u32, kept: u32, mode: RxMode) -> Duration {
        let own = self.front_refill * u64::from(n);
        let new = u64::from(n - kept);
        match mode {
            RxMode::Flip if new > 0 => own + self.front_release_call + self.front_release * new,
            RxMode::Flip | RxMode::Copy => own,
        }
    }

    /// Mapping the pages of `n` packets, all of which a poll takes.
    pub(super) fn remapping(&self, n: u32) -> Duration {
        self.front_remap_call + self.front_remap * u64::from(n)
    }

    /// Copying `bytes` within a domain.
    #[inline]
    pub fn copy(&self, bytes: u64) -> Duration {
        by_kib(self.copy_kib, bytes)
    }
}
