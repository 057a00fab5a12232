//! Standard output, colours and the exit status.

use crate::args::When;
use crate::schema;
use anyhow::Context;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

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

/// An output that says which schema it has.
#[derive(Serialize)]
struct Versioned<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    rest: &'a T,
}

/// As [`json`], of an object with the schema called `name`, which its key `schema` tells.
pub fn json_as(name: &str, value: &impl Serialize) -> anyhow::Result<()> {
    let schema = schema::find(name).map_or("", |s| s.id);
    json(&Versioned {
        schema,
        rest: value,
    })
}

/// Tells something on standard error. A standard error that is gone is nobody's loss.
pub fn message(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{text}");
}

/// Width of the terminal that standard output is; `None` when it is none, and lines stay whole.
pub fn width() -> Option<u16> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let (terminal_size::Width(width), _) = terminal_size::terminal_size()?;
    Some(width)
}
