//! Standard output, colours and the exit status.

use crate::args::{Global, When};
use anyhow::Context;
use domio_answer::{Answered, Table, file};
use domio_report::text::View;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

const WRITING: &str = "cannot write to standard output";

/// How a command that could run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Well.
    Success,
    /// A claim, trace or scenario failed its check.
    CheckFailed,
    /// A file of several could not be read or used, which was told; the others were checked.
    Unreadable,
}

impl Status {
    /// Success when `passed`.
    pub fn of_check(passed: bool) -> Self {
        match passed {
            true => Status::Success,
            false => Status::CheckFailed,
        }
    }
}

/// Applies `--color` to standard output and standard error.
pub fn set_colour(when: When) {
    let choice = match when {
        When::Auto => anstream::ColorChoice::Auto,
        When::Always => anstream::ColorChoice::Always,
        When::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Turns the result of a command into the exit status, and tells an error on standard error.
pub fn exit_code(result: anyhow::Result<Status>) -> ExitCode {
    match result {
        Ok(Status::Success) => ExitCode::SUCCESS,
        Ok(Status::CheckFailed) => ExitCode::from(1),
        Ok(Status::Unreadable) => ExitCode::from(2),
        // Whoever read the output has seen enough (`domio ... | head`).
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            message(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        let json = cause.downcast_ref::<serde_json::Error>();
        cause.downcast_ref::<io::Error>().is_some_and(broken)
            || json.is_some_and(|e| e.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}

/// Prints text that may hold colour codes; they are stripped where they are not wanted.
pub fn text(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).context(WRITING)?;
    out.flush().context(WRITING)
}

/// Prints a value as JSON that ends in a newline.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, value).context(WRITING)?;
    writeln!(out).context(WRITING)?;
    out.flush().context(WRITING)
}

/// Prints what a command found: its JSON, or what people read.
pub fn answer(
    as_json: bool,
    answered: impl FnOnce() -> Answered,
    text_of: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match as_json {
        true => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            answered().write_pretty(&mut out).context(WRITING)?;
            writeln!(out).context(WRITING)?;
            out.flush().context(WRITING)
        }
        false => text(&text_of()),
    }
}

/// Prints tables as CSV.
pub fn csv(tables: &[Table]) -> anyhow::Result<()> {
    text(&file::csv(tables))
}

/// Prints something on standard error. A standard error that is gone is nobody's loss.
pub fn message(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{text}");
}

static QUIET: OnceLock<bool> = OnceLock::new();

/// Applies `--quiet`.
pub fn set_quiet(quiet: bool) {
    // Only the first call counts, and there is only one.
    let _ = QUIET.set(quiet);
}

/// Prints something on standard error that is good to know, unless `--quiet` says otherwise.
pub fn notice(text: &str) {
    remark(&format!("notice: {text}"));
}

/// As [`notice`], without a word before it.
pub fn remark(text: &str) {
    if QUIET.get() != Some(&true) {
        message(text);
    }
}

static VIEW: OnceLock<View> = OnceLock::new();

/// Applies `--columns` and `--sort` to all tables. Lines are as wide as the environment variable
/// COLUMNS says, or else the terminal, behind a pager, too; what goes to a file is as wide as
/// tables get.
pub fn set_view(global: &Global) {
    let width = columns().or_else(terminal).unwrap_or(View::WIDEST);
    let view = View {
        columns: global.columns.clone(),
        sort: global.sort.clone(),
        ..View::of_width(width)
    };
    // Only the first call counts, and there is only one.
    let _ = VIEW.set(view);
}

/// How tables are shown.
pub fn view() -> &'static View {
    VIEW.get_or_init(View::default)
}

/// Refuses `--sort` and `--columns` before a command runs whose tables will have `columns`, each
/// with its title and its name for programs.
///
/// # Errors
/// When there will be no such column.
pub fn knows(columns: &[(String, String)]) -> anyhow::Result<()> {
    match view().refused(columns) {
        Some(wrong) => Err(anyhow::anyhow!(wrong)),
        None => Ok(()),
    }
}

/// Refuses `--sort` and `--columns` before a command runs that prints no table.
///
/// # Errors
/// When either is given.
pub fn no_table() -> anyhow::Result<()> {
    let sort = view().sort.iter().map(|sort| ("--sort", &sort.column));
    let columns = view().columns.iter().map(|column| ("--columns", column));
    match sort.chain(columns).next() {
        Some((option, asked)) => Err(anyhow::anyhow!(
            "{option} {asked}: the command prints no table; leave it out"
        )),
        None => Ok(()),
    }
}

/// Refuses `--sort` and `--columns` after a command whose tables had no such column. What they say
/// is right, and stays.
///
/// # Errors
/// When no table was sorted, or had a column that was asked for.
pub fn seen(status: Status) -> anyhow::Result<Status> {
    match view().unmet() {
        Some(wrong) => Err(anyhow::anyhow!(wrong)),
        None => Ok(status),
    }
}

fn columns() -> Option<u16> {
    std::env::var("COLUMNS").ok()?.trim().parse().ok()
}

/// Width of the terminal that shows the output. Behind a pipe that is most often a pager, whose
/// terminal shows the messages, too.
fn terminal() -> Option<u16> {
    let size = match io::stdout().is_terminal() {
        true => terminal_size::terminal_size(),
        false if stdout_is_pipe() => terminal_size::terminal_size_of(io::stderr()),
        false => None,
    };
    size.map(|(terminal_size::Width(width), _)| width)
}

#[cfg(unix)]
fn stdout_is_pipe() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let own = io::stdout().as_fd().try_clone_to_owned();
    let about = own.and_then(|fd| std::fs::File::from(fd).metadata());
    about.is_ok_and(|about| about.file_type().is_fifo())
}

#[cfg(not(unix))]
fn stdout_is_pipe() -> bool {
    false
}
