//! How large Linux 2.6.18 lets the buffers of a connection grow.
//!
//! `tcp_init` derives the limits from the size of the hash table of bound ports, whose size follows
//! from memory and from how the kernel was built (`net/ipv4/tcp.c`, `alloc_large_system_hash`). A
//! kernel for several processors has larger entries.

/// How a kernel was built.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Build {
    /// 32 bits, one processor.
    I386Up,
    /// 32 bits, several processors.
    I386Smp,
    /// 64 bits, one processor.
    X86_64Up,
    /// 64 bits, several processors: Xen's own configurations of guests.
    X86_64Smp,
}

/// Memory that a kernel counts in addition to what its domain was given (MiB): the slack of Xen's
/// tools.
const SLACK_MIB: u32 = 8;
/// Pages from which on the hash table has more entries for each page.
const MANY_PAGES: u64 = 128 * 1024;
const PAGE: u64 = 4096;
/// The least limit of a receive buffer.
const RECEIVE_MIN: u64 = 87_380;
/// The largest window of a buffer that never grows: 65,535 bytes less a segment with its options.
const UNGROWN: u64 = 65_535 - 1_460;

impl Build {
    /// Bytes of an entry of the hash table.
    const fn entry(self) -> u64 {
        match self {
            Build::I386Up => 4,
            Build::I386Smp | Build::X86_64Up => 8,
            Build::X86_64Smp => 16,
        }
    }

    /// The limit of a send buffer (`tcp_wmem[2]`, bytes) on a machine of `mib` MiB.
    pub const fn send_limit(self, mib: u32) -> u64 {
        let pages = mib as u64 * 1024 * 1024 / PAGE;
        let share = if pages >= MANY_PAGES { 2 } else { 8 };
        let entries = (pages / share).next_power_of_two();
        let table = (entries / 2 * self.entry()).div_ceil(PAGE);
        (32 * 1024) << table.next_power_of_two().ilog2()
    }

    /// The limit of a receive buffer (`tcp_rmem[2]`, bytes) in a domain of `mib` MiB.
    pub const fn receive_limit(self, mib: u32) -> u64 {
        let limit = self.send_limit(mib + SLACK_MIB);
        if limit < RECEIVE_MIN {
            RECEIVE_MIN
        } else {
            limit
        }
    }

    /// The largest receive window in such a domain (bytes): three quarters of the limit
    /// (`tcp_adv_win_scale`), or the first one where the limit lets the buffer grow by nothing.
    pub const fn window(self, mib: u32) -> u64 {
        let limit = self.receive_limit(mib);
        if limit == RECEIVE_MIN {
            UNGROWN
        } else {
            limit / 4 * 3
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;

    /// Worked out by hand from the rules above.
    #[test]
    fn windows_follow_from_memory_and_kernel() {
        let builds = [
            Build::I386Up,
            Build::I386Smp,
            Build::X86_64Up,
            Build::X86_64Smp,
        ];
        let segments = |mib| builds.map(|build| build.window(mib) / u64::from(MSS));
        for (from, to, expected) in [
            (32, 56, [44, 44, 44, 67]),
            (57, 120, [44, 67, 67, 135]),
            (121, 248, [67, 135, 135, 271]),
            (249, 503, [135, 271, 271, 543]),
        ] {
            assert_eq!((segments(from), segments(to)), (expected, expected));
        }
        assert_eq!(Build::X86_64Smp.window(128), 384 * 1024);
        assert_eq!(Build::I386Up.window(56), 64_075);
    }

    #[test]
    fn senders_of_half_a_gigabyte_may_have_megabytes_under_way() {
        const MIB: u64 = 1 << 20;
        assert_eq!(Build::I386Smp.send_limit(512), 2 * MIB);
        assert_eq!(Build::X86_64Smp.send_limit(512), 4 * MIB);
        assert_eq!(Build::I386Smp.send_limit(511), MIB / 2);
    }
}
