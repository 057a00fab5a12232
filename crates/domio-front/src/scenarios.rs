//! Scenarios by path or name, and what is said of their mistakes.

use crate::input::{self, InputKind, STDIN_NAME, Stream};
use crate::suggest;
use anyhow::{Context, anyhow, bail};
use domio_answer::{Answered, Table, rows};
use domio_papers::folders;
use domio_papers::paper::{self, Paper};
use domio_scenario::{
    Code, MAX_BYTES, Parts, Problem, Scenario, ScenarioErrors, example, examples,
};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

rows! {
    /// A scenario as text.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct ScenarioText {
        /// Name.
        pub name: String = key("name");
        /// What it shows.
        pub title: String = fact("title");
        /// The scenario.
        pub text: String = fact("text");
    }

    /// A scenario that was checked.
    #[derive(Clone, PartialEq, Debug)]
    pub struct CheckedScenario {
        /// The file.
        pub file: String = key("file");
        /// Whether it can be run.
        pub valid: bool = fact("valid");
        /// What else to know of a scenario that can be run.
        pub notices: Vec<String> = parts("notices", []);
        /// What is wrong, as far as it is listed.
        pub errors: Vec<ProblemRow> = parts("errors", []);
        /// Mistakes in all.
        pub total: usize = count("total");
    }

    /// A mistake.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ProblemRow {
        /// Kind of mistake.
        code: String = fact("code");
        /// File, or `--set`.
        file: String = fact("file");
        /// Line, from 1.
        line: usize = fact("line");
        /// Column in characters, from 1.
        column: usize = fact("column");
        /// Bytes before, from 0.
        offset: usize = fact("offset");
        /// Path of the key, empty without one.
        key: String = fact("key");
        /// What is wrong.
        message: String = fact("message");
        /// What was found.
        found: String = fact("found");
        /// What is allowed.
        expected: String = fact("expected");
        /// What to do.
        hint: Option<String> = fact("hint");
    }
}

impl ScenarioText {
    /// The scenario `text`, which can ask for `parts`.
    pub fn of(name: &str, text: String, parts: &Parts) -> Self {
        let scenario = Scenario::parse(name, text.as_bytes(), parts);
        let title = scenario.ok().and_then(|s| s.plan().title.clone());
        ScenarioText {
            name: name.to_owned(),
            title: title.unwrap_or_default(),
            text,
        }
    }

    /// For programs.
    pub fn answer(&self) -> Answered {
        let doc = "What `domio scenario show --json` prints, and `from-trace` and `from-lists`.";
        Answered::of("scenario-show", 2, doc, self)
    }
}

impl CheckedScenario {
    /// The scenario in `file`: a list of notices, or what is wrong.
    pub fn of(file: String, checked: &Result<Vec<String>, ScenarioErrors>) -> Self {
        CheckedScenario {
            file,
            valid: checked.is_ok(),
            notices: checked.as_ref().map_or_else(|_| Vec::new(), Clone::clone),
            errors: checked.as_ref().map_or_else(problems, |_| Vec::new()),
            total: checked.as_ref().map_or_else(ScenarioErrors::total, |_| 0),
        }
    }
}

/// Each mistake that is listed.
pub fn problems(errors: &ScenarioErrors) -> Vec<ProblemRow> {
    let row = |p: &Problem| ProblemRow {
        code: p.code.name().to_owned(),
        file: p.source.clone(),
        line: p.line,
        column: p.column,
        offset: p.offset,
        key: p.key.clone(),
        message: p.message.clone(),
        found: p.found.clone(),
        expected: p.expected.clone(),
        hint: p.hint.clone(),
    };
    errors.problems().iter().map(row).collect()
}

/// The mistakes as a table, one a row.
pub fn problem_table(errors: &ScenarioErrors) -> Table {
    Table::of("", &problems(errors))
}

