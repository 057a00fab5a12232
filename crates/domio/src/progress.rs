//! Progress bars on standard error, when that is a terminal.

use crate::args::Global;
use crate::input::Stream;
use domio_lab::{Progress, Silent};
use indicatif::{ProgressBar, ProgressBarIter, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A bar for a person who waits, or nothing.
pub fn progress(global: &Global) -> Box<dyn Progress> {
    if !is_wanted(global) {
        return Box::new(Silent);
    }
    Box::new(Bar(ProgressBar::hidden()))
}

/// `file`, with a bar that tells how much of it was read. A file that is read within a second shows
/// none.
pub fn reading(global: &Global, file: Stream) -> ProgressBarIter<Stream> {
    let length = file.length();
    if !is_wanted(global) || length < SHOWN_FROM {
        return ProgressBar::hidden().wrap_read(file);
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {elapsed}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.with_finish(ProgressFinish::AndClear).wrap_read(file)
}

/// Bytes of a trace that take a good second to read.
const SHOWN_FROM: u64 = 100_000_000;

fn is_wanted(global: &Global) -> bool {
    !global.no_progress && std::io::stderr().is_terminal()
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&self, total: u64) {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}");
        if let Ok(style) = style {
            self.0.set_style(style);
        }
        self.0.reset();
        self.0.set_length(total);
        self.0.set_draw_target(ProgressDrawTarget::stderr());
        // The clock moves on even while one long piece of work does not end.
        self.0.enable_steady_tick(Duration::from_millis(200));
    }

    fn done(&self, name: &str) {
        self.0.set_message(name.to_owned());
        self.0.inc(1);
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}
