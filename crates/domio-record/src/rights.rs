//! Rights of this process: what recording needs, and how to give up the rest.

use std::fs;
use std::path::Path;

use caps::{CapSet, Capability, CapsHashSet};

use crate::error::RecordError;

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

/// Gives up all capabilities of this thread and of those that it will start.
///
/// # Errors
/// When the kernel does not allow that.
pub fn give_up() -> Result<(), RecordError> {
    keep(&CapsHashSet::default())
}

/// The same, apart from files of any owner, for output that gets its name in somebody else's
/// folder.
///
/// # Errors
/// When the kernel does not allow that.
pub fn keep_files() -> Result<(), RecordError> {
    keep(&[Capability::CAP_DAC_OVERRIDE].into_iter().collect())
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
            give_up().unwrap();
            assert_eq!(held(), [""; 0]);
            let refused = for_bpf().map_err(|error| error.to_string());
            let refused = refused.unwrap_err();
            assert!(refused.contains("CAP_BPF") || refused.contains("/sys/kernel"));
        });
        thread.join().unwrap();
    }
}
