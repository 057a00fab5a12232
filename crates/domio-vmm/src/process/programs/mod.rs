//! The programs that ship. Each is a page of code; `CONTRIBUTING.md` says how to write another.
//!
//! | program | does |
//! |---|---|
//! | [`StreamReader`] | reads what a connection brings, as `iperf -s` and `ttcp -r` do |
//! | [`StreamWriter`] | writes to a connection, as `iperf -c` and `ttcp -t` do |
//! | [`DatagramSender`] | sends datagrams of one size at a fixed rate |
//! | [`Responder`] | answers requests that come by one connection, as netperf's TCP_RR has it |
//! | [`Server`] | answers requests: accept, read, compute, write |
//! | [`WebWorker`] | one process of a web server: accept, read, compute, write, close |
//! | [`ControllerProcess`] | has a controller observe, decide and adjust |
//! | [`FileCopy`] | reads or writes a file from beginning to end, as `dd` does |
//! | [`PostMark`] | transactions on many small files, as a mail server has them |
//! | [`Fio`] | a job of fio, read from a job file ([`FioFile`]) or given |
//! | [`IoReplay`] | makes the calls of a recording, in an open or a closed loop |
//! | [`Zip`] | reads files one after the other, compresses, appends to an archive |
//! | [`Ffsb`] | a thread of FFSB: operations by weight on files that were made before |

mod controller;
mod datagrams;
mod ffsb;
mod file_copy;
mod fio;
mod io_replay;
mod postmark;
mod responder;
mod server;
mod stream;
mod web_worker;
mod zip;

pub use controller::ControllerProcess;
pub use datagrams::{DatagramSender, due_after};
pub use ffsb::{Ffsb, FfsbConfig, FfsbWeights};
pub use file_copy::{CopyDirection, FileCopy};
pub use fio::{Fio, FioConfig, FioFile, FioJob, FioLeftOut, FioNote, FioProblem};
pub use io_replay::{IoReplay, RecordedCall, ReplayLoop};
pub use postmark::{PostMark, PostMarkConfig};
pub use responder::Responder;
pub use server::Server;
pub use stream::{StreamReader, StreamWriter};
pub use web_worker::{WebCosts, WebWorker};
pub use zip::{Zip, ZipConfig};
