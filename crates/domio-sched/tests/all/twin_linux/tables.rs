//! Section 1: weights and their inverses.

/// Nice values -20 to 19.
pub const TABLE: [i128; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// 2^32 - 1 over a weight.
pub fn inverse(weight: i128) -> i128 {
    match down(weight) {
        0 => 0xffff_ffff,
        x => 0xffff_ffff / x,
    }
}

/// The nearest to 2^32 over a weight; the kernel's tables differ from it by one at some places.
pub fn table_inverse(weight: i128) -> i128 {
    const KERNEL: [i128; 40] = [
        48388, 59856, 76040, 92818, 118348, 147320, 184698, 229616, 287308, 360437, 449829, 563644,
        704093, 875809, 1099582, 1376151, 1717300, 2157191, 2708050, 3363326, 4194304, 5237765,
        6557202, 8165337, 10153587, 12820798, 15790321, 19976592, 24970740, 31350126, 39045157,
        49367440, 61356676, 76695844, 95443717, 119304647, 148102320, 186737708, 238609294,
        286331153,
    ];
    let at = TABLE.iter().position(|w| *w == weight);
    KERNEL[at.expect("a weight of the table")]
}

pub fn down(weight: i128) -> i128 {
    if weight == 0 {
        0
    } else {
        (weight >> 10).max(2)
    }
}
