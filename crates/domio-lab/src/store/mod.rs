//! Samples that are kept: each finished replication, in one file, for the next command.
//!
//! ```text
//! Subject, seed, replication ─▶ Keeper ─find─▶ the sample as it was, bit by bit
//!                                  └─ else run it, and commit it at once
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `encoding` | a sample as bytes |
//! | `keeper` | finds and keeps while replications run on all cores |
//! | `shelf` | what there is, and taking it away |
//! | `moved` | two programs or two files, figure by figure |
//!
//! The file is SQLite's, with a write-ahead log: a commit is there or is not there, whenever the
//! process is killed, and several processes may use the file together. Each row carries a digest of
//! its key and its figures. A row whose digest is wrong is not used.

pub mod encoding;
mod keeper;
mod moved;
mod shelf;

pub use keeper::{Keeper, Keeping};
pub use moved::{FigureMoved, Moves, moves};
pub use shelf::{Family, Held};

use domio_run::{Sample, Subject};
use domio_scenario::Scenario;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where results are kept unless it is said otherwise, below the current folder.
pub const DEFAULT: &str = "out/results.sqlite";

/// Marks the file as domio's: "domi".
const APPLICATION: i64 = 0x646f_6d69;

/// Version of the tables.
const SCHEMA: i64 = 1;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(20);

const TABLES: &str = "
    CREATE TABLE samples (
        program TEXT NOT NULL,
        name TEXT NOT NULL,
        settings TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        seed INTEGER NOT NULL,
        replication INTEGER NOT NULL,
        figures BLOB NOT NULL,
        digest TEXT NOT NULL,
        made INTEGER NOT NULL,
        took_us INTEGER NOT NULL,
        PRIMARY KEY (program, fingerprint, seed, replication)
    ) STRICT, WITHOUT ROWID;";

/// Why a file cannot be used as a store. The message begins with the path.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{path}: {why}; {hint}", path = path.display())]
pub struct StoreError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub hint: &'static str,
}

const ANOTHER: &str = "move it away, or name another file with --results";

/// A store that is open.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    db: Connection,
    read_only: bool,
    /// The program that simulates: its version, and a digest of all that decides what comes out.
    /// Two programs that may differ in a figure have two names; the same sources built again have
    /// one.
    program: String,
}

