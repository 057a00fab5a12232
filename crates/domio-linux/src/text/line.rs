//! The parts of one line: thread, cpu, time, name of the event, fields.

/// A line of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Line<'a> {
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

/// Where the last `byte` is. What is looked for is near the end, where a loop is faster than
/// vectors.
#[inline]
pub fn rfind(byte: u8, text: &[u8]) -> Option<usize> {
    text.iter().rposition(|b| *b == byte)
}

/// Where the first `byte` is, from `from` on. What is looked for is near the start, where eight
/// bytes at a time are faster than a call of what compares vectors.
#[inline]
pub fn find(byte: u8, text: &[u8], from: usize) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let wanted = ONES.wrapping_mul(u64::from(byte));
    let mut at = from;
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        // A byte that is 0 here gets its highest bit; of the ones below, none does.
        let other = u64::from_le_bytes(*bytes) ^ wanted;
        let found = other.wrapping_sub(ONES) & !other & (ONES << 7);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = text.get(at..)?.iter().position(|b| *b == byte);
    rest.map(|rest| at + rest)
}

#[inline]
pub fn number(digits: &[u8]) -> Option<u64> {
    // 19 digits fit into 64 bits.
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut n = 0u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n = n.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    Some(n)
}

fn small(digits: &[u8]) -> Option<u32> {
    u32::try_from(number(digits)?).ok()
}

/// A time: seconds with decimals, of which nine count, or a bare number.
#[inline]
fn time(text: &[u8]) -> Option<u64> {
    /// Nanoseconds by the number of decimals.
    const SCALE: [u64; 10] = [
        1_000_000_000,
        100_000_000,
        10_000_000,
        1_000_000,
        100_000,
        10_000,
        1000,
        100,
        10,
        1,
    ];
    let Some(point) = text.iter().position(|b| *b == b'.') else {
        return number(text);
    };
    let (seconds, decimals) = (number(&text[..point])?, &text[point + 1..]);
    let decimals = &decimals[..decimals.len().min(9)];
    let ns = number(decimals)? * SCALE[decimals.len()];
    seconds.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// What is before "us" and the mark of a long wait, if the text ends so.
#[inline]
fn micros(text: &[u8]) -> Option<&[u8]> {
    let marked = text.strip_suffix(b" ").or_else(|| match text.last() {
        Some(b'+' | b'!' | b'#' | b'*' | b'@' | b'$') => Some(&text[..text.len() - 1]),
        _ => None,
    });
    marked.unwrap_or(text).strip_suffix(b"us")
}

/// Splits a line; none if the line is not one of an event.
pub fn split(line: &[u8]) -> Option<Line<'_>> {
    let mut from = 0;
    while let Some(colon) = find(b':', line, from) {
        from = colon + 1;
        if line
            .get(colon + 1)
            .is_some_and(|b| *b != b' ' && *b != b'\t')
        {
            continue;
        }
        let head = &line[..colon];
        // Latency tracers print microseconds, with a mark or a space before the colon.
        let relative = micros(head);
        let start = rfind(b' ', relative.unwrap_or(head)).map_or(0, |at| at + 1);
        let stamp = &relative.unwrap_or(head)[start..];
        if !stamp.first().is_some_and(u8::is_ascii_digit) {
            continue;
        }
        let time = match relative {
            Some(_) => number(stamp).and_then(|us| us.checked_mul(1000)),
            None => time(stamp),
        };
        let Some(time) = time else { continue };
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
            let open = rfind(b'(', inner)?;
            (
                head[..open].trim_ascii_end(),
                small(inner[open + 1..].trim_ascii()),
            )
        }
        None => (head, None),
    };
    let word = rfind(b' ', head).map_or(0, |at| at + 1);
    let (comm, tid) = thread(head, word)?;
    // `trace-cmd report` puts the name of a file or of a buffer before the thread.
    let prefix = match comm.len() {
        0..=16 => None,
        _ => comm.windows(2).rposition(|w| w == b": "),
    };
    let comm = prefix.map_or(comm, |at| &comm[at + 2..]);
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
    if let Some(slash) = rfind(b'/', last) {
        let (pid, tid) = (&last[..slash], &last[slash + 1..]);
        if let (Some(_), Some(tid)) = (small(pid), small(tid)) {
            return Some((&head[..word], Some(tid)));
        }
    }
    let dash = rfind(b'-', head)?;
    Some((&head[..dash], Some(small(&head[dash + 1..])?)))
}

