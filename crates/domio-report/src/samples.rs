//! Charts from samples of experiments, by the names of their values.
//!
//! Experiments whose names differ in the last word alone ("ongaro.test1.orig", "ongaro.test1.tb")
//! make one section, with one series each. A value "d3.share_pct" belongs to group "d3" of the
//! chart of "share", in the unit that the last word of the name stands for.

use crate::data::{BarGroup, Bars, Chart, Picture, Quantity, Section};
use crate::svg::COLOURS;
use crate::tables;
use crate::written;
use domio_answer::column::key;
use domio_answer::{Column, Holds, Table};
use domio_core::accounted::SHARE;
use domio_core::{Better, DomainId, Figure};
use domio_run::measure::Measures;
use domio_run::{Sample, driver_work, measure, overhead};
use domio_stats::Estimate;
use domio_stats::compare::better;
use std::collections::{BTreeMap, BTreeSet};

/// One section for each family of experiments, with what is known of `measures`.
pub fn sections(measures: &Measures, samples: &BTreeMap<String, Vec<Sample>>) -> Vec<Section> {
    let mut families: BTreeMap<&str, Vec<(String, &[Sample])>> = BTreeMap::new();
    for (name, samples) in samples {
        let (family, member) = name.rsplit_once('.').unwrap_or((name, name));
        let members = families.entry(family).or_default();
        members.push((member.to_owned(), samples.as_slice()));
    }
    let section = |(family, members): (&str, Vec<(String, &[Sample])>)| Section {
        title: family.to_owned(),
        text: String::new(),
        figures: draw(measures, &members, &[], false),
    };
    families.into_iter().map(section).collect()
}

/// Bars for every measure of groups, one series for each of `members`, and a table of the values
/// that stand alone. Groups come in the order of `order`, and others after them. What is better or
/// worse than the first of `members` is marked, replication by replication.
///
/// Titles, units, order and which way is better are those of `measures`.
pub fn figures(
    measures: &Measures,
    members: &[(String, &[Sample])],
    order: &[String],
) -> Vec<Picture> {
    draw(measures, members, order, true)
}

fn draw(
    measures: &Measures,
    members: &[(String, &[Sample])],
    order: &[String],
    compared: bool,
) -> Vec<Picture> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut alone: Vec<&str> = Vec::new();
    let values = members
        .iter()
        .flat_map(|(_, s)| s.iter().flat_map(Sample::values));
    let names: BTreeSet<&str> = values.map(|(name, _)| name).collect();
    // Work and overhead of driver domains have pictures of their own, drops are no measure of a
    // domain, and remarks are no figures.
    let hidden = |name: &str| {
        driver_work::parse(name).is_some()
            || overhead::parse(name).is_some()
            || measure::place_of_drops(name).is_some()
            || measure::is_remark(name)
    };
    for name in names.into_iter().filter(|n| !hidden(n)) {
        match name.rsplit_once('.') {
            Some((group, measure)) => groups.entry(measure).or_default().push(group),
            None => alone.push(name),
        }
    }
    let mut groups: Vec<(&str, Vec<&str>)> = groups.into_iter().collect();
    groups.sort_by_key(|(measure, _)| position(measure, measures.figures().map(|f| f.key)));
    let mut figures: Vec<Picture> = groups
        .into_iter()
        .map(|(measure, groups)| {
            let known = measures.figure(measure);
            bars(
                (measure, known),
                &in_order(groups, order),
                members,
                compared,
            )
        })
        .collect();
    if !alone.is_empty() {
        figures.push(table(measures, &alone, members));
    }
    figures
}

/// The `figures` of domains, which have these ids and names: a row each.
pub fn of_domains<'f>(
    samples: &[Sample],
    domains: &[(DomainId, String)],
    figures: impl Iterator<Item = &'f Figure> + Clone,
) -> Table {
    let columns = figures.clone().map(|f| Column {
        key: f.key.into(),
        doc: format!("Figure \"{}\".", f.title).into(),
        ..tables::mean(f.title, f.unit)
    });
    let id = key("id").of(Holds::Whole).doc("Xen's domid.");
    let name = tables::name("name").title("domain").doc("Its name.");
    let columns = [id.for_programs(), name].into_iter().chain(columns);
    let mut table = Table::new("", columns.collect::<Vec<_>>());
    for (id, name) in domains {
        let cells = figures.clone();
        let cells = cells.map(|f| estimate(samples, &f.name(name)).into());
        let first = [u64::from(id.0).into(), name.clone().into()];
        table.row(first.into_iter().chain(cells));
    }
    table
}

