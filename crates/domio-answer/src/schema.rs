//! The JSON Schema of an answer, from its columns.

use crate::answer::AnswerSpec;
use crate::column::{Column, ColumnKind, Holds};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;

/// Dialect of the schema.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// JSON in the order in which it was put together.
enum Json {
    Flag(bool),
    Text(Cow<'static, str>),
    List(Vec<Json>),
    Object(Vec<(Cow<'static, str>, Json)>),
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Flag(flag) => to.serialize_bool(*flag),
            Json::Text(text) => to.serialize_str(text),
            Json::List(list) => to.collect_seq(list),
            Json::Object(entries) => to.collect_map(entries.iter().map(|(key, json)| (key, json))),
        }
    }
}

fn text(text: impl Into<Cow<'static, str>>) -> Json {
    Json::Text(text.into())
}

fn list(items: Json) -> Vec<(&'static str, Json)> {
    vec![("type", text("array")), ("items", items)]
}

fn object(entries: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    let entries = entries.into_iter();
    Json::Object(entries.map(|(key, json)| (key.into(), json)).collect())
}

/// An object with these columns, after `first`, and with others where it is `open`.
fn row(
    columns: &[Column],
    first: Vec<(Cow<'static, str>, Json)>,
    open: bool,
) -> Vec<(&'static str, Json)> {
    let own = columns.iter().map(|c| (c.key.clone(), property(c)));
    let always = columns
        .iter()
        .filter(|c| !c.optional || c.kind == ColumnKind::Key || c.holds == Holds::RowType)
        .map(|c| text(c.key.clone()));
    let required = first.iter().map(|(key, _)| text(key.clone())).chain(always);
    vec![
        ("type", text("object")),
        ("required", Json::List(required.collect())),
        (
            "properties",
            Json::Object(first.into_iter().chain(own).collect()),
        ),
        ("additionalProperties", Json::Flag(open)),
    ]
}

/// What a column is in a row.
fn property(column: &Column) -> Json {
    let unit = match column.unit.as_ref() {
        "" => String::new(),
        unit => format!(" Unit: {unit}."),
    };
    let doc = format!("{}{unit}", column.doc).trim().to_owned();
    let mut entries = vec![("description", text(doc))];
    let one = || object(row(&column.parts, Vec::new(), column.open));
    let null = || object([("type", text("null"))]);
    match (column.holds, column.optional) {
        (Holds::Rows, optional) => {
            let mut list = list(match &column.parts[..] {
                [alone] if !column.open => property(alone),
                _ => one(),
            });
            if optional {
                list[0].1 = Json::List(vec![text("array"), text("null")]);
            }
            entries.extend(list);
        }
        (Holds::Map, _) => entries.extend([
            ("type", text("object")),
            ("additionalProperties", property(&column.parts[1])),
        ]),
        (Holds::RowType, true) => entries.push(("anyOf", Json::List(vec![one(), null()]))),
        (Holds::RowType, false) => entries.push(("allOf", Json::List(vec![one()]))),
        (Holds::Estimate, true) => entries.push(("anyOf", Json::List(vec![estimate(), null()]))),
        (Holds::Estimate, false) => entries.push(("allOf", Json::List(vec![estimate()]))),
        (plain, optional) => entries.push(("type", plain_type(plain, optional))),
    }
    object(entries)
}

/// The type of a cell that holds no more than one value.
fn plain_type(holds: Holds, optional: bool) -> Json {
    let names: &[&'static str] = match holds {
        Holds::Whole => &["integer"],
        Holds::Number => &["number"],
        Holds::Flag => &["boolean"],
        Holds::Any => &["number", "boolean", "string"],
        _ => &["string"],
    };
    // JSON has no numbers that are none.
    let null = (optional || holds == Holds::Number).then_some(&"null");
    match (names, null) {
        ([name], None) => text(*name),
        _ => Json::List(names.iter().chain(null).map(|name| text(*name)).collect()),
    }
}

/// What an estimate is.
fn estimate() -> Json {
    let part = |doc: &'static str, holds, optional| {
        object([
            ("description", text(doc)),
            ("type", plain_type(holds, optional)),
        ])
    };
    let ends =
        "Lower and upper end of the 95 % confidence interval of the mean; null for one value.";
    let number = object([("type", text("number"))]);
    let interval = object([
        ("description", text(ends)),
        ("type", Json::List(vec![text("array"), text("null")])),
        ("items", number),
    ]);
    let deviation = "Sample standard deviation; null for one value.";
    let properties = object([
        (
            "mean",
            part("Mean over replications.", Holds::Number, false),
        ),
        ("ci95", interval),
        ("deviation", part(deviation, Holds::Number, true)),
        ("n", part("Number of values.", Holds::Whole, false)),
    ]);
    let required = ["mean", "ci95", "deviation", "n"].map(text);
    object([
        ("type", text("object")),
        ("required", Json::List(required.into())),
        ("properties", properties),
        ("additionalProperties", Json::Flag(false)),
    ])
}

impl Serialize for AnswerSpec {
    /// As the schema of its JSON.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let own = object([
            ("description", text("Name and version of this schema.")),
            ("const", text(self.id())),
        ]);
        let mut root = vec![
            ("$schema", text(DIALECT)),
            ("$id", text(self.id())),
            (
                "title",
                text(format!("domio {}", self.name.replace('-', " "))),
            ),
            ("description", text(self.doc)),
        ];
        let found = object(
            [("description", text("What was found, a sentence each."))]
                .into_iter()
                .chain(list(object([("type", text("string"))]))),
        );
        let first = vec![("schema".into(), own), ("findings".into(), found)];
        root.extend(row(&self.columns, first, false));
        object(root).serialize(to)
    }
}
