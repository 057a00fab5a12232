//! Network building blocks: packets, links, network cards, a bridge, TCP, UDP, ping and remote
//! hosts.
//!
//! Every part is a state machine without a clock of its own. It is told what happens and when, and
//! says what follows: when the next packet arrives, when an interrupt is due, which segments to
//! send. The owner has the event queue, arms its timers and passes packets from part to part, so
//! that any of them can be tested alone and put together in any order.
//!
//! | module | holds |
//! |---|---|
//! | [`packet`] | what a packet is, and what it costs on a line |
//! | [`queue`] | bounded queues, named places of drop, books that have to balance |
//! | [`link`] | a full-duplex link: exact serialisation, latency, a queue, loss for tests |
//! | [`nic`] | a network card: rings, drops, interrupt moderation |
//! | [`bridge`] | which port a packet leaves by |
//! | [`tcp`] | one end of a TCP connection, for bulk flows |
//! | [`udp`] | a source with a fixed rate, a sink |
//! | [`icmp`] | ping, and who answers it |
//! | [`neighbor`] | who answers at an address, and who has stopped to |
//! | [`peer`] | a remote host that is never the bottleneck |
//! | [`host`] | all of it in a simulated host: driver domain, interfaces, guests |
//!
//! Packets have no contents: a [`packet::Packet`] is a few numbers, copied around. After the first
//! moments of a run no part allocates, for queues keep their memory.
//!
//! ```
//! use domio_core::{Duration, Instant};
//! use domio_net::icmp::{Echo, Ping, PingConfig};
//! use domio_net::link::{Link, LinkConfig, Rate};
//! use domio_net::packet::{Body, FlowId, Station};
//!
//! let mut link = Link::new(LinkConfig {
//!     rate: Rate::GBIT_1,
//!     latency: Duration::from_micros(20),
//!     queue: 1000,
//! });
//! let mut ping = Ping::new(PingConfig::default(), Station(0), Station(1), FlowId(0));
//! let mut echo = Echo::new();
//!
//! let request = ping.request(Instant::ZERO);
//! let leaves = link.there.send(Instant::ZERO, request);
//! assert!(leaves.is_some(), "the queue has room");
//! let at = link.there.next_arrival().expect("a packet is under way");
//! let arrived = link.there.arrive(at).expect("it is not spoiled");
//! let reply = echo.answer(&arrived).expect("it is a request");
//! let leaves = link.back.send(at, reply);
//! assert!(leaves.is_some(), "the queue has room");
//! let at = link.back.next_arrival().expect("a packet is under way");
//! let Some(Body::EchoReply(reply)) = link.back.arrive(at).map(|packet| packet.body) else {
//!     panic!("the reply got lost");
//! };
//! // 122 byte times of 8 ns each way, and the latency.
//! let rtt = ping.reply(at, reply).expect("it was asked for");
//! assert_eq!(rtt, Duration::from_nanos(2 * (976 + 20_000)));
//! ```

pub mod bridge;
pub mod host;
pub mod icmp;
pub mod link;
pub mod neighbor;
pub mod nic;
pub mod packet;
pub mod peer;
pub mod queue;
pub mod tcp;
pub mod udp;
pub mod writers;
