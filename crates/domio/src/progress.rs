//! Progress bars on standard error, when that is a terminal.

use crate::args::Global;
use domio_lab::{Progress, Silent};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A bar for a person who waits, or nothing.
pub fn progress(global: &Global) -> Box<dyn Progress> {
    if global.no_progress || !std::io::stderr().is_terminal() {
        return Box::new(Silent);
    }
    Box::new(Bar(ProgressBar::hidden()))
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&self, total: u64) {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}");
        if let Ok(style) = style {
            self.0.set_style(style);
        }
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
