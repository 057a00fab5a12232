//! What vcpus, packets and requests waited for, as tables.

use crate::explained::Explained;
use crate::text::folded::folded;
use crate::text::{View, page, sched_map, table};
use crate::written;
use domio_meter::Why;

/// What is before the second and later lines of a sentence.
pub(super) const INDENT: &str = "  ";

/// Rows of the table of vcpus where there are no items, and where there are: with sentences and
/// meanings all is one screen.
const ROWS: [usize; 2] = [16, 9];

/// Rows of a table of items.
const ITEM_ROWS: usize = 4;

/// Causes that are explained below the table.
const MEANINGS: usize = 5;

/// What lines of several vcpus hold.
const MEANS: &str = "Lines of several domains: the mean of their vcpus, and the longest wait of \
                     all (--long has each)";

/// Characters of a line that has room for a second cause.
const WITH_SECOND: u16 = 110;

/// How much is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// The worst waits, and the vcpus and guests that matter most: one screen.
    Short,
    /// The same and the map.
    WithMap,
    /// All tables, the map, and what the trace does not tell.
    Long,
}

/// The answer: the worst waits in sentences first, then tables, as much as `extent` says.
pub fn render(explained: Explained<'_>, extent: Extent, view: &View) -> String {
    let mut parts = vec![sentences(explained, view)];
    match extent {
        Extent::Long => parts.extend(at_length(explained, view)),
        _ => parts.extend(in_short(explained, extent == Extent::WithMap, view)),
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// The worst waits of vcpus and of items.
fn sentences(explained: Explained<'_>, view: &View) -> String {
    let classes = explained.classes();
    let items = classes
        .iter()
        .filter_map(|class| explained.worst_items(class));
    let said = explained.worst().0.into_iter().chain(items);
    said.map(|said| folded(&said, view.width.into(), INDENT))
        .collect()
}

/// The first rows of the table of vcpus, what its causes mean, and tables of items.
fn in_short(explained: Explained<'_>, map: bool, view: &View) -> Vec<String> {
    let explanation = explained.explanation;
    let classes = explained.classes();
    let rows = ROWS[usize::from(!classes.is_empty())];
    let second = view.width >= WITH_SECOND || !view.columns.is_empty();
    let mut parts = Vec::new();
    if !explanation.vcpus.is_empty() {
        let shown = table::render(&explained.overview(rows, second), view);
        let lines = explained.lines(rows);
        let left_out = lines.iter().skip(rows).map(|line| line.count).sum();
        let means = match lines.iter().take(rows).any(|line| line.count > 1) {
            true => folded(MEANS, view.width.into(), INDENT),
            false => String::new(),
        };
        parts.push(shown + &more(left_out, "vcpus") + &means);
        let known = explained.worst().1;
        let causes = explained.overview_causes(rows, second).into_iter();
        let causes = causes.filter(|why| !known.contains(why)).take(MEANINGS);
        let meaning = |why: Why| {
            format!(
                "{}: {}",
                why.name(),
                why.meaning(explained.explanation.tells.policy)
            )
        };
        parts.push(
            causes
                .map(|why| folded(&meaning(why), view.width.into(), INDENT))
                .collect(),
        );
    }
    for class in classes {
        let shown = table::render(&explained.items_overview(class, ITEM_ROWS), view);
        let left_out = explained.guests(class).count().saturating_sub(ITEM_ROWS);
        parts.push(shown + &more(left_out as u64, "guests"));
    }
    if let Some(map) = explanation.map.0.as_ref().filter(|_| map) {
        parts.push(sched_map::render(explained, map, view));
    }
    // Without these nothing above can be read rightly; the others are details.
    if !explanation.runstates || explanation.lost_records > 0 {
        parts.push(untold(explained, 1, view));
    }
    let hint = "More: --long (all causes, behind whom, where vcpus ran, longest waits, map); \
                --vcpu, --domain";
    parts.push(covers(explained) + &folded(hint, view.width.into(), INDENT));
    parts
}

/// What a table left out.
fn more(left_out: u64, what: &str) -> String {
    match left_out {
        0 => String::new(),
        n => format!("... {n} more {what} (--long)\n"),
    }
}

/// All tables, the map, and what the trace does not tell.
fn at_length(explained: Explained<'_>, view: &View) -> Vec<String> {
    let explanation = explained.explanation;
    let mut parts = vec![page::sections(&explained.sections(), view)];
    if let Some(map) = &explanation.map.0 {
        parts.push(sched_map::render(explained, map, view));
    }
    let classes = explained.classes();
    let mut said: Vec<String> = classes
        .iter()
        .flat_map(|class| explained.item_verdicts(class))
        .collect();
    let above = classes
        .iter()
        .filter_map(|class| explained.worst_items(class));
    let above: Vec<String> = above.collect();
    said.retain(|said| !above.contains(said));
    if !explanation.vcpus.is_empty() {
        said.extend(explained.absences());
    }
    let lines = said.iter();
    parts.push(
        lines
            .map(|said| folded(said, view.width.into(), INDENT))
            .collect(),
    );
    parts.push(untold(explained, usize::MAX, view));
    parts.push(covers(explained));
    parts
}

/// The first `most` things that the trace does not tell.
fn untold(explained: Explained<'_>, most: usize, view: &View) -> String {
    let untold = explained.explanation.untold();
    if untold.is_empty() {
        return String::new();
    }
    let lines = untold.iter().take(most);
    let lines = lines.map(|said| view.item("", &format!("{said}.")));
    let title = "What the trace does not show:\n".to_owned();
    lines.fold(title, |text, line| text + &line)
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
            render(
                Explained::new(explanation, &names),
                Extent::Long,
                &View::default(),
            )
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
            "web.0 waited 46 % of the time (up to 45 ms, at 0.020 s), 100 % of it for \"over its",
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
            Extent::Long,
            &View::default(),
        ))
        .to_string();
        let heads = text.lines().find(|l| l.contains("begins")).unwrap();
        assert!(heads.trim_start().starts_with("run "), "{heads}");
        assert!(text.contains("0.2 s of 2 runs"), "{text}");
    }
}
