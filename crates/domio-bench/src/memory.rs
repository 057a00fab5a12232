//! How much memory a case needs at its peak. Each runs in a process of its own, because the peak
//! of a process never falls.

use crate::cases::{MEMORY, MemoryCase};
use anyhow::{Context as _, Result, bail};
use std::process::{Command, Stdio};

/// Peak memory of a case.
pub struct Peak {
    /// The case.
    pub name: &'static str,
    /// Most bytes that were resident at a time.
    pub bytes: u64,
    /// Most that pass.
    pub at_most: u64,
}

impl Peak {
    /// Whether the case stayed within its limit.
    pub fn good(&self) -> bool {
        self.bytes <= self.at_most
    }
}

/// Runs a case in a process of its own.
///
/// # Errors
/// The process could not be started or failed.
pub fn measure(case: &MemoryCase) -> Result<Peak> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command
        .args(["--memory", case.name])
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .context("cannot start this program again")?;
    if !output.status.success() {
        bail!("the memory case {} failed: {}", case.name, output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let bytes = text.trim().parse();
    Ok(Peak {
        name: case.name,
        bytes: bytes.with_context(|| format!("{} gave no number: {text}", case.name))?,
        at_most: case.at_most,
    })
}

/// Runs the case called `name` here and gives the peak of this process in bytes.
///
/// # Errors
/// There is no such case, or the system does not tell the peak.
pub fn peak_here(name: &str) -> Result<u64> {
    let case = MEMORY.iter().find(|case| case.name == name);
    let case = case.with_context(|| format!("no memory case is called \"{name}\""))?;
    (case.work)();
    let status = std::fs::read_to_string("/proc/self/status")
        .context("only Linux reports a process's peak memory")?;
    peak(&status).context("/proc/self/status has no VmHWM")
}

/// The peak in the text of a `/proc/PID/status`, in bytes.
fn peak(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read() {
        assert_eq!(
            peak("Name:\tx\nVmHWM:\t    1500 kB\nVmRSS:\t 9 kB\n"),
            Some(1_536_000)
        );
        assert_eq!(peak("VmRSS:\t 9 kB\n"), None);
    }

    #[test]
    fn the_limit_counts() {
        let peak = |bytes| Peak {
            name: "x",
            bytes,
            at_most: 20_000_000,
        };
        assert!(peak(20_000_000).good());
        assert!(!peak(20_000_001).good());
    }
}
