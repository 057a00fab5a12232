//! `cargo xtask docs`: runs every command that the documentation shows.
//!
//! A block marked `console` holds commands after `$ ` (continued after `> `) and their output. A
//! command has to succeed, and the lines after it, if there are any, have to be what it writes to
//! stdout and stderr; `...` stands for any lines, or for anything within a line. A block marked
//! `sh` is a script that has to succeed. A block marked `console no-run` or `sh no-run` is left
//! out, and the line above it says why: `<!-- no-run: reason -->`.
//!
//! The commands of a page run one after another in a copy of the repository, with the release
//! build of `domio` on `PATH`.

mod expect;
mod page;

use crate::places::release_folder;
use crate::task::Task;
use anyhow::{Context as _, Result, bail};
use page::{Command, Page};
use std::panic::resume_unwind;
use std::path::Path;
use std::process::{self, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Longest time that one command may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Commands that are too slow or too far-reaching to be run from a page, by how they start, and
/// where they are covered.
const COVERED: [(&str, &str); 9] = [
    ("git clone ", "the user has done so"),
    ("bash .ci/run", "it runs `cargo xtask test`"),
    ("cargo build", "the step `tests`"),
    ("cargo install --path crates/domio", "the step `tests`"),
    ("cargo fmt", "the step `format`"),
    ("cargo clippy", "the step `tests`"),
    ("cargo test", "the step `tests`"),
    ("cargo bench", "the step `benches` of `cargo xtask nightly`"),
    ("cargo doc", "the step `reference` of `cargo xtask nightly`"),
];

/// Folders that the copy does without.
const NOT_COPIED: [&str; 4] = [".git", "target", "out", "fuzz"];

/// Runs the commands of every page at `root`; `false` when one does not do what the page says.
/// With `update`, pages get the new output instead.
///
/// # Errors
/// The pages cannot be read or written, or there is no release build.
pub fn run(root: &Path, update: bool) -> Result<bool> {
    let programs = release_folder(root);
    if !programs.join("domio").is_file() {
        bail!(
            "no domio in {}; run `cargo build --release` first",
            programs.display()
        );
    }
    let pages = pages(root)?;
    // Most commands keep one processor busy, so that pages are run side by side.
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, passed) = (AtomicUsize::new(0), AtomicBool::new(true));
    let work = || -> Result<()> {
        while let Some(path) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !check(root, &programs, path, update)? {
                passed.store(false, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut ended = workers.into_iter().map(|worker| worker.join());
        ended.try_for_each(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
    })?;
    Ok(passed.into_inner())
}

/// Runs the commands of the page at `path`, and says how that went; `false` when one does not do
/// what the page says.
fn check(root: &Path, programs: &Path, path: &str, update: bool) -> Result<bool> {
    let text = std::fs::read_to_string(root.join(path))?;
    let page = match Page::parse(&text) {
        Ok(page) => page,
        Err(problems) => {
            for (line, problem) in problems {
                println!("{path}:{line}: {problem}");
            }
            return Ok(false);
        }
    };
    let start = Instant::now();
    let failures = run_page(root, programs, &page)?;
    if !page.commands.is_empty() {
        let seconds = start.elapsed().as_secs_f64();
        let (all, failed) = (page.commands.len(), failures.len());
        println!("{path}: {all} commands, {failed} failed, {seconds:.1} s");
    }
    if failures.is_empty() {
        return Ok(true);
    }
    if update && failures.iter().all(|f| f.exit.is_none()) {
        std::fs::write(root.join(path), updated(&text, &failures))?;
        println!("{path}: updated");
        return Ok(true);
    }
    let reports: String = failures.iter().map(|f| f.report(path)).collect();
    print!("{reports}");
    Ok(false)
}

/// The pages whose commands are run: those next to the README, and all under `docs` and `papers`.
fn pages(root: &Path) -> Result<Vec<String>> {
    fn collect(root: &Path, folder: &str, deep: bool, pages: &mut Vec<String>) -> Result<()> {
        for entry in root.join(folder).read_dir()? {
            let entry = entry?;
            let path = format!("{folder}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() && deep {
                collect(root, &format!("{path}/"), true, pages)?;
            } else if path.ends_with(".md") {
                pages.push(path);
            }
        }
        Ok(())
    }
    let mut pages = Vec::new();
    collect(root, "", false, &mut pages).context("cannot list the pages")?;
    for folder in ["docs", "papers"] {
        if root.join(folder).is_dir() {
            let listed = collect(root, &format!("{folder}/"), true, &mut pages);
            listed.with_context(|| format!("cannot list {folder}"))?;
        }
    }
    pages.sort();
    Ok(pages)
}

/// A command that does not do what its page says.
struct Failure<'a> {
    command: &'a Command,
    /// How it ended, when not well.
    exit: Option<String>,
    output: String,
}

impl Failure<'_> {
    fn report(&self, path: &str) -> String {
        let Command { line, text, .. } = self.command;
        let what = match &self.exit {
            Some(exit) => exit.clone(),
            None => "its output is not what the page shows".to_string(),
        };
        let mut report = format!("{path}:{line}: `{text}`: {what}\n");
        if self.exit.is_none() {
            report += "  the page shows:\n";
            report += &indented(self.command.expected.iter().map(String::as_str));
            report += "  it wrote:\n";
        }
        report += &indented(self.output.lines());
        if self.exit.is_none() {
            report += "  `cargo xtask docs --update` writes the new output into the page\n";
        }
        report
    }
}

