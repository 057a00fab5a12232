//! One record in 8 to 34 bytes.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | see below |
//! | 0 or 2 | the pcpu, when it is 1023 or more |
//! | 2 or 4 | actor: 4 bytes when it is wide |
//! | 2, 4 or 8 | time since the record before (the block's base for its first), zigzag |
//! | 4 each | words, without trailing zeros |
//!
//! The first four bytes have the class in bits 0 to 7, the number in bits 8 to 15, the number of
//! words in bits 16 to 18, whether the actor is wide in bit 19, the size of the time (0, 1, 2) in
//! bits 20 and 21, and the pcpu in bits 22 to 31: 1023 says that it follows.

use domio_core::{ActorId, ClassId, Instant, PcpuId, Record};

use crate::bytes::{u32_at, u64_at};

/// Longest packed record.
pub(super) const PACKED_MAX: usize = 4 + 2 + 4 + 8 + 16;

/// Shortest packed record.
pub(super) const FIXED: usize = 8;

/// First pcpu that needs bytes of its own.
const PCPU_WIDE: u32 = 1023;

/// Packs `record`, whose predecessor was at `before`, and returns the number of bytes used.
///
/// Writes more than it uses: that is faster than deciding what to leave out.
#[inline]
pub(super) fn pack(record: &Record, before: u64, out: &mut [u8; PACKED_MAX]) -> usize {
    match u32::from(record.pcpu.0) {
        PCPU_WIDE.. => pack_wide_pcpu(record, before, out),
        pcpu => pack_behind::<4>(record, pcpu, before, out),
    }
}

/// As [`pack`], for a pcpu that has no room in the head.
#[cold]
fn pack_wide_pcpu(record: &Record, before: u64, out: &mut [u8; PACKED_MAX]) -> usize {
    out[4..6].copy_from_slice(&record.pcpu.0.to_le_bytes());
    pack_behind::<6>(record, PCPU_WIDE, before, out)
}

/// Packs `record` with `pcpu` in its head; what follows the head, and a pcpu that is there already,
/// begins at byte `AT`.
#[inline]
fn pack_behind<const AT: usize>(
    record: &Record,
    pcpu: u32,
    before: u64,
    out: &mut [u8; PACKED_MAX],
) -> usize {
    // Spelled out: `map` of an array is a call where assertions are on.
    let [a, b, c, d] = record.words;
    let low = u64::from(a) | u64::from(b) << 32;
    let high = u64::from(c) | u64::from(d) << 32;
    // How many there are is hard to foresee: no branch, here and for the other sizes.
    let last = if high != 0 { high } else { low };
    let words = u32::from(last != 0) + u32::from(last > 0xffff_ffff) + 2 * u32::from(high != 0);
    let actor = record.actor.0;
    let wide = u32::from(actor > 0xffff);
    let step = record.at.as_nanos().wrapping_sub(before).cast_signed();
    let zigzag = (step << 1 ^ step >> 63).cast_unsigned();
    let (middle, long) = (u32::from(zigzag > 0xffff), u32::from(zigzag > 0xffff_ffff));
    let head = u32::from(record.class.0)
        | u32::from(record.number) << 8
        | words << 16
        | wide << 19
        | (middle + long) << 20
        | pcpu << 22;
    out[0..4].copy_from_slice(&head.to_le_bytes());
    out[AT..AT + 4].copy_from_slice(&actor.to_le_bytes());
    let used = AT + 2 + 2 * wide as usize;
    out[used..used + 8].copy_from_slice(&zigzag.to_le_bytes());
    let used = used + (2 + 2 * middle + 4 * long) as usize;
    out[used..used + 8].copy_from_slice(&low.to_le_bytes());
    out[used + 8..used + 16].copy_from_slice(&high.to_le_bytes());
    used + 4 * words as usize
}

