//! How a scenario asks for a network: the tables, each with what becomes of its keys.
//!
//! | file | holds |
//! |---|---|
//! | `network` | `[network]`: from keys to a [`NetworkConfig`](crate::host::NetworkConfig) |
//! | `costs` | what work costs and how the card is set up, where that is not the machine's |
//! | `vif` | `[domain.vif]` |
//! | `side` | networks among the devices of a scenario |
//! | `vifs` | the vifs of a domain, and what goes through each |
//! | `chain` | networks behind each other |
//! | `flow` | workloads of tasks |
//! | `flows` | what network workloads have in common, and the list of them |
//! | `traffic` | the workloads `stream`, `ping`, `udp`, `server` |
//! | `web` | the workload `web` |

mod chain;
mod costs;
mod flow;
mod flows;
mod netback;
mod network;
mod other;
mod side;
mod traffic;
mod vif;
mod vifs;
mod web;

pub use costs::{all_of_network, all_of_writers};
pub use network::NETWORK;
pub use side::networks;
