//! Logs as xenmon writes them (xen-spec 7.5): one file a domain, one line an interval and pcpu.

use anyhow::{Context, bail};
use domio_core::{DomainId, Instant, PcpuId};
use domio_meter::{Figures, IntervalSample};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// First line of each file.
const HEAD: &str = "# passed cpu dom cpu(tot) cpu(%) cpu/ex allocated/ex blocked(tot) blocked(%) \
                    blocked/io waited(tot) waited(%) waited/ex ex/s io(tot) io/ex\n";

/// Which lines there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// Of domains that ran on the pcpu: xenmon does not tell of those that only waited.
    Running,
    /// Of domains of which there is anything to tell.
    All,
}

/// Refuses a file that is not to be written, with the reason.
type Guard = dyn FnMut(&Path) -> anyhow::Result<()>;

/// The files of one run. Each is made when there is something to write to it.
pub struct Logs {
    prefix: PathBuf,
    force: bool,
    rows: Rows,
    guard: Box<Guard>,
    files: BTreeMap<DomainId, BufWriter<File>>,
    began: Option<Instant>,
    lines: u64,
}

impl Logs {
    /// Logs whose names begin with `prefix`. `guard` is asked before a file is made.
    ///
    /// # Errors
    /// When there are such logs already and they may not be overwritten, or no folder for them.
    pub fn new(
        prefix: &Path,
        force: bool,
        rows: Rows,
        guard: impl FnMut(&Path) -> anyhow::Result<()> + 'static,
    ) -> anyhow::Result<Self> {
        let logs = Logs {
            prefix: prefix.to_owned(),
            force,
            rows,
            guard: Box::new(guard),
            files: BTreeMap::new(),
            began: None,
            lines: 0,
        };
        let folder = logs.folder();
        if !folder.is_dir() {
            let folder = folder.display();
            bail!("there is no folder {folder}; make it, or give another PREFIX with --log");
        }
        if let Some(log) = logs.there().filter(|_| !force) {
            bail!(
                "{} is there already; give another PREFIX with --log, or overwrite logs with \
                 --force",
                log.display()
            );
        }
        Ok(logs)
    }

    fn folder(&self) -> &Path {
        match self.prefix.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// The first log with this prefix that is there.
    fn there(&self) -> Option<PathBuf> {
        let name = self.prefix.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let is_log = |file: &str| {
            let rest = file.strip_prefix(&name)?.strip_suffix(".log")?;
            let number = rest.strip_prefix("-dom").unwrap_or_default();
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            Some(is_number || rest == "-idle")
        };
        let files = std::fs::read_dir(self.folder()).ok()?.flatten();
        let named = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let mut logs: Vec<String> = named.filter(|f| is_log(f) == Some(true)).collect();
        logs.sort();
        logs.first().map(|log| self.folder().join(log))
    }

    fn path(&self, domain: DomainId) -> PathBuf {
        let mut path = self.prefix.clone().into_os_string();
        path.push(match domain {
            DomainId::IDLE => "-idle.log".to_owned(),
            DomainId(id) => format!("-dom{id}.log"),
        });
        path.into()
    }

    fn file(&mut self, domain: DomainId) -> anyhow::Result<&mut BufWriter<File>> {
        if !self.files.contains_key(&domain) {
            let path = self.path(domain);
            (self.guard)(&path)?;
            let mut options = OpenOptions::new();
            match self.force {
                true => options.write(true).create(true).truncate(true),
                // Between the check and now somebody else may have made it.
                false => options.write(true).create_new(true),
            };
            let file = options.open(&path);
            let file = file.with_context(|| format!("cannot create {}", path.display()))?;
            let mut file = BufWriter::new(file);
            file.write_all(HEAD.as_bytes())?;
            self.files.insert(domain, file);
        }
        self.files.get_mut(&domain).context("it was just put there")
    }

    /// Writes the lines of one interval.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&mut self, sample: &IntervalSample) -> anyhow::Result<()> {
        let began = *self.began.get_or_insert(sample.start);
        let passed = sample.end.saturating_since(began).as_nanos();
        for pcpu in sample.pcpus() {
            let time = sample.passed(pcpu);
            for domain in sample.on(pcpu).domains {
                let shown = match self.rows {
                    Rows::Running => domain.figures.gotten > 0,
                    Rows::All => !domain.figures.is_empty(),
                };
                if shown && time > 0 {
                    let line = line(passed, pcpu, domain.id, time, &domain.figures);
                    let file = self.file(domain.id)?;
                    file.write_all(line.as_bytes())?;
                    self.lines += 1;
                }
            }
        }
        // Whoever looks at a log sees whole intervals.
        for file in self.files.values_mut() {
            file.flush()?;
        }
        Ok(())
    }

    /// Closes the files, and says what was written.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(mut self) -> anyhow::Result<String> {
        for file in self.files.values_mut() {
            file.flush()?;
        }
        let (files, lines) = (self.files.len(), self.lines);
        let prefix = self.prefix.display();
        Ok(format!(
            "wrote {lines} lines to {files} files {prefix}-*.log"
        ))
    }
}

/// One line: `figures` of `time` ns, `passed` ns after the begin.
fn line(passed: u64, pcpu: PcpuId, domain: DomainId, time: u64, figures: &Figures) -> String {
    let id = match domain {
        // xenmon calls it so in its files.
        DomainId::IDLE => -1,
        DomainId(id) => i32::from(id),
    };
    let a_second = |sum: u64| sum as f64 * 1e9 / time as f64;
    let percent = |sum: u64| sum as f64 * 100.0 / time as f64;
    let per = |sum: u64, count: u64| match count {
        0 => 0.0,
        _ => sum as f64 / count as f64,
    };
    let f = figures;
    let columns = [
        a_second(f.gotten),
        percent(f.gotten),
        per(f.gotten, f.executions),
        per(f.allocated, f.executions),
        a_second(f.blocked),
        percent(f.blocked),
        per(f.blocked, f.io),
        a_second(f.waited),
        percent(f.waited),
        per(f.waited, f.executions),
        a_second(f.executions),
        a_second(f.io),
        per(f.io, f.executions),
    ];
    let mut line = format!("{:.3} {} {id}", passed as f64 / 1e6, pcpu.0);
    for column in columns {
        // Writing to a string cannot fail.
        let _ = write!(line, " {column:.3}");
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_xenmons_columns() {
        let figures = Figures {
            gotten: 250_000_000,
            allocated: 300_000_000,
            waited: 50_000_000,
            blocked: 200_000_000,
            executions: 10,
            io: 4,
            ..Figures::default()
        };
        let written = line(1_500_000_000, PcpuId(1), DomainId(3), 500_000_000, &figures);
        let expected = "1500.000 1 3 500000000.000 50.000 25000000.000 30000000.000 \
                        400000000.000 40.000 50000000.000 100000000.000 10.000 5000000.000 \
                        20.000 8.000 0.400\n";
        assert_eq!(written, expected);
        let columns = HEAD.trim_start_matches("# ").split_whitespace().count();
        assert_eq!(written.split_whitespace().count(), columns);
    }

    #[test]
    fn without_executions_and_io_nothing_is_divided() {
        let idle = line(0, PcpuId(0), DomainId::IDLE, 1, &Figures::default());
        assert!(idle.starts_with("0.000 0 -1 0.000"), "{idle}");
        assert!(!idle.contains("NaN"), "{idle}");
    }
}
