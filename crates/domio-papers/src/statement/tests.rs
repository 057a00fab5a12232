//! Statements decide: claims of shipped papers and of a made-up one, from given samples.
//!
//! A file of `testdata/claims` has samples with which every claim of a paper holds, and changes of
//! them with which one claim fails. A new paper needs such a file, and no code.

use super::names::expand;
use super::{NamedSets, experiment};
use crate::claim::Claim;
use crate::claims::Claims;
use crate::folders::{self, PaperFolder};
use crate::ledger::{ClaimResult, Measured, Verdict};
use crate::registry::Registry;
use crate::samples::Samples;
use domio_run::Sample;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    sample: Vec<Change>,
    contrary: Vec<Change>,
}

/// Figures and lists of some cells.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    /// The claim that fails with the change.
    claim: Option<String>,
    cells: String,
    #[serde(default)]
    figures: BTreeMap<String, f64>,
    #[serde(default)]
    lists: BTreeMap<String, Vec<f64>>,
}

type Cells = BTreeMap<String, Vec<Sample>>;

/// So many that a figure of one run can be disproved.
const REPLICATIONS: usize = 160;

impl Change {
    fn apply(&self, cells: &mut Cells, sets: &NamedSets) {
        for (_, cell) in expand(&self.cells, sets).unwrap() {
            let empty = || vec![Sample::new(); REPLICATIONS];
            let samples = cells.entry(cell).or_insert_with(empty);
            for (names, value) in &self.figures {
                for (_, name) in expand(names, sets).unwrap() {
                    for (sample, factor) in samples.iter_mut().zip(wobble(*value)) {
                        sample.set(&name, value * factor);
                    }
                }
            }
            for (name, list) in &self.lists {
                for sample in samples.iter_mut() {
                    sample.set_list(name, list.clone());
                }
            }
        }
    }
}

/// Factors within half a percent of one, not the same for any two values.
fn wobble(value: f64) -> impl Iterator<Item = f64> {
    let own = (value * 7.3).sin() * 0.002;
    let four = [1.001 + own, 0.998, 1.002, 0.999 - own];
    four.into_iter().cycle().take(REPLICATIONS)
}

/// A paper's claims and the samples to decide them by.
struct Case {
    claims: Claims,
    sets: NamedSets,
    given: Given,
}

impl Case {
    fn of(name: &str, claims: &str, given: &str) -> Self {
        let sets: toml::Table = toml::from_str(claims).unwrap();
        let sets = sets.get("sets").cloned().map(toml::Value::try_into);
        Case {
            claims: Claims::parse(name, claims).unwrap_or_else(|error| panic!("{error}")),
            sets: sets.transpose().unwrap().unwrap_or_default(),
            given: toml::from_str(given).unwrap_or_else(|error| panic!("{name}: {error}")),
        }
    }

    /// The samples, with `change` if there is one.
    fn cells(&self, change: Option<&Change>) -> Cells {
        let mut cells = Cells::new();
        for change in self.given.sample.iter().chain(change) {
            change.apply(&mut cells, &self.sets);
        }
        cells
    }

    /// What the statement of `claim` finds in `cells`, of which it sees those that it reads.
    fn finding(&self, claim: &Claim, cells: &Cells) -> ClaimResult {
        let mut registry = Registry::new();
        for cell in cells.keys() {
            let name = experiment(claim.paper(), cell);
            registry.experiment(name, 1, |_, _| Ok(Sample::new()));
        }
        registry
            .claims(&self.claims)
            .unwrap_or_else(|error| panic!("{error}"));
        let decider = registry.check_of(&claim.id).unwrap();
        let mut read: Vec<(&str, &[Sample])> = Vec::new();
        for name in decider.reads() {
            let cell = name.split_once('.').unwrap().1.replace('.', "/");
            let samples = cells.get(&cell);
            read.push((
                name,
                samples.unwrap_or_else(|| panic!("no sample of {cell}")),
            ));
        }
        decider.decide(&Samples::new(read), claim)
    }

    /// Every claim with checks holds with the samples, and each contrary makes its claim fail.
    fn check(&self) {
        let decided = self.claims.iter().filter(|claim| claim.statement.is_some());
        let mut open: BTreeSet<&str> = decided.clone().map(|claim| claim.id.as_str()).collect();
        let cells = self.cells(None);
        for claim in decided {
            let finding = self.finding(claim, &cells);
            let check = finding.decisive();
            let told: usize = super::tell(claim).iter().map(|told| told.checks).sum();
            assert_eq!(finding.checks.len(), told, "{}", claim.id);
            assert_eq!(
                finding.verdict,
                Verdict::Holds,
                "{}: {check:?} {}",
                claim.id,
                finding.note
            );
        }
        for change in &self.given.contrary {
            let id = change.claim.as_deref().expect("a contrary names its claim");
            let claim = self
                .claims
                .find(id)
                .unwrap_or_else(|| panic!("no claim {id}"));
            let verdict = self.finding(claim, &self.cells(Some(change))).verdict;
            assert_eq!(
                verdict,
                Verdict::Fails,
                "{id} with {:?} of {}",
                change.figures,
                change.cells
            );
            open.remove(id);
        }
        assert!(open.is_empty(), "no samples make these fail: {open:?}");
    }
}

