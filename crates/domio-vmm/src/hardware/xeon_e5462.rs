//! A socket with a Xeon E5462 (2.8 GHz, four cores, 2007) under Xen 3.4 with Linux 2.6.18 in all
//! domains, and the remote host beside it: the machine of Zeng et al. 2015.
//!
//! Table I of the paper has the clock, the caches (32 KiB of data a core, 6 MiB for each two cores)
//! and the bus (1600 MHz). No table of cycles for this machine is published. What is bound to the
//! clock takes as many cycles as on the [Opteron](super::OPTERON_242), and so 16/28 of its time: an
//! estimate from above, for a core of this generation does more in a cycle. What is bound to memory
//! follows from the bus. None was fitted to a result.

use super::{Figures, Hardware, ns, opteron_242 as opteron, us};
use crate::profile::{PolicyCosts, Profile, TimerSoftirq};
use domio_contract::Cx;
use domio_core::Duration;

/// The machine.
pub static XEON_E5462: Hardware = Hardware {
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

/// What takes `opteron` ns at 1.6 GHz, at 2.8 GHz.
const fn cycles(opteron: u64) -> Duration {
    ns(opteron * 16 / 28)
}

/// The hypervisor's part.
const PROFILE: Profile = Profile {
    name: "xeon-e5462",
    source: "the cycles of opteron-242 at 2.8 GHz; caches and bus of Zeng 2015, table I",
    wake_to_pass: cycles(700),
    tickle: Duration::ZERO,
    wake_first: Duration::ZERO,
    wake_note: Duration::ZERO,
    timer_to_pass: cycles(900),
    block_to_pass: cycles(500),
    ipi_to_pass: cycles(700),
    switch: cycles(2_000),
    idle_switch: cycles(300),
    // Not known: 1 to 20 us (papers/zeng2015/machine.toml).
    idle_exit: Duration::ZERO,
    keep: cycles(300),
    resume: cycles(500),
    // The first caches, 64 KiB, from the second one at 16 GB/s.
    cache_refill: us(4),
    // Lines that were written last are in the other core's first cache: half as much again.
    migration_refill: us(2),
    // 256 KiB of a guest's working set come over the bus, at 5 of its 12.8 GB/s.
    socket_refill: us(50),
    // No source says how fast a guest touches what it has lost: as fast as memory brings it, so
    // that half of the time is waiting. The second cache gives 16 GB/s at most: 16 us.
    refill_span: us(52),
    // "2 × 6 MB" for four cores.
    cache_cores: 2,
    // "+1-2 us IPI" (xen-spec 9): the bus has the clock of its time.
    ipi: ns(1_000),
    // The IPI, and in the cycles of the Opteron an interrupt, the flush and the line.
    tlb_wait: ns(1_600),
    tlb_flush: cycles(2_500),
    timer_to_handler: [cycles(500); Cx::TIMER_SLOTS as usize],
    softirq: TimerSoftirq {
        guest: cycles(1_500),
        after_wake: cycles(700),
        ..TimerSoftirq::FREE
    },
    policy: PolicyCosts {
        // A cache line that another core has written, 170 cycles (as on xeon-e5).
        balance: ns(60),
        ..PolicyCosts::FREE
    },
    handler: cycles(500),
    interrupt: cycles(1_500),
    // Xen's constant (xen-spec 0.3).
    timer_slop: us(50),
    sibling_percent: 100,
};

/// A table of the Opteron: `own` figures, and the cycles of the others.
const fn table<const N: usize>(opteron: Figures, own: Figures) -> [(&'static str, Duration); N] {
    let mut table = [("", Duration::ZERO); N];
    let mut i = 0;
    while i < N {
        let (key, time) = opteron[i];
        table[i] = (key, cycles(time.as_nanos()));
        let mut j = 0;
        while j < own.len() {
            if is_same(own[j].0, key) {
                table[i].1 = own[j].1;
            }
            j += 1;
        }
        i += 1;
    }
    table
}

/// `a == b`, for constants.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

const KERNEL: Figures = &table::<{ opteron::KERNEL.len() }>(
    opteron::KERNEL,
    // As for a look at another core's queue: a line that another core has written.
    &[("lock_line", ns(60))],
);

const CONTROLLER: Figures = &table::<{ opteron::CONTROLLER.len() }>(opteron::CONTROLLER, &[]);

/// In cycles, but for bytes.
const NETWORK: Figures = &table::<{ opteron::NETWORK.len() }>(
    opteron::NETWORK,
    &[
        COPY_KIB,
        // "bytes / 2 GB/s" (xen-spec 9).
        ("grant_copy_kib", ns(510)),
    ],
);

/// The other machine is the same (section VI.A), without Xen: 0.3 us to copy a KiB, and 0.5 for the
/// protocols and the card, which is 0.8 for a full packet.
const WRITERS: Figures =
    &table::<{ opteron::WRITERS.len() }>(opteron::WRITERS, &[("wake", us(3)), ("kib", ns(800))]);

/// In cycles, but for bytes.
const DISK: Figures = &table::<{ opteron::DISK.len() }>(opteron::DISK, &[COPY_KIB]);

const VBD: Figures = &table::<{ opteron::VBD.len() }>(opteron::VBD, &[]);

/// In cycles, with the copy of a page at 4 GB/s.
const FILE_SYSTEM: Figures =
    &table::<{ opteron::FILE_SYSTEM.len() }>(opteron::FILE_SYSTEM, &[("page", ns(1_600))]);

/// 3 GB/s with both pages cold: a read and a write over the bus of 12.8 GB/s, which four cores
/// share.
const COPY_KIB: (&str, Duration) = ("copy_kib", ns(340));
