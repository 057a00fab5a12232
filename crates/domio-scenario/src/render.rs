//! Problems for a terminal: message, excerpt of the source, hint.

use crate::problem::{Problem, ScenarioErrors};
use crate::source::Source;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use domio_core::keys::Span;
use std::ops::Range;

/// Longest stretch of one line that an excerpt shows, in bytes.
const LONGEST_LINE: usize = 400;

impl ScenarioErrors {
    /// Every listed problem with an excerpt of its source, for people; ANSI colours when `colour`.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let mut out = String::new();
        for problem in self.problems() {
            out.push_str(&renderer.render(&[self.group(problem)]));
            out.push_str("\n\n");
        }
        let listed = self.problems().len();
        match self.unshown() {
            0 if listed == 1 => out.push_str("1 error\n"),
            0 => out.push_str(&format!("{listed} errors\n")),
            n => out.push_str(&format!(
                "{} errors; the first {listed} are shown, {n} are not\n",
                self.total()
            )),
        }
        out
    }

    fn group<'a>(&'a self, problem: &'a Problem) -> Group<'a> {
        let title = Level::ERROR
            .primary_title(&problem.message)
            .id(problem.code.name());
        let mut group = match self.sources.get(problem.span.source as usize) {
            // An empty stretch at the very start stands for the whole file.
            Some(_) if problem.span == Span::whole(problem.span.source) => {
                title.element(Origin::path(&problem.source))
            }
            Some(source) => {
                let label = if problem.expected.is_empty() || is_long(&problem.expected) {
                    String::new()
                } else {
                    format!("expected {}", problem.expected)
                };
                let (excerpt, first_line, range) = excerpt(source, problem.span);
                let mut mark = AnnotationKind::Primary.span(range);
                if !label.is_empty() {
                    mark = mark.label(label);
                }
                title.element(
                    Snippet::source(excerpt)
                        .path(&problem.source)
                        .line_start(first_line)
                        .annotation(mark),
                )
            }
            None => Group::with_title(title),
        };
        for (span, label) in &problem.related {
            if let Some(source) = self.sources.get(span.source as usize) {
                let (excerpt, first_line, range) = excerpt(source, *span);
                group = group.element(
                    Snippet::source(excerpt)
                        .path(&source.name)
                        .line_start(first_line)
                        .annotation(AnnotationKind::Context.span(range).label(label)),
                );
            }
        }
        // An excerpt shows what was expected; without one it has to be said.
        let whole = problem.span == Span::whole(problem.span.source);
        if !problem.expected.is_empty() && (whole || is_long(&problem.expected)) {
            let expected = wrapped(&format!("expected {}", problem.expected));
            group = group.element(Level::NOTE.message(expected));
        }
        match &problem.hint {
            Some(hint) => group.element(Level::HELP.message(wrapped(hint))),
            None => group,
        }
    }
}

/// Whether what was expected is too long to stand beside the mark.
fn is_long(expected: &str) -> bool {
    const BESIDE: usize = 50;
    expected.chars().count() > BESIDE
}

/// `text` in lines that fit a terminal, beside the margin of an excerpt.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 80;
    let mut out = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let letters = word.chars().count();
        let fits = length + 1 + letters <= WIDTH;
        match (length, fits) {
            (0, _) => {}
            (_, true) => out.push(' '),
            (_, false) => out.push('\n'),
        }
        length = if fits && length > 0 {
            length + 1 + letters
        } else {
            letters
        };
        out.push_str(word);
    }
    out
}

/// The line of `span` (a part of it when it is very long), its number, and `span` in it.
fn excerpt(source: &Source, span: Span) -> (&str, usize, Range<usize>) {
    let start = source.floor(span.start as usize);
    let line = source.line_of(start);
    let from = source.line_start(line);
    let to = source.line_start(line + 1);
    let from = if start - from > LONGEST_LINE / 2 {
        source.floor(start - LONGEST_LINE / 2)
    } else {
        from
    };
    let to = source.floor(to.min(from + LONGEST_LINE));
    let text = source.text[from..to].trim_end_matches(['\n', '\r']);
    let start = (start - from).min(text.len());
    let end = source
        .floor(span.end as usize)
        .saturating_sub(from)
        .clamp(start, text.len());
    (text, line + 1, start..end)
}
