//! Rights of this process: what recording needs, and how to give up the rest.

use std::fs;
use std::path::Path;

use caps::{CapSet, Capability, CapsHashSet};

use crate::error::RecordError;
use crate::options::Way;
use crate::processes::line;

/// What recording needs before it has begun: the two of BPF, and files of any owner for the output
/// and tracefs.
const NEEDED: [Capability; 3] = [
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_DAC_OVERRIDE,
];

/// Whether this process has a capability.
fn has(capability: Capability) -> bool {
    caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false)
}

/// Gives up all capabilities of this thread, and of those that it will start, apart from `keep`. No
/// program that is started later gets more.
fn keep(keep: &CapsHashSet) -> Result<(), RecordError> {
    let failed = |error: &dyn std::fmt::Display| {
        RecordError::Refused(format!("cannot give up capabilities: {error}"))
    };
    let permitted = caps::read(None, CapSet::Permitted).map_err(|e| failed(&e))?;
    let keep: CapsHashSet = keep.intersection(&permitted).copied().collect();
    // Ambient ones cannot be without permitted ones, and kernels before 4.3 have none.
    let _ = caps::clear(None, CapSet::Ambient);
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &keep).map_err(|e| failed(&e))?;
    }
    caps::clear(None, CapSet::Inheritable).map_err(|e| failed(&e))?;
    rustix::thread::set_no_new_privs(true).map_err(|e| failed(&e))
}

/// Gives up what recording does not need. To be called before other threads are there: each thread
/// has capabilities of its own.
///
/// # Errors
/// When the kernel does not allow that.
pub fn reduce() -> Result<(), RecordError> {
    keep(&NEEDED.into_iter().collect())
}

/// Gives up what a recording that is on does not need. `CAP_BPF` stays for the way by BPF where the
/// kernel asks for the capability at each look at what its programs keep; files of any owner stay
/// with `names_files`, for output that gets its name in somebody else's folder.
///
/// # Errors
/// When the kernel does not allow that.
pub fn reduce_to(way: Way, names_files: bool) -> Result<(), RecordError> {
    let proc = Path::new("/proc/sys/kernel");
    let read = |name: &str| line(&proc.join(name)).unwrap_or_default();
    let looks =
        way == Way::Bpf && looks_take_bpf(&read("osrelease"), &read("unprivileged_bpf_disabled"));
    let held = [
        (Capability::CAP_BPF, looks),
        (Capability::CAP_DAC_OVERRIDE, names_files),
    ];
    let held = held.into_iter().filter(|(_, is_needed)| *is_needed);
    keep(&held.map(|(capability, _)| capability).collect())
}

/// Whether a kernel wants `CAP_BPF` for each call of `bpf(2)`: before Linux 5.19, unless
/// `kernel.unprivileged_bpf_disabled` is 0. Later ones want the capability for what is made.
fn looks_take_bpf(release: &str, setting: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next().and_then(|n| n.parse::<u32>().ok());
    let version = (number().unwrap_or(0), number().unwrap_or(0));
    version < (5, 19) && setting.trim() != "0"
}

/// Names of the capabilities that this thread has.
pub fn held() -> Vec<String> {
    let held = caps::read(None, CapSet::Effective).unwrap_or_default();
    let mut names: Vec<String> = held.iter().map(ToString::to_string).collect();
    names.sort();
    names
}

/// Why BPF cannot be used, as far as that is known before trying, and what to do.
///
/// # Errors
/// The reason.
pub fn for_bpf() -> Result<(), RecordError> {
    let refused = |text: String| Err(RecordError::Refused(text));
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return refused(
            "the kernel has no description of its types (/sys/kernel/btf/vmlinux); it needs \
             CONFIG_DEBUG_INFO_BTF and Linux 5.8"
                .to_owned(),
        );
    }
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return refused(
            "the kernel is locked down (`confidentiality` in /sys/kernel/security/lockdown), which \
             forbids BPF to read its memory; boot with lockdown=integrity"
                .to_owned(),
        );
    }
    // Before CAP_BPF, Linux 5.8, and still, CAP_SYS_ADMIN stands for both.
    if has(Capability::CAP_SYS_ADMIN) {
        return Ok(());
    }
    let needed = [Capability::CAP_BPF, Capability::CAP_PERFMON];
    let missing: Vec<String> = needed
        .into_iter()
        .filter(|capability| !has(*capability))
        .map(|capability| capability.to_string())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    refused(format!(
        "{} missing; run as root, or give the program both: setcap cap_bpf,cap_perfmon=ep PROGRAM \
         (kernel.unprivileged_bpf_disabled does not matter: programs on the scheduler need both in \
         any case)",
        match missing.len() {
            1 => format!("the capability {} is", missing[0]),
            _ => format!("the capabilities {} are", missing.join(" and ")),
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_of_a_thread_can_be_given_up() {
        // A thread has its own, so that other tests keep theirs.
        let thread = std::thread::spawn(|| {
            let before = held().len();
            reduce().unwrap();
            let reduced = held();
            assert!(reduced.len() <= before.min(NEEDED.len()), "{reduced:?}");
            reduce_to(Way::Tracefs, false).unwrap();
            assert_eq!(held(), [""; 0]);
            let refused = for_bpf().map_err(|error| error.to_string());
            let refused = refused.unwrap_err();
            assert!(refused.contains("CAP_BPF") || refused.contains("/sys/kernel"));
        });
        thread.join().unwrap();
    }

    #[test]
    fn kernels_that_ask_at_each_look_are_known() {
        for (release, setting, expected) in [
            ("5.10.0-28-amd64", "2", true),
            ("5.15.0", "1", true),
            ("5.15.0", "0", false),
            ("5.19.1", "2", false),
            ("6.1.0-18-amd64", "2", false),
            ("", "", true),
        ] {
            assert_eq!(looks_take_bpf(release, setting), expected, "{release}");
        }
    }
}
