//! Which process of a guest runs next and where, and the programs that ship, step by step.

mod ffsb;
mod files;
mod fio;
mod io_replay;
mod order;
mod postmark;
mod roam;
mod web_worker;
mod zip;
