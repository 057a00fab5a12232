//! The list of claims: what the papers state, as data.
//!
//! The file is TOML: a list of `[[claim]]` tables, each with the checks that decide the claim (see
//! [`statement`](crate::statement)). Reading is strict, and every mistake is reported at once with
//! its line. The claims of papers are [`Claims::of`].

use crate::claim::{Claim, ClaimKind};
use crate::folders::{self, PaperFolder};
use crate::statement::{CLAIM_KEYS, Vocabulary};
use crate::strict::{Placed, Strict};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use toml::de::DeTable;

pub use crate::strict::{ClaimsError, Mistake};

/// A paper's file of claims.
const CLAIMS_FILE: &str = "claims.toml";

const KEYS: [&str; 6] = ["id", "where", "experiment", "kind", "expect", "tolerance"];

/// A prefix that selects no claim.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct UnknownPrefix {
    /// What was asked for.
    pub prefix: String,
    /// Ids or leading parts of ids that look like it, best first; may be empty.
    pub near: Vec<String>,
}

impl fmt::Display for UnknownPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no claim starts with \"{}\"", self.prefix)?;
        match self.near.as_slice() {
            [] => write!(
                f,
                "; expected an id or how it begins, as ongaro or ongaro.test3"
            ),
            near => write!(f, "; near matches: {}", near.join(", ")),
        }
    }
}

/// A list of claims, in the order of the file, each id once.
#[derive(Clone, PartialEq, Debug)]
pub struct Claims {
    file: String,
    list: Vec<Claim>,
}

impl Claims {
    /// The claims that ship with domio, by paper and in the order of each file.
    ///
    /// # Panics
    /// Never: a test reads them.
    pub fn shipped() -> Self {
        Claims::of(&folders::shipped())
            .unwrap_or_else(|e| panic!("shipped claims have mistakes:\n{e}"))
    }

    /// The claims of the papers in `folders`, in their order. A paper without a file of claims has
    /// none.
    ///
    /// # Errors
    /// All mistakes of the first file that has any, as [`Claims::parse`].
    pub fn of(folders: &[PaperFolder]) -> Result<Self, ClaimsError> {
        let mut all = Claims {
            file: CLAIMS_FILE.to_owned(),
            list: Vec::new(),
        };
        for folder in folders {
            all.list
                .extend(Claims::of_paper(folder)?.into_iter().flat_map(|c| c.list));
        }
        Ok(all)
    }

    /// The claims of one paper; `None` when it has no file of claims.
    ///
    /// # Errors
    /// All mistakes of the file.
    pub fn of_paper(folder: &PaperFolder) -> Result<Option<Self>, ClaimsError> {
        let name = format!("{}/{CLAIMS_FILE}", folder.place);
        let text = folder.file(CLAIMS_FILE);
        text.map(|text| Claims::parse(&name, text)).transpose()
    }

    /// Reads a list. `file` names the text in messages.
    ///
    /// # Errors
    /// All mistakes at once. Those of TOML syntax, or else those of content: unknown, missing,
    /// empty or wrongly typed keys, bad ids and kinds, ids used twice, a tolerance that a value
    /// lacks or another kind has, checks that name what is not there or make no sense, and a file
    /// without a claim.
    pub fn parse(file: &str, text: &str) -> Result<Self, ClaimsError> {
        let mut reader = ClaimReader {
            strict: Strict::new(text),
            seen: BTreeMap::new(),
        };
        let list = reader.file();
        let mut strict = reader.strict;
        if list.is_empty() && strict.mistakes.is_empty() {
            strict.mistake(0..0, "no claim in the file; expected [[claim]]");
        }
        if strict.mistakes.is_empty() {
            return Ok(Claims {
                file: file.to_owned(),
                list,
            });
        }
        strict.mistakes.sort_by_key(|m| m.line);
        // A check of several measures would tell the same mistake for each.
        strict.mistakes.dedup();
        Err(ClaimsError {
            file: file.to_owned(),
            mistakes: strict.mistakes,
        })
    }

