//! Thrift's compact protocol, as far as Parquet's headers need it (Apache Thrift,
//! `doc/specs/thrift-compact-protocol.md`).
//!
//! A structure is a list of fields by rising number, each with the distance to the number before it
//! and its type, and ends in a zero byte. Whole numbers are zigzag varints.

/// Types of fields and of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
    I32 = 5,
    I64 = 6,
    Binary = 8,
    List = 9,
    Struct = 12,
}

/// Writes one structure.
#[derive(Debug, Default)]
pub struct Struct {
    bytes: Vec<u8>,
    last: i16,
}

impl Struct {
    /// FieldType `id`, a whole number of 32 bits.
    pub fn i32(mut self, id: i16, value: i32) -> Self {
        self.field(id, Type::I32);
        varint(&mut self.bytes, zigzag(i64::from(value)));
        self
    }

    /// FieldType `id`, a whole number of 64 bits.
    pub fn i64(mut self, id: i16, value: i64) -> Self {
        self.field(id, Type::I64);
        varint(&mut self.bytes, zigzag(value));
        self
    }

    /// FieldType `id`, a text.
    pub fn text(mut self, id: i16, value: &str) -> Self {
        self.field(id, Type::Binary);
        binary(&mut self.bytes, value);
        self
    }

    /// FieldType `id`, a structure.
    pub fn structure(mut self, id: i16, value: Struct) -> Self {
        self.field(id, Type::Struct);
        self.bytes.extend(value.finish());
        self
    }

    /// FieldType `id`, a list of structures.
    pub fn structures(mut self, id: i16, values: impl ExactSizeIterator<Item = Struct>) -> Self {
        self.list(id, Type::Struct, values.len());
        values.for_each(|value| self.bytes.extend(value.finish()));
        self
    }

    /// FieldType `id`, a list of structures that were finished before.
    pub fn finished(mut self, id: i16, values: &[Vec<u8>]) -> Self {
        self.list(id, Type::Struct, values.len());
        values.iter().for_each(|value| self.bytes.extend(value));
        self
    }

    /// FieldType `id`, a list of whole numbers of 32 bits.
    pub fn i32s(mut self, id: i16, values: &[i32]) -> Self {
        self.list(id, Type::I32, values.len());
        for value in values {
            varint(&mut self.bytes, zigzag(i64::from(*value)));
        }
        self
    }

    /// FieldType `id`, a list of texts.
    pub fn texts(mut self, id: i16, values: &[&str]) -> Self {
        self.list(id, Type::Binary, values.len());
        values
            .iter()
            .for_each(|value| binary(&mut self.bytes, value));
        self
    }

    /// The bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn field(&mut self, id: i16, kind: Type) {
        let step = id - self.last;
        assert!(
            (1..=15).contains(&step),
            "fields come in order, and near each other"
        );
        self.bytes.push((step as u8) << 4 | kind as u8);
        self.last = id;
    }

    fn list(&mut self, id: i16, kind: Type, length: usize) {
        self.field(id, Type::List);
        match length {
            0..15 => self.bytes.push((length as u8) << 4 | kind as u8),
            _ => {
                self.bytes.push(0xf0 | kind as u8);
                varint(&mut self.bytes, length as u64);
            }
        }
    }
}

