//! Segmentation offload and aggregation: TCP frames that are larger than a packet of the line.
//!
//! A kernel with TSO (`ethtool -K tso on`) hands up to 64 KiB of a stream down as one frame, and
//! the card cuts the frame into packets of the line. A kernel with GRO (`gro on`) joins packets
//! of a stream that it takes from the card in one poll. Between the card and TCP a frame is one
//! [`Packet`] whose segment has more data than [`MSS`]. Datagrams, pings and acknowledgements
//! without data are never frames.
//!
//! # Pages
//!
//! Grants are of pages, so that a frame takes several slots of a ring. From a guest they are one
//! for the headers, one for what the frame is cut by (`XEN_NETIF_EXTRA_TYPE_GSO`), and one for each
//! page of data, 18 at most. To a guest netback fills page after page, headers included.

use domio_core::Instant;

use crate::packet::{Body, Flags, MSS, Packet, Segment};

/// Most full segments of a frame: 65,160 bytes, since an IP packet has 65,535 at most.
pub const SEGMENTS_MAX: u16 = 45;

/// Bytes of a page.
const PAGE: u32 = 4096;

/// How fast the clock of TCP's timestamps is: 1 ms (Linux since 4.13: `TCP_TS_HZ`).
const CLOCK_NS: u64 = 1_000_000;

/// The segment of `packet`, if that is a frame.
#[inline]
const fn frame(packet: &Packet) -> Option<&Segment> {
    match &packet.body {
        Body::Tcp(segment) if segment.len > MSS => Some(segment),
        _ => None,
    }
}

/// How many packets of the line `packet` is: 1 unless it is a frame.
#[inline]
pub const fn parts(packet: &Packet) -> u32 {
    match frame(packet) {
        Some(segment) => segment.len.div_ceil(MSS) as u32,
        None => 1,
    }
}

/// Slots of the ring from a guest that `packet` takes.
#[inline]
pub const fn slots_out(packet: &Packet) -> u16 {
    match frame(packet) {
        Some(segment) => 2 + (segment.len as u32).div_ceil(PAGE) as u16,
        None => 1,
    }
}

/// Pages among so many slots of the ring from a guest: all of them but that with what the frame is
/// cut by.
#[inline]
pub const fn pages_out(slots: u16) -> u16 {
    if slots > 1 { slots - 1 } else { slots }
}

/// Pages of a guest that `packet` fills on its way there.
#[inline]
pub const fn pages_in(packet: &Packet) -> u16 {
    match frame(packet) {
        Some(_) => packet.ip_bytes().div_ceil(PAGE) as u16,
        None => 1,
    }
}

/// Slots of the ring to a guest that `packet` takes.
#[inline]
pub const fn slots_in(packet: &Packet) -> u16 {
    match frame(packet) {
        Some(_) => 1 + pages_in(packet),
        None => 1,
    }
}

/// What the card makes of `packet`: packets of the line, with the same headers but for their
/// numbers. The end of the stream is told by the last.
pub fn cut(packet: Packet) -> impl Iterator<Item = Packet> {
    let n = parts(&packet);
    (0..n).map(move |i| match packet.body {
        Body::Tcp(whole) if n > 1 => {
            let offset = i as u16 * MSS;
            let last = i + 1 == n;
            let len = if last { whole.len - offset } else { MSS };
            let flags = match last {
                true => whole.flags,
                false => whole.flags.without(Flags::FIN),
            };
            let seq = whole.seq + u64::from(offset);
            Packet {
                body: Body::Tcp(Segment {
                    seq,
                    len,
                    flags,
                    ..whole
                }),
                ..packet
            }
        }
        _ => packet,
    })
}

/// Whether `other` is of the same stream as `packet`, in the same direction.
#[inline]
pub fn same_stream(packet: &Packet, other: &Packet) -> bool {
    (packet.flow, packet.from, packet.to) == (other.flow, other.from, other.to)
}