/// The scenario in the file `name` (`-` for standard input), or the shipped one or the cell of a
/// paper of that name when there is no such file. It can ask for `parts`.
///
/// # Errors
/// Every mistake in it; with near matches when there is neither.
pub fn load(name: &str, parts: &Parts) -> anyhow::Result<Scenario> {
    let path = Path::new(name);
    let result = match example(name) {
        _ if input::is_stdin(path) => of_stdin(parts)?,
        Some(text) if !path.exists() => Scenario::parse(name, text.as_bytes(), parts),
        None if !path.exists() => match paper::scenario(name, parts).map_err(|e| anyhow!(e))? {
            Some(scenario) => return Ok(scenario),
            None => {
                let near = near(name);
                return Err(anyhow!(
                    "no file and no shipped scenario is called \"{name}\"{near}; \
                     `domio scenario list` lists the shipped ones"
                ));
            }
        },
        _ => of_file(path, parts)?,
    };
    result.map_err(mistakes)
}

/// Near matches of `name` among shipped scenarios, or among cells if it begins like one.
pub fn near(name: &str) -> String {
    if !name.starts_with(folders::PREFIX) {
        return suggest::near(name, examples().iter().map(|(n, _)| *n));
    }
    let papers = paper::shipped();
    let cells: Vec<String> = papers
        .iter()
        .flat_map(Paper::cells)
        .map(|c| c.path())
        .collect();
    suggest::near(name, cells.iter().map(String::as_str))
}

/// The scenario on standard input, which can ask for `parts`.
///
/// # Errors
/// When it cannot be read, or is known to be something else.
pub fn of_stdin(parts: &Parts) -> anyhow::Result<Result<Scenario, ScenarioErrors>> {
    let context = "cannot read the scenario from <stdin>";
    let bytes = input::stdin_bytes(MAX_BYTES).context(context)?;
    if let Some(why) = input::no_scenario(STDIN_NAME, InputKind::of(bytes)) {
        bail!(why);
    }
    Ok(Scenario::parse(STDIN_NAME, bytes, parts))
}

/// The scenario in the file at `path`, unpacked if it is packed, which can ask for `parts`.
///
/// # Errors
/// When it is known to be something else, or cannot be unpacked.
pub fn of_file(path: &Path, parts: &Parts) -> anyhow::Result<Result<Scenario, ScenarioErrors>> {
    let name = path.display().to_string();
    if !path.is_file() || File::open(path).is_err() {
        return Ok(Scenario::load(path, parts));
    }
    let context = || format!("cannot read the scenario {name}");
    let file = Stream::open(path).with_context(context)?;
    if let Some(why) = input::no_scenario(&name, file.kind()) {
        bail!(why);
    }
    if file.packing().is_none() {
        return Ok(Scenario::load(path, parts));
    }
    let mut bytes = Vec::new();
    let mut limited = file.take(MAX_BYTES as u64 + 1);
    limited.read_to_end(&mut bytes).with_context(context)?;
    Ok(Scenario::parse(&name, &bytes, parts))
}

/// Mistakes of a scenario as an error. It is told with colours, which are taken out where they are
/// printed, if they are not wanted there.
#[derive(Debug)]
pub struct Mistakes(pub ScenarioErrors);

impl Mistakes {
    /// All mistakes, each with its line of the text; with colours if `colour`.
    pub fn told(&self, colour: bool) -> String {
        if is_unreadable(&self.0) {
            return self.0.to_string();
        }
        let mistakes = self.0.render(colour);
        format!("the scenario has mistakes:\n\n{}", mistakes.trim_end())
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(true))
    }
}

impl std::error::Error for Mistakes {}

/// The error that gives all mistakes, each with its line of the text.
pub fn mistakes(errors: ScenarioErrors) -> anyhow::Error {
    anyhow::Error::new(Mistakes(errors))
}

/// Whether the scenario could not be read at all.
pub fn is_unreadable(errors: &ScenarioErrors) -> bool {
    errors.problems().iter().any(|p| p.code == Code::Unreadable)
}
