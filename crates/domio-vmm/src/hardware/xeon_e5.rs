//! A server with Xeon E5 processors under Xen 4.x with Linux 4.x in all domains, and the remote
//! host beside it: what racks had from 2012 on, two threads a core, network cards of 10 and 25
//! Gb/s.
//!
//! Four publications measure such machines. The comments name them:
//!
//! - **Dall**: C. Dall, S.-W. Li, J. T. Lim, J. Nieh, G. Koloventzos, "ARM Virtualization:
//!   Performance and Architectural Implications", ISCA 2016, table II, the column of Xen on x86
//!   (Xeon E5-2450, 2.1 GHz), in cycles: hypercall 1,228, completion of an interrupt 1,464, IPI
//!   between vcpus 5,562, switch of VMs 10,534, event to a guest that is idle 10,050. The cycles
//!   are quoted at second hand.
//! - **Martins**: J. Martins, "xen-netback: use gref mappings for Rx requests" and "for Tx
//!   requests", commits of 2017 in Oracle's Linux, Xeon E5-2699 v3: packets of 64 bytes to a guest
//!   2.04 million a second with its pages mapped, half of that with grant copies; from a guest 3.6
//!   and 1.24.
//! - **Casey**: S. Casey, "How to Determine the Effectiveness of Hyper-Threading Technology with an
//!   Application", Intel 2011, after Intel Technology Journal 6 (1), 2002: up to 30 % more
//!   throughput with two threads on server applications.
//! - **Corbet**: J. Corbet, "Improving Linux networking performance", LWN 2015, after a talk of
//!   J. D. Brouer: 1,230 ns from one full packet to the next at 10 Gb/s, which one core can meet.
//!
//! Everything else is an engineering estimate, for which FIDELITY 9 has a range. None was fitted to
//! a result. Processors since 2018 are faster, and mitigations against speculative execution make
//! each way into the kernel or the hypervisor dearer: no publication with both was found.

use super::{Figures, Hardware, ns, us};
use crate::profile::{PolicyCosts, Profile, TimerSoftirq};
use domio_contract::Cx;
use domio_core::Duration;

