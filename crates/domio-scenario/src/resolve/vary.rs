//! `[[vary]]`: times that replications draw.

use crate::check::{self, Cx, Fields};
use crate::plan::Vary;
use domio_core::Duration;
use domio_core::keys::{Code, Mistake};
use domio_core::keys::{KeySection, Keys, Need, Nested, Slot, text, time};

pub(super) static VARY: KeySection = KeySection::plain(
    "[[vary]]",
    "A time that is drawn anew for each replication, every length between two equally likely: when \
     a guest was created, a monitor was started, another host was booted. The stream has a name: \
     scenarios whose streams have the same names draw the same. A key that `--set` changes is \
     not drawn.",
    VaryKeys::KEYS,
);

keys! {
    struct VaryKeys {
        key: String = text(), Need::Required,
            "What is drawn: a path as `--set` takes it, without the unit, as \
             `domain.guest1.start`.";
        from: Duration = time("ms", 0), Need::Required, "Shortest.";
        to: Duration = time("ms", 0), Need::Required, "Longest; not below `from`.";
        stream: String = text(), Need::Required,
            "Name of the random stream, which gives one value.";
    }
}

/// What replications draw, in the order of the text; `None` when something is wrong with it.
pub(super) fn vary(cx: &mut Cx<'_>, top: &Fields, slot: &Slot<Nested>) -> Option<Vec<Vary>> {
    let mut all = Some(Vec::new());
    for (node, table, path) in top.tables(slot) {
        let fields = check::table(cx, table, node.span, &VARY, &path, None);
        match (one(cx, &fields), &mut all) {
            (Some(one), Some(list)) => list.push(one),
            _ => all = None,
        }
    }
    all
}

fn one(cx: &mut Cx<'_>, fields: &Fields) -> Option<Vary> {
    let keys: VaryKeys = fields.read();
    let (from, to) = (keys.from.get()?, keys.to.get()?);
    if from > to {
        let written = fields.field(&keys.to).map_or("to", |field| &field.written);
        cx.push(
            Mistake::new(
                Code::Conflict,
                fields.span(&keys.to),
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
        key: keys.key.get()?,
        from,
        to,
        stream: keys.stream.get()?,
    })
}
