//! Reads `figures.toml` of a paper, as strictly as scenarios are read.

mod pattern;
mod tables;

use super::spec::{
    AxisSpec, Drawing, ListSpec, MarkSpec, MeanSpec, Member, PanelSpec, PaperPictures, PictureSpec,
    Plot, Published, RangeSpec,
};
use crate::written::brief;
use domio_core::keys::{
    Checker, Code, KeySection, KeyTable, Keys, Mistake, Nested, Slot, Span, list, number,
};
use domio_scenario::{ScenarioErrors, read_document};
use pattern::{NamedWords, Sets, expand, sets};
use std::collections::BTreeMap;
use tables::{
    ALONG, Along, EXPERIMENT, ExperimentKeys, FIGURE, FILE, File, KINDS, KindKeys, MARK, MEAN,
    Mark, Mean, PANEL, PUBLISHED, PanelKeys, PictureKeys, PrintedKeys, RANGE, REFERENCE, REMARK,
    Range, Reference, Remark, VALUE, ValueKeys,
};

/// Reads the figures of the paper in folder `paper` from `text`.
///
/// # Errors
/// Every mistake: of TOML, of a key that is unknown, missing or of the wrong type, of a set or a
/// panel that is not there, of a key that the kind of figure lacks or has no use for.
pub fn read(paper: &str, text: &str) -> Result<PaperPictures, ScenarioErrors> {
    let name = format!("papers/{paper}/figures.toml");
    let figures = read_document(&name, text, &FILE, figures)?;
    Ok(PaperPictures {
        paper: paper.to_owned(),
        figures,
    })
}

/// The panels of the file, each with its table.
type Panels = BTreeMap<String, (PanelKeys, Box<dyn KeyTable>)>;

fn figures(cx: &mut dyn Checker, document: &dyn KeyTable) -> Option<Vec<PictureSpec>> {
    let keys = File::read(document);
    let shared = sets(cx, document.entries(keys.sets.name));
    let mut panels = Panels::new();
    for entry in document.entries(keys.panels.name) {
        if entry.is_table {
            let table = cx.table(entry.node, &PANEL, &entry.named.key);
            panels.insert(entry.named.name, (PanelKeys::read(&table), table));
        }
    }
    let mut ids: BTreeMap<String, Span> = BTreeMap::new();
    let tables = document.tables(cx, &keys.figure, &FIGURE);
    let figures = tables.iter().map(|table| {
        let keys = PictureKeys::read(table);
        let own = sets(cx, table.entries(keys.sets.name));
        if let Some(id) = keys.id.get()
            && let Some(first) = ids.insert(id.clone(), table.span(&keys.id))
        {
            let what = format!("two figures are called \"{id}\"");
            cx.tell(
                Mistake::new(Code::Duplicate, table.span(&keys.id), what)
                    .related(first, "the first one")
                    .hint("give one of the two another id"),
            );
        }
        let reader = Reader {
            keys,
            table: &**table,
            shared: &shared,
            own,
            panels: &panels,
        };
        reader.figure(cx)
    });
    figures.collect::<Vec<_>>().into_iter().collect()
}

/// Reads one figure.
struct Reader<'a> {
    keys: PictureKeys,
    table: &'a dyn KeyTable,
    shared: &'a NamedWords,
    own: NamedWords,
    panels: &'a Panels,
}

