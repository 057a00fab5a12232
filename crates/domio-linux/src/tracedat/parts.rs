//! What the versions of trace.dat have in common.

use super::packed::Packer;
use crate::bytes::Endian;
use crate::tracefs::Decoder;
use crate::tracefs::page::PageLayout;

/// Largest page that is believed. Kernels from 6.9 on can have sub-buffers of several pages.
pub(crate) const MOST_PAGE: u32 = 64 << 20;

/// What the head of both versions says.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub endian: Endian,
    pub long: u8,
    pub page_size: u32,
    /// Where the head ends.
    pub end: u64,
}

/// The pages of one cpu in one buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub buffer: u32,
    pub cpu: u32,
    pub offset: u64,
    pub size: u64,
    pub packed: bool,
}

/// All that comes before the pages.
pub(crate) struct Layout {
    pub decoder: Decoder,
    pub clock: Clock,
    pub page: PageLayout,
    pub packer: Packer,
    pub parts: Vec<Part>,
    /// Where text begins, in files that have the text of a latency tracer in place of pages.
    pub text: Option<(u64, bool)>,
}

/// How times of the ring buffer become nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Clock {
    /// Multiplier and shift of a counter of cycles.
    pub cycles: Option<(u32, u32)>,
    /// Nanoseconds that the recorder was asked to add.
    pub offset: i64,
}

impl Clock {
    #[inline]
    pub fn time(self, raw: u64) -> u64 {
        let ns = match self.cycles {
            None => raw,
            Some((mult, shift)) => ((u128::from(raw) * u128::from(mult)) >> shift) as u64,
        };
        ns.wrapping_add_signed(self.offset)
    }
}
