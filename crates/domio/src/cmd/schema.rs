//! `domio schema`: the schemas of what `--json` prints.

use crate::args::Schema;
use crate::out::{self, Status};
use crate::schema;
use crate::shared::registered;
use domio_report::text::{TextCell, TextColumn, TextTable, Tone};
use serde_json::json;

/// Prints one schema, or lists them.
pub fn run(args: &Schema) -> anyhow::Result<Status> {
    let Some(name) = &args.name else {
        return list(args.json);
    };
    let unknown = || {
        let all = schema::all();
        registered::unknown("schema", name, all.iter().map(|s| s.name))
    };
    let schema = schema::find(name).ok_or_else(unknown)?;
    out::text(&schema.text)?;
    Ok(Status::Success)
}

fn list(as_json: bool) -> anyhow::Result<Status> {
    if as_json {
        let entry = |s: schema::Schema| json!({ "name": s.name, "id": s.id });
        out::json(&schema::all().into_iter().map(entry).collect::<Vec<_>>())?;
        return Ok(Status::Success);
    }
    let mut table = TextTable::new([
        TextColumn::words("schema").whole(),
        TextColumn::words("id").whole(),
        TextColumn::words("of"),
    ]);
    for schema in schema::all() {
        table.row([
            TextCell::new(schema.name, Tone::Strong),
            schema.id.into(),
            schema.doc.into(),
        ]);
    }
    out::text(&table.render(out::view()))?;
    Ok(Status::Success)
}
