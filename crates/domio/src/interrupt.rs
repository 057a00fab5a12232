//! What an interrupt does (Ctrl-C, a closed terminal, `kill`): files that are not whole vanish, and
//! the user hears what is kept and how to continue.

use crate::files::remove_parts;
use crate::out;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The exit status of a command that a signal ended, as shells give it, is this and the signal.
const SIGNALLED: i32 = 128;

/// The signal of Ctrl-C.
#[cfg(not(unix))]
const SIGINT: i32 = 2;

/// Where finished replications are kept, and how many have been by now.
static KEPT: Mutex<Option<(PathBuf, Arc<AtomicU64>)>> = Mutex::new(None);

/// Whether a first interrupt ends the input alone, so that what is known is still shown.
static ENDS_INPUT: AtomicBool = AtomicBool::new(false);

/// The input is to end.
static STOP: AtomicBool = AtomicBool::new(false);

/// From now on interrupts are answered. A signal that is ignored stays so: a closed terminal does
/// nothing to a program under `nohup`, which `kill` interrupts all the same.
#[cfg(unix)]
pub fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let ignored = ignored();
    let answered = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let answered = answered.filter(|signal| ignored >> (signal - 1) & 1 == 0);
    // A machine that hands out no signals interrupts as it always does.
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(answered) {
        std::thread::spawn(move || signals.forever().for_each(answer));
    }
}

/// From now on Ctrl-C is answered.
#[cfg(not(unix))]
pub fn listen() {
    let _ = ctrlc::try_set_handler(|| answer(SIGINT));
}

/// The signals that are ignored, signal 1 in bit 0: whoever started the program said so.
#[cfg(target_os = "linux")]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0)
}

/// Where nobody says which signals are ignored, a closed terminal is left alone.
#[cfg(all(unix, not(target_os = "linux")))]
fn ignored() -> u64 {
    1 << (signal_hook::consts::SIGHUP - 1)
}

/// Answers an interrupt by `signal`. All signals clean up alike; the status says which came.
fn answer(signal: i32) {
    if ENDS_INPUT.load(Ordering::SeqCst) && !STOP.swap(true, Ordering::SeqCst) {
        return;
    }
    // Held to the end, lest another part is created meanwhile.
    let _parts = remove_parts();
    out::message(&told());
    process::exit(SIGNALLED + signal);
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

/// What is kept, and how to continue.
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
                "interrupted: {n} finished {what} {are} kept in {path}; the repeated command takes \
                 them from there and continues"
            )
        }
    }
}
