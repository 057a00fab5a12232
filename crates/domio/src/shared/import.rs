//! `domio scenario import`: a scenario of definitions of guests.

use crate::args::{Global, ScenarioImport};
use crate::files::{FileKind, Files};
use crate::input;
use crate::out::{self, Status};
use anyhow::{Context, anyhow, bail};
use domio_answer::{AnswerSpec, Answered, RowType, rows};
use domio_replay::import::{
    self, ImportError, ImportFiles, ImportNote, ImportOptions, ImportedHost,
};
use std::fs;
use std::path::Path;

/// Files of a control group that are read of a folder.
const GROUP_FILES: [&str; 5] = [
    "cpu.weight",
    "cpu.max",
    "cpu.max.burst",
    "cpu.idle",
    "cpuset.cpus",
];
/// Folders of a tree of control groups, at most: a host with ten thousand services has fewer.
const FOLDERS_MAX: usize = 100_000;

rows! {
    /// Something to know of what was read.
    #[derive(Clone, PartialEq, Debug)]
    struct NoteRow {
        /// What, as a phrase.
        what: String = fact("what");
        /// The file; null for what no file has.
        file: Option<String> = fact("file");
        /// The line, from 1.
        line: Option<usize> = fact("line");
    }

    /// A scenario of files.
    #[derive(Clone, PartialEq, Debug)]
    struct ImportRow {
        /// The scenario.
        text: String = fact("text");
        /// Values that were taken.
        taken: Vec<NoteRow> = parts("taken", []);
        /// What is assumed.
        assumed: Vec<NoteRow> = parts("assumed", []);
        /// What a scenario has no place for, and what was left out for another reason.
        left_out: Vec<NoteRow> = parts("left_out", []);
        /// What no file shows, and what would.
        unknown: Vec<NoteRow> = parts("unknown", []);
    }
}

/// The schema of the answer.
pub fn spec() -> AnswerSpec {
    let doc = "What `domio scenario import --json` prints: a scenario, and what is from where.";
    AnswerSpec::new("scenario-import", 1, doc, ImportRow::spec())
}

fn notes(notes: &[ImportNote]) -> Vec<NoteRow> {
    let row = |note: &ImportNote| NoteRow {
        what: note.what.clone(),
        file: note.place.as_ref().map(|place| place.file.clone()),
        line: note.place.as_ref().map(|place| place.line),
    };
    notes.iter().map(row).collect()
}

fn answer(host: &ImportedHost) -> Answered {
    let row = ImportRow {
        text: host.text.clone(),
        taken: notes(&host.taken),
        assumed: notes(&host.assumed),
        left_out: notes(&host.left_out),
        unknown: notes(&host.unknown),
    };
    Answered::new(spec(), row.cells())
}

/// Reads the files, and writes the scenario.
pub fn run(args: &ScenarioImport, global: &Global) -> anyhow::Result<Status> {
    if args.json && args.output.is_some() {
        bail!("--json prints the scenario and --output writes it to a file; leave one out");
    }
    let read = args.files.iter().filter(|path| !input::is_stdin(path));
    let read = read.map(|path| ("what is imported", path.clone()));
    let files = Files::reading(read).forced(args.force);
    let target = files.makes(args.output.as_deref(), FileKind::Scenario)?;
    let mut found = ImportFiles::default();
    for path in &args.files {
        let name = input::name(path);
        let text = match path.is_dir() {
            true => groups(path)?,
            false => input::text(path).with_context(|| format!("cannot read {name}"))?,
        };
        found.read(&text, &name)?;
    }
    let options = ImportOptions {
        command: command(args),
        pcpus: args.pcpus,
        release: args.release.clone(),
        profile: args.profile.clone(),
        load_pct: args.load,
        work_us: args.work_us,
    };
    let made = import::scenario(&found, &options, global.parts.policies());
    let host = made.map_err(|error| match error {
        ImportError::Scenario(errors) => anyhow!(
            "the files make no valid scenario:\n\n{}",
            errors.render(true).trim_end()
        ),
        other => anyhow!("{other}"),
    })?;
    for (what, notes) in [("left out", &host.left_out), ("not known", &host.unknown)] {
        for note in notes {
            let place = note.place.as_ref();
            let place = place.map_or(String::new(), |at| format!(" ({}:{})", at.file, at.line));
            out::notice(&format!("{what}: {}{place}", note.what));
        }
    }
    if args.json {
        out::json(&answer(&host))?;
    } else {
        target.write(&host.text)?;
    }
    Ok(Status::Success)
}

/// The control groups of a folder, as `grep . -r` would print them, in order of their paths.
fn groups(folder: &Path) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    let mut open = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        seen += 1;
        if seen > FOLDERS_MAX {
            bail!(
                "{} has more than {FOLDERS_MAX} folders within; give one with fewer control groups",
                folder.display()
            );
        }
        let context = || format!("cannot read the folder {}", folder.display());
        let mut inner = Vec::new();
        for entry in fs::read_dir(&folder).with_context(context)? {
            let entry = entry.with_context(context)?;
            // Links are not followed: a tree of control groups has none.
            if entry.file_type().with_context(context)?.is_dir() {
                inner.push(entry.path());
            }
        }
        for name in GROUP_FILES {
            let path = folder.join(name);
            // The root of all control groups has none of them, and a group may have few.
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            for line in text.lines().filter(|line| !line.is_empty()) {
                lines.push(format!("{}:{line}", path.display()));
            }
        }
        inner.sort();
        open.extend(inner.into_iter().rev());
    }
    if lines.is_empty() {
        bail!(
            "{} has no control groups of version 2 (no file cpu.weight, cpu.max or cpuset.cpus)",
            folder.display()
        );
    }
    Ok(lines.join("\n") + "\n")
}

/// The command, as the scenario's first line tells it.
fn command(args: &ScenarioImport) -> String {
    let mut command = "domio scenario import".to_owned();
    for path in &args.files {
        command += &format!(" {}", path.display());
    }
    if let Some(pcpus) = args.pcpus {
        command += &format!(" --pcpus {pcpus}");
    }
    if let Some(release) = &args.release {
        command += &format!(" --release {release}");
    }
    if let Some(profile) = &args.profile {
        command += &format!(" --profile {profile}");
    }
    if args.load != 100 {
        command += &format!(" --load {}", args.load);
    }
    if args.work_us != 2_000 {
        command += &format!(" --work-us {}", args.work_us);
    }
    command
}
