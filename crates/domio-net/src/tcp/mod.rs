//! TCP for bulk flows: how fast data gets through a path that queues, delays and drops.
//!
//! A [`Connection`] is one end. It learns what happens (a segment arrived, a timer expired, the
//! application wrote or read) and says what to do through [`Actions`]. It holds numbers and no
//! bytes.
//!
//! | file | holds | source |
//! |---|---|---|
//! | `config.rs` | settings, timers, and what a connection asks for | |
//! | `connection.rs` | opening, and who does what when | RFC 9293 |
//! | `sender.rs` | what may be sent when; sending again; probing | RFC 9293, RFC 1122 |
//! | `congestion.rs` | how much may be under way | RFC 5681, RFC 6582, RFC 3042, RFC 4015 |
//! | `scoreboard.rs`, `ranges.rs` | what has arrived, and what of the rest is lost | RFC 2018 |
//! | `bic.rs` | how that grows in Linux 2.6.18 | Xu et al. 2004, Linux |
//! | `memory.rs` | how large buffers get in Linux 2.6.18 | Linux |
//! | `rto.rs` | the retransmission timeout | RFC 6298, RFC 7323, Linux |
//! | `receiver.rs` | order, the receive window, when to acknowledge | RFC 9293, RFC 1122, Linux |
//!
//! Where RFCs leave a choice, it is Linux's of 2008 (2.6.2x), and [`TcpConfig::default`] has its
//! values. Segments carry timestamps with an exact clock: each acknowledgement measures a round
//! trip, and a timeout that turns out to have been needless, for what it waited for had arrived, is
//! undone (RFC 3522). A read that waits gets what comes past the buffer. Not modelled: ECN,
//! segmentation offload, path MTU discovery, the growth of buffers (they have their last size from
//! the begin). Whoever owns a connection gives up and keeps those that are over (RFC 9293's
//! TIME-WAIT).

mod bic;
mod config;
mod congestion;
mod connection;
mod memory;
mod ranges;
mod receiver;
mod rto;
mod scoreboard;
mod sender;

pub use config::{Actions, TcpConfig, Timer};
pub use congestion::Control;
pub use connection::{Connection, State, TcpStatistics};
pub use memory::Build;
