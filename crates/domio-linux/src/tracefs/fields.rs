//! Values of fields in raw events.

use super::format::{EventFormat, Location};
use crate::bytes::{Endian, array};

/// A number in a raw event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Number {
    offset: u32,
    size: u8,
    signed: bool,
}

impl Number {
    pub fn of(format: &EventFormat, name: &str) -> Option<Number> {
        let field = format.field(name)?;
        let fits = matches!(field.size, 1 | 2 | 4 | 8) && field.location == Location::Plain;
        fits.then_some(Number {
            offset: field.offset,
            size: field.size as u8,
            signed: field.signed,
        })
    }

    /// The value, with its sign if the field has one; none if the event ends before.
    #[inline]
    pub fn get(self, data: &[u8], endian: Endian) -> Option<i64> {
        let at = self.offset as usize;
        Some(match (self.size, self.signed) {
            (4, true) => i64::from(endian.u32(array(data, at)?) as i32),
            (4, false) => i64::from(endian.u32(array(data, at)?)),
            (8, _) => endian.u64(array(data, at)?) as i64,
            (2, true) => i64::from(endian.u16(array(data, at)?) as i16),
            (2, false) => i64::from(endian.u16(array(data, at)?)),
            (_, true) => i64::from(*data.get(at)? as i8),
            (_, false) => i64::from(*data.get(at)?),
        })
    }
}

/// A text in a raw event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Text {
    offset: u32,
    size: u32,
    location: Location,
}

impl Text {
    pub fn of(format: &EventFormat, name: &str) -> Option<Text> {
        let field = format.field(name)?;
        Some(Text {
            offset: field.offset,
            size: field.size,
            location: field.location,
        })
    }

    /// The bytes up to the first zero; none if the event ends before.
    #[inline]
    pub fn get(self, data: &[u8], endian: Endian) -> Option<&[u8]> {
        let at = self.offset as usize;
        let (at, size) = match self.location {
            Location::Plain => (at, self.size as usize),
            location => {
                let place = endian.u32(array(data, at)?);
                let start = (place & 0xffff) as usize;
                let base = match location {
                    Location::Relative => at + 4,
                    _ => 0,
                };
                (base + start, (place >> 16) as usize)
            }
        };
        let bytes = data.get(at..at + size)?;
        Some(match bytes.iter().position(|b| *b == 0) {
            Some(end) => &bytes[..end],
            None => bytes,
        })
    }
}
