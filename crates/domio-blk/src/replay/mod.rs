//! Scripts of requests, run against an elevator and the request layer in virtual time.
//!
//! A script (`testdata/elevators/README.md` has the format) says which elevator, disk and clock
//! there are, and which process asks for what, and when. The answer has a line for each thing that
//! happens: who submits, sleeps, wakes and exits, what the driver takes, what the device finishes.
//! The answers that a kernel gave can be compared with these.
//!
//! | module | holds |
//! |---|---|
//! | `script` | the script, and the reader |
//! | `device` | the small device behind the driver |
//! | `rig` | processes, device, and what is written of both |

mod device;
mod rig;
mod script;

pub use device::{DiskPick, ServiceTimes};
pub use rig::replay;
pub use script::{IoScript, IoScriptError};
