//! The parts of one line: thread, cpu, time, name of the event, fields.

use memchr::{memchr_iter, memrchr};

/// A line of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line<'a> {
    /// The thread's name; may be `<...>`.
    pub comm: &'a [u8],
    pub tid: Option<u32>,
    /// The process, where the text has a column for that and knows the process.
    pub process: Option<u32>,
    pub cpu: Option<u32>,
    /// Nanoseconds, or the value of a clock that counts something else.
    pub time: u64,
    /// The event, without its system. Empty when the line is one of another tracer.
    pub name: &'a [u8],
    pub fields: &'a [u8],
}

pub fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut n = 0u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        n = n.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some(n)
}

fn small(digits: &[u8]) -> Option<u32> {
    u32::try_from(number(digits)?).ok()
}

/// A time: seconds with decimals, or a bare number.
fn time(text: &[u8]) -> Option<u64> {
    let Some(point) = text.iter().position(|b| *b == b'.') else {
        return number(text);
    };
    let (seconds, decimals) = (number(&text[..point])?, &text[point + 1..]);
    let decimals = &decimals[..decimals.len().min(9)];
    let scale = 10u64.pow(9 - decimals.len() as u32);
    let ns = number(decimals)? * scale;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// Splits a line; none if the line is not one of an event.
pub fn split(line: &[u8]) -> Option<Line<'_>> {
    for colon in memchr_iter(b':', line) {
        if line
            .get(colon + 1)
            .is_some_and(|b| *b != b' ' && *b != b'\t')
        {
            continue;
        }
        let start = memrchr(b' ', &line[..colon]).map_or(0, |at| at + 1);
        let stamp = &line[start..colon];
        if !stamp.first().is_some_and(u8::is_ascii_digit) {
            continue;
        }
        let Some(time) = time(stamp) else { continue };
        let Some(who) = who(line[..start].trim_ascii_end()) else {
            continue;
        };
        let (name, fields) = event(&line[colon + 1..]);
        return Some(Line {
            time,
            name,
            fields,
            ..who
        });
    }
    None
}

/// What is left of the time.
fn who(text: &[u8]) -> Option<Line<'_>> {
    let (head, cpu) = match cpu(text) {
        Some((head, cpu)) => (head, Some(cpu)),
        None => (text, None),
    };
    let (head, process) = match head.strip_suffix(b")") {
        Some(inner) => {
            let open = memrchr(b'(', inner)?;
            (
                head[..open].trim_ascii_end(),
                small(inner[open + 1..].trim_ascii()),
            )
        }
        None => (head, None),
    };
    let word = memrchr(b' ', head).map_or(0, |at| at + 1);
    let (comm, tid) = thread(head, word)?;
    Some(Line {
        comm: comm.trim_ascii(),
        tid,
        process,
        cpu,
        time: 0,
        name: &[],
        fields: &[],
    })
}

/// "COMM-PID" of ftrace and trace-cmd, "COMM PID" and "COMM PID/TID" of perf. A thread of perf that
/// has ended is "-1".
fn thread(head: &[u8], word: usize) -> Option<(&[u8], Option<u32>)> {
    let last = &head[word..];
    if last == b"-1" || last == b"-1/-1" {
        return Some((&head[..word], None));
    }
    if let Some(tid) = small(last) {
        return Some((&head[..word], Some(tid)));
    }
    if let Some(slash) = memrchr(b'/', last) {
        let (pid, tid) = (&last[..slash], &last[slash + 1..]);
        if let (Some(_), Some(tid)) = (small(pid), small(tid)) {
            return Some((&head[..word], Some(tid)));
        }
    }
    let dash = memrchr(b'-', head)?;
    Some((&head[..dash], Some(small(&head[dash + 1..])?)))
}

