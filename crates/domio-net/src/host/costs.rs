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
    /// Netback: its part of the rx tasklet, besides the grant operations.
    pub back_rx: Duration,
    /// Netback: flushing the TLB for a batch of pages that are transferred.
    pub back_flush: Duration,
    /// Netback: getting [`NetCosts::PAGES`] new pages from Xen, in place of those transferred.
    pub back_pages: Duration,
    /// Netback: the interrupt from a guest.
    pub back_irq: Duration,
    /// Netback: its part of the tx tasklet, besides the grant operations.
    pub back_tx: Duration,
    /// Netback: answering a request whose packet was sent, besides the grant operations.
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

    /// A 1.6 GHz Opteron 242 under Xen 3.1 with Linux 2.6.18 in all domains.
    ///
    /// No table of cycles for this machine is published. All are engineering estimates, most within
    /// the ranges of xen-spec 9; where one is not, the comment says why. None was fitted to a
    /// result.
    pub const OPTERON_242: NetCosts = NetCosts {
        // The card and the bridge, which xen-spec 9 has no range for: a handler with one posted
        // write (0.4 us) and the hypercall that ends a level interrupt (0.3); about 1,800 cycles
        // for a packet with a new buffer; 2,400 for the
        // bridge's hooks and its table.
        nic_irq: Duration::from_nanos(700),
        nic_rx: Duration::from_nanos(1_100),
        nic_tx: Duration::from_nanos(600),
        nic_reap: Duration::from_nanos(250),
        bridge: Duration::from_nanos(1_500),
        // Netback, "3-6 us per packet": to a guest 4.4 us with its copy (1.2) and the flip (1.8, of
        // which 0.4 are a 64th of getting new pages); a batch flushes the TLB once, and Xen's own
        // entries with it (0.4 us and 1.6 to fill it again). From a guest less, 2.4 with map and
        // unmap, since only its headers are copied.
        back_queue: Duration::from_nanos(600),
        back_rx: Duration::from_nanos(800),
        back_flush: Duration::from_nanos(2_000),
        back_pages: Duration::from_nanos(25_000),
        back_irq: Duration::from_nanos(400),
        back_tx: Duration::from_nanos(1_000),
        back_answer: Duration::from_nanos(300),
        // No source has a figure: the answer (0.3), a look at the request and at the rule (0.2: a
        // cache line of the ring that the guest has written). No grant, no packet, no copy.
        back_drop: Duration::from_nanos(500),
        // Netfront, where pages are transferred: for a packet two updates of a page table (0.45
        // each), one of Xen's table of pages (0.2), a page freed to Xen (0.45), and 0.05 for each
        // entry of a multicall, besides 0.55 for the driver's own work and 0.3 for a buffer. A poll
        // has one hypercall, a refill one that flushes the TLB. With the guest's protocols (1.5)
        // and the copy of a packet's begin (0.2) 4.3 us, more than the "2-4 us per packet" of
        // xen-spec 9, which does not count page operations. The interrupt is shared by a batch.
        front_irq: Duration::from_nanos(400),
        front_rx: Duration::from_nanos(550),
        front_remap_call: Duration::from_nanos(300),
        front_remap: Duration::from_nanos(650),
        front_refill: Duration::from_nanos(300),
        front_release_call: Duration::from_nanos(2_500),
        front_release: Duration::from_nanos(1_100),
        front_tx: Duration::from_nanos(600),
        front_reap: Duration::from_nanos(200),
        stack: Duration::from_nanos(1_500),
        // As much as for a packet received: a segment is queued, cloned, given its headers and
        // passed to the device (`tcp_transmit_skb` to `dev_queue_xmit`).
        stack_send: Duration::from_nanos(1_500),
        // A system call takes 0.5 us (xen-spec 9).
        read_call: Duration::from_nanos(500),
        write_call: Duration::from_nanos(500),
        // "Event send 0.5 us local".
        send_event: Duration::from_nanos(500),
        // 1.3 GB/s, less than the 2 of later machines: both pages are cold, and the memory is that
        // of 2003.
        copy_kib: Duration::from_nanos(800),
        grants: GrantCosts {
            // "PV hypercall 0.2-0.5 us".
            hypercall: Duration::from_nanos(300),
            // "Grant map + unmap 1-2 us per page".
            map: Duration::from_nanos(500),
            unmap: Duration::from_nanos(600),
            // "Grant copy 0.5 us + bytes / 2 GB/s"; the memory as above, and two mappings.
            copy: Duration::from_nanos(500),
            copy_kib: Duration::from_nanos(900),
            // The transfer itself (0.8), an update of a page table (0.45) and of Xen's table of
            // pages, without the new page, which `back_pages` has.
            transfer: Duration::from_nanos(1_400),
        },
    };

    /// Posting `n` buffers of a guest whose packets come as `mode` says, in one go.
    pub(super) fn refilling(&self, n: u32, mode: RxMode) -> Duration {
        let own = self.front_refill * u64::from(n);
        match mode {
            RxMode::Flip => own + self.front_release_call + self.front_release * u64::from(n),
            RxMode::Copy => own,
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
