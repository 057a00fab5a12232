//! Texts of other programs, told by their form: what they are, and which command reads them.

use super::kind::InputKind;

const LIBVIRT: InputKind = InputKind::Foreign {
    what: "a domain of libvirt, in XML",
    advice: "`domio scenario import` makes a scenario of it, and `domio run` and `explain` take \
             that",
};
const XML: InputKind = InputKind::Foreign {
    what: "an XML file",
    advice: "no command reads XML; `domio scenario show` prints what a scenario looks like",
};
const BIOSNOOP: InputKind = InputKind::Foreign {
    what: "an output of biosnoop",
    advice: "no command reads it yet; `domio trace summary` reads what blktrace, blkparse or \
             ftrace (trace_pipe) wrote of the same requests",
};
/// What `xl` or `xm` printed.
pub(super) const LISTS: InputKind = InputKind::Foreign {
    what: "an output of `xl` or `xm`",
    advice: "`domio scenario from-lists` makes a scenario of it, and `domio run` and `explain` \
             take that",
};
const FIO_JOBS: InputKind = InputKind::Foreign {
    what: "a job file of fio",
    advice: "a scenario runs it in a guest: `workload = \"fio\"` with `job_file = \"FILE\"`, as \
             `domio scenario show fio-jobs` does",
};
const FIO_RESULT: InputKind = InputKind::Foreign {
    what: "a result of fio, in JSON",
    advice: "no command reads it; `domio trace summary` reads fio's logs of calls (write_iolog)",
};
const STATS: InputKind = InputKind::Foreign {
    what: "an output of iostat, vmstat or sar",
    advice: "no command reads it: sums have no single requests or waits; of a host give what `xl` \
             printed to `domio scenario from-lists`, or record with `xentrace` or `blktrace`",
};

/// Lines that are looked at.
const LOOK: usize = 200;

/// What `text` is, if it is one of another program.
pub(super) fn foreign(text: &str) -> InputKind {
    let begin = text.trim_start_matches('\u{feff}').trim_start();
    if begin.starts_with('<') {
        return of_xml(begin);
    }
    if begin.starts_with(['[', '{']) && begin.contains("\"domid\"") && begin.contains("\"config\"")
    {
        return LISTS;
    }
    if begin.starts_with('{') && begin.contains("\"fio version\"") {
        return FIO_RESULT;
    }
    let mut in_section = false;
    for line in begin.lines().take(LOOK) {
        if let Some(kind) = of_line(line) {
            return kind;
        }
        in_section |= line.starts_with('[') && line.trim_end().ends_with(']');
        let (key, value) = line.split_once('=').unwrap_or_default();
        // A scenario's values have quotes.
        let is_word = !value.trim_start().starts_with(['"', '\'', '[', '{']);
        let is_of_fio = ["rw", "readwrite", "ioengine", "iodepth", "bssplit"].contains(&key.trim());
        if in_section && is_of_fio && is_word && !value.is_empty() {
            return FIO_JOBS;
        }
    }
    InputKind::Unknown
}

/// The first element behind the declaration and comments decides.
fn of_xml(text: &str) -> InputKind {
    let mut rest = text;
    loop {
        let end = match rest {
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            _ => break,
        };
        let Some((_, behind)) = rest.split_once(end) else {
            return XML;
        };
        rest = behind.trim_start();
    }
    let name = rest.trim_start_matches('<');
    let is = |of: &str| {
        name.strip_prefix(of)
            .is_some_and(|b| !b.starts_with(|c: char| c.is_alphanumeric()))
    };
    match (
        is("domain") || is("domstatus") || is("domainsnapshot"),
        text.starts_with("<?xml"),
    ) {
        (true, _) => LIBVIRT,
        (false, true) => XML,
        (false, false) => InputKind::Unknown,
    }
}

/// What the form of a line says.
fn of_line(line: &str) -> Option<InputKind> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |all: &[&str]| all.iter().all(|word| words.contains(word));
    if has(&["Name", "ID"])
        && ["VCPUs", "VCPU", "Weight", "Budget", "Uptime"]
            .iter()
            .any(|w| has(&[w]))
    {
        return Some(LISTS);
    }
    let is_info = words.get(1) == Some(&":")
        && matches!(words[0], "xen_version" | "xen_major" | "xen_scheduler");
    if is_info || words.first() == Some(&"Cpupool") && line.contains(':') {
        return Some(LISTS);
    }
    if has(&["COMM", "PID", "DISK"]) && (has(&["SECTOR"]) || has(&["LAT(ms)"])) {
        return Some(BIOSNOOP);
    }
    let is_stats = line.starts_with("procs ---")
        || has(&["avg-cpu:"])
        || has(&["Device", "r/s"])
        || has(&["Device:", "r/s"]);
    if is_stats {
        return Some(STATS);
    }
    of_events(&words)
}

/// A line of events of Linux: `bash  1234 [003]  12.345678:  sched:sched_switch: ...` of
/// `perf script`, `bash-1234  [003] d..2  12.345678: sched_switch: ...` of ftrace.
fn of_events(words: &[&str]) -> Option<InputKind> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let cpu = words.iter().position(|word| {
        let inner = word
            .strip_prefix('[')
            .and_then(|word| word.strip_suffix(']'));
        inner.is_some_and(is_number)
    })?;
    let is_time = |word: &&str| {
        let parts = word.strip_suffix(':').and_then(|word| word.split_once('.'));
        parts.is_some_and(|(s, fraction)| is_number(s) && is_number(fraction))
    };
    let time = words.get(cpu + 1..)?.iter().take(2).position(is_time)? + cpu + 1;
    let before = words.get(cpu.checked_sub(1)?)?;
    // An event, or a count of one (`250000 cycles:`).
    let mut events = words.get(time + 1..)?.iter().take(2);
    if !events.any(|word| word.ends_with(':')) {
        return None;
    }
    let pid = before.rsplit_once('-').map(|(_, pid)| pid);
    let is_thread = is_number(before) || before.split('/').all(is_number);
    (is_thread || pid.is_some_and(is_number)).then_some(InputKind::Trace)
}
