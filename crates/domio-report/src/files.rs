//! Files with the figures of a report: an SVG and a CSV each, named after what they show.

use crate::csv;
use crate::data::{Chart, Picture, ReportData, Section};
use crate::svg::document::document;
use std::collections::BTreeSet;

/// Most characters of a name: file systems take 255 bytes, and people read fewer.
const NAME_MAX: usize = 90;

/// Names and contents of the files, without two of one name. A table has a CSV alone, and verdicts
/// on claims have a file of their own: the JSON of the command.
pub fn of(data: &ReportData) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let sections = data.overview.iter().chain(&data.sections);
    let figures = sections.flat_map(|s| s.figures.iter().map(move |f| (s, f)));
    for (section, figure) in figures {
        if matches!(figure.chart, Chart::Claims(_)) {
            continue;
        }
        let wanted = name(&data.name, section, figure);
        let mut name = wanted.clone();
        for number in 2.. {
            if taken.insert(name.clone()) {
                break;
            }
            name = format!("{wanted}-{number}");
        }
        if let Some(svg) = document(&figure.chart) {
            files.push((format!("{name}.svg"), svg));
        }
        files.push((format!("{name}.csv"), csv::csv(&figure.chart)));
    }
    files
}

/// What the report, the section and the caption say, as far as it fits.
fn name(report: &str, section: &Section, figure: &Picture) -> String {
    let words = match figure.name.as_str() {
        "" => format!("{report} {} {}", section.title, figure.caption),
        name => name.to_owned(),
    };
    slug(&words)
}

/// Lower-case letters and digits, with a hyphen in the place of all else.
fn slug(words: &str) -> String {
    let mut slug = String::new();
    for word in words.split(|c: char| !c.is_ascii_alphanumeric()) {
        if word.is_empty() || slug.len() + word.len() >= NAME_MAX {
            continue;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug += &word.to_ascii_lowercase();
    }
    match slug.is_empty() {
        true => "figure".to_owned(),
        false => slug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Cdf;
    use domio_answer::Table;

    #[test]
    fn files_are_named_after_what_they_show() {
        let figure = |caption: &str, chart| Picture::new(caption, chart);
        let data = ReportData {
            name: "small-host".into(),
            sections: vec![Section {
                title: "Waits & runs".into(),
                text: String::new(),
                figures: vec![
                    figure("From a wake-up", Chart::Cdf(Cdf::default())),
                    figure("From a wake-up", Chart::Table(Table::default())),
                    figure("x", Chart::Cdf(Cdf::default())).named("ongaro2008 Figure 5: x 7"),
                    figure("About it", Chart::Claims(Vec::new())),
                ],
            }],
            ..ReportData::default()
        };
        let files = of(&data);
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "small-host-waits-runs-from-a-wake-up.svg",
                "small-host-waits-runs-from-a-wake-up.csv",
                "small-host-waits-runs-from-a-wake-up-2.csv",
                "ongaro2008-figure-5-x-7.svg",
                "ongaro2008-figure-5-x-7.csv",
            ]
        );
        assert!(files[0].1.starts_with("<?xml"));
        assert!(slug(&"word ".repeat(100)).len() <= NAME_MAX);
        assert_eq!(slug("± %"), "figure", "never a path of dots");
        assert_eq!(slug("../../etc"), "etc");
    }
}
