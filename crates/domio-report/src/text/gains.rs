//! Who gains and who pays, in lines.

use crate::written::{self, NumberedName};
use domio_answer::{Sentence, Tone};
use domio_stats::gains::Gain;

/// Lines of one variant at most that gain, and at most that pay.
const MOST: usize = 3;

/// What to say after a result that one replication of each side gives.
pub const BY_CHANCE: &str = ", by one replication, which may be chance";

/// For each variant of `labels` but the first: who gains and who pays against it, what matters most
/// first, each domain with the first of its changes to either side. Domains whose names differ in
/// their numbers alone share a line for the same figure. A line says how large the change is,
/// absolute and relative. The rest of either side and what nobody feels is counted.
pub fn render(labels: &[String], changes: &[Gain]) -> String {
    let Some((first, others)) = labels.split_first() else {
        return String::new();
    };
    let mut text = String::new();
    for label in others {
        let own: Vec<&Gain> = changes.iter().filter(|c| c.variant == *label).collect();
        text += &format!("{label} against {first}{}:\n", chance(&own));
        for (gains, line) in lines(&own) {
            text += &match gains {
                Some(gains) => format!("  {}  {line}\n", side(gains)),
                None => format!("  {line}\n"),
            };
        }
    }
    text
}

/// The same, a sentence each.
pub fn findings(labels: &[String], changes: &[Gain]) -> Vec<Sentence> {
    let Some((first, others)) = labels.split_first() else {
        return Vec::new();
    };
    let of_variant = |label: &String| {
        let own: Vec<&Gain> = changes.iter().filter(|c| c.variant == *label).collect();
        let lead = format!("{label} against {first}{}", chance(&own));
        let lines = lines(&own).into_iter();
        let sentence = move |(gains, line): (Option<bool>, String)| match gains {
            None => Sentence::new(format!("{lead}: {line}")),
            Some(gains) => Sentence {
                text: format!("{lead}: {} {line}", side(gains).trim_end()),
                tone: if gains { Tone::Good } else { Tone::Bad },
            },
        };
        lines.map(sentence).collect::<Vec<_>>()
    };
    others.iter().flat_map(of_variant).collect()
}

/// What to say of how sure `changes` are, after what is compared; empty where they are.
pub fn chance(changes: &[&Gain]) -> &'static str {
    match changes.iter().any(|c| !c.proven) {
        true => BY_CHANCE,
        false => "",
    }
}

/// A line for each of the `changes` of one variant that matter most, with whether the domain gains;
/// then what they do not tell.
pub fn lines(changes: &[&Gain]) -> Vec<(Option<bool>, String)> {
    let felt = first_of_each(changes.iter().copied().filter(|c| c.felt));
    let unfelt = changes.iter().filter(|c| !c.felt).count();
    let mut lines: Vec<(Option<bool>, String)> = Vec::new();
    let mut more = [0, 0];
    for alike in alike(&felt) {
        let gains = alike[0].gains;
        match lines.iter().filter(|(to, _)| *to == Some(gains)).count() < MOST {
            true => lines.push((Some(gains), line_of(&alike))),
            false => more[usize::from(gains)] += alike.len(),
        }
    }
    for (gains, more) in [(true, more[1]), (false, more[0])] {
        if more > 0 {
            lines.push((Some(gains), format!("and {more} more")));
        }
    }
    let rest = match (felt.is_empty(), unfelt) {
        (true, 0) => Some("no domain gains or pays".to_owned()),
        (true, n) => Some(format!(
            "no domain gains or pays noticeably; {}",
            below(n, "")
        )),
        (false, 0) => None,
        (false, n) => Some(below(n, "further ")),
    };
    lines.extend(rest.map(|rest| (None, rest)));
    lines
}

/// What a domain does, in a column: it gains, or it pays.
pub fn side(gains: bool) -> &'static str {
    match gains {
        true => "gains",
        false => "pays ",
    }
}

fn below(count: usize, further: &str) -> String {
    let (differences, are) = match count {
        1 => ("difference", "is"),
        _ => ("differences", "are"),
    };
    format!("{count} {further}{differences} {are} below the reporting threshold")
}

/// The first change of each domain to either side.
fn first_of_each<'a>(changes: impl Iterator<Item = &'a Gain>) -> Vec<&'a Gain> {
    let mut first: Vec<&Gain> = Vec::new();
    for change in changes {
        let same = |c: &&Gain| c.domain == change.domain && c.gains == change.gains;
        if !first.iter().any(same) {
            first.push(change);
        }
    }
    first
}

