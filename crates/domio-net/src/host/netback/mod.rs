//! Netback: the driver domain's side of the guests' interfaces (xen-spec 6.3).
//!
//! There is one pair of tasklets for all interfaces, as in Linux 2.6.18 for Xen: one takes packets
//! to the guests, the other from them. Each works through whatever all interfaces have, in batches
//! that cost one hypercall.

mod gate;
mod limit;
mod rx;
mod tx;

use std::collections::VecDeque;

use domio_core::{Duration, Instant};

use super::config::VifRate;
use crate::packet::Packet;
use crate::queue::{Place, Queue};

pub(super) use gate::Gate;

/// Packets from guests that the driver domain may have at a time, of all interfaces together.
const PENDING_MAX: u16 = 256;
/// Slots that the largest packet takes: no batch begins with fewer free.
const SLOTS_MAX: u16 = 18;
/// Buffers of a guest that are free before netback takes a packet for it (`MAX_SKB_FRAGS + 2`):
/// netfront announces `feature-sg` and `feature-gso-tcpv4`, and may get packets of so many pages.
const RX_FREE: u32 = 20;
/// Grant operations of a batch of the rx tasklet.
const BATCH_MAX: usize = 256;
/// Packets that wait for the driver domain's stack (Linux 2.6.18: `netdev_max_backlog`).
const BACKLOG: usize = 1_000;
/// How long a queue to a guest stands still before its packets go on, to be dropped if there are no
/// buffers even then (`HZ/2`).
const RX_TIMEOUT: Duration = Duration::from_millis(500);
/// Bytes that netback copies from the begin of a packet, for the stack to read.
const HEADER: u64 = 64;

/// How far the rx tasklet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RxStage {
    Begin,
    /// The batch is with Xen.
    Granted,
    Notifying,
}

/// How far the tx tasklet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TxStage {
    Begin,
    /// Pages of sent packets are unmapped, guests are answered.
    Unmapped,
    /// Packets are dropped, guests are answered.
    Dropped,
    /// The batch is with Xen.
    Mapped,
}

/// What all interfaces share.
pub(super) struct Netback {
    /// Packets for the rx tasklet, with their interface.
    rx_waiting: VecDeque<(u16, Packet)>,
    rx_batch: Vec<(u16, Packet)>,
    /// Pages that Xen has given in advance, for those that are transferred.
    pages: u32,
    rx_stage: RxStage,
    /// Interfaces to notify, last first.
    rx_notify: Vec<u16>,
    /// The one whose notification is under way.
    rx_sending: Option<u16>,
    /// Interfaces with packets to send, in turn.
    tx_list: VecDeque<u16>,
    tx_batch: Vec<(u16, Packet)>,
    tx_stage: TxStage,
    /// Packets taken from guests and not answered.
    tx_pending: u16,
    /// Interfaces of packets that are sent, one entry each, to be unmapped and answered.
    dealloc: VecDeque<u16>,
    answering: VecDeque<u16>,
    /// The one whose notification is under way.
    tx_sending: Option<u16>,
    /// Packets from guests for the bridge.
    pub backlog: Queue<(u16, Packet)>,
    /// Interfaces whose queue to the guest may go on.
    pub restart: VecDeque<u16>,
    /// Interfaces whose queue was stopped, and until when at the latest, the earliest first. Those
    /// that went on before are here still: [`Vif::rx_timeout`](super::vif::Vif) tells.
    stopped: VecDeque<(Instant, u16)>,
    /// Packets for guests that were gone.
    pub gone: u64,
    /// Packets that are taken from rings to be dropped, by interface.
    tx_dropping: VecDeque<(u16, u32)>,
    /// How many interfaces have a gate that is not open.
    pub gated_vifs: u16,
    /// Packets for guests whose traffic is stopped.
    pub turned_away: u64,
    /// Packets from guests that were dropped as soon as they were taken.
    pub guarded: u64,
}

impl Netback {
    /// Where packets end whose guest is gone, or has not come.
    pub const GONE: Place = Place("netback, no guest");
    /// Where packets end for which the guest has posted no buffer.
    pub const RING: Place = Place("netback, ring full");
    /// Where packets from guests end that the driver domain does not get to.
    pub const BACKLOG: Place = Place("netback, backlog");

