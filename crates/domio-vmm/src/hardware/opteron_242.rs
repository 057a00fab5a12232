//! One core of a 1.6 GHz Opteron 242 under Xen 3.1 with Linux 2.6.18 in all domains, and the remote
//! host beside it: the machine of Ongaro et al. 2008.

use super::{Figures, Hardware, ns, us};
use crate::profile::Profile;

/// The machine.
pub static OPTERON_242: Hardware = Hardware {
    profile: &Profile::OPTERON_242,
    tables: &[
        ("[host.kernel]", KERNEL),
        ("[controller.costs]", CONTROLLER),
        ("[network.costs]", NETWORK),
        ("[network.writers]", WRITERS),
        ("[disk.costs]", DISK),
        ("[vbd.costs]", VBD),
        ("[file_system.costs]", FILE_SYSTEM),
    ],
};

/// A 1.6 GHz Opteron 242 under Xen 3.1 with Linux 2.6.18. No measurement of these is known:
/// all are engineering estimates, none fitted to a result.
pub(super) const KERNEL: Figures = &[
    // 800 cycles to save and restore the registers, through the hypervisor's return path, as
    // a system call of a paravirtual guest takes (0.55 us, xen-spec 9).
    ("upcall", ns(500)),
    // The same without the way into the kernel, in which it is.
    ("nested", ns(300)),
    // 500 cycles for `do_IRQ` and what a handler is found by.
    ("irq", ns(300)),
    // 1,600 cycles: reading the clock of Xen, the time of day, what the process has used.
    ("timer_irq", ns(1_000)),
    // 800 cycles for a wheel of timers that are seldom due.
    ("timer_softirq", ns(500)),
    // A switch of processes under Xen takes 2 us (Barham et al. 2003, at 2.4 GHz; remembered,
    // it could not be checked), a system call 0.5 (xen-spec 9).
    ("switch", ns(2_000)),
    // `stop_hz_timer` on each way into idle: a search for the next timer and two hypercalls,
    // 1.5 to 2.5 us (arch/i386/kernel/time-xen.c).
    ("idle", ns(2_000)),
    // "Event send 0.5 us local" (xen-spec 9).
    ("send_ipi", ns(500)),
    // A line that another processor has changed comes over HyperTransport: 240 cycles, from 100 to
    // 200 ns.
    ("lock_line", ns(150)),
];

/// A 1.6 GHz Opteron 242 under Xen 3.1. No figure is known: all are engineering estimates.
pub(super) const CONTROLLER: Figures = &[
    // A system call and a hypercall through `privcmd` ("PV guest syscall 0.55 us", "PV
    // hypercall 0.2-0.5 us", xen-spec 9), with the pages for the answer locked before and
    // unlocked afterwards.
    ("read", us(5)),
    // `getvcpuinfo` for each vcpu, a call of its own.
    ("read_vcpu", us(3)),
    // A few hundred instructions for each of a few domains.
    ("decide", us(10)),
    // As a read: `domctl` with its locked pages.
    ("adjust", us(5)),
];

/// A 1.6 GHz Opteron 242 under Xen 3.1 with Linux 2.6.18 in all domains.
///
/// No table of cycles for this machine is published. All are engineering estimates, most within
/// the ranges of xen-spec 9; where one is not, the comment says why. None was fitted to a
/// result.
pub(super) const NETWORK: Figures = &[
    // The card and the bridge, which xen-spec 9 has no range for: a handler with one posted
    // write (0.4 us) and the hypercall that ends a level interrupt (0.3); about 1,800 cycles
    // for a packet with a new buffer; 2,400 for the
    // bridge's hooks and its table.
    ("nic_irq", ns(700)),
    ("nic_rx", ns(1_100)),
    ("nic_tx", ns(600)),
    ("nic_reap", ns(250)),
    ("bridge", ns(1_500)),
    // Netback, "3-6 us per packet": to a guest 4.4 us with its copy (1.2) and the flip (1.8, of
    // which 0.4 are a 64th of getting new pages); a batch flushes the TLB once, and Xen's own
    // entries with it (0.4 us and 1.6 to fill it again). From a guest less, 2.4 with map and
    // unmap, since only its headers are copied.
    ("back_queue", ns(600)),
    ("back_rx", ns(800)),
    ("back_flush", ns(2_000)),
    // A batch that is unmapped flushes the TLB likewise: `gnttab_unmap_grant_ref` ends with
    // `flush_tlb_mask`, in 3.0.2 as in 3.4.
    ("back_unmap_flush", ns(2_000)),
    ("back_pages", ns(25_000)),
    ("back_irq", ns(400)),
    ("back_tx", ns(1_000)),
    ("back_answer", ns(300)),
    // No source has a figure: the answer (0.3), a look at the request and at the rule (0.2: a
    // cache line of the ring that the guest has written). No grant, no packet, no copy.
    ("back_drop", ns(500)),
    // Netfront, where pages are transferred: for a packet two updates of a page table (0.45 each),
    // one of Xen's table of pages (0.2), a page freed to Xen (0.45), and 0.05 for each entry of a
    // multicall, in addition to 0.55 for the driver's own work and 0.3 for a buffer. A poll has one
    // hypercall, a refill one that flushes the TLB. With the guest's protocols (1.5) and the copy
    // of a packet's begin (0.2) 4.3 us, more than the "2-4 us per packet" of xen-spec 9, which does
    // not count page operations. The interrupt is shared by a batch.
    ("front_irq", ns(400)),
    ("front_rx", ns(550)),
    ("front_remap_call", ns(300)),
    ("front_remap", ns(650)),
    ("front_refill", ns(300)),
    ("front_release_call", ns(2_500)),
    ("front_release", ns(1_100)),
    ("front_tx", ns(600)),
    ("front_reap", ns(200)),
    ("stack", ns(1_500)),
    // As much as for a packet received: a segment is queued, cloned, given its headers and
    // passed to the device (`tcp_transmit_skb` to `dev_queue_xmit`).
    ("stack_send", ns(1_500)),
    // A system call takes 0.5 us (xen-spec 9).
    ("read_call", ns(500)),
    ("write_call", ns(500)),
    // "Event send 0.5 us local".
    ("send_event", ns(500)),
    // 1.3 GB/s, less than the 2 of later machines: both pages are cold, and the memory is that
    // of 2003.
    ("copy_kib", ns(800)),
    // "PV hypercall 0.2-0.5 us".
    ("grant_hypercall", ns(300)),
    // "Grant map + unmap 1-2 us per page".
    ("grant_map", ns(500)),
    ("grant_unmap", ns(600)),
    // "Grant copy 0.5 us + bytes / 2 GB/s"; the memory as above, and two mappings.
    ("grant_copy", ns(500)),
    ("grant_copy_kib", ns(900)),
    // The transfer itself (0.8), an update of a page table (0.45) and of Xen's table of
    // pages, without the new page, which `back_pages` has.
    ("grant_transfer", ns(1_400)),
];

