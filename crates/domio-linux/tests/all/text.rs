//! Texts of ftrace, trace-cmd, perf and systrace.

use domio_linux::{Left, LinuxFormat, LinuxWhat, Tid};

use crate::{all, error, read, reader};

const SWITCH: &str = "sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R+ ==> \
                      next_comm=CPU 0/KVM next_pid=8 next_prio=120";

fn head(kept: u64, written: u64) -> String {
    format!(
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: {kept}/{written}   #P:4\n#\n\
         #           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION\n"
    )
}

#[test]
fn the_text_of_the_kernel_is_read() {
    let text = format!(
        "{}           a-7     (    5) [001] d..2.   12.000001: {SWITCH}\n\
         CPU:1 [LOST 12 EVENTS]\n\
         \x20      <...>-8     (-----) [001] d..2.   13.000001: sched_waking: \
         comm=b c pid=9 prio=100 target_cpu=003\n\
         \x20      <...>-8     (-----) [001] d..2.   13.000001: <stack trace>\n => __schedule\n",
        head(3, 10)
    );
    let (events, reader) = read(text.into_bytes());
    assert_eq!(reader.format(), LinuxFormat::Text);
    let what: Vec<_> = events.iter().map(|e| (e.time, e.cpu, e.what)).collect();
    let switch = LinuxWhat::Switch {
        prev: Tid(7),
        prev_prio: 120,
        left: Left::Preempted,
        next: Tid(8),
        next_prio: 120,
    };
    let waking = LinuxWhat::Waking {
        tid: Tid(9),
        prio: 100,
        target_cpu: 3,
    };
    let expected = [
        (12_000_001_000, 1, switch),
        (13_000_001_000, 1, LinuxWhat::Lost { events: 12 }),
        (13_000_001_000, 1, waking),
        (13_000_001_000, 1, LinuxWhat::Other),
    ];
    assert_eq!(what, expected);
    assert_eq!(reader.about().cpus, Some(4));
    assert_eq!(reader.losses().overwritten, 7);
    assert_eq!(reader.tasks().get(Tid(7)).unwrap().process, Some(Tid(5)));
    assert_eq!(reader.tasks().get(Tid(8)).unwrap().comm, "CPU 0/KVM");
    assert_eq!(reader.tasks().get(Tid(9)).unwrap().comm, "b c");
}

#[test]
fn fewer_lines_than_the_head_says_are_a_cut() {
    let text = format!("{}  a-7 [001] d..2. 12.000001: {SWITCH}\n", head(5, 5));
    let mut reader = reader(text.into_bytes()).unwrap();
    let (events, error) = all(&mut reader);
    let error = error.unwrap();
    assert_eq!(events.len(), 1);
    assert!(
        error.is_truncation() && error.to_string().contains("should have 5 entries"),
        "{error}"
    );
}

#[test]
fn a_line_that_is_cut_is_a_cut() {
    let text = format!("  a-7 [001] d..2. 12.000001: {SWITCH}\n");
    for n in [20, 40, 80, 120] {
        let bytes = format!("{text}{}", &text[..n]).into_bytes();
        let mut reader = reader(bytes).unwrap();
        let (events, error) = all(&mut reader);
        assert_eq!(
            events.iter().filter(|e| e.what != LinuxWhat::Other).count(),
            1,
            "{n} bytes"
        );
        // Without the name of the event nothing says that a line is one of a trace.
        assert_eq!(error.is_some(), n > 40, "{n} bytes");
    }
}