/// The cpu, "[000]" with flags or none behind, or digits before flags ("0d..2", latency format),
/// and what is before.
fn cpu(text: &[u8]) -> Option<(&[u8], u32)> {
    if let Some(open) = rfind(b'[', text) {
        let close = open + text[open..].iter().position(|b| *b == b']')?;
        if let Some(cpu) = small(text[open + 1..close].trim_ascii()) {
            return Some((text[..open].trim_ascii_end(), cpu));
        }
    }
    let word = rfind(b' ', text)? + 1;
    let last = &text[word..];
    let digits = last.iter().take_while(|b| b.is_ascii_digit()).count();
    let flags = &last[digits..];
    let is_flag = |b: &u8| b.is_ascii_digit() || b".dDXbBNnpLlHhsiZz".contains(b);
    if (4..=6).contains(&flags.len()) && flags.iter().all(is_flag) {
        return Some((text[..word].trim_ascii_end(), small(&last[..digits])?));
    }
    None
}

/// Name and fields. perf can have a number of samples before the name, and the system within.
fn event(text: &[u8]) -> (&[u8], &[u8]) {
    let mut text = text.trim_ascii();
    // As nearly all lines have it.
    if let Some(colon) = find(b':', text, 0)
        && text.get(colon + 1) == Some(&b' ')
        && !text[..colon].iter().any(u8::is_ascii_whitespace)
    {
        return (&text[..colon], text[colon + 1..].trim_ascii_start());
    }
    loop {
        let end = text
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(text.len());
        let (word, rest) = (&text[..end], text[end..].trim_ascii_start());
        if let Some(name) = word.strip_suffix(b":") {
            let start = rfind(b':', name).map_or(0, |at| at + 1);
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

    /// A line, and what is expected: name, thread, process, cpu, time.
    type Case = (
        &'static str,
        &'static str,
        Option<u32>,
        Option<u32>,
        Option<u32>,
        u64,
    );

    const CASES: [Case; 13] = [
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
            "  foo:           CPU 0/KVM-9     [001] d..2. 5.5: sched_switch: x",
            "CPU 0/KVM",
            Some(9),
            None,
            Some(1),
            5_500_000_000,
        ),
        (
            "  <idle>-0       1d..2   12us!: sched_switch: x",
            "<idle>",
            Some(0),
            None,
            Some(1),
            12_000,
        ),
        (
            "    bash-7       1d..2.   12us : sched_switch: x",
            "bash",
            Some(7),
            None,
            Some(1),
            12_000,
        ),
        (
            "a-46      12dNh2 76.211513: sched_switch:          x",
            "a",
            Some(46),
            None,
            Some(12),
            76_211_513_000,
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
    ];

    #[test]
    fn lines_of_all_programs_are_split() {
        let switch = "sched_switch".to_string();
        for (line, comm, tid, process, cpu, time) in CASES {
            let expected = (comm.to_string(), tid, process, cpu, time, switch.clone());
            assert_eq!(parts(line), expected, "{line}");
        }
    }

    #[test]
    fn the_first_of_some_bytes_is_found() {
        let text: Vec<u8> = (0..=255).chain(0..=255).collect();
        for byte in 0..=255 {
            let at = usize::from(byte);
            assert_eq!(find(byte, &text, 0), Some(at));
            assert_eq!(find(byte, &text, at + 1), Some(at + 256));
            assert_eq!(find(byte, &text, at + 257), None);
        }
        assert_eq!(find(b':', b"", 0), None);
        assert_eq!(find(b':', b"a:", 3), None);
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
