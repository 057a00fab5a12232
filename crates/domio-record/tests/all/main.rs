//! Recordings of this machine, where the kernel and the rights of the tests allow them. Elsewhere
//! each test prints why the machine was left out.
#![cfg(target_os = "linux")]

mod cost;
mod disks;
mod killed;
mod load;
#[cfg(feature = "bpf")]
mod lost;
mod program;
mod run_times;

use domio_record::{Live, LiveOptions, Way};

/// Starts a recording. Prints why there is none on this machine.
fn start(way: Way) -> Option<Live> {
    start_with(way, LiveOptions::default().buffer)
}

/// The same, with a buffer of so many bytes.
fn start_with(way: Way, buffer: u64) -> Option<Live> {
    let options = LiveOptions {
        way: Some(way),
        buffer,
        ..LiveOptions::default()
    };
    match Live::start(&options) {
        Ok(live) => Some(live),
        Err(error) => {
            println!("SKIPPED, this machine does not allow {way}: {error}");
            None
        }
    }
}
