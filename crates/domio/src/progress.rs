//! Progress bars on standard error, when that is a terminal.

use crate::args::Global;
use crate::input::Stream;
use domio_lab::replicate::Listener;
use domio_lab::{ProgressListener, Silent};
use domio_run::WHOLE;
use indicatif::{
    ProgressBar, ProgressBarIter, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle,
};
use std::fmt;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

/// A bar for a person who waits, or nothing.
pub fn progress(global: &Global) -> Box<dyn ProgressListener> {
    if !is_wanted(global) {
        return Box::new(Silent);
    }
    Box::new(Bar(ProgressBar::hidden()))
}

/// `file`, with a bar that says how much of it was read. A file that is read within a second shows
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

/// A bar of so many seconds, whose position is in milliseconds.
#[cfg(all(feature = "record", target_os = "linux"))]
pub fn seconds(global: &Global, seconds: u64) -> ProgressBar {
    if !is_wanted(global) {
        return ProgressBar::hidden();
    }
    let length = Some(1_000 * seconds);
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{bar:30} {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Bytes of a trace that take a good second to read.
const SHOWN_FROM: u64 = 100_000_000;

fn is_wanted(global: &Global) -> bool {
    !global.no_progress && std::io::stderr().is_terminal()
}

struct Bar(ProgressBar);

impl ProgressListener for Bar {
    fn begin(&self, total: u64) {
        let style = ProgressStyle::with_template("{bar:30} {pieces} {elapsed} {left} {msg}");
        if let Ok(style) = style {
            self.0
                .set_style(style.with_key("pieces", pieces).with_key("left", left));
        }
        self.0.reset();
        self.0.set_length(total * WHOLE);
        self.0.set_draw_target(ProgressDrawTarget::stderr());
        // The clock moves on even while one long piece of work does not end.
        self.0.enable_steady_tick(TICK);
    }

    fn done(&self, name: &str) {
        self.0.set_message(name.to_owned());
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }

    fn listener(&self) -> Option<Listener> {
        let bar = self.0.clone();
        Some(Arc::new(move |thousandths| bar.inc(thousandths)))
    }
}

const TICK: Duration = Duration::from_millis(200);

/// How many pieces are done, of how many.
fn pieces(state: &ProgressState, out: &mut dyn fmt::Write) {
    let total = state.len().unwrap_or_default() / WHOLE;
    let _ = write!(out, "{}/{total}", state.pos() / WHOLE);
}

/// An estimate of the time that is left, once there is anything to estimate it from.
fn left(state: &ProgressState, out: &mut dyn fmt::Write) {
    let told = match state.pos() {
        0 => String::new(),
        _ => format!("about {} left", in_words(state.eta())),
    };
    let _ = out.write_str(&told);
}

/// "40 s", "3 min", "2.5 h": no more digits than an estimate has.
fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_lab::replicate::replicate;

    #[test]
    fn a_bar_moves_inside_a_piece_of_work() {
        let bar = Bar(ProgressBar::hidden());
        replicate(3, "burn", &bar, |n, reached| {
            let before = bar.0.position();
            reached(400);
            // Other pieces may move it meanwhile.
            assert!(bar.0.position() >= before + 400, "{n}");
        });
        assert_eq!(bar.0.position(), 3 * WHOLE);
        assert_eq!(bar.0.length(), Some(3 * WHOLE));
    }

    #[test]
    fn an_estimate_has_few_digits() {
        let told = |seconds| in_words(Duration::from_secs(seconds));
        assert_eq!(told(0), "0 s");
        assert_eq!(told(119), "119 s");
        assert_eq!(told(185), "3 min");
        assert_eq!(told(9_000), "2.5 h");
    }
}
