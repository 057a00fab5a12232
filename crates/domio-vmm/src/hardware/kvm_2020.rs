//! A server of 2020 with an x86 processor of 2.5 GHz under KVM, and the remote host beside it: two
//! threads a core, network cards of 10 and 25 Gb/s.
//!
//! Five publications measure parts. The comments name them:
//!
//! - **Dall**: C. Dall, S.-W. Li, J. T. Lim, J. Nieh, G. Koloventzos, "ARM Virtualization:
//!   Performance and Architectural Implications", ISCA 2016, table II, the column of KVM on x86, in
//!   cycles: hypercall 1,300, completion of an interrupt 1,556, IPI between vcpus 5,230, switch of
//!   VMs 4,812, I/O out of a guest 560, I/O into an idle guest 18,923. The cycles are quoted at
//!   second hand, and converted at 2.5 GHz.
//! - **Roth**: M. Roth, "KVM: SVM: use vmsave/vmload for saving/restoring additional host state",
//!   linux-kernel, December 2020: 2,528 cycles from the entry of the call KVM_RUN to its return,
//!   576 of them before the guest and 576 after it: the way from a guest to QEMU and back.
//! - **Casey**: S. Casey, "How to Determine the Effectiveness of Hyper-Threading Technology with an
//!   Application", Intel 2011: up to 30 % more throughput with two threads.
//! - **Corbet**: J. Corbet, "Improving Linux networking performance", LWN 2015: 1,230 ns from one
//!   full packet to the next at 10 Gb/s, which one core can meet.
//! - **Axboe**: J. Axboe, "Efficient IO with io_uring", 2019: 608,000 reads of 4 KiB a second by
//!   one core with asynchronous I/O past the page cache (libaio), 1.65 us each from the system call
//!   to the end of the command. The figure is quoted from memory.
//!
//! Everything else is an engineering estimate, marked as such. None was fitted to a result.

use super::{Figures, Hardware, ns, us};
use crate::profile::{PolicyCosts, Profile, TimerSoftirq};
use domio_contract::Cx;
use domio_core::Duration;

/// The machine.
pub static KVM_2020: Hardware = Hardware {
    profile: &PROFILE,
    tables: &[
        ("[host.kernel]", KERNEL),
        ("[network.costs]", NETWORK),
        ("[network.writers]", WRITERS),
        ("[vbd.costs]", VBD),
        ("[file_system.costs]", FILE_SYSTEM),
    ],
};

/// The host's scheduler and the ways into a guest and out of one. Two sums are Dall's: a halt, the
/// switch and the way into the guest are a switch of VMs (1.9 us); an interrupt to a guest whose
/// pcpu idles takes 7.6 us from its sender to its handler. How they are divided is an estimate.
const PROFILE: Profile = Profile {
    name: "kvm-2020",
    source: "Dall 2016, Roth 2020, Casey 2011, Corbet 2015 and Axboe 2019 at 2.5 GHz, estimates \
             elsewhere",
    // Choosing a pcpu and queueing the thread (try_to_wake_up): an estimate.
    wake_to_pass: ns(700),
    tickle: Duration::ZERO,
    wake_first: Duration::ZERO,
    wake_note: Duration::ZERO,
    timer_to_pass: ns(500),
    // The exit of HLT: half of a hypercall (Dall), and the way into schedule().
    block_to_pass: ns(400),
    ipi_to_pass: ns(500),
    switch: ns(1_200),
    // No page tables are switched: an estimate.
    idle_switch: ns(600),
    // What is left of Dall's 7.6 us: the processor leaves C1.
    idle_exit: ns(4_000),
    // A hypercall there and back (Dall): the interrupt of a tick leaves the guest and returns.
    keep: ns(520),
    resume: ns(300),
    // A half of 512 KiB of the second cache from the third, at 25 GB/s: an estimate.
    cache_refill: us(10),
    migration_refill: us(5),
    // 1 MiB from the memory of the other socket, at 30 GB/s: an estimate.
    socket_refill: us(35),
    refill_span: us(40),
    cache_cores: 0,
    ipi: ns(1_000),
    tlb_wait: ns(1_500),
    tlb_flush: ns(1_500),
    timer_to_handler: [ns(300); Cx::TIMER_SLOTS as usize],
    softirq: TimerSoftirq::FREE,
    policy: PolicyCosts::FREE,
    handler: ns(300),
    // An exit and the completion of an interrupt (Dall).
    interrupt: ns(620),
    // hrtimers are exact.
    timer_slop: Duration::ZERO,
    // Two threads do 130 % of what one does (Casey): 65 % each.
    sibling_percent: 65,
};

