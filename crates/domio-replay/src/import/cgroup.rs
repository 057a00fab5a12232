//! Control groups of version 2, as `grep . -r /sys/fs/cgroup` prints them: a line for each line of
//! each file, `PATH:TEXT` (`Documentation/admin-guide/cgroup-v2.rst`).
//!
//! A guest is a scope of systemd-machined: `machine-qemu\x2d1\x2dweb.scope`, below which libvirt
//! has a group for each vcpu, or one of Proxmox: `qemu.slice/100.scope`. On a host without one,
//! groups with settings of their own are guests, if no such group is in them. Groups around guests
//! are groups of the scenario.

use super::cpus::cpus;
use super::found::{
    EMULATOR, Guest, ImportError, ImportFiles, ImportPlace, Kind, Slice, Told, at, io_thread,
    number,
};
use super::xml::{PERIODS, QUOTAS, WEIGHTS};
use crate::draft::domain::GROUPS_AROUND_MAX;
use std::collections::BTreeMap;

/// Files that are looked at.
const FILES: [&str; 5] = [
    "cpu.weight",
    "cpu.max",
    "cpu.max.burst",
    "cpu.idle",
    "cpuset.cpus",
];

/// The folder and the file of a line, and what the file has.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    // Names of groups may have a colon, names of files have none.
    let slash = line.rfind('/').into_iter();
    let mut slashes = slash.chain(line.match_indices('/').map(|(at, _)| at));
    slashes.find_map(|slash| {
        let (file, text) = line[slash + 1..].split_once(':')?;
        let mut words = file.split('.');
        let known = [
            "cpu", "cpuset", "cgroup", "memory", "io", "pids", "hugetlb", "misc", "rdma",
        ];
        let is_file = known.contains(&words.next()?) && words.next().is_some();
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        (is_file && file.chars().all(plain)).then_some((&line[..slash], file, text.trim()))
    })
}

/// Whether `text` is such a listing.
pub(super) fn is_listing(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(20);
    lines.any(|line| parts(line).is_some())
}

/// What a group has.
#[derive(Debug, Default)]
struct Group {
    files: BTreeMap<&'static str, Told<String>>,
    at: ImportPlace,
}

pub(super) fn read(files: &mut ImportFiles, text: &str, file: &str) -> Result<(), ImportError> {
    let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
    for (n, line) in text.lines().enumerate() {
        let place = at(file, n + 1);
        let Some((folder, name, content)) = parts(line) else {
            // `grep` reports files that cannot be read.
            if !line.trim().is_empty() && !line.starts_with("grep:") {
                let expected = "PATH/FILE:TEXT of a file of cgroup v2, e.g. \
                                /sys/fs/cgroup/machine.slice/cpu.weight:100";
                return Err(ImportError::wrong(&place, line, expected));
            }
            continue;
        };
        let group = groups.entry(folder).or_insert_with(|| Group {
            at: place.clone(),
            ..Group::default()
        });
        if let Some(known) = FILES.iter().find(|known| **known == name) {
            group.files.insert(
                known,
                Told {
                    value: content.to_owned(),
                    at: place,
                },
            );
        }
    }
    if let Some(place) = groups.values().next().map(|group| group.at.clone()) {
        files.is_of(Kind::Linux, &place)?;
    }
    let scopes: Vec<&str> = groups
        .keys()
        .copied()
        .filter(|path| machine(path).is_some())
        .collect();
    let has_machines = !scopes.is_empty();
    let is_guest = |path: &str, group: &Group| match has_machines {
        true => machine(path).is_some(),
        false => has_settings(group) && !has_settings_within(&groups, path),
    };
    for (path, group) in groups.iter().filter(|(path, group)| is_guest(path, group)) {
        let name = machine(path).unwrap_or_else(|| unescaped(last(path)));
        let mut guest = files.guest(&name, &group.at).clone();
        settings(files, group, &mut guest)?;
        guest.slice = around(files, path, &groups)?;
        if guest.pin.is_none() {
            let slices = core::iter::successors(guest.slice, |at| files.slices[*at].parent);
            let mut pins = slices.filter_map(|at| files.slices[at].settings.pin.clone());
            guest.pin = pins.next();
        }
        vcpus(files, path, &groups, &mut guest)?;
        *files.guest(&name, &group.at) = guest;
    }
    left_out(files, &groups, &scopes);
    Ok(())
}

