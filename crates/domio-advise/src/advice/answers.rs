//! Advice in words, as a text for the terminal and as an answer for programs.

use super::{AdviceOutcome, AdvisedSetting};
use domio_answer::{AnswerSpec, Answered, Cell, RowType, Sentence, Table, Tone};
use domio_report::tables::{mean, name, number, text};
use domio_report::text::View;
use domio_report::text::gains::{lines, side};
use domio_report::text::table::render as drawn;
use domio_report::written;
use domio_stats::gains::Gain;

/// What the answer is.
pub fn spec() -> AnswerSpec {
    let doc = "What `domio advise --json` prints: settings of a host, who gains and who pays, and \
               commands.";
    AnswerSpec::new("advise", 1, doc, AdviceOutcome::spec())
}

/// The advice as an answer.
pub fn answer(outcome: &AdviceOutcome) -> Answered {
    let mut answer = Answered::new(spec(), outcome.cells());
    let [need, result] = [need(outcome), result(outcome)];
    let tone = match outcome.settings.iter().any(|setting| setting.advised) {
        true => Tone::Good,
        false => Tone::Plain,
    };
    answer.findings.push(Sentence::new(need));
    answer.findings.push(Sentence { text: result, tone });
    answer
        .findings
        .extend(remarks(outcome).into_iter().map(Sentence::new));
    answer
}

/// A value in its unit for people.
pub(super) fn value(mean: f64, unit: &str) -> String {
    let (factor, name) = written::unit_for(mean, unit);
    written::with_unit(&written::short(mean * factor), name)
}

/// The titles and keys of columns, for `--columns`.
pub fn columns() -> Vec<(String, String)> {
    [
        "no.",
        "worst",
        "worst off",
        "change",
        "pays most",
        "loses",
        "verdict",
    ]
    .map(|title| (title.to_owned(), title.to_owned()))
    .to_vec()
}

/// The advice for a terminal.
pub fn render(outcome: &AdviceOutcome, view: &View) -> String {
    let mut said = view.paragraph("", &need(outcome));
    said.push('\n');
    if !outcome.settings.is_empty() {
        said += &drawn(&table(outcome), view);
        said.push('\n');
    }
    said += &view.paragraph("", &result(outcome));
    for (n, setting) in outcome.settings.iter().enumerate() {
        said += &format!(
            "\n{}",
            view.paragraph("", &format!("{}. {}", n + 1, setting.setting))
        );
        if setting.advised {
            said += &block(setting);
        }
    }
    let remarks = remarks(outcome);
    if !remarks.is_empty() {
        said.push('\n');
        remarks
            .iter()
            .for_each(|remark| said += &view.item("", remark));
    }
    said
}

/// How the host is now.
fn need(outcome: &AdviceOutcome) -> String {
    let worst = value(outcome.worst.mean, &outcome.unit);
    let who = &outcome.worst_guest;
    let mut said = match outcome.figure == super::WAITED {
        true => format!(
            "{who} is worst off: a vcpu of {who} that wants to run waits for {} % of the time",
            written::short(outcome.worst.mean)
        ),
        false => format!("{who} is worst off: {} {worst}", outcome.title),
    };
    if let Some(cause) = outcome.cause {
        said += &format!("; the main cause is \"{}\"", cause.name());
    }
    if let Some(behind) = &outcome.behind {
        said += &format!(", and mostly behind {behind}");
    }
    format!(
        "{said}. {} settings were tried in {} replications.",
        outcome.tried, outcome.evaluations
    )
}

/// What comes out.
fn result(outcome: &AdviceOutcome) -> String {
    let bound = written::short(outcome.bound_pct);
    let dear = outcome
        .settings
        .iter()
        .find(|s| !s.advised && s.felt && s.proven);
    let dear = dear.filter(|s| s.loss_pct > outcome.bound_pct);
    let dear = dear.map(|setting| {
        let payer = setting.payer.as_deref().unwrap_or_default();
        format!(
            " Not advised: {} ({} {}), for which {payer} loses {} %; --bound allows that.",
            setting.setting,
            outcome.title,
            value(setting.worst.mean, &outcome.unit),
            written::short(setting.loss_pct)
        )
    });
    let dear = dear.unwrap_or_default();
    match outcome.settings.first().filter(|setting| setting.advised) {
        Some(best) => {
            // A part has its unit once, and times have a suitable one each.
            let part = outcome.unit.starts_with('%');
            let first = match part {
                true => written::short(best.worst.mean),
                false => value(best.worst.mean, &outcome.unit),
            };
            let before = value(outcome.worst.mean, &outcome.unit);
            let (title, setting) = (&outcome.title, &best.setting);
            format!("Best: {setting}: {title} {first} instead of {before}.{dear}")
        }
        None => format!(
            "No setting that was tried helps {} noticeably and beyond chance, without another \
             guest that loses more than {bound} %. Leave the host as it is.{dear}",
            whom(outcome)
        ),
    }
}

fn whom(outcome: &AdviceOutcome) -> String {
    match &outcome.guests[..] {
        [one] => one.clone(),
        _ => "the guest that is worst off".to_owned(),
    }
}

/// What to know of the figures.
fn remarks(outcome: &AdviceOutcome) -> Vec<String> {
    let mut all = Vec::new();
    if outcome.out_of_time {
        all.push(
            "Time ended the search: another run may try more or fewer settings. --time-limit gives \
             more; --evaluations gives the same answer each time."
                .to_owned(),
        );
    }
    if !outcome.varies {
        all.push(
            "All replications are the same, as the scenario draws nothing at random: intervals \
             have no width, and say nothing of how the host differs from day to day."
                .to_owned(),
        );
    }
    all
}

/// The settings.
fn table(outcome: &AdviceOutcome) -> Table {
    let unit = &outcome.unit;
    let mut table = Table::new(
        "",
        [
            name("no."),
            mean("worst", unit),
            text("worst off"),
            mean("change", unit),
            text("pays most"),
            number("loses", "%"),
            text("verdict"),
        ],
    );
    table.row([
        "now".into(),
        outcome.worst.into(),
        outcome.worst_guest.clone().into(),
        Cell::None,
        Cell::None,
        Cell::None,
        Cell::None,
    ]);
    for (n, setting) in outcome.settings.iter().enumerate() {
        table.row([
            (n + 1).to_string().into(),
            setting.worst.into(),
            setting.worst_guest.clone().into(),
            setting.difference.into(),
            setting.payer.clone().into(),
            setting.payer.as_ref().map(|_| setting.loss_pct).into(),
            verdict(outcome, setting).into(),
        ]);
        if setting.advised {
            table.set_tone(table.rows().len() - 1, 0, Tone::Good);
        }
    }
    table
}

fn verdict(outcome: &AdviceOutcome, setting: &AdvisedSetting) -> &'static str {
    match setting {
        s if s.advised => "advised",
        s if s.loss_pct > outcome.bound_pct => "costs too much",
        s if !s.proven => "may be chance",
        s if !s.felt => "too little",
        _ => "does not help",
    }
}

/// Who gains and who pays, and the commands.
fn block(setting: &AdvisedSetting) -> String {
    let gains: Vec<&Gain> = setting.gains.iter().collect();
    let mut said = String::new();
    for (gains, line) in lines(&gains) {
        said += &match gains {
            Some(gains) => format!("  {}  {line}\n", side(gains)),
            None => format!("  {line}\n"),
        };
    }
    for (what, commands) in [("apply", &setting.apply), ("undo ", &setting.undo)] {
        for command in commands {
            said += &format!("  {what}  {command}\n");
        }
    }
    said
}
