//! What a store holds, and taking it away.

use super::{Store, StoreError, Subject, encoding};
use domio_answer::rows;
use domio_run::Sample;
use rusqlite::params;
use std::collections::BTreeMap;
use std::time::Duration;

rows! {
    /// The replications of one subject by one program with one seed.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Held {
        /// What they are replications of.
        pub subject: Subject = fact("");
        /// The program that made them.
        pub program: String = fact("program").for_programs();
        /// Their seed.
        pub seed: u64 = fact("seed");
        /// How many are kept.
        pub replications: u64 = count("replications");
        /// When the last one was made, in seconds since 1970.
        pub made: u64 = fact("made").for_programs();
        /// How long all of them took to simulate, one after another.
        pub took_s: f64 = sum("took_s", "s");
        /// What their figures take in the file.
        pub bytes: u64 = sum("bytes", "B").title("size");
    }
}

rows! {
    /// What one program left of the experiments or settings whose names have two words in common.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Family {
        /// The first two words of the names of experiments ("ongaro.test3"), or the name of a
        /// scenario.
        pub name: String = key("name");
        /// The program that made them.
        pub program: String = fact("program");
        /// How many experiments or settings there are, each seed counted.
        pub variants: u64 = count("variants");
        /// How many replications are kept of all of them.
        pub replications: u64 = count("replications");
        /// When the last one was made, in seconds since 1970.
        pub made: u64 = fact("made").for_programs();
        /// How long all of them took to simulate, one after another.
        pub took_s: f64 = sum("took_s", "s").title("took");
        /// What their figures take in the file.
        pub bytes: u64 = sum("bytes", "B").title("size");
    }
}

/// Columns 1 to 3 of a row of samples: name, settings, fingerprint.
fn subject(row: &rusqlite::Row<'_>) -> rusqlite::Result<Subject> {
    Ok(Subject {
        name: row.get(1)?,
        settings: row.get(2)?,
        fingerprint: row.get(3)?,
    })
}

