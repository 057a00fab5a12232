//! xentrace files of Xen 3.2 and later.
#![no_main]

use domio_fuzz::read_everything;
use domio_trace::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // As they come, and behind the head of a window that holds them all.
    read_everything(bytes, Some(Format::Xentrace));
    let mut file = 0x2001_f003u32.to_le_bytes().to_vec();
    file.extend(0u32.to_le_bytes());
    file.extend((bytes.len() as u32 & !3).to_le_bytes());
    file.extend(bytes);
    read_everything(&file, Some(Format::Xentrace));
});
