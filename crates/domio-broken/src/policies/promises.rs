//! Promises that are not kept.

use super::Bug;
use super::fifo::{self, Fifo};
use domio_contract::{Cx, Descriptor, Pick, Prev, Promises};
use domio_core::{DomainId, Duration, PcpuId};

/// The promises of the FIFO policy, which are kept.
const KEPT: Promises = Promises {
    work_conserving: true,
    starvation_free: true,
    ..Promises::NOTHING
};

/// Promises shares by weight, and gives everybody the same slice in turn.
#[derive(Default)]
pub struct IgnoresWeights;

impl Bug for IgnoresWeights {
    const CAUGHT_BY: &'static str = "weights";
    const DESCRIPTOR: &'static Descriptor = &fifo::promising(Promises {
        weights: true,
        ..KEPT
    });
}

/// Promises caps, and enforces them by shorter slices only: who is alone gets the next slice
/// immediately.
#[derive(Default)]
pub struct OverrunsCaps;

impl Bug for OverrunsCaps {
    const CAUGHT_BY: &'static str = "caps";
    const DESCRIPTOR: &'static Descriptor = &fifo::promising(Promises { caps: true, ..KEPT });

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let mut pick = fifo.schedule(cx, pcpu, prev);
        pick.time_slice = pick.time_slice.map(|_| Duration::from_millis(5));
        pick
    }
}

/// Promises to balance, and looks at its own queue alone.
#[derive(Default)]
pub struct NeverBalances;

impl Bug for NeverBalances {
    const CAUGHT_BY: &'static str = "balances";
    const DESCRIPTOR: &'static Descriptor = &fifo::promising(Promises {
        balances: true,
        ..KEPT
    });
}

/// Promises to take charges, says that it does, and writes nothing down.
#[derive(Default)]
pub struct ForgetsCharges;

impl Bug for ForgetsCharges {
    const CAUGHT_BY: &'static str = "charges-as-promised";
    const DESCRIPTOR: &'static Descriptor = &fifo::promising(Promises {
        charges: true,
        ..KEPT
    });

    fn charge(&mut self, _: DomainId, _: Duration) -> bool {
        true
    }

    fn debt(&self, _: DomainId) -> Option<Duration> {
        Some(Duration::ZERO)
    }
}