    /// Name of the file in messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The claims, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Claim> {
        self.list.iter()
    }

    /// Number of claims.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The claim called `id`.
    pub fn find(&self, id: &str) -> Option<&Claim> {
        self.list.iter().find(|c| c.id == id)
    }

    /// The claims that start with any of `prefixes` (see [`Claim::has_prefix`]), in the order of
    /// the file, each once. All of them when `prefixes` is empty.
    ///
    /// # Errors
    /// The first prefix that selects nothing.
    pub fn select<S: AsRef<str>>(&self, prefixes: &[S]) -> Result<Vec<&Claim>, UnknownPrefix> {
        if prefixes.is_empty() {
            return Ok(self.list.iter().collect());
        }
        for prefix in prefixes {
            let prefix = prefix.as_ref();
            if !self.list.iter().any(|c| c.has_prefix(prefix)) {
                return Err(UnknownPrefix {
                    prefix: prefix.to_owned(),
                    near: self.near(prefix),
                });
            }
        }
        let wanted = |c: &&Claim| prefixes.iter().any(|p| c.has_prefix(p.as_ref()));
        Ok(self.list.iter().filter(wanted).collect())
    }

    /// Up to five possible prefixes that look like `wrong`, best first.
    fn near(&self, wrong: &str) -> Vec<String> {
        const ENOUGH: usize = 5;
        const ALIKE: f64 = 0.75;
        let wrong = wrong.trim_end_matches('.');
        let mut scores: BTreeMap<&str, f64> = BTreeMap::new();
        for claim in &self.list {
            let ends = claim.id.match_indices('.').map(|(at, _)| at);
            for end in ends.chain([claim.id.len()]) {
                let part = &claim.id[..end];
                let score = if !wrong.is_empty() && part.starts_with(wrong) {
                    1.0
                } else {
                    strsim::normalized_damerau_levenshtein(part, wrong)
                };
                if score >= ALIKE {
                    scores.insert(part, score);
                }
            }
        }
        let mut ranked: Vec<(&str, f64)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.len().cmp(&b.0.len())));
        ranked
            .into_iter()
            .take(ENOUGH)
            .map(|(part, _)| part.to_owned())
            .collect()
    }
}

/// Collects claims and mistakes from one text.
struct ClaimReader<'t> {
    strict: Strict<'t>,
    /// Lines of ids.
    seen: BTreeMap<String, usize>,
}

impl<'t> ClaimReader<'t> {
    fn file(&mut self) -> Vec<Claim> {
        let Some(root) = self.strict.root() else {
            return Vec::new();
        };
        let known = [&["claim"][..], &Vocabulary::KEYS].concat();
        for (key, _) in &root {
            let word = key.get_ref().as_ref();
            if !known.contains(&word) {
                let what = format!(
                    "unknown key \"{word}\"; expected [[claim]], or one of {}",
                    Vocabulary::KEYS.join(", ")
                );
                self.strict.mistake(key.span(), what);
            }
        }
        let words = Vocabulary::read(&mut self.strict, &root);
        let tables = self.strict.tables(&root, "claim", "claim");
        let claims = tables
            .into_iter()
            .filter_map(|(at, fields)| self.claim(at, fields, &words));
        claims.collect()
    }

    fn claim(
        &mut self,
        at: Range<usize>,
        fields: &DeTable<'t>,
        words: &Vocabulary,
    ) -> Option<Claim> {
        self.strict
            .known(fields, &[&KEYS[..], &CLAIM_KEYS].concat());
        let id = self.text(&at, fields, "id");
        if let Some((span, id)) = &id {
            self.check_id(span.clone(), id);
        }
        let place = self.text(&at, fields, "where");
        let experiment = self.text(&at, fields, "experiment");
        let expect = self.text(&at, fields, "expect");
        let kind = self.kind(&at, fields);
        let tolerance = self.tolerance(&at, fields, kind);
        let mut claim = Claim {
            id: id?.1,
            place: place?.1,
            experiment: experiment?.1,
            kind: kind?,
            expect: expect?.1,
            tolerance,
            statement: None,
        };
        let statement = words.statement(&mut self.strict, &at, fields, &claim);
        claim.statement = statement.map(Arc::new);
        Some(claim)
    }

