//! What is on record of claims on other machines: `survival.toml` of a paper.
//!
//! `cargo xtask survival` writes the file. A paper without the file has no such record.

use super::read;
use super::survival::{Dependence, Survival};
use crate::folders::PaperFolder;
use crate::ledger::Checks;
use crate::strict::{SAID, said};
use domio_core::keys::{
    Checker, Code, KeySection, KeyTable, Keys, Mistake, Need, Nested, TOP_LEVEL, figure, form, int,
    nested_list,
};
use domio_scenario::{ScenarioErrors, read_document};
use std::collections::BTreeMap;

/// A paper's file of claims on other machines.
const FILE: &str = "survival.toml";

/// The claims of a paper on other machines, as they were recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct SurvivalRecord {
    /// Number of machines.
    pub machines: usize,
    /// Seed of the draw and of all replications.
    pub seed: u64,
    /// Effort with which claims were decided.
    pub effort: String,
    /// By id of the claim.
    pub claims: Survivals,
}

/// How claims do on other machines, by id, as papers' files have it.
pub type Survivals = BTreeMap<String, Survival>;

/// What is on record of the papers in `folders`. A paper without the file has nothing on record.
///
/// # Errors
/// As [`recorded_survival`].
pub fn survivals(folders: &[PaperFolder]) -> Result<Survivals, String> {
    let mut all = Survivals::new();
    for folder in folders {
        all.extend(
            recorded_survival(folder)?
                .into_iter()
                .flat_map(|record| record.claims),
        );
    }
    Ok(all)
}

static RECORD: KeySection = KeySection::plain(
    TOP_LEVEL,
    "Claims on machines that their paper allows.",
    RecordKeys::KEYS,
);

keys! {
    struct RecordKeys {
        machines: usize = int(1, 10_000), Need::Required, "Number of machines.";
        seed: u64 = int(0, i64::MAX), Need::Required, "Seed of the draw.";
        effort: String = form(&SAID, said), Need::Required, "Effort of the decisions.";
        claim: Nested = nested_list(&CLAIM), Need::Required, "Claims.";
    }
}

static CLAIM: KeySection = KeySection::plain("[[claim]]", "A claim.", ClaimKeys::KEYS);

keys! {
    struct ClaimKeys {
        id: String = form(&SAID, said), Need::Required, "Its id.";
        holds: usize = int(0, 10_000), Need::Required, "On how many machines it holds.";
        fails: usize = int(0, 10_000), Need::Required, "On how many machines it fails.";
        undecided: usize = int(0, 10_000), Need::Required, "On how many neither is proven.";
        depends: Nested = nested_list(&DEPENDS), Need::Optional("none"),
            "The two unknowns on which it depends most.";
    }
}

static DEPENDS: KeySection = KeySection::plain(
    "[[claim.depends]]",
    "An unknown, cut in two.",
    DependsKeys::KEYS,
);

keys! {
    struct DependsKeys {
        unknown: String = form(&SAID, said), Need::Required, "Name of the unknown.";
        holds_with: String = form(&SAID, said), Need::Required, "Where it holds rather.";
        fails_with: String = form(&SAID, said), Need::Required, "The other side.";
        holds_there: usize = int(0, 10_000), Need::Required, "Machines there on which it holds.";
        decided_there: usize = int(0, 10_000), Need::Required, "Machines there that decide it.";
        holds_elsewhere: usize = int(0, 10_000), Need::Required,
            "Machines of the other side on which it holds.";
        decided_elsewhere: usize = int(0, 10_000), Need::Required,
            "Machines of the other side that decide it.";
        score: String = figure(), Need::Required, "How well the split separates them.";
        by_chance: String = figure(), Need::Required, "What chance reaches.";
    }
}

/// What is on record of the paper in `folder`; `None` when it has no such file.
///
/// # Errors
/// Every mistake of the file: keys, counts that do not add up, unknowns that `machine.toml` does
/// not declare.
pub fn recorded_survival(folder: &PaperFolder) -> Result<Option<SurvivalRecord>, String> {
    let Some(text) = folder.file(FILE) else {
        return Ok(None);
    };
    let unknowns = unknowns(folder)?;
    let unknowns: Vec<&str> = unknowns.iter().map(String::as_str).collect();
    let name = format!("{}/{FILE}", folder.place);
    let record = parse(&name, text, &unknowns);
    record.map(Some).map_err(|mistakes| mistakes.to_string())
}

/// Names of what the paper in `folder` leaves open.
///
/// # Errors
/// When its `machine.toml` has mistakes.
pub fn unknowns(folder: &PaperFolder) -> Result<Vec<String>, String> {
    let machine = folder.file("machine.toml").unwrap_or_default();
    let machine = read::machine(&format!("{}/machine.toml", folder.place), machine);
    let machine = machine.map_err(|mistakes| mistakes.to_string())?;
    Ok(machine.unknowns.into_iter().map(|u| u.name).collect())
}

