//! What a host with KVM records of interrupts and softirqs that took the time of its threads.

use domio_core::accounted::{INTERRUPTS, SOFTIRQS, TAKEN};
use domio_core::{Class, Declared, Field, Says, Unit};

const TIME: &[Field] = &[
    Field::word("number", 0, Unit::Number),
    Field::long("time", 1, Unit::Nanoseconds),
];

/// What a host with KVM records of interrupts: the time in handlers and in softirqs that a thread
/// which ran on the pcpu has lost until now, with the number of the softirq (`NET_RX`) as in
/// records of a Linux host; the number of an interrupt is 0.
pub static TAKEN_TIME: Class = Class::new(
    "interrupts",
    &[
        Declared::new(0, "irq", TIME)
            .says(Says::Interrupted { time: 1 })
            .tallies(&[INTERRUPTS]),
        Declared::new(1, "softirq", TIME)
            .says(Says::Interrupted { time: 1 })
            .tallies(&[SOFTIRQS]),
    ],
)
.with_tables(&[&TAKEN]);
