//! A network interface card, or one queue of a card that has several: two rings of descriptors, and
//! interrupts that wait for company.
//!
//! # Receiving
//!
//! The driver [posts](Nic::post) empty buffers; each packet from the line takes one, or is dropped
//! when there is none. The driver [takes](Nic::take) filled buffers and posts new ones. The ring's
//! size is what filled and empty buffers may be together. With [flow
//! control](NicConfig::flow_control) nothing is dropped: whoever owns the card asks
//! [`Nic::may_receive`] before each packet, and stops the line while it may not.
//!
//! # Transmitting
//!
//! The driver puts packets into the ring while there is room ([`Nic::transmit`]); the card sends
//! them as fast as the line is. A descriptor is in use until the driver has [reaped](Nic::reap) it
//! after its packet left. Since the line says immediately when a packet will have left, completions
//! need no event of their own.
//!
//! # Interrupts
//!
//! [`Nic::interrupt_at`] says when the card raises its interrupt, if nothing else happens: look
//! again after each call, arm one timer for it, and call [`Nic::interrupt`] when it fires. What is
//! new in each direction counts. The card waits until a timer of [`Coalesce::delay`] is over, or
//! until there are [`Coalesce::packets`] new packets. The timer runs from the first new packet, or,
//! where [each packet restarts it](Coalesce::restarts), from the last one. The card keeps a [least
//! distance](NicConfig::gap) from the interrupt before.
//!
//! A driver that polls (Linux's NAPI) [masks](Nic::mask) the interrupt in its handler and unmasks
//! it when it found the ring empty; what came in between is new then, and what it left in the ring
//! after an interrupt told of it is not.
//!
//! # Offloads
//!
//! With [TSO](NicConfig::tso) a packet to send may be a [frame](crate::offload), which has one
//! descriptor and goes on the line as packets, one after the other. With [GRO](NicConfig::gro) the
//! driver takes packets of one stream as one frame ([`Nic::take_frame`]).
//!
//! # The bus
//!
//! A card may share a [bus](NicConfig::bus) between its two directions: a packet is on the bus for
//! its bytes at the bus's rate, one packet after the other. A received packet is in its buffer when
//! it has passed the bus. A packet to send passes the bus before it goes on the line. The card's
//! own memory holds what waits for the bus, as many received packets as the ring has buffers.
//!
//! # Queues
//!
//! A card with [several queues](NicConfig::queues) is one [`Nic`] for each. Whoever owns them asks
//! [`receive_queue`] which takes a packet from the line, hands all of them one line to send on, and
//! has them [share the bus](Nic::share_bus).

mod config;
mod rss;

use alloc::collections::VecDeque;

use domio_core::Instant;

use crate::link::Direction;
use crate::offload;
use crate::packet::Packet;
use crate::queue::{Accounted, Counts, DropPlace, Ledger, Queue};

use config::due;
pub use config::{Coalesce, NicConfig};
pub use rss::receive_queue;

/// A received packet in the ring.
#[derive(Clone, Copy, Debug)]
struct Received {
    /// When it is in its buffer.
    at: Instant,
    packet: Packet,
}

/// A card, or one of its queues.
#[derive(Clone, Debug)]
pub struct Nic {
    config: NicConfig,
    /// Empty receive buffers.
    posted: u16,
    filled: Queue<Received>,
    /// How many of `filled`, from the front, an interrupt has reported.
    rx_told: usize,
    no_buffer: u64,
    /// When the packets of used transmit descriptors leave the line, in order.
    sent: VecDeque<Instant>,
    /// How many of `sent`, from the front, an interrupt has reported.
    tx_told: usize,
    handed_over: u64,
    /// Packets that frames were cut to, in addition to one for each frame.
    cut: u64,
    /// Packets that were joined to one before.
    joined: u64,
    masked: bool,
    last_interrupt: Option<Instant>,
    interrupts: u64,
    /// When the bus is free.
    bus_free: Instant,
}

impl Nic {
    /// Where packets that find no empty buffer are dropped.
    pub const RX_RING: DropPlace = DropPlace("NIC receive ring");

