//! Traces of block devices: which requests processes or volumes made of a disk, and when.
//!
//! | format | has | file |
//! |---|---|---|
//! | what `blktrace` writes, one file a cpu | events of requests, processes | `binary`, `parts` |
//! | what `blkparse` prints | the same | `formats/blkparse` |
//! | what ftrace prints of block events | the same | `formats/ftrace` |
//! | CSV of events, as `domio trace replay` writes it | the same | `formats/events` |
//! | fio's iolog, versions 2 and 3 | calls on files | `formats/iolog` |
//! | MSR Cambridge, SPC, Alibaba 2020, Tencent CBS | requests of volumes | `formats/volumes` |
//! | ASCII of DiskSim | requests of devices | `formats/disksim` |
//!
//! [`BlockReader`] recognises the format and streams [`BlockEvent`]s, with [`BlockNames`] that say
//! whose they are. Memory does not grow with the file. A line that is damaged is left out, counted
//! and named ([`BlockDamage`]); a file of which nothing can be read is an error.

mod binary;
mod damage;
mod event;
mod fields;
mod formats;
mod lines;
mod names;
mod parts;
mod reader;

pub use damage::{BlockDamage, BlockTraceError, Damaged};
pub use event::{BlockAct, BlockEvent, BlockFlags, BlockWay, DeviceTime, SECTOR};
pub use formats::{BlockFormat, recognise as recognise_block};
pub use names::{BlockNames, OTHERS};
pub use reader::BlockReader;
