//! Variants of a host side by side: a table a measure.

use crate::tables;
use crate::text::table::titled;
use crate::text::{Sort, View};
use domio_answer::{Cell, Table};
use domio_run::measure::Measures;
use domio_stats::compare::{MeasureOf, VariantFigure};

/// A table a measure, under its title: a row a domain, a column a variant of `labels`, each cell a
/// mean with its interval. A figure that differs from that of the first variant beyond the 95 %
/// interval ends in "+" when it is better and "-" when worse. Words of `--columns` that name no
/// measure name variants. Measures come in the order in which those of `known` are felt.
pub fn render(
    known: &Measures,
    figures: &[VariantFigure],
    labels: &[String],
    view: &View,
) -> String {
    let mut measures: Vec<&[VariantFigure]> = figures.chunk_by(is_of_same).collect();
    measures.sort_by_key(|figures| rank(known, &figures[0].of));
    let order = order(&measures, labels, view);
    let (shown, view) = asked(&measures, view);
    let shown = shown.iter().map(|figures| {
        let table = table(figures, labels, &order);
        titled(&table, &view)
    });
    let shown = shown.filter(|table| !table.is_empty());
    shown.map(|table| table + "\n").collect()
}

/// Whether `word` names a measure by its title or by its name for programs.
fn is_named(word: &str, title: &str, measure: &str) -> bool {
    View::is_title(word, title) || View::is_title(word, measure)
}

/// What `--columns` and `--sort` can name in a comparison of variants with these `labels`, with the
/// name for programs.
pub fn columns(known: &Measures, labels: &[String]) -> Vec<(String, String)> {
    let same = |name: &str| (name.to_owned(), name.to_owned());
    let figures = known.figures();
    let figures = figures.map(|figure| (figure.title.to_owned(), figure.key.to_owned()));
    let others = ["domain", "for"].into_iter();
    let others = others.chain(labels.iter().map(String::as_str)).map(same);
    figures.chain(others).collect()
}

fn is_of_same(a: &VariantFigure, b: &VariantFigure) -> bool {
    (&a.of.measure, &a.of.driver) == (&b.of.measure, &b.of.driver)
}

/// What people feel comes first, then the causes, then the work of driver domains.
fn rank(known: &Measures, of: &MeasureOf) -> u8 {
    let figure = known.figure(&of.measure);
    figure.map_or(u8::MAX, |figure| figure.felt.rank())
}

/// The table of one measure, with the domains of `order` first.
fn table(figures: &[VariantFigure], labels: &[String], order: &[&str]) -> Table {
    let of = &figures[0].of;
    let head = if of.driver.is_some() { "for" } else { "domain" };
    // A long name has one line a word.
    let columns = labels.iter().map(|label| {
        let column = tables::mean(label.clone(), &of.unit);
        column.title(label.replace(' ', "\n"))
    });
    let columns = [tables::name(head)].into_iter().chain(columns);
    let mut table = Table::new(of.title.clone(), columns.collect::<Vec<_>>());
    let mut domains: Vec<&str> = Vec::new();
    for figure in figures {
        if !domains.contains(&figure.of.domain.as_str()) {
            domains.push(&figure.of.domain);
        }
    }
    let place = |domain: &&str| order.iter().position(|other| other == domain);
    domains.sort_by_key(|domain| place(domain).unwrap_or(usize::MAX));
    for (row, domain) in domains.into_iter().enumerate() {
        let mut cells = vec![Cell::text(domain.to_owned())];
        for label in labels {
            let mut here = figures.iter();
            let here = here.find(|f| f.variant == *label && f.of.domain == domain);
            let better = here.and_then(|figure| figure.better_than_first);
            table.set_tone(row, cells.len(), tables::tone(better));
            cells.push(here.map(|figure| figure.mean).into());
        }
        table.row(cells);
    }
    table
}

/// The measures that the words of `--columns` name, and how they are shown.
fn asked<'f>(measures: &[&'f [VariantFigure]], view: &View) -> (Vec<&'f [VariantFigure]>, View) {
    let is_called = |word: &str, figures: &[VariantFigure]| {
        let of = &figures[0].of;
        of.driver.is_none() && is_named(word, &of.title, &of.measure)
    };
    let is_measure = |word: &str| measures.iter().any(|figures| is_called(word, figures));
    let words: Vec<&String> = view.columns.iter().filter(|w| is_measure(w)).collect();
    let wanted = |figures: &&&[VariantFigure]| {
        let of_driver = figures[0].of.driver.is_some();
        of_driver || words.iter().any(|word| is_called(word, figures))
    };
    let shown = match words.is_empty() {
        true => measures.to_vec(),
        false => measures.iter().filter(wanted).copied().collect(),
    };
    words.iter().for_each(|word| view.is_found(word));
    let mut view = view.clone();
    view.columns.retain(|word| !is_measure(word));
    if view
        .sort
        .as_ref()
        .is_some_and(|sort| is_measure(&sort.column))
    {
        view.is_sorted();
        view.sort = None;
    }
    (shown, view)
}

