//! The list of claims: what the papers state, as data.
//!
//! The file is TOML: a list of `[[claim]]` tables, each with the checks that decide the claim (see
//! [`statement`](crate::statement)). Reading is as strict as that of scenarios, and all mistakes
//! are reported together, with its place. The claims of papers are [`Claims::of`].

use crate::claim::{Claim, ClaimKind};
use crate::folders::{self, PaperFolder};
use crate::statement::{CHECK, Said, Vocabulary};
use crate::strict::{SAID, said};
use domio_core::keys::{
    Checker, Code, Form, KeySection, KeyTable, Keys, Mistake, Need, Nested, Span, TOP_LEVEL,
    WordOf, by_name, form, nested_list, texts, word,
};
use domio_scenario::read_document;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use crate::strict::ClaimsError;

/// A paper's file of claims.
const CLAIMS_FILE: &str = "claims.toml";

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
    /// All mistakes together. Those of TOML syntax, or else those of content: unknown, missing,
    /// empty or wrongly typed keys, bad ids and kinds, ids used twice, a tolerance that a value
    /// lacks or another kind has, checks that name what is not there or make no sense, and a file
    /// without a claim.
    pub fn parse(file: &str, text: &str) -> Result<Self, ClaimsError> {
        let list = read_document(file, text, &FILE, self::file)?;
        Ok(Claims {
            file: file.to_owned(),
            list,
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

    /// The claims with a [headline](Claim::headline), in the order of the file.
    pub fn headlines(&self) -> Vec<&Claim> {
        self.list.iter().filter(|c| c.headline.is_some()).collect()
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

/// The file.
static FILE: KeySection = KeySection::plain(TOP_LEVEL, "Claims of a paper.", FileKeys::KEYS);

keys! {
    struct FileKeys {
        sets: Nested = by_name(&Vocabulary::SET), Need::Optional("none"),
            "Names that a word in braces stands for.";
        numbers: Nested = by_name(&Vocabulary::NUMBER), Need::Optional("none"),
            "Numbers that checks name.";
        measure: Nested = by_name(&Vocabulary::MEASURE), Need::Optional("none"),
            "What is measured.";
        claim: Nested = nested_list(&CLAIM), Need::Required, "What the paper states.";
    }
}

static CLAIM: KeySection = KeySection::plain("[[claim]]", "A statement.", ClaimKeys::KEYS);

keys! {
    struct ClaimKeys {
        id: String = form(&ID, said), Need::Required, "Stable name.";
        place: "where" String = form(&SAID, said), Need::Required, "Figure, table or section.";
        experiment: String = form(&SAID, said), Need::Required, "What is run.";
        kind: ClaimKind = word(&KINDS), Need::Required, "How it is decided.";
        expect: String = form(&SAID, said), Need::Required, "The figure, or the comparison.";
        headline: String = form(&SAID, said), Need::Optional("no headline claim"),
            "The statement in a few words, of a claim that the paper is known for.";
        tolerance: String = form(&SAID, said), Need::Optional("none"),
            "How far a value may be off.";
        check: Nested = nested_list(&CHECK), Need::Optional("not implemented"),
            "What decides it.";
        show: Vec<String> = texts(), Need::Optional("what is judged"), "Figures to show.";
        numbers: Vec<String> = texts(), Need::Optional("none"), "Figures to show as numbers.";
        also: Vec<String> = texts(), Need::Optional("none"), "Further measured figures.";
        how: String = form(&SAID, said), Need::Optional("none"), "What to say of the decision.";
    }
}

static KINDS: [WordOf<ClaimKind>; 4] = [
    WordOf::new("value", ClaimKind::Value, "A printed figure."),
    WordOf::new("bound", ClaimKind::Bound, "A printed limit."),
    WordOf::new("order", ClaimKind::Order, "A comparison."),
    WordOf::new("shape", ClaimKind::Shape, "A behaviour."),
];

static ID: Form = Form {
    example: "ongaro.test1.sedf",
    range: "words joined by dots",
    expected: "words of a-z, 0-9 and - joined by dots, the paper first",
    hint: "as \"ongaro.test1.sedf\"",
    pattern: r"^[a-z0-9-]+(\.[a-z0-9-]+)+$",
    check: |id| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let good = id.split('.').all(|w| !w.is_empty() && w.chars().all(plain));
        match good && id.contains('.') {
            true => Ok(()),
            false => Err(format!("`{id}` is no id")),
        }
    },
};

/// What is read of a document.
fn file(cx: &mut dyn Checker, document: &dyn KeyTable) -> Option<Vec<Claim>> {
    let keys = FileKeys::read(document);
    let words = Vocabulary::read(cx, document, [&keys.sets, &keys.numbers, &keys.measure]);
    let tables = document.tables(cx, &keys.claim, &CLAIM);
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    let claims: Vec<Option<Claim>> = tables
        .iter()
        .map(|table| claim(cx, &**table, &words, &mut seen))
        .collect();
    claims.into_iter().collect()
}

fn claim(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    words: &Vocabulary,
    seen: &mut BTreeMap<String, Span>,
) -> Option<Claim> {
    let keys = ClaimKeys::read(table);
    if let Some(id) = keys.id.get()
        && let Some(first) = seen.insert(id.clone(), table.span(&keys.id))
    {
        let mistake = table.wrong(Code::Duplicate, &keys.id, id.as_str()).says(
            format!(
                "the id `{id}` is used twice, first in line {}",
                cx.line(first)
            ),
            "a unique id",
            "give one of the two another id",
        );
        cx.tell(mistake.related(first, "the first one"));
    }
    let kind = keys.kind.get();
    let tolerance = keys.tolerance.if_given();
    match (kind, keys.tolerance.given) {
        (Some(ClaimKind::Value), false) => cx.tell(
            Mistake::new(Code::MissingKey, table.header(), "`tolerance` is missing")
                .expected("`tolerance` of a claim of kind \"value\"")
                .hint("for example `tolerance = \"x2\"`"),
        ),
        (Some(kind), true) if kind != ClaimKind::Value => {
            cx.tell(table.misplaced(&keys.tolerance).says(
                format!("`tolerance` does not go with kind \"{}\"", kind.name()),
                "`tolerance` with kind \"value\" alone",
                "put the limit into `expect`",
            ));
        }
        _ => {}
    }
    let mut claim = Claim {
        id: keys.id.get()?,
        place: keys.place.get()?,
        experiment: keys.experiment.get()?,
        kind: kind?,
        expect: keys.expect.get()?,
        headline: keys.headline.if_given()?,
        tolerance: tolerance?.filter(|_| kind == Some(ClaimKind::Value)),
        statement: None,
    };
    let checks = table.tables(cx, &keys.check, &CHECK);
    if checks.is_empty() {
        // What is no list of tables was told.
        if !keys.check.given {
            without_checks(cx, table, &keys);
        }
        return Some(claim);
    }
    let said = Said {
        checks: &checks,
        show: table.texts(&keys.show),
        numbers: table.texts(&keys.numbers),
        also: table.texts(&keys.also),
        how: keys.how.if_given()?,
        at: table.header(),
    };
    claim.statement = Some(Arc::new(words.statement(cx, said, &claim)?));
    Some(claim)
}

/// Reports keys that say how a claim is decided which has no checks.
fn without_checks(cx: &mut dyn Checker, table: &dyn KeyTable, keys: &ClaimKeys) {
    let ClaimKeys {
        show,
        numbers,
        also,
        how,
        ..
    } = keys;
    let lists = [show, numbers, also].map(|slot| (slot.given, table.misplaced(slot), slot.name));
    let how = (how.given, table.misplaced(how), how.name);
    for (_, mistake, name) in lists.into_iter().chain([how]).filter(|(given, ..)| *given) {
        cx.tell(mistake.says(
            format!("`{name}` belongs to a claim with a [[claim.check]]"),
            "a [[claim.check]] with it",
            "add a [[claim.check]], or remove the key",
        ));
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
        let told = mistakes(text);
        let parts = [
            (
                1,
                "unknown key `title` at the top level; expected one of: sets, numbers, measure",
            ),
            (
                6,
                "there is no kind `vallue`; expected one of: value, bound, order, shape",
            ),
            (10, "the id `a.b` is used twice, first in line 3"),
            (11, "the text is empty"),
            (
                12,
                "`experiment` is a whole number, not a string that is not empty",
            ),
            (15, "`tolerance` does not go with kind \"order\""),
            (
                16,
                "unknown key `colour` in [[claim]]; expected one of: id, where, experiment",
            ),
            (18, "`expect` is missing"),
            (18, "`tolerance` is missing"),
            (
                19,
                "`Upper` is no id; expected words of a-z, 0-9 and - joined by dots",
            ),
        ];
        assert_eq!(told.len(), parts.len(), "{told:#?}");
        for (line, part) in parts {
            let at = format!("c.toml:{line}:");
            let is = |told: &&String| told.starts_with(&at) && told.contains(part);
            assert!(
                told.iter().any(|told| is(&told)),
                "{line}: {part}\n{told:#?}"
            );
        }
        assert!(told[1].ends_with("did you mean `value`?"), "{}", told[1]);
    }

    #[test]
    fn syntax_and_structure_mistakes_have_lines() {
        let syntax = mistakes("[[claim]]\nid = \"a.b\nwhere = = 2\n");
        assert!(syntax[0].starts_with("c.toml:2:"), "{syntax:?}");
        assert!(
            syntax.iter().any(|m| m.starts_with("c.toml:3:")),
            "{syntax:?}"
        );
        for (text, part) in [
            (
                "claim = 1",
                "c.toml:1:9: `claim` is a whole number, not an array of tables",
            ),
            (
                "\nclaim = [1]",
                "c.toml:2:9: `claim` is an array, not an array of tables",
            ),
            ("", "there is no [[claim]]"),
            ("# only a comment\n", "there is no [[claim]]"),
            (
                "claim = []",
                "the list is empty; expected at least one [[claim]]",
            ),
        ] {
            let told = mistakes(text);
            assert!(told.len() == 1 && told[0].contains(part), "{told:?}");
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
                prop_assert!(error.mistakes.iter().all(|m| m.starts_with("f:")));
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
