//! The name of the program in files of results.

use domio_scenario::Parts;
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::sync::OnceLock;

/// Names the program that simulates with `parts`, where `shipped` names the one with the parts that
/// ship alone. Two programs that may differ in a figure have two names.
///
/// The sources of a part that was added are not known here, so that a digest of the executable
/// stands for them: another build has another name.
pub fn name(shipped: &str, parts: &Parts) -> String {
    static DIGEST: OnceLock<u64> = OnceLock::new();
    match parts.added().is_empty() {
        true => shipped.to_owned(),
        false => format!("{shipped}.{:016x}", DIGEST.get_or_init(executable)),
    }
}

/// A digest of the executable; a number that no other process has when the file cannot be read.
fn executable() -> u64 {
    let mut digest = DefaultHasher::new();
    if digested(&mut digest).is_err() {
        digest.write_u32(std::process::id());
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
        digest.write_u128(since.unwrap_or_default().as_nanos());
    }
    digest.finish()
}

fn digested(digest: &mut DefaultHasher) -> io::Result<()> {
    let mut file = File::open(std::env::current_exe()?)?;
    let mut bytes = vec![0; 1 << 16];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(()),
            read => digest.write(&bytes[..read]),
        }
    }
}
