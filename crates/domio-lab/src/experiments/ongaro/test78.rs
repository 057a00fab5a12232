//! Tests 7 and 8, figures 11 and 12: streams, burning guests and a ping, in a guest of its own or
//! in one that burns.

use super::configurations::{ALL, CREDIT, SEDF};
use super::decide::{BASICALLY, MUCH, Row};
use super::series::{AVERAGE, BURN, PING, Reading, SPREAD};
use crate::ledger::{Finding, Measured, Verdict};
use crate::proof::Proof;

/// Average latency of the original configuration in test 7 (ms) and share of a burning guest (%),
/// as printed.
const SEVENTH_ORIG: (f64, f64) = (1_800.0, 30.5);
/// Average latencies in test 8 (ms), as printed.
const EIGHTH: [(&str, f64); 2] = [("orig", 3_800.0), ("tb", 593.3)];
/// "Most configurations", in the claim's words.
const MOST_OF_ALL: usize = 8;
/// "Most credit configurations": more than half of nine.
const MOST_OF_CREDIT: usize = 5;
/// An optimization helps when it takes more than this part off the latency.
const HELPS: f64 = 1.0 / 3.0;

/// The rows of these tests.
pub fn rows() -> Vec<Row> {
    vec![
        Row::new("ongaro.test7.orig", &["test7"], &["orig"], seventh_orig),
        Row::new(
            "ongaro.test7.unchanged",
            &["test2", "test7"],
            &ALL,
            unchanged,
        ),
        Row::new(
            "ongaro.test7.lower-latency",
            &["test3", "test4", "test7"],
            &ALL,
            lower,
        ),
        Row::new(
            "ongaro.test7.bs",
            &["test7"],
            &["all-off", "b", "s", "bs"],
            bs,
        ),
        Row::new("ongaro.test7.sedf", &["test7"], &ALL, sedf),
        Row::new("ongaro.test8.orig", &["test8"], &["orig"], |r| eighth(r, 0)),
        Row::new("ongaro.test8.tb", &["test8"], &["tb"], |r| eighth(r, 1)),
        Row::new(
            "ongaro.test8.mixed-is-bad",
            &["test7", "test8"],
            &ALL,
            mixed,
        ),
    ]
}

fn seventh_orig(r: &Reading<'_>) -> Result<Finding, String> {
    let latency = r.series("test7", "orig", PING)?;
    let share = r.series("test7", "orig", BURN)?;
    let mut proof = r.proof();
    proof.near(&latency, SEVENTH_ORIG.0, r.tolerance_of("latency")?);
    for guest in 4..=6 {
        let key = format!("guest{guest}.share_pct");
        let mut one = share.clone();
        one.values = r.values("test7", "orig", &key)?;
        proof.near(&one, SEVENTH_ORIG.1, r.tolerance_of("share")?);
    }
    let measured = [latency.estimate(), share.estimate()];
    let mut finding = proof.finding(
        "",
        "the average round trip, and the share of each of the three burning guests",
    );
    finding.measured = Measured::Numbers(measured.into_iter().flatten().map(|e| e.mean).collect());
    finding.unit = "ms, % of the processor".to_owned();
    Ok(finding)
}

fn unchanged(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    let mut measured = Vec::new();
    for figure in [AVERAGE, BURN] {
        for configuration in ALL {
            let of = |test| r.series(test, configuration, figure);
            proof.within(&of("test7")?, BASICALLY, &of("test2")?);
        }
        measured.push(r.list("test2", &ALL, figure)?);
        measured.push(r.list("test7", &ALL, figure)?);
    }
    Ok(proof.finding(
        measured.join("; "),
        "average bandwidth and average share of the burning guests of each configuration, less \
         than a tenth from test 2's",
    ))
}

fn lower(r: &Reading<'_>) -> Result<Finding, String> {
    let one = |configuration: &str| {
        let latency = |test| r.series(test, configuration, PING);
        let mut proof = r.proof();
        for test in ["test3", "test4"] {
            proof.less(&latency("test7")?, 1.0 / MUCH, &latency(test)?);
        }
        Ok(proof)
    };
    let each: Result<Vec<Proof>, String> = ALL.into_iter().map(one).collect();
    let each = each?;
    let lower = each
        .iter()
        .filter(|p| p.verdict() == Verdict::Holds)
        .count();
    let mut proof = r.proof();
    proof.most(
        MOST_OF_ALL,
        &each,
        "configurations with a much lower latency",
    );
    let measured = [
        format!("much lower in {lower} of {}", each.len()),
        r.list("test7", &ALL, PING)?,
        r.list("test3", &ALL, PING)?,
        r.list("test4", &ALL, PING)?,
    ];
    Ok(proof.finding(
        measured.join("; "),
        "the average, under half of test 3's and under half of test 4's, in at least 8 of 11 \
         configurations",
    ))
}

fn bs(r: &Reading<'_>) -> Result<Finding, String> {
    let of = |configuration, figure| r.series("test7", configuration, figure);
    let mut proof = r.proof();
    for other in ["all-off", "b", "s"] {
        proof.less(&of("bs", PING)?, 1.0, &of(other, PING)?);
        proof.greater(&of("bs", AVERAGE)?, 1.0 - BASICALLY, &of(other, AVERAGE)?);
    }
    let shown = ["all-off", "b", "s", "bs"];
    let measured = [
        r.list("test7", &shown, PING)?,
        r.list("test7", &shown, AVERAGE)?,
    ];
    Ok(proof.finding(
        measured.join("; "),
        "bs against each of all-off, b and s: the average latency, lower, and the average \
         bandwidth, over nine tenths",
    ))
}

