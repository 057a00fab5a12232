//! What earlier commands left in files of results.

use crate::keeping::existing;
use anyhow::{anyhow, bail};
use domio_lab::store::{Held, Store};
use domio_run::{Sample, Subject};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Whether `path` is a database of the kind that results are kept in.
pub fn is_database(path: &Path) -> bool {
    const HEAD: &[u8; 16] = b"SQLite format 3\0";
    let mut head = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *HEAD
}

/// What one program left in one file.
pub struct KeptSide {
    /// The file.
    pub store: Store,
    /// What there is of the program.
    pub held: Vec<Held>,
    /// What people call it.
    pub label: String,
}

impl KeptSide {
    /// The program that was used last of the file `named`, or the program of that name in the file
    /// `store`.
    ///
    /// # Errors
    /// When there is neither, or several programs begin so.
    pub fn find(named: &Path, store: &Path) -> anyhow::Result<Self> {
        if named.exists() {
            let file = named.display().to_string();
            let store = existing(named)?;
            let all = store.held()?;
            let Some(program) = programs(&all).into_iter().next() else {
                bail!("{file} holds no results");
            };
            let label = format!("{program} of {file}");
            return Ok(KeptSide::of(store, &all, &program, label));
        }
        let store = existing(store)?;
        let all = store.held()?;
        let program = program_of(&all, &named.to_string_lossy())?;
        Ok(KeptSide::of(store, &all, &program, program.clone()))
    }

    fn of(store: Store, all: &[Held], program: &str, label: String) -> Self {
        let held = all.iter().filter(|held| held.program == program);
        KeptSide {
            store,
            held: held.cloned().collect(),
            label,
        }
    }

    /// The samples of `subject`, by replication; of what goes by the same name and settings if
    /// nothing has its fingerprint, since another program may see more in it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn samples(&self, subject: &Subject, seed: u64) -> anyhow::Result<Vec<(u32, Sample)>> {
        let with_seed = || self.held.iter().filter(|held| held.seed == seed);
        let same = with_seed().find(|held| held.subject.fingerprint == subject.fingerprint);
        let alike = || {
            let alike = with_seed().filter(|held| {
                held.subject.name == subject.name && held.subject.settings == subject.settings
            });
            alike.max_by_key(|held| held.made)
        };
        match same.or_else(alike) {
            Some(held) => Ok(self.store.samples(held)?),
            None => Ok(Vec::new()),
        }
    }
}

/// Names of programs, the one that was used last first.
pub fn programs(all: &[Held]) -> Vec<String> {
    let mut programs: Vec<String> = all.iter().map(|held| held.program.clone()).collect();
    programs.dedup();
    programs
}

/// The program whose name begins with `begin`.
pub fn program_of(all: &[Held], begin: &str) -> anyhow::Result<String> {
    let programs = programs(all);
    let matching: Vec<&String> = programs.iter().filter(|p| p.starts_with(begin)).collect();
    match matching.as_slice() {
        [program] => Ok((*program).clone()),
        [] => Err(anyhow!(
            "no file and no program with results is called \"{begin}\"; there are {}",
            programs.join(", ")
        )),
        _ => Err(anyhow!(
            "the names of several programs begin with \"{begin}\"; give more of one of {}",
            programs.join(", ")
        )),
    }
}
