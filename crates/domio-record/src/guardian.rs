//! A child process that removes things when this process has ended, however that was.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Waits for the end of its input, then removes an instance of tracefs. The kernel takes a moment
/// to close the files of a process that was killed.
const REMOVE: &str = r#"
trap '' HUP INT TERM QUIT
cat >/dev/null
for n in 1 2 3 4 5 6 7 8 9 10; do
    [ -d "$1" ] || exit 0
    echo 0 >"$1/tracing_on"
    rmdir "$1" && exit 0
    sleep 0.1
done
exit 1
"#;

/// Ends a program when the input ends, or itself when the program does.
const END: &str = r#"
trap '' HUP INT QUIT
exec 3<&0 4>&2 2>/dev/null
"$@" </dev/null 2>&4 &
child=$!
{ cat <&3 >/dev/null; kill -TERM "$child"; } &
watch=$!
wait "$child"
status=$?
kill "$watch"
exit "$status"
"#;

/// How long to wait for the guardian's work.
const PATIENCE: Duration = Duration::from_secs(5);

/// A child that holds a pipe from this process. When the pipe closes, it does its work: at
/// [`Guardian::finish`], when this value is dropped, or when this process ends, even by SIGKILL.
///
/// The guardian has its own process group, and ignores signals that ask it to end, so that Ctrl-C
/// in a terminal does not reach it. Only SIGKILL of both processes keeps it from its work.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
}

impl Guardian {
    /// Watches over an instance of tracefs, which is to vanish with this process.
    ///
    /// # Errors
    /// When there is no `/bin/sh`.
    pub fn of_instance(instance: &Path) -> io::Result<Guardian> {
        Guardian::spawn(REMOVE, &[instance.as_os_str()], true)
    }

    /// Runs a program that is to end with this process, its output on this process's.
    pub(crate) fn of_program(program: &[&std::ffi::OsStr]) -> io::Result<Guardian> {
        Guardian::spawn(END, program, false)
    }

    fn spawn(script: &str, args: &[&std::ffi::OsStr], quiet: bool) -> io::Result<Guardian> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "domio-guardian"]).args(args);
        command.stdin(Stdio::piped()).process_group(0);
        if quiet {
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.current_dir("/");
        }
        Ok(Guardian {
            child: command.spawn()?,
        })
    }

    /// The id of the guardian.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How the guardian ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<bool> {
        let status = self.child.try_wait().ok()?;
        status.map(|status| status.success())
    }

    /// Lets the guardian do its work, and waits for it. Whether it succeeded.
    pub fn finish(mut self) -> bool {
        self.end()
    }

    fn end(&mut self) -> bool {
        drop(self.child.stdin.take());
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(success) = self.ended() {
                return success;
            }
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn a_folder_is_removed_when_the_pipe_closes() {
        let folder = tempfile::tempdir().unwrap();
        let instance = folder.path().join("it");
        std::fs::create_dir(&instance).unwrap();
        let guardian = Guardian::of_instance(&instance).unwrap();
        assert!(instance.is_dir());
        // An ordinary file in place of the kernel's, which would not keep the folder.
        assert!(!guardian.finish());
        assert!(instance.join("tracing_on").is_file());
        std::fs::remove_dir_all(&instance).unwrap();
        let guardian = Guardian::of_instance(&instance).unwrap();
        assert!(guardian.finish());
    }

    #[test]
    fn a_program_ends_with_its_guardian() {
        let program = ["sleep", "60"].map(OsStr::new);
        let since = Instant::now();
        let guardian = Guardian::of_program(&program).unwrap();
        guardian.finish();
        assert!(since.elapsed() < Duration::from_secs(4));
        let mut guardian = Guardian::of_program(&["true"].map(OsStr::new)).unwrap();
        let until = Instant::now() + PATIENCE;
        let mut ended = None;
        while ended.is_none() && Instant::now() < until {
            ended = guardian.ended();
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(ended, Some(true));
    }
}
