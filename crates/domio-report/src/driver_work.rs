//! For whom driver domains worked, as stacked bars.

use crate::data::{Chart, Picture, Quantity, Section, Stack, StackBar};
use crate::svg::COLOURS;
use crate::tables;
use domio_answer::{Cell, Table};
use domio_stats::Estimate;
use domio_stats::compare::ComparedFigure;
use domio_stats::drivers::DriverFigures;
use std::collections::BTreeMap;

/// Most guests that a picture tells apart: the others together and nobody have a colour, too.
const OWNERS_MAX: usize = COLOURS - 2;

/// What the lengths are.
const TEXT: &str = "The time in which a driver domain executed, by the domain on whose behalf it \
                    did. Nobody's are its own processes and the hypervisor's work in its time.";

/// One bar: whom a driver domain worked for, in percent of one pcpu.
#[derive(Clone, PartialEq, Debug, Default)]
struct Bar {
    name: String,
    done_for: Vec<(String, f64)>,
    nobody: f64,
}

/// A bar for each driver domain of one run; `None` without any. `order` is that of the domains,
/// `measured_ms` the length of the measured time.
pub fn section(drivers: &[DriverFigures], order: &[String], measured_ms: f64) -> Option<Section> {
    let percent = |ms: f64| ms / measured_ms * 100.0;
    let bar = |figures: &DriverFigures| Bar {
        name: figures.driver.clone(),
        done_for: figures
            .done_for
            .iter()
            .map(|(name, ms)| (name.clone(), percent(ms.mean)))
            .collect(),
        nobody: percent(figures.nobody.mean),
    };
    let bars = drivers.iter().map(bar).collect();
    let caption = "For whom each driver domain worked".to_owned();
    let mut figures = vec![figure(caption, bars, order).as_picture()];
    figures.extend(drivers.iter().map(|figures| {
        let caption = format!("Work of {} for others", figures.driver);
        let table = of_time("for", figures.rows(), measured_ms);
        Picture::new(caption, Chart::Table(table))
    }));
    with(figures).filter(|_| !drivers.is_empty())
}

/// A table of times (ms), with the part of one pcpu that each is; `head` is over their names.
pub fn of_time<'a>(
    head: &'static str,
    rows: impl Iterator<Item = (&'a str, &'a Estimate)>,
    measured_ms: f64,
) -> Table {
    let columns = [
        tables::name(head),
        tables::mean("share", "% of one pcpu"),
        tables::mean("time", "ms"),
    ];
    let mut table = Table::new("", columns);
    for (name, ms) in rows {
        let percent = ms.scaled(100.0 / measured_ms);
        table.row([Cell::text(name.to_owned()), percent.into(), (*ms).into()]);
    }
    table
}

/// A picture for each driver domain, with a bar for each variant; `None` without any. `figures` is
/// what [`comparisons`](domio_stats::drivers::comparisons) gives, `order` that of the domains.
pub fn compared(figures: &[ComparedFigure], order: &[String]) -> Option<Section> {
    let pictures = figures.chunk_by(|a, b| a.of.driver == b.of.driver);
    let picture = |of_driver: &[ComparedFigure]| {
        let mut bars: Vec<Bar> = Vec::new();
        for ComparedFigure {
            variant, of, mean, ..
        } in of_driver
        {
            let at = bars.iter().position(|bar| bar.name == *variant);
            let at = at.unwrap_or_else(|| {
                bars.push(Bar {
                    name: variant.clone(),
                    ..Bar::default()
                });
                bars.len() - 1
            });
            match of.domain.as_str() {
                "nobody" => bars[at].nobody = mean.mean,
                // The sum.
                "busy" => {}
                owner => bars[at].done_for.push((owner.to_owned(), mean.mean)),
            }
        }
        let driver = of_driver[0].of.driver.as_deref().unwrap_or_default();
        figure(format!("For whom {driver} worked"), bars, order)
    };
    with(pictures.map(picture).collect())
}

fn with(figures: Vec<Picture>) -> Option<Section> {
    (!figures.is_empty()).then(|| Section {
        title: "Work of driver domains".to_owned(),
        text: TEXT.to_owned(),
        figures,
    })
}

fn figure(caption: String, bars: Vec<Bar>, order: &[String]) -> Picture {
    Picture::new(caption, Chart::Stack(stack(&bars, order)))
}

