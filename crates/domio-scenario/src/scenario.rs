//! [`Scenario`]: a text that was found to be good, and the plan that it describes.

use crate::check::Cx;
use crate::check::meant;
use crate::limits::MAX_BYTES;
use crate::parts::Parts;
use crate::plan::Plan;
use crate::problem::{Problems, ScenarioErrors};
use crate::resolve::{self, MemberKey};
use crate::source::Source;
use crate::value::{self, Node, SyntaxError};
use crate::xl;
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A validated scenario.
///
/// It remembers its text, so that [`Scenario::set`] can change a key of it with the same
/// validation and errors as the file itself.
#[derive(Clone)]
pub struct Scenario {
    /// The file, then one text for each override.
    pub(crate) sources: Vec<Arc<Source>>,
    pub(crate) parts: Parts,
    pub(crate) root: Node,
    /// Overrides of single members of groups.
    pub(crate) members: Vec<MemberKey>,
    /// Whether an override chose another policy than the file.
    pub(crate) swapped: bool,
    /// Notices of the overrides.
    pub(crate) dropped: Vec<String>,
    plan: Plan,
    notices: Vec<String>,
}

impl Scenario {
    /// Reads and validates a scenario. `name` is what messages call it (its path), `parts` are
    /// those that it can ask for; policies alone (`domio_sched::policies()`) go with all others
    /// that ship.
    ///
    /// # Errors
    /// Everything that is wrong with it, together.
    pub fn parse(
        name: &str,
        bytes: &[u8],
        parts: impl Into<Parts>,
    ) -> Result<Self, ScenarioErrors> {
        Scenario::parse_with(name, bytes, parts.into())
    }

    fn parse_with(name: &str, bytes: &[u8], parts: Parts) -> Result<Self, ScenarioErrors> {
        if bytes.len() > MAX_BYTES {
            return Err(too_large(name, bytes.len() as u64));
        }
        let mut problems = Problems::default();
        let text = decode(bytes, &mut problems);
        if let Some(first) = problems.first()
            && bytes.iter().any(|b| is_in_no_text(*b))
        {
            // One complaint about each byte would bury what is wrong.
            let problem = first.clone().hint(
                "a scenario is a text of some lines; is this another file? if not, save it as \
                 UTF-8",
            );
            return Err(single(name, text, problem));
        }
        let (root, syntax) = value::read(0, &text);
        if problems.is_empty() && syntax.is_empty() && is_empty(&root) {
            return Err(single(name, text, empty()));
        }
        if let Some(problem) = xl::problem(&text, &root) {
            return Err(single(name, text, problem));
        }
        let sources = vec![Arc::new(Source::new(name.to_owned(), text, false))];
        let draft = Draft {
            sources,
            parts,
            root,
            members: Vec::new(),
            swapped: false,
            dropped: Vec::new(),
        };
        draft.finish(problems, syntax)
    }

    /// Reads and validates the scenario in the file at `path`. This alone touches a file.
    ///
    /// # Errors
    /// As [`Scenario::parse`]; also when the file cannot be read. A file over [`MAX_BYTES`] is
    /// refused before it is read.
    pub fn load(path: &Path, parts: impl Into<Parts>) -> Result<Self, ScenarioErrors> {
        use std::io::Read;
        let name = path.display().to_string();
        let unreadable = |error: &std::io::Error| {
            let problem = Mistake::new(
                Code::Unreadable,
                Span::whole(0),
                format!("the scenario cannot be read: {error}"),
            )
            .hint("give the path of a TOML file, or the name of a shipped scenario");
            single(&name, String::new(), problem)
        };
        let file = std::fs::File::open(path).map_err(|e| unreadable(&e))?;
        let size = file.metadata().map_err(|e| unreadable(&e))?.len();
        if size > MAX_BYTES as u64 {
            return Err(too_large(&name, size));
        }
        // The file may grow meanwhile, or be a device without a size.
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| unreadable(&e))?;
        Scenario::parse(&name, &bytes, parts)
    }

    /// What the scenario asks for.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The parts that it can ask for.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// What messages call it: the path that it was loaded from.
    pub fn name(&self) -> &str {
        &self.sources[0].name
    }

    /// Folder that paths in the scenario are relative to.
    pub fn folder(&self) -> PathBuf {
        Path::new(self.name())
            .parent()
            .map(Path::to_owned)
            .unwrap_or_default()
    }

    /// The text of the file. With [`Scenario::overrides`] it says all that the plan depends on.
    pub fn text(&self) -> &str {
        &self.sources[0].text
    }

    /// The overrides so far, each as `key = value`.
    pub fn overrides(&self) -> impl Iterator<Item = &str> {
        self.sources[1..].iter().map(|s| s.text.as_str())
    }

    /// Things worth knowing that are no errors: parameters that a swapped policy does not have,
    /// actions after the end of the run.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scenario")
            .field("name", &self.name())
            .field("plan", &self.plan)
            .field("notices", &self.notices)
            .finish_non_exhaustive()
    }
}

/// A document that is still to be checked.
pub(crate) struct Draft {
    pub sources: Vec<Arc<Source>>,
    pub parts: Parts,
    pub root: Node,
    pub members: Vec<MemberKey>,
    pub swapped: bool,
    pub dropped: Vec<String>,
}