fn indented<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(|line| format!("    {line}\n")).collect()
}

fn run_page<'a>(root: &Path, programs: &Path, page: &'a Page) -> Result<Vec<Failure<'a>>> {
    let mut failures = Vec::new();
    if page.commands.is_empty() {
        return Ok(failures);
    }
    let sandbox = tempfile::tempdir().context("cannot make a folder for the copy")?;
    copy(root, sandbox.path(), true)?;
    for command in &page.commands {
        let run = match covered(&command.text) {
            Ok(true) => continue,
            Ok(false) => run_command(sandbox.path(), programs, &command.text)?,
            Err(error) => (Some(format!("{error:#}")), String::new()),
        };
        let (exit, output) = run;
        let lines: Vec<&str> = output.lines().collect();
        let silent = command.expected.is_empty();
        if exit.is_some() || !(silent || expect::matches(&command.expected, &lines)) {
            failures.push(Failure {
                command,
                exit,
                output,
            });
        }
    }
    Ok(failures)
}

/// Whether the command is covered elsewhere.
///
/// # Errors
/// It asks xtask for something that xtask does not do.
fn covered(text: &str) -> Result<bool> {
    let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_upper(name));
    let mut rest = text;
    while let Some((word, more)) = rest.split_once(' ').filter(|(word, _)| is_setting(word)) {
        rest = more;
        debug_assert!(!word.is_empty());
    }
    if let Some(args) = rest.strip_prefix("cargo xtask") {
        Task::parse(lexopt::Parser::from_args(args.split_whitespace()))?;
        return Ok(true);
    }
    Ok(rest == "domio reproduce" || COVERED.iter().any(|(start, _)| rest.starts_with(start)))
}