/// The machine.
pub static XEON_E5: Hardware = Hardware {
    profile: &PROFILE,
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

/// The hypervisor's part. Three sums are Dall's: a block, the switch and the way into the guest are
/// a switch of VMs (5.0 us); an event, the IPI, the pass, the switch from idle, the way into the
/// guest and the upcall are an event to an idle guest (4.8 us); an interrupt is an exit and its
/// completion (1.3 us). How they are divided is an estimate.
const PROFILE: Profile = Profile {
    name: "xeon-e5",
    source: "Dall 2016, Martins 2017 and Casey 2011 on Xeon E5, estimates elsewhere",
    wake_to_pass: ns(800),
    tickle: Duration::ZERO,
    wake_first: Duration::ZERO,
    wake_note: Duration::ZERO,
    timer_to_pass: ns(1_000),
    block_to_pass: ns(700),
    ipi_to_pass: ns(800),
    switch: ns(4_000),
    // No context and no page tables are switched: a pass, and waking up from `mwait`.
    idle_switch: ns(1_500),
    // Part of what was measured.
    idle_exit: Duration::ZERO,
    // A hypercall there and back (Dall).
    keep: ns(600),
    resume: ns(300),
    // The 256 KiB of the second cache from the third, at 20 GB/s.
    cache_refill: us(13),
    // Nothing of the working set is there, where after another vcpu some is: half as much again.
    migration_refill: us(6),
    // The working set comes from the memory of the other socket; the third cache has 2.5 MiB for a
    // core, of which a fifth is taken to be in use.
    socket_refill: us(50),
    // As fast as it is fetched: an estimate, as on xeon-e5462.
    refill_span: us(56),
    cache_cores: 0,
    ipi: ns(1_000),
    // The IPI, and an interrupt of the hypervisor with the flush before the answer.
    tlb_wait: ns(1_800),
    // The interrupt, the flush, and 64 entries of the first TLB at 20 ns each.
    tlb_flush: ns(2_000),
    timer_to_handler: [ns(500); Cx::TIMER_SLOTS as usize],
    softirq: TimerSoftirq {
        guest: ns(1_300),
        after_wake: ns(800),
        ..TimerSoftirq::FREE
    },
    policy: PolicyCosts {
        // An estimate: a cache line that another core has changed, 60 ns within a socket.
        balance: ns(60),
        ..PolicyCosts::FREE
    },
    handler: ns(500),
    interrupt: ns(1_300),
    // Xen's constant (xen-spec 0.3).
    timer_slop: us(50),
    // Two threads do 130 % of what one does (Casey): 65 % each.
    sibling_percent: 65,
};

/// Linux in a guest with hardware virtualisation or in dom0. All are estimates at 2.1 GHz.
const KERNEL: Figures = &[
    // The interrupt gate and the way back, registers included.
    ("upcall", ns(600)),
    ("nested", ns(200)),
    ("irq", ns(200)),
    ("timer_irq", ns(600)),
    ("timer_softirq", ns(300)),
    ("switch", ns(1_500)),
    // The search for the next timer and the hypercall that sets it (0.6 us, Dall).
    ("idle", ns(1_000)),
    // Half of what an IPI between vcpus takes (5,562 cycles, Dall) is the sender's: the exit, the
    // APIC and the physical IPI.
    ("send_ipi", ns(1_300)),
    ("lock_line", ns(60)),
];

/// Estimates: a system call, a hypercall (0.6 us, Dall), pages that are locked meanwhile.
const CONTROLLER: Figures = &[
    ("read", us(3)),
    ("read_vcpu", us(1)),
    ("decide", us(5)),
    ("adjust", us(3)),
];

/// The network path: prices are those of packets of the line. A frame of a card with TSO and GRO
/// costs what a packet does, and the grants and copies of its pages.
const NETWORK: Figures = &[
    // An interrupt as an event to dom0, with the driver's handler, which starts NAPI.
    ("nic_irq", ns(700)),
    // Receiving, the bridge and sending take 0.8 us together: 1.25 million packets a second, the
    // pace that Corbet has for 10 Gb/s, a third over it.
    ("nic_rx", ns(300)),
    ("nic_tx", ns(150)),
    ("nic_reap", ns(50)),
    ("bridge", ns(300)),
    // To a guest 490 ns without the grant copy (Martins), from a guest 280.
    ("back_queue", ns(190)),
    ("back_rx", ns(300)),
    ("back_irq", ns(300)),
    ("back_tx", ns(200)),
    ("back_answer", ns(80)),
    ("back_drop", ns(280)),
    ("front_irq", ns(300)),
    ("front_rx", ns(250)),
    ("front_refill", ns(100)),
    ("front_tx", ns(250)),
    ("front_reap", ns(80)),
    ("stack", ns(500)),
    ("stack_send", ns(500)),
    ("read_call", ns(300)),
    ("write_call", ns(300)),
    // A hypercall (Dall).
    ("send_event", ns(600)),
    // 10 GB/s.
    ("copy_kib", ns(100)),
    // A grant copy for each packet takes 490 ns more than none (Martins, to a guest; 526 from one):
    // the hypercall of a paravirtual dom0, the page that is looked up and pinned.
    ("grant_hypercall", ns(200)),
    ("grant_copy", ns(290)),
    ("grant_copy_kib", ns(120)),
    ("grant_map", ns(400)),
    // With its part of flushing the TLBs, so that a batch has no other price for that.
    ("grant_unmap", ns(600)),
    ("back_unmap_flush", ns(0)),
    // Linux has transferred no page since 2.6.31: what the Opteron takes is a bound from above.
    ("back_flush", ns(2_000)),
    ("back_pages", ns(25_000)),
    ("front_remap_call", ns(300)),
    ("front_remap", ns(650)),
    ("front_release_call", ns(2_500)),
    ("front_release", ns(1_100)),
    ("grant_transfer", ns(1_400)),
];

/// The same machine without Xen, with a card that cuts 64 KiB into packets: copying a KiB (100 ns)
/// and its part of the protocols. Estimates.
const WRITERS: Figures = &[
    ("wake", us(3)),
    ("switch", ns(1_500)),
    ("call", ns(300)),
    ("kib", ns(150)),
];

/// Block drivers. Estimates, put together from those of the network.
const DISK: Figures = &[
    ("submit", ns(1_500)),
    ("complete", ns(700)),
    ("irq", ns(300)),
    // Eleven pages mapped and unmapped.
    ("serve", ns(11_000)),
    ("copy_kib", ns(100)),
    ("send_event", ns(600)),
];

/// A 2.1 GHz Xeon E5. No figure is known: all are engineering estimates, at the lower ends of the
/// ranges of disk-spec 2.3.
const VBD: Figures = &[
    ("submit", ns(1_500)),
    ("request", ns(800)),
    ("complete", ns(1_000)),
    ("irq", ns(300)),
    ("send_event", ns(600)),
    // Eleven pages mapped, and the request layer.
    ("serve", ns(10_000)),
    // Eleven pages unmapped.
    ("respond", ns(5_000)),
    // Two switches of processes and two system calls.
    ("process", ns(4_000)),
    ("command", ns(2_000)),
    ("end", ns(1_500)),
];

/// Calls of a file system on a 2.1 GHz Xeon E5. No figure is known: all are engineering estimates,
/// half of the cycles of the [Opteron](super::OPTERON_242), and a page copied at 10 GB/s.
const FILE_SYSTEM: Figures = &[
    ("call", ns(550)),
    ("page", ns(800)),
    ("meta", ns(1_650)),
    ("bio", ns(550)),
];
