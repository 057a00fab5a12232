//! Packets: small descriptors that are copied around. No packet has contents.
//!
//! # Lengths
//!
//! What a packet costs on a line is its [`wire_bytes`](Packet::wire_bytes): the Ethernet frame of
//! IEEE 802.3 (header 14 bytes, frame check sequence 4, 64 bytes at least) with what surrounds it
//! (preamble and start delimiter 8, interpacket gap 12). A full TCP segment of 1448 bytes takes
//! 1538 of them, so the most that TCP gets through 1 Gb/s is 941 Mb/s.
//!
//! IPv4 (RFC 791), UDP (RFC 768) and ICMP (RFC 792) headers have no options. TCP segments carry the
//! timestamps option (RFC 7323, 12 bytes with padding); segments with SYN carry what Linux puts
//! there, 20 bytes: maximum segment size, selective acknowledgements permitted, timestamps, window
//! scale. Nothing is fragmented and frames are not tagged.

use core::fmt;

use domio_core::Instant;

/// A host's interface: what an Ethernet and an IP address are in the model. Numbered densely from
/// 0, so that tables may be indexed by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Station(pub u16);

impl Station {
    /// All stations: the address of a broadcast.
    pub const EVERYBODY: Station = Station(u16::MAX);
}

/// A flow between two stations: what a pair of ports is. Both ends know it by the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);

/// One packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Who sent it.
    pub from: Station,
    /// Whom it is for.
    pub to: Station,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// Protocol, and what the protocol's header says.
    pub body: Body,
}

/// The protocol of a packet and its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// ICMP echo request.
    EchoRequest(Numbered),
    /// ICMP echo reply.
    EchoReply(Numbered),
    /// A UDP datagram. UDP has no numbers; this one stands for what the application wrote.
    Udp(Numbered),
    /// A TCP segment.
    Tcp(Segment),
    /// A question who has the receiver's address (RFC 826). One to everybody goes to
    /// [`Station::EVERYBODY`].
    ArpRequest,
    /// The answer.
    ArpReply,
}

/// A message with a number that its sender counts up from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbered {
    /// Number of the message in its flow.
    pub seq: u32,
    /// Bytes behind the UDP or ICMP header, [`MESSAGE_BYTES_MAX`] at most.
    pub bytes: u16,
}

/// A TCP segment (RFC 9293), acknowledgement included.
///
/// Sequence numbers count from the sender's SYN, which has number 0, so that the first byte of data
/// has number 1. They have 64 bits and never wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Number of the first byte of data, or of the SYN.
    pub seq: u64,
    /// The number expected next from the other side; means nothing without [`Flags::ACK`].
    pub ack: u64,
    /// Bytes from `ack` on that the other side may send.
    pub window: u32,
    /// Bytes of data: more than [`MSS`] in a frame of [`offload`](crate::offload).
    pub len: u16,
    /// Control bits.
    pub flags: Flags,
    /// When it was sent: the timestamp of RFC 7323 (`TSval`), with an exact clock.
    pub sent: Instant,
    /// The timestamp that is echoed (`TSecr`): of the segment that made the other side acknowledge.
    /// Means nothing without [`Flags::ACK`].
    pub echo: Instant,
    /// What has arrived behind `ack`.
    pub sack: Sack,
}

/// Control bits of a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

/// Selective acknowledgement (RFC 2018): up to three blocks of data that has arrived before its
/// turn, which is what fits beside timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sack {
    /// Bytes from the acknowledgement number to the block, and in it; none for no block.
    blocks: [(u32, u32); Sack::BLOCKS_MAX],
}

/// Largest IP packet in an Ethernet frame.
pub const MTU: u32 = 1500;
/// Data in a full TCP segment with timestamps: 1500 - 20 - 20 - 12.
pub const MSS: u16 = 1448;
/// Data in the largest UDP datagram or echo message that needs no fragmentation: 1500 - 20 - 8.
pub const MESSAGE_BYTES_MAX: u16 = 1472;