/// Inverse of [`pack`]: the record and its length, or `None` when `bytes` is too short or has a
/// size that does not exist.
#[inline]
pub(super) fn unpack(bytes: &[u8], before: u64) -> Option<(Record, usize)> {
    match bytes.first_chunk::<PACKED_MAX>() {
        Some(whole) => unpack_from(whole, before),
        None => {
            let mut whole = [0; PACKED_MAX];
            whole[..bytes.len()].copy_from_slice(bytes);
            unpack_from(&whole, before).filter(|(_, used)| *used <= bytes.len())
        }
    }
}

#[inline]
fn unpack_from(bytes: &[u8; PACKED_MAX], before: u64) -> Option<(Record, usize)> {
    let head = u32_at(bytes, 0);
    let (words, wide, size) = (head >> 16 & 7, head >> 19 & 1, head >> 20 & 3);
    if words > 4 || size > 2 {
        return None;
    }
    let mut used = 4;
    let mut pcpu = (head >> 22) as u16;
    if u32::from(pcpu) == PCPU_WIDE {
        pcpu = u16::from_le_bytes([bytes[4], bytes[5]]);
        used += 2;
    }
    let actor = u32_at(bytes, used) & (u32::MAX >> (16 * (1 - wide)));
    used += 2 << wide;
    let zigzag = u64_at(bytes, used) & (u64::MAX >> (64 - (16u32 << size)));
    used += 2 << size;
    let step = zigzag >> 1 ^ (zigzag & 1).wrapping_neg();
    // Words that are left out are behind the record: masked, not skipped.
    let low = u64_at(bytes, used);
    let high = u64_at(bytes, used + 8);
    let data = (u128::from(low) | u128::from(high) << 64) & mask(words);
    let record = Record {
        at: Instant::from_nanos(before.wrapping_add(step)),
        actor: ActorId(actor),
        pcpu: PcpuId(pcpu),
        class: ClassId(head as u8),
        number: (head >> 8) as u8,
        words: [
            data as u32,
            (data >> 32) as u32,
            (data >> 64) as u32,
            (data >> 96) as u32,
        ],
    };
    Some((record, used + 4 * words as usize))
}

/// The lowest `words` words of four.
#[inline]
fn mask(words: u32) -> u128 {
    match words {
        0 => 0,
        words => u128::MAX >> (128 - 32 * words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pcpu: u16, actor: u32, words: [u32; 4]) -> Record {
        let what = (ClassId(3), 200);
        Record::of(
            Instant::from_nanos(1 << 40),
            PcpuId(pcpu),
            what,
            ActorId(actor),
            words,
        )
    }

    #[test]
    fn a_record_takes_the_bytes_that_it_needs() {
        let at = 1 << 40;
        for (record, before, length) in [
            (record(0, 0, [0; 4]), at, 8),
            (record(1022, 0xffff, [0; 4]), at - 0x7fff, 8),
            (record(1022, 0x1_0000, [0; 4]), at + 0x8000, 10),
            (record(1022, 0, [0, 0, 1, 0]), at - 0x8000, 22),
            (record(1023, 0, [1, 0, 0, 0]), at - 0x7fff_ffff, 16),
            (record(u16::MAX, u32::MAX, [u32::MAX; 4]), 0, PACKED_MAX),
        ] {
            let mut out = [0xaa; PACKED_MAX];
            assert_eq!(pack(&record, before, &mut out), length, "{record:?}");
            assert_eq!(unpack(&out, before), Some((record, length)));
            assert_eq!(unpack(&out[..length], before), Some((record, length)));
            assert_eq!(unpack(&out[..length - 1], before), None);
        }
    }

    #[test]
    fn sizes_that_do_not_exist_are_refused() {
        for head in [5_u32 << 16, 3 << 20] {
            let mut bytes = [0; PACKED_MAX];
            bytes[..4].copy_from_slice(&head.to_le_bytes());
            assert_eq!(unpack(&bytes, 0), None);
        }
    }
}
