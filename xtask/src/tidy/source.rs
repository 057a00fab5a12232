//! Rust source as the rules see it: a flat list of tokens, without comments, each knowing its line
//! and whether it belongs to test code.
//!
//! Lexing is left to `proc-macro2`, so that a name in a comment or inside a string is never taken
//! for code. Nothing is resolved: a rule sees names, not what they mean.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// What a [`Token`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An identifier or a keyword.
    Ident,
    /// A punctuation character, a bracket, or `::`.
    Punct,
    /// A number, string or character.
    Literal,
    /// A lifetime or a loop label, without its quote.
    Lifetime,
}

/// One token.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its text.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Its line, from 1.
    pub line: usize,
    /// Whether it is compiled for tests only.
    pub test: bool,
}

impl Token {
    /// Whether this is the identifier or keyword `name`.
    pub fn is_ident(&self, name: &str) -> bool {
        self.kind == Kind::Ident && self.text == name
    }

    /// Whether this is the punctuation `text`.
    pub fn is_punct(&self, text: &str) -> bool {
        self.kind == Kind::Punct && self.text == text
    }
}

/// A path such as `core::fmt::Write`. A `use` with braces gives one for each leaf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// Names between the `::`.
    pub segments: Vec<String>,
    /// Line of the last name, from 1.
    pub line: usize,
    /// Whether it is in test code.
    pub test: bool,
}

impl Path {
    /// Whether the path starts with these names.
    pub fn starts_with(&self, names: &[&str]) -> bool {
        self.segments.len() >= names.len() && self.segments.iter().zip(names).all(|(a, b)| a == b)
    }
}

/// Keywords that a path from the root (`::std`) may follow, and that are no part of it.
const BEFORE_PATHS: [&str; 17] = [
    "as", "break", "const", "dyn", "else", "extern", "for", "if", "impl", "in", "match", "move",
    "mut", "return", "use", "where", "while",
];

/// One file of Rust source.
#[derive(Debug)]
pub struct Source {
    /// Every token but comments.
    pub tokens: Vec<Token>,
}

impl Source {
    /// Reads source text; `None` if the text is no Rust. `test` says that the whole file is test
    /// code.
    pub fn parse(text: &str, test: bool) -> Option<Source> {
        let stream: TokenStream = text.parse().ok()?;
        let mut source = Source { tokens: Vec::new() };
        source.flatten(stream, test);
        Some(source)
    }

    /// Appends the tokens of one bracket level. An attribute that means "tests only" holds until
    /// the end of the item after it: a brace group or a `;`. (Not a `,`, which stands between
    /// generic parameters too; so on a field or a variant it holds for those after it as well.)
    fn flatten(&mut self, stream: TokenStream, mut test: bool) {
        let outer = test;
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut i = 0;
        while i < trees.len() {
            if let Some((attribute, next)) = attribute(&trees, i) {
                let inner = next - i == 3;
                test |= means_test(attribute);
                if !is_doc(attribute) {
                    for tree in &trees[i..next] {
                        self.push(tree, test);
                    }
                }
                // `#![cfg(test)]` holds to the end of the level, as `outer` does.
                if inner && test {
                    return self.flatten(trees[next..].iter().cloned().collect(), true);
                }
                i = next;
                continue;
            }
            i += self.merged(&trees, i, test);
            match &trees[i - 1] {
                TokenTree::Group(g) if g.delimiter() == Delimiter::Brace => test = outer,
                TokenTree::Punct(p) if p.as_char() == ';' => test = outer,
                _ => {}
            }
        }
    }

    /// Appends the token at `i`, joined with the next one where two trees make one token (`::`, a
    /// lifetime); returns how many trees that took.
    fn merged(&mut self, trees: &[TokenTree], i: usize, test: bool) -> usize {
        if let (TokenTree::Punct(a), Some(b)) = (&trees[i], trees.get(i + 1)) {
            let line = a.span().start().line;
            match (a.as_char(), b) {
                (':', TokenTree::Punct(b)) if b.as_char() == ':' => {
                    self.token("::".into(), Kind::Punct, line, test);
                    return 2;
                }
                ('\'', TokenTree::Ident(name)) => {
                    self.token(name.to_string(), Kind::Lifetime, line, test);
                    return 2;
                }
                _ => {}
            }
        }
        self.push(&trees[i], test);
        1
    }

