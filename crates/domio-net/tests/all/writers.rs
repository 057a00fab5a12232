//! When the process of a remote host that sends a stream writes.

use domio_core::{Duration, Instant};
use domio_net::packet::{Body, Flags, FlowId, Packet, Sack, Segment, Station};
use domio_net::peer::{Peer, PeerActions, PeerTimer, PeerTimerKind, Service, TcpEnd};
use domio_net::tcp::{Connection, TcpConfig};
use domio_net::writers::WriterCosts;
use domio_vmm::hardware::OPTERON_242;

const FLOW: FlowId = FlowId(7);
const MSS: u32 = 1_448;

/// What the peer asked for since the last look.
#[derive(Default)]
struct Asked {
    sent: u32,
    write: Option<Instant>,
}

impl PeerActions for Asked {
    fn send(&mut self, _: Packet) {
        self.sent += 1;
    }

    fn arm(&mut self, timer: PeerTimer, at: Instant) {
        if timer.kind == PeerTimerKind::Next {
            self.write = Some(at);
        }
    }

    fn disarm(&mut self, _: PeerTimer) {}
}

/// A remote host that streams to a guest, whose segments it gets.
struct Remote {
    peer: Peer,
    now: Instant,
}

impl Remote {
    /// An open connection with a send buffer of 30 segments, and what opening it asked for.
    fn open() -> (Remote, Asked) {
        let config = TcpConfig {
            initial_window: 100,
            send_buffer: 30 * MSS,
            ..TcpConfig::default()
        };
        let end = TcpEnd::client(Connection::new(&config), Station(1), u64::MAX);
        let mut peer = Peer::new(Station(0)).with_writers(WriterCosts::beside(&OPTERON_242));
        peer.add(FLOW, Service::Tcp(Box::new(end.writes_in_pieces(8 * 1024))));
        let now = Instant::ZERO;
        peer.start_flow(now, FLOW, &mut Asked::default());
        let mut remote = Remote { peer, now };
        let asked = remote.hear(1, Flags::SYN.with(Flags::ACK));
        (remote, asked)
    }

    /// The guest acknowledges everything before `ack`.
    fn hear(&mut self, ack: u64, flags: Flags) -> Asked {
        let mut asked = Asked::default();
        let segment = Segment {
            seq: u64::from(!flags.contains(Flags::SYN)),
            ack,
            window: 1 << 20,
            len: 0,
            flags,
            sent: self.now,
            echo: self.now,
            sack: Sack::NONE,
        };
        let packet = Packet {
            from: Station(1),
            to: Station(0),
            flow: FLOW,
            body: Body::Tcp(segment),
        };
        self.peer.receive(self.now, &packet, &mut asked);
        asked
    }

    /// Lets the process write as often as it wants to; returns how often, and the segments sent.
    fn write(&mut self, asked: Asked) -> (u32, u32) {
        let (mut writes, mut sent, mut next) = (0, 0, asked.write);
        while let Some(at) = next {
            self.now = at;
            let mut asked = Asked::default();
            let kind = PeerTimerKind::Next;
            let timer = PeerTimer { flow: FLOW, kind };
            self.peer.timer(at, timer, &mut asked);
            writes += 1;
            sent += asked.sent;
            next = asked.write;
        }
        (writes, sent)
    }
}

#[test]
fn a_process_sleeps_until_a_third_of_its_buffer_is_free() {
    let (mut remote, asked) = Remote::open();
    let woken = Instant::ZERO + Duration::from_nanos(5_000 + 18_900);
    assert_eq!(asked.write, Some(woken));
    // 43440 bytes are five pieces and a part of one.
    assert_eq!(remote.write(asked), (6, 30));
    let acked = |segments: u32| 1 + u64::from(segments * MSS);
    let nine = remote.hear(acked(9), Flags::ACK);
    assert_eq!((nine.sent, nine.write), (0, None), "less than a third");
    let ten = remote.hear(acked(10), Flags::ACK);
    assert!(ten.write.is_some());
    assert_eq!(remote.write(ten), (2, 10), "14480 bytes");
}