const ARP_BYTES: u32 = 28;
const IP_HEADER: u32 = 20;
/// UDP's and ICMP's echo header are equally long.
const MESSAGE_HEADER: u32 = 8;
const TCP_HEADER: u32 = 20;
const TCP_OPTIONS: u32 = 12;
const TCP_SYN_OPTIONS: u32 = 20;
const FRAME_HEADER_AND_CHECK: u32 = 14 + 4;
const FRAME_MIN: u32 = 64;
const PREAMBLE: u32 = 7 + 1;
const INTERPACKET_GAP: u32 = 12;

impl Packet {
    /// Whether an application's bytes are in the packet, so that the packet is no answer of a
    /// kernel alone.
    #[inline]
    pub const fn has_data(&self) -> bool {
        match self.body {
            Body::Udp(_) => true,
            Body::Tcp(segment) => segment.len > 0,
            Body::EchoRequest(_) | Body::EchoReply(_) | Body::ArpRequest | Body::ArpReply => false,
        }
    }

    /// Bytes of the IP or ARP packet, headers included.
    #[inline]
    pub const fn ip_bytes(&self) -> u32 {
        if matches!(self.body, Body::ArpRequest | Body::ArpReply) {
            return ARP_BYTES;
        }
        IP_HEADER
            + match self.body {
                Body::ArpRequest | Body::ArpReply => 0,
                Body::EchoRequest(message) | Body::EchoReply(message) | Body::Udp(message) => {
                    MESSAGE_HEADER + message.bytes as u32
                }
                Body::Tcp(segment) => {
                    let syn = segment.flags.contains(Flags::SYN);
                    let options = if syn { TCP_SYN_OPTIONS } else { TCP_OPTIONS };
                    TCP_HEADER + options + segment.sack.option_bytes() + segment.len as u32
                }
            }
    }

    /// Bytes of the Ethernet frame, from the destination's address to the check sequence.
    #[inline]
    pub const fn frame_bytes(&self) -> u32 {
        let frame = FRAME_HEADER_AND_CHECK + self.ip_bytes();
        if frame < FRAME_MIN { FRAME_MIN } else { frame }
    }

    /// Byte times that the packet keeps a line busy: frame, preamble and interpacket gap.
    #[inline]
    pub const fn wire_bytes(&self) -> u32 {
        self.frame_bytes() + PREAMBLE + INTERPACKET_GAP
    }

    /// A packet back to where this one came from, in the same flow.
    #[inline]
    pub const fn answer(&self, body: Body) -> Packet {
        Packet {
            from: self.to,
            to: self.from,
            flow: self.flow,
            body,
        }
    }
}

impl Segment {
    /// How many sequence numbers the segment takes: its bytes, one for a SYN, one for a FIN.
    #[inline]
    pub const fn numbers(&self) -> u64 {
        self.data_numbers() + self.flags.contains(Flags::FIN) as u64
    }

    /// The same without a FIN.
    #[inline]
    pub const fn data_numbers(&self) -> u64 {
        self.len as u64 + self.flags.contains(Flags::SYN) as u64
    }

    /// The number behind the segment's last.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.seq + self.numbers()
    }
}

impl Sack {
    /// Most blocks of a segment.
    pub const BLOCKS_MAX: usize = 3;

    /// Nothing has arrived before its turn.
    pub const NONE: Sack = Sack {
        blocks: [(0, 0); Sack::BLOCKS_MAX],
    };

    /// The first [`Sack::BLOCKS_MAX`] of `blocks`: first number and the one behind the last, behind
    /// `ack`, less than 4 GiB away.
    pub fn new(ack: u64, blocks: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut sack = Sack::NONE;
        for (place, (start, end)) in sack.blocks.iter_mut().zip(blocks) {
            *place = ((start - ack) as u32, (end - start) as u32);
        }
        sack
    }

    /// The blocks of a segment with acknowledgement number `ack`: first number and the one behind
    /// the last.
    pub fn blocks(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> {
        let numbers = move |&(offset, bytes): &(u32, u32)| {
            let start = ack + u64::from(offset);
            (start, start + u64::from(bytes))
        };
        self.blocks
            .iter()
            .filter(|(_, bytes)| *bytes > 0)
            .map(numbers)
    }

    /// Bytes of the option, padded.
    const fn option_bytes(&self) -> u32 {
        let (mut blocks, mut i) = (0, 0);
        while i < Sack::BLOCKS_MAX {
            blocks += (self.blocks[i].1 > 0) as u32;
            i += 1;
        }
        if blocks == 0 { 0 } else { 4 + 8 * blocks }
    }
}

impl Flags {
    /// No bit.
    pub const NONE: Flags = Flags(0);
    /// The sender opens a connection.
    pub const SYN: Flags = Flags(1);
    /// The acknowledgement number counts.
    pub const ACK: Flags = Flags(2);
    /// With SYN: the sender of it understands [`Sack`].
    pub const SACK_PERMITTED: Flags = Flags(4);
    /// The sender has written its last byte.
    pub const FIN: Flags = Flags(8);
    /// The sender knows of no such connection, or has given up the connection.
    pub const RST: Flags = Flags(16);