/// The cpu, "[000]" with flags or none behind, or digits before flags ("0d..2", latency format), and
/// what is before.
fn cpu(text: &[u8]) -> Option<(&[u8], u32)> {
    if let Some(open) = memrchr(b'[', text) {
        let close = open + text[open..].iter().position(|b| *b == b']')?;
        if let Some(cpu) = small(text[open + 1..close].trim_ascii()) {
            return Some((text[..open].trim_ascii_end(), cpu));
        }
    }
    let word = memrchr(b' ', text)? + 1;
    let last = &text[word..];
    let digits = last.iter().take_while(|b| b.is_ascii_digit()).count();
    let flags = &last[digits..];
    let are_flags = flags.len() >= 4
        && flags
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'.');
    if are_flags && flags.contains(&b'.') {
        return Some((text[..word].trim_ascii_end(), small(&last[..digits])?));
    }
    None
}

/// Name and fields. perf can have a number of samples before the name, and the system within.
fn event(text: &[u8]) -> (&[u8], &[u8]) {
    let mut text = text.trim_ascii();
    loop {
        let end = text
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(text.len());
        let (word, rest) = (&text[..end], text[end..].trim_ascii_start());
        if let Some(name) = word.strip_suffix(b":") {
            let start = memrchr(b':', name).map_or(0, |at| at + 1);
            return (&name[start..], rest);
        }
        // The difference to the time before, of `trace-cmd report --ts-diff`.
        let is_difference = word.starts_with(b"(+") && word.ends_with(b")");
        if (number(word).is_none() && !is_difference) || rest.is_empty() {
            return (&[], text);
        }
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> (String, Option<u32>, Option<u32>, Option<u32>, u64, String) {
        let line = split(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        let (comm, name) = (text(line.comm), text(line.name));
        (comm, line.tid, line.process, line.cpu, line.time, name)
    }

    #[test]
    fn lines_of_all_programs_are_split() {
        let switch = "sched_switch".to_string();
        for (line, comm, tid, process, cpu, time) in [
            (
                "          <idle>-0     [001] d..2.   12.345678: sched_switch: x",
                "<idle>",
                Some(0),
                None,
                Some(1),
                12_345_678_000,
            ),
            (
                "   CPU 0/KVM-1234  (   1200) [003] d..3 214168.479892: sched_switch: x",
                "CPU 0/KVM",
                Some(1234),
                Some(1200),
                Some(3),
                214_168_479_892_000,
            ),
            (
                "a-b-7     (-----) [000] .... 1.000000001: sched_switch: x",
                "a-b",
                Some(7),
                None,
                Some(0),
                1_000_000_001,
            ),
            (
                "CPU 0/KVM  4711/4712  [002]  5.5:          1 sched:sched_switch: prev",
                "CPU 0/KVM",
                Some(4712),
                None,
                Some(2),
                5_500_000_000,
            ),
            (
                " :-1    -1 [000]    13.034249:       sched:sched_switch: x",
                ":-1",
                None,
                None,
                Some(0),
                13_034_249_000,
            ),
            (
                "x-1 [000] 5.5: (+2)     sched_switch:         x",
                "x",
                Some(1),
                None,
                Some(0),
                5_500_000_000,
            ),
            (
                "kworker/0:1-46      0d..2    76.211513: sched_switch:          x",
                "kworker/0:1",
                Some(46),
                None,
                Some(0),
                76_211_513_000,
            ),
            (
                "sleep  99  4.25: sched:sched_switch: x",
                "sleep",
                Some(99),
                None,
                None,
                4_250_000_000,
            ),
            (
                "x-1 [000] d... 123456789: sched_switch: x",
                "x",
                Some(1),
                None,
                Some(0),
                123_456_789,
            ),
        ] {
            let expected = (comm.to_string(), tid, process, cpu, time, switch.clone());
            assert_eq!(parts(line), expected, "{line}");
        }
    }

    #[test]
    fn lines_of_stacks_and_heads_are_none() {
        for line in [
            "# tracer: nop",
            "\tffffffff810a7b6c __schedule+0x2ec (/lib/modules/4: x)",
            " => __schedule",
            "cpus=4",
            "",
            "   99: ",
        ] {
            assert_eq!(split(line.as_bytes()), None, "{line}");
        }
    }
}