impl Store {
    /// Opens the store at `path` for samples in the name of `program`, and makes the store if there
    /// is none.
    ///
    /// # Errors
    /// When the file is something else, is damaged, or can neither be read nor made. Nothing is
    /// changed then.
    pub fn open(path: &Path, program: &str) -> Result<Self, StoreError> {
        let failed = |why: String| StoreError {
            path: path.to_owned(),
            why,
            hint: ANOTHER,
        };
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder)
                .map_err(|e| failed(format!("the folder cannot be made: {e}")))?;
        }
        Store::with(
            path,
            program,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        )
    }

    /// Opens the store at `path`, if there is one, for samples in the name of `program`.
    ///
    /// # Errors
    /// As [`Store::open`], and when there is no such file.
    pub fn existing(path: &Path, program: &str) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError {
                path: path.to_owned(),
                why: "there is no such file".to_owned(),
                hint: "reproduce, compare and run keep their results in out/results.sqlite, or \
                       where --results says",
            });
        }
        Store::with(path, program, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn with(path: &Path, program: &str, flags: OpenFlags) -> Result<Self, StoreError> {
        let failed = |why: String| StoreError {
            path: path.to_owned(),
            why,
            hint: ANOTHER,
        };
        let refused = |e: rusqlite::Error| failed(told(&e));
        let mut db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(refused)?;
        db.busy_timeout(PATIENCE).map_err(refused)?;
        let read_only = db.is_readonly("main").map_err(refused)?;
        if what(&db).map_err(refused)? == Content::Empty {
            make(&mut db).map_err(refused)?;
        }
        match what(&db).map_err(refused)? {
            Content::Ours(SCHEMA) => {}
            Content::Ours(version) => {
                let why = format!("its tables are of version {version}, not {SCHEMA}");
                return Err(StoreError {
                    hint: "use the domio that made it, or name another file with --results",
                    ..failed(why)
                });
            }
            _ => return Err(failed("it is a database of another program".to_owned())),
        }
        if !read_only {
            log_ahead(&db).map_err(refused)?;
        }
        Ok(Store {
            path: path.to_owned(),
            db,
            read_only,
            program: program.to_owned(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether nothing can be added.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The sample of replication `replication`, if the program made one before.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn find(
        &self,
        subject: &Subject,
        seed: u64,
        replication: u32,
    ) -> Result<Option<Sample>, StoreError> {
        let row: Option<(Vec<u8>, String)> = self
            .db
            .prepare_cached(
                "SELECT figures, digest FROM samples
                 WHERE program = ?1 AND fingerprint = ?2 AND seed = ?3 AND replication = ?4",
            )
            .and_then(|mut find| {
                let key = params![
                    self.program,
                    subject.fingerprint,
                    seed.cast_signed(),
                    replication
                ];
                find.query_row(key, |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(|e| self.failed(&e))?;
        let Some((figures, digest)) = row else {
            return Ok(None);
        };
        let expected = encoding::digest(
            &self.program,
            &subject.fingerprint,
            seed,
            replication,
            &figures,
        );
        Ok((digest == expected)
            .then(|| encoding::decode(&figures))
            .flatten())
    }

    /// Keeps `sample`, which took `took` to simulate. When the call returns, the sample is there
    /// whatever happens to the process.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(
        &self,
        subject: &Subject,
        seed: u64,
        replication: u32,
        sample: &Sample,
        took: Duration,
    ) -> Result<(), StoreError> {
        let figures = encoding::encode(sample);
        let digest = encoding::digest(
            &self.program,
            &subject.fingerprint,
            seed,
            replication,
            &figures,
        );
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let made = now.map_or(0, |d| d.as_secs()).cast_signed();
        let took = i64::try_from(took.as_micros()).unwrap_or(i64::MAX);
        let row = params![
            self.program,
            subject.name,
            subject.settings,
            subject.fingerprint,
            seed.cast_signed(),
            replication,
            figures,
            digest,
            made,
            took
        ];
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO samples VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )
            .and_then(|mut insert| insert.execute(row))
            .map_err(|e| self.failed(&e))?;
        Ok(())
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        StoreError {
            path: self.path.clone(),
            why: told(error),
            hint: ANOTHER,
        }
    }
}

/// What samples of `scenario` are kept as: its bytes, its overrides and the files that it names.
///
/// # Errors
/// When a file cannot be read.
pub fn subject(scenario: &Scenario) -> io::Result<Subject> {
    Ok(Subject::of_scenario(scenario, &files(scenario)?))
}

/// The files that `scenario` names, in the order of its plan.
///
/// # Errors
/// When one cannot be read.
pub fn files(scenario: &Scenario) -> io::Result<Vec<Vec<u8>>> {
    let files = scenario.plan().files();
    let read = files.map(|file| std::fs::read(scenario.folder().join(file)));
    read.collect()
}

/// What a database holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    /// Nothing yet.
    Empty,
    /// Results, in tables of this version.
    Ours(i64),
    /// Something else.
    Foreign,
}

fn what(db: &Connection) -> rusqlite::Result<Content> {
    let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0));
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    Ok(match (application, tables) {
        (APPLICATION, 1..) => Content::Ours(version),
        (0, 0) if version == 0 => Content::Empty,
        _ => Content::Foreign,
    })
}

/// Makes the tables, in one piece. Another process may have been quicker.
fn make(db: &mut Connection) -> rusqlite::Result<()> {
    let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if what(&change)? == Content::Empty {
        change.execute_batch(TABLES)?;
        change.pragma_update(None, "application_id", APPLICATION)?;
        change.pragma_update(None, "user_version", SCHEMA)?;
    }
    change.commit()
}

/// Readers and writers do not wait for each other, and a commit is one write to the log. Another
/// process that is just changing to the log refuses immediately, without the patience of other
/// locks.
fn log_ahead(db: &Connection) -> rusqlite::Result<()> {
    const TRIES: u32 = 100;
    for left in (0..TRIES).rev() {
        let mode = db.query_row("PRAGMA journal_mode = wal", [], |row| {
            row.get::<_, String>(0)
        });
        match mode {
            Err(e) if is_busy(&e) && left > 0 => std::thread::sleep(Duration::from_millis(20)),
            Err(e) => return Err(e),
            Ok(_) => break,
        }
    }
    // What a crash of the whole machine may take are the last commits, and nothing else.
    db.pragma_update(None, "synchronous", "normal")
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// An error of SQLite in words for whoever has never heard of it.
fn told(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "it is not a file of results".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => format!("it is damaged ({error})"),
        Some(ErrorCode::CannotOpen) => "it cannot be opened".to_owned(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program has it locked".to_owned()
        }
        Some(ErrorCode::DiskFull) => "the disk is full".to_owned(),
        Some(ErrorCode::ReadOnly) => "it cannot be written".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
