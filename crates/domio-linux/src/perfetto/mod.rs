//! x
use crate::error::LinuxError;
use crate::input::*;
use crate::known::Known;
use crate::reader::Source;
pub fn is_start(_h: &[u8]) -> bool {
    false
}
pub fn source(_f: Place, _k: &mut Known) -> Result<Box<dyn Source>, LinuxError> {
    Err(LinuxError {
        kind: crate::LinuxErrorKind::Empty,
        offset: 0,
        events: 0,
    })
}
