//! `domio claim`: what the papers claim, what decides each claim, and how to look at it.

use crate::args::{ClaimCommand, ClaimList, ClaimShow, Global};
use crate::out::{self, Status};
use crate::suggest;
use anyhow::{anyhow, bail};
use domio_answer::column::count;
use domio_answer::{Holds, Table};
use domio_front::papers::Chosen;
use domio_papers::claim_page::{self, ClaimPage};
use domio_report::tables;
use domio_report::text::table::render;

/// What the record says of a claim without checks.
const NOT_IMPLEMENTED: &str = "not-implemented";

/// Runs `claim list` or `claim show`.
pub fn run(command: &ClaimCommand, global: &Global) -> anyhow::Result<Status> {
    match command {
        ClaimCommand::List(args) => list(args, global),
        ClaimCommand::Show(args) => show(args, global),
    }
}

fn list(args: &ClaimList, global: &Global) -> anyhow::Result<Status> {
    let chosen = Chosen::of(&args.words, &global.parts)?;
    let (claims, record) = (chosen.claims()?, chosen.record()?);
    let selected = claims.select(&chosen.prefixes)?.into_iter();
    let page = |claim| ClaimPage::of(claim, &chosen.papers, &record);
    let pages: Vec<ClaimPage> = selected.map(page).collect();
    out::answer(
        args.json,
        || claim_page::list(pages.clone()),
        || {
            let mut table = Table::of("", &pages);
            let on_record = pages.iter().map(|page| recorded(page).to_owned().into());
            table.derive(tables::text("on record"), on_record);
            let counts = pages.iter().map(|page| page.count().into());
            table.derive(count("checks").of(Holds::Whole), counts);
            render(&table, out::view())
        },
    )?;
    Ok(Status::Success)
}

fn recorded(page: &ClaimPage) -> &str {
    let unknown = match page.checks.is_empty() {
        true => NOT_IMPLEMENTED,
        false => "nothing",
    };
    page.recorded.as_deref().unwrap_or(unknown)
}

fn show(args: &ClaimShow, global: &Global) -> anyhow::Result<Status> {
    let chosen = Chosen::of(&args.words, &global.parts)?;
    let [id] = &chosen.prefixes[..] else {
        let count = chosen.prefixes.len();
        bail!(
            "{count} ids of claims were given; give one, behind the folder of its paper if it \
               does not ship with domio"
        );
    };
    let claims = chosen.claims()?;
    let claim = claims.find(id).ok_or_else(|| {
        let near = suggest::near(id, claims.iter().map(|claim| claim.id.as_str()));
        anyhow!("no claim is called \"{id}\"{near}; `domio claim list` lists them")
    })?;
    let page = ClaimPage::of(claim, &chosen.papers, &chosen.record()?);
    let text = || told(&page, out::view().width.into());
    out::answer(args.json, || page.answer(), text)?;
    Ok(Status::Success)
}

fn told(page: &ClaimPage, width: usize) -> String {
    let mut text = format!("{}\n\n", page.id);
    let mut line = |name: &str, value: &str| {
        text += &wrapped(&format!("{name:<12}"), value, width);
    };
    line("paper", &page.paper);
    line("where", &page.place);
    line("experiment", &page.experiment);
    line("statement", &page.expect);
    if let Some(tolerance) = &page.tolerance {
        line("tolerance", tolerance);
    }
    line("on record", recorded(page));
    if let Some(how) = &page.how {
        line("decided by", how);
    }
    if page.checks.is_empty() {
        text += "\nNo check decides this claim yet.\n";
        return text;
    }
    let checks = match page.count() {
        1 => "1 check".to_owned(),
        count => format!("{count} checks"),
    };
    text += &format!("\nWhat has to hold, in {checks}\n");
    for (number, check) in (1..).zip(&page.checks) {
        text += &wrapped(&format!("  {number:>2}  "), &check.statement, width);
    }
    text += "\nCells that they read\n";
    text += &wrapped("  ", &page.cells_in_short(), width);
    if !page.figures.is_empty() {
        text += "\nFigures of the report\n";
        for figure in &page.figures {
            text += &wrapped("  ", figure, width);
        }
    }
    text += "\nTo look at it\n";
    for command in &page.commands {
        text += &continued(command, width);
    }
    text
}

/// A command for a shell, which continues in the next line before an option where `width` columns
/// are not enough.
fn continued(command: &str, width: usize) -> String {
    let mut text = "  ".to_owned();
    let mut used = 2;
    for (i, part) in command.split(" --").enumerate() {
        let option = match i {
            0 => part.to_owned(),
            _ => format!("--{part}"),
        };
        let length = option.chars().count();
        // A blank before the option, and a blank and a backslash behind.
        if i > 0 && used + length + 3 > width {
            text += " \\\n     ";
            used = 5;
        }
        if i > 0 {
            text.push(' ');
        }
        text += &option;
        used += length + 1;
    }
    text.push('\n');
    text
}

/// `words` in lines of at most `width` columns, `head` before the first and as many spaces before
/// the others.
fn wrapped(head: &str, words: &str, width: usize) -> String {
    let indent = head.chars().count();
    let mut text = head.to_owned();
    let mut used = indent;
    for word in words.split_whitespace() {
        // A list of cells may be longer than a line: it continues in the next one behind a comma.
        let whole = indent + word.chars().count() <= width;
        let parts = word.split_inclusive(|c| c == ',' && !whole);
        for (i, part) in parts.enumerate() {
            let length = part.chars().count();
            let space = usize::from(i == 0 && used > indent);
            if used > indent && used + space + length > width {
                text += &format!("\n{}", " ".repeat(indent));
                used = indent;
            } else if space > 0 {
                text.push(' ');
                used += 1;
            }
            text += part;
            used += length;
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_under_themselves() {
        assert_eq!(wrapped("a: ", "bb cc dd", 8), "a: bb cc\n   dd\n");
        assert_eq!(
            wrapped("a: ", "longer than that", 6),
            "a: longer\n   than\n   that\n"
        );
    }

    #[test]
    fn commands_go_on_before_an_option() {
        let command = "domio run a/cell --report out/cell.html";
        assert_eq!(continued(command, 80), format!("  {command}\n"));
        let two = "  domio run a/cell \\\n      --report out/cell.html\n";
        assert_eq!(continued(command, 30), two);
    }

    #[test]
    fn no_page_has_a_line_that_is_too_long() {
        let chosen = Chosen::of(&[], &domio_sched::policies().into()).unwrap();
        let record = chosen.record().unwrap();
        for claim in chosen.claims().unwrap().iter() {
            let page = ClaimPage::of(claim, &chosen.papers, &record);
            let text = told(&page, 100);
            for line in text.lines() {
                assert!(line.chars().count() <= 100, "{}: {line}", claim.id);
            }
        }
    }
}