impl Store {
    /// What is held of names that begin with `prefix`, a row for each program and family of names:
    /// the program that was used last first, then by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn families(&self, prefix: &str) -> Result<Vec<Family>, StoreError> {
        // The name up to its second dot, or all of it.
        let sql = "
            WITH named AS (
                SELECT program, fingerprint, seed, length(figures) AS bytes, took_us, made, name,
                    instr(name, '.') AS first,
                    instr(substr(name, instr(name, '.') + 1), '.') AS second
                FROM samples WHERE substr(name, 1, length(?1)) = ?1),
            families AS (
                SELECT program, fingerprint, seed, bytes, took_us, made,
                    CASE WHEN first = 0 OR second = 0 THEN name
                        ELSE substr(name, 1, first + second - 1) END AS family
                FROM named)
            SELECT family, program, count(DISTINCT fingerprint || ' ' || seed), count(*),
                max(made), sum(took_us), sum(bytes),
                max(max(made)) OVER (PARTITION BY program) AS newest
            FROM families GROUP BY program, family ORDER BY newest DESC, program, family";
        let family = |row: &rusqlite::Row<'_>| {
            let whole = |at: usize| row.get::<_, i64>(at).map(|n| n.max(0).cast_unsigned());
            Ok(Family {
                name: row.get(0)?,
                program: row.get(1)?,
                variants: whole(2)?,
                replications: whole(3)?,
                made: whole(4)?,
                took_s: Duration::from_micros(whole(5)?).as_secs_f64(),
                bytes: whole(6)?,
            })
        };
        let rows = self
            .db
            .prepare(sql)
            .and_then(|mut q| q.query_map([prefix], family)?.collect());
        rows.map_err(|e| self.failed(&e))
    }

    /// All that is held, the program that was used last first, then by name, settings and seed.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn held(&self) -> Result<Vec<Held>, StoreError> {
        let sql = "
            SELECT program, name, settings, fingerprint, seed, count(*), sum(length(figures)),
                sum(took_us), max(made) FROM samples
            GROUP BY program, fingerprint, seed";
        let held = |row: &rusqlite::Row<'_>| {
            Ok(Held {
                program: row.get(0)?,
                subject: subject(row)?,
                seed: row.get::<_, i64>(4)?.cast_unsigned(),
                replications: row.get::<_, i64>(5)?.cast_unsigned(),
                bytes: row.get::<_, i64>(6)?.cast_unsigned(),
                took_s: Duration::from_micros(row.get::<_, i64>(7)?.max(0).cast_unsigned())
                    .as_secs_f64(),
                made: row.get::<_, i64>(8)?.max(0).cast_unsigned(),
            })
        };
        let mut all = self
            .db
            .prepare(sql)
            .and_then(|mut q| q.query_map([], held)?.collect::<Result<Vec<Held>, _>>())
            .map_err(|e| self.failed(&e))?;
        let mut newest: BTreeMap<String, u64> = BTreeMap::new();
        for held in &all {
            let made = newest.entry(held.program.clone()).or_default();
            *made = held.made.max(*made);
        }
        all.sort_by_cached_key(|held| {
            let newest = std::cmp::Reverse(newest.get(&held.program).copied());
            (
                newest,
                held.program.clone(),
                held.subject.clone(),
                held.seed,
            )
        });
        Ok(all)
    }

    /// The samples of `held` by replication number, without any that is damaged.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn samples(&self, held: &Held) -> Result<Vec<(u32, Sample)>, StoreError> {
        let sql = "
            SELECT replication, figures, digest FROM samples
            WHERE program = ?1 AND fingerprint = ?2 AND seed = ?3 ORDER BY replication";
        let fingerprint = &held.subject.fingerprint;
        let row = |row: &rusqlite::Row<'_>| {
            let replication: u32 = row.get(0)?;
            let (figures, digest): (Vec<u8>, String) = (row.get(1)?, row.get(2)?);
            let expected =
                encoding::digest(&held.program, fingerprint, held.seed, replication, &figures);
            let whole = digest == expected;
            let sample = whole.then(|| encoding::decode(&figures)).flatten();
            Ok(sample.map(|sample| (replication, sample)))
        };
        let key = params![held.program, fingerprint, held.seed.cast_signed()];
        let rows = self
            .db
            .prepare(sql)
            .and_then(|mut q| q.query_map(key, row)?.collect::<Result<Vec<_>, _>>());
        let rows = rows.map_err(|e| self.failed(&e))?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Adds the samples of `other` that are not there yet, whatever program made them, and leaves
    /// out any that is damaged. Returns how many that were. All are added, or none.
    ///
    /// # Errors
    /// When `other` cannot be read, or the file cannot be written.
    pub fn take_over(&mut self, other: &Store) -> Result<usize, StoreError> {
        let rows = other.rows().map_err(|e| other.failed(&e))?;
        let add = |db: &mut rusqlite::Connection| {
            let change = db.transaction()?;
            let mut added = 0;
            {
                let mut insert = change.prepare(
                    "INSERT OR IGNORE INTO samples
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                )?;
                for row in rows.iter().filter(|row| row.is_whole()) {
                    added += insert.execute(params![
                        row.program,
                        row.subject.name,
                        row.subject.settings,
                        row.subject.fingerprint,
                        row.seed.cast_signed(),
                        row.replication,
                        row.figures,
                        row.digest,
                        row.made,
                        row.took_us
                    ])?;
                }
            }
            change.commit()?;
            Ok(added)
        };
        add(&mut self.db).map_err(|e| self.failed(&e))
    }

    fn rows(&self) -> rusqlite::Result<Vec<SampleRow>> {
        let row = |row: &rusqlite::Row<'_>| {
            Ok(SampleRow {
                program: row.get(0)?,
                subject: subject(row)?,
                seed: row.get::<_, i64>(4)?.cast_unsigned(),
                replication: row.get(5)?,
                figures: row.get(6)?,
                digest: row.get(7)?,
                made: row.get(8)?,
                took_us: row.get(9)?,
            })
        };
        let mut all = self.db.prepare(
            "SELECT program, name, settings, fingerprint, seed, replication, figures, digest, made,
                took_us FROM samples",
        )?;
        all.query_map([], row)?.collect()
    }

    /// Takes away what other programs than the store's and those of `keep` made, and gives the
    /// space back. Returns how many replications that were.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn prune(&mut self, keep: &[String]) -> Result<usize, StoreError> {
        let prune = |db: &rusqlite::Connection| {
            let mut all = db.prepare("SELECT DISTINCT program FROM samples")?;
            let all = all.query_map([], |row| row.get::<_, String>(0))?;
            let mut removed = 0;
            for program in all.collect::<Result<Vec<_>, _>>()? {
                if program != self.program && !keep.contains(&program) {
                    removed += db.execute("DELETE FROM samples WHERE program = ?1", [program])?;
                }
            }
            if removed > 0 {
                db.execute_batch("VACUUM")?;
            }
            Ok(removed)
        };
        prune(&self.db).map_err(|e| self.failed(&e))
    }
}

/// A row of the table.
struct SampleRow {
    program: String,
    subject: Subject,
    seed: u64,
    replication: u32,
    figures: Vec<u8>,
    digest: String,
    made: i64,
    took_us: i64,
}

impl SampleRow {
    fn is_whole(&self) -> bool {
        let SampleRow {
            program,
            subject,
            seed,
            replication,
            figures,
            digest,
            ..
        } = self;
        encoding::digest(program, &subject.fingerprint, *seed, *replication, figures) == *digest
    }
}
