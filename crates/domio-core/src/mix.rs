//! Numbers that look random, made of others: the same in each run, without a stream of random
//! numbers.

/// Mixes the bits of `key`: the end of a step of SplitMix64 (Steele, Lea, Flood 2014), from the
/// golden ratio on so that 0 is no fixed point.
#[inline]
pub const fn mixed(key: u64) -> u64 {
    let key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ key >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ key >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of SplitMix64 from 0.
    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        assert_eq!(mixed(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mixed(STEP), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(mixed(STEP.wrapping_mul(2)), 0x06c4_5d18_8009_454f);
    }
}