    fn text(&mut self, at: &Range<usize>, fields: &DeTable<'t>, key: &str) -> Option<Placed> {
        self.strict.text(at, "claim", fields, key)
    }

    fn check_id(&mut self, at: Range<usize>, id: &str) {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let words_ok = id.split('.').all(|w| !w.is_empty() && w.chars().all(plain));
        if !words_ok || !id.contains('.') {
            let what = format!(
                "id \"{id}\" is not words of a-z, 0-9 and - joined by dots, the paper first"
            );
            self.strict.mistake(at.clone(), what);
        }
        let line = self.strict.line(&at);
        match self.seen.get(id) {
            Some(first) => {
                let what = format!("id \"{id}\" is used twice, first in line {first}");
                self.strict.mistake(at, what);
            }
            None => {
                self.seen.insert(id.to_owned(), line);
            }
        }
    }

    fn kind(&mut self, at: &Range<usize>, fields: &DeTable<'t>) -> Option<ClaimKind> {
        let (span, word) = self.text(at, fields, "kind")?;
        let kind = ClaimKind::ALL.into_iter().find(|k| k.name() == word);
        if kind.is_none() {
            let words = ClaimKind::ALL.map(ClaimKind::name).join(", ");
            let what = format!("kind \"{word}\" is not one of {words}");
            self.strict.mistake(span, what);
        }
        kind
    }