/// The same of those domains that have any of these figures, without the figures that none has.
pub fn of_concerned<'f>(
    samples: &[Sample],
    domains: &[(DomainId, String)],
    figures: impl Iterator<Item = &'f Figure> + Clone,
) -> Table {
    let has = |(_, name): &&(DomainId, String)| {
        let mut figures = figures.clone();
        figures.any(|f| estimate(samples, &f.name(name)).is_some())
    };
    let concerned: Vec<_> = domains.iter().filter(has).cloned().collect();
    of_domains(samples, &concerned, figures).filled()
}

/// Where `name` is in `list`; those that are not come last.
fn position<'a>(name: &str, mut list: impl Iterator<Item = &'a str>) -> usize {
    list.position(|other| other == name).unwrap_or(usize::MAX)
}

/// Groups in the given order, else by the number at their end, so that d10 comes after d9.
fn in_order<'a>(mut groups: Vec<&'a str>, order: &[String]) -> Vec<&'a str> {
    groups.sort_by_key(|group| {
        let given = position(group, order.iter().map(String::as_str));
        let word = group.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: u64 = group[word.len()..].parse().unwrap_or(0);
        (given, word.to_owned(), number)
    });
    groups
}

/// Bars of a measure, which is `known` if a table declares it.
fn bars(
    (measure, known): (&str, Option<&Figure>),
    groups: &[&str],
    members: &[(String, &[Sample])],
    compared: bool,
) -> Picture {
    let quantity = quantity(measure, known);
    let way = known.filter(|_| compared);
    let way = way.map_or(Better::Neither, |f| f.better);
    let mark = |group: &str, samples: &[Sample]| {
        let name = format!("{group}.{measure}");
        let first = members.first().map_or(&[][..], |(_, first)| *first);
        better(way, &values(samples, &name), &values(first, &name))
    };
    let estimate =
        |group: &str, samples: &[Sample]| estimate(samples, &format!("{group}.{measure}"));
    // The longer side makes the groups, so that colours suffice for the series.
    let by_member = members.len() > COLOURS && groups.len() <= COLOURS;
    let (series, groups) = if by_member {
        let group = |(name, samples): &(String, &[Sample])| BarGroup {
            name: name.clone(),
            bars: groups.iter().map(|g| estimate(g, samples)).collect(),
            marks: groups.iter().map(|g| mark(g, samples)).collect(),
        };
        let series: Vec<String> = groups.iter().map(|g| (*g).to_owned()).collect();
        (series, members.iter().map(group).collect())
    } else {
        let group = |group: &&str| BarGroup {
            name: (*group).to_owned(),
            bars: members.iter().map(|(_, s)| estimate(group, s)).collect(),
            marks: members.iter().map(|(_, s)| mark(group, s)).collect(),
        };
        let series: Vec<String> = members.iter().map(|(name, _)| name.clone()).collect();
        (series, groups.iter().map(group).collect())
    };
    let (quantity, groups) = in_fitting_unit(quantity, groups);
    Picture::new(
        written::heading(&quantity.name, &quantity.unit),
        Chart::Bars(Bars {
            value: quantity,
            // Shares are parts of a whole, and bars show that.
            log: (measure == SHARE).then_some(false),
            series,
            groups,
            ..Bars::default()
        }),
    )
}

