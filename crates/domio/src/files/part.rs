//! Files that are not whole yet: each gets its name when it is, and vanishes when it never will be.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The parts that there are. Whoever creates, names or removes one holds the lock, so that an
/// interrupt finds each of them either here or done with.
static PARTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn parts() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is as good after a panic as before.
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is not whole yet, beside its place; it vanishes when dropped, or when the program is
/// interrupted.
pub(super) struct Part {
    file: PathBuf,
    place: PathBuf,
}

impl Part {
    /// Creates the part of what is to be at `place`, in `folder`, where a rename to there cannot
    /// cross devices.
    pub(super) fn create(folder: &Path, place: &Path) -> io::Result<(File, Part)> {
        let process = process::id();
        let mut parts = parts();
        let mut n = 0_u32;
        loop {
            let path = folder.join(format!("domio-{process}-{n}.part"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && n < u32::MAX => n += 1,
                Err(e) => return Err(e),
                Ok(file) => {
                    parts.push(path.clone());
                    let place = place.to_owned();
                    return Ok((file, Part { file: path, place }));
                }
            }
        }
    }

    /// Removes the parts in `folder` that programs left behind which were killed.
    pub(super) fn sweep(folder: &Path) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            // Whoever writes there will hear why.
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name.to_str().and_then(maker).is_some_and(is_gone) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Gives the file its name.
    pub(super) fn name(&mut self) -> io::Result<()> {
        let mut parts = parts();
        std::fs::rename(&self.file, &self.place)?;
        parts.retain(|part| *part != self.file);
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut parts = parts();
        // One that has its name is in the list no more.
        if let Some(i) = parts.iter().position(|part| *part == self.file) {
            let _ = std::fs::remove_file(parts.swap_remove(i));
        }
    }
}

/// The process that made the part called `name`, if that is the name of one.
fn maker(name: &str) -> Option<u32> {
    let numbers = name.strip_prefix("domio-")?.strip_suffix(".part")?;
    let (process, number) = numbers.split_once('-')?;
    number.parse::<u32>().ok()?;
    process.parse().ok()
}

/// Whether there is no such process any more, as far as this system tells.
fn is_gone(process: u32) -> bool {
    let processes = Path::new("/proc");
    processes.join("self").exists() && !processes.join(process.to_string()).exists()
}

/// Removes all parts, because the program ends. None is created, named or removed while what this
/// returns is there.
pub fn remove_parts() -> impl Sized {
    let parts = parts();
    for part in parts.iter() {
        let _ = std::fs::remove_file(part);
    }
    parts
}
