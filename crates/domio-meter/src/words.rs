//! Tables by the trace word of a vcpu.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by [`VcpuName::word`](domio_core::VcpuName::word). Nobody goes through one in its order.
pub(crate) type ByWord<T> = HashMap<u32, T, BuildHasherDefault<WordHasher>>;

/// Spreads a vcpu's trace word over the table. The default hasher is several times slower, and a
/// trace cannot profit from choosing names that collide:
/// [`VCPUS_MAX`](domio_trace::VCPUS_MAX) bounds the tables.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        // 2^64 / golden ratio; folding brings the good high bits down to where the table looks.
        let spread = (self.0 ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ spread >> 32;
    }
}