/// Times in a larger unit where that gives the largest of them less than four digits before the
/// point.
fn in_fitting_unit(quantity: Quantity, groups: Vec<BarGroup>) -> (Quantity, Vec<BarGroup>) {
    const LARGER: [(&str, &str); 3] = [("ns", "us"), ("us", "ms"), ("ms", "s")];
    let means = groups
        .iter()
        .flat_map(|g| g.bars.iter().flatten().map(|e| e.mean.abs()));
    let largest = means.filter(|m| m.is_finite()).fold(0.0, f64::max);
    let larger = LARGER.iter().find(|(unit, _)| *unit == quantity.unit);
    let Some((_, unit)) = larger.filter(|_| largest >= 1_000.0) else {
        return (quantity, groups);
    };
    let scaled = |e: Estimate| Estimate {
        mean: e.mean / 1e3,
        ci95: e.ci95.map(|ends| ends.map(|v| v / 1e3)),
        deviation: e.deviation.map(|d| d / 1e3),
        ..e
    };
    let group = |group: BarGroup| BarGroup {
        bars: group.bars.into_iter().map(|bar| bar.map(scaled)).collect(),
        ..group
    };
    let groups = groups.into_iter().map(group).collect();
    // Nanoseconds of seconds are two steps.
    in_fitting_unit(Quantity::new(&quantity.name, unit), groups)
}

fn table(measures: &Measures, names: &[&str], members: &[(String, &[Sample])]) -> Picture {
    let columns = names.iter().map(|name| {
        let Quantity { name, unit } = quantity(name, measures.figure(name));
        tables::mean(name, &unit)
    });
    let columns = [tables::name("")].into_iter().chain(columns);
    let mut table = Table::new("", columns.collect::<Vec<_>>());
    for (member, samples) in members {
        let cells = names.iter().map(|name| estimate(samples, name).into());
        table.row([member.clone().into()].into_iter().chain(cells));
    }
    Picture::new("Other figures", Chart::Table(table))
}

fn values(samples: &[Sample], name: &str) -> Vec<f64> {
    samples.iter().filter_map(|s| s.get(name)).collect()
}

fn estimate(samples: &[Sample], name: &str) -> Option<Estimate> {
    Estimate::of(&values(samples, name))
}