    /// A card with a full ring of empty receive buffers, and its interrupt enabled.
    ///
    /// # Panics
    /// When a ring has no descriptor.
    #[track_caller]
    pub fn new(config: NicConfig) -> Self {
        assert!(
            config.rx_ring > 0 && config.tx_ring > 0,
            "a NIC's rings have at least 1 descriptor each, not {} and {}",
            config.rx_ring,
            config.tx_ring
        );
        Nic {
            config,
            posted: config.rx_ring,
            filled: Queue::new(Self::RX_RING, usize::from(config.rx_ring)),
            rx_told: 0,
            no_buffer: 0,
            sent: VecDeque::with_capacity(usize::from(config.tx_ring)),
            tx_told: 0,
            handed_over: 0,
            cut: 0,
            joined: 0,
            masked: false,
            last_interrupt: None,
            interrupts: 0,
            bus_free: Instant::ZERO,
        }
    }

    /// A packet of `bytes` passes the bus, `now` at the earliest; when it has.
    #[inline]
    fn pass_bus(&mut self, now: Instant, bytes: u32) -> Instant {
        match self.config.bus {
            None => now,
            Some(rate) => {
                self.bus_free = self.bus_free.max(now) + rate.time(bytes);
                self.bus_free
            }
        }
    }

    /// Shares the bus with other queues of the card: `free` is when the last of them leaves it.
    /// Called before a packet passes the bus, and after that.
    #[inline]
    pub fn share_bus(&mut self, free: &mut Instant) {
        self.bus_free = self.bus_free.max(*free);
        *free = self.bus_free;
    }

    /// Whether a packet may come in now: there is an empty buffer, or none is needed, since the
    /// packet will be dropped.
    #[inline]
    pub fn may_receive(&self) -> bool {
        self.posted > 0 || !self.config.flow_control
    }

    /// A packet comes in from the line. Says whether there was a buffer for it.
    pub fn receive(&mut self, now: Instant, packet: Packet) -> bool {
        if self.posted == 0 {
            self.no_buffer += 1;
            return false;
        }
        self.posted -= 1;
        let at = self.pass_bus(now, packet.frame_bytes());
        self.filled.push(Received { at, packet })
    }

    /// The driver takes the oldest buffer that is filled by `now`.
    #[inline]
    pub fn take(&mut self, now: Instant) -> Option<Packet> {
        if self.filled.front()?.at > now {
            return None;
        }
        let received = self.filled.pop()?;
        self.rx_told = self.rx_told.saturating_sub(1);
        Some(received.packet)
    }

    /// The driver takes the oldest buffer that is filled by `now`, and, with [GRO](NicConfig::gro),
    /// those behind it that continue its stream; up to `most`, which is at least 1. Says how many
    /// buffers were taken.
    pub fn take_frame(&mut self, now: Instant, most: u16) -> Option<(Packet, u16)> {
        let (mut frame, mut taken, mut at) = (self.take(now)?, 1, 0);
        while self.config.gro
            && taken < most
            && let Some(next) = self.filled.get(at).filter(|next| next.at <= now)
        {
            if !offload::same_stream(&frame, &next.packet) {
                at += 1;
                continue;
            }
            let Some(joined) = offload::join(&frame, &next.packet) else {
                break;
            };
            frame = joined;
            self.filled.take(at);
            self.rx_told -= usize::from(at < self.rx_told);
            self.joined += 1;
            taken += 1;
        }
        Some((frame, taken))
    }