/// A Pentium 4 of 2 to 3 GHz with Linux 2.6, an engineering estimate: 1 us to copy a KiB and
/// 1.3 for the protocols and the card, which is 1.8 for a full packet. It writes 8 KiB in
/// 19 us, three times as fast as a gigabit line sends them.
pub(super) const WRITERS: Figures = &[
    ("wake", us(5)),
    ("switch", us(2)),
    ("call", ns(500)),
    ("kib", ns(2_300)),
];

/// A 1.6 GHz Opteron 242 under Xen 3.1. No figure for block drivers is known: all are
/// engineering estimates, put together from those of xen-spec 9 for the network.
pub(super) const DISK: Figures = &[
    // Both together what netfront takes for two packets: "2-4 us per packet".
    ("submit", ns(3_000)),
    ("complete", ns(1_500)),
    // As netback's handler.
    ("irq", ns(400)),
    // Eleven pages at "grant map + unmap 1-2 us per page".
    ("serve", ns(12_000)),
    // 1.3 GB/s, cold pages.
    ("copy_kib", ns(800)),
    // "Event send 0.5 us local".
    ("send_event", ns(500)),
];

/// A 1.6 GHz Opteron 242 under Xen 3.1 with Linux 2.6.24 in all domains. No figure is known: all
/// are engineering estimates inside the ranges of disk-spec 2.3 (5 to 15 us to notify the driver
/// domain, 10 to 25 us in the driver domain for a request, 5 to 15 us for a response).
pub(super) const VBD: Figures = &[
    // 6,000 cycles of `__make_request`, a search for a request to merge with, and an elevator.
    ("submit", ns(4_000)),
    // Eleven grants and the ring: half of what netfront takes for two packets.
    ("request", ns(2_000)),
    ("complete", ns(3_000)),
    // As netback's handler.
    ("irq", ns(400)),
    // "Event send 0.5 us local" (xen-spec 9).
    ("send_event", ns(500)),
    // One hypercall that maps up to eleven pages, and the request layer.
    ("serve", ns(15_000)),
    // One hypercall that unmaps them, and the ring.
    ("respond", ns(8_000)),
    // Two switches of processes (2 us each) and two system calls with their control blocks.
    ("process", ns(8_000)),
    // SCSI command, table of pages, a few posted writes to the controller.
    ("command", ns(5_000)),
    ("end", ns(4_000)),
];

/// A 1.6 GHz Opteron 242 with ext3 of Linux 2.6.24, paravirtual. No figure is known: all are
/// engineering estimates for 2.3 GHz (1, 2, 3 and 1 us), at this clock, none fitted to a result.
/// The right order of size is what matters: a call that finds everything in memory takes
/// microseconds, and one that waits for the disk milliseconds.
pub(super) const FILE_SYSTEM: Figures = &[
    // 2,300 cycles: "PV guest syscall 0.55 us" (xen-spec 9), `fget_light`, checks of the range and
    // the lock of the inode.
    ("call", ns(1_450)),
    // 4,600 cycles: a look in the radix tree, `mark_page_accessed`, and 4 KiB copied at 3 GB/s
    // (1.3 us), between the 1.3 GB/s of two cold pages (`copy_kib`) and a warm one.
    ("page", ns(2_900)),
    // 6,900 cycles: `journal_get_write_access` and `journal_dirty_metadata` of a buffer, and the
    // change itself: a bit of a bitmap, an inode, an entry searched for in a block of a directory.
    ("meta", ns(4_300)),
    // 2,300 cycles: an allocation from the pool, the page added, `submit_bio`. The request layer is
    // priced apart (`submit` of `[vbd.costs]`).
    ("bio", ns(1_450)),
];
