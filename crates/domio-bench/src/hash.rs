//! BLAKE2b with 64 bytes of result and no key (RFC 7693), as `b2sum` has it: the work that reading
//! of traces is compared with.

/// The first words of the state: fractions of the square roots of the first primes.
const START: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// Which words of a block each round mixes in. The last two rounds are the first two again.
const ORDER: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// Bytes of a block.
const BLOCK: usize = 128;

/// The hash of `bytes`, as eight words, the lowest byte of each first.
pub fn blake2b(bytes: &[u8]) -> [u64; 8] {
    let mut state = START;
    // Length of the result, no key, one level.
    state[0] ^= 0x0101_0040;
    // The last block may be full, and is the only one of nothing.
    let whole = bytes.len().saturating_sub(1) / BLOCK * BLOCK;
    let (before, last) = bytes.split_at(whole);
    let mut count = 0;
    for block in before.as_chunks::<BLOCK>().0 {
        count += BLOCK as u128;
        mix(&mut state, block, count, false);
    }
    let mut block = [0; BLOCK];
    block[..last.len()].copy_from_slice(last);
    mix(&mut state, &block, bytes.len() as u128, true);
    state
}

/// Takes a block into the state; `count` is how many bytes came so far.
fn mix(state: &mut [u64; 8], block: &[u8; BLOCK], count: u128, is_last: bool) {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let mut v = [0; 16];
    v[..8].copy_from_slice(state);
    v[8..].copy_from_slice(&START);
    v[12] ^= count as u64;
    v[13] ^= (count >> 64) as u64;
    v[14] ^= if is_last { u64::MAX } else { 0 };
    for round in 0..12 {
        let order = &ORDER[round % ORDER.len()];
        let word = |i: usize| words[order[i]];
        quarter(&mut v, [0, 4, 8, 12], word(0), word(1));
        quarter(&mut v, [1, 5, 9, 13], word(2), word(3));
        quarter(&mut v, [2, 6, 10, 14], word(4), word(5));
        quarter(&mut v, [3, 7, 11, 15], word(6), word(7));
        quarter(&mut v, [0, 5, 10, 15], word(8), word(9));
        quarter(&mut v, [1, 6, 11, 12], word(10), word(11));
        quarter(&mut v, [2, 7, 8, 13], word(12), word(13));
        quarter(&mut v, [3, 4, 9, 14], word(14), word(15));
    }
    for (i, word) in state.iter_mut().enumerate() {
        *word ^= v[i] ^ v[i + 8];
    }
}

#[inline(always)]
fn quarter(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        let words = blake2b(bytes).map(u64::to_le_bytes);
        words.iter().flatten().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn the_example_of_the_standard_comes_out() {
        assert!(hex(b"abc").starts_with("ba80a53f981c4d0d6a2797b69f12f6e9"));
    }

    /// What `b2sum` says of so many zeros.
    #[test]
    fn blocks_that_are_full_empty_and_begun() {
        for (zeros, hash) in [
            (0, "786a02f742015903c6c6fd852552d272"),
            (128, "865939e120e6805438478841afb739ae"),
            (129, "a60edba343e7a6933c14d203d2e535f3"),
        ] {
            assert!(hex(&vec![0; zeros]).starts_with(hash), "{zeros}");
        }
    }
}
