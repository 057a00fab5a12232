//! Other files than scenarios, read as strictly: claims and whatever else declares its keys.

use crate::check::{self, Cx};
use crate::parts::Parts;
use crate::problem::{Problems, ScenarioErrors};
use crate::scenario::syntax_problem;
use crate::source::Source;
use crate::value::{self, Table};
use crate::walk;
use domio_contract::Policy;
use domio_core::keys::{Checker, KeySection, KeyTable};
use std::sync::Arc;

/// Reads `text`, which messages call `name` and whose keys `root` declares: `read` makes of the
/// document what the caller wants.
///
/// # Errors
/// All that is wrong, together: mistakes of syntax, or else those against the declarations
/// and those that `read` tells.
///
/// # Panics
/// When `read` makes nothing of a document without saying why.
#[track_caller]
pub fn read_document<T>(
    name: &str,
    text: &str,
    root: &'static KeySection,
    read: impl FnOnce(&mut dyn Checker, &dyn KeyTable) -> Option<T>,
) -> Result<T, ScenarioErrors> {
    let (node, syntax) = value::read(0, text);
    let sources = [Arc::new(Source::new(
        name.to_owned(),
        text.to_owned(),
        false,
    ))];
    // What a parser recovers from broken lines would only give mistakes that are not there.
    if !syntax.is_empty() {
        let mut problems = Problems::default();
        for error in syntax {
            problems.push(syntax_problem(&sources[0], error));
        }
        return Err(problems.finish(&sources).expect("one was pushed"));
    }
    // No part of the program is a word in such a file.
    let parts = Parts::from(&[] as &[Policy]);
    let sections = walk::sections(&parts, root);
    let mut cx = Cx {
        strange_key: "no table has a key of that name: remove it",
        ..Cx::new(&parts, &sources, &sections)
    };
    let empty = Table::default();
    let table = node.as_table().unwrap_or(&empty);
    let table = check::table(&mut cx, table, node.span, root, "", None);
    let made = read(&mut cx, &table);
    match cx.problems.finish(&sources) {
        Some(errors) => Err(errors),
        None => Ok(made.expect("a document without a mistake is read")),
    }
}
