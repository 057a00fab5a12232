//! Tables: which switches suffice on which host, and how often each helps and harms.

use super::effects::Results;
use super::{Grid, Measure, POLICIES, SWITCHES, name_of};

/// What came out for measure number `i`, by policy, with the picture `name`.
pub fn section(
    measure: &Measure,
    name: &str,
    results: &[Results],
    i: usize,
    grid: &Grid,
) -> String {
    let mut text = format!(
        "### {}\n\n![What each switch changes in {}, by guests and cores](images/{name})\n\n",
        title(measure),
        measure.title
    );
    text += &counts(results, i, grid);
    for (policy, results) in POLICIES.iter().zip(results) {
        text += &format!(
            "The fewest switches that gain as much as any under {}:\n\n",
            policy.name
        );
        text += &best(results, i, grid);
    }
    text
}

fn title(measure: &Measure) -> String {
    let first = measure.title[..1].to_uppercase();
    format!("{first}{}", &measure.title[1..])
}

/// On how many hosts a switch helps and harms, and by how much at most.
fn counts(results: &[Results], i: usize, grid: &Grid) -> String {
    let mut text = String::from(
        "| policy | switch | hosts where it helps | harms | most help | most harm |\n\
         |---|---|---|---|---|---|\n",
    );
    for (policy, results) in POLICIES.iter().zip(results) {
        for &bit in policy.switches {
            let hosts = hosts(grid);
            let effects = hosts.filter_map(|host| Some((host, results.of_switch(i, host, bit)?)));
            let proven: Vec<_> = effects.filter(|(_, e)| e.is_proven()).collect();
            let helps = proven.iter().filter(|(_, e)| e.mean > 0.0).count();
            let most = proven.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
            let least = proven.iter().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
            let cell = |found: Option<&((u32, u32), super::effects::Effect)>, sign: f64| {
                let found = found.filter(|(_, e)| e.mean * sign > 0.0);
                found.map_or("–".to_owned(), |(host, e)| {
                    format!("{}: {}", size(*host), e.words())
                })
            };
            text += &format!(
                "| {} | {} | {helps} | {} | {} | {} |\n",
                policy.name,
                SWITCHES[bit].name,
                proven.len() - helps,
                cell(most, 1.0),
                cell(least, -1.0)
            );
        }
    }
    text + "\n"
}

/// Guests and cores in words.
fn size((guests, cores): (u32, u32)) -> String {
    let several = |n: u32, what: &str| match n {
        1 => format!("1 {what}"),
        _ => format!("{n} {what}s"),
    };
    format!("{}, {}", several(guests, "guest"), several(cores, "core"))
}

/// The fewest switches that gain as much as any, by host.
fn best(results: &Results, i: usize, grid: &Grid) -> String {
    let cores = grid.cores.iter().map(|cores| match cores {
        1 => "1 core".to_owned(),
        _ => format!("{cores} cores"),
    });
    let head: Vec<String> = cores.collect();
    let mut text = format!("| guests | {} |\n|---|", head.join(" | "));
    text += &"---|".repeat(head.len());
    text += "\n";
    for &guests in grid.guests {
        let cells = grid.cores.iter().map(|&cores| {
            let best = results.best(i, (guests, cores));
            best.map_or("none".to_owned(), |(c, effect)| {
                format!("{} {}", name_of(c), effect.words())
            })
        });
        let cells: Vec<String> = cells.collect();
        text += &format!("| {guests} | {} |\n", cells.join(" | "));
    }
    text + "\n"
}

/// All hosts: guests and cores.
pub fn hosts(grid: &Grid) -> impl Iterator<Item = (u32, u32)> {
    let guests = grid.guests.iter();
    guests.flat_map(|&guests| grid.cores.iter().map(move |&cores| (guests, cores)))
}
