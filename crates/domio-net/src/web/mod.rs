//! A web client on the remote host, in the manner of `httperf`, and the kernel of the guest that
//! serves it.
//!
//! The client is an open loop: it begins connections at a rate, whatever becomes of those before.
//! Each connection is one of TCP, with SYN and FIN, whose segments go through everything that lies
//! between the remote host and the guest. Processes of the guest accept and answer
//! ([`WebWorker`](domio_vmm::process::programs::WebWorker)).
//!
//! | file | holds |
//! |---|---|
//! | `config` | what a workload is made of |
//! | `numbers` | the numbers of its connections |
//! | `client` | the client: when connections begin, what becomes of them |
//! | `listener` | the guest's kernel: the backlog, and connections that are accepted or not yet |
//! | `connections` | what both keep of connections: places, ports, timers |
//! | `deadlines` | many timers behind one |
//!
//! # Memory
//!
//! A connection that is over leaves its place to the next one, and the lowest free place is not
//! looked for: the one that became free last is taken. So a run has as many places as there were
//! connections at a time, and allocates nothing beyond.
//!
//! Ports of the client are taken in turn. The end that closes first is the client, so that the
//! waiting after a connection (RFC 9293's TIME-WAIT) is the client's, and costs the guest nothing:
//! it keeps a port from being used again ([`ClientConfig::time_wait`]). A FIN that comes again
//! meanwhile is answered with RST, and has the same effect as the acknowledgement.

mod client;
mod config;
mod connections;
mod deadlines;
mod listener;
mod numbers;

pub use client::{Client, ClientActions, ClientCounts};
pub use config::{ClientConfig, Files, Gaps, ServerConfig, WebConfig};
pub use listener::{Listener, ListenerActions, ListenerCounts, Offer};
pub use numbers::WORKLOADS_MAX;
pub(crate) use numbers::{connection_of, flow};

#[cfg(test)]
mod tests;