    fn tolerance(
        &mut self,
        at: &Range<usize>,
        fields: &DeTable<'t>,
        kind: Option<ClaimKind>,
    ) -> Option<String> {
        if kind == Some(ClaimKind::Value) {
            return Some(self.text(at, fields, "tolerance")?.1);
        }
        if let (Some(kind), Some(value)) = (kind, fields.get("tolerance")) {
            let what = format!(
                "tolerance belongs to kind \"value\", not \"{}\"; put the limit into expect",
                kind.name()
            );
            self.strict.mistake(value.span(), what);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn mistakes(text: &str) -> Vec<String> {
        let error = Claims::parse("c.toml", text).unwrap_err();
        error.to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_shipped_list_is_valid() {
        let claims = Claims::shipped();
        for folder in folders::shipped() {
            let own = Claims::of_paper(&folder).unwrap().expect("each has claims");
            assert!(
                own.iter()
                    .all(|claim| claims.find(&claim.id) == Some(claim))
            );
        }
        let claim = claims.find("ongaro.fig4.boost").unwrap();
        assert_eq!(claim.kind, ClaimKind::Value);
        assert_eq!(claim.place, "Figure 4");
        assert_eq!(claim.tolerance.as_deref(), Some("x2"));
    }

    #[test]
    fn every_mistake_at_once_with_its_line() {
        let text = r#"title = "x"
[[claim]]
id = "a.b"
where = "Figure 1"
experiment = "e"
kind = "vallue"
expect = "x"

[[claim]]
id = "a.b"
where = ""
experiment = 3
kind = "order"
expect = "x"
tolerance = "x2"
colour = "red"

[[claim]]
id = "Upper"
where = "w"
experiment = "e"
kind = "value"
"#;
        assert_eq!(
            mistakes(text),
            [
                "c.toml:1: unknown key \"title\"; expected [[claim]], or one of sets, numbers, \
                 measure",
                "c.toml:6: kind \"vallue\" is not one of value, bound, order, shape",
                "c.toml:10: id \"a.b\" is used twice, first in line 3",
                "c.toml:11: \"where\" is empty",
                "c.toml:12: \"experiment\" is not text but integer",
                "c.toml:15: tolerance belongs to kind \"value\", not \"order\"; \
                 put the limit into expect",
                "c.toml:16: unknown key \"colour\"; expected one of id, where, experiment, kind, \
                 expect, tolerance, check, show, numbers, also, how",
                "c.toml:18: the claim has no \"expect\"",
                "c.toml:18: the claim has no \"tolerance\"",
                "c.toml:19: id \"Upper\" is not words of a-z, 0-9 and - joined by dots, \
                 the paper first",
            ]
        );
    }

    #[test]
    fn syntax_and_structure_mistakes_have_lines() {
        let syntax = mistakes("[[claim]]\nid = \"a.b\nwhere = = 2\n");
        assert!(syntax[0].starts_with("c.toml:2: "), "{syntax:?}");
        assert!(
            syntax.iter().any(|m| m.starts_with("c.toml:3: ")),
            "{syntax:?}"
        );
        assert_eq!(
            mistakes("claim = 1"),
            ["c.toml:1: \"claim\" is not a list; write [[claim]]"]
        );
        assert_eq!(
            mistakes("\nclaim = [1]"),
            ["c.toml:2: a claim is not a table; write [[claim]]"]
        );
        for empty in ["", "# only a comment\n", "claim = []"] {
            assert_eq!(
                mistakes(empty),
                ["c.toml:1: no claim in the file; expected [[claim]]"]
            );
        }
    }

    #[test]
    fn prefixes_are_whole_words() {
        let claims = Claims::shipped();
        let ids = |prefixes: &[&str]| -> Vec<String> {
            let selected = claims.select(prefixes).unwrap();
            selected.iter().map(|c| c.id.clone()).collect()
        };
        assert_eq!(ids(&[]).len(), claims.len());
        assert_eq!(
            ids(&["ongaro.test4"]),
            ["ongaro.test4.orig", "ongaro.test4.tbs"]
        );
        let both = ids(&["zeng.table4", "ongaro.test3.tbs", "ongaro.test3"]);
        assert_eq!(
            both.iter().filter(|id| *id == "ongaro.test3.tbs").count(),
            1
        );
        assert!(both[0].starts_with("ongaro."), "the order is the file's");
        assert!(claims.select(&["ongaro.test56"]).is_ok());
        assert!(
            ids(&["ongaro.test5"])
                .iter()
                .all(|id| !id.contains("test56"))
        );
    }

    #[test]
    fn an_unknown_prefix_lists_near_matches() {
        let claims = Claims::shipped();
        let error = claims.select(&["ongaro", "ongraro.test1"]).unwrap_err();
        assert_eq!(error.near[0], "ongaro.test1");
        assert!(
            error.to_string().starts_with(
                "no claim starts with \"ongraro.test1\"; near matches: ongaro.test1, "
            )
        );
        let cut = claims.select(&["zeng.tab"]).unwrap_err();
        assert_eq!(cut.near[0], "zeng.table4");
        let nothing = claims.select(&["quite something else"]).unwrap_err();
        assert_eq!(
            nothing.to_string(),
            "no claim starts with \"quite something else\"; expected an id or how it begins, as \
             ongaro or ongaro.test3"
        );
        assert!(claims.select(&[""]).is_err());
    }

    proptest! {
        #[test]
        fn bad_input_never_panics(text in "(\\[\\[claim\\]\\]|id|kind|=|\"|\n| |[a-z.]|é){0,40}") {
            if let Err(error) = Claims::parse("f", &text) {
                prop_assert!(!error.mistakes.is_empty());
                let lines = text.matches('\n').count() + 1;
                prop_assert!(error.mistakes.iter().all(|m| (1..=lines).contains(&m.line)));
            }
        }

        #[test]
        fn every_leading_part_of_an_id_selects_it(pick: prop::sample::Index, words in 1usize..4) {
            static CLAIMS: LazyLock<Claims> = LazyLock::new(Claims::shipped);
            let claim = pick.get(&CLAIMS.list);
            let prefix = claim.id.split('.').take(words).collect::<Vec<_>>().join(".");
            prop_assert!(CLAIMS.select(&[prefix]).unwrap().contains(&claim));
        }
    }
}
