//! What of a Rust source decides what it does: tokens, without comments and without tests.
//!
//! Written by hand because it runs whenever a program is built, unoptimised, over all sources: one
//! pass over the bytes, and no library to be compiled before. Where the rules here do not see
//! through a source, it counts as it is: a name that changes too often costs time, one that
//! changes too seldom a wrong figure.

/// The code of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceCode<'t> {
    /// Words, literals, runs of operators and single brackets, in order, without those of items
    /// under `#[cfg(test)]`.
    pub tokens: Vec<&'t str>,
    /// Names of modules that tests alone have, in files of their own.
    pub test_modules: Vec<&'t str>,
}

impl<'t> SourceCode<'t> {
    /// Reads `text`.
    pub fn of(text: &'t str) -> Self {
        let all = tokens(text);
        let (mut tokens, mut test_modules) = (Vec::with_capacity(all.len()), Vec::new());
        let mut at = 0;
        while let Some(token) = all.get(at) {
            if let Some(length) = test_item(&all[at..]) {
                let item = &all[at..at + length];
                if let [.., "mod", name, ";"] = item {
                    test_modules.push(*name);
                }
                at += length;
            } else {
                tokens.push(*token);
                at += 1;
            }
        }
        SourceCode {
            tokens,
            test_modules,
        }
    }
}

/// The number of tokens of the item under `#[cfg(test)]` that `tokens` begins with.
fn test_item(tokens: &[&str]) -> Option<usize> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut at = tokens.starts_with(&MARK).then_some(MARK.len())?;
    while tokens[at..].starts_with(&["#", "["]) {
        at += 1 + group(&tokens[at + 1..])?;
    }
    if tokens.get(at) == Some(&"pub") {
        at += 1;
        if tokens.get(at) == Some(&"(") {
            at += group(&tokens[at..])?;
        }
    }
    let item = &tokens[at..];
    let to_semicolon = match item {
        ["const", "fn", ..] => false,
        [first, ..] => ["use", "const", "static", "type", "let"].contains(first),
        [] => return None,
    };
    while let Some(token) = tokens.get(at) {
        at += match *token {
            ";" => return Some(at + 1),
            "{" if !to_semicolon => return Some(at + group(&tokens[at..])?),
            "(" | "[" | "{" => group(&tokens[at..])?,
            // A field or an arm, which ends where only its type or its value would say.
            ")" | "]" | "}" => return None,
            _ => 1,
        };
    }
    None
}

/// The number of tokens of the group in brackets that `tokens` begins with.
fn group(tokens: &[&str]) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// The tokens of `text`. Operators that touch are one token: `&&` is not `& &`.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (length, is_code) = match rest {
            [b'/', b'/', ..] => (until(rest, b'\n'), false),
            [b'/', b'*', ..] => (comment(rest), false),
            [b'"', ..] => (quoted(rest, b'"'), true),
            [b'\'', ..] => (lifetime_or_char(rest), true),
            [first, ..] if first.is_ascii_whitespace() => (1, false),
            [first, ..] if is_word(*first) => (word_or_literal(rest), true),
            [first, ..] if is_operator(*first) => (operators(rest), true),
            _ => (1, true),
        };
        if is_code {
            tokens.push(&text[at..at + length]);
        }
        at += length;
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn is_operator(byte: u8) -> bool {
    b"+-*/%^!&|=<>@.:#$?~".contains(&byte)
}

/// The length of `bytes` before `end`, or of all.
fn until(bytes: &[u8], end: u8) -> usize {
    let found = bytes.iter().position(|byte| *byte == end);
    found.unwrap_or(bytes.len())
}

/// The length of a comment that may have others in it.
fn comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a literal between two `quote`, with escapes.
fn quoted(bytes: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The length of `'a` or of `'a'`.
fn lifetime_or_char(bytes: &[u8]) -> usize {
    let Some(first) = bytes.get(1) else {
        return 1;
    };
    // The bytes of one character in UTF-8.
    let wide = (first.leading_ones() as usize).max(1);
    if *first == b'\\' || bytes.get(1 + wide) == Some(&b'\'') {
        return quoted(bytes, b'\'');
    }
    1 + bytes[1..].iter().take_while(|byte| is_word(**byte)).count()
}

/// The length of a word or a number, or of a literal with a prefix: `b"..."`, `br#"..."#`, `b'x'`.
fn word_or_literal(bytes: &[u8]) -> usize {
    let length = bytes.iter().take_while(|byte| is_word(**byte)).count();
    let (word, rest) = bytes.split_at(length);
    match (word, rest) {
        (b"b" | b"c", [b'"', ..]) => length + quoted(rest, b'"'),
        (b"b", [b'\'', ..]) => length + quoted(rest, b'\''),
        (b"r" | b"br" | b"cr", [b'"' | b'#', ..]) => length + raw(rest).unwrap_or(0),
        _ => length,
    }
}

/// The length of `"..."` or `#"..."#` with any number of `#`; `None` for the rest of a raw name.
fn raw(bytes: &[u8]) -> Option<usize> {
    let marks = bytes.iter().take_while(|byte| **byte == b'#').count();
    if bytes.get(marks) != Some(&b'"') {
        return None;
    }
    let mut at = marks + 1;
    while at < bytes.len() {
        let end = &bytes[at + 1..];
        if bytes[at] == b'"' && end.len() >= marks && end[..marks].iter().all(|b| *b == b'#') {
            return Some(at + 1 + marks);
        }
        at += 1;
    }
    Some(bytes.len())
}

/// The length of a run of operators, up to a comment.
fn operators(bytes: &[u8]) -> usize {
    let is_comment = |at: usize| matches!(bytes[at..], [b'/', b'/' | b'*', ..]);
    let mut length = 1;
    while bytes.get(length).is_some_and(|byte| is_operator(*byte)) && !is_comment(length) {
        length += 1;
    }
    length
}
