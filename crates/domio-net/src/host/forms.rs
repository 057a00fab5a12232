//! Netbacks of Linux for Xen, by release, and vhost of KVM: how they take packets for guests.
//!
//! | Xen | copied before the page is transferred | without a buffer | free buffers |
//! |---|---|---|---|
//! | 3.0 to 3.0.2 | foreign packets | dropped | 1 |
//! | 3.0.3 | foreign packets | dropped | 20 |
//! | 3.0.4 | foreign packets | 32 wait for 500 ms | 20 |
//! | 3.1 and later | all packets | 32 wait for 500 ms | 20 |
//!
//! *Foreign* is a packet in a page that another domain has granted, or in one that the card's
//! driver has not allocated. The driver of a card takes its buffers from a cache of whole pages,
//! which netback may give away as they are (`is_xen_skb`). The update to Linux 2.6.18 for Xen 3.1
//! removed this cache.
//!
//! Sources: `netback.c`, `interface.c` and `skbuff.c` of the tags 3.0.2, 3.0.3, 3.0.4 and 3.1 of
//! Xen, and the changes 6623d7edad (no queue), 61ca72df6f (500 ms) and 54a1273470 (2.6.18).

use domio_core::XenVersion;

/// How netback takes packets for guests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetbackForm {
    /// It copies each packet whose page it transfers, and not foreign ones alone.
    pub copies_all: bool,
    /// Packets that wait while their guest has no buffers (`tx_queue_len`). With 0 they are
    /// dropped.
    pub queue: u16,
    /// Packets may be of several pages (`feature-sg`), so that buffers for the largest have to be
    /// free.
    pub fragments: bool,
    /// It is vhost: a thread of the host takes packets in both directions, and copies whole packets
    /// from the guest's memory and to it.
    pub vhost: bool,
}

impl NetbackForm {
    /// That of Xen 3.0.0 to 3.0.2.
    pub const V3_0: NetbackForm = NetbackForm {
        copies_all: false,
        queue: 0,
        fragments: false,
        vhost: false,
    };

    /// That of Xen 3.0.3.
    pub const V3_0_3: NetbackForm = NetbackForm {
        fragments: true,
        ..NetbackForm::V3_0
    };

    /// That of Xen 3.0.4.
    pub const V3_0_4: NetbackForm = NetbackForm {
        queue: 32,
        ..NetbackForm::V3_0_3
    };

    /// That of Xen 3.1, and of all later releases here.
    pub const V3_1: NetbackForm = NetbackForm {
        copies_all: true,
        ..NetbackForm::V3_0_4
    };

    /// vhost-net of KVM. Packets wait for a guest without buffers in the queue of its tap device
    /// (`TUN_READQ_SIZE`).
    pub const VHOST: NetbackForm = NetbackForm {
        queue: 500,
        vhost: true,
        ..NetbackForm::V3_1
    };

    /// The one that came with Xen `version`.
    pub fn of(version: XenVersion) -> Self {
        match version {
            XenVersion::V2_0 | XenVersion::V3_0 => NetbackForm::V3_0,
            XenVersion::V3_0_3 => NetbackForm::V3_0_3,
            XenVersion::V3_0_4 => NetbackForm::V3_0_4,
            _ => NetbackForm::V3_1,
        }
    }

    /// Slots that have to be free behind a packet of a batch for the largest packet to fit.
    pub(super) const fn slots_spare(&self) -> u16 {
        match self.fragments {
            true => 18,
            false => 0,
        }
    }

    /// Buffers of a guest that are free before netback takes a packet for it (`MAX_SKB_FRAGS + 2`
    /// with packets of several pages).
    pub(super) const fn rx_free(&self) -> u32 {
        match self.fragments {
            true => 20,
            false => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_release_has_its_netback() {
        let queues = [
            XenVersion::V3_0,
            XenVersion::V3_0_3,
            XenVersion::V3_0_4,
            XenVersion::V3_1,
            XenVersion::V4_17,
        ];
        let of = queues.map(|version| {
            let form = NetbackForm::of(version);
            (form.copies_all, form.queue, form.rx_free())
        });
        let expected = [
            (false, 0, 1),
            (false, 0, 20),
            (false, 32, 20),
            (true, 32, 20),
            (true, 32, 20),
        ];
        assert_eq!(of, expected);
    }
}
