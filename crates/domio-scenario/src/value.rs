//! The TOML document as a tree with places, independent of the parser's types.

use domio_core::keys::Span;
use toml::de::{DeTable, DeValue};

/// A value and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub span: Span,
}

/// A TOML value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Text(String),
    /// Saturates at the ends of `i128`: such a number is out of every range anyway.
    Int(i128),
    Float(f64),
    Flag(bool),
    Datetime,
    Array(Vec<Node>),
    Table(Table),
}

/// A table; entries are in the order of their keys, which are unique.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Span,
    pub node: Node,
}

impl Node {
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(t) => Some(t),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(s) => Some(s),
            _ => None,
        }
    }

    /// A number as a text, or a text, as far as the number is one.
    pub fn as_figure(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Int(number) => Some(number.to_string()),
            Value::Float(number) if number.is_finite() => Some(number.to_string()),
            _ => None,
        }
    }

    /// The texts in it: one, or those of a list.
    pub fn texts(&self) -> Vec<(Span, String)> {
        let items = match &self.value {
            Value::Array(items) => &items[..],
            _ => std::slice::from_ref(self),
        };
        let texts = items.iter();
        texts
            .filter_map(|item| Some((item.span, item.as_figure()?)))
            .collect()
    }

    /// Whether a date is in it.
    pub fn has_date(&self) -> bool {
        match &self.value {
            Value::Datetime => true,
            Value::Array(items) => items.iter().any(Node::has_date),
            Value::Table(table) => table.entries.iter().any(|entry| entry.node.has_date()),
            Value::Text(_) | Value::Int(_) | Value::Float(_) | Value::Flag(_) => false,
        }
    }

    /// What kind of value it is, for people.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a string",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number with a fraction",
            Value::Flag(_) => "a boolean",
            Value::Datetime => "a date",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }
}

impl Table {
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.key == key)
    }

    /// Adds `entry`, or replaces the one of the same key.
    pub fn put(&mut self, entry: Entry) {
        match self.get_mut(&entry.key) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|e| e.key != key);
    }
}

/// A syntax error as the parser tells it.
pub(crate) struct SyntaxError {
    pub message: String,
    pub span: Span,
}

/// Reads `text`, which is source number `source`, as far as it can be understood.
pub(crate) fn read(source: u32, text: &str) -> (Node, Vec<SyntaxError>) {
    let (root, errors) = DeTable::parse_recoverable(text);
    let errors: Vec<SyntaxError> = errors
        .iter()
        .map(|e| SyntaxError {
            message: e.message().to_owned(),
            span: Span::new(source, e.span().unwrap_or(0..0)),
        })
        .collect();
    let value = match without_broken_keys(text, &errors) {
        None => Value::Table(table(source, root.get_ref())),
        Some(rest) => Value::Table(table(source, DeTable::parse_recoverable(&rest).0.get_ref())),
    };
    (
        Node {
            value,
            span: Span::whole(source),
        },
        errors,
    )
}

/// `text` with blanks for the lines that have errors, `None` if there are no such lines. The
/// parser stops for good at a key without a value; this gets at what follows. Headers stay, or the
/// keys after them would go to another table.
fn without_broken_keys(text: &str, errors: &[SyntaxError]) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let mut changed = false;
    for error in errors {
        let at = (error.span.start as usize).min(bytes.len());
        let start = bytes[..at]
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |i| i + 1);
        let end = bytes[at..]
            .iter()
            .position(|b| *b == b'\n')
            .map_or(bytes.len(), |i| at + i);
        let line = &mut bytes[start..end];
        let first = line.iter().find(|b| !b.is_ascii_whitespace());
        if first.is_some_and(|b| *b != b'[') {
            line.fill(b' ');
            changed = true;
        }
    }
    changed.then(|| String::from_utf8(bytes).expect("whole lines were blanked"))
}

/// Whether `text` is one TOML value.
pub(crate) fn is_value(text: &str) -> bool {
    DeValue::parse(text).is_ok()
}

// The parser limits nesting, so recursion is bounded.
fn table(source: u32, table: &DeTable<'_>) -> Table {
    let entries = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_span: Span::new(source, key.span()),
            node: node(source, value.get_ref(), value.span()),
        })
        .collect();
    Table { entries }
}

fn node(source: u32, value: &DeValue<'_>, range: std::ops::Range<usize>) -> Node {
    let value = match value {
        DeValue::String(s) => Value::Text(s.to_string()),
        DeValue::Integer(i) => {
            let saturated = if i.as_str().starts_with('-') {
                i128::MIN
            } else {
                i128::MAX
            };
            Value::Int(i128::from_str_radix(i.as_str(), i.radix()).unwrap_or(saturated))
        }
        DeValue::Float(f) => Value::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Flag(*b),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => Value::Array(
            items
                .iter()
                .map(|i| node(source, i.get_ref(), i.span()))
                .collect(),
        ),
        DeValue::Table(t) => Value::Table(table(source, t)),
    };
    Node {
        value,
        span: Span::new(source, range),
    }
}
