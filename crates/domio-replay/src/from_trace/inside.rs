//! Control groups inside that of a guest, as libvirt makes them.

use super::linux::Guest;
use super::tree;
use crate::draft::domain::Setting;
use crate::draft::write::quoted;
use crate::draft::{Draft, LinuxSources};
use domio_trace::{HostGroup, LinuxThread};

/// Kinds of groups: how their names begin, keys for quota and period, and the seat of a vcpu there.
const KINDS: [(&str, [&str; 2], &str); 3] = [
    ("vcpu", ["vcpu_quota_us", "vcpu_period_us"], "vcpu"),
    (
        "emulator",
        ["emulator_quota_us", "emulator_period_us"],
        "emulator",
    ),
    (
        "iothread",
        ["iothread_quota_us", "iothread_period_us"],
        "iothread",
    ),
];

/// Groups inside that of a guest.
pub(super) struct Inside<'a> {
    /// The guest's own.
    own: Option<&'a str>,
    /// Limits of the first group of each kind that the file beside the trace has.
    limits: [Option<&'a HostGroup>; 3],
    any: bool,
}

impl<'a> Inside<'a> {
    /// Those of `guest`, whose own group is at `own`.
    pub fn of(guest: &Guest<'a>, own: Option<&'a str>, host: &'a LinuxSources) -> Inside<'a> {
        let mut inside = Inside {
            own,
            limits: [None; 3],
            any: false,
        };
        for thread in &guest.threads {
            let Some((kind, path)) = inside.kind(thread) else {
                continue;
            };
            inside.any = true;
            inside.limits[kind] = inside.limits[kind].or_else(|| tree::of(host, path));
        }
        inside
    }

    /// The kind of the group inside the guest's in which `thread` is, and its path.
    fn kind<'t>(&self, thread: &'t LinuxThread) -> Option<(usize, &'t str)> {
        let path = thread.cgroup.as_deref()?.trim_end_matches('/');
        let rest = path.strip_prefix(self.own?.trim_end_matches('/'))?;
        let rest = rest.strip_prefix('/')?;
        let name = rest.strip_prefix("libvirt/").unwrap_or(rest);
        let is = |(begin, ..): &(&str, [&str; 2], &str)| {
            let number = name.strip_prefix(begin);
            let digits = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
            number.is_some_and(|n| match *begin {
                "emulator" => n.is_empty(),
                _ => digits(n),
            })
        };
        Some((KINDS.iter().position(is)?, path))
    }

    /// Layout and limits as keys of a domain.
    pub fn params(&self, draft: &mut Draft) -> Vec<Setting> {
        let mut params = Vec::new();
        if !self.any {
            return params;
        }
        draft.take("groups inside those of guests", "the trace");
        params.push(("layout", quoted("libvirt")));
        for ((_, [quota, period], _), group) in KINDS.into_iter().zip(self.limits) {
            let Some((group, us)) = group.and_then(|group| Some((group, group.quota_us?))) else {
                continue;
            };
            draft.take("limits", "the file beside the trace");
            params.push((quota, tree::quota_of(us)));
            params.push((period, tree::period_of(group)));
        }
        params
    }

    /// Where `thread` sits, unless that is a group of its own without more.
    pub fn seat(&self, thread: &LinuxThread) -> Option<Setting> {
        if !self.any {
            return None;
        }
        match self.kind(thread).map(|(kind, _)| KINDS[kind].2) {
            Some("vcpu") => None,
            Some(seat) => Some(("seat", quoted(seat))),
            // Outside of all of them: with what works for the guest.
            None => Some(("seat", quoted("emulator"))),
        }
    }
}
