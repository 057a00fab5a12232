//! What an interrupt does (Ctrl-C, a closed terminal, `kill`): files that are not whole vanish, and
//! the user hears what is kept and how to go on.

use crate::files::remove_parts;
use crate::out;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The exit status of a command that was interrupted, as shells give it.
const INTERRUPTED: i32 = 130;

/// Where finished replications are kept, and how many have been by now.
static KEPT: Mutex<Option<(PathBuf, Arc<AtomicU64>)>> = Mutex::new(None);

/// Whether a first interrupt ends the input alone, so that what is known is still shown.
static ENDS_INPUT: AtomicBool = AtomicBool::new(false);

/// The input is to end.
static STOP: AtomicBool = AtomicBool::new(false);

/// From now on interrupts are answered. Where such signals are ignored, as under `nohup`, nothing
/// interrupts.
pub fn listen() {
    let _ = ctrlc::try_set_handler(|| {
        if ENDS_INPUT.load(Ordering::SeqCst) && !STOP.swap(true, Ordering::SeqCst) {
            return;
        }
        // Held to the end, lest another part is created meanwhile.
        let _parts = remove_parts();
        out::message(&told());
        process::exit(INTERRUPTED);
    });
}

/// Finished replications are kept at `path` from now on; `count` is how many.
pub fn keeps(path: PathBuf, count: Arc<AtomicU64>) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some((path, count));
}

/// From now on a first interrupt ends the input, and a second one the program.
pub fn ends_input() {
    ENDS_INPUT.store(true, Ordering::SeqCst);
}

/// Whether the input is to end.
pub fn has_ended_input() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// What is kept, and how to go on.
fn told() -> String {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((path, count)) = &*kept else {
        return "interrupted: nothing is kept, and the same command begins again".to_owned();
    };
    let path = path.display();
    match count.load(Ordering::SeqCst) {
        0 => format!(
            "interrupted: no replication was finished, and nothing new is kept in {path}; the same \
             command begins with what was there before"
        ),
        n => {
            let (what, are) = match n {
                1 => ("replication", "is"),
                _ => ("replications", "are"),
            };
            format!(
                "interrupted: {n} finished {what} {are} kept in {path}; the same command takes \
                 them from there and goes on"
            )
        }
    }
}
