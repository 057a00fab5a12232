//! xentrace files of Xen 3.0 and 3.1, in both layouts.
#![no_main]

use domio_fuzz::read_everything;
use domio_trace::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read_everything(bytes, Some(Format::Xentrace3Lp64));
    read_everything(bytes, Some(Format::Xentrace3Ilp32));
});
