//! Ports: one domain's ends of event channels, by number.

use core::fmt;

/// A port: one domain's end of an event channel, numbered from 0 in each domain.
///
/// Port 0 is never allocated (xen-spec 5.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Port(pub u32);

impl Port {
    /// The port as an index into a dense table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.0)
    }
}

/// Bits in a word of the guest, which decides how many ports the two-level ABI has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// 32-bit guest: 1024 ports.
    Bits32,
    /// 64-bit guest: 4096 ports.
    Bits64,
}

impl Width {
    /// Bits in a word.
    #[inline]
    pub const fn bits(self) -> u32 {
        match self {
            Width::Bits32 => 32,
            Width::Bits64 => 64,
        }
    }

    /// Number of ports: one selector word, each of whose bits stands for a word of ports.
    #[inline]
    pub const fn ports(self) -> u32 {
        self.bits() * self.bits()
    }

    /// Word and bit of `port` in the bitmaps.
    #[inline]
    pub const fn locate(self, port: Port) -> (u32, u32) {
        (port.0 / self.bits(), port.0 % self.bits())
    }

    /// The port at `bit` of `word`.
    #[inline]
    pub const fn port(self, word: u32, bit: u32) -> Port {
        Port(word * self.bits() + bit)
    }

    /// The place after `n`, in a word or among words, in a circle.
    #[inline]
    pub(super) const fn after(self, n: u32) -> u32 {
        (n + 1) % self.bits()
    }
}

/// A word with every bit from `bit` up.
#[inline]
pub(super) const fn from_bit(bit: u32) -> u64 {
    u64::MAX << bit
}
