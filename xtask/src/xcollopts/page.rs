//! Tables: which switches suffice on which host, and how often each helps and harms.

use super::effects::{Effect, Results, STAR, Silence};
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
    text + &silent(results, i, grid)
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
            let effects = hosts.filter_map(|host| {
                let change = results.of_switch(i, host, bit);
                Some((host, change.star(), change.effect()?))
            });
            let proven: Vec<_> = effects.filter(|(.., e)| e.is_proven()).collect();
            let helps = proven.iter().filter(|(.., e)| e.mean > 0.0).count();
            let most = proven.iter().max_by(|a, b| a.2.mean.total_cmp(&b.2.mean));
            let least = proven.iter().min_by(|a, b| a.2.mean.total_cmp(&b.2.mean));
            let cell = |found: Option<&((u32, u32), &str, Effect)>, sign: f64| {
                let found = found.filter(|(.., e)| e.mean * sign > 0.0);
                found.map_or("–".to_owned(), |(host, star, e)| {
                    format!("{}: {}{star}", size(*host), e.words())
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
            let host = (guests, cores);
            let silent = results.silent(i, host);
            if let Some((0, told)) = silent.first() {
                let answered = range(told.iter().map(|silence| silence.answered));
                return format!("no answers ({answered})");
            }
            let star = if silent.is_empty() { "" } else { STAR };
            let best = results.best(i, host);
            let best = best.map_or("none".to_owned(), |(c, effect)| {
                format!("{} {}", name_of(c), effect.words())
            });
            best + star
        });
        let cells: Vec<String> = cells.collect();
        text += &format!("| {guests} | {} |\n", cells.join(" | "));
    }
    text + "\n"
}

/// As many names of combinations as a cell of a table has.
const NAMES: usize = 6;

/// Combinations without figures, by policy and host.
fn silent(results: &[Results], i: usize, grid: &Grid) -> String {
    let mut rows = String::new();
    for (policy, results) in POLICIES.iter().zip(results) {
        for host in hosts(grid) {
            let silent = results.silent(i, host);
            if silent.is_empty() {
                continue;
            }
            let all = results.combinations(i, host).len();
            let which = match silent.len() {
                few if few <= NAMES => {
                    let names: Vec<_> = silent.iter().map(|(c, _)| name_of(*c)).collect();
                    names.join(", ")
                }
                many if many == all => format!("all {all}"),
                many => format!("{many} of {all}"),
            };
            let told = || silent.iter().flat_map(|(_, told)| told);
            let some = told().filter(|silence| silence.guests > 0);
            let of = |silence: &Silence| u64::from(silence.guests);
            rows += &format!(
                "| {} | {} | {which} | {} | {} |\n",
                policy.name,
                size(host),
                range(some.clone().map(of)),
                range(some.map(|silence| silence.answered)),
            );
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "With these combinations guests got no answer to any ping in some replication. They have \
         no mean round trip and\ncount nowhere above:\n\n\
         | policy | host | combinations | guests without an answer | pings answered |\n\
         |---|---|---|---|---|\n{rows}\n"
    )
}

/// The least and the most of `numbers`.
fn range(numbers: impl Iterator<Item = u64> + Clone) -> String {
    let [least, most] = [numbers.clone().min(), numbers.max()].map(Option::unwrap_or_default);
    match least == most {
        true => least.to_string(),
        false => format!("{least} to {most}"),
    }
}

/// All hosts: guests and cores.
pub fn hosts(grid: &Grid) -> impl Iterator<Item = (u32, u32)> {
    let guests = grid.guests.iter();
    guests.flat_map(|&guests| grid.cores.iter().map(move |&cores| (guests, cores)))
}

#[cfg(test)]
mod tests {
    use super::super::{TRIP, rows};
    use super::*;

    /// Two guests on 4 cores, one of which has no answers with no switch or with both.
    #[test]
    fn what_has_no_answers_is_said_and_not_ranked() {
        let grid = Grid {
            guests: &[2],
            cores: &[4],
            replications: 2,
        };
        let page = |silent: &[(&str, &str)]| {
            let mut text = String::from(
                "replication,domain.guest.count,network.netback_threads,network.small_packets,\
                 domain,ping_replies,ping_p99_ms\n",
            );
            for replication in 0..2 {
                for (threads, small) in [
                    ("1", "grants"),
                    ("1", "pool"),
                    ("4", "grants"),
                    ("4", "pool"),
                ] {
                    text += &format!("{replication},2,{threads},{small},guest1,7,{threads}\n");
                    let second = match silent.contains(&(threads, small)) {
                        true => ",".to_owned(),
                        false => format!("3,{threads}"),
                    };
                    text += &format!("{replication},2,{threads},{small},guest2,{second}\n");
                }
            }
            let rows = rows::parse(&text).unwrap();
            let results = [0, 1].map(|_| {
                let mut results = Results::new(1);
                results.add(4, &rows, &[TRIP]).unwrap();
                results
            });
            section(&TRIP, "picture.svg", &results, 0, &grid)
        };
        let all = page(&[]);
        assert!(!all.contains("no answer") && !all.contains(STAR), "{all}");
        let base = page(&[("1", "grants")]);
        assert!(base.contains("| 2 | no answers (7) |\n"), "{base}");
        assert!(
            base.contains("| credit | 2 guests, 4 cores | none | 1 | 7 |\n"),
            "{base}"
        );
        let both = page(&[("4", "pool")]);
        assert!(both.contains(&format!("| 2 | none{STAR} |\n")), "{both}");
        assert!(
            both.contains("| credit | 2 guests, 4 cores | MTP+SDP | 1 | 7 |\n"),
            "{both}"
        );
        assert!(
            both.contains(&format!("-75 % (-75 to -75){STAR}")),
            "{both}"
        );
    }
}
