//! Words for how netback is set up.

use crate::host::{Assignment, NetbackForm};
use domio_core::keys::WordOf;

/// Which pair of tasklets serves a vif.
pub(super) static ASSIGNMENTS: [WordOf<Assignment>; 2] = [
    WordOf::new(
        "round-robin",
        Assignment::RoundRobin,
        "Vifs take turns, in the order of their domains.",
    ),
    WordOf::new(
        "hash",
        Assignment::Hash,
        "By a hash of the vif's address, so that some pairs may have more vifs than others.",
    ),
];

/// Whether small packets from a guest go through a pool, and those to a guest.
pub(super) static SMALL_PACKETS: [WordOf<(bool, bool)>; 4] = [
    WordOf::new(
        "grants",
        (false, false),
        "Each has a grant of its own: netback maps and unmaps what a guest sends, and what it gets \
         is transferred or copied by Xen (`rx`).",
    ),
    WordOf::new(
        "pool",
        (true, true),
        "Through pages that are granted once. Who sends copies the packet there: netfront, and \
         netback the other way.",
    ),
    WordOf::new(
        "pool-out",
        (true, false),
        "Only what guests send goes through a pool, and netfront copies.",
    ),
    WordOf::new(
        "pool-in",
        (false, true),
        "Only what guests get goes through a pool, and netback copies.",
    ),
];

/// Which release's netback takes packets for guests.
pub(super) static NETBACKS: [WordOf<NetbackForm>; 4] = [
    WordOf::new(
        "3.0",
        NetbackForm::V3_0,
        "Packets for a guest without buffers are dropped. With `rx = \"flip\"` the pages that the \
         card has filled are transferred as they are, and foreign packets are copied before.",
    ),
    WordOf::new(
        "3.0.3",
        NetbackForm::V3_0_3,
        "Packets may be of several pages, so that 20 buffers have to be free.",
    ),
    WordOf::new(
        "3.0.4",
        NetbackForm::V3_0_4,
        "32 packets wait for a guest without buffers.",
    ),
    WordOf::new(
        "3.1",
        NetbackForm::V3_1,
        "With `rx = \"flip\"` all packets are copied before.",
    ),
];