fn made_up() -> Case {
    Case::of(
        "claims.toml",
        include_str!("../../../../testdata/claims/grocer2031/claims.toml"),
        include_str!("../../../../testdata/claims/grocer2031/samples.toml"),
    )
}

/// The claims of a shipped paper and the samples in `testdata/claims`; `None` for a paper without
/// checks.
fn shipped(paper: &PaperFolder) -> Option<Case> {
    let claims = paper.file("claims.toml")?;
    let parsed = Claims::parse(&paper.name, claims).unwrap();
    parsed.iter().find(|claim| claim.statement.is_some())?;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/claims");
    let path = format!("{folder}/{}.toml", paper.name);
    let given = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Some(Case::of(&paper.name, claims, &given))
}

#[test]
fn claims_of_a_new_paper_need_no_code() {
    let case = made_up();
    assert_eq!(case.claims.len(), 11);
    case.check();
}

#[test]
fn shipped_claims_hold_for_what_the_papers_printed_and_fail_for_the_contrary() {
    let cases: Vec<Case> = folders::shipped().iter().filter_map(shipped).collect();
    assert!(cases.len() >= 2);
    cases.iter().for_each(Case::check);
}

/// Each configuration with tickling stands beside the same without.
#[test]
fn matched_cells_differ_in_tickling_alone() {
    let sets = shipped(&folders::find("ongaro2008").unwrap()).unwrap().sets;
    for (with, without) in sets["tickling"].iter().zip(&sets["not-tickling"]) {
        let rest = with.replacen('t', "", 1);
        let rest = match rest.as_str() {
            "" => "all-off",
            rest => rest,
        };
        assert_eq!(rest, without, "{with}");
    }
}

#[test]
fn findings_show_what_the_claim_names() {
    let case = made_up();
    let cells = case.cells(None);
    let of = |id: &str| case.finding(case.claims.find(id).unwrap(), &cells);
    let orders = of("grocer.table1.orders");
    assert!(matches!(orders.measured, Measured::Number(n) if (39.8..40.2).contains(&n)));
    assert!(orders.ci95.is_some() && orders.unit == "1/s");
    assert_eq!(
        orders.note,
        "decided by orders of day/fair: in 36 to 44, near the published 40 1/s"
    );
    let Measured::Numbers(ends) = of("grocer.sec5.best-and-worst").measured else {
        panic!("two numbers");
    };
    assert_eq!(
        ends.iter().map(|n| n.round()).collect::<Vec<_>>(),
        [30.0, 60.0]
    );
    let Measured::Text(text) = of("grocer.fig1.eager-wins").measured else {
        panic!("words");
    };
    let by_day = "orders in day: eager 60.0";
    assert!(
        text.starts_with(by_day) && text.contains("; orders in night: "),
        "{text}"
    );
    let most = of("grocer.fig2.most-queues-are-short");
    assert_eq!(most.checks.len(), 1);
    assert_eq!(
        most.checks[0].told(),
        "queues that are short, 8 of 9, at least 8"
    );
}

#[test]
fn checks_read_what_they_compare() {
    let case = made_up();
    let mut cells = case.cells(None);
    let claim = case.claims.find("grocer.sec6.gain").unwrap();
    let gain = &case.finding(claim, &cells).checks[0];
    assert_eq!(gain.reads, ["grocer.day.lazy", "grocer.day.fair"]);
    // A sample without the value is told, and decides nothing.
    cells.insert("day/fair".to_owned(), vec![Sample::new(); REPLICATIONS]);
    let finding = case.finding(claim, &cells);
    assert_eq!(finding.verdict, Verdict::Undecided);
    assert_eq!(
        finding.note,
        "day/fair was not measured: it has no shop.orders_per_s"
    );
}