/// The changes of each figure to each side by domains whose names are alike, in the order of the
/// first of each.
fn alike<'a>(changes: &[&'a Gain]) -> Vec<Vec<&'a Gain>> {
    let mut groups: Vec<Vec<&Gain>> = Vec::new();
    for change in changes {
        let same = |group: &&mut Vec<&Gain>| {
            let figure = (&group[0].measure, group[0].gains);
            let [first, name] = [group[0], *change].map(|change| NumberedName::of(&change.domain));
            first.is_like(name) && figure == (&change.measure, change.gains)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    groups
}

/// The line of changes that are alike: that of the first, which matters most, with all domains.
fn line_of(alike: &[&Gain]) -> String {
    let first = alike[0];
    if alike.len() == 1 {
        return line(first);
    }
    let domains: Vec<&str> = alike.iter().map(|change| change.domain.as_str()).collect();
    let all = NumberedName::all(&domains);
    format!("{all}, first {}", line(first))
}

fn line(change: &Gain) -> String {
    let largest = change.from.abs().max(change.to.abs());
    let (factor, unit) = written::unit_for(largest, &change.unit);
    let [from, to] = [change.from, change.to].map(|value| written::number(value * factor));
    let figures = written::with_unit(&format!("{from} -> {to}"), unit);
    let difference = written::estimate(&change.difference.scaled(factor));
    let sign = if change.difference.mean > 0.0 {
        "+"
    } else {
        ""
    };
    // Percent of percent: points are no such thing.
    let unit = if unit.starts_with('%') {
        "points"
    } else {
        unit
    };
    let absolute = written::with_unit(&format!("{sign}{difference}"), unit);
    let (domain, title) = (&change.domain, &change.title);
    let relative = relative(change.times);
    format!("{domain}: {title} {figures} ({absolute}, {relative})")
}

/// How much of the figure the change is.
fn relative(times: Option<f64>) -> String {
    match times {
        None => "from nothing".to_owned(),
        Some(times) if times >= 2.0 => format!("{} times as much", written::short(times)),
        Some(times) => {
            let percent = (times - 1.0) * 100.0;
            let sign = if percent > 0.0 { "+" } else { "" };
            format!("{sign}{} %", written::short(percent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_stats::Estimate;

    fn difference(mean: f64, ci95: Option<[f64; 2]>) -> Estimate {
        Estimate {
            mean,
            ci95,
            deviation: None,
            n: 2,
        }
    }

    fn change(variant: &str, domain: &str, to: f64, proven: bool) -> Gain {
        Gain {
            variant: variant.into(),
            domain: domain.into(),
            measure: "wake_p95_us".into(),
            title: "wake to run, p95".into(),
            unit: "us".into(),
            from: 10_000.0,
            to,
            difference: difference(
                to - 10_000.0,
                proven.then_some([to - 10_100.0, to - 9_900.0]),
            ),
            times: Some(to / 10_000.0),
            gains: to < 10_000.0,
            proven,
            felt: true,
        }
    }

    #[test]
    fn each_domain_is_told_once_a_side_with_how_large_it_is() {
        let labels = ["credit", "sedf", "null"].map(str::to_owned);
        let changes = [
            change("sedf", "hog", 30_000.0, true),
            change("sedf", "web", 1_000.0, true),
            change("sedf", "web", 5_000.0, true),
            change("sedf", "web", 11_500.0, true),
        ];
        assert_eq!(
            render(&labels, &changes),
            "sedf against credit:\n\
             \x20 pays   hog: wake to run, p95 10 -> 30 ms (+20.00 ± 0.10 ms, 3 times as much)\n\
             \x20 gains  web: wake to run, p95 10 -> 1 ms (-9.00 ± 0.10 ms, -90 %)\n\
             \x20 pays   web: wake to run, p95 10 -> 11.5 ms (+1.50 ± 0.10 ms, +15 %)\n\
             null against credit:\n\
             \x20 no domain gains or pays\n"
        );
        let told = findings(&labels, &changes);
        let first = "sedf against credit: pays hog: wake to run, p95 10 -> 30 ms \
                     (+20.00 ± 0.10 ms, 3 times as much)";
        assert_eq!((&*told[0].text, told[0].tone), (first, Tone::Bad));
        assert_eq!(told[3].text, "null against credit: no domain gains or pays");
        let one = render(&labels[..2], &[change("sedf", "web", 1_000.0, false)]);
        assert!(
            one.contains("may be chance") && one.contains("(-9 ms, -90 %)"),
            "{one}"
        );
        let many: Vec<Gain> = (0..11)
            .map(|i| change("sedf", &format!("g{i}"), 1_000.0, true))
            .collect();
        let text = render(&labels[..2], &many);
        let all = "sedf against credit:\n\
                   \x20 gains  g0 to g10, first g0: wake to run, p95 10 -> 1 ms \
                   (-9.00 ± 0.10 ms, -90 %)\n";
        assert_eq!(text, all);
        let names = ["a", "b1", "c", "d", "e", "b2", "b4"];
        let many: Vec<Gain> = (names.iter())
            .map(|name| change("sedf", name, 1_000.0, true))
            .chain([change("sedf", "z", 20_000.0, true)])
            .collect();
        let text = render(&labels[..2], &many);
        let sides: Vec<&str> = text.lines().skip(1).collect();
        assert!(
            sides[1].starts_with("  gains  b1, b2 and b4, first b1: "),
            "{text}"
        );
        assert!(sides[3].starts_with("  pays   z: "), "{text}");
        assert_eq!(&sides[4..], ["  gains  and 2 more"]);
    }

    #[test]
    fn what_nobody_feels_is_counted() {
        let labels = ["credit", "sedf"].map(str::to_owned);
        let unfelt = Gain {
            felt: false,
            ..change("sedf", "web", 10_400.0, true)
        };
        assert_eq!(
            render(&labels, std::slice::from_ref(&unfelt)),
            "sedf against credit:\n\
             \x20 no domain gains or pays noticeably; 1 difference is below the reporting \
             threshold\n"
        );
        let hog = change("sedf", "hog", 30_000.0, true);
        let text = render(&labels, &[hog, unfelt.clone(), unfelt]);
        let end = "  2 further differences are below the reporting threshold\n";
        assert!(text.ends_with(end) && !text.contains("web"), "{text}");
    }

    #[test]
    fn a_share_changes_by_points() {
        let share = Gain {
            title: "share".into(),
            unit: "% of one pcpu".into(),
            from: 0.0,
            to: 12.5,
            difference: difference(12.5, None),
            times: None,
            ..change("b", "hog", 0.0, false)
        };
        assert_eq!(
            line(&share),
            "hog: share 0 -> 12.5 % of one pcpu (+12.5 points, from nothing)"
        );
    }
}
