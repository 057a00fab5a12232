//! One record in 12 to 36 bytes.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | kind in bits 0 to 4, number of data words in bits 5 to 7 |
//! | 1 | detail |
//! | 2 | pcpu |
//! | 4 | vcpu: domain in the high half, index in the low half |
//! | 4 | signed ns since the record before (the block's base for its first); `i32::MIN`: see next |
//! | 0 or 8 | the time itself, when the step does not fit |
//! | 4 each | data words, without trailing zeros |

use domio_core::{DomainId, Instant, Kind, PcpuId, Record, VcpuName};

use crate::bytes::{u32_at, u64_at};

/// Longest packed record.
pub(super) const PACKED_MAX: usize = FIXED + 8 + 16;

/// Shortest packed record.
pub(super) const FIXED: usize = 12;

/// A step that does not fit.
const FAR: i32 = i32::MIN;

/// Packs `record`, whose predecessor was at `before`, and returns the number of bytes used.
///
/// Writes more than it uses: that is faster than deciding what to leave out.
#[inline]
pub(super) fn pack(record: &Record, before: u64, out: &mut [u8; PACKED_MAX]) -> usize {
    let [a, b, c, d] = record.data.map(u128::from);
    let data = a | b << 32 | c << 64 | d << 96;
    // How many there are is hard to foresee: no branch.
    let words = (u128::BITS - data.leading_zeros()).div_ceil(32) as usize;
    let at = record.at.as_nanos();
    out[0] = record.kind as u8 | (words as u8) << 5;
    out[1] = record.detail;
    out[2..4].copy_from_slice(&record.pcpu.0.to_le_bytes());
    out[4..8].copy_from_slice(&record.vcpu.word().to_le_bytes());
    let step = at.wrapping_sub(before) as i64;
    let mut used = FIXED;
    match i32::try_from(step) {
        Ok(near) if near != FAR => out[8..12].copy_from_slice(&near.to_le_bytes()),
        _ => {
            out[8..12].copy_from_slice(&FAR.to_le_bytes());
            out[12..20].copy_from_slice(&at.to_le_bytes());
            used += 8;
        }
    }
    out[used..used + 16].copy_from_slice(&data.to_le_bytes());
    used + 4 * words
}

/// Inverse of [`pack`]: the record and its length, or `None` when `bytes` is too short or names a
/// kind that does not exist.
#[inline]
pub(super) fn unpack(bytes: &[u8], before: u64) -> Option<(Record, usize)> {
    if bytes.len() < FIXED {
        return None;
    }
    let kind = Kind::from_number(bytes[0] & 31)?;
    let words = usize::from(bytes[0] >> 5);
    let near = u32_at(bytes, 8) as i32;
    let mut used = FIXED;
    let at = if near == FAR {
        used += 8;
        if bytes.len() < used {
            return None;
        }
        u64_at(bytes, FIXED)
    } else {
        before.wrapping_add(i64::from(near) as u64)
    };
    if words > 4 || bytes.len() < used + 4 * words {
        return None;
    }
    let name = u32_at(bytes, 4);
    let mut record = Record {
        at: Instant::from_nanos(at),
        pcpu: PcpuId(u16::from_le_bytes([bytes[2], bytes[3]])),
        kind,
        detail: bytes[1],
        vcpu: VcpuName::new(DomainId((name >> 16) as u16), name as u16),
        data: [0; 4],
    };
    for (i, word) in record.data[..words].iter_mut().enumerate() {
        *word = u32_at(bytes, used + 4 * i);
    }
    Some((record, used + 4 * words))
}
