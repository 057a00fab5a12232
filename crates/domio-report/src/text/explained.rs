//! What vcpus, packets and requests waited for, as tables.

use crate::explained::Explained;
use crate::text::{View, page, sched_map};
use crate::written;

/// What is before the second and later lines of a sentence.
pub(super) const INDENT: &str = "  ";

/// The tables of the sections, and the map. A sentence for each who waited most, and what the trace
/// does not tell, come last.
pub fn render(explained: Explained<'_>, view: &View) -> String {
    let explanation = explained.explanation;
    let mut parts = vec![page::sections(&explained.sections(), view)];
    if let Some(map) = &explanation.map.0 {
        parts.push(sched_map::render(explained, map, view));
    }
    let absences = match explanation.vcpus.is_empty() {
        true => Vec::new(),
        false => explained.absences(),
    };
    let sentences = [explained.findings(), absences].concat();
    parts.push(
        sentences
            .iter()
            .map(|sentence| format!("{sentence}\n"))
            .collect(),
    );
    let untold = explanation.untold();
    if !untold.is_empty() {
        let lines = untold.iter();
        let lines = lines.map(|said| view.item("", &format!("{said}.")));
        let title = "What the trace does not tell:\n".to_owned();
        parts.push(lines.fold(title, |text, line| text + &line));
    }
    parts.push(covers(explained));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// What the figures cover, in a line.
fn covers(explained: Explained<'_>) -> String {
    let explanation = explained.explanation;
    let lost = match explanation.lost_records {
        0 => String::new(),
        n => format!(", {n} more are lost"),
    };
    let policy = match explanation.tells.policy_name() {
        Some(name) => format!(" under {name}"),
        None => String::new(),
    };
    let pcpus = match explanation.pcpus.len() {
        1 => "1 pcpu".to_owned(),
        n => format!("{n} pcpus"),
    };
    let runs = match explanation.runs {
        1 => String::new(),
        n => format!(" of {n} runs"),
    };
    format!(
        "{} records of {pcpus}{policy} in {} s{runs}{lost}\n",
        explanation.records,
        written::number(explained.elapsed_ms() / 1e3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explained::tests::{driver_work, explanation, names};
    use anstream::adapter::strip_str;
    use domio_meter::Explanation;

    #[test]
    fn the_tables_hold_all_parts() {
        let (mut explanation, names) = (explanation(), names());
        let render = |explanation: &Explanation| {
            render(Explained::new(explanation, &names), &View::default())
        };
        let text = render(&explanation);
        for part in [
            "Packets, by what",
            "25",
            "60",
            "event-channel",
            "web.0",
            "dom2.0",
            "over its credit",
            "longest waits of all:",
            "web.0 waited 46 % of the time: 97.8 % of that behind dom2.0",
            "Packets of web waited most",
            "\n12 records of 1 pcpu under credit in 0.1 s\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("were lost") && !text.contains("Work of"));
        explanation.driver_work = vec![driver_work()];
        let with_work = render(&explanation);
        let table = with_work.split("\nWork of d2 for others:\n\n").nth(1);
        let table = table.unwrap();
        assert!(
            table.contains("web") && table.contains("nobody"),
            "{with_work}"
        );
        explanation.driver_work.clear();
        explanation.lost_records = 7;
        assert!(render(&explanation).contains("7 records were lost"));
        explanation.items.clear();
        assert!(!render(&explanation).contains("Packets"));
    }

    #[test]
    fn waits_of_several_runs_say_of_which() {
        let (mut explanation, names) = (explanation(), names());
        let one = explanation.clone();
        explanation.add(&one);
        let text = strip_str(&render(
            Explained::new(&explanation, &names),
            &View::default(),
        ))
        .to_string();
        let heads = text.lines().find(|l| l.contains("begins")).unwrap();
        assert!(heads.trim_start().starts_with("run "), "{heads}");
        assert!(text.contains("0.2 s of 2 runs"), "{text}");
    }
}
