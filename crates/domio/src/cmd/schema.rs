//! `domio schema`: the schemas of what `--json` prints.

use crate::args::{Global, Schema};
use crate::out::{self, Status};
use crate::schema;
use crate::shared::registered::{self, Listing};
use domio_answer::{AnswerSpec, rows};
use domio_run::measure::Measures;

rows! {
    /// A schema of the list.
    #[derive(Clone, PartialEq, Debug)]
    struct ListedSchema {
        /// Name of the schema, after the command.
        name: String = key("name").title("schema");
        /// Name and version, as the output has them in the key `schema`.
        id: String = key("id");
        /// What the output is.
        doc: String = fact("doc").title("of");
    }
}

const LIST: Listing = Listing {
    name: "schema",
    version: 1,
    doc: "What `domio schema --json` prints.",
    key: "schemas",
    rows: "Every schema, by name.",
};

/// The schema of the list.
pub fn spec() -> AnswerSpec {
    LIST.of::<ListedSchema>(&[]).spec
}

/// Prints one schema, or lists them.
pub fn run(args: &Schema, global: &Global) -> anyhow::Result<Status> {
    let measures = Measures::from(&global.parts);
    let all = schema::all(&measures);
    let Some(name) = &args.name else {
        let row = |spec: &AnswerSpec| ListedSchema {
            name: spec.name.to_owned(),
            id: spec.id(),
            doc: spec.doc.to_owned(),
        };
        return LIST.print(&all.iter().map(row).collect::<Vec<_>>(), args.json);
    };
    let unknown = || registered::unknown("schema", name, all.iter().map(|s| s.name));
    out::json(&schema::find(&measures, name).ok_or_else(unknown)?)?;
    Ok(Status::Success)
}