    fn push(&mut self, tree: &TokenTree, test: bool) {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(ident) => {
                let text = ident.to_string();
                // `r#std` is another way to write `std`.
                let text = text.strip_prefix("r#").unwrap_or(&text).to_owned();
                self.token(text, Kind::Ident, line, test);
            }
            TokenTree::Punct(p) => self.token(p.as_char().to_string(), Kind::Punct, line, test),
            TokenTree::Literal(l) => self.token(l.to_string(), Kind::Literal, line, test),
            TokenTree::Group(group) => self.push_group(group, test),
        }
    }

    fn push_group(&mut self, group: &Group, test: bool) {
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => ("", ""),
        };
        let (first, last) = (
            group.span_open().start().line,
            group.span_close().start().line,
        );
        self.token(open.into(), Kind::Punct, first, test);
        self.flatten(group.stream(), test);
        self.token(close.into(), Kind::Punct, last, test);
    }

    fn token(&mut self, text: String, kind: Kind, line: usize, test: bool) {
        self.tokens.push(Token {
            text,
            kind,
            line,
            test,
        });
    }

    /// Tokens that are not test code.
    pub fn code(&self) -> impl Iterator<Item = &Token> {
        self.tokens.iter().filter(|t| !t.test)
    }

    /// Names of functions, types and values that the file defines.
    pub fn defined(&self) -> impl Iterator<Item = &str> {
        const KEYWORDS: [&str; 8] = [
            "fn", "struct", "enum", "trait", "type", "const", "static", "mod",
        ];
        let pairs = self.tokens.windows(2);
        let defined = pairs.filter(|pair| {
            pair[1].kind == Kind::Ident && KEYWORDS.iter().any(|word| pair[0].is_ident(word))
        });
        defined.map(|pair| pair[1].text.as_str())
    }

    /// Every path of two names or more, and every `use` and `extern crate` of one.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        let mut i = 0;
        while i < self.tokens.len() {
            let before = |n| i.checked_sub(n).map(|j| &self.tokens[j]);
            let is = |n, text| before(n).is_some_and(|t: &Token| t.is_punct(text));
            let word = |n, text| before(n).is_some_and(|t: &Token| t.is_ident(text));
            // `::std` starts at the root; `<T>::f` continues, unless the bracket is an arrow's.
            let rooted = is(1, "::");
            let continued = rooted && is(2, ">") && !is(3, "-") && !is(3, "=");
            // `$crate::x` is a path of whoever calls the macro.
            let continued = continued || is(1, "$");
            let used = word(if rooted { 2 } else { 1 }, "use");
            let linked = word(1, "crate") && word(2, "extern");
            let at = &self.tokens[i];
            if used && at.is_punct("{") {
                i = self.branches(i + 1, &mut Vec::new(), &mut paths);
            } else if at.kind == Kind::Ident && !continued && !BEFORE_PATHS.contains(&&*at.text) {
                i = self.path(i, &mut Vec::new(), used || linked, &mut paths);
            } else {
                i += 1;
            }
        }
        paths
    }

    /// Follows a path from the name at `i`, after `prefix`; returns where it ends.
    fn path(
        &self,
        mut i: usize,
        prefix: &mut Vec<String>,
        single: bool,
        out: &mut Vec<Path>,
    ) -> usize {
        let depth = prefix.len();
        let mut last = i;
        while self
            .tokens
            .get(i)
            .is_some_and(|t| t.kind == Kind::Ident || t.is_punct("*"))
        {
            prefix.push(self.tokens[i].text.clone());
            last = i;
            i += 1;
            if !self.tokens.get(i).is_some_and(|t| t.is_punct("::")) {
                break;
            }
            i += 1;
        }
        if i > last + 1 && self.tokens.get(i).is_some_and(|t| t.is_punct("{")) {
            i = self.branches(i + 1, prefix, out);
        } else if prefix.len() > 1 || single {
            out.push(Path {
                segments: prefix.clone(),
                line: self.tokens[last].line,
                test: self.tokens[last].test,
            });
        }
        prefix.truncate(depth);
        i.max(last + 1)
    }

    /// The branches of a `use` from the token after its brace; returns the place after the brace's
    /// end.
    fn branches(&self, mut i: usize, prefix: &mut Vec<String>, out: &mut Vec<Path>) -> usize {
        while let Some(token) = self.tokens.get(i) {
            if token.is_punct("}") {
                return i + 1;
            }
            if token.is_punct(",") {
                i += 1;
            } else if token.is_ident("as") {
                i += 2;
            } else {
                i = self.path(i, prefix, true, out);
            }
        }
        i
    }
}

