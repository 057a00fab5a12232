//! What is said of a value that is refused.

use super::cx::Cx;
use super::meant;
use crate::value::Node;
use domio_core::keys::{Code, Mistake, quote};

/// The value is of another type than `expected`.
pub(super) fn wrong<T>(
    cx: &mut Cx<'_>,
    node: &Node,
    path: &str,
    expected: &str,
    hint: Option<String>,
) -> Option<T> {
    let found = quote(cx.text(node.span));
    let key = path.rsplit('.').next().unwrap_or(path).to_owned();
    cx.push(
        Mistake::new(
            Code::WrongType,
            node.span,
            format!(
                "`{key}` is {}, not {}",
                node.kind(),
                expected.split(',').next().unwrap_or(expected)
            ),
        )
        .key(path)
        .found(found)
        .expected(expected)
        .maybe_hint(hint),
    );
    None
}

/// The value of `key` is none of the `expected` ones.
pub(super) fn out_of_range<T>(
    cx: &mut Cx<'_>,
    node: &Node,
    path: &str,
    key: &str,
    expected: &str,
) -> Option<T> {
    let found = quote(cx.text(node.span));
    cx.push(
        Mistake::new(
            Code::OutOfRange,
            node.span,
            format!("`{key}` is out of range: {found}"),
        )
        .key(path)
        .found(found)
        .expected(expected),
    );
    None
}

/// A hint for `version = 4.17`, where the number should have been a string.
pub(super) fn quotes_hint<'w>(
    cx: &Cx<'_>,
    node: &Node,
    words: impl Iterator<Item = &'w str>,
) -> Option<String> {
    let found = cx.text(node.span);
    let mut words = words;
    words
        .any(|w| w == found)
        .then(|| format!("put it in quotes: \"{found}\""))
}

/// A hint for `weight = "256"`, where the string holds a number that would be `allowed`.
pub(super) fn no_quotes_hint(node: &Node, allowed: impl Fn(i128) -> bool) -> Option<String> {
    let text = node.as_text()?;
    let number = text.parse().ok().filter(|i| allowed(*i));
    number.map(|i: i128| format!("leave the quotes out: {i}"))
}

/// A hint for `1,5`, which on the command line is a string.
pub(super) fn comma_hint(node: &Node) -> Option<String> {
    meant::decimal_comma(node.as_text()?)
}