fn is_upper(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// Runs a command; how it ended if not well, and all its output.
fn run_command(folder: &Path, programs: &Path, text: &str) -> Result<(Option<String>, String)> {
    let text = match text.strip_prefix("cargo run --release -- ") {
        Some(args) => format!("domio {args}"),
        None => text.to_string(),
    };
    let mut path = programs.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    // A file takes any amount of output without anybody having to read along.
    let output = tempfile::NamedTempFile::new()?;
    let mut child = process::Command::new("bash")
        .args(["-e", "-o", "pipefail", "-c", &format!("exec 2>&1\n{text}")])
        .current_dir(folder)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .stdout(output.reopen()?)
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start bash")?;
    let start = Instant::now();
    let exit = loop {
        if let Some(status) = child.try_wait()? {
            break (!status.success()).then(|| status.to_string());
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            break Some(format!("stopped after {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let output = String::from_utf8_lossy(&std::fs::read(output.path())?).into_owned();
    Ok((exit, output))
}

fn copy(from: &Path, to: &Path, top: bool) -> Result<()> {
    for entry in from.read_dir()? {
        let entry = entry?;
        let name = entry.file_name();
        if top && NOT_COPIED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let target = to.join(&name);
        // A link to a folder is copied as the folder.
        if entry.path().is_dir() {
            std::fs::create_dir(&target)?;
            copy(&entry.path(), &target, false)?;
        } else {
            std::fs::copy(entry.path(), &target)
                .with_context(|| format!("cannot copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// The page's text with the output of these commands in place of what it shows.
fn updated(text: &str, failures: &[Failure<'_>]) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    // From the end, so that earlier places stay where they are.
    for failure in failures.iter().rev() {
        let start = failure.command.output_line - 1;
        let end = start + failure.command.expected.len();
        let output: Vec<&str> = failure.output.lines().collect();
        lines.splice(start..end, cut(&failure.command.expected, &output));
    }
    lines.join("\n") + "\n"
}

/// The lines of `output` that a page shows which showed `expected`: where lines were left out at
/// one place, as many before and behind that place as were there; all otherwise.
fn cut<'a>(expected: &[String], output: &[&'a str]) -> Vec<&'a str> {
    let mut places = expected.iter().enumerate().filter(|(_, l)| *l == "...");
    let (Some((before, _)), None) = (places.next(), places.next()) else {
        return output.to_vec();
    };
    let behind = expected.len() - before - 1;
    if before == 0 || before + behind >= output.len() {
        return output.to_vec();
    }
    let end = &output[output.len() - behind..];
    [&output[..before], &["..."], end].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `text` as the only page of a project whose `domio` is this script.
    fn outcome(script: &str, text: &str, update: bool) -> (bool, String) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (programs, docs) = (folder.path().join("programs"), folder.path().join("docs"));
        std::fs::create_dir(&programs).unwrap();
        std::fs::create_dir(&docs).unwrap();
        let domio = programs.join("domio");
        std::fs::write(&domio, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&domio, std::fs::Permissions::from_mode(0o755)).unwrap();
        let page = Page::parse(text).unwrap();
        let failures = run_page(folder.path(), &programs, &page).unwrap();
        let shown = if update {
            updated(text, &failures)
        } else {
            failures.iter().map(|f| f.report("PAGE.md")).collect()
        };
        (failures.is_empty(), shown)
    }

    const PAGE: &str = "# Page\n\n```console\n$ domio run x\nran x\n...\ndone\n```\n";

    #[test]
    fn a_page_that_tells_the_truth_passes() {
        let script = "echo \"ran $2\"; echo 1 >&2; echo 2; echo done";
        assert_eq!(outcome(script, PAGE, false), (true, String::new()));
    }

    #[test]
    fn other_output_and_failure_are_caught() {
        let (passed, report) = outcome("echo ran y; echo done", PAGE, false);
        assert!(!passed);
        assert!(
            report.contains("PAGE.md:4") && report.contains("    ran y\n"),
            "{report}"
        );
        let (passed, report) = outcome("echo ran x; echo done; exit 3", PAGE, false);
        assert!(!passed && report.contains("exit status: 3"), "{report}");
    }

    #[test]
    fn a_page_can_be_updated() {
        let (_, text) = outcome("echo new; echo lines", PAGE, true);
        assert_eq!(
            text,
            "# Page\n\n```console\n$ domio run x\nnew\nlines\n```\n"
        );
    }

    #[test]
    fn what_a_page_leaves_out_stays_left_out() {
        let page = "```console\n$ domio run x\nold\nlines\n...\nend\n```\n";
        let (_, text) = outcome("seq 1 9", page, true);
        assert_eq!(text, "```console\n$ domio run x\n1\n2\n...\n9\n```\n");
        let (_, text) = outcome("seq 1 3", page, true);
        assert_eq!(text, "```console\n$ domio run x\n1\n2\n3\n```\n");
    }

    #[test]
    fn pages_that_run_side_by_side_all_count() {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("target/release");
        std::fs::create_dir_all(&programs).unwrap();
        std::fs::write(programs.join("domio"), "").unwrap();
        for page in 0..9 {
            let exit = if page == 4 { "false" } else { "true" };
            let text = format!("```sh\n{exit}\n```\n");
            std::fs::write(folder.path().join(format!("{page}.md")), text).unwrap();
        }
        let run = |root: &Path| run(root, false).unwrap();
        assert!(!run(folder.path()));
        std::fs::remove_file(folder.path().join("4.md")).unwrap();
        assert!(run(folder.path()));
    }

    #[test]
    fn commands_of_a_page_share_a_copy_that_leaves_the_project_alone() {
        let text =
            "```sh\ntest ! -e new\ntouch new\n```\n\n```console\n$ ls new docs\n...new\n...\n```\n";
        assert_eq!(outcome("", text, false), (true, String::new()));
        assert_eq!(outcome("", text, false), (true, String::new()));
    }

    #[test]
    fn slow_commands_are_covered_elsewhere_and_wrong_ones_are_not() {
        assert!(covered("cargo xtask test --quick").unwrap());
        assert!(covered("RUST_BACKTRACE=1 cargo test --package domio-sched").unwrap());
        assert!(covered("domio reproduce").unwrap());
        assert!(!covered("domio run a=b").unwrap());
        assert!(covered("cargo xtask tset").is_err());
    }
}
