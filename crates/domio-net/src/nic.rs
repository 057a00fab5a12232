//! A network interface card: two rings of descriptors, and interrupts that wait for company.
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
//! after its packet left. Since the line tells at once when a packet will have left, completions
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
//! # The bus
//!
//! A card may share a [bus](NicConfig::bus) between its two directions: a packet is on the bus for
//! its bytes at the bus's rate, one packet after the other. A received packet is in its buffer when
//! it has passed the bus. A packet to send passes the bus before it goes on the line. The card's
//! own memory holds what waits for the bus, as many received packets as the ring has buffers.

mod config;

use std::collections::VecDeque;

use domio_core::Instant;

use crate::link::Direction;
use crate::packet::Packet;
use crate::queue::{Accounted, Counts, DropPlace, Ledger, Queue};

use config::due;
pub use config::{Coalesce, NicConfig};

/// A received packet in the ring.
#[derive(Clone, Copy, Debug)]
struct Received {
    /// When it is in its buffer.
    at: Instant,
    packet: Packet,
}

/// A card.
#[derive(Clone, Debug)]
pub struct Nic {
    config: NicConfig,
    /// Empty receive buffers.
    posted: u16,
    filled: Queue<Received>,
    /// How many of `filled`, from the front, an interrupt has told of.
    rx_told: usize,
    no_buffer: u64,
    /// When the packets of used transmit descriptors leave the line, in order.
    sent: VecDeque<Instant>,
    /// How many of `sent`, from the front, an interrupt has told of.
    tx_told: usize,
    handed_over: u64,
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

    /// Whether a packet may come in now: there is an empty buffer, or none is needed, since the
    /// packet will be dropped.
    #[inline]
    pub fn may_receive(&self) -> bool {
        self.posted > 0 || !self.config.flow_control
    }

    /// A packet comes in from the line. Tells whether there was a buffer for it.
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

    /// Received packets that the driver has not taken, the oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.filled.iter().map(|received| &received.packet)
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

    /// The driver gives a packet to be sent on `line`, which takes no packets from anybody else.
    /// Returns when it will have left.
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
        let leaves = line.carry(ready, packet);
        self.sent.push_back(leaves);
        self.handed_over += 1;
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
    /// nothing new to tell.
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

    /// The interrupt is raised at `now`: everything received or sent by then has been told of.
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{LinkConfig, Rate};
    use crate::packet::{Body, FlowId, Numbered, Station};
    use domio_core::Duration;

    fn packet(seq: u32) -> Packet {
        Packet {
            from: Station(0),
            to: Station(1),
            flow: FlowId(0),
            body: Body::Udp(Numbered { seq, bytes: 1472 }),
        }
    }

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn line() -> Direction {
        Direction::new(LinkConfig {
            rate: Rate::GBIT_1,
            latency: Duration::ZERO,
            queue: 0,
        })
    }

    #[test]
    fn each_packet_restarts_the_timer_of_a_tg3() {
        let mut nic = Nic::new(NicConfig::TG3);
        // 3, 10 and 18 us: 20 us after the last one. The fourth comes too late for that.
        for (i, at) in [3, 10, 18].into_iter().enumerate() {
            nic.receive(us(at), packet(i as u32));
            assert_eq!(nic.interrupt_at(us(at)), Some(us(at + 20)));
        }
        assert_eq!(nic.interrupt_at(us(38)), Some(us(38)));
        nic.interrupt(us(38));
        nic.receive(us(39), packet(3));
        // The fourth, whose timer ends at 59 us, and three more, 18 us apart: 113 us.
        for (i, at) in [57, 75, 93].into_iter().enumerate() {
            nic.receive(us(at), packet(4 + i as u32));
        }
        assert_eq!(nic.interrupt_at(us(93)), Some(us(113)));
        // The fifth asks at once.
        nic.receive(us(99), packet(7));
        assert_eq!(nic.interrupt_at(us(99)), Some(us(99)));
    }

    #[test]
    fn sent_packets_restart_their_timer_as_well() {
        let mut nic = Nic::new(NicConfig::TG3);
        let mut line = line();
        // Two leave at 12.304 and 24.608 us: 72 us after the second. One that leaves 80 us later
        // than that changes nothing.
        for seq in 0..2 {
            nic.transmit(us(0), packet(seq), &mut line).expect("room");
        }
        let asked = Instant::from_nanos(24_608) + Duration::from_micros(72);
        assert_eq!(nic.interrupt_at(us(0)), Some(asked));
        nic.transmit(us(92), packet(2), &mut line).expect("room");
        assert_eq!(nic.interrupt_at(us(92)), Some(asked));
    }

    #[test]
    fn both_directions_share_the_bus() {
        // 1,518 bytes at 800 Mb/s take 15.18 us, on the line 12.304.
        let mut nic = Nic::new(NicConfig {
            bus: Some(Rate::bits_per_second(800_000_000)),
            ..NicConfig::PLAIN
        });
        let mut line = line();
        let ns = Instant::from_nanos;
        nic.receive(us(0), packet(0));
        nic.receive(ns(12_304), packet(1));
        assert_eq!(nic.interrupt_at(us(0)), Some(ns(15_180)));
        assert_eq!(nic.take(ns(15_179)), None, "it is on the bus");
        nic.interrupt(ns(15_180));
        assert_eq!(nic.take(ns(15_180)), Some(packet(0)));
        assert_eq!(nic.interrupt_at(ns(15_180)), Some(ns(30_360)), "the second");
        // One to send waits for the second, and goes on the line then: 45.54 + 12.304 us.
        let leaves = nic.transmit(us(20), packet(2), &mut line);
        assert_eq!(leaves, Ok(ns(57_844)));
    }

