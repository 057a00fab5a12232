//! `[[vary]]`: times that replications draw.

use crate::check::{self, Cx, Fields};
use crate::keys::VARY;
use crate::plan::Vary;
use crate::problem::{Code, Problem};

/// What replications draw, in the order of the text; `None` when something is wrong with it.
pub(super) fn vary(cx: &mut Cx<'_>, top: &Fields<'_>) -> Option<Vec<Vary>> {
    let mut all = Some(Vec::new());
    for (node, table, path) in top.tables("vary") {
        let fields = check::table(cx, table, node.span, &VARY, &path, None);
        match (one(cx, &fields), &mut all) {
            (Some(one), Some(list)) => list.push(one),
            _ => all = None,
        }
    }
    all
}

fn one(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<Vary> {
    let (from, to) = (fields.time("from")?, fields.time("to")?);
    if from > to {
        let written = fields.field("to").map_or("to", |field| field.written);
        cx.push(
            Problem::new(
                Code::Conflict,
                fields.span("to"),
                format!("no time is from {from} to {to}"),
            )
            .key(fields.key_path(written))
            .found(to.to_string())
            .expected(format!("{from} or more"))
            .hint("`from` is the shortest, `to` the longest"),
        );
        return None;
    }
    Some(Vary {
        key: fields.text("key")?,
        from,
        to,
        stream: fields.text("stream")?,
    })
}