    /// Received packets that the driver has not taken, the oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.filled.iter().map(|received| &received.packet)
    }

    /// Number of packets that [`Nic::waiting`] has.
    pub fn filled(&self) -> usize {
        self.filled.len()
    }

    /// The driver posts up to `n` empty buffers. Returns how many the ring had room for.
    pub fn post(&mut self, n: u16) -> u16 {
        // At most `rx_ring` are filled, which fits.
        let used = self.posted + self.filled.len() as u16;
        let room = self.config.rx_ring - used;
        let posted = n.min(room);
        self.posted += posted;
        posted
    }

    /// The driver gives a packet to be sent on `line`, which takes no packets from anybody else. A
    /// frame is cut. Returns when all of it will have left.
    ///
    /// # Errors
    /// The packet, when no descriptor is free: the driver has to keep it until it has reaped some.
    pub fn transmit(
        &mut self,
        now: Instant,
        packet: Packet,
        line: &mut Direction,
    ) -> Result<Instant, Packet> {
        if self.tx_free() == 0 {
            return Err(packet);
        }
        let ready = self.pass_bus(now, packet.frame_bytes());
        let mut leaves = ready;
        for part in offload::cut(packet) {
            leaves = line.carry(ready, part);
        }
        let parts = u64::from(offload::parts(&packet));
        self.sent.push_back(leaves);
        self.handed_over += parts;
        self.cut += parts - 1;
        Ok(leaves)
    }

    /// Transmit descriptors that are free.
    #[inline]
    pub fn tx_free(&self) -> u16 {
        // The ring never holds more than its size.
        self.config.tx_ring - self.sent.len() as u16
    }

    /// Whether a packet has left by `now` whose descriptor was not freed.
    #[inline]
    pub fn has_sent(&self, now: Instant) -> bool {
        self.sent.front().is_some_and(|leaves| *leaves <= now)
    }

    /// Whether packets wait for a bus.
    #[inline]
    pub fn has_bus(&self) -> bool {
        self.config.bus.is_some()
    }

    /// The driver frees the descriptors of packets that have left by `now`; returns how many.
    pub fn reap(&mut self, now: Instant) -> u16 {
        let mut reaped = 0;
        while self.sent.front().is_some_and(|leaves| *leaves <= now) {
            self.sent.pop_front();
            reaped += 1;
        }
        self.tx_told = self.tx_told.saturating_sub(usize::from(reaped));
        reaped
    }

    /// When the card raises its interrupt, `now` at the earliest; `None` when it is masked or has
    /// nothing new to say.
    pub fn interrupt_at(&self, now: Instant) -> Option<Instant> {
        if self.masked {
            return None;
        }
        let rx = due(self.config.rx, |n| {
            self.filled
                .get(self.rx_told + n)
                .map(|received| received.at)
        });
        let tx = due(self.config.tx, |n| self.sent.get(self.tx_told + n).copied());
        let asked = match (rx, tx) {
            (Some(rx), Some(tx)) => rx.min(tx),
            (asked, None) | (None, asked) => asked?,
        };
        let spaced = match self.last_interrupt {
            Some(last) => asked.max(last + self.config.gap),
            None => asked,
        };
        Some(spaced.max(now))
    }

    /// The interrupt is raised at `now`: everything received or sent by then has been notified of.
    pub fn interrupt(&mut self, now: Instant) {
        self.last_interrupt = Some(now);
        self.interrupts += 1;
        self.rx_told = match self.config.bus {
            None => self.filled.len(),
            Some(_) => self.filled.iter().take_while(|r| r.at <= now).count(),
        };
        while self.sent.get(self.tx_told).is_some_and(|t| *t <= now) {
            self.tx_told += 1;
        }
    }

    /// The driver switches the interrupt off.
    pub fn mask(&mut self) {
        self.masked = true;
    }

    /// The driver switches the interrupt on.
    pub fn unmask(&mut self) {
        self.masked = false;
    }

    /// Whether the interrupt is switched off.
    #[inline]
    pub fn is_masked(&self) -> bool {
        self.masked
    }

    /// Packets waiting in the receive ring.
    #[inline]
    pub fn received(&self) -> usize {
        self.filled.len()
    }

    /// Packets from the line: those that came, were taken by the driver, found no buffer.
    pub fn rx_counts(&self) -> Counts {
        let Counts {
            entered,
            left,
            dropped,
        } = self.filled.counts();
        Counts {
            entered: entered + self.no_buffer,
            left,
            dropped: dropped + self.no_buffer,
        }
    }

    /// Packets given to the line so far.
    #[inline]
    pub fn transmitted(&self) -> u64 {
        self.handed_over
    }

    /// Interrupts so far.
    #[inline]
    pub fn interrupts(&self) -> u64 {
        self.interrupts
    }
}

impl Accounted for Nic {
    /// Packets in the transmit ring are the line's.
    fn account(&self, ledger: &mut Ledger) {
        ledger
            .add(&self.filled)
            .dropped(Self::RX_RING, self.no_buffer);
        // Frames are made of packets, and packets of frames.
        ledger.sent(self.cut);
        ledger.delivered(self.joined);
    }
}

#[cfg(test)]
mod tests;
