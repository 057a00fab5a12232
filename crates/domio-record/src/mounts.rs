//! What is mounted where, from the text of `/proc/self/mountinfo`.

/// One mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mount<'a> {
    /// Where.
    pub place: &'a str,
    /// The type of the file system.
    pub kind: &'a str,
    /// Options of the file system, divided by commas.
    pub options: &'a str,
}

/// All mounts. Lines that contradict the format are left out.
pub(crate) fn mounts(text: &str) -> impl Iterator<Item = Mount<'_>> {
    text.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        Some(Mount {
            place: before.split(' ').nth(4)?,
            kind: after.next()?,
            options: after.nth(1).unwrap_or_default(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_are_passed_over() {
        let text = "no mount\n\
                    32 24 0:29 / /sys/fs/cgroup/cpu rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n\
                    30 24 0:27 / /sys/kernel/tracing rw - tracefs tracefs";
        let expected = [
            ("/sys/fs/cgroup/cpu", "cgroup", "rw,cpu,cpuacct"),
            ("/sys/kernel/tracing", "tracefs", ""),
        ];
        let all: Vec<_> = mounts(text).collect();
        let all: Vec<_> = all.iter().map(|m| (m.place, m.kind, m.options)).collect();
        assert_eq!(all, expected);
    }
}
