//! All tables and keys that a section leads to.

use crate::check::LENGTHS;
use domio_core::keys::{Key, KeyKind, KeySection};

/// `root` and the sections of the tables in it, each once, in the order in which a reader of the
/// reference page meets them.
pub(crate) fn sections(root: &'static KeySection) -> Vec<&'static KeySection> {
    let mut found = Vec::new();
    visit(root, &mut found);
    found
}

fn visit(section: &'static KeySection, found: &mut Vec<&'static KeySection>) {
    if found.iter().any(|known| known.header == section.header) {
        return;
    }
    found.push(section);
    for key in keys(section) {
        match key.kind {
            KeyKind::WordOrTable(_, inner) => visit(inner, found),
            KeyKind::Lengths { .. } => visit(&LENGTHS, found),
            kind => {
                if let Some(inner) = kind.section() {
                    visit(inner, found);
                }
            }
        }
    }
}

/// The keys of `section`, then those of its variants.
pub(crate) fn keys(section: &'static KeySection) -> impl Iterator<Item = &'static Key> {
    let variants = section.variants().flat_map(|v| v.keys);
    section.keys.iter().chain(variants)
}
