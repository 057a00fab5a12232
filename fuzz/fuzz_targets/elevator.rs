//! Any bytes as a script of requests: an error with its line, or an answer in bounded time.

#![no_main]

use domio_blk::elevator::elevators;
use domio_blk::replay::{IoScript, replay};
use libfuzzer_sys::fuzz_target;

/// Lines of a script that is run: each is one request at most.
const LINES: usize = 200;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match IoScript::read(text, elevators(), None) {
        Err(error) => assert!(error.line <= text.lines().count() && !error.problem.is_empty()),
        Ok(script) if text.lines().count() <= LINES => {
            let mut answer = String::new();
            replay(&script, &mut answer).expect("a string takes any text");
        }
        Ok(_) => {}
    }
});