fn sedf(r: &Reading<'_>) -> Result<Finding, String> {
    let of = |configuration, figure| r.series("test7", configuration, figure);
    let mut proof = r.proof();
    for sedf in SEDF {
        for credit in CREDIT {
            proof.less(&of(sedf, PING)?, 1.0, &of(credit, PING)?);
        }
        let wider = |credit: &'static str| {
            let mut one = r.proof();
            one.greater(&of(sedf, SPREAD)?, 1.0, &of(credit, SPREAD)?);
            Ok(one)
        };
        let wider: Result<Vec<Proof>, String> = CREDIT.into_iter().map(wider).collect();
        let claim = format!("credit configurations with a smaller spread than {sedf}");
        proof.most(MOST_OF_CREDIT, &wider?, &claim);
    }
    let measured = [r.list("test7", &ALL, PING)?, r.list("test7", &ALL, SPREAD)?];
    Ok(proof.finding(
        measured.join("; "),
        "each sedf configuration: the average latency under that of each of the nine credit \
         configurations, and the spread over that of at least five of them",
    ))
}

fn eighth(r: &Reading<'_>, which: usize) -> Result<Finding, String> {
    let (configuration, published) = EIGHTH[which];
    let latency = r.series("test8", configuration, PING)?;
    let mut proof = r.proof();
    proof.near(&latency, published, r.tolerance()?);
    Ok(proof.finding_on(&latency, "the average round trip"))
}

fn mixed(r: &Reading<'_>) -> Result<Finding, String> {
    let latency = |test, configuration| r.series(test, configuration, PING);
    let mut proof = r.proof();
    for configuration in ALL {
        let alone = latency("test7", configuration)?;
        proof.greater(&latency("test8", configuration)?, MUCH, &alone);
    }
    for configuration in ["b", "s", "bs"] {
        let none = latency("test8", "all-off")?;
        proof.greater(&latency("test8", configuration)?, 1.0 - HELPS, &none);
    }
    let measured = [r.list("test7", &ALL, PING)?, r.list("test8", &ALL, PING)?];
    Ok(proof.finding(
        measured.join("; "),
        "test 8's average, over twice test 7's in each configuration; in test 8, b, s and bs do \
         not take a third off all-off's",
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, Values};
    use super::*;
    use crate::ledger::Verdict::{Fails, Holds};

    /// As in figures 11 and 12, with those of tests 2 to 4 that rows compare them with.
    fn paper() -> Fake {
        let seventh = |name: &str| match name {
            "orig" => 1_800.0,
            "bs" => 3.0,
            "sedf" | "sedf-patched" => 1.0,
            _ => 30.0,
        };
        let eighth = |name: &str| match name {
            "orig" => 3_800.0,
            "tb" => 593.3,
            _ => 250.0,
        };
        let burn = |name: &str| if name == "orig" { 30.5 } else { 24.0 };
        let mut fake = Fake::new(rows())
            .all("test7", &ALL, PING.key, |name| {
                Values::around(seventh(name))
            })
            .all("test8", &ALL, PING.key, |name| Values::around(eighth(name)))
            .all("test7", &ALL, SPREAD.key, |name| {
                Values::around(if name.starts_with("sedf") { 80.0 } else { 9.0 })
            });
        for test in ["test3", "test4"] {
            fake = fake.all(test, &ALL, PING.key, |name| {
                Values::around(if name == "orig" { 20_000.0 } else { 150.0 })
            });
        }
        for test in ["test2", "test7"] {
            fake = fake
                .all(test, &ALL, AVERAGE.key, |_| Values::around(60.0))
                .all(test, &ALL, BURN.key, |name| Values::around(burn(name)));
        }
        for guest in 4..=6 {
            let key = format!("guest{guest}.share_pct");
            fake = fake.all("test7", &["orig"], &key, |_| Values::around(30.5));
        }
        fake
    }

    #[test]
    fn the_rows_hold_for_what_the_paper_printed() {
        for row in rows() {
            let finding = paper().finding(row.claim);
            assert_eq!(finding.verdict, Holds, "{}: {}", row.claim, finding.note);
        }
    }

    #[test]
    fn each_row_fails_for_the_opposite() {
        for (id, cell, key, value) in [
            ("test7.orig", ("test7", "orig"), PING.key, 500.0),
            ("test7.orig", ("test7", "orig"), "guest5.share_pct", 27.0),
            ("test7.unchanged", ("test7", "s"), AVERAGE.key, 50.0),
            ("test7.unchanged", ("test2", "s"), BURN.key, 30.0),
            ("test7.bs", ("test7", "b"), PING.key, 2.0),
            ("test7.bs", ("test7", "bs"), AVERAGE.key, 40.0),
            ("test7.sedf", ("test7", "tbs"), PING.key, 0.5),
            ("test7.sedf", ("test7", "sedf"), SPREAD.key, 5.0),
            ("test8.orig", ("test8", "orig"), PING.key, 600.0),
            ("test8.tb", ("test8", "tb"), PING.key, 100.0),
            ("test8.mixed-is-bad", ("test8", "ts"), PING.key, 40.0),
            ("test8.mixed-is-bad", ("test8", "bs"), PING.key, 60.0),
        ] {
            let fake = paper().cell(cell.0, cell.1, &[(key, Values::around(value))]);
            let verdict = fake.verdict(&format!("ongaro.{id}"));
            assert_eq!(verdict, Fails, "{id} with {value} for {cell:?}");
        }
        let higher = ["t", "b", "s", "tb"];
        let fake = paper().all("test7", &higher, PING.key, |_| Values::around(100.0));
        assert_eq!(fake.verdict("ongaro.test7.lower-latency"), Fails, "7 of 11");
    }
}
