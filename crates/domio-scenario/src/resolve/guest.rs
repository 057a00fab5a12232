//! Guest operating systems: those that scenarios can name, and `guest = { ... }`.

use crate::check::{self, Cx, Fields};
use domio_core::keys::{KeySection, Keys, Need, Slot, WordOf, time};
use domio_core::{Duration, Instant};
use domio_vmm::config::{GuestConfig, KernelCosts, KernelTick, ProcessOrder};

const US: u64 = 1_000;

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

/// Every named guest.
pub(crate) static GUESTS: [WordOf<Os>; 3] = [
    WordOf::new("ideal", Os::IDEAL, "no overhead of its own, no tick"),
    WordOf::new(
        "linux-pvops",
        Os {
            config: GuestConfig {
                tick: None,
                costs: KernelCosts::of_timer(ASSUMED_COST, ASSUMED_COST),
                task_slice: LINUX_SLICE,
                ..GuestConfig::IDEAL
            },
            kernel_tick: Some(LINUX_TICK),
        },
        "Linux 2.6.23 and later with paravirt_ops: it stops Xen's periodic tick and has one of its \
         own, 4 ms, while it is busy; interrupt and softirq take 1 us each (assumed)",
    ),
    WordOf::new(
        "linux-2.6.18",
        Os {
            config: GuestConfig {
                tick: Some(Duration::from_millis(10)),
                costs: KernelCosts::of_timer(ASSUMED_COST, ASSUMED_COST),
                order: ProcessOrder::Linux26,
                task_slice: LINUX_SLICE,
                ..GuestConfig::IDEAL
            },
            kernel_tick: None,
        },
        "XenLinux 2.6.18: Xen's 10 ms tick (xen-spec 0.9) while it runs; interrupt and softirq \
         take 1 us each (assumed); processes that sleep most of the time go before those that \
         compute",
    ),
];

pub(crate) static GUEST: KeySection = KeySection::plain(
    "guest = { ... }",
    "A guest OS by its figures. Costs are processor time of the vcpu.",
    GuestKeys::KEYS,
);

keys! {
    struct GuestKeys {
        tick: Duration = time("ms", 0), Need::TimeNs(0),
            "Period of the tick that Xen sends while a vcpu runs; 0 for a guest that stopped it.";
        kernel_tick: Duration = time("ms", 0), Need::TimeNs(0),
            "Period of the tick that the kernel gives itself with a one-shot timer while a vcpu \
             is busy, no nearer than 100 us ahead; 0 for none.";
        kernel_tick_phase: Duration = time("us", 0), Need::TimeNs(0),
            "A time at which that tick is due.";
        irq: Duration = time("us", 0), Need::TimeNs(0),
            "Cost of a timer's or tick's interrupt handler.";
        softirq: Duration = time("us", 0), Need::TimeNs(0),
            "Cost of the timer softirq, which wakes tasks.";
        task_slice: Duration = time("ms", US), Need::TimeNs(100_000 * US),
            "How long a task runs before another of the same priority gets its turn.";
    }
}

/// The guest that `fields` name or describe at `slot`.
pub(super) fn guest(cx: &mut Cx<'_>, fields: &Fields, slot: &Slot<Os>) -> Option<Os> {
    let Some(node) = fields.node(slot) else {
        return slot.get();
    };
    let path = fields.path_of(slot);
    let own = check::table(cx, node.as_table()?, node.span, &GUEST, &path, None);
    let keys: GuestKeys = own.read();
    let tick = |slot: &Slot<Duration>| Some(slot.get()?).filter(|t| !t.is_zero());
    let phase = Instant::ZERO + keys.kernel_tick_phase.get()?;
    Some(Os {
        config: GuestConfig {
            tick: tick(&keys.tick),
            costs: KernelCosts::of_timer(keys.irq.get()?, keys.softirq.get()?),
            task_slice: keys.task_slice.get()?,
            ..GuestConfig::IDEAL
        },
        kernel_tick: tick(&keys.kernel_tick).map(|period| KernelTick {
            period,
            phase,
            least: LEAST_AHEAD,
        }),
    })
}
