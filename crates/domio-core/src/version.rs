//! Releases of Xen whose behaviour differs.

use core::fmt;

/// A release of Xen, in order of time, as far as domio tells releases apart.
///
/// A rule that changed names the first release that contains the change (xen-spec 3.3), so that
/// code asks `version >= XenVersion::V4_8`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)] // the variants are release numbers
pub enum XenVersion {
    V3_0,
    V3_1,
    V3_4,
    V4_0,
    V4_1,
    V4_2,
    V4_3,
    V4_5,
    V4_7,
    V4_8,
    V4_9,
    V4_11,
    V4_13,
    V4_17,
}

impl XenVersion {
    /// Every release, oldest first.
    pub const ALL: [XenVersion; 14] = [
        XenVersion::V3_0,
        XenVersion::V3_1,
        XenVersion::V3_4,
        XenVersion::V4_0,
        XenVersion::V4_1,
        XenVersion::V4_2,
        XenVersion::V4_3,
        XenVersion::V4_5,
        XenVersion::V4_7,
        XenVersion::V4_8,
        XenVersion::V4_9,
        XenVersion::V4_11,
        XenVersion::V4_13,
        XenVersion::V4_17,
    ];

    /// Release numbers, in the order of [`XenVersion::ALL`].
    pub const NAMES: [&'static str; 14] = [
        "3.0", "3.1", "3.4", "4.0", "4.1", "4.2", "4.3", "4.5", "4.7", "4.8", "4.9", "4.11",
        "4.13", "4.17",
    ];

    /// The release number ("4.17").
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The release called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .position(|n| *n == name)
            .map(|i| Self::ALL[i])
    }
}

impl fmt::Display for XenVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_order_agree() {
        for (i, v) in XenVersion::ALL.into_iter().enumerate() {
            assert_eq!(v as usize, i);
            assert_eq!(XenVersion::from_name(v.name()), Some(v));
        }
        assert!(XenVersion::V4_9 < XenVersion::V4_11);
    }
}
