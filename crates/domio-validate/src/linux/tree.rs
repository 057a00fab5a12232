//! Control groups around those of machines.

use super::described::DescribedLinux;
use domio_contract::{GroupId, Policy};
use domio_core::{DomainId, ParamValues};
use domio_vmm::config::GroupConfig;

/// The groups around the machines of `described`, one in another, each after the one that it is in.
/// `domains` are those of a simulated host, each with the number of its machine.
///
/// # Errors
/// A setting that `policy` does not take.
pub(super) fn groups(
    described: &DescribedLinux,
    policy: &Policy,
    domains: &[(usize, DomainId)],
) -> Result<Vec<GroupConfig>, String> {
    let mut paths: Vec<&str> = Vec::new();
    let mut groups: Vec<GroupConfig> = Vec::new();
    for (vm, domain) in domains {
        let Some(cgroup) = &described.vms[*vm].cgroup else {
            continue;
        };
        let cgroup = cgroup.trim_end_matches('/');
        let around = cgroup.match_indices('/').map(|(end, _)| &cgroup[..end]);
        let mut parent = None;
        for path in around.filter(|path| !path.is_empty()) {
            let known = paths.iter().position(|other| *other == path);
            let at = match known {
                Some(at) => at,
                None => {
                    paths.push(path);
                    groups.push(GroupConfig {
                        parent,
                        params: settings(described, policy, path)?,
                        domains: Vec::new(),
                    });
                    paths.len() - 1
                }
            };
            parent = Some(GroupId(at as u16));
        }
        if let Some(inner) = parent {
            groups[inner.index()].domains.push(*domain);
        }
    }
    Ok(groups)
}

/// The settings of the group at `path`.
fn settings(
    described: &DescribedLinux,
    policy: &Policy,
    path: &str,
) -> Result<ParamValues, String> {
    let mut values = ParamValues::defaults(policy.descriptor.group_params);
    let mut known = described.groups.iter();
    let known = known.find(|group| group.path.trim_end_matches('/') == path);
    let Some(group) = known else {
        return Ok(values);
    };
    let given = [
        ("weight", group.weight),
        ("quota_us", group.quota_us),
        ("period_us", group.period_us),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            let set = values.set(name, value);
            set.map_err(|e| format!("group {path}: {name} = {value}: {e}"))?;
        }
    }
    Ok(values)
}