impl Draft {
    /// Checks it. `problems` and `syntax` were found while reading.
    pub fn finish(
        self,
        mut problems: Problems,
        syntax: Vec<SyntaxError>,
    ) -> Result<Scenario, ScenarioErrors> {
        let partial = !syntax.is_empty();
        let earlier = std::mem::take(&mut problems);
        let sections = resolve::sections(&self.parts);
        let mut cx = Cx {
            problems,
            partial,
            swapped: self.swapped,
            ..Cx::new(&self.parts, &self.sources, &sections)
        };
        let plan = resolve::resolve(&mut cx, &self.root, &self.members);
        let Cx {
            mut problems,
            notices,
            ..
        } = cx;
        let broken = broken_lines(&self.sources[0], &earlier, &syntax);
        problems.retain(|p| {
            p.span.source != 0 || !broken.contains(&self.sources[0].line_of(p.span.start as usize))
        });
        problems.extend(earlier);
        for error in syntax {
            problems.push(syntax_problem(&self.sources[0], error));
        }
        match (problems.finish(&self.sources), plan) {
            (None, Some(plan)) => Scenario {
                notices: self.dropped.iter().cloned().chain(notices).collect(),
                sources: self.sources,
                parts: self.parts,
                root: self.root,
                members: self.members,
                swapped: self.swapped,
                dropped: self.dropped,
                plan,
            }
            .with_good_vary(),
            (Some(errors), _) => Err(errors),
            // Every missing part was reported, unless its report was on a broken line.
            (None, None) => Err(single(
                &self.sources[0].name,
                self.sources[0].text.clone(),
                Mistake::new(Code::Syntax, Span::whole(0), "the scenario is incomplete")
                    .hint("a scenario needs [run], [scheduler] and at least one [[domain]]"),
            )),
        }
    }
}

/// Lines of which something could not be read: whatever else is said of them may be wrong.
fn broken_lines(source: &Source, earlier: &Problems, syntax: &[SyntaxError]) -> BTreeSet<usize> {
    earlier
        .spans()
        .chain(syntax.iter().map(|e| e.span))
        .flat_map(|s| [s.start, s.end.max(s.start + 1) - 1])
        .map(|offset| source.line_of(offset as usize))
        .collect()
}

pub(crate) fn syntax_problem(source: &Source, error: SyntaxError) -> Mistake {
    let SyntaxError { message, span } = error;
    let (what, expected) = match message.split_once(", expected ") {
        Some((what, expected)) => (what.to_owned(), expected.to_owned()),
        None => (message, String::new()),
    };
    let line = source.line_of(span.start as usize);
    let text = &source.text[source.line_start(line)..source.line_start(line + 1)];
    let colon = (text.contains(':') && !text.contains('='))
        .then(|| "TOML writes `key = value`, without a colon".to_owned());
    let values = text.split(['=', '#']).skip(1);
    let commas = values.flat_map(|v| v.split_whitespace());
    let comma = commas.map(|v| v.trim_end_matches([',', '}']));
    let hint = comma.clone().find_map(meant::decimal_comma).or(colon);
    // The very start of the file is a place like any other here.
    let span = if span == Span::whole(0) {
        Span { end: 1, ..span }
    } else {
        span
    };
    Mistake::new(Code::Syntax, span, format!("not TOML: {what}"))
        .found(domio_core::keys::quote(source.slice(span)))
        .expected(expected)
        .hint_or(
            hint,
            "TOML has one `key = value` in a line, each key once, words in quotes, and tables as \
             `[name]`",
        )
}

/// `bytes` as text. Each byte that is not part of valid UTF-8 becomes a question mark, so that the
/// rest keeps its offsets and can be checked too.
fn decode(bytes: &[u8], problems: &mut Problems) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let bad = chunk.invalid();
        if !bad.is_empty() {
            let at = text.len();
            let shown: Vec<String> = bad.iter().map(|b| format!("0x{b:02x}")).collect();
            text.extend(bad.iter().map(|_| '?'));
            problems.push(
                Mistake::new(
                    Code::Encoding,
                    Span::new(0, at..at + bad.len()),
                    format!("not UTF-8 at byte {at}: {}", shown.join(" ")),
                )
                .found(shown.join(" "))
                .expected("UTF-8 text")
                .hint("save the file as UTF-8"),
            );
        }
    }
    text
}

/// Whether a file with this byte is something else than a text: an archive, a program, UTF-16.
fn is_in_no_text(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r')
}

fn is_empty(root: &Node) -> bool {
    root.as_table().is_some_and(|t| t.entries.is_empty())
}

fn empty() -> Mistake {
    Mistake::new(Code::Empty, Span::whole(0), "the scenario is empty")
        .expected("[run], [scheduler] and at least one [[domain]]")
        .hint(
            "the smallest scenario: `run.duration_s = 1`, `scheduler.policy = \"credit\"` and \
             `[[domain]]` with `name = \"g\"` and `workload = \"burn\"`",
        )
}

fn too_large(name: &str, size: u64) -> ScenarioErrors {
    let problem = Mistake::new(
        Code::TooLarge,
        Span::whole(0),
        format!("the scenario has {size} bytes"),
    )
    .found(size.to_string())
    .expected(format!("{MAX_BYTES} bytes at most"))
    .hint("a scenario is a text of some lines; is this another file?");
    single(name, String::new(), problem)
}

/// Errors with one problem.
pub(crate) fn single(name: &str, text: String, problem: Mistake) -> ScenarioErrors {
    let mut problems = Problems::default();
    problems.push(problem);
    let source = Arc::new(Source::new(name.to_owned(), text, false));
    problems.finish(&[source]).expect("one was pushed")
}
