//! Reads `figures.toml` of a paper.

mod pattern;
mod raw;

use super::spec::{
    AxisSpec, Drawing, FigureSpec, ListSpec, MarkSpec, MeanSpec, Member, PanelSpec, PaperFigures,
    Plot, Published, RangeSpec,
};
use crate::figure::brief;
use pattern::{Sets, expand};
use raw::{AxisText, By, OneOrMany, RawExperiment, RawFigure, RawFile, RawKind, RawPanel};
use std::fmt;
use std::ops::Range;
use toml::Spanned;

/// What is wrong in a file of figures.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct FiguresError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, what was expected, and what to do.
    pub what: String,
}

impl fmt::Display for FiguresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FiguresError { file, line, what } = self;
        write!(f, "{file}:{line}: {what}")
    }
}

/// Where and what.
type Mistake = (Range<usize>, String);

fn mistake<T>(at: Range<usize>, what: impl Into<String>) -> Result<T, Mistake> {
    Err((at, what.into()))
}

/// Reads the figures of the paper in folder `paper` from `text`.
///
/// # Errors
/// The first mistake: of TOML, of a key that is unknown, missing or of the wrong type, of a set or
/// a panel that is not there, of a key that the kind of figure lacks or has no use for.
pub fn read(paper: &str, text: &str) -> Result<PaperFigures, FiguresError> {
    let error = |(at, what): Mistake| FiguresError {
        file: format!("papers/{paper}/figures.toml"),
        line: 1 + text.as_bytes()[..at.start.min(text.len())]
            .iter()
            .filter(|b| **b == b'\n')
            .count(),
        what,
    };
    let raw: RawFile = toml::from_str(text).map_err(|e| {
        let at = e.span().unwrap_or(0..0);
        error((at, e.message().trim_end().replace('\n', "; ")))
    })?;
    let figures = figures(&raw).map_err(error)?;
    Ok(PaperFigures {
        paper: paper.to_owned(),
        figures,
    })
}

fn figures(file: &RawFile) -> Result<Vec<FigureSpec>, Mistake> {
    let mut figures: Vec<FigureSpec> = Vec::new();
    for raw in &file.figure {
        let id = &raw.id;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.get_ref().is_empty() || !id.get_ref().chars().all(plain) {
            let what = "an id has lower-case letters, digits and hyphens only, as \"fig5\"";
            return mistake(id.span(), what);
        }
        if figures.iter().any(|f| f.id == *id.get_ref()) {
            return mistake(
                id.span(),
                format!("two figures are called \"{}\"", id.get_ref()),
            );
        }
        figures.push(Reader { file, raw }.figure()?);
    }
    match figures.is_empty() {
        true => mistake(0..0, "no figure in the file; expected [[figure]]"),
        false => Ok(figures),
    }
}

/// Reads one figure.
struct Reader<'a> {
    file: &'a RawFile,
    raw: &'a RawFigure,
}

