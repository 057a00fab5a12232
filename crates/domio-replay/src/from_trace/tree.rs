//! Control groups around guests: groups of domains, one in another.

use crate::draft::domain::{GROUPS_AROUND_MAX, Group, Setting, plain, unique};
use crate::draft::{Draft, LinuxSources};
use crate::import::{PERIODS, QUOTAS};
use domio_trace::HostGroup;
use std::collections::{BTreeMap, BTreeSet};

/// What is called the source of settings.
const FILE: &str = "the file beside the trace";

/// Groups of a draft that are known by their paths.
#[derive(Default)]
pub(super) struct Tree {
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// Some group is known by the paths of threads alone.
    bare: bool,
}

impl Tree {
    /// Notes the groups at the paths `around`, the outermost first, in `draft`. Returns the name of
    /// the innermost.
    pub fn around(
        &mut self,
        draft: &mut Draft,
        around: &[&str],
        host: &LinuxSources,
    ) -> Option<String> {
        let mut parent = None;
        for path in around.iter().take(GROUPS_AROUND_MAX) {
            if let Some(name) = self.names.get(*path) {
                parent = Some(name.clone());
                continue;
            }
            let id = u16::try_from(self.names.len() + 1).unwrap_or(u16::MAX);
            let name = unique(&plain(path.rsplit('/').next(), id), id, &mut self.taken);
            let known = of(host, path);
            self.bare |= known.is_none_or(|group| group.weight == 0);
            let params = known.map_or_else(Vec::new, |group| settings(draft, group));
            draft.groups.push(Group {
                name: name.clone(),
                parent,
                params,
                remarks: vec![format!("The control group {path:?}.")],
            });
            self.names.insert((*path).to_owned(), name.clone());
            parent = Some(name);
        }
        parent
    }

    /// Says what is assumed of the groups.
    pub fn say(&self, draft: &mut Draft) {
        if self.bare {
            draft.assumed.push(
                "groups around guests have the default weight where nothing says another one"
                    .to_owned(),
            );
        }
    }
}

/// What the file beside the trace says of the group at `path`.
pub(super) fn of<'h>(host: &'h LinuxSources, path: &str) -> Option<&'h HostGroup> {
    let mut groups = host.host.iter().flat_map(|file| &file.groups);
    groups.find(|group| group.path.trim_end_matches('/') == path)
}

/// The weight and the limit of `group` as keys of a scenario.
pub(super) fn settings(draft: &mut Draft, group: &HostGroup) -> Vec<Setting> {
    let mut params = Vec::new();
    if group.weight > 0 {
        draft.take("weights", FILE);
        params.push(("weight", group.weight.clamp(1, 10_000).to_string()));
    }
    if let Some(quota) = group.quota_us {
        draft.take("limits", FILE);
        params.push(("quota_us", quota_of(quota)));
        params.push(("period_us", period_of(group)));
    }
    params
}

/// A quota of so many us as the value of a key, within the range of the key.
pub(super) fn quota_of(us: u64) -> String {
    let (least, most) = QUOTAS;
    us.clamp(least as u64, most as u64).to_string()
}

/// The period of the quota of `group` in us, as the value of a key, within the range of the key.
pub(super) fn period_of(group: &HostGroup) -> String {
    let (least, most) = PERIODS;
    let period = group.period_us.unwrap_or(100_000);
    period.clamp(least as u64, most as u64).to_string()
}