    pub fn new() -> Self {
        Netback {
            rx_waiting: VecDeque::new(),
            rx_batch: Vec::new(),
            pages: 0,
            rx_stage: RxStage::Begin,
            rx_notify: Vec::new(),
            rx_sending: None,
            tx_list: VecDeque::new(),
            tx_batch: Vec::new(),
            tx_stage: TxStage::Begin,
            tx_pending: 0,
            dealloc: VecDeque::new(),
            answering: VecDeque::new(),
            tx_sending: None,
            backlog: Queue::new(Self::BACKLOG, BACKLOG),
            restart: VecDeque::new(),
            stopped: VecDeque::new(),
            gone: 0,
            tx_dropping: VecDeque::new(),
            gated_vifs: 0,
            turned_away: 0,
            guarded: 0,
        }
    }

    /// Packets inside, between a ring or the bridge and the other, without those in the backlog.
    pub fn held(&self) -> u64 {
        (self.rx_waiting.len() + self.rx_batch.len() + self.tx_batch.len()) as u64
    }

    /// A packet of interface `vif` has left, or was dropped: its page is the guest's again.
    pub fn release(&mut self, vif: u16) {
        self.dealloc.push_back(vif);
    }
}

/// What a guest may send still, under a limit (xen-spec 6.3).
#[derive(Clone, Debug)]
pub(super) struct Credit {
    rate: Option<VifRate>,
    /// Bytes left.
    remaining: u64,
    /// Begin of the interval.
    since: Instant,
    /// More comes at this time, for a packet that waits.
    pub timer: Option<Instant>,
}

/// Most that piles up for one large packet.
const CREDIT_BURST_MAX: u64 = 128 * 1024;

impl Credit {
    pub fn new(rate: Option<VifRate>) -> Self {
        Credit {
            rate,
            remaining: rate.map_or(0, |rate| rate.bytes),
            since: Instant::ZERO,
            timer: None,
        }
    }

    /// Another limit from now on; what is left of the interval is at most the new limit's.
    pub fn set_rate(&mut self, rate: Option<VifRate>) {
        if self.rate != rate {
            self.rate = rate;
            let most = rate.map_or(0, |rate| rate.bytes);
            // Without a limit before, nothing was counted.
            self.remaining = match self.remaining {
                0 => most,
                left => left.min(most),
            };
            self.timer = None;
        }
    }

    /// Takes `bytes`, if there are as many; otherwise the interface waits for [`Credit::timer`].
    pub fn take(&mut self, now: Instant, bytes: u64) -> bool {
        let Some(rate) = self.rate else { return true };
        if bytes > self.remaining {
            if self.timer.is_some() {
                return false;
            }
            let next = self.since + rate.interval;
            if now >= next {
                self.since = now;
                self.add(rate, bytes);
            }
            if bytes > self.remaining {
                self.timer = Some(self.since + rate.interval);
                return false;
            }
        }
        self.remaining -= bytes;
        true
    }

    /// The timer has fired, for a packet of `bytes`.
    pub fn refill(&mut self, now: Instant, bytes: u64) {
        self.timer = None;
        self.since = now;
        if let Some(rate) = self.rate {
            self.add(rate, bytes);
        }
    }

    /// One interval's worth, however long it was.
    fn add(&mut self, rate: VifRate, bytes: u64) {
        let burst = bytes.min(CREDIT_BURST_MAX).max(rate.bytes);
        self.remaining = self.remaining.saturating_add(rate.bytes).min(burst);
    }
}

/// The rate of `mbit` Mb/s at the default interval of 50 ms.
impl VifRate {
    /// `rate=` with xl's default interval of 50 ms (xen-spec 6.3): `bits` per second.
    pub fn bits_per_second(bits: u64) -> Self {
        VifRate {
            bytes: bits / 8 / 20,
            interval: Duration::from_millis(50),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_18_10_megabits_are_62500_bytes_in_50_ms() {
        let rate = VifRate::bits_per_second(10_000_000);
        assert_eq!(
            (rate.bytes, rate.interval),
            (62_500, Duration::from_millis(50))
        );
    }

    #[test]
    fn credit_of_one_interval_only() {
        let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut credit = Credit::new(Some(VifRate::bits_per_second(10_000_000)));
        assert!(credit.take(ms(0), 62_500));
        assert!(!credit.take(ms(1), 1_500));
        assert_eq!(credit.timer, Some(ms(50)));
        assert!(!credit.take(ms(2), 1_500), "the timer is set already");
        credit.refill(ms(50), 1_500);
        assert!(credit.take(ms(50), 62_500));
        // Idle for a long time: one interval's worth and not twenty.
        assert!(credit.take(ms(1_000), 62_500));
        assert!(!credit.take(ms(1_000), 1));
    }
}
