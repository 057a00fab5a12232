//! Traces of Linux, of all formats.
#![no_main]

use domio_linux::LinuxReader;
use std::io::Cursor;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = LinuxReader::new(Cursor::new(bytes.to_vec())) else {
        return;
    };
    let mut last = 0;
    while let Ok(Some(event)) = reader.next_event() {
        assert!(event.time >= last, "an event before the one before it");
        last = event.time;
    }
});
