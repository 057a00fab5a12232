//! What a trace tells that was dropped on the page.

use crate::pictures::drawn;
use crate::printed::pretty;
use domio_core::{DomainId, Duration, Names, Record, Sink};
use domio_meter::{Explainer, MapWindow, Meter};
use domio_report::data::Section;
use domio_report::explained::Explained;
use domio_report::observed;
use domio_report::summed::Summed;
use domio_run::observe::{Observer, Window};
use domio_trace::order::ADVICE;
use domio_trace::{DEFAULT_TSC_HZ, Format, ReadOptions, TraceError, TraceReader, frequency};
use serde::Serialize;

/// Time that a timeline shows around the longest wait.
const TIMELINE: Duration = Duration::from_millis(100);

/// What a trace tells.
#[derive(Serialize)]
pub struct Told {
    /// Name and value of what is known of the file.
    facts: Vec<(&'static str, String)>,
    /// What is good to know before the figures are believed.
    notices: Vec<String>,
    /// What `domio trace summary --json` prints.
    summary: String,
    /// What `domio explain --json` prints.
    explanation: String,
    /// Titles, texts and pictures.
    sections: Vec<(String, String, String)>,
}

/// Reads a trace once for all who want to know of it.
struct All {
    meter: Meter,
    explainer: Explainer,
    observer: Observer,
}

impl Sink for All {
    fn record(&mut self, names: &Names, record: &Record) {
        self.meter.record(names, record);
        self.explainer.record(names, record);
        self.observer.record(names, record);
    }
}

/// Explains the trace in `bytes`.
///
/// # Errors
/// When it is no trace, or damaged where it begins.
pub fn explain(bytes: &[u8], name: &str, cpu_hz: Option<u64>) -> Result<Told, String> {
    let mut notices = Vec::new();
    let options = ReadOptions {
        tsc_hz: cpu_hz.or_else(|| clock(bytes, &mut notices)),
        classes: domio_scenario::Parts::from(domio_sched::policies()).classes(),
        ..ReadOptions::default()
    };
    let refused = |error: TraceError| format!("cannot read the trace {name}: {error}");
    let mut reader = TraceReader::new(bytes, &options).map_err(refused)?;
    let mut all = All {
        meter: Meter::new(),
        explainer: Explainer::new(MapWindow::Worst),
        observer: Observer::new(Window::Worst(TIMELINE)),
    };
    let truncated = match reader.copy_to(&mut all) {
        Ok(_) => false,
        Err(error) if error.is_truncation() && error.offset > 0 && error.records > 0 => {
            notices.push(format!("{error}; using what is there"));
            true
        }
        Err(error) => return Err(refused(error)),
    };
    notices.extend(reader.skipped().map(ToString::to_string));
    let late = reader.merge_stats().late;
    if late > 0 {
        notices.push(format!(
            "{late} records are earlier than the ones before them; {ADVICE}"
        ));
    }
    let summary = all.meter.finish();
    if !summary.runstates {
        notices.push(format!(
            "{} records, but none of runstates, so there are no figures of domains and no waits to \
             explain; record with `xentrace -e 0x0002f000`",
            summary.records
        ));
    }
    let explanation = all.explainer.finish();
    let domains = explanation.domains();
    let header = reader.header();
    let known = |id: DomainId| header.and_then(|h| h.domain_name(id.0)).map(str::to_owned);
    let names = domains.iter().filter_map(|d| Some((d.id, known(d.id)?)));
    let names: Vec<(DomainId, String)> = names.collect();
    let explained = Explained::new(&explanation, &names);
    let called: Vec<(DomainId, String)> = domains
        .iter()
        .map(|d| (d.id, explained.domain(d.id)))
        .collect();
    let summed = Summed {
        summary: &summary,
        names: &names,
        threads: &reader.threads(),
    };
    let mut sections = explained.sections();
    sections.extend(observed::sections(&all.observer.finish(), &called));
    let facts = vec![
        ("trace", name.to_owned()),
        ("format", reader.format().name().to_owned()),
        ("its clock", format!("{} Hz", reader.tsc_hz())),
        ("measured time", format!("{} s", summary.seconds())),
        ("records", explanation.records.to_string()),
        ("lost records", explanation.lost_records.to_string()),
    ];
    Ok(Told {
        facts,
        notices,
        summary: pretty(&summed.answer(reader.tsc_hz(), truncated)),
        explanation: pretty(&explained.answer(truncated)),
        sections: sections.iter().enumerate().map(drawn_section).collect(),
    })
}

/// How fast the clock of the xentrace file in `bytes` counts, as its own records tell; `None` for
/// other files, which have times.
fn clock(bytes: &[u8], notices: &mut Vec<String>) -> Option<u64> {
    let format = TraceReader::new(bytes, &ReadOptions::default())
        .ok()?
        .format();
    if format == Format::Own {
        return None;
    }
    let found = frequency(bytes);
    if found.is_none() {
        notices.push(
            "the trace does not record the frequency of its clock; times are those of a counter of \
             1 GHz: give the host's frequency above"
                .to_owned(),
        );
    }
    Some(found.map_or(DEFAULT_TSC_HZ, |found| found.hz))
}

/// Title, text and pictures of a section.
fn drawn_section((index, section): (usize, &Section)) -> (String, String, String) {
    let prefix = format!("trace-{}", index + 1);
    let figures = drawn(&prefix, &section.figures);
    (section.title.clone(), section.text.clone(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_trace_of_either_format_is_explained() {
        let own = include_bytes!("../../testdata/trace/trace.domio");
        let xen = include_bytes!("../../testdata/trace/trace.xentrace");
        for (bytes, format) in [(&own[..], "domio"), (&xen[..], "xentrace")] {
            let told = explain(bytes, "trace", None).unwrap();
            assert_eq!(told.facts[1].1, format);
            let summary: Value = serde_json::from_str(&told.summary).unwrap();
            assert!(summary["domains"].as_array().is_some_and(|d| !d.is_empty()));
            assert!(
                told.sections
                    .iter()
                    .any(|(.., figures)| figures.contains("<svg"))
            );
        }
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        let refused = explain(b"a letter to a friend", "letter.txt", None)
            .err()
            .unwrap();
        assert!(refused.contains("letter.txt"), "{refused}");
    }
}
