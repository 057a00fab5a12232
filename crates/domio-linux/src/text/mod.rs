//! Text of `/sys/kernel/tracing/trace`, `trace-cmd report`, `perf script`, and systrace in HTML.

mod fields;
mod kernel;
mod line;

use std::collections::VecDeque;

use memchr::{memchr, memchr2, memmem};

use crate::bytes::text;
use crate::error::{LinuxError, LinuxErrorKind, cut};
use crate::input::Flow;
use crate::known::Known;
use crate::source::Source;
use crate::{LinuxEvent, LinuxWhat, Tid};

/// Bytes of a line beyond which it is no line of a trace.
const LONGEST: usize = 64 << 10;
/// Bytes without a line of an event after which a text is no trace. Pages of systrace begin with a
/// viewer of megabytes.
const MOST_FOREIGN: u64 = 1 << 20;
const MOST_FOREIGN_HTML: u64 = 64 << 20;

/// Threads that are kept in mind, so that nothing is looked up for most lines.
const SEEN: usize = 256;

struct TextReader {
    flow: Flow,
    html: bool,
    /// Whether lines of the trace come, in HTML.
    inside: bool,
    /// Entries that the head promises.
    promised: Option<u64>,
    /// Entries so far.
    entries: u64,
    without_cpu: u64,
    /// Cpus that have lost events since their last event, with how many.
    lost: Vec<(u32, u64)>,
    ready: VecDeque<LinuxEvent>,
    /// Threads whose names are known, with their processes, by the lowest bits of their ids.
    seen: Vec<(u32, u32)>,
    first_line: Option<String>,
    ended: bool,
}

/// Whether a text begins like one of a trace.
pub fn is_start(head: &[u8]) -> bool {
    let has = |what: &[u8]| memmem::find(head, what).is_some();
    let of_trace_cmd = head.starts_with(b"cpus=") || head.starts_with(b"version = ");
    let mut lines = head.split(|b| *b == b'\n');
    of_trace_cmd
        || has(b"# tracer:")
        || has(b"<title>Android System Trace</title>")
        || lines.any(|l| line::split(l).is_some_and(|l| l.cpu.is_some() && !l.name.is_empty()))
}

pub fn source(mut flow: Flow, known: &mut Known) -> Result<Box<dyn Source>, LinuxError> {
    flow.need(1)?;
    let start = flow.ready().trim_ascii_start();
    let html = matches!(start, [b'<', b'!' | b'h' | b'H', ..]);
    known.recording.clock = None;
    Ok(Box::new(TextReader {
        flow,
        html,
        inside: !html,
        promised: None,
        entries: 0,
        without_cpu: 0,
        lost: Vec::new(),
        ready: VecDeque::new(),
        seen: vec![(u32::MAX, u32::MAX); SEEN],
        first_line: None,
        ended: false,
    }))
}

/// Bytes of the next line with its end, and of the end.
enum Next {
    Line(usize, usize),
    /// A line that is too long, of which these bytes are ready.
    Long(usize),
    /// The last line, without an end.
    Last(usize),
    End,
}

impl TextReader {
    /// Finds the end of the next line. In strings of JavaScript a line ends with `\n`.
    fn next_line(&mut self) -> Result<Next, LinuxError> {
        let mut from = 0;
        loop {
            let ready = self.flow.ready();
            if let Some(found) = line_end(ready, from, self.html) {
                return Ok(found);
            }
            from = ready.len().saturating_sub(1);
            if ready.len() > LONGEST {
                return Ok(Next::Long(ready.len() - 1));
            }
            if self.flow.is_ended() {
                return Ok(match ready.len() {
                    0 => Next::End,
                    n => Next::Last(n),
                });
            }
            let more = ready.len() + 1;
            self.flow.need(more)?;
        }
    }

    /// Reads one line.
    fn step(&mut self, known: &mut Known) -> Result<(), LinuxError> {
        let at = self.flow.offset();
        let most = if self.html {
            MOST_FOREIGN_HTML
        } else {
            MOST_FOREIGN
        };
        if self.entries == 0 && at > most {
            return Err(self.foreign());
        }
        match self.next_line()? {
            Next::Line(n, end) => {
                self.line(n - end, at, known);
                self.flow.advance(n);
            }
            Next::Long(n) => self.flow.advance(n),
            Next::Last(n) => {
                let whole = self.line(n, at, known);
                self.flow.advance(n);
                self.ended = true;
                if !whole && !self.html {
                    return Err(cut("the last line", n as u64 + 1, n as u64, at));
                }
            }
            Next::End => self.ended = true,
        }
        Ok(())
    }