    #[test]
    fn the_timer_of_an_untagged_chip_is_absolute() {
        let mut nic = Nic::new(NicConfig::TG3_UNTAGGED);
        assert_eq!(nic.interrupt_at(us(0)), None);
        for (i, at) in [3, 10, 18].into_iter().enumerate() {
            assert!(nic.receive(us(at), packet(i as u32)));
            assert_eq!(
                nic.interrupt_at(us(at)),
                Some(us(53)),
                "50 us after the first"
            );
        }
        nic.interrupt(us(53));
        assert_eq!(nic.interrupt_at(us(53)), None, "told once");
        nic.receive(us(60), packet(3));
        assert_eq!(nic.interrupt_at(us(60)), Some(us(110)));
    }

    #[test]
    fn enough_packets_do_not_wait() {
        let mut nic = Nic::new(NicConfig::TG3_UNTAGGED);
        for i in 0..5 {
            nic.receive(us(u64::from(i)), packet(i));
        }
        assert_eq!(nic.interrupt_at(us(4)), Some(us(4)));
    }

    #[test]
    fn moderation_limits_the_rate_of_interrupts() {
        // A packet every 12.304 us for a second, each taken at its interrupt.
        let rate = |config: NicConfig| {
            let mut nic = Nic::new(config);
            let mut now = Instant::ZERO;
            for i in 0..81_274 {
                let next = now + Duration::from_nanos(12_304);
                nic.receive(now, packet(i));
                if let Some(at) = nic.interrupt_at(now).filter(|at| *at < next) {
                    nic.interrupt(at);
                    while nic.take(now).is_some() {
                        nic.post(1);
                    }
                }
                now = next;
            }
            assert_eq!(nic.rx_counts().dropped, 0);
            nic.interrupts()
        };
        assert_eq!(rate(NicConfig::PLAIN), 81_274);
        // The fifth packet comes 49.2 us after the first.
        assert_eq!(rate(NicConfig::TG3), 81_274 / 5);
        let e1000 = rate(NicConfig::E1000);
        assert!((7_900..=8_001).contains(&e1000), "{e1000}");
    }

    #[test]
    fn packets_without_a_buffer_are_dropped_and_counted() {
        let mut nic = Nic::new(NicConfig {
            rx_ring: 4,
            ..NicConfig::PLAIN
        });
        let fates: Vec<bool> = (0..6).map(|i| nic.receive(us(0), packet(i))).collect();
        assert_eq!(fates, [true, true, true, true, false, false]);
        // Taking frees no buffer; posting does, and no more than were taken.
        assert_eq!(nic.take(us(0)), Some(packet(0)));
        assert!(!nic.receive(us(1), packet(6)));
        assert_eq!((nic.post(3), nic.post(3)), (1, 0));
        assert!(nic.receive(us(2), packet(7)));
        let counts = nic.rx_counts();
        assert_eq!((counts.entered, counts.left, counts.dropped), (8, 1, 3));
        let mut ledger = Ledger::new();
        ledger.add(&nic).sent(8);
        ledger.delivered(1);
        assert_eq!(
            (ledger.dropped_at(Nic::RX_RING), ledger.check()),
            (3, Ok(()))
        );
    }

    #[test]
    fn a_transmit_descriptor_is_free_when_it_was_reaped() {
        let mut nic = Nic::new(NicConfig {
            tx_ring: 2,
            tx: Coalesce::since_first(Duration::from_micros(100), 2),
            ..NicConfig::PLAIN
        });
        let mut line = line();
        let leaves = [12_304, 24_608].map(Instant::from_nanos);
        assert_eq!(nic.transmit(us(0), packet(0), &mut line), Ok(leaves[0]));
        assert_eq!(
            nic.interrupt_at(us(0)),
            Some(leaves[0] + Duration::from_micros(100))
        );
        assert_eq!(nic.transmit(us(0), packet(1), &mut line), Ok(leaves[1]));
        assert_eq!(
            nic.interrupt_at(us(0)),
            Some(leaves[1]),
            "two will have left"
        );
        assert_eq!(nic.transmit(us(0), packet(2), &mut line), Err(packet(2)));
        assert_eq!(nic.reap(us(12)), 0);
        assert_eq!((nic.reap(us(13)), nic.tx_free()), (1, 1));
        nic.interrupt(us(25));
        assert_eq!(nic.interrupt_at(us(25)), None);
        assert_eq!((nic.reap(us(25)), nic.tx_free()), (1, 2));
        assert_eq!(nic.transmitted(), 2);
    }

    #[test]
    fn a_polling_driver_hears_of_what_came_while_it_polled() {
        let mut nic = Nic::new(NicConfig::PLAIN);
        nic.receive(us(0), packet(0));
        nic.interrupt(us(0));
        nic.mask();
        nic.receive(us(1), packet(1));
        assert_eq!(nic.interrupt_at(us(1)), None);
        assert_eq!(
            (nic.take(us(1)), nic.take(us(1)), nic.take(us(1))),
            (Some(packet(0)), Some(packet(1)), None)
        );
        nic.unmask();
        assert_eq!(nic.interrupt_at(us(2)), None, "it was polled");
        nic.mask();
        nic.receive(us(3), packet(2));
        nic.unmask();
        assert_eq!(
            nic.interrupt_at(us(5)),
            Some(us(5)),
            "it came after the last poll"
        );
    }
}
