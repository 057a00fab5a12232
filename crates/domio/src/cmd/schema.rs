//! `domio schema`: the schemas of what `--json` prints.

use crate::args::Schema;
use crate::cmd::registered;
use crate::out::{self, Status};
use crate::schema::{self, SCHEMAS};
use domio_report::text::{Cell, Column, Table, Tone};
use serde_json::{Value, json};

/// Prints one schema, or lists them.
pub fn run(args: &Schema) -> anyhow::Result<Status> {
    let Some(name) = &args.name else {
        return list(args.json);
    };
    let names = SCHEMAS.iter().map(|s| s.name);
    let schema = schema::find(name).ok_or_else(|| registered::unknown("schema", name, names))?;
    out::text(schema.text)?;
    Ok(Status::Success)
}

fn description(schema: &schema::Schema) -> String {
    let parsed: Option<Value> = serde_json::from_str(schema.text).ok();
    let text = parsed.and_then(|s| s["description"].as_str().map(str::to_owned));
    text.unwrap_or_default()
}

fn list(as_json: bool) -> anyhow::Result<Status> {
    if as_json {
        let entry = |s: &schema::Schema| json!({ "name": s.name, "id": s.id });
        out::json(&SCHEMAS.iter().map(entry).collect::<Vec<_>>())?;
        return Ok(Status::Success);
    }
    let mut table = Table::new([
        Column::words("schema").whole(),
        Column::words("id").whole(),
        Column::words("of"),
    ]);
    for schema in SCHEMAS {
        table.row([
            Cell::new(schema.name, Tone::Strong),
            schema.id.into(),
            description(schema).into(),
        ]);
    }
    out::text(&table.render(out::view()))?;
    Ok(Status::Success)
}
