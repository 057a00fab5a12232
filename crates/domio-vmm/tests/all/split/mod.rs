//! What split drivers are made of, event channels, rings and grants, held to the rules of xen-spec
//! 5 and 6.1 and to obvious models of them.

mod channels;
mod delivery;
mod grants;
mod ports;
mod rings;
mod scans;