/// `packet` with `next` behind it, which came later in the same stream; none unless nothing but
/// numbers distinguishes their headers, all before `next` are full, and the frame is not too large
/// (`tcp_gro_receive` in Linux's `net/ipv4/tcp_offload.c`).
pub fn join(packet: &Packet, next: &Packet) -> Option<Packet> {
    let (Body::Tcp(first), Body::Tcp(last)) = (packet.body, next.body) else {
        return None;
    };
    let full = first.len > 0 && first.len.is_multiple_of(MSS);
    let follows = (1..=MSS).contains(&last.len) && last.seq == first.seq + u64::from(first.len);
    let plain = first.flags == Flags::ACK && last.flags.without(Flags::FIN) == Flags::ACK;
    let clock = |at: Instant| at.since(Instant::ZERO).as_nanos() / CLOCK_NS;
    let alike = (first.ack, first.window, first.sack) == (last.ack, last.window, last.sack)
        && clock(first.sent) == clock(last.sent)
        && clock(first.echo) == clock(last.echo);
    let fits = first.len <= (SEGMENTS_MAX - 1) * MSS;
    (same_stream(packet, next) && full && follows && plain && alike && fits).then(|| Packet {
        body: Body::Tcp(Segment {
            len: first.len + last.len,
            flags: last.flags,
            ..first
        }),
        ..*packet
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, MTU, Sack, Station};
    use alloc::vec::Vec;
    use domio_core::Duration;

    fn packet(seq: u64, len: u16, flags: Flags) -> Packet {
        Packet {
            from: Station(1),
            to: Station(0),
            flow: FlowId(3),
            body: Body::Tcp(Segment {
                seq,
                ack: 7,
                window: 9_000,
                len,
                flags,
                sent: Instant::from_nanos(5_100_000),
                echo: Instant::from_nanos(4_000_000),
                sack: Sack::NONE,
            }),
        }
    }

    fn with(packet: Packet, change: impl FnOnce(&mut Segment)) -> Packet {
        let Body::Tcp(mut segment) = packet.body else {
            unreachable!("a segment")
        };
        change(&mut segment);
        let body = Body::Tcp(segment);
        Packet { body, ..packet }
    }

    #[test]
    fn what_was_cut_joins_to_the_same_frame() {
        let fin = Flags::ACK.with(Flags::FIN);
        for (len, flags) in [
            (1, Flags::ACK),
            (MSS, fin),
            (MSS + 1, Flags::ACK),
            (10_000, fin),
            (SEGMENTS_MAX * MSS, Flags::ACK),
        ] {
            let whole = packet(11, len, flags);
            let pieces: Vec<Packet> = cut(whole).collect();
            assert_eq!(pieces.len() as u32, parts(&whole));
            assert!(pieces.iter().all(|piece| piece.ip_bytes() <= MTU));
            let joined = pieces[1..].iter().try_fold(pieces[0], |p, n| join(&p, n));
            assert_eq!(joined, Some(whole));
        }
    }

    #[test]
    fn packets_that_differ_in_more_than_numbers_do_not_join() {
        let first = packet(1, MSS, Flags::ACK);
        let next = packet(1 + u64::from(MSS), MSS, Flags::ACK);
        assert!(join(&first, &next).is_some());
        let ms = Duration::from_millis(1);
        let others = [
            with(next, |s| s.seq += 1),
            with(next, |s| s.len = 0),
            with(next, |s| s.ack += 1),
            with(next, |s| s.window -= 1),
            with(next, |s| s.sent += ms),
            with(next, |s| s.echo += ms),
            with(next, |s| s.flags = s.flags.with(Flags::RST)),
            with(next, |s| s.sack = Sack::new(7, [(9, 12)])),
            Packet {
                flow: FlowId(4),
                ..next
            },
        ];
        for other in others {
            assert_eq!(join(&first, &other), None, "{other:?}");
        }
        let short = packet(1, 100, Flags::ACK);
        assert_eq!(join(&short, &packet(101, MSS, Flags::ACK)), None);
        let largest = packet(1, SEGMENTS_MAX * MSS, Flags::ACK);
        let behind = 1 + u64::from(SEGMENTS_MAX) * u64::from(MSS);
        assert_eq!(join(&largest, &packet(behind, 1, Flags::ACK)), None);
    }

    #[test]
    fn the_largest_frame_takes_18_slots() {
        let largest = packet(1, SEGMENTS_MAX * MSS, Flags::ACK);
        assert_eq!((slots_out(&largest), pages_out(18)), (18, 17));
        assert_eq!((slots_in(&largest), pages_in(&largest)), (17, 16));
        let full = packet(1, MSS, Flags::ACK);
        assert_eq!([slots_out(&full), slots_in(&full), pages_out(1)], [1; 3]);
        // Two segments are within a page, and that with the headers is another.
        assert_eq!(slots_out(&packet(1, 2 * MSS, Flags::ACK)), 3);
    }
}
