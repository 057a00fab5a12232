//! Xen 4.17 with Linux 6.1 in all domains, in an emulator whose instructions take 2 ns: the machine
//! of `domio validate`. Nothing of caches is in its figures.
//!
//! The hypervisor's costs are [`Profile::XEN_4_17_EMULATED`]. Those of the network are from eight
//! recordings (`net-c1-ping` and its like, `docs/FIDELITY.md`, "The network against recordings"),
//! once for all of them. A trace of the scheduler shows how long a domain runs, and counters of
//! both kernels show how many packets, wake-ups and interrupts there were in that time. So sums
//! are measured, and with two recordings of one path a part that is paid for each packet, each page
//! or each wake-up. `trace-pv` shows hypercalls. Where a sum has more parts than there are
//! recordings, the comment says how it was divided.

use super::{Figures, Hardware, ns};
use crate::profile::Profile;

/// The machine.
pub static XEN_4_17_EMULATED: Hardware = Hardware {
    profile: &Profile::XEN_4_17_EMULATED,
    tables: &[("[host.kernel]", KERNEL), ("[network.costs]", NETWORK)],
};

/// The sum for a wake-up is measured: in `net-c1-flood` a guest takes 43.5 us for a request and its
/// answer, of which the packets' own parts (below) are 26. The hypervisor's part of going idle, 6.7
/// us, is in the profile already. What is left, 11.3, is divided among entry, interrupt, netfront's
/// handler (in `[network.costs]`) and going idle.
const KERNEL: Figures = &[
    ("upcall", ns(4_000)),
    ("nested", ns(1_000)),
    ("irq", ns(3_000)),
    // In `net-c1-udp-nooffload`, and the same flow at 10,000 datagrams a second, a sender takes 46
    // us for each time that it sleeps, whatever it sends: 8 for entry, interrupt and going idle, 12
    // for the switch, 6.7 in the hypervisor, and the timer's handler and softirq.
    ("timer_irq", ns(10_000)),
    ("timer_softirq", ns(9_000)),
    // Two switches of the kernel (to the process and away), as `stack_switch` of `trace-pv` counts
    // them. A guest takes 55.1 us for a datagram that a process reads, 20 more than the kernel
    // takes for a packet: the two switches and a call (`read_call`).
    ("switch", ns(12_000)),
    ("idle", ns(1_300)),
    ("send_ipi", ns(2_460)),
    ("lock_line", ns(0)),
];

/// Of packets. Two recordings of each direction, one of packets of 1,500 bytes and one of frames
/// of 56 to 58 KB, divide a sum into what is paid for a packet and for a page of 4 KiB; what
/// wake-ups, calls and the copies of processes take is subtracted before.
const NETWORK: Figures = &[
    // There is no card on the way of these packets.
    ("nic_irq", ns(0)),
    ("nic_rx", ns(0)),
    ("nic_tx", ns(0)),
    ("nic_reap", ns(0)),
    // To a guest dom0 takes 138 us a frame of 14 pages (`net-c1-rx`) and 18.9 us a packet
    // (`net-c1-rx-nooffload`): without wake-ups, calls, copies and acknowledgements 101.7 and 14.7,
    // which are 8.0 a packet, divided here, and 6.7 a page (`grant_copy`).
    ("bridge", ns(1_000)),
    ("back_queue", ns(2_000)),
    ("back_rx", ns(2_000)),
    ("stack_send", ns(3_000)),
    // Pages are not transferred.
    ("back_flush", ns(0)),
    ("back_unmap_flush", ns(0)),
    ("back_pages", ns(0)),
    ("back_irq", ns(3_000)),
    // Copying a header takes 1.83 us (`trace-pv`), and a microsecond is netback's.
    ("back_tx", ns(2_830)),
    // From a guest dom0 takes 207 us a frame (`net-c1-tx`): without acknowledgements, wake-ups and
    // both copies 169, of which 10 are the packet's, 5.6 a page Xen's (`grant_map`, `grant_unmap`),
    // and the rest this, a slot: an answer, and a new page for the copy that a socket may keep.
    ("back_answer", ns(4_100)),
    ("back_drop", ns(1_000)),
    ("front_irq", ns(3_000)),
    // A guest that receives takes 112 and 18.6 us in the same recordings: without wake-ups, calls,
    // copies and acknowledgements 76.5 and 15.5, which are 11.2 a packet, of which TCP and IP are
    // taken to be 6, as in dom0, and 4.36 a slot, which is a new buffer for the ring.
    ("front_rx", ns(5_200)),
    ("front_remap_call", ns(0)),
    ("front_remap", ns(0)),
    ("front_refill", ns(4_360)),
    ("front_release_call", ns(0)),
    ("front_release", ns(0)),
    // A guest that sends takes 82 us a frame (`net-c1-tx`), and 8.8 a packet without offloads: 5.1
    // a packet with TCP's 3 (`stack_send`), and 3.3 a slot.
    ("front_tx", ns(2_100)),
    ("front_reap", ns(3_300)),
    ("stack", ns(6_000)),
    // A datagram takes 38 us in dom0 whose parts above are 29 with the thread; see `switch`, too.
    ("read_call", ns(8_000)),
    ("write_call", ns(8_000)),
    // From the hypercall to the target's being runnable (`trace-pv` of all).
    ("send_event", ns(2_460)),
    // `rep movs` takes an instruction of 2 ns for 8 bytes.
    ("copy_kib", ns(256)),
    // A batch of netback is a thread's: its two switches (see `switch`) with the hypercall.
    ("grant_hypercall", ns(12_000)),
    // Of `trace-pv` of `net-c1-tx`.
    ("grant_map", ns(3_300)),
    ("grant_unmap", ns(2_300)),
    // Two copies of 1.9 us (`trace-pv`) and the sender's page; see `bridge`.
    ("grant_copy", ns(6_700)),
    ("grant_copy_kib", ns(0)),
    ("grant_transfer", ns(0)),
];
