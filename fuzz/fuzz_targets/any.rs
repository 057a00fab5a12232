//! Any bytes, in whatever format they seem to be.
#![no_main]

use domio_fuzz::read_everything;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_everything(bytes, None));
