//! All tables and keys that a section leads to.

use crate::check::LENGTHS;
use crate::parts::Parts;
use domio_core::keys::{Key, KeyKind, KeySection};

/// `root` and the sections of the tables in it, each once, in the order in which a reader of the
/// reference page meets them.
pub(crate) fn sections(parts: &Parts, root: &'static KeySection) -> Vec<&'static KeySection> {
    let mut found = Vec::new();
    visit(parts, root, &mut found);
    found
}

fn visit(parts: &Parts, section: &'static KeySection, found: &mut Vec<&'static KeySection>) {
    if found.iter().any(|known| known.header == section.header) {
        return;
    }
    found.push(section);
    for key in keys(parts, section) {
        match key.kind {
            KeyKind::WordOrTable(_, inner) => visit(parts, inner, found),
            KeyKind::Lengths { .. } => visit(parts, &LENGTHS, found),
            kind => {
                if let Some(inner) = kind.section() {
                    visit(parts, inner, found);
                }
            }
        }
    }
}

/// The keys of `section`, then those of its variants.
pub(crate) fn keys(
    parts: &Parts,
    section: &'static KeySection,
) -> impl Iterator<Item = &'static Key> + use<> {
    let variants = parts.variants(section).into_iter().flat_map(|v| v.keys);
    parts.keys(section).chain(variants)
}