    /// Takes up one line of `n` bytes; false if an event's line cannot be read.
    fn line(&mut self, n: usize, at: u64, known: &mut Known) -> bool {
        let mut line = &self.flow.ready()[..n];
        while let [before @ .., b'\r' | b'\\' | b' '] = line {
            line = before;
        }
        if self.first_line.is_none() && !line.trim_ascii().is_empty() {
            self.first_line = Some(text(&line[..line.len().min(60)]));
        }
        let Some(parts) = line::split(line) else {
            return other(
                line,
                &mut self.inside,
                &mut self.promised,
                &mut self.lost,
                at,
                known,
            );
        };
        // Records of perf between its samples.
        if let Some(record) = record(&parts) {
            if let (Some(events), Some(cpu)) = (record, parts.cpu) {
                self.lost.push((cpu, events));
            }
            return true;
        }
        self.entries += 1;
        let Some(cpu) = parts.cpu else {
            self.without_cpu += 1;
            return true;
        };
        // systrace has marks of its own clock at time 0.
        if parts.time == 0 && self.html {
            return true;
        }
        let current = parts.tid.map(Tid);
        if let Some(tid) = current {
            let this = (tid.0, parts.process.unwrap_or(u32::MAX));
            let seen = &mut self.seen[tid.0 as usize % SEEN];
            if *seen != this {
                if !known.is_named(tid) && !parts.comm.starts_with(b":") {
                    known.name(tid, 0, parts.comm);
                }
                if let Some(process) = parts.process {
                    known.process(tid, Tid(process));
                }
                if known.is_named(tid) {
                    *seen = this;
                }
            }
        }
        let (what, whole) = match fields::what(&parts, known) {
            Some(what) => (what, true),
            None => {
                known
                    .damage
                    .skip("lines with fields that cannot be read", at);
                (LinuxWhat::Other, false)
            }
        };
        let event = LinuxEvent {
            time: parts.time,
            cpu,
            current,
            what,
        };
        for (cpu, events) in self.lost.drain(..) {
            self.ready.push_back(LinuxEvent {
                time: parts.time,
                cpu,
                current: None,
                what: LinuxWhat::Lost { events },
            });
        }
        self.ready.push_back(event);
        whole
    }

    fn foreign(&self) -> LinuxError {
        let first = self.first_line.as_deref().unwrap_or("");
        let comma = first.split(',').count() > 3;
        LinuxErrorKind::Foreign {
            found: format!("text without a line of an event; its first line is \"{first}\""),
            hint: match comma {
                true => "; a table (CSV) is not read: use the recording that it was made from",
                false => {
                    "; print with `perf script`, `trace-cmd report` or \
                          `cat /sys/kernel/tracing/trace`"
                }
            },
        }
        .at(0)
    }

    /// The end of the text: whether all is there.
    fn end(&self, known: &mut Known) -> Result<Option<LinuxEvent>, LinuxError> {
        if self.entries == 0 {
            return Err(self.foreign());
        }
        if self.entries == self.without_cpu {
            return Err(LinuxErrorKind::Unusable(format!(
                "none of the {} lines names a cpu; print with `perf script -F \
                 comm,tid,cpu,time,event,trace`",
                self.entries
            ))
            .at(0));
        }
        match self.promised {
            // A page of HTML that has its end is whole, and has what its maker left of the trace.
            Some(expected) if expected > self.entries && self.html && !self.inside => {
                let at = self.flow.offset();
                known
                    .damage
                    .skip("texts with fewer entries than their head says", at);
                Ok(None)
            }
            Some(expected) if expected > self.entries => Err(LinuxErrorKind::Truncated {
                what: "the text".to_string(),
                unit: "entries (says its head)",
                expected,
                found: self.entries,
            }
            .at(self.flow.offset())),
            _ => Ok(None),
        }
    }
}