#[test]
fn stacks_and_records_between_the_lines_of_perf_are_skipped() {
    let text = "# hostname : rig\n# os release : 6.1.0\n# cmdline : /usr/bin/perf record -a\n\
         swapper     0 [000]     0.000000: PERF_RECORD_COMM: perf:1/1\n\
         a 7 [001]   12.500000:          1 sched:sched_switch: \
         prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 \
         next_prio=120\n\
         \tffffffff810a7b6c __schedule+0x2ec (/lib/modules/6.1.0/vmlinux)\n\
         \t    7f1c9c40bd15 read+0x15 (/usr/lib/libc.so.6)\n\n\
         b 8 [001]   12.600000: PERF_RECORD_LOST lost 5\n\
         :-1 -1 [001]   12.700000:          1 sched:sched_stat_runtime: \
         comm=b pid=8 runtime=77 [ns]\n";
    let (events, reader) = read(text.as_bytes().to_vec());
    let what: Vec<_> = events.iter().map(|e| e.what).collect();
    assert!(matches!(what[0], LinuxWhat::Switch { .. }));
    let rest = [
        LinuxWhat::Lost { events: 5 },
        LinuxWhat::Runtime {
            tid: Tid(8),
            ns: 77,
        },
    ];
    assert_eq!(what[1..], rest);
    assert_eq!(events[2].current, None);
    assert_eq!(reader.about().kernel.as_deref(), Some("6.1.0"));
    assert!(reader.damage().is_empty(), "{:?}", reader.damage());
}

#[test]
fn pages_of_systrace_are_read_old_and_new() {
    let lines = [
        "# tracer: nop".to_string(),
        "#".to_string(),
        "  <idle>-0     (-----) [001] d..3 0.0: tracing_mark_write: trace_event_clock_sync"
            .to_string(),
        format!("  a-7     (    5) [001] d..2 12.000001: {SWITCH}"),
        format!("  <7952>-7952  (-----) [000] d..2 13.000001: {SWITCH}"),
    ];
    let new = format!(
        "<!DOCTYPE html>\n<html>\n<script>\nvar x = 1;\n</script>\n\
         <script class=\"trace-data\" type=\"application/text\">\n{}\n</script>\n</html>\n",
        lines.join("\n")
    );
    let old = format!(
        "<!DOCTYPE html>\n<html>\n<script>\n  var linuxPerfData = \"\\\n{}\\n\\\n\";\n\
         </script>\n</html>\n",
        lines.join("\\n\\\n")
    );
    let one_line = format!(
        "<!DOCTYPE html>\n<html>\n<script>\n  var linuxPerfData = \"{}\\n\";\n</script>\n</html>\n",
        lines.join("\\n")
    );
    for page in [new, old, one_line] {
        let (events, reader) = read(page.clone().into_bytes());
        let times: Vec<_> = events.iter().map(|e| (e.time, e.cpu)).collect();
        assert_eq!(times, [(12_000_001_000, 1), (13_000_001_000, 0)], "{page}");
        assert!(reader.damage().is_empty(), "{:?}", reader.damage());
    }
}

#[test]
fn lines_of_events_that_cannot_be_read_are_counted() {
    let good = format!("  a-7 [001] d..2. 12.000001: {SWITCH}\n");
    let bad = good.replace("prev_pid=7", "prev_pid=x") + &good.replace("12.000001:", "12.0a");
    let (events, reader) = read(format!("{good}{bad}").into_bytes());
    assert_eq!(events.len(), 2);
    let counts: Vec<_> = reader
        .damage()
        .skipped
        .iter()
        .map(|s| (s.what, s.count))
        .collect();
    let expected = [
        ("lines with fields that cannot be read", 1),
        ("lines of events that cannot be read", 1),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn times_that_go_back_are_put_right_and_counted() {
    let line = |time: &str| format!("  a-7 [001] d..2. {time}: {SWITCH}\n");
    let (events, reader) = read(
        [line("2.0"), line("1.0"), line("3.0")]
            .concat()
            .into_bytes(),
    );
    let times: Vec<_> = events.iter().map(|e| e.time / 1_000_000_000).collect();
    assert_eq!(times, [2, 2, 3]);
    assert_eq!(reader.damage().disorder, 1);
}

#[test]
fn lines_without_a_cpu_are_refused_with_the_command_that_prints_cpus() {
    let line = format!("a 7 12.000001: sched:{SWITCH}\n");
    let error = error(line.into_bytes()).to_string();
    assert!(
        error.contains("perf script -F comm,tid,cpu,time,event,trace"),
        "{error}"
    );
}
