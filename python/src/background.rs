//! Work without the GIL, which Ctrl-C ends.
//!
//! The work is done on another thread while the caller's thread waits, and looks every few
//! hundredths of a second whether Python has a signal to handle. If so, the work is asked to stop:
//! whoever simulates hears of progress a hundred times a run, and unwinds there.

use crate::errors::DomioError;
use domio_lab::replicate::{Listener, with_pieces};
use domio_lab::{Keeper, ProgressListener};
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The program that simulates: its version, and a digest of all that decides what comes out.
pub const PROGRAM: &str = env!("DOMIO_PROGRAM");

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(30);

/// What the work unwinds with when it is to stop.
struct Stopped;

/// Whether the work is to stop.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Unwinds if the work is to stop.
    pub fn check(&self) {
        if self.0.load(Ordering::Relaxed) {
            // No panic: nothing is wrong, and nothing is printed.
            resume_unwind(Box::new(Stopped));
        }
    }
}

impl ProgressListener for Stop {
    fn begin(&self, _: u64) {}

    fn done(&self, _: &str) {
        self.check();
    }

    fn end(&self) {}

    fn listener(&self) -> Option<Listener> {
        let stop = self.clone();
        Some(Arc::new(move |_| stop.check()))
    }
}

/// Does `work` without the GIL, on `jobs` cores or on all.
///
/// # Errors
/// What a handler of signals raises, as `KeyboardInterrupt`; [`DomioError`] for a bug.
pub fn without_gil<T: Send>(
    py: Python<'_>,
    jobs: Option<usize>,
    work: impl FnOnce(&Stop) -> T + Send,
) -> PyResult<T> {
    let stop = Stop::default();
    let mut raised = None;
    let result = thread::scope(|scope| {
        let (done, mut waits) = channel::<()>();
        let own = stop.clone();
        let worker = scope.spawn(move || {
            // Told when it is dropped, whatever happens.
            let _done = done;
            let work = || work(&own);
            catch_unwind(AssertUnwindSafe(|| match jobs {
                Some(jobs) => with_pieces(jobs, work).map_err(|e| e.to_string()),
                None => Ok(work()),
            }))
        });
        let mut wait = || {
            let waits = &mut waits;
            py.detach(move || waits.recv_timeout(LOOK))
        };
        while wait() == Err(RecvTimeoutError::Timeout) {
            if raised.is_none()
                && let Err(error) = py.check_signals()
            {
                raised = Some(error);
                stop.0.store(true, Ordering::Relaxed);
            }
        }
        py.detach(|| worker.join())
    });
    if let Some(error) = raised {
        return Err(error);
    }
    match result {
        Ok(Ok(Ok(result))) => Ok(result),
        Ok(Ok(Err(why))) => Err(DomioError::new_err(why)),
        // A policy in Python raised it.
        Ok(Err(panic)) | Err(panic) => match panic.downcast::<PyErr>() {
            Ok(error) => Err(*error),
            Err(panic) => Err(bug(&*panic)),
        },
    }
}

/// The exception for a panic.
fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    DomioError::new_err(format!(
        "this is a bug of domio: {}; report it with the scenario and the seed",
        text.unwrap_or("it stopped without a word")
    ))
}

/// What finds and keeps results in the file `results`, or nothing.
///
/// # Errors
/// When the file cannot be used.
pub fn keeper(results: Option<&Path>) -> PyResult<Keeper> {
    let Some(path) = results else {
        return Ok(Keeper::none());
    };
    let store = domio_lab::store::Store::open(path, PROGRAM);
    let store = store.map_err(|e| DomioError::new_err(e.to_string()))?;
    Ok(Keeper::of(store))
}

/// What to tell of trouble with the file of results.
pub fn trouble(keeper: &Keeper) -> Vec<String> {
    let told = keeper.trouble();
    let told = told.map(|e| format!("{e}; the rest was done without it, and is not kept"));
    told.into_iter().collect()
}