/// The first line in `data`, whose end is not before `from`.
fn line_end(data: &[u8], from: usize, html: bool) -> Option<Next> {
    if !html {
        let n = from + memchr(b'\n', &data[from..])?;
        return Some(Next::Line(n + 1, 1));
    }
    let mut from = from;
    loop {
        let n = from + memchr2(b'\n', b'\\', &data[from..])?;
        if data[n] == b'\n' {
            return Some(Next::Line(n + 1, 1));
        }
        if *data.get(n + 1)? == b'n' {
            return Some(Next::Line(n + 2, 2));
        }
        from = n + 1;
    }
}

/// Takes up a line other than one of an event; false if it should be one.
fn other(
    line: &[u8],
    inside: &mut bool,
    promised: &mut Option<u64>,
    lost: &mut Vec<(u32, u64)>,
    at: u64,
    known: &mut Known,
) -> bool {
    let line = line.trim_ascii();
    let has = |what: &[u8]| memmem::find(line, what).is_some();
    if line.starts_with(b"#") || has(b"# tracer:") {
        *inside = *inside || has(b"# tracer:");
        head_line(line, promised, known);
    } else if has(b"</script>") {
        *inside = false;
    } else if let Some(rest) = line.strip_prefix(b"CPU:") {
        lost.extend(lost_line(rest));
    } else if let Some(cpus) = line.strip_prefix(b"cpus=") {
        known.recording.cpus = std::str::from_utf8(cpus).ok().and_then(|n| n.parse().ok());
    } else if *inside && (has(b"sched_switch") || has(b"sched_wak")) {
        known.damage.skip("lines of events that cannot be read", at);
        return false;
    }
    true
}

/// Whether a line is one of `perf script --show-task-events` and the like, and how many events are
/// lost if the record says that.
fn record(line: &line::Line<'_>) -> Option<Option<u64>> {
    let text = if line.name.is_empty() {
        line.fields
    } else {
        line.name
    };
    let kind = text.strip_prefix(b"PERF_RECORD_")?;
    let lost = kind.starts_with(b"LOST").then(|| {
        let words = line.fields.split(|b| *b == b' ');
        words.filter_map(line::number).next().unwrap_or(0)
    });
    Some(lost)
}

/// "2 [LOST 12 EVENTS]" of ftrace, "2 [12 EVENTS DROPPED]" and "2 [EVENTS DROPPED]" of trace-cmd.
fn lost_line(rest: &[u8]) -> Option<(u32, u64)> {
    let rest = text(rest);
    let (cpu, what) = rest.split_once('[')?;
    let events = what.split_whitespace().find_map(|w| w.parse().ok());
    Some((cpu.trim().parse().ok()?, events.unwrap_or(0)))
}

/// A line of the head: counts of ftrace, descriptions of perf.
fn head_line(line: &[u8], promised: &mut Option<u64>, known: &mut Known) {
    let line = text(line);
    let recording = &mut known.recording;
    if let Some((_, counts)) = line.split_once("entries-in-buffer/entries-written:") {
        let mut words = counts.split_whitespace();
        let counts = words.next().and_then(|w| w.split_once('/'));
        if let Some((Ok(kept), Ok(written))) = counts.map(|(a, b)| (a.parse(), b.parse::<u64>())) {
            *promised = Some(kept);
            known.losses.overwritten = written.saturating_sub(kept);
        }
        let cpus = words.find_map(|w| w.strip_prefix("#P:"));
        recording.cpus = cpus.and_then(|n| n.parse().ok());
    } else if let Some((name, value)) = line.trim_start_matches(['#', ' ']).split_once(" : ") {
        let value = Some(value.trim().to_string());
        match name.trim() {
            "hostname" => recording.host = value,
            "os release" => recording.kernel = value,
            "perf version" => recording.tool = value.map(|v| format!("perf {v}")),
            "arch" => recording.machine = value,
            "cmdline" => recording.command = value,
            "nrcpus online" => recording.cpus = value.and_then(|v| v.parse().ok()),
            _ => {}
        }
    }
}

impl Source for TextReader {
    fn next(&mut self, known: &mut Known) -> Result<Option<LinuxEvent>, LinuxError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.ended {
                return self.end(known);
            }
            self.step(known)?;
        }
    }

    fn contents(&self) -> String {
        format!("{} lines of events", self.entries)
    }
}
