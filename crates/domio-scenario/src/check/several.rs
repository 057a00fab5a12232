//! Lists of texts and numbers, and values under names of the writer's own.

use super::cx::Cx;
use super::value::{key, text, wrong};
use crate::value::{Node, Value};
use domio_core::keys::{Code, Good, Key, Mistake, path_in};

/// A text, or a list of some, none of them empty.
pub(super) fn texts(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<Vec<String>> {
    const EXPECTED: &str = "a string, or a list of some";
    let items = match &node.value {
        Value::Array(items) => &items[..],
        _ => std::slice::from_ref(node),
    };
    let texts = items.iter().map(|item| text(cx, item, path, EXPECTED));
    let texts: Vec<Option<String>> = texts.collect();
    let texts: Vec<String> = texts.into_iter().collect::<Option<_>>()?;
    if texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
        return empty(cx, node, path, EXPECTED);
    }
    Some(texts)
}

/// Tells of a value without content.
fn empty<T>(cx: &mut Cx<'_>, node: &Node, path: &str, expected: &str) -> Option<T> {
    let key = path.rsplit('.').next().unwrap_or(path);
    cx.push(
        Mistake::new(Code::OutOfRange, node.span, format!("`{key}` is empty"))
            .key(path)
            .expected(expected),
    );
    None
}

/// A number, or a text that stands for one.
pub(super) fn figure(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<String> {
    match node.as_figure() {
        Some(figure) => Some(figure),
        None => wrong(
            cx,
            node,
            path,
            "a number, or a string that stands for one",
            None,
        ),
    }
}

/// A list of numbers.
pub(super) fn figures(cx: &mut Cx<'_>, node: &Node, path: &str) -> Option<Vec<String>> {
    let Value::Array(items) = &node.value else {
        return wrong(cx, node, path, "a list of numbers", None);
    };
    let figures = items.iter().map(|item| figure(cx, item, path));
    figures.collect::<Vec<_>>().into_iter().collect()
}

/// Names of the writer's own, each with a value as `inner` holds. Readers find the good ones.
pub(super) fn by_name(cx: &mut Cx<'_>, node: &Node, path: &str, inner: &Key) -> Option<Good> {
    let Value::Table(table) = &node.value else {
        return wrong(cx, node, path, "a table with a name for each", None);
    };
    for entry in &table.entries {
        key(cx, inner, None, &entry.node, &path_in(path, &entry.key));
    }
    Some(Good::Nested)
}
