//! `xentrace`, on the dom0 of Xen.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::RecordError;
use crate::guardian::Guardian;

/// Records of the scheduler and of domains' runstates (`TRC_SCHED`).
const SCHEDULER: &str = "0x0002f000";

/// Bytes of a page of Xen.
const PAGE: u64 = 4096;

/// Whether this is the dom0 of Xen.
pub fn is_dom0() -> bool {
    let text = fs::read_to_string("/proc/xen/capabilities").unwrap_or_default();
    text.contains("control_d")
}

/// The command that records for `seconds` into `output`, with `buffer` bytes for each pcpu.
fn command(seconds: u64, buffer: u64, output: &Path) -> Vec<OsString> {
    let pages = (buffer / PAGE).clamp(32, 4096);
    let words = [
        "xentrace".to_owned(),
        // What is in the buffers from before is left out.
        "--discard-buffers".to_owned(),
        format!("--trace-buf-size={pages}"),
        format!("--evt-mask={SCHEDULER}"),
        format!("--time-interval={seconds}"),
    ];
    let mut command: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    command.push(output.as_os_str().to_owned());
    command
}

/// Runs `xentrace` until `seconds` are over or `stop` says so. `xentrace` switches tracing off
/// when it ends, and ends with this process.
///
/// # Errors
/// When there is no `xentrace`, or it fails.
pub fn record(
    seconds: u64,
    buffer: u64,
    output: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<(), RecordError> {
    let command = command(seconds, buffer, output);
    run(&command, Duration::from_secs(seconds), stop)
}

/// How long `xentrace` may take to end by itself after its time.
const GRACE: Duration = Duration::from_secs(5);

fn run(command: &[OsString], length: Duration, stop: &dyn Fn() -> bool) -> Result<(), RecordError> {
    let words: Vec<&OsStr> = command.iter().map(OsString::as_os_str).collect();
    let guardian = Guardian::of_program(&words);
    let mut guardian = guardian.map_err(RecordError::io("start /bin/sh, which runs xentrace"))?;
    let until = Instant::now() + length + GRACE;
    loop {
        if let Some(success) = guardian.ended() {
            return match success {
                true => Ok(()),
                false => Err(RecordError::Refused(
                    "xentrace failed; what it said is above. It is a program of the package \
                     xen-utils, and needs root"
                        .to_owned(),
                )),
            };
        }
        if stop() || Instant::now() > until {
            guardian.finish();
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_time_and_buffers() {
        let words = command(10, 8 << 20, Path::new("out/host.bin"));
        let expected = [
            "xentrace",
            "--discard-buffers",
            "--trace-buf-size=2048",
            "--evt-mask=0x0002f000",
            "--time-interval=10",
            "out/host.bin",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn a_program_is_ended_when_asked() {
        let words = ["sleep", "60"].map(OsString::from);
        let since = Instant::now();
        run(&words, Duration::from_secs(60), &|| true).unwrap();
        assert!(since.elapsed() < Duration::from_secs(4));
        let words = ["false"].map(OsString::from);
        let failed = run(&words, Duration::from_secs(60), &|| false);
        assert!(failed.unwrap_err().to_string().contains("xen-utils"));
    }
}