impl Reader<'_> {
    fn sets(&self) -> Sets<'_> {
        Sets {
            own: &self.raw.sets,
            shared: &self.file.sets,
        }
    }

    fn figure(&self) -> Result<FigureSpec, Mistake> {
        self.only_what_the_kind_has()?;
        let raw = self.raw;
        let experiments = self.experiments()?;
        let drawing = match *raw.kind.get_ref() {
            RawKind::Panels => Drawing::Panels(self.panels(&experiments)?),
            RawKind::Bars => Drawing::Bars(self.plot(&experiments)?),
            RawKind::Stack => Drawing::Stack(self.plot(&experiments)?),
            RawKind::Lines => self.lines(&experiments)?,
            RawKind::Cdf => Drawing::Cdf(self.list()?),
            RawKind::Sequence => Drawing::Sequence {
                list: self.list()?,
                count: raw.count.clone().unwrap_or_else(|| "number".to_owned()),
            },
        };
        Ok(FigureSpec {
            id: raw.id.get_ref().clone(),
            number: raw.number.clone(),
            title: raw.title.clone(),
            text: self.text(),
            caption: raw.caption.clone(),
            claims: raw.claims.clone(),
            experiments,
            drawing,
        })
    }

    /// What the panels need said, and then what the figure does.
    fn text(&self) -> String {
        let panels = self.raw.panels.iter().flatten();
        let panels = panels.filter_map(|name| self.file.panels.get(name.get_ref()));
        let texts = panels
            .map(|p| p.text.as_str())
            .chain([self.raw.text.as_str()]);
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join(" ")
    }

    fn experiments(&self) -> Result<Vec<Member>, Mistake> {
        let mut members = Vec::new();
        let span = self.raw.experiments.span();
        for experiment in self.raw.experiments.get_ref().list() {
            match experiment {
                RawExperiment::Pattern(pattern) => {
                    for (key, word) in expand(pattern, &span, self.sets())? {
                        let last = key.rsplit('.').next().unwrap_or(&key).to_owned();
                        members.push(Member {
                            key,
                            name: word.unwrap_or(last),
                        });
                    }
                }
                RawExperiment::Named { experiment, name } => members.push(Member {
                    key: experiment.clone(),
                    name: name.clone(),
                }),
            }
        }
        match members.is_empty() {
            true => mistake(
                self.raw.experiments.span(),
                "no experiment; name at least one",
            ),
            false => Ok(members),
        }
    }

    fn values(&self, patterns: &Spanned<OneOrMany<String>>) -> Result<Vec<Member>, Mistake> {
        let mut members = Vec::new();
        for pattern in patterns.get_ref().list() {
            for (key, _) in expand(pattern, &patterns.span(), self.sets())? {
                let name = key
                    .rsplit_once('.')
                    .map_or(key.as_str(), |(group, _)| group);
                let name = name.to_owned();
                members.push(Member { key, name });
            }
        }
        Ok(members)
    }

    fn plot(&self, experiments: &[Member]) -> Result<Plot, Mistake> {
        let raw = self.raw;
        let mut values = self.values(self.needed(&raw.values, "values")?)?;
        if let Some(names) = &raw.names {
            let (have, want) = (names.get_ref().len(), values.len());
            if have != want {
                let what = format!("{have} names for {want} values; give one for each");
                return mistake(names.span(), what);
            }
            for (value, name) in values.iter_mut().zip(names.get_ref()) {
                value.name.clone_from(name);
            }
        }
        let by_experiment = raw.by == By::Experiment;
        let groups = if by_experiment { experiments } else { &values };
        let axis = self.axis()?;
        let places: Vec<String> = match &raw.along {
            Some(along) => along.get_ref().at.iter().map(|at| at.to_string()).collect(),
            None => groups.iter().map(|g| g.name.clone()).collect(),
        };
        let series = if by_experiment { &values } else { experiments };
        let series: Vec<String> = series.iter().map(|s| s.name.clone()).collect();
        // A line has a point at its place: nothing has to be told apart there.
        let series = if raw.along.is_some() {
            &[][..]
        } else {
            &series
        };
        Ok(Plot {
            published: self.published(None, &axis.unit, (&places, series))?,
            axis,
            values,
            by_experiment,
            reference: raw.reference.as_ref().map(|r| (r.name.clone(), r.value)),
        })
    }

    fn lines(&self, experiments: &[Member]) -> Result<Drawing, Mistake> {
        let along = self.needed(&self.raw.along, "along")?;
        let plot = self.plot(experiments)?;
        let (have, want) = match plot.by_experiment {
            true => (along.get_ref().at.len(), experiments.len()),
            false => (along.get_ref().at.len(), plot.values.len()),
        };
        if have != want {
            let what = format!("{have} places for {want} points of each line; give one for each");
            return mistake(along.span(), what);
        }
        let along = along.get_ref();
        Ok(Drawing::Lines {
            plot,
            along: (along.name.clone(), along.unit.clone()),
            at: along.at.clone(),
        })
    }

    fn list(&self) -> Result<ListSpec, Mistake> {
        let axis = self.axis()?;
        let bands = self.raw.published.iter().map(|p| {
            let p = p.get_ref();
            let ends = [p.value, p.until.unwrap_or(p.value)];
            let text = p.text.clone().unwrap_or_else(|| brief(p.value, &axis.unit));
            (ends, text)
        });
        Ok(ListSpec {
            bands: bands.collect(),
            key: self.needed(&self.raw.list, "list")?.clone(),
            axis,
        })
    }

    fn axis(&self) -> Result<AxisSpec, Mistake> {
        let value = self.needed(&self.raw.value, "value")?;
        Ok(AxisSpec {
            name: value.name.clone(),
            unit: value.unit.clone(),
            log: log(value.axis),
        })
    }

    fn panels(&self, experiments: &[Member]) -> Result<Vec<PanelSpec>, Mistake> {
        let mut panels = Vec::new();
        let columns: Vec<String> = experiments.iter().map(|e| e.name.clone()).collect();
        for name in self.needed(&self.raw.panels, "panels")? {
            let Some(panel) = self.file.panels.get(name.get_ref()) else {
                let known: Vec<&str> = self.file.panels.keys().map(String::as_str).collect();
                let (at, name, known) = (name.span(), name.get_ref(), known.join(", "));
                let what = format!("no panel is called \"{name}\"; known: {known}");
                return mistake(at, what);
            };
            panels.push(self.panel(name.get_ref(), panel, &columns)?);
        }
        for published in &self.raw.published {
            let named = published.get_ref().panel.as_ref();
            let of = self.raw.panels.iter().flatten();
            if !named.is_some_and(|n| of.clone().any(|p| p.get_ref() == n)) {
                let of: Vec<&str> = of.map(|p| p.get_ref().as_str()).collect();
                let what = format!("\"panel\" says which one of {} prints it", of.join(", "));
                return mistake(published.span(), what);
            }
        }
        Ok(panels)
    }

    fn panel(&self, name: &str, raw: &RawPanel, columns: &[String]) -> Result<PanelSpec, Mistake> {
        let mut marks = Vec::new();
        for mark in &raw.marks {
            let values = self.values(&mark.values)?;
            marks.push(MarkSpec {
                shape: mark.shape.into(),
                name: mark.name.clone(),
                values: values.into_iter().map(|v| v.key).collect(),
            });
        }
        let mean = raw.mean.get_ref();
        let range = match &raw.range {
            None => None,
            Some(range) => Some(RangeSpec {
                name: range.get_ref().name.clone(),
                ends: match (&range.get_ref().low, &range.get_ref().high) {
                    (Some(low), Some(high)) => Some([low.clone(), high.clone()]),
                    (None, None) if mean.deviation.is_some() => None,
                    _ => {
                        let what = "a range has \"low\" and \"high\", or the mean a \"deviation\"";
                        return mistake(range.span(), what);
                    }
                },
            }),
        };
        if mean.deviation.is_some() && mean.count.is_none() {
            return mistake(
                raw.mean.span(),
                "a \"deviation\" needs the \"count\" of its values",
            );
        }
        Ok(PanelSpec {
            axis: AxisSpec {
                name: raw.name.clone(),
                unit: raw.unit.clone(),
                log: log(raw.axis),
            },
            mean: MeanSpec {
                name: mean.name.clone(),
                value: mean.value.clone(),
                count: mean.count.clone(),
                deviation: mean.deviation.clone(),
                labelled: mean.labelled,
                none: mean.none.clone(),
            },
            range,
            marks,
            remark: raw.remark.as_ref().map(|r| Member {
                key: r.value.clone(),
                name: r.name.clone(),
            }),
            published: self.published(Some(name), &raw.unit, (columns, &[]))?,
        })
    }

    /// What the paper prints in `panel`, at some of `places`.
    fn published(
        &self,
        panel: Option<&str>,
        unit: &str,
        (places, series): (&[String], &[String]),
    ) -> Result<Vec<Published>, Mistake> {
        let mut list = Vec::new();
        for spanned in &self.raw.published {
            let raw = spanned.get_ref();
            if raw.panel.as_deref() != panel {
                continue;
            }
            if raw.until.is_some() {
                let what = "\"until\" is for lists; a column shows one value";
                return mistake(spanned.span(), what);
            }
            let mut at = Vec::new();
            for pattern in raw.at.iter().flat_map(|at| at.get_ref().list()) {
                let names = expand(pattern, &spanned.span(), self.sets())?;
                at.extend(names.into_iter().map(|(text, _)| text));
                if let Some(strange) = at.iter().find(|at| !places.contains(at)) {
                    let known = places.join(", ");
                    let what = format!("\"{strange}\" is not in the figure; it has {known}");
                    return mistake(spanned.span(), what);
                }
            }
            if let Some(of) = raw.of.as_ref().filter(|of| !series.contains(of)) {
                let what = match series {
                    [] => "\"of\" is for bars".to_owned(),
                    known => format!("there is no bar \"{of}\"; there are {}", known.join(", ")),
                };
                return mistake(spanned.span(), what);
            }
            list.push(Published {
                at,
                of: raw.of.clone(),
                value: raw.value,
                text: raw.text.clone().unwrap_or_else(|| brief(raw.value, unit)),
            });
        }
        Ok(list)
    }

    fn needed<'t, T>(&self, value: &'t Option<T>, key: &str) -> Result<&'t T, Mistake> {
        let kind = &self.raw.kind;
        let what = || {
            format!(
                "a figure of kind \"{}\" needs \"{key}\"",
                kind.get_ref().name()
            )
        };
        value.as_ref().ok_or_else(|| (kind.span(), what()))
    }

    /// Refuses keys that would be read by nobody.
    fn only_what_the_kind_has(&self) -> Result<(), Mistake> {
        let raw = self.raw;
        let given = [
            ("value", raw.value.is_some()),
            ("values", raw.values.is_some()),
            ("names", raw.names.is_some()),
            ("list", raw.list.is_some()),
            ("count", raw.count.is_some()),
            ("along", raw.along.is_some()),
            ("panels", raw.panels.is_some()),
            ("reference", raw.reference.is_some()),
        ];
        let has = raw.kind.get_ref().keys();
        let stray = given.iter().find(|(key, is)| *is && !has.contains(key));
        match stray {
            None => Ok(()),
            Some((key, _)) => mistake(
                raw.kind.span(),
                format!(
                    "a figure of kind \"{}\" has no \"{key}\"; it has {}",
                    raw.kind.get_ref().name(),
                    has.join(", ")
                ),
            ),
        }
    }
}

fn log(axis: AxisText) -> Option<bool> {
    match axis {
        AxisText::Auto => None,
        AxisText::Linear => Some(false),
        AxisText::Log => Some(true),
    }
}

#[cfg(test)]
mod tests;