/// Index of the innermost group around `path`, all of which are noted. The root has no files of the
/// controller.
fn around(
    files: &mut ImportFiles,
    path: &str,
    groups: &BTreeMap<&str, Group>,
) -> Result<Option<usize>, ImportError> {
    let mut parent = None;
    let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
    let known = ends.filter_map(|outer| groups.get_key_value(outer));
    let known = known.filter(|(_, group)| group.files.keys().any(|file| file.starts_with("cpu.")));
    for (outer, group) in known.take(GROUPS_AROUND_MAX) {
        let before = files.slices.iter().position(|slice| slice.path == **outer);
        let at = match before {
            Some(at) => at,
            None => {
                let mut slice = Guest {
                    at: group.at.clone(),
                    ..Guest::default()
                };
                settings(files, group, &mut slice)?;
                files.slices.push(Slice {
                    path: (*outer).to_owned(),
                    parent,
                    settings: slice,
                });
                files.slices.len() - 1
            }
        };
        parent = Some(at);
    }
    Ok(parent)
}

/// Whether a group within `path` has a setting that is no default.
fn has_settings_within(groups: &BTreeMap<&str, Group>, path: &str) -> bool {
    let below = format!("{path}/");
    let within = groups.range(below.as_str()..);
    let mut within = within.take_while(|(inner, _)| inner.starts_with(&below));
    within.any(|(_, group)| has_settings(group))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name of the guest of which `path` is the scope.
fn machine(path: &str) -> Option<String> {
    let scope = last(path).strip_suffix(".scope")?;
    let is_number = !scope.is_empty() && scope.bytes().all(|b| b.is_ascii_digit());
    if is_number && path.rsplit('/').nth(1) == Some("qemu.slice") {
        return Some(format!("vm{scope}"));
    }
    let scope = scope.strip_prefix("machine-")?;
    let name = unescaped(scope);
    // `qemu-1-web`: the driver and a number that grows with each start.
    let behind = name
        .split_once('-')
        .filter(|(driver, _)| ["qemu", "lxc"].contains(driver));
    let numbered = behind.and_then(|(_, rest)| rest.split_once('-'));
    let numbered = numbered.filter(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    Some(numbered.map_or(name.clone(), |(_, name)| name.to_owned()))
}

/// `name` without the escapes of systemd: `\x2d` is a hyphen.
fn unescaped(name: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once("\\x") {
        plain += before;
        let code = behind
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                plain.push(char::from(code));
                rest = &behind[2..];
            }
            None => {
                plain += "\\x";
                rest = behind;
            }
        }
    }
    plain + rest
}

/// Whether the group has a setting that is no default.
fn has_settings(group: &Group) -> bool {
    group.files.iter().any(|(file, told)| match *file {
        "cpu.weight" => told.value != "100",
        "cpu.max" => !told.value.starts_with("max"),
        "cpu.idle" | "cpu.max.burst" => told.value != "0",
        _ => !told.value.is_empty(),
    })
}

/// The settings of a group, which hold in place of those that a definition has.
fn settings(files: &mut ImportFiles, group: &Group, guest: &mut Guest) -> Result<(), ImportError> {
    for (file, told) in &group.files {
        let (text, place) = (told.value.as_str(), &told.at);
        let mut set = |key: &'static str, value: i64| {
            let before = guest.numbers.insert(
                key,
                Told {
                    value,
                    at: place.clone(),
                },
            );
            if let Some(before) = before.filter(|before| before.value != value) {
                let what = format!("{key} = {}: the control group has {value}", before.value);
                files.leave_out(what, &before.at);
            }
        };
        match *file {
            "cpu.weight" => set("weight", number(text, WEIGHTS, "a weight", place)?),
            "cpu.max" => {
                let (quota, period) = maximum(text, place)?;
                set("quota_us", quota);
                if quota > 0 {
                    set("period_us", period);
                }
            }
            "cpu.max.burst" => {
                let burst = number(text, (0, QUOTAS.1), "a burst in us", place)?;
                if burst > 0 {
                    set("burst_us", burst);
                }
            }
            "cpu.idle" => {
                guest.idle = Some(Told {
                    value: number(text, (0, 1), "0 or 1", place)? == 1,
                    at: place.clone(),
                });
            }
            _ => guest.pin = pin_of(group)?.or(guest.pin.take()),
        }
    }
    Ok(())
}

/// Quota, 0 for none, and period of `cpu.max`.
fn maximum(text: &str, place: &ImportPlace) -> Result<(i64, i64), ImportError> {
    let mut words = text.split_whitespace();
    let quota = match words.next() {
        Some("max") => 0,
        other => number(
            other.unwrap_or_default(),
            QUOTAS,
            "`max` or a quota in us",
            place,
        )?,
    };
    let period = match words.next() {
        None => 100_000,
        Some(period) => number(period, PERIODS, "a period in us", place)?,
    };
    Ok((quota, period))
}

