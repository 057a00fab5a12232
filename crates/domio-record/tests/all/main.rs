//! Recordings of this machine, where the kernel and the rights of the tests allow them. Elsewhere
//! each test prints why the machine was left out.
#![cfg(target_os = "linux")]

mod cost;
mod killed;
mod load;
mod program;
mod run_times;

use domio_record::{Live, LiveOptions, Way};

/// Starts a recording. Prints why there is none on this machine.
fn start(way: Way) -> Option<Live> {
    let options = LiveOptions {
        way: Some(way),
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
