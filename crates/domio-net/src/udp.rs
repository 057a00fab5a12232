//! UDP traffic: a source with a fixed rate and size, and a sink that counts.

use domio_core::{Duration, Instant};
use domio_vmm::process::programs::due_after;

use crate::packet::{Body, FlowId, MESSAGE_BYTES_MAX, Numbered, Packet, Station};
use crate::queue::{Accounted, Ledger};

/// Settings of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpConfig {
    /// Bytes behind the UDP header, [`MESSAGE_BYTES_MAX`] at most.
    pub bytes: u16,
    /// Packets per second, more than 0.
    pub rate: u32,
    /// From one wake-up of the sender to the next: what falls due in between is sent then. Zero for
    /// a sender that sends each packet at its time.
    pub wake: Duration,
    /// How late the sender is at most, by another time for each wake-up ([`due_after`]).
    pub jitter: Duration,
}

/// Sends packets at fixed times: the nth, from 0, `n / rate` seconds after the start, exactly
/// (rounded down to the nanosecond, without drift), or at the next wake-up after that; late by the
/// source's jitter.
#[derive(Clone, Debug)]
pub struct UdpSource {
    config: UdpConfig,
    from: Station,
    to: Station,
    flow: FlowId,
    /// None before it has begun.
    start: Option<Instant>,
    /// From when on no packet is due.
    until: Instant,
    sent: u64,
}

impl UdpSource {
    /// A source that has not begun.
    ///
    /// # Panics
    /// When the datagram does not fit into a packet or the rate is 0.
    #[track_caller]
    pub fn new(config: UdpConfig, from: Station, to: Station, flow: FlowId) -> Self {
        assert!(
            config.bytes <= MESSAGE_BYTES_MAX,
            "a datagram of {} bytes needs fragments; expected at most {MESSAGE_BYTES_MAX}",
            config.bytes
        );
        assert!(
            config.rate > 0,
            "a source sends more than 0 packets a second"
        );
        UdpSource {
            config,
            from,
            to,
            flow,
            start: None,
            until: Instant::MAX,
            sent: 0,
        }
    }

    /// Begins at `now`, unless it has begun.
    pub fn start(&mut self, now: Instant) {
        self.start.get_or_insert(now);
    }

    /// No packet is due from `until` on.
    pub fn end_at(&mut self, until: Instant) {
        self.until = until;
    }

    /// When the next packet is due; never before it has begun and after it has ended.
    #[inline]
    pub fn due(&self) -> Instant {
        let config = &self.config;
        let after = due_after(self.sent, config.rate, config.wake, config.jitter);
        let due = self.start.map(|start| start + after);
        due.filter(|due| *due < self.until).unwrap_or(Instant::MAX)
    }

    /// Makes the next packet. Call it when the packet is [`due`](Self::due); a source that was held
    /// up catches up when it is called for each packet that is overdue.
    pub fn emit(&mut self) -> Packet {
        // The packet's number wraps after 4 billion; the count does not.
        let seq = self.sent as u32;
        self.sent += 1;
        Packet {
            from: self.from,
            to: self.to,
            flow: self.flow,
            body: Body::Udp(Numbered {
                seq,
                bytes: self.config.bytes,
            }),
        }
    }

    /// Packets made so far.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

impl Accounted for UdpSource {
    fn account(&self, ledger: &mut Ledger) {
        ledger.sent(self.sent);
    }
}

/// Counts what arrives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct UdpSink {
    /// Packets.
    pub received: u64,
    /// Their bytes, without headers.
    pub bytes: u64,
    /// Packets with a number below one that had come before: overtaken or duplicated.
    pub out_of_order: u64,
    /// One more than the highest number so far.
    pub expected: u32,
}

impl UdpSink {
    /// A sink that has received nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A datagram arrives.
    pub fn receive(&mut self, message: Numbered) {
        self.received += 1;
        self.bytes += u64::from(message.bytes);
        if message.seq < self.expected {
            self.out_of_order += 1;
        } else {
            self.expected = message.seq.saturating_add(1);
        }
    }

    /// Packets up to the highest number that have not come; too low by the number of duplicates.
    pub fn missing(&self) -> u64 {
        u64::from(self.expected).saturating_sub(self.received)
    }
}

impl Accounted for UdpSink {
    fn account(&self, ledger: &mut Ledger) {
        ledger.delivered(self.received);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn source(rate: u32) -> UdpSource {
        paced(rate, Duration::ZERO)
    }

    fn paced(rate: u32, wake: Duration) -> UdpSource {
        let config = UdpConfig {
            bytes: 100,
            rate,
            wake,
            jitter: Duration::ZERO,
        };
        let start = Instant::from_nanos(7);
        let mut source = UdpSource::new(config, Station(0), Station(1), FlowId(0));
        source.start(start);
        source
    }

    #[test]
    fn the_rate_does_not_drift() {
        // 7 a second: 0, 142857142, 285714285 ns and so on, each rounded by itself.
        let mut source = source(7);
        for n in 0..70_000_u64 {
            assert_eq!(source.due(), Instant::from_nanos(7 + n * 1_000_000_000 / 7));
            source.emit();
        }
        assert_eq!(
            source.due(),
            Instant::from_nanos(7) + Duration::from_secs(10_000)
        );
    }

    /// 1,000 a second, each up to 300 us late: all times up to that are as frequent, and the next
    /// packet is not put off.
    #[test]
    fn a_sender_with_jitter_is_late_by_another_time_each() {
        let config = UdpConfig {
            bytes: 100,
            rate: 1_000,
            wake: Duration::ZERO,
            jitter: Duration::from_micros(300),
        };
        let mut source = UdpSource::new(config, Station(0), Station(1), FlowId(0));
        source.start(Instant::ZERO);
        let late: Vec<u64> = (0..3_000)
            .map(|n| {
                let due = source.due();
                source.emit();
                due.as_nanos() - n * 1_000_000
            })
            .collect();
        assert!(late.iter().all(|ns| *ns < 300_000));
        for third in 0..3 {
            let of_third = late.iter().filter(|ns| **ns / 100_000 == third).count();
            assert!((900..1_100).contains(&of_third), "{of_third}");
        }
    }

    #[test]
    fn a_sender_that_wakes_by_a_tick_sends_what_fell_due() {
        let mut source = paced(250, Duration::from_millis(10));
        let mut due = || {
            let due = source.due();
            source.emit();
            due.as_nanos() - 7
        };
        // Due after 0, 4, 8, 12, 16, 20 and 24 ms.
        let times: Vec<u64> = (0..7).map(|_| due() / 1_000_000).collect();
        assert_eq!(times, [0, 10, 10, 20, 20, 20, 30]);
    }

    #[test]
    fn the_sink_tells_gaps_from_overtaking() {
        let mut sink = UdpSink::new();
        for seq in [0, 1, 4, 3, 5] {
            sink.receive(Numbered { seq, bytes: 10 });
        }
        assert_eq!((sink.received, sink.bytes), (5, 50));
        assert_eq!((sink.missing(), sink.out_of_order), (1, 1));
    }

    #[test]
    fn packets_are_numbered() {
        let mut source = source(1_000);
        let numbers: Vec<Body> = (0..3).map(|_| source.emit().body).collect();
        let expected = [0, 1, 2].map(|seq| Body::Udp(Numbered { seq, bytes: 100 }));
        assert_eq!(numbers, expected);
    }
}
