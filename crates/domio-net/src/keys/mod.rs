//! How a scenario asks for a network: the tables, each with what becomes of its keys.
//!
//! | file | holds |
//! |---|---|
//! | `network` | `[network]`: from keys to a [`NetworkConfig`](crate::host::NetworkConfig) |
//! | `costs` | what work costs and how the card is set up, where that is not the machine's |
//! | `vif` | `[domain.vif]` |
//! | `flows` | what network workloads have in common, and the list of them |
//! | `traffic` | the workloads `stream`, `ping`, `udp`, `server` |
//! | `web` | the workload `web` |

mod costs;
mod flows;
mod netback;
mod network;
mod traffic;
mod vif;
mod web;

pub use costs::{NETWORK_CARD, NETWORK_COSTS, NETWORK_WRITERS, all_of_network, all_of_writers};
pub use flows::{Flows, Serving, Traffic};
pub use network::{Driven, NETWORK, NetworkTable};
pub use traffic::TRAFFIC;
pub use vif::{VIF, VifKeys};
