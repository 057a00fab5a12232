//! Classes for tests: those of credit, credit2 and the network, with plain words.

use domio_core::{Class, Declared, Field, Unit};

const A: &[Field] = &[Field::word("a", 0, Unit::Number)];
const B: &[Field] = &[
    Field::word("a", 0, Unit::Number),
    Field::word("b", 1, Unit::Number),
];
const C: &[Field] = &[
    Field::word("a", 0, Unit::Number),
    Field::word("b", 1, Unit::Number),
    Field::word("c", 2, Unit::Number),
];
const D: &[Field] = &[
    Field::long("a", 0, Unit::Number),
    Field::long("b", 2, Unit::Number),
];

/// As credit's events of Xen 4.17.
pub static CREDIT: Class = Class::new(
    "credit",
    &[
        Declared::new(2, "account-start", A),
        Declared::new(3, "account-stop", A),
        Declared::new(4, "stolen", A),
        Declared::new(5, "picked", A),
        Declared::new(6, "tickle", A),
        Declared::new(7, "boost-start", &[]),
        Declared::new(8, "boost-end", &[]),
        Declared::new(9, "pass", A),
        Declared::new(10, "limited", A),
        Declared::new(11, "steal-check", B),
    ],
);

/// As credit2's events of Xen 4.17; those that are longer there end after what is declared.
pub static CREDIT2: Class = Class::new(
    "credit2",
    &[
        Declared::new(2, "queued", A),
        Declared::new(3, "burned", B),
        Declared::new(5, "score", B),
        Declared::new(6, "tickle", A),
        Declared::new(7, "reset", B),
        Declared::new(9, "load", &[]),
        Declared::new(10, "assigned", A),
        Declared::new(11, "vcpu-load", B),
        Declared::new(12, "runq-load", C),
        Declared::new(13, "tickle-for", B),
        Declared::new(14, "max-weight", A),
        Declared::new(15, "migrate", A),
        Declared::new(16, "load-check", B),
        Declared::new(17, "balance", C),
        Declared::new(19, "picked", B),
        Declared::new(20, "candidate", B),
        Declared::new(21, "pass", B),
        Declared::new(22, "limited", A),
        Declared::new(23, "looked-at", &[]),
    ],
);

/// As the network's.
pub static NETWORK: Class = Class::new(
    "network",
    &[
        Declared::new(0, "delivered", D),
        Declared::new(1, "reply", D),
        Declared::new(2, "moved", D),
        Declared::new(3, "ring-full", D),
        Declared::new(4, "held", D),
        Declared::new(16, "started", D),
        Declared::new(17, "connected", D),
        Declared::new(18, "first-byte", D),
        Declared::new(19, "replied", D),
        Declared::new(20, "closed", D),
    ],
);

/// All of them.
pub static KNOWN: &[&Class] = &[&CREDIT, &CREDIT2, &NETWORK];