/// What libvirt's groups of the vcpus say.
fn vcpus(
    files: &mut ImportFiles,
    scope: &str,
    groups: &BTreeMap<&str, Group>,
    guest: &mut Guest,
) -> Result<(), ImportError> {
    let below = format!("{scope}/");
    let mut count = 0;
    for (path, group) in groups.range(below.as_str()..) {
        if !path.starts_with(&below) {
            break;
        }
        let folder = last(path);
        let io = folder.strip_prefix("iothread").filter(|n| !n.is_empty());
        let io = io.filter(|n| n.len() <= 5 && n.bytes().all(|b| b.is_ascii_digit()));
        let thread = match folder {
            "emulator" => Some(EMULATOR.to_owned()),
            _ => io.map(|_| io_thread(folder)),
        };
        if let Some(thread) = thread {
            let kind = if io.is_some() { 2 } else { 1 };
            inside(files, group, guest, INSIDE[kind])?;
            let pin = pin_of(group)?;
            let thread = guest.thread(&thread, &group.at);
            thread.pin = pin.or(thread.pin.take());
            continue;
        }
        let number = folder
            .strip_prefix("vcpu")
            .and_then(|n| n.parse::<u16>().ok());
        let Some(vcpu) = number.filter(|n| i64::from(*n) < super::found::VCPUS_MAX) else {
            continue;
        };
        count = count.max(vcpu + 1);
        inside(files, group, guest, INSIDE[0])?;
        if let Some(pin) = pin_of(group)? {
            guest.pins.insert(vcpu, pin);
        }
    }
    if count > 0 {
        let at = groups
            .get(scope)
            .map_or_else(ImportPlace::default, |group| group.at.clone());
        guest.vcpus = Some(Told { value: count, at });
    }
    Ok(())
}

/// Keys for quota and period of libvirt's groups: vcpus, the emulator, I/O threads.
const INSIDE: [[&str; 2]; 3] = [
    ["vcpu_quota_us", "vcpu_period_us"],
    ["emulator_quota_us", "emulator_period_us"],
    ["iothread_quota_us", "iothread_period_us"],
];

/// What a group of libvirt inside that of `guest` says: the first of a kind says so for all.
fn inside(
    files: &mut ImportFiles,
    group: &Group,
    guest: &mut Guest,
    keys: [&'static str; 2],
) -> Result<(), ImportError> {
    guest.libvirt.get_or_insert_with(|| group.at.clone());
    let Some(told) = group.files.get("cpu.max") else {
        return Ok(());
    };
    let is_first = guest.seen.insert(keys[0]);
    let (quota, period) = maximum(&told.value, &told.at)?;
    for (key, value) in keys.into_iter().zip([quota, period]) {
        let value = Told {
            value,
            at: told.at.clone(),
        };
        match guest.numbers.get(key) {
            Some(before) if before.value == value.value => {}
            Some(before) if is_first => {
                let what = format!(
                    "{key} = {}: the control group has {}",
                    before.value, value.value
                );
                files.leave_out(what, &before.at);
                guest.numbers.insert(key, value);
            }
            Some(before) => {
                let what = format!("{key} = {}: one before has {}", value.value, before.value);
                files.leave_out(what, &value.at);
            }
            None => {
                guest.numbers.insert(key, value);
            }
        }
    }
    Ok(())
}

/// The pcpus that `group` has as its own.
fn pin_of(group: &Group) -> Result<Option<Told<Vec<u16>>>, ImportError> {
    let told = group.files.get("cpuset.cpus");
    let Some(told) = told.filter(|told| !told.value.is_empty()) else {
        return Ok(None);
    };
    let value = cpus(&told.value, &told.at)?;
    Ok(value.map(|value| Told {
        value,
        at: told.at.clone(),
    }))
}

/// Groups with settings that neither a domain nor a group of the scenario has.
fn left_out(files: &mut ImportFiles, groups: &BTreeMap<&str, Group>, scopes: &[&str]) {
    if scopes.is_empty() {
        return;
    }
    for (path, group) in groups {
        let inner = scopes.iter().any(|scope| {
            path == scope
                || path
                    .strip_prefix(scope)
                    .is_some_and(|rest| rest.starts_with('/'))
        });
        if inner || !has_settings(group) {
            continue;
        }
        let outer = scopes
            .iter()
            .any(|scope| scope.starts_with(&format!("{path}/")));
        if !outer {
            let what = format!("{path}, a group with settings that is no guest");
            files.leave_out(what, &group.at);
        }
    }
}
