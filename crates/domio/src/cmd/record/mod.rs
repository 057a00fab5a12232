//! `domio record`: the scheduler of this machine, as a trace.
//!
//! What records is a feature of the program, `record`; [`live`] has the code that needs it.

#[cfg(all(feature = "record", target_os = "linux"))]
pub mod live;

use crate::args::{Global, Record};
use crate::out::{self, Status};

/// Records.
pub fn run(args: &Record, global: &Global) -> anyhow::Result<Status> {
    out::no_table()?;
    #[cfg(all(feature = "record", target_os = "linux"))]
    return live::run(args, global);
    #[cfg(not(all(feature = "record", target_os = "linux")))]
    {
        let _ = (args, global);
        Err(cannot("domio record"))
    }
}

/// Why this program does not record.
#[cfg(not(all(feature = "record", target_os = "linux")))]
pub fn cannot(what: &str) -> anyhow::Error {
    match cfg!(target_os = "linux") {
        true => anyhow::anyhow!(
            "this program was built without `{what}`; the released program has it, and so has one \
             built with `cargo build --release --features record` (which needs libelf and zlib)"
        ),
        false => anyhow::anyhow!("`{what}` records Linux, and this is another system"),
    }
}
