//! A page of claims: what it opens with, that each claim is told once, and that ids stay whole.

use domio_papers::claim::Claim;
use domio_papers::ledger::{ClaimResult, LedgerEntry};
use domio_papers::{ClaimLedger, Claims};
use domio_report::data::{Chart, PaperTitle, Picture, ReportData, Section};
use domio_report::html::page;

fn ledger() -> ClaimLedger {
    let claims = Claims::shipped();
    let finding = |i: usize| match i % 3 {
        0 => ClaimResult::decided(true, "1", ""),
        1 => ClaimResult::decided(false, vec![23.1, 41.7], "Mb/s"),
        _ => ClaimResult::not_implemented(),
    };
    let entry = |(i, claim): (usize, &Claim)| LedgerEntry {
        claim: claim.clone(),
        finding: finding(i),
    };
    ClaimLedger {
        entries: claims.iter().take(24).enumerate().map(entry).collect(),
    }
}

fn demo() -> ReportData {
    let section = |title: &str, figures| Section {
        title: title.into(),
        text: String::new(),
        figures,
    };
    let about = Chart::Claims(ledger().entries[..3].to_vec());
    ReportData {
        title: "Claims".into(),
        provenance: vec![("command".into(), "domio reproduce".into())],
        ledger: Some(ledger()),
        papers: vec![PaperTitle {
            id: "boutcher".into(),
            title: "Scheduling <I/O>".into(),
        }],
        sections: vec![
            section("A figure", vec![Picture::new("About the figure", about)]),
            section("Another", Vec::new()),
        ],
        ..ReportData::default()
    }
}

/// A page of claims opens with what holds, before all else that is more than a line.
#[test]
fn a_page_of_claims_opens_with_the_verdicts() {
    let page = page(&demo());
    let (head, rest) = page.split_once("</header>").expect("a header");
    let (_, opening) = head
        .split_once("<table class=\"opening\">")
        .expect("verdicts");
    assert!(!opening.contains("<section") && !opening.contains("<figure"));
    for entry in &ledger().entries {
        let id = &entry.claim.id;
        let link = format!("<a class=\"claim-id\" href=\"#claim-{id}\" title=\"{id}\">");
        assert_eq!(opening.matches(&link).count(), 1, "{id}");
        let row = format!("<tr id=\"claim-{id}\"");
        assert_eq!(rest.matches(&row).count(), 1, "{id} has one row");
        let told = format!("data-label=\"expected\">{}<", escaped(&entry.claim.expect));
        assert!(page.matches(&told).count() <= 1, "{id} is told once");
    }
    let summary = ledger().summary();
    for (words, count) in [(" hold", summary.holds), (" fail", summary.fails)] {
        let numbers = opening.match_indices(words).map(|(at, _)| {
            let digits = opening[..at].rsplit('>').next().unwrap();
            digits.parse::<usize>().expect("a number of claims")
        });
        assert_eq!(numbers.sum::<usize>(), count, "{words}");
    }
    assert!(opening.contains("Scheduling &lt;I/O&gt;"));
    let (_, contents) = rest.split_once("<nav class=\"contents\"").unwrap();
    assert!(
        contents.split_once("<ol>").unwrap().0.contains("<details>"),
        "folded"
    );
    // Other pages have nothing of the kind.
    let other = domio_report::html::page(&ReportData {
        ledger: None,
        ..demo()
    });
    assert!(!other.contains("class=\"opening\"") && !other.contains("of-claims\""));
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// An id that is broken at a hyphen reads as two: wherever the page shows one, nothing may break
/// there.
#[test]
fn ids_of_claims_are_never_broken() {
    let mut data = demo();
    let ids: Vec<String> = ledger().entries.into_iter().map(|e| e.claim.id).collect();
    data.provenance[0].1 = format!("domio reproduce {} {}", ids[0], ids[1]);
    let first = &mut data.ledger.as_mut().unwrap().entries[0];
    first.finding = first
        .finding
        .clone()
        .note(format!("to repeat: domio reproduce {}", ids[0]));
    let page = page(&data);
    let (_, body) = page.split_once("<body").expect("a body");
    let mut shown = 0;
    for id in &ids {
        for (at, _) in body.match_indices(id.as_str()) {
            let before = &body[..at];
            let is_attribute = before.rfind('<') > before.rfind('>');
            // A longer id begins with this one.
            let goes_on = body[at + id.len()..].starts_with(['-', '.']);
            if is_attribute || goes_on {
                continue;
            }
            let tag = &before[before.rfind('<').unwrap()..];
            assert!(
                tag.contains("class=\"claim-id\"") && tag.ends_with('>'),
                "{tag}{id}"
            );
            shown += 1;
        }
    }
    assert!(shown >= ids.len() + 3, "{shown}");
    let rule = page.split_once(".claim-id {").expect("a rule").1;
    assert!(
        rule.split_once('}')
            .unwrap()
            .0
            .contains("white-space: nowrap")
    );
}