#[test]
fn a_cell_that_is_not_simulated_is_a_mistake_with_its_line() {
    let text = include_str!("../../../../testdata/claims/grocer2031/claims.toml");
    let text = text.replace("cells = \"day/eager\"\nover", "cells = \"day/eagre\"\nover");
    let claims = Claims::parse("c.toml", &text).unwrap();
    let mut registry = Registry::new();
    for cell in [
        "day.fair",
        "day.lazy",
        "day.eager",
        "night.fair",
        "night.lazy",
        "night.eager",
    ] {
        registry.experiment(format!("grocer.{cell}"), 1, |_, _| Ok(Sample::new()));
    }
    let told = registry.claims(&claims).unwrap_err().to_string();
    let expected = "no cell of grocer is called \"day/eagre\"; did you mean \"day/eager\"?";
    let lines: Vec<usize> = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| line.contains("eagre"))
        .map(|(_, line)| line - 2)
        .collect();
    let expected: Vec<String> = lines
        .iter()
        .map(|line| format!("c.toml:{line}: {expected}"))
        .collect();
    assert_eq!(told, expected.join("\n"));
}

/// The head of a claim, in three lines.
const HEAD: &str = "id = \"a.b\"\nwhere = \"w\"\nexperiment = \"e\"\n";

fn mistakes(text: &str) -> Vec<String> {
    let error = Claims::parse("c.toml", text).unwrap_err();
    error.to_string().lines().map(str::to_owned).collect()
}

/// Lines with mistakes, and what is said of each.
const AT_ONCE: &[(usize, &str)] = &[
    (
        3,
        "the set `x` is called like a member of a set; give it another name",
    ),
    (5, "`much` is not a number"),
    (
        9,
        "`mean` has a meaning of its own before cells; use another name",
    ),
    (
        12,
        "the measure `both` is made of 2; expected one of: value, each, pooled, list, ratio, \
             difference",
    ),
    (18, "\"3..1\" is no range of up to 10000 numbers"),
    (
        22,
        "there is no take `highst`; expected one of: lowest, highest, mean, ",
    ),
    (25, "no measure is called `none`; expected a [measure.none]"),
    (34, "no measure is called `n`; expected a [measure.n]"),
    (
        37,
        "the check has over and below; expected one of: over, under, within, below, above, \
             never, always, near, one-run",
    ),
    (
        42,
        "the check has no relation; expected one of: over, under",
    ),
    (47, "\"t/{some\" has a { without a }"),
    (
        49,
        "matched pairs of 2 cells on the left and 1 in `over`; expected as many cells",
    ),
    (
        54,
        "`part` does not belong here; expected `part` with within",
    ),
    (
        59,
        "`at-least` is not so many of those that are compared; expected a whole number of 1",
    ),
    (
        60,
        "unknown key `facter` in [[claim.check]]; expected one of: ",
    ),
    (
        61,
        "the claim's tolerance \"a bit\" is not one figure; expected a `tolerance` of the",
    ),
];

#[test]
fn every_mistake_of_a_statement_at_once() {
    let text = format!(
        r#"[sets]
some = ["x", "y"]
x = ["y"]
[numbers]
much = "two"
[measure.m]
name = "m"
value = "m_ms"
[measure.mean]
name = "n"
value = "n"
[measure.both]
name = "n"
value = "n"
list = "n"
[measure.odd]
name = "n"
each = "n{{3..1}}"
[measure.taken]
name = "n"
each = "n{{1..3}}"
take = "highst"
[measure.made]
name = "n"
ratio = ["m", "none"]
[[claim]]
{HEAD}kind = "value"
expect = "x"
tolerance = "a bit"
[[claim.check]]
measure = "n"
cells = "t/x"
near = 3
[[claim.check]]
measure = "m"
cells = "t/x"
over = "t/{{some}}"
below = 3
[[claim.check]]
measure = "m"
cells = "t/x"
[[claim.check]]
measure = "m"
cells = "t/{{some"
below = "much"
[[claim.check]]
measure = "m"
cells = "t/{{some}}"
over = "t/x"
pairs = "matched"
part = 0.1
[[claim.check]]
measure = "m"
cells = "t/{{some}}"
below = 3
at-least = 3
facter = 2
[[claim.check]]
measure = "m"
cells = "t/x"
near = 3
"#
    );
    let told = mistakes(&text);
    for (line, part) in AT_ONCE {
        let at = format!("c.toml:{line}:");
        let is = |told: &String| told.starts_with(&at) && told.contains(part);
        assert!(told.iter().any(is), "{line}: {part}\n{told:#?}");
    }
    assert_eq!(told.len(), 16, "{told:#?}");
    assert!(
        told.iter()
            .any(|line| line.ends_with("did you mean `factor`?"))
    );
}

