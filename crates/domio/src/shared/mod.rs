//! What several commands have in common. No command knows another one.
//!
//! | module | what it has |
//! |---|---|
//! | `host` | the scenario that arguments name and change |
//! | `trace`, `block` | traces of hosts, and of block devices |
//! | `choice`, `registered` | a policy with its parameters, parts by name |
//! | `variants` | the sides of a comparison |
//! | `kept`, `against` | results that were kept, and a comparison with them |
//! | `machines` | claims on many machines |
//! | `known` | columns of tables that are still to be made |
//! | `from_trace`, `from_lists`, `import` | scenarios made of what was recorded, or of definitions |
//! | `pictures` | what is drawn |
//! | `record_table` | records of a trace as a table |

pub mod against;
pub mod block;
pub mod choice;
pub mod from_lists;
pub mod from_trace;
pub mod host;
pub mod import;
pub mod kept;
pub mod known;
pub mod machines;
pub mod pictures;
pub mod record_table;
pub mod registered;
pub mod trace;
pub mod variants;
