//! Figures of papers, from `papers/<name>/figures.toml` and the samples of `domio reproduce`.
//!
//! A paper draws what its file says: which experiments, which figures of their samples, on which
//! axes, and what the paper prints. Nothing here names a paper; `docs/figures.md` describes the
//! file.
//!
//! | file | holds |
//! |---|---|
//! | `spec` | what a file says, once checked |
//! | `read` | the reader, whose mistakes have a place |
//! | `build` | charts from samples |

mod build;
mod read;
mod spec;

pub use read::read;
pub use spec::{Drawing, Member, PaperPictures, PictureSpec};

use crate::data::{Chart, Picture, Section};
use domio_papers::ClaimLedger;
use domio_papers::folders::PaperFolder;
use domio_papers::ledger::LedgerEntry;
use domio_run::Sample;
use domio_scenario::ScenarioErrors;
use std::collections::BTreeMap;

/// Samples by experiment, one a replication.
pub type All = BTreeMap<String, Vec<Sample>>;

/// Name of the file in a paper's folder.
pub const FILE: &str = "figures.toml";

/// The figures of the papers in `folders`, of those that have any.
///
/// # Errors
/// All mistakes of the first file that has some, with their lines.
pub fn of(folders: &[PaperFolder]) -> Result<Vec<PaperPictures>, ScenarioErrors> {
    let with_figures = folders
        .iter()
        .filter_map(|paper| Some(read(&paper.name, paper.file(FILE)?)));
    with_figures.collect()
}

/// Whether the samples of the experiment called `name` are drawn by one of `papers`.
pub fn draws(papers: &[PaperPictures], name: &str) -> bool {
    let mut figures = papers.iter().flat_map(|p| &p.figures);
    figures.any(|f| f.experiments.iter().any(|e| e.key == name))
}

/// One section a figure of `papers`, of those for which there are samples. Each has the claims of
/// `ledger` about it.
pub fn sections(papers: &[PaperPictures], samples: &All, ledger: &ClaimLedger) -> Vec<Section> {
    let drawn: Vec<(&str, &PictureSpec, Picture)> = papers
        .iter()
        .flat_map(|p| p.figures.iter().map(|f| (p.paper.as_str(), f)))
        .filter_map(|(paper, spec)| Some((paper, spec, build::figure(paper, spec, samples)?)))
        .collect();
    let several = drawn.windows(2).any(|two| two[0].0 != two[1].0);
    let section = |(paper, spec, figure): (&str, &PictureSpec, Picture)| {
        let number = match several {
            true => format!("{paper}, {}", lower_first(&spec.number)),
            false => spec.number.clone(),
        };
        Section {
            title: format!("{number}: {}", spec.title),
            text: spec.text.clone(),
            figures: [Some(figure), claims_about(spec, ledger)]
                .into_iter()
                .flatten()
                .collect(),
        }
    };
    drawn.into_iter().map(section).collect()
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_lowercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

fn claims_about(spec: &PictureSpec, ledger: &ClaimLedger) -> Option<Picture> {
    let entries = ledger.entries.iter();
    let entries = entries.filter(|e| spec.claims.iter().any(|p| e.claim.has_prefix(p)));
    claims(entries.cloned().collect())
}

/// The claims about what a section shows; `None` without any.
pub fn claims(entries: Vec<LedgerEntry>) -> Option<Picture> {
    let caption = "What the paper says about it";
    (!entries.is_empty()).then(|| Picture::new(caption, Chart::Claims(entries)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_papers::folders;

    #[test]
    fn all_shipped_figures_are_read() {
        let papers = of(&folders::shipped()).unwrap();
        assert!(!papers.is_empty());
        for paper in &papers {
            let drawn = paper.figures.iter().flat_map(|f| &f.experiments);
            let mut names: Vec<&str> = drawn.map(|e| e.key.as_str()).collect();
            names.dedup();
            assert!(names.iter().all(|name| draws(&papers, name)));
            for figure in &paper.figures {
                let units: Vec<&str> = match &figure.drawing {
                    Drawing::Panels(panels) => panels.iter().map(|p| &*p.axis.unit).collect(),
                    Drawing::Bars(plot) | Drawing::Stack(plot) | Drawing::Lines { plot, .. } => {
                        vec![&plot.axis.unit]
                    }
                    Drawing::Cdf(list) | Drawing::Sequence { list, .. } => vec![&list.axis.unit],
                };
                let known = units.iter().all(|unit| !unit.is_empty());
                assert!(
                    known,
                    "{} of {} has an axis without a unit",
                    figure.number, paper.paper
                );
            }
        }
        assert!(!draws(&papers, "no.such.experiment"));
    }
}
