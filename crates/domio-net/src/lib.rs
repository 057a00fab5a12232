//! Network building blocks: packets, links, network cards, a bridge, TCP, UDP, ping and remote
//! hosts.
//!
//! Every part is a state machine without a clock of its own. It learns what happens and when, and
//! says what follows: when the next packet arrives, when an interrupt is due, which segments to
//! send. The owner has the event queue, arms its timers and passes packets from part to part, so
//! that any of them can be tested alone and put together in any order.
//!
//! | module | holds |
//! |---|---|
//! | [`packet`] | what a packet is, and what it costs on a line |
//! | [`offload`] | frames larger than a packet: what TSO cuts and GRO joins |
//! | [`queue`] | bounded queues, named places of drop, books that have to balance |
//! | [`link`] | a full-duplex link: exact serialisation, latency, a queue, loss for tests |
//! | [`nic`] | a network card: rings, drops, interrupt moderation |
//! | [`bridge`] | which port a packet leaves by |
//! | [`tcp`] | one end of a TCP connection, for bulk flows |
//! | [`udp`] | a source with a fixed rate, a sink |
//! | [`web`] | a web client, and the kernel of the guest that serves the client |
//! | [`icmp`] | ping, and who answers it |
//! | [`neighbor`] | who answers at an address, and who has stopped to |
//! | [`peer`] | one end of flows: a remote host that is never the bottleneck, or a guest's stack |
//! | [`class`] | what records of networks in traces mean |
//! | [`host`] | all of it in a simulated host: driver domain, interfaces, guests |
//! | [`keys`] | how a scenario asks for it |
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
//!
//! # A packet to a guest
//!
//! The calls in a simulated host ([`host`]), in order, from the remote host to the process that
//! reads. How a domain wakes up for them is on the page of `domio_vmm`. Events, interrupts,
//! softirqs, tasklets and system calls come in by the methods of `Device` in `host/mod.rs`, which
//! look up what their token stands for, and call the part with the other parts that it acts on.
//! Each file is visited once. A file in brackets is called on the way, and the call returns.
//!
//! ```text
//!  no. file                 call
//!   1  host/outside.rs      Outside::timer            the remote host sends (peer.rs, tcp)
//!   2  host/neighbors.rs    Neighbors::send           asks who answers (neighbor.rs), queues
//!   3  host/line.rs         Line::send_in             the line: when the packet arrives (link.rs)
//!   4  host/card.rs         Card::take_arrivals       Event::ArrivalIn: into the card's ring, or
//!                                                     dropped (nic.rs receive)
//!   5  host/card.rs         listen, raise_interrupt   when to interrupt (nic.rs interrupt_at);
//!                                                     Event::Interrupt: the physical interrupt
//!      -- the driver domain wakes up: domio_vmm, from Host::deliver on --
//!   6  host/card.rs         card_irq                  masks the card, raises NetRx (softnet.rs)
//!   7  host/driver.rs       driver_rx, poll_card      NAPI: takes packets from the card's ring
//!   8  host/driver.rs       begin_forward             by which port the packet leaves (bridge.rs
//!                                                     forward)
//!   9  host/ways.rs         Ways::forward             when that piece is done: there
//!  10  host/netback/rx.rs   queue_to_guest            or the queue that stands still, or dropped
//!  11  host/netback/rx.rs   rx_tasklet                a batch: one hypercall flips or copies
//!  12  host/netback/rx.rs   respond                   into the ring (domio_vmm ring.rs)
//!  13  host/vif.rs          Vif::notify_front         the event, if the guest wants to be told
//!      -- the guest wakes up --
//!  14  host/netfront.rs     front_irq                 the handler: raises NetRx
//!  15  host/guest.rs        front_rx                  polls: takes a packet from the ring
//!                                                     (netfront.rs poll)
//!  16  host/stack.rs        Stack::deliver            through the stack (peer.rs, tcp)
//!  17  host/stack.rs        GuestOut::received        wakes the process that waits
//!      -- the process is switched to: process/run.rs --
//!  18  host/calls.rs        socket_call, begin_read   copies
//!  19  host/calls.rs        read                      the window opens; the call returns
//! ```
//!
//! A process that blocks in a read does the work of 16 itself (`tcp_prequeue`): 15 continues with
//! `Stack::hand`, which wakes the process, and `socket_call` takes what was handed through the
//! stack (`Stack::deliver`) before it copies.
//!
//! # A packet from a guest
//!
//! ```text
//!  no. file                 call
//!   1  host/calls.rs        socket_call, write        copies to the socket's buffer
//!   2  host/calls.rs        written                   the stack makes segments (peer.rs, tcp)
//!   3  host/stack.rs        GuestOut::send            into netfront's queue
//!   4  host/netfront.rs     flush, finish             Transmit: into the ring; Notify: the event
//!      -- the driver domain wakes up --
//!   5  host/netback/mod.rs  back_irq                  the handler: lists the interface
//!   6  host/netback/tx.rs   tx_tasklet, gather        one packet of each in turn, within limits
//!                                                     (limit.rs)
//!   7  host/netback/tx.rs   pass_up                   mapped: into the backlog (softnet.rs),
//!                                                     raises NetRx
//!   8  host/driver.rs       driver_rx, poll_packet    takes packets from the backlog
//!   9  host/driver.rs       begin_forward             by which port the packet leaves (bridge.rs)
//!  10  host/ways.rs         Ways::forward             when that piece is done: there
//!  11  host/card.rs         transmit, hand_over       to the card, or the queue before it
//!  12  nic.rs               transmit                  the card's ring, then the line (link.rs)
//!  13  host/outside.rs      Outside::arrive           Event::ArrivalOut: the remote host has it
//! ```
//!
//! What the guest's kernel sends itself (acknowledgements, answers to pings) begins at 3, in the
//! softirq that took the packet. Packets between guests turn round at 10, and continue as at 10 of
//! a packet to a guest.
//!
//! # A page that comes back
//!
//! The page of a packet that has left is still the guest's. That it comes back is a second visit to
//! files of the way out, and a natural one: another event, the other way.
//!
//! ```text
//!  no. file                 call
//!   1  host/card.rs         reap                      the packet has left: its page is free
//!   2  host/netback/tx.rs   tx_tasklet, answer        unmapped, answered; the event if wanted
//!   3  host/netfront.rs     front_irq                 frees what was answered; NetTx if some wait
//! ```
#![no_std]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]

extern crate alloc;

#[macro_use]
mod declare;

pub mod bridge;
pub mod class;
pub mod host;
pub mod icmp;
pub mod keys;
pub mod link;
pub mod neighbor;
pub mod nic;
pub mod offload;
pub mod packet;
pub mod peer;
pub mod queue;
pub mod tcp;
pub mod udp;
pub mod web;
pub mod writers;
