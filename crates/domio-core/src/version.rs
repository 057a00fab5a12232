//! Releases of Xen.

use core::fmt;

/// A release of Xen, in order of time.
///
/// A rule that changed names the first release that contains the change (xen-spec 3.3), so that
/// code asks `version >= XenVersion::V4_8`. Releases between two changes have the same rules.
/// `V2_0` is there for BVT; a host of that release has the rules of 3.0. `V3_0` stands for 3.0.0 to
/// 3.0.2. 3.0.3 and 3.0.4 have names of their own: credit came with the one, and was another in the
/// other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "the variants are release numbers")]
pub enum XenVersion {
    V2_0,
    V3_0,
    V3_0_3,
    V3_0_4,
    V3_1,
    V3_2,
    V3_3,
    V3_4,
    V4_0,
    V4_1,
    V4_2,
    V4_3,
    V4_4,
    V4_5,
    V4_6,
    V4_7,
    V4_8,
    V4_9,
    V4_10,
    V4_11,
    V4_12,
    V4_13,
    V4_14,
    V4_15,
    V4_16,
    V4_17,
    V4_18,
    V4_19,
    V4_20,
}

impl XenVersion {
    /// Every release, oldest first.
    pub const ALL: [XenVersion; 29] = [
        XenVersion::V2_0,
        XenVersion::V3_0,
        XenVersion::V3_0_3,
        XenVersion::V3_0_4,
        XenVersion::V3_1,
        XenVersion::V3_2,
        XenVersion::V3_3,
        XenVersion::V3_4,
        XenVersion::V4_0,
        XenVersion::V4_1,
        XenVersion::V4_2,
        XenVersion::V4_3,
        XenVersion::V4_4,
        XenVersion::V4_5,
        XenVersion::V4_6,
        XenVersion::V4_7,
        XenVersion::V4_8,
        XenVersion::V4_9,
        XenVersion::V4_10,
        XenVersion::V4_11,
        XenVersion::V4_12,
        XenVersion::V4_13,
        XenVersion::V4_14,
        XenVersion::V4_15,
        XenVersion::V4_16,
        XenVersion::V4_17,
        XenVersion::V4_18,
        XenVersion::V4_19,
        XenVersion::V4_20,
    ];

    /// Release numbers, in the order of [`XenVersion::ALL`].
    pub const NAMES: [&'static str; 29] = [
        "2.0", "3.0", "3.0.3", "3.0.4", "3.1", "3.2", "3.3", "3.4", "4.0", "4.1", "4.2", "4.3",
        "4.4", "4.5", "4.6", "4.7", "4.8", "4.9", "4.10", "4.11", "4.12", "4.13", "4.14", "4.15",
        "4.16", "4.17", "4.18", "4.19", "4.20",
    ];

    /// Whether this is `first` or a later release: `>=`, which a constant cannot use.
    #[inline]
    pub const fn is_since(self, first: XenVersion) -> bool {
        // The discriminants are in order of time.
        self as u8 >= first as u8
    }

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

    /// The release that a number as `xl info` shows it belongs to: "4.17.4" to 4.17, "3.0.1" to
    /// 3.0. A point release has the rules of its release.
    pub fn of_release(number: &str) -> Option<Self> {
        if let Some(release) = Self::from_name(number) {
            return Some(release);
        }
        let (release, point) = number.rsplit_once('.')?;
        let point: u16 = match point.bytes().all(|b| b.is_ascii_digit()) {
            true => point.parse().ok()?,
            false => return None,
        };
        match (Self::from_name(release)?, point) {
            (XenVersion::V3_0, 3..) => None,
            // A fourth number ("3.0.3.1") is none that Xen ever had.
            (XenVersion::V3_0_3 | XenVersion::V3_0_4, _) => None,
            (release, _) => Some(release),
        }
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
            assert_eq!(XenVersion::of_release(v.name()), Some(v));
        }
        assert!(XenVersion::ALL.is_sorted());
        assert!(XenVersion::V4_9 < XenVersion::V4_11);
    }

    #[test]
    fn a_point_release_belongs_to_its_release() {
        let of = XenVersion::of_release;
        assert_eq!(of("4.17.7"), Some(XenVersion::V4_17));
        assert_eq!(of("4.20.2"), Some(XenVersion::V4_20));
        assert_eq!(of("4.1.6"), Some(XenVersion::V4_1));
        assert_eq!(of("2.0.6"), Some(XenVersion::V2_0));
        assert_eq!(of("3.0.2"), Some(XenVersion::V3_0));
        assert_eq!(of("3.0.4"), Some(XenVersion::V3_0_4));
        assert_eq!(of("3.0.5"), None);
        for none in [
            "", "4", "4.", "2.1", "4.21", "4.17.", "4.17.x", "3.0.3.1", "5.0", "4.17.7.1",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
