//! Guest operating systems that scenarios can name.

use domio_core::{Duration, Instant};
use domio_vmm::config::{GuestConfig, KernelCosts, KernelTick, ProcessOrder};

/// A named guest.
pub(crate) struct Guest {
    pub name: &'static str,
    pub doc: &'static str,
    pub os: Os,
}

/// The operating system of a domain: what all vcpus share, and what each of them does.
#[derive(Clone, Copy)]
pub(crate) struct Os {
    pub config: GuestConfig,
    pub kernel_tick: Option<KernelTick>,
}

impl Os {
    /// No overhead of its own, no tick.
    pub const IDEAL: Os = Os {
        config: GuestConfig::IDEAL,
        kernel_tick: None,
    };
}

/// Tick of Linux with `CONFIG_HZ=250`, the default of its configuration since 2.6.13.
const LINUX_TICK: KernelTick = KernelTick {
    period: Duration::from_millis(4),
    phase: Instant::ZERO,
    least: LEAST_AHEAD,
};

/// Linux on Xen sets no timer nearer than this: `TIMER_SLOP`, `arch/x86/xen/time.c`.
pub(crate) const LEAST_AHEAD: Duration = Duration::from_micros(100);

/// Time slice of a round-robin task under Linux: `DEF_TIMESLICE`, 100 ms (kernel/sched.c, 2.6.18).
const LINUX_SLICE: Duration = Duration::from_millis(100);

/// Handler and softirq of a timer, a microsecond each: an assumption, no measurement behind it.
const ASSUMED_COST: Duration = Duration::from_micros(1);

/// Every named guest; the first is the default.
pub(crate) const GUESTS: [Guest; 3] = [
    Guest {
        name: "ideal",
        doc: "no overhead of its own, no tick",
        os: Os::IDEAL,
    },
    Guest {
        name: "linux-pvops",
        doc: "Linux 2.6.23 and later with paravirt_ops: it stops Xen's periodic tick and has \
              one of its own, 4 ms, while it is busy; interrupt and softirq take 1 us each \
              (assumed)",
        os: Os {
            config: GuestConfig {
                tick: None,
                costs: KernelCosts::of_timer(ASSUMED_COST, ASSUMED_COST),
                task_slice: LINUX_SLICE,
                ..GuestConfig::IDEAL
            },
            kernel_tick: Some(LINUX_TICK),
        },
    },
    Guest {
        name: "linux-2.6.18",
        doc: "XenLinux 2.6.18: Xen's 10 ms tick (xen-spec 0.9) while it runs; interrupt and \
              softirq take 1 us each (assumed); processes that sleep most of the time go before \
              those that compute",
        os: Os {
            config: GuestConfig {
                tick: Some(Duration::from_millis(10)),
                costs: KernelCosts::of_timer(ASSUMED_COST, ASSUMED_COST),
                order: ProcessOrder::Linux26,
                task_slice: LINUX_SLICE,
                ..GuestConfig::IDEAL
            },
            kernel_tick: None,
        },
    },
];

/// The guest called `name`.
pub(crate) fn by_name(name: &str) -> Option<&'static Guest> {
    GUESTS.iter().find(|g| g.name == name)
}
