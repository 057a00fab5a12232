//! The file of results that a command uses.
//!
//! A file that the user named has to work. One that nobody named, which cannot be used, is reported
//! and left as it is, and the command does all of its work itself.

use crate::args::Keeping;
use crate::interrupt;
use crate::out;
use domio_front::program;
use domio_lab::store::{DEFAULT, Keeper, Store, StoreError};
use domio_scenario::Parts;
use std::path::{Path, PathBuf};

/// The program with the parts that ship: its version, and a digest of all that decides what comes
/// out.
const SHIPPED: &str = env!("DOMIO_PROGRAM");

/// Names the program that simulates with `parts`.
pub fn program(parts: &Parts) -> String {
    program::name(SHIPPED, parts)
}

/// Opens the store at `path`, which has to be there, to look at what is kept.
///
/// # Errors
/// As [`Store::existing`].
pub fn existing(path: &Path) -> Result<Store, StoreError> {
    Store::existing(path, SHIPPED)
}

/// The file that `keeping` stands for; `None` when nothing is to be kept.
pub fn file(keeping: &Keeping) -> Option<PathBuf> {
    match (&keeping.results, keeping.no_results) {
        (_, true) => None,
        (Some(path), _) => Some(path.clone()),
        (None, _) => Some(PathBuf::from(DEFAULT)),
    }
}

/// Opens the file of results of a program with `parts`.
///
/// # Errors
/// When the user named a file that cannot be used.
pub fn keeper(keeping: &Keeping, parts: &Parts) -> anyhow::Result<Keeper> {
    let Some(path) = file(keeping) else {
        return Ok(Keeper::none());
    };
    let store = match Store::open(&path, &program(parts)) {
        Ok(store) => store,
        Err(error) if keeping.results.is_some() => return Err(error.into()),
        Err(error) => {
            out::notice(&format!(
                "{error}; nothing is taken from it, and nothing kept"
            ));
            return Ok(Keeper::none());
        }
    };
    if store.is_read_only() {
        let path = path.display();
        out::notice(&format!(
            "{path} cannot be written; results are taken from it, and none is kept"
        ));
    }
    let keeper = Keeper::of(store);
    interrupt::keeps(path, keeper.kept());
    Ok(keeper)
}

/// Says what came from `keeper`, and what went wrong with it.
pub fn tell(keeper: &Keeper, keeping: &Keeping) {
    if let Some(trouble) = keeper.trouble() {
        out::notice(&format!(
            "{trouble}; the rest was done without it, and is not kept"
        ));
    }
    let Some(path) = file(keeping) else {
        return;
    };
    let what = match keeper.found() {
        0 => return,
        1 => "1 replication".to_owned(),
        n => format!("{n} replications"),
    };
    out::remark(&format!("took {what} from {}", path.display()));
}
