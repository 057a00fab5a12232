//! The release of Xen that was recorded, beside the one whose scheduler it is compared with.

use domio_core::XenVersion;

/// The release whose policies every simulation runs.
pub const COMPARED_WITH: XenVersion = XenVersion::V4_17;

/// The second number of [`COMPARED_WITH`].
const MINOR: u16 = 17;

/// The second number of `xen`, a release of Xen 4 as `xl info` shows it ("4.17.7", "4.18-rc").
/// `None` if it is none.
fn minor(xen: &str) -> Option<u16> {
    let rest = xen.strip_prefix("4.")?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    let (minor, patch) = rest.split_at(end.unwrap_or(rest.len()));
    let sound = match patch.chars().next() {
        None => true,
        Some('.' | '-' | '+') => patch.len() > 1 && patch.chars().all(|c| c.is_ascii_graphic()),
        Some(_) => false,
    };
    minor.parse().ok().filter(|_| sound)
}

/// Checks that `xen` names a release whose recordings under `policy` can be compared.
///
/// # Errors
/// What it is instead, what was expected and what to do about it.
pub fn comparable(xen: &str, policy: &str) -> Result<(), String> {
    match minor(xen) {
        Some(_) => Ok(()),
        None => Err(format!(
            "recorded on Xen {xen:?}; expected a release number of 4.x (\"4.17.7\"), for \
             recordings are compared with {policy} {COMPARED_WITH}: set `xen` in scenario.json to \
             what `xl info xen_version` shows, or take a recording of such a host"
        )),
    }
}

/// What to say beside the figures of a host of `xen` under `policy`, unless it is the release that
/// it is compared with.
pub fn remark(xen: &str, policy: &str) -> Option<String> {
    let other = minor(xen).is_some_and(|minor| minor != MINOR);
    other.then(|| {
        format!(
            "recorded on Xen {xen}, but compared with {policy} {COMPARED_WITH}: where they differ, \
             it may be the releases that do"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_compared_with_needs_no_remark() {
        assert_eq!(COMPARED_WITH.name(), format!("4.{MINOR}"));
        for xen in ["4.17", "4.17.7", "4.17.4-pre", "4.17.2+55-g0b56bed864-1"] {
            assert_eq!(comparable(xen, "credit"), Ok(()), "{xen}");
            assert_eq!(remark(xen, "credit"), None, "{xen}");
        }
    }

    #[test]
    fn other_releases_of_xen_4_are_remarked() {
        for xen in ["4.0.1", "4.1", "4.16.6", "4.18-rc", "4.170"] {
            assert_eq!(comparable(xen, "credit"), Ok(()), "{xen}");
            let said = remark(xen, "credit").expect(xen);
            assert!(said.contains(&format!("Xen {xen}, but")), "{said}");
            assert!(said.contains("credit 4.17"), "{said}");
        }
    }

    #[test]
    fn what_is_no_release_of_xen_4_is_refused() {
        for xen in [
            "banana",
            "",
            "4",
            "4.",
            "4.x",
            "3.4.0",
            "5.17",
            "4.17x",
            "4.17.",
            "4.70000",
            " 4.17",
            "v4.17",
            "4.17.\u{1b}[31m",
            "4.+7",
            "4.-1",
        ] {
            let why = comparable(xen, "credit").expect_err(xen);
            assert!(why.contains(&format!("{xen:?}")), "{why}");
            assert!(why.contains("compared with credit 4.17"), "{why}");
            assert!(!why.contains('\u{1b}'), "{why}");
        }
    }
}