fn binary(bytes: &mut Vec<u8>, text: &str) {
    varint(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

/// Numbers near zero are short, whatever their sign.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
pub fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
pub mod reading {
    //! The other way, for tests: any structure, as a tree.

    use std::collections::BTreeMap;

    /// What a field holds.
    #[derive(Clone, PartialEq, Debug)]
    pub enum Tree {
        /// A whole number.
        Int(i64),
        /// A text.
        Text(String),
        /// A list.
        List(Vec<Tree>),
        /// A structure, by number of the field.
        Struct(BTreeMap<i16, Tree>),
    }

    impl Tree {
        /// FieldType `id` of a structure.
        pub fn at(&self, id: i16) -> &Tree {
            self.get(id)
                .unwrap_or_else(|| panic!("no field {id} in {self:?}"))
        }

        /// FieldType `id` of a structure, if it has one.
        pub fn get(&self, id: i16) -> Option<&Tree> {
            match self {
                Tree::Struct(fields) => fields.get(&id),
                other => panic!("{other:?} is no structure"),
            }
        }

        /// A whole number.
        pub fn int(&self) -> i64 {
            match self {
                Tree::Int(n) => *n,
                other => panic!("{other:?} is no number"),
            }
        }

        /// A text.
        pub fn text(&self) -> &str {
            match self {
                Tree::Text(text) => text,
                other => panic!("{other:?} is no text"),
            }
        }

        /// A list.
        pub fn list(&self) -> &[Tree] {
            match self {
                Tree::List(list) => list,
                other => panic!("{other:?} is no list"),
            }
        }
    }

    /// Takes the structure at the beginning of `bytes`.
    pub fn structure(bytes: &mut &[u8]) -> Tree {
        let mut fields = BTreeMap::new();
        let mut last = 0;
        loop {
            let head = byte(bytes);
            if head == 0 {
                return Tree::Struct(fields);
            }
            last += i16::from(head >> 4);
            let value = value(bytes, head & 15);
            assert!(fields.insert(last, value).is_none());
        }
    }

    fn value(bytes: &mut &[u8], kind: u8) -> Tree {
        match kind {
            5 | 6 => {
                let raw = number(bytes);
                Tree::Int((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
            }
            8 => {
                let length = number(bytes) as usize;
                let (text, rest) = bytes.split_at(length);
                *bytes = rest;
                Tree::Text(String::from_utf8(text.to_vec()).unwrap())
            }
            9 => {
                let head = byte(bytes);
                let length = match head >> 4 {
                    15 => number(bytes),
                    length => u64::from(length),
                };
                Tree::List((0..length).map(|_| value(bytes, head & 15)).collect())
            }
            12 => structure(bytes),
            other => panic!("type {other} is not written"),
        }
    }

    fn byte(bytes: &mut &[u8]) -> u8 {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        *first
    }

    /// Takes a varint.
    pub fn number(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let next = byte(bytes);
            value |= u64::from(next & 0x7f) << shift;
            if next < 0x80 {
                break;
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::reading::{self, Tree};
    use super::*;

    /// Bytes by hand, after the specification.
    #[test]
    fn fields_are_as_the_protocol_has_them() {
        let inner = Struct::default().text(1, "ab");
        let bytes = Struct::default()
            .i32(1, -1)
            .i64(3, 300)
            .structure(4, inner)
            .i32s(5, &[0, 8])
            .finish();
        let expected = [
            0x15, 0x01, // field 1, i32, zigzag of -1
            0x26, 0xd8, 0x04, // two further, i64, 600
            0x1c, 0x18, 0x02, b'a', b'b', 0x00, // field 4, a structure
            0x19, 0x25, 0x00, 0x10, // field 5, a list of two i32
            0x00,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn what_is_written_is_read() {
        let numbers: Vec<i32> = (-20..20).collect();
        let bytes = Struct::default()
            .i64(1, i64::MIN)
            .i32s(2, &numbers)
            .texts(3, &["x", ""])
            .structures(4, (0..2_i32).map(|n| Struct::default().i64(1, n.into())))
            .i64(5, i64::MAX)
            .finish();
        let mut rest = bytes.as_slice();
        let tree = reading::structure(&mut rest);
        assert!(rest.is_empty());
        assert_eq!((tree.at(1).int(), tree.at(5).int()), (i64::MIN, i64::MAX));
        let read: Vec<i64> = tree.at(2).list().iter().map(Tree::int).collect();
        assert_eq!(read, (-20..20).collect::<Vec<i64>>());
        assert_eq!(tree.at(3).list()[0].text(), "x");
        assert_eq!(tree.at(4).list()[1].at(1).int(), 1);
    }
}