    /// Whether every bit of `other` is set here.
    #[inline]
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits that are not in `other`.
    #[inline]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// The bits of both.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = [
            (Flags::SYN, "SYN"),
            (Flags::ACK, "ACK"),
            (Flags::SACK_PERMITTED, "SACK_PERMITTED"),
            (Flags::FIN, "FIN"),
            (Flags::RST, "RST"),
        ];
        let set = bits.iter().filter(|(bit, _)| self.contains(*bit));
        f.debug_list().entries(set.map(|(_, name)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec::Vec;

    fn packet(body: Body) -> Packet {
        Packet {
            from: Station(0),
            to: Station(1),
            flow: FlowId(0),
            body,
        }
    }

    fn segment(len: u16, flags: Flags) -> Packet {
        packet(Body::Tcp(Segment {
            seq: 1,
            ack: 1,
            window: 0,
            len,
            flags,
            sent: Instant::ZERO,
            echo: Instant::ZERO,
            sack: Sack::NONE,
        }))
    }

    #[test]
    fn full_segments_leave_941_of_1000_parts_to_the_data() {
        let full = segment(MSS, Flags::ACK);
        assert_eq!(full.ip_bytes(), MTU);
        assert_eq!(full.frame_bytes(), 1518);
        assert_eq!(full.wire_bytes(), 1538);
        assert_eq!(u32::from(MSS) * 1000 / full.wire_bytes(), 941);
    }

    #[test]
    fn small_packets_fill_the_least_frame() {
        // 20 + 20 + 12 of headers and options in a frame: 70. A ping without data: 46, padded.
        assert_eq!(segment(0, Flags::ACK).frame_bytes(), 70);
        assert_eq!(segment(0, Flags::SYN).frame_bytes(), 78);
        let empty = Numbered { seq: 0, bytes: 0 };
        assert_eq!(packet(Body::EchoRequest(empty)).frame_bytes(), 64);
        assert_eq!(packet(Body::EchoRequest(empty)).wire_bytes(), 84);
        // What ping sends: 56 bytes, "84 bytes of data" with the headers.
        let ping = Numbered { seq: 0, bytes: 56 };
        assert_eq!(packet(Body::EchoReply(ping)).ip_bytes(), 84);
        let largest = Numbered {
            seq: 0,
            bytes: MESSAGE_BYTES_MAX,
        };
        assert_eq!(packet(Body::Udp(largest)).ip_bytes(), MTU);
    }

    #[test]
    fn blocks_take_room_in_the_header() {
        let blocks = [(30, 40), (15, 20), (22, 25), (50, 60)];
        let sack = Sack::new(10, blocks);
        assert_eq!(sack.blocks(10).collect::<Vec<_>>(), blocks[..3]);
        let told = |sack| {
            let Body::Tcp(segment) = segment(0, Flags::ACK).body else {
                unreachable!("it is a segment")
            };
            packet(Body::Tcp(Segment { sack, ..segment })).frame_bytes()
        };
        let one = Sack::new(10, [(15, 20)]);
        assert_eq!([told(Sack::NONE), told(one), told(sack)], [70, 82, 98]);
    }

    #[test]
    fn a_syn_takes_a_number() {
        let syn = Segment {
            seq: 0,
            ack: 0,
            window: 0,
            len: 0,
            flags: Flags::SYN,
            sent: Instant::ZERO,
            echo: Instant::ZERO,
            sack: Sack::NONE,
        };
        assert_eq!(syn.end(), 1);
        assert_eq!(
            format!("{:?}", Flags::SYN.with(Flags::ACK)),
            "[\"SYN\", \"ACK\"]"
        );
    }
}