/// The domains in the order that `--sort` asks for by the name of a measure: that of the first
/// variant. Empty where it asks for none.
fn order<'f>(measures: &[&'f [VariantFigure]], labels: &[String], view: &View) -> Vec<&'f str> {
    let Some(Sort { column, descending }) = &view.sort else {
        return Vec::new();
    };
    let mut named = measures.iter();
    let named = named.find(|figures| {
        let of = &figures[0].of;
        is_named(column, &of.title, &of.measure)
    });
    let figures = named.copied().unwrap_or_default().iter();
    let mut first: Vec<&VariantFigure> = figures
        .filter(|f| Some(&f.variant) == labels.first())
        .collect();
    first.sort_by(|a, b| match descending {
        true => b.mean.mean.total_cmp(&a.mean.mean),
        false => a.mean.mean.total_cmp(&b.mean.mean),
    });
    first
        .iter()
        .map(|figure| figure.of.domain.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::Better;
    use domio_run::Sample;

    fn compared(
        (measure, unit, better): (&'static str, &'static str, Better),
        domain: &str,
        variants: &[(String, Vec<Sample>)],
    ) -> Vec<VariantFigure> {
        let of = MeasureOf {
            domain: domain.to_owned(),
            measure: measure.into(),
            title: measure.into(),
            unit: unit.into(),
            better,
            driver: None,
        };
        let name = format!("{domain}.{measure}");
        of.compared(variants, |sample| sample.get(&name))
    }

    fn labels(variants: &[(String, Vec<Sample>)]) -> Vec<String> {
        variants.iter().map(|(label, _)| label.clone()).collect()
    }

    #[test]
    fn differences_are_marked_in_words() {
        let samples = |list: [f64; 3]| list.map(|v| Sample::new().with("web.wait", v)).to_vec();
        let variants = [
            ("credit".into(), samples([5.0, 6.0, 5.5])),
            ("credit2".into(), samples([1.0, 2.1, 1.4])),
            ("rtds".into(), Vec::new()),
        ];
        let figures = compared(("wait", "ms", Better::Lower), "web", &variants);
        let text = render(
            &Measures::shipped(),
            &figures,
            &labels(&variants),
            &View::default(),
        );
        assert!(
            text.starts_with("wait\n\n") && !text.contains("[ms]"),
            "{text}"
        );
        assert!(text.contains("1.5 ± 1.4 ms +"), "{text}");
        assert!(!text.contains("5.5 ± 1.2 ms +") && text.contains("5.5 ± 1.2"));
        assert!(text.contains("rtds"), "{text}");
    }

    #[test]
    fn every_domain_is_a_row_and_every_variant_a_column_however_many() {
        let domains: Vec<String> = (0..51).map(|i| format!("domain{i}.")).collect();
        let sample = domains.iter().fold(Sample::new(), |s, domain| {
            s.with(&format!("{domain}.share"), 10.0)
        });
        let variants: Vec<_> = (0..9)
            .map(|i| {
                let label = format!("credit:tslice_ms={i}. domain.rt.pin=4-5");
                (label, vec![sample.clone()])
            })
            .collect();
        let of = ("share", "% of one pcpu", Better::Neither);
        let figures = domains
            .iter()
            .flat_map(|domain| compared(of, domain, &variants));
        let figures: Vec<VariantFigure> = figures.collect();
        let text = render(
            &Measures::shipped(),
            &figures,
            &labels(&variants),
            &View::of_width(80),
        );
        let text = anstream::adapter::strip_str(&text).to_string();
        for domain in &domains {
            assert!(text.contains(&format!("{domain} ")), "{domain}: {text}");
        }
        for i in 0..9 {
            let label = format!("credit:tslice_ms={i}.");
            assert_eq!(text.matches(&label).count(), 1, "{label}: {text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert_eq!(
            text.matches("of one pcpu").count(),
            1,
            "the title says that"
        );
    }

    #[test]
    fn words_name_measures_and_an_order_of_domains() {
        let sample = Sample::new().with("a.share", 10.0).with("b.share", 30.0);
        let sample = sample.with("a.wait", 5.0).with("b.wait", 2.0);
        let variants = [("x".to_owned(), vec![sample])];
        let figures = ["share", "wait"].into_iter().flat_map(|measure| {
            let compared = |domain| compared((measure, "", Better::Neither), domain, &variants);
            ["a", "b"]
                .into_iter()
                .flat_map(compared)
                .collect::<Vec<_>>()
        });
        let figures: Vec<VariantFigure> = figures.collect();
        let view = View {
            columns: vec!["wait".to_owned()],
            sort: Some("share".parse().unwrap()),
            ..View::default()
        };
        let text = render(&Measures::shipped(), &figures, &labels(&variants), &view);
        let text = anstream::adapter::strip_str(&text).to_string();
        assert!(
            text.starts_with("wait\n") && !text.contains("share"),
            "{text}"
        );
        let rows = text
            .lines()
            .skip(4)
            .filter_map(|line| line.split_whitespace().next());
        assert_eq!(rows.collect::<Vec<_>>(), ["b", "a"], "{text}");
        assert_eq!(view.unmet(), None);
    }
}