fn stack(bars: &[Bar], order: &[String]) -> Stack {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, percent) in bars.iter().flat_map(|b| &b.done_for) {
        *sums.entry(name).or_default() += percent;
    }
    let place = |name: &str| order.iter().position(|o| o == name).unwrap_or(usize::MAX);
    let mut owners: Vec<(&str, f64)> = sums.into_iter().collect();
    owners.sort_by(|a, b| b.1.total_cmp(&a.1).then(place(a.0).cmp(&place(b.0))));
    let left_out = owners.len().saturating_sub(OWNERS_MAX);
    owners.truncate(OWNERS_MAX);
    let mut owners: Vec<&str> = owners.into_iter().map(|(name, _)| name).collect();
    owners.sort_by_key(|name| place(name));
    let lengths = |bar: &Bar| {
        let of = |name: &str| {
            let found = bar.done_for.iter().find(|(other, _)| other == name);
            found.map_or(0.0, |(_, percent)| *percent)
        };
        let others = bar
            .done_for
            .iter()
            .filter(|(n, _)| !owners.contains(&n.as_str()));
        let others: f64 = others.map(|(_, percent)| percent).sum();
        let known = owners.iter().map(|name| of(name));
        let rest = (left_out > 0).then_some(others);
        known.chain(rest).chain([bar.nobody]).collect()
    };
    let rest = (left_out > 0).then(|| format!("{left_out} others"));
    Stack {
        value: Quantity::new("time executed", "% of one pcpu"),
        parts: owners
            .iter()
            .map(|name| (*name).to_owned())
            .chain(rest)
            .chain(["nobody".to_owned()])
            .collect(),
        bars: bars
            .iter()
            .map(|bar| StackBar {
                name: bar.name.clone(),
                lengths: lengths(bar),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{View, page};
    use anstream::adapter::strip_str;
    use domio_run::Sample;
    use domio_stats::drivers::comparisons;

    fn driver(name: &str, owners: &[(&str, f64)], nobody: f64) -> DriverFigures {
        let estimate = |ms: f64| Estimate::of(&[ms]).unwrap();
        let sum: f64 = owners.iter().map(|(_, ms)| ms).sum();
        let owners = owners.iter();
        DriverFigures {
            driver: name.to_owned(),
            busy: estimate(sum + nobody),
            done_for: owners
                .map(|(n, ms)| ((*n).to_owned(), estimate(*ms)))
                .collect(),
            nobody: estimate(nobody),
        }
    }

    fn stack_of(section: Section, at: usize) -> Stack {
        match &section.figures[at].chart {
            Chart::Stack(stack) => stack.clone(),
            _ => panic!("no stack"),
        }
    }

    #[test]
    fn a_driver_domain_is_a_bar_and_a_guest_is_a_part() {
        let order = ["Domain-0", "storage", "web", "db"].map(str::to_owned);
        let drivers = [
            driver("Domain-0", &[("db", 20.0), ("web", 100.0)], 80.0),
            driver("storage", &[("db", 30.0)], 10.0),
        ];
        let stack = stack_of(section(&drivers, &order, 1_000.0).unwrap(), 0);
        assert_eq!(stack.value.unit, "% of one pcpu");
        assert_eq!(stack.parts, ["web", "db", "nobody"]);
        let bars: Vec<_> = stack.bars.iter().map(|b| (&*b.name, &*b.lengths)).collect();
        assert_eq!(
            bars,
            [
                ("Domain-0", &[10.0, 2.0, 8.0][..]),
                ("storage", &[0.0, 3.0, 1.0][..])
            ]
        );
        assert_eq!(section(&[], &order, 1_000.0), None);
    }

    #[test]
    fn each_owner_has_its_time_and_its_part_of_a_pcpu() {
        let estimate = |values: &[f64]| Estimate::of(values).unwrap();
        let driver = DriverFigures {
            driver: "Domain-0".into(),
            busy: estimate(&[600.0, 600.0]),
            done_for: vec![("web".into(), estimate(&[400.0, 420.0]))],
            nobody: estimate(&[200.0, 180.0]),
        };
        let section = section(std::slice::from_ref(&driver), &[], 2_000.0).unwrap();
        let text = strip_str(&page::sections(&[section], &View::default())).to_string();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert!(
            text.starts_with("Work of Domain-0 for others:\n\n"),
            "{text}"
        );
        // Two values 20 apart are known to 12.706 times a half of that.
        let of = |name: &str| lines.iter().find(|l| l.first() == Some(&name)).unwrap();
        assert_eq!(of("web")[1..], ["20", "±", "6", "410", "±", "127", "ms"]);
        assert_eq!(of("nobody")[1..], ["10", "±", "6", "190", "±", "127", "ms"]);
        assert_eq!(of("busy")[1..], ["30", "±", "0", "600", "±", "0", "ms"]);
    }

    #[test]
    fn guests_beyond_the_colours_are_one_part() {
        let names: Vec<String> = (1..=9).map(|i| format!("g{i}")).collect();
        let owners: Vec<(&str, f64)> = names
            .iter()
            .zip(1..)
            .map(|(name, i)| (name.as_str(), f64::from(i)))
            .collect();
        let drivers = [driver("Domain-0", &owners, 5.0)];
        let stack = stack_of(section(&drivers, &names, 100.0).unwrap(), 0);
        assert_eq!(stack.parts.len(), COLOURS);
        assert_eq!(stack.parts[0], "g4");
        assert_eq!(stack.parts[6..], ["3 others", "nobody"]);
        assert_eq!(stack.bars[0].lengths[5..], [9.0, 1.0 + 2.0 + 3.0, 5.0]);
    }

    #[test]
    fn policies_are_bars_of_one_picture_a_driver_domain() {
        let names = ["Domain-0", "web"].map(str::to_owned);
        let domains: Vec<_> = (0..).map(domio_core::DomainId).zip(names).collect();
        let sample = |web: f64| {
            Sample::new()
                .with("driver_work.0.for.1_ms", web)
                .with("driver_work.0.nobody_ms", 10.0)
                .with("driver_work.0.busy_ms", web + 10.0)
        };
        let policies = [("credit", 30.0), ("sedf", 50.0)]
            .map(|(name, web)| (name.to_owned(), vec![sample(web)]));
        let figures = comparisons(&domains, &policies, 200.0);
        let order: Vec<String> = domains.into_iter().map(|(_, name)| name).collect();
        let section = compared(&figures, &order).unwrap();
        assert_eq!(section.figures.len(), 1);
        assert_eq!(section.figures[0].caption, "For whom Domain-0 worked");
        let stack = stack_of(section, 0);
        assert_eq!(stack.parts, ["web", "nobody"]);
        let bars: Vec<_> = stack.bars.iter().map(|b| (&*b.name, &*b.lengths)).collect();
        assert_eq!(
            bars,
            [("credit", &[15.0, 5.0][..]), ("sedf", &[25.0, 5.0][..])]
        );
        assert_eq!(compared(&[], &order), None);
    }
}
