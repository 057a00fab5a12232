//! A Linux host in an emulator whose instructions take 1 ns of virtual time: the machine of the
//! recordings of Linux that `domio validate` judges. Every cost is measured in these recordings:
//! medians between events of one path in `eevdf-quota-v6` and `eevdf-2cpu-vhost`, with trace-cmd
//! and without perf, which adds 1 to 3 us to each of them. Nothing is cached, so every path of the
//! kernel costs the same each time.
//!
//! A context switch is visible twice: the scheduler reads its clock when it begins (here: the
//! pass), and `sched_switch` comes when it has chosen (here: the next vcpu runs).

use super::{Hardware, ns};
use crate::profile::Profile;
use domio_contract::Cx;
use domio_core::Duration;

/// The machine.
pub static LINUX_RIG: Hardware = Hardware {
    profile: &PROFILE,
    tables: &[],
};

const PROFILE: Profile = Profile {
    name: "linux-rig",
    source: "Linux 6.12 under QEMU icount; medians of recordings (FIDELITY)",
    // sched_wakeup to sched_switch of a thread that preempts, 4.03 us, less the switch.
    wake_to_pass: ns(1_000),
    // Clock of the scheduler (from sched_stat_runtime) to sched_switch: 2.9 to 3.2 us.
    switch: ns(3_000),
    idle_switch: ns(3_000),
    keep: ns(1_500),
    // A tick at a multiple of 4 ms to its sched_stat_runtime.
    timer_to_handler: [ns(1_200); Cx::TIMER_SLOTS as usize],
    // The same to sched_switch, 7.6 us, less that and the switch.
    handler: ns(3_400),
    // sched_wakeup of a vhost thread to the sched_switch of the vcpu that woke it and goes to
    // sleep, 6.0 us, less the switch and the way back to user mode.
    block_to_pass: ns(1_500),
    ipi_to_pass: ns(1_000),
    // sched_switch to the first reading of the thread's own clock.
    resume: ns(2_100),
    // Either processor is emulated in turn, so that an IPI comes when the other one's turn is over:
    // 61 us in the mean. What is here is the interrupt alone.
    ipi: ns(1_000),
    // A timer's interrupt that preempts nobody: from its expiry to the return into user mode.
    interrupt: ns(6_000),
    timer_slop: Duration::ZERO,
    ..Profile::IDEAL
};