/// Linux in a guest with virtual interrupts in hardware. Estimates at 2.5 GHz, but for IPIs.
const KERNEL: Figures = &[
    ("upcall", ns(500)),
    ("nested", ns(200)),
    ("irq", ns(200)),
    ("timer_irq", ns(500)),
    ("timer_softirq", ns(300)),
    ("switch", ns(1_200)),
    // The search for the next timer and the exit that sets it (0.5 us, Dall).
    ("idle", ns(900)),
    // Half of an IPI between vcpus (Dall) is the sender's.
    ("send_ipi", ns(1_050)),
    ("lock_line", ns(60)),
];

/// The network path with vhost-net: the tap's and vhost's work are at the keys of netback. There
/// are no grants.
const NETWORK: Figures = &[
    ("nic_irq", ns(500)),
    // Receiving, the bridge and sending take 0.75 us together: the pace that Corbet has for
    // 10 Gb/s, and a half over it.
    ("nic_rx", ns(300)),
    ("nic_tx", ns(150)),
    ("nic_reap", ns(50)),
    ("bridge", ns(300)),
    // Into the tap's queue, and from there to the guest: recvmsg of vhost without the copy. All
    // four are estimates, with 0.7 million small packets a second of a vhost thread in mind.
    ("back_queue", ns(200)),
    ("back_rx", ns(800)),
    ("back_irq", ns(200)),
    ("back_tx", ns(800)),
    ("back_answer", ns(50)),
    ("back_drop", ns(200)),
    ("front_irq", ns(250)),
    ("front_rx", ns(200)),
    ("front_refill", ns(80)),
    ("front_tx", ns(200)),
    ("front_reap", ns(60)),
    ("stack", ns(450)),
    ("stack_send", ns(450)),
    ("read_call", ns(250)),
    ("write_call", ns(250)),
    // The kick is an exit and ioeventfd's signal; irqfd's injection is like it: a hypercall (Dall).
    ("send_event", ns(520)),
    // 12 GB/s: an estimate.
    ("copy_kib", ns(80)),
    // What vhost copies to the guest, with the look-up of the guest's pages.
    ("grant_hypercall", ns(0)),
    ("grant_copy", ns(60)),
    ("grant_copy_kib", ns(80)),
    ("grant_map", ns(0)),
    ("grant_unmap", ns(0)),
    ("back_unmap_flush", ns(0)),
    ("back_flush", ns(0)),
    ("back_pages", ns(0)),
    ("front_remap_call", ns(0)),
    ("front_remap", ns(0)),
    ("front_release_call", ns(0)),
    ("front_release", ns(0)),
    ("grant_transfer", ns(0)),
];

/// The remote host: the same machine without a hypervisor. Estimates.
const WRITERS: Figures = &[
    ("wake", us(3)),
    ("switch", ns(1_200)),
    ("call", ns(250)),
    ("kib", ns(120)),
];

/// The way of a disk's requests with virtio-blk. Three parts are Axboe's 1.65 us together: what the
/// system call takes of `serve`, `command` and `end`. How they are divided is an estimate.
const VBD: Figures = &[
    // The multi-queue layer of the guest, and descriptors in the virtqueue: estimates.
    ("submit", ns(800)),
    ("request", ns(400)),
    ("complete", ns(600)),
    // In the guest, as on the network path. On the host the handler of the drive's interrupt; and
    // the thread's reading of the eventfd that the kick has signalled.
    ("irq", ns(250)),
    // The kick is an exit and ioeventfd's signal, the response irqfd's injection (Dall), as on the
    // network path.
    ("send_event", ns(520)),
    // QEMU takes the request from the virtqueue (0.5 us, an estimate); io_submit and the request
    // layer (0.85 us of Axboe's).
    ("serve", ns(1_350)),
    // io_getevents and the used ring: an estimate.
    ("respond", ns(600)),
    // The work above is that of a process already.
    ("process", ns(0)),
    // A command in the drive's queue, and its end in the interrupt (0.8 us of Axboe's).
    ("command", ns(300)),
    ("end", ns(500)),
];

/// Calls of a file system: estimates, the cycles of the [Xeon E5](super::XEON_E5) at 2.5 GHz, and a
/// page copied at 12 GB/s.
const FILE_SYSTEM: Figures = &[
    ("call", ns(460)),
    ("page", ns(700)),
    ("meta", ns(1_400)),
    ("bio", ns(460)),
];