fn parse(name: &str, text: &str, unknowns: &[&str]) -> Result<SurvivalRecord, ScenarioErrors> {
    read_document(name, text, &RECORD, |cx, table| {
        let keys = RecordKeys::read(table);
        let machines = keys.machines.get();
        let tables = table.tables(cx, &keys.claim, &CLAIM);
        let mut claims = BTreeMap::new();
        let mut good = true;
        for table in &tables {
            match claim(cx, &**table, machines, unknowns) {
                Some((id, survival)) => {
                    if claims.insert(id.clone(), survival).is_some() {
                        let what = format!("the claim `{id}` is there twice");
                        cx.tell(
                            Mistake::new(Code::Duplicate, table.header(), what)
                                .expected("each claim once"),
                        );
                    }
                }
                None => good = false,
            }
        }
        let record = SurvivalRecord {
            machines: machines?,
            seed: keys.seed.get()?,
            effort: keys.effort.get()?,
            claims,
        };
        good.then_some(record)
    })
}

fn claim(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    machines: Option<usize>,
    unknowns: &[&str],
) -> Option<(String, Survival)> {
    let keys = ClaimKeys::read(table);
    let tables = table.tables(cx, &keys.depends, &DEPENDS);
    let depends: Vec<Option<Dependence>> = tables
        .iter()
        .map(|table| depends(cx, &**table, unknowns))
        .collect();
    let depends: Option<Vec<Dependence>> = depends.into_iter().collect();
    let on = Checks {
        holds: keys.holds.get()?,
        fails: keys.fails.get()?,
        undecided: keys.undecided.get()?,
    };
    let (sum, machines) = (on.total(), machines?);
    if sum != machines {
        let what = format!("`holds`, `fails` and `undecided` are {sum} machines together");
        let mistake = Mistake::new(Code::Conflict, table.header(), what);
        cx.tell(mistake.expected(format!("{machines}, as `machines` says")));
        return None;
    }
    Some((keys.id.get()?, Survival::of(on, depends?)))
}

fn depends(cx: &mut dyn Checker, table: &dyn KeyTable, unknowns: &[&str]) -> Option<Dependence> {
    let keys = DependsKeys::read(table);
    let unknown = keys.unknown.get()?;
    if !unknowns.contains(&unknown.as_str()) {
        let mistake = table.wrong(Code::UnknownName, &keys.unknown, unknown.as_str());
        cx.tell(mistake.says(
            format!("there is no unknown \"{unknown}\""),
            format!("one of the machine's: {}", unknowns.join(", ")),
            "make the file anew: cargo xtask survival",
        ));
        return None;
    }
    let score = table.number(cx, &keys.score)??;
    let by_chance = table.number(cx, &keys.by_chance)??;
    let found = Dependence {
        unknown,
        holds_with: keys.holds_with.get()?,
        fails_with: keys.fails_with.get()?,
        holds_there: keys.holds_there.get()?,
        decided_there: keys.decided_there.get()?,
        holds_elsewhere: keys.holds_elsewhere.get()?,
        decided_elsewhere: keys.decided_elsewhere.get()?,
        score,
        by_chance,
    };
    let parts = found.holds_there <= found.decided_there
        && found.holds_elsewhere <= found.decided_elsewhere;
    let scores = [score, by_chance].iter().all(|s| (0.0..=1.0).contains(s));
    if !parts || !scores {
        let what = "the counts or scores of the split make no sense";
        let mistake = Mistake::new(Code::Conflict, table.header(), what);
        let expected =
            "no more machines on which the claim holds than decided ones, scores of 0 to 1";
        cx.tell(mistake.expected(expected));
        return None;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::folders;

    const GOOD: &str = r#"machines = 64
seed = 1
effort = "quick"

[[claim]]
id = "a.b"
holds = 40
fails = 20
undecided = 4

[[claim.depends]]
unknown = "line"
holds_with = "up to 20 us"
fails_with = "from 30 us on"
holds_there = 38
decided_there = 40
holds_elsewhere = 2
decided_elsewhere = 20
score = 0.85
by_chance = 0.4
"#;

    #[test]
    fn a_record_is_read() {
        let record = parse("s.toml", GOOD, &["line"]).unwrap();
        assert_eq!((record.machines, record.effort.as_str()), (64, "quick"));
        let survival = &record.claims["a.b"];
        assert_eq!(survival.holds.0.machines, 40);
        let clear = survival.clear().unwrap();
        assert_eq!((clear.unknown.as_str(), clear.holds_there), ("line", 38));
    }

    #[test]
    fn mistakes_are_found() {
        for (from, to, part) in [
            ("seed = 1\n", "", "`seed` is missing"),
            ("undecided = 4", "undecided = 5", "65 machines together"),
            ("\"line\"", "\"lime\"", "there is no unknown \"lime\""),
            ("holds_there = 38", "holds_there = 41", "make no sense"),
            ("score = 0.85", "score = 1.5", "make no sense"),
            ("fails = 20", "fails = -1", "fails"),
            ("machines = 64", "machines = 64\ncolour = 1", "colour"),
        ] {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD, "{from}");
            let error = parse("s.toml", &text, &["line"]).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
        let twice = GOOD.to_owned() + &GOOD[GOOD.find("[[claim]]").unwrap()..];
        let error = parse("s.toml", &twice, &["line"]).unwrap_err().to_string();
        assert!(error.contains("there twice"), "{error}");
    }

    #[test]
    fn the_shipped_records_name_shipped_claims() {
        let claims = Claims::shipped();
        for folder in folders::shipped() {
            let record = recorded_survival(&folder).unwrap();
            for id in record.iter().flat_map(|record| record.claims.keys()) {
                assert!(claims.find(id).is_some(), "{}: {id}", folder.name);
            }
        }
    }
}