/// The bracket group of the attribute at `i` and the place after it.
fn attribute(trees: &[TokenTree], i: usize) -> Option<(&Group, usize)> {
    let is = |i: usize, c| matches!(trees.get(i), Some(TokenTree::Punct(p)) if p.as_char() == c);
    if !is(i, '#') {
        return None;
    }
    let group = if is(i + 1, '!') { i + 2 } else { i + 1 };
    match trees.get(group) {
        Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Bracket => Some((g, group + 1)),
        _ => None,
    }
}

/// Whether the attribute is a comment in disguise: `#[doc = "..."]`.
fn is_doc(attribute: &Group) -> bool {
    let mut trees = attribute.stream().into_iter();
    matches!(trees.next(), Some(TokenTree::Ident(i)) if i == "doc")
        && matches!(trees.next(), Some(TokenTree::Punct(p)) if p.as_char() == '=')
}

/// Whether the attribute makes its item test code: `#[test]`, `#[cfg(test)]`,
/// `#[cfg(any(test, ...))]`, but not `#[cfg(not(test))]`.
fn means_test(attribute: &Group) -> bool {
    let mut trees = attribute.stream().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Ident(name)), None) => name == "test",
        (Some(TokenTree::Ident(name)), Some(TokenTree::Group(condition))) => {
            name == "cfg" && names(condition.stream(), "test") && !names(condition.stream(), "not")
        }
        _ => false,
    }
}

/// Whether `name` is among the identifiers of `stream`, at any depth.
fn names(stream: TokenStream, name: &str) -> bool {
    stream.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => names(group.stream(), name),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Source {
        Source::parse(text, false).unwrap()
    }

    fn paths(text: &str) -> Vec<String> {
        parse(text)
            .paths()
            .iter()
            .map(|p| p.segments.join("::"))
            .collect()
    }

    #[test]
    fn comments_and_strings_hide_no_code_and_are_none() {
        let source = parse("/// HashMap\nfn f() { /* HashMap */ g(\"HashMap // \", 'x'); }");
        assert!(
            !source
                .tokens
                .iter()
                .any(|t| t.is_ident("HashMap") || t.text == "doc")
        );
        assert!(source.tokens.iter().any(|t| t.is_ident("g") && t.line == 2));
    }

    #[test]
    fn test_code_is_marked_and_ends_where_its_item_ends() {
        let source = parse(
            "#[cfg(test)] fn a<T, U>() { z() }\nfn b() {}\n#[test] fn c() {}\n\
             #[cfg(not(test))] fn d() {}\n#[cfg(test)] use e;\nfn f() {}",
        );
        let test = |name: &str| {
            source
                .tokens
                .iter()
                .find(|t| t.is_ident(name))
                .unwrap()
                .test
        };
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(test),
            [true, false, true, false, true, false]
        );
        assert!(
            parse("#![cfg(test)]\nfn a() {}\nfn b() {}")
                .tokens
                .iter()
                .all(|t| t.test)
        );
    }

    #[test]
    fn paths_come_with_every_leaf() {
        assert_eq!(
            paths("use std::{fs, io::{self, Write as W}}; use x; fn f() { core::mem::swap(a, b) }"),
            [
                "std::fs",
                "std::io::self",
                "std::io::Write",
                "x",
                "core::mem::swap"
            ]
        );
        assert_eq!(paths("fn f() { match x { A::B => {} } }"), ["A::B"]);
        assert_eq!(paths("use a::b::*;"), ["a::b::*"]);
        assert_eq!(
            paths("use std as s; extern crate core as c; use {alloc as a};").join(" "),
            "std core alloc"
        );
        assert_eq!(
            paths("use ::a; use ::b::c; fn f() -> ::d::e { <T>::g(::h::i, r#j::k) }").join(" "),
            "a b::c d::e h::i j::k"
        );
    }

    #[test]
    fn what_is_defined_has_names() {
        let source = parse("trait T { fn a(); } const X: u8 = 1; impl T for S { fn b() {} }");
        assert_eq!(source.defined().collect::<Vec<_>>(), ["T", "a", "X", "b"]);
        assert!(Source::parse("fn g() { (", false).is_none());
    }
}
