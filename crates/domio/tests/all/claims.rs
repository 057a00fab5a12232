//! `domio claim`, and claims of other papers with checks.

use crate::common::{domio, folder, json_of};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn a_claim_is_shown_with_its_checks_and_how_to_look() {
    let folder = folder();
    let output = domio(&folder)
        .args(["claim", "show", "ongaro.test1.fix-helps"])
        .assert()
        .success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    for part in [
        "VEE 2008",
        "where       Figure 5",
        "on record   holds",
        "   1  spread of test1/tb: under 0.5 times test1/orig",
        "   2  spread of test1/tb: over 17 Mb/s",
        "  test1/{tb,orig}",
        "  domio reproduce ongaro.test1.fix-helps --report out/fix-helps.html",
        "  domio explain papers/ongaro2008/test1-tb",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let value = json_of(
        &folder,
        &["claim", "show", "ongaro.test1.fix-helps", "--json"],
    );
    assert_eq!(value["recorded"], "holds");
    assert_eq!(value["checks"].as_array().unwrap().len(), 2);
    assert_eq!(
        value["cells"],
        serde_json::json!(["test1/tb", "test1/orig"])
    );
    // A paper whose claims nobody has written checks for.
    let paper = folder.path().join("papers/new2031");
    std::fs::create_dir_all(&paper).unwrap();
    let about = "title = \"New\"\nauthors = [\"N\"]\nvenue = \"V\"\nid = \"new\"\n";
    std::fs::write(paper.join("paper.toml"), about).unwrap();
    let claim = "[[claim]]\nid = \"new.fig1\"\nwhere = \"Figure 1\"\nexperiment = \"e\"\n\
                 kind = \"order\"\nexpect = \"more\"\n";
    std::fs::write(paper.join("claims.toml"), claim).unwrap();
    domio(&folder)
        .args(["claim", "show", "./papers/new2031", "new.fig1"])
        .assert()
        .success()
        .stdout(contains("No check decides this claim yet."));
    domio(&folder)
        .args(["claim", "show", "ongaro.test1.fix-help"])
        .assert()
        .code(2)
        .stderr(contains("near matches: ongaro.test1.fix-helps").and(contains("claim list")));
}

#[test]
fn claims_are_listed_by_prefix() {
    let folder = folder();
    let lines = domio(&folder)
        .args(["claim", "list", "ongaro.test4"])
        .assert()
        .success();
    let text = String::from_utf8(lines.get_output().stdout.clone()).unwrap();
    assert!(text.contains("ongaro.test4.orig") && !text.contains("ongaro.test3"));
    assert!(
        text.lines().all(|line| line.chars().count() <= 200),
        "{text}"
    );
    let all = json_of(&folder, &["claim", "list", "--json"]);
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
    let papers = std::fs::read_dir(papers)
        .unwrap()
        .map(|paper| paper.unwrap().path());
    let texts = papers.filter_map(|paper| std::fs::read_to_string(paper.join("claims.toml")).ok());
    let written: usize = texts.map(|text| text.matches("\n[[claim]]").count()).sum();
    assert_eq!(all["claims"].as_array().unwrap().len(), written);
    domio(&folder)
        .args(["claim", "list", "ongraro"])
        .assert()
        .code(2)
        .stderr(contains("near matches: ongaro"));
}

#[test]
fn claims_of_ones_own_have_checks() {
    let folder = folder();
    let claim = |cell: &str| {
        format!(
            "[measure.shares]\nname = \"share of guest {{n}}\"\nunit = \"%\"\n\
             each = \"guest{{1..7}}.share_pct\"\n\n[[claim]]\nid = \"ongaro.mine.first\"\n\
             where = \"here\"\nexperiment = \"e\"\nkind = \"bound\"\nexpect = \"under a fifth\"\n\
             [[claim.check]]\nmeasure = \"shares\"\ncells = \"{cell}\"\nbelow = 20\n"
        )
    };
    std::fs::write(folder.path().join("good.toml"), claim("fig2/burn7")).unwrap();
    let value = json_of(&folder, &["reproduce", "--claims", "good.toml", "--json"]);
    assert_eq!(value["claims"][0]["verdict"], "holds");
    assert_eq!(value["claims"][0]["checks"]["holds"], 7);
    std::fs::write(folder.path().join("bad.toml"), claim("fig2/burn8")).unwrap();
    domio(&folder)
        .args(["reproduce", "--claims", "bad.toml"])
        .assert()
        .code(2)
        .stderr(contains(
            "bad.toml:12: no cell of ongaro is called \"fig2/burn8\"; did you mean \"fig2/burn7\"?",
        ));
}

#[test]
fn an_undecided_claim_is_no_other_verdict() {
    let folder = folder();
    let check = ["reproduce", "ongaro.fig2", "--check", "--replications"];
    let few = domio(&folder)
        .args(check)
        .args(["1", "--json"])
        .assert()
        .success();
    let value = crate::common::json(&few.get_output().stdout);
    assert_eq!(value["claims"][0]["verdict"], "undecided");
    domio(&folder)
        .args(check)
        .args(["1", "--effort", "full"])
        .assert()
        .success();
}