impl Reader<'_> {
    fn sets(&self) -> Sets<'_> {
        Sets {
            own: &self.own,
            shared: self.shared,
        }
    }

    /// The table at `slot`, if there is a good one.
    fn inner(
        &self,
        cx: &mut dyn Checker,
        slot: &Slot<Nested>,
        section: &'static KeySection,
    ) -> Option<Box<dyn KeyTable>> {
        self.table.tables(cx, slot, section).pop()
    }

    fn mistake(&self, at: Span, what: impl Into<String>) -> Mistake {
        Mistake::new(Code::Conflict, at, what)
    }

    fn figure(&self, cx: &mut dyn Checker) -> Option<PictureSpec> {
        let keys = &self.keys;
        let kind = keys.kind.get()?;
        let good = self.only_what_the_kind_has(cx, kind);
        let experiments = self.experiments(cx)?;
        let drawing = match kind {
            KindKeys::Panels => Drawing::Panels(self.drawn_panels(cx, &experiments)?),
            KindKeys::Bars => Drawing::Bars(self.plot(cx, &experiments)?),
            KindKeys::Stack => Drawing::Stack(self.plot(cx, &experiments)?),
            KindKeys::Lines => self.lines(cx, &experiments)?,
            KindKeys::Cdf => Drawing::Cdf(self.list(cx)?),
            KindKeys::Sequence => Drawing::Sequence {
                list: self.list(cx)?,
                count: keys.count.get()?,
            },
        };
        let figure = PictureSpec {
            id: keys.id.get()?,
            number: keys.number.get()?,
            title: keys.title.get()?,
            text: self.text()?,
            caption: keys.caption.get()?,
            claims: keys.claims.or(Vec::new())?,
            experiments,
            drawing,
        };
        good.then_some(figure)
    }

    /// What the panels need said, and then what the figure does.
    fn text(&self) -> Option<String> {
        let names = self.keys.panels.or(Vec::new())?;
        let panels = names.iter().filter_map(|name| self.panels.get(name));
        let texts = panels.map(|(panel, _)| panel.text.get());
        let texts: Option<Vec<String>> = texts.chain([self.keys.text.get()]).collect();
        let mut texts = texts?;
        texts.retain(|text| !text.is_empty());
        Some(texts.join(" "))
    }

    fn experiments(&self, cx: &mut dyn Checker) -> Option<Vec<Member>> {
        let slot = &self.keys.experiments;
        slot.get()?;
        let mut members = Vec::new();
        for pattern in self.table.texts(slot) {
            for (key, word) in expand(cx, &pattern, self.sets())? {
                let last = key.rsplit('.').next().unwrap_or(&key).to_owned();
                members.push(Member {
                    key,
                    name: word.unwrap_or(last),
                });
            }
        }
        for table in self.table.tables(cx, slot, &EXPERIMENT) {
            let ExperimentKeys { experiment, name } = ExperimentKeys::read(&table);
            members.push(Member {
                key: experiment.get()?,
                name: name.get()?,
            });
        }
        Some(members)
    }

    fn values(&self, cx: &mut dyn Checker, patterns: &[(Span, String)]) -> Option<Vec<Member>> {
        let mut members = Vec::new();
        for pattern in patterns {
            for (key, _) in expand(cx, pattern, self.sets())? {
                let name = key
                    .rsplit_once('.')
                    .map_or(key.as_str(), |(group, _)| group);
                let name = name.to_owned();
                members.push(Member { key, name });
            }
        }
        Some(members)
    }

    fn plot(&self, cx: &mut dyn Checker, experiments: &[Member]) -> Option<Plot> {
        let keys = &self.keys;
        self.needed(cx, &keys.values)?;
        let mut values = self.values(cx, &self.table.texts(&keys.values))?;
        if let Some(names) = keys.names.if_given()? {
            let (have, want) = (names.len(), values.len());
            if have != want {
                let what = format!("{have} names for {want} values");
                let mistake = self.mistake(self.table.span(&keys.names), what);
                cx.tell(mistake.expected("a name for each"));
                return None;
            }
            for (value, name) in values.iter_mut().zip(names) {
                value.name = name;
            }
        }
        let by_experiment = keys.by.get()?;
        let groups = if by_experiment { experiments } else { &values };
        let axis = self.axis(cx)?;
        let along = self.along(cx)?;
        let places: Vec<String> = match &along {
            Some((_, _, at)) => at.iter().map(f64::to_string).collect(),
            None => groups.iter().map(|g| g.name.clone()).collect(),
        };
        let series = if by_experiment { &values } else { experiments };
        let series: Vec<String> = series.iter().map(|s| s.name.clone()).collect();
        // A line has a point at its place: nothing has to be told apart there.
        let series = if along.is_some() { &[][..] } else { &series };
        let reference = match self.inner(cx, &keys.reference, &REFERENCE) {
            None => None,
            Some(table) => {
                let own = Reference::read(&table);
                let value = number(cx, table.span(&own.value), &own.value.get()?)?;
                Some((own.name.get()?, value))
            }
        };
        Some(Plot {
            published: self.published(cx, None, &axis.unit, (&places, series))?,
            axis,
            values,
            by_experiment,
            reference,
        })
    }

    /// Name, unit and places of the horizontal axis, if there is one: `None` when it is bad.
    fn along(&self, cx: &mut dyn Checker) -> Option<Option<(String, String, Vec<f64>)>> {
        let Some(table) = self.inner(cx, &self.keys.along, &ALONG) else {
            return Some(None);
        };
        let along = Along::read(&table);
        along.at.get()?;
        let places = table.texts(&along.at);
        let at = places.iter().map(|(span, text)| number(cx, *span, text));
        let at: Option<Vec<f64>> = at.collect();
        Some(Some((along.name.get()?, along.unit.get()?, at?)))
    }

    fn lines(&self, cx: &mut dyn Checker, experiments: &[Member]) -> Option<Drawing> {
        self.needed(cx, &self.keys.along)?;
        let plot = self.plot(cx, experiments)?;
        let (name, unit, at) = self.along(cx)??;
        let want = match plot.by_experiment {
            true => experiments.len(),
            false => plot.values.len(),
        };
        if at.len() != want {
            let what = format!("{} places for {want} points of each line", at.len());
            let mistake = self.mistake(self.table.span(&self.keys.along), what);
            cx.tell(mistake.expected("a place for each"));
            return None;
        }
        Some(Drawing::Lines {
            plot,
            along: (name, unit),
            at,
        })
    }

    /// The tables of what the paper prints, each with its keys.
    fn printed(&self, cx: &mut dyn Checker) -> Vec<(PrintedKeys, Box<dyn KeyTable>)> {
        let tables = self.table.tables(cx, &self.keys.published, &PUBLISHED);
        let all = tables.into_iter();
        all.map(|table| (PrintedKeys::read(&table), table))
            .collect()
    }

    fn list(&self, cx: &mut dyn Checker) -> Option<ListSpec> {
        let axis = self.axis(cx)?;
        self.needed(cx, &self.keys.list)?;
        let mut bands = Vec::new();
        for (own, table) in self.printed(cx) {
            let value = number(cx, table.span(&own.value), &own.value.get()?)?;
            let until = table.number(cx, &own.until)?;
            let text = own.text.if_given()?;
            let text = text.unwrap_or_else(|| brief(value, &axis.unit));
            bands.push(([value, until.unwrap_or(value)], text));
        }
        Some(ListSpec {
            bands,
            key: self.keys.list.get()?,
            axis,
        })
    }

    fn axis(&self, cx: &mut dyn Checker) -> Option<AxisSpec> {
        self.needed(cx, &self.keys.value)?;
        let value = ValueKeys::read(&self.inner(cx, &self.keys.value, &VALUE)?);
        Some(AxisSpec {
            name: value.name.get()?,
            unit: value.unit.get()?,
            log: value.axis.get()?,
        })
    }

    fn drawn_panels(&self, cx: &mut dyn Checker, experiments: &[Member]) -> Option<Vec<PanelSpec>> {
        self.needed(cx, &self.keys.panels)?;
        let columns: Vec<String> = experiments.iter().map(|e| e.name.clone()).collect();
        let names = self.table.texts(&self.keys.panels);
        let mut panels = Vec::new();
        for (at, name) in &names {
            match self.panels.get(name) {
                Some((keys, table)) => {
                    panels.push(self.panel(cx, name, (keys, &**table), &columns));
                }
                None => {
                    let known: Vec<&str> = self.panels.keys().map(String::as_str).collect();
                    let near = cx.did_you_mean(name, &known);
                    let what = format!("no panel is called \"{name}\"");
                    cx.tell(
                        Mistake::new(Code::UnknownName, *at, what)
                            .expected(format!("one of: {}", list(known)))
                            .maybe_hint(near),
                    );
                    panels.push(None);
                }
            }
        }
        for (own, table) in self.printed(cx) {
            let named = own.panel.if_given()?;
            if !named.is_some_and(|own| names.iter().any(|(_, name)| *name == own)) {
                let of = names.iter().map(|(_, name)| name.as_str());
                let mistake = self.mistake(table.header(), "the value is of no panel");
                let expected = format!("`panel` with one of: {}", list(of));
                cx.tell(mistake.expected(expected));
                return None;
            }
        }
        panels.into_iter().collect()
    }

    fn panel(
        &self,
        cx: &mut dyn Checker,
        name: &str,
        (keys, table): (&PanelKeys, &dyn KeyTable),
        columns: &[String],
    ) -> Option<PanelSpec> {
        let mut marks = Vec::new();
        for own in table.tables(cx, &keys.marks, &MARK) {
            let mark = Mark::read(&own);
            let values = self.values(cx, &own.texts(&mark.values))?;
            marks.push(MarkSpec {
                shape: mark.shape.get()?,
                name: mark.name.get()?,
                values: values.into_iter().map(|v| v.key).collect(),
            });
        }
        let own = table.tables(cx, &keys.mean, &MEAN).pop()?;
        let mean = Mean::read(&own);
        if mean.deviation.given && !mean.count.given {
            let what = "a `deviation` needs the `count` of its values";
            cx.tell(self.mistake(own.header(), what));
            return None;
        }
        let range = match table.tables(cx, &keys.range, &RANGE).pop() {
            None => None,
            Some(own) => Some(self.range(cx, &*own, mean.deviation.given)?),
        };
        let remark = match table.tables(cx, &keys.remark, &REMARK).pop() {
            None => None,
            Some(own) => {
                let Remark { name, value } = Remark::read(&own);
                let (key, name) = (value.get()?, name.get()?);
                Some(Member { key, name })
            }
        };
        let unit = keys.unit.get()?;
        Some(PanelSpec {
            published: self.published(cx, Some(name), &unit, (columns, &[]))?,
            axis: AxisSpec {
                name: keys.name.get()?,
                unit,
                log: keys.axis.get()?,
            },
            mean: MeanSpec {
                name: mean.name.get()?,
                value: mean.value.get()?,
                count: mean.count.if_given()?,
                deviation: mean.deviation.if_given()?,
                labelled: mean.labelled.get()?,
                none: mean.none.get()?,
            },
            range,
            marks,
            remark,
        })
    }

    /// The range of a panel whose mean has a `deviation` or not.
    fn range(
        &self,
        cx: &mut dyn Checker,
        table: &dyn KeyTable,
        deviation: bool,
    ) -> Option<RangeSpec> {
        let Range { name, low, high } = Range::read(table);
        let ends = match (low.if_given()?, high.if_given()?) {
            (Some(low), Some(high)) => Some([low, high]),
            (None, None) if deviation => None,
            _ => {
                let mistake = self.mistake(table.header(), "the range has no ends");
                cx.tell(mistake.expected("`low` and `high`, or a `deviation` of the mean"));
                return None;
            }
        };
        Some(RangeSpec {
            name: name.get()?,
            ends,
        })
    }

    /// What the paper prints in `panel`, at some of `places`.
    fn published(
        &self,
        cx: &mut dyn Checker,
        panel: Option<&str>,
        unit: &str,
        (places, series): (&[String], &[String]),
    ) -> Option<Vec<Published>> {
        let mut all = Vec::new();
        for (own, table) in self.printed(cx) {
            if own.panel.if_given()?.as_deref() != panel {
                continue;
            }
            if own.until.given {
                cx.tell(table.misplaced(&own.until).says(
                    "`until` is for lists",
                    "no `until`",
                    "a column shows one value",
                ));
                return None;
            }
            let mut at = Vec::new();
            for pattern in table.texts(&own.at) {
                let names = expand(cx, &pattern, self.sets())?;
                at.extend(names.into_iter().map(|(text, _)| text));
                if let Some(strange) = at.iter().find(|at| !places.contains(at)) {
                    let known = list(places.iter().map(String::as_str));
                    let what = format!("\"{strange}\" is not in the figure");
                    let mistake = self.mistake(pattern.0, what);
                    cx.tell(mistake.expected(format!("one of: {known}")));
                    return None;
                }
            }
            let of = own.of.if_given()?;
            if let Some(of) = of.as_ref().filter(|of| !series.contains(of)) {
                let (what, expected) = match series {
                    [] => ("`of` is for bars".to_owned(), "no `of`".to_owned()),
                    known => (
                        format!("there is no bar \"{of}\""),
                        format!("one of: {}", list(known.iter().map(String::as_str))),
                    ),
                };
                let mistake = self.mistake(table.span(&own.of), what);
                cx.tell(mistake.expected(expected));
                return None;
            }
            let value = number(cx, table.span(&own.value), &own.value.get()?)?;
            let text = own.text.if_given()?;
            all.push(Published {
                at,
                of,
                value,
                text: text.unwrap_or_else(|| brief(value, unit)),
            });
        }
        Some(all)
    }

    /// The word for how the figure is drawn.
    fn kind(&self) -> &str {
        self.table.written("kind").unwrap_or("")
    }

    /// Tells of a key that the kind needs, where it is not there.
    fn needed<T>(&self, cx: &mut dyn Checker, slot: &Slot<T>) -> Option<()> {
        if !slot.given {
            let what = format!("`{}` is missing", slot.name);
            cx.tell(
                Mistake::new(Code::MissingKey, self.table.span(&self.keys.kind), what).expected(
                    format!("`{}` of a figure of kind \"{}\"", slot.name, self.kind()),
                ),
            );
        }
        slot.given.then_some(())
    }

    /// Refuses keys that would be read by nobody; whether there are none.
    fn only_what_the_kind_has(&self, cx: &mut dyn Checker, kind: KindKeys) -> bool {
        let others = KINDS.iter().flat_map(|other| other.is.keys());
        let stray = others.filter(|key| !kind.keys().contains(key));
        let mut good = true;
        for place in stray.filter_map(|key| self.table.place(key)) {
            good = false;
            let key = place.path.rsplit('.').next().unwrap_or_default();
            let what = format!("a figure of kind \"{}\" has no `{key}`", self.kind());
            let has = list(kind.keys().iter().copied());
            cx.tell(
                self.mistake(place.key, what)
                    .expected(format!("one of: {has}")),
            );
        }
        good
    }
}

#[cfg(test)]
mod tests;