/// Name and unit of a measure: as a table declares it, or by the last word of the name.
fn quantity(measure: &str, known: Option<&Figure>) -> Quantity {
    if let Some(known) = known {
        return Quantity::new(known.title, known.unit);
    }
    const UNITS: [(&str, &str); 7] = [
        ("_per_s", "1/s"),
        ("_pct", "%"),
        ("_mbps", "Mb/s"),
        ("_us", "us"),
        ("_ms", "ms"),
        ("_ns", "ns"),
        ("_s", "s"),
    ];
    let found = UNITS
        .iter()
        .find_map(|(end, unit)| Some((measure.strip_suffix(end)?, *unit)));
    let (name, unit) = found.unwrap_or((measure, ""));
    Quantity::new(&name.replace('_', " "), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(names: &[&str], value: f64) -> Vec<Sample> {
        let one = |shift: f64| {
            let sample = Sample::new().with("jain", 0.9);
            names.iter().fold(sample, |s, n| s.with(n, value + shift))
        };
        vec![one(0.0), one(0.5)]
    }

    #[test]
    fn families_become_sections_with_series() {
        let domains: Vec<String> = (1..12).map(|i| format!("d{i}.rate_mbps")).collect();
        let domains: Vec<&str> = domains.iter().map(String::as_str).collect();
        let all = BTreeMap::from([
            ("ongaro.test1.orig".to_owned(), samples(&domains, 3.0)),
            ("ongaro.test1.tb".to_owned(), samples(&domains, 5.0)),
            ("alone".to_owned(), samples(&[], 1.0)),
        ]);
        let sections = sections(&Measures::shipped(), &all);
        let titles: Vec<&str> = sections.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles, ["alone", "ongaro.test1"]);
        assert_eq!(sections[1].figures.len(), 2);
        let Chart::Bars(bars) = &sections[1].figures[0].chart else {
            panic!("no bars");
        };
        assert_eq!(bars.value, Quantity::new("rate", "Mb/s"));
        assert_eq!(bars.series, ["orig", "tb"]);
        assert_eq!(bars.groups[1].name, "d2", "numbers are in order");
        assert_eq!(bars.groups[10].name, "d11");
        assert_eq!(bars.groups[0].bars[1].unwrap().mean, 5.25);
        assert!(matches!(sections[1].figures[1].chart, Chart::Table(_)));
    }

    #[test]
    fn work_of_driver_domains_is_left_to_its_own_pictures() {
        let samples = samples(&["d1.share_pct", "driver_work.0.for.1_ms"], 2.0);
        let figures = figures(
            &Measures::shipped(),
            &[("credit".to_owned(), &samples)],
            &[],
        );
        assert_eq!(figures.len(), 2, "the share and what stands alone");
    }

    #[test]
    fn many_members_become_groups() {
        let members: Vec<(String, Vec<Sample>)> = (0..11)
            .map(|i| {
                (
                    format!("c{i}"),
                    samples(&["d1.share_pct", "d2.share_pct"], 1.0),
                )
            })
            .collect();
        let members: Vec<(String, &[Sample])> = members
            .iter()
            .map(|(n, s)| (n.clone(), s.as_slice()))
            .collect();
        let figures = figures(&Measures::shipped(), &members, &[]);
        let Chart::Bars(bars) = &figures[0].chart else {
            panic!("no bars");
        };
        assert_eq!((bars.series.len(), bars.groups.len()), (2, 11));
        assert_eq!(bars.value.unit, "% of one pcpu");
    }

    #[test]
    fn measures_and_domains_keep_their_order() {
        let names = ["web.wake_p50_us", "web.share_pct", "batch.share_pct"];
        let samples = samples(&names, 2.0);
        let order = ["web".to_owned(), "batch".to_owned()];
        let figures = figures(
            &Measures::shipped(),
            &[("credit".to_owned(), &samples)],
            &order,
        );
        assert!(figures[0].caption.starts_with("share"));
        let Chart::Bars(bars) = &figures[0].chart else {
            panic!("no bars");
        };
        assert_eq!(
            (&*bars.groups[0].name, &*bars.groups[1].name),
            ("web", "batch")
        );
        let domains: Vec<_> = (0..).map(DomainId).zip(order).collect();
        let measures = Measures::shipped();
        let table = of_domains(&samples, &domains, measures.figures());
        assert_eq!(table.columns().len(), 2 + measures.figures().count());
        assert_eq!(table.rows()[1][1], "batch".into());
        assert!(table.rows()[1][6].is_none());
        let keys: Vec<String> = table
            .filled()
            .columns()
            .iter()
            .map(|c| c.key.to_string())
            .collect();
        assert_eq!(keys, ["id", "name", "share_pct", "wake_p50_us"]);
    }

    #[test]
    fn what_is_better_than_the_first_is_marked() {
        let names = ["web.wake_p50_us", "web.share_pct"];
        let (slow, fast) = (samples(&names, 9.0), samples(&names, 2.0));
        let members = [
            ("credit".to_owned(), &slow[..]),
            ("sedf".to_owned(), &fast[..]),
        ];
        let marks = |figures: &[Picture]| -> Vec<Vec<Option<bool>>> {
            let bars = figures.iter().filter_map(|f| match &f.chart {
                Chart::Bars(bars) => Some(bars.groups[0].marks.clone()),
                _ => None,
            });
            bars.collect()
        };
        let figures = figures(&Measures::shipped(), &members, &[]);
        assert_eq!(
            marks(&figures),
            [[None, None], [None, Some(true)]],
            "a share is neither"
        );
        let one = draw(&Measures::shipped(), &members, &[], false);
        assert_eq!(marks(&one), [[None, None], [None, None]]);
    }

    #[test]
    fn times_have_the_unit_that_fits_the_largest() {
        let figure = |value: f64| {
            let samples = samples(&["web.wake_p95_us", "db.wake_p95_us"], value);
            figures(
                &Measures::shipped(),
                &[("credit".to_owned(), &samples)],
                &[],
            )
            .remove(0)
        };
        assert_eq!(figure(740.0).caption, "wake to run, p95 [us]");
        let slow = figure(59_681.0);
        assert_eq!(slow.caption, "wake to run, p95 [ms]");
        let Chart::Bars(bars) = &slow.chart else {
            panic!("no bars");
        };
        let bar = bars.groups[0].bars[0].unwrap();
        assert_eq!(bar.mean, 59.681_25);
        assert!(bar.ci95.unwrap()[1] < 60.0 && bar.deviation.unwrap() < 1e-2);
        assert_eq!(figure(2.5e6).caption, "wake to run, p95 [s]");
    }
}
