//! The summary of one trace as tables.

use crate::summed::Summed;
use crate::text::View;
use crate::text::table::render as table;
use crate::written;

/// Domains, pcpus and what the trace covers.
pub fn render(summed: Summed<'_>, view: &View) -> String {
    let seconds = written::number(summed.summary.seconds());
    let mut parts = vec![format!(
        "Time and waits, from the first record to the last, {seconds} s:\n"
    )];
    for shown in summed.tables() {
        let title = match &*shown.title {
            "" => String::new(),
            title => format!("{title}:\n\n"),
        };
        parts.push(title + &table(&shown, view));
    }
    let said = [summed.findings(), vec![summed.covers()]].concat();
    parts.push(said.join("\n") + "\n");
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;
    use domio_core::{DomainId, Instant, Names, PcpuId, Record, Runstate, Sink, VcpuName};
    use domio_meter::{DriverWork, Meter, Summary};

    #[test]
    fn domains_are_named_and_the_idle_one_is_not_shown() {
        let mut meter = Meter::new();
        let mut names = Names::new();
        let guest = names.add_actor(VcpuName::new(DomainId(3), 0));
        let idle = names.add_actor(VcpuName::idle(PcpuId(0)));
        let mut change = |ms: u64, vcpu, old, new| {
            let at = Instant::from_nanos(ms * 1_000_000);
            meter.record(&names, &Record::runstate(at, PcpuId(0), vcpu, old, new));
        };
        change(0, guest, Runstate::Runnable, Runstate::Running);
        change(30, guest, Runstate::Running, Runstate::Blocked);
        change(30, idle, Runstate::Runnable, Runstate::Running);
        change(100, idle, Runstate::Running, Runstate::Runnable);
        let mut summary = meter.finish();
        let web = [(DomainId(3), "web".to_owned())];
        let text_of = |summary: &Summary, names| {
            strip_str(&render(
                Summed {
                    summary,
                    names,
                    threads: &[],
                },
                &View::default(),
            ))
            .to_string()
        };
        let text = text_of(&summary, &web);
        assert!(text.contains("web") && text.contains("30 "), "{text}");
        assert!(!text.contains("idle"));
        assert!(text.ends_with("4 records in 0.1 s\n"), "{text}");
        assert!(!text.contains("Work of"));
        summary.undeclared = vec![("0x00802001".to_owned(), 3)];
        let text = text_of(&summary, &[]);
        assert!(
            text.ends_with("\n\nRecords that nobody declares: 3 0x00802001\n4 records in 0.1 s\n"),
            "{text}"
        );
        assert!(text.contains("dom3"), "{text}");
        summary.driver_work = vec![DriverWork {
            driver: DomainId(0),
            busy: 30_000_000,
            done_for: [(DomainId(3), 20_500_000)].into(),
        }];
        let text = text_of(&summary, &web);
        let (_, work) = text
            .split_once("\nWork of Domain-0 for others:\n\n")
            .unwrap();
        let rows: Vec<String> = work
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for row in ["web 20.5 20.5 ms", "nobody 9.5 9.5 ms", "busy 30 30 ms"] {
            assert!(rows.iter().any(|r| r == row), "{row}: {text}");
        }
    }
}
