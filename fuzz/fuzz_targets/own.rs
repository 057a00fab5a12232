//! Own traces, with checksums put right so that the fuzzer gets behind them.
#![no_main]

use domio_fuzz::{read_everything, with_sums};
use domio_trace::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read_everything(&with_sums(bytes), Some(Format::Own));
});
