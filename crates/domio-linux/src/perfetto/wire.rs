//! The wire format of protocol buffers, without copies: tags, numbers, and places of bytes.

/// A value as it is on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    #[inline]
    pub fn number(self) -> u64 {
        match self {
            Value::Number(n) => n,
            Value::Bytes(_) => 0,
        }
    }

    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Number(_) => &[],
            Value::Bytes(bytes) => bytes,
        }
    }
}

/// A number of variable length, and how many bytes it takes; none if `data` ends before, or after
/// ten bytes.
#[inline]
pub fn varint(data: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (n, byte) in data.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            return Some((value, n + 1));
        }
    }
    None
}

/// Goes through the fields of a message.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    data: &'a [u8],
    at: usize,
    /// Set when the message contradicts the format: its rest is lost.
    pub broken: bool,
}

impl<'a> Fields<'a> {
    pub fn of(data: &'a [u8]) -> Fields<'a> {
        Fields {
            data,
            at: 0,
            broken: false,
        }
    }

    /// Where the next field is.
    pub fn offset(&self) -> usize {
        self.at
    }

    #[inline]
    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let (tag, n) = varint(&self.data[self.at..])?;
        let mut at = self.at + n;
        let number = u32::try_from(tag >> 3).ok()?;
        let value = match tag & 7 {
            0 => {
                let (value, n) = varint(&self.data[at..])?;
                at += n;
                Value::Number(value)
            }
            1 => {
                let bytes = self.data.get(at..)?.first_chunk::<8>()?;
                at += 8;
                Value::Number(u64::from_le_bytes(*bytes))
            }
            2 => {
                let (size, n) = varint(&self.data[at..])?;
                at += n;
                let end = at.checked_add(usize::try_from(size).ok()?)?;
                let bytes = self.data.get(at..end)?;
                at = end;
                Value::Bytes(bytes)
            }
            5 => {
                let bytes = self.data.get(at..)?.first_chunk::<4>()?;
                at += 4;
                Value::Number(u64::from(u32::from_le_bytes(*bytes)))
            }
            _ => return None,
        };
        self.at = at;
        Some((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<(u32, Value<'a>)> {
        if self.at >= self.data.len() || self.broken {
            return None;
        }
        let field = self.field();
        self.broken = field.is_none();
        field
    }
}

/// Adds the numbers of a repeated field, packed or not.
pub fn numbers(value: Value<'_>, into: &mut Vec<u64>) {
    match value {
        Value::Number(n) => into.push(n),
        Value::Bytes(mut bytes) => {
            while let Some((n, size)) = varint(bytes) {
                into.push(n);
                bytes = &bytes[size..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_a_broken_end_is_seen() {
        let data = [
            0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x22, 9,
        ];
        let mut fields = Fields::of(&data);
        assert_eq!(fields.next(), Some((1, Value::Number(150))));
        assert_eq!(fields.next(), Some((2, Value::Bytes(b"hi"))));
        assert_eq!(fields.next(), Some((3, Value::Number(1))));
        assert_eq!(fields.next(), None);
        assert!(fields.broken);
    }

    #[test]
    fn numbers_of_more_than_ten_bytes_are_none() {
        assert_eq!(varint(&[0xff; 11]), None);
        assert_eq!(varint(&[0x80]), None);
        assert_eq!(varint(&[0xff, 1]), Some((255, 2)));
    }
}