#[test]
fn what_does_not_go_together_is_a_mistake() {
    let claim = |rest: &str| {
        let measures = "[measure.m]\nname = \"m\"\nvalue = \"m\"\n[measure.middle]\nname = \"n\"\n\
                        list = \"l\"\ntake = \"median\"\n";
        format!("{measures}[[claim]]\n{HEAD}kind = \"order\"\nexpect = \"x\"\n{rest}")
    };
    let check = |rest: &str| claim(&format!("[[claim.check]]\nmeasure = \"m\"\n{rest}"));
    for (text, part) in [
        (
            claim("how = \"x\""),
            "`how` belongs to a claim with a [[claim.check]]",
        ),
        (
            check("cells = \"t\"\nnear = 2"),
            "the claim has no tolerance; expected a `tolerance` of the check",
        ),
        (check("below = 2"), "`cells` is missing"),
        (
            check("cells = \"t\"\nbelow = 2\nfactor = 2"),
            "expected `factor` with over, under",
        ),
        (
            check("cells = \"t\"\nbelow = 2\nof = \"x\""),
            "expected `of` with at-least",
        ),
        (
            check("cells = \"t\"\nwithin = \"u\""),
            "`within` needs a `part`",
        ),
        (
            check("cells = \"t\"\nover = \"u\"\nfactor = -1"),
            "not over zero",
        ),
        (
            check("cells = \"t\"\nover = \"u\"\npairs = \"odd\""),
            "there is no pairs `odd`",
        ),
        (
            check("cells = \"t\"\nnever = false"),
            "`never` can only be true",
        ),
        (
            check("cells = [\"t\", \"mean of u\"]\nbelow = 2"),
            "write a check for each",
        ),
        (
            check("cells = \"m of m of t\"\nbelow = 2"),
            "is not understood; expected CELLS",
        ),
        (check("cells = []\nbelow = 2"), "`cells` is empty"),
        (
            claim(
                "numbers = \"middle of t\"\n[[claim.check]]\nmeasure = \"m\"\ncells = \"t\"\n\
                 below = 2",
            ),
            "is a median, which has no value",
        ),
        (
            check("cells = \"middle of t\"\nbelow = 2"),
            "is a median, which has no value",
        ),
        (
            claim("[[claim.check]]\ncells = \"t\"\nbelow = 2"),
            "has no measure; expected MEASURE of",
        ),
        (
            claim(
                "show = \"farthest\"\n[[claim.check]]\nmeasure = \"m\"\ncells = \"t\"\nbelow = 2",
            ),
            "`farthest` needs a check with `near`",
        ),
        (
            claim(
                "show = \"m of t\"\nnumbers = \"m of t\"\n[[claim.check]]\nmeasure = \"m\"\n\
                cells = \"t\"\nbelow = 2",
            ),
            "`show` or `numbers`, not both",
        ),
        (claim("check = 3"), "an array of tables, [[claim.check]]"),
    ] {
        let told = mistakes(&text);
        assert!(
            told.len() == 1 && told[0].contains(part),
            "{part}: {told:?}"
        );
    }
}

#[test]
fn statements_are_told_in_english() {
    let case = made_up();
    let told = |id: &str| {
        let told = super::tell(case.claims.find(id).unwrap());
        told.into_iter()
            .map(|told| told.statement)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        told("grocer.fig1.eager-wins"),
        [
            "orders of day/eager: over day/{fair,lazy}",
            "orders of night/eager: over night/{fair,lazy}"
        ]
    );
    assert_eq!(
        told("grocer.fig2.nights-are-calm"),
        [
            "the longest queue of night/{fair,lazy,eager}: under 0.5 times day/{fair,lazy,eager}, \
             each with the one at its place"
        ]
    );
    assert_eq!(
        told("grocer.sec4.delay"),
        [
            "average delay of day/lazy: less than 20 % away from day/eager",
            "the share of delays over 100 ms of day/lazy: over 0.1"
        ]
    );
    assert_eq!(
        told("grocer.sec5.best-and-worst")[0],
        "orders of the lowest of day/{fair,lazy,eager}: in 25 to 36, near the published 30 1/s"
    );
    assert_eq!(
        told("grocer.sec6.gain")[1],
        "orders that lazy has more than fair of day/lazy: under the longest queue of day/lazy"
    );
    let cells = &super::tell(case.claims.find("grocer.sec6.gain").unwrap())[0].cells;
    assert_eq!(*cells, ["day/lazy", "day/fair"]);
}

#[test]
fn every_shipped_claim_is_told() {
    for claim in Claims::shipped().iter() {
        for told in super::tell(claim) {
            assert!(!told.cells.is_empty() && told.line > 1, "{}", claim.id);
            assert!(
                !told.statement.contains("{n}"),
                "{}: {}",
                claim.id,
                told.statement
            );
        }
    }
}
