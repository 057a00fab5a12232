//! Tests 5 and 6, figures 9 and 10: seven streams, one guest that answers pings, started last or
//! first.

use super::configurations::{ALL, FIXED_CREDIT, NOT_TICKLING, TICKLING};
use super::decide::{BASICALLY, Row};
use super::series::{AVERAGE, DEVIATION, PING, Reading, SPREAD};
use crate::ledger::Finding;

const TESTS: [&str; 2] = ["test5", "test6"];
/// Average latencies of the original configuration (ms), as printed: test 5, test 6.
const ORIG: [f64; 2] = [67.2, 2.6];
/// "Little effect", in the claim's words: within a third.
const LITTLE: f64 = 1.0 / 3.0;

/// Every configuration with the event channel fix.
const FIXED: [&str; 9] = [
    "all-off",
    "t",
    "b",
    "s",
    "tb",
    "ts",
    "bs",
    "tbs",
    "sedf-patched",
];

/// The rows of these tests.
pub fn rows() -> Vec<Row> {
    let both = |claim, configurations: &[&'static str], decide| {
        Row::new(claim, &TESTS, configurations, decide)
    };
    vec![
        Row::new("ongaro.test5.orig", &["test5"], &["orig"], |r| orig(r, 0)),
        Row::new("ongaro.test6.orig", &["test6"], &["orig"], |r| orig(r, 1)),
        Row::new(
            "ongaro.test56.stream-unchanged",
            &["test1", "test5", "test6"],
            &ALL,
            unchanged,
        ),
        both("ongaro.test56.first-is-faster", &FIXED, first_is_faster),
        both("ongaro.test56.tickle-varies", &FIXED_CREDIT, tickle_varies),
        both(
            "ongaro.test56.boost-sort-little",
            &["all-off", "b", "s", "bs"],
            little,
        ),
        both("ongaro.test56.sedf", &FIXED, sedf),
    ]
}

fn orig(r: &Reading<'_>, which: usize) -> Result<Finding, String> {
    let latency = r.series(TESTS[which], "orig", PING)?;
    let mut proof = r.proof();
    proof.near(&latency, ORIG[which], r.tolerance()?);
    Ok(proof.finding_on(&latency, "the average round trip"))
}

fn unchanged(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    let mut measured = vec![r.list("test1", &ALL, AVERAGE)?];
    for test in TESTS {
        for configuration in ALL {
            let average = |test| r.series(test, configuration, AVERAGE);
            proof.within(&average(test)?, BASICALLY, &average("test1")?);
        }
        measured.push(r.list(test, &ALL, AVERAGE)?);
    }
    Ok(proof.finding(
        measured.join("; "),
        "the average of each configuration in tests 5 and 6, less than a tenth from test 1's",
    ))
}

fn first_is_faster(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    for configuration in FIXED {
        let latency = |test| r.series(test, configuration, PING);
        proof.less(&latency("test6")?, 1.0, &latency("test5")?);
    }
    let measured = [
        r.list("test5", &FIXED, PING)?,
        r.list("test6", &FIXED, PING)?,
    ];
    Ok(proof.finding(
        measured.join("; "),
        "test 6's average against test 5's, in each configuration with the fix",
    ))
}

fn tickle_varies(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    let mut measured = Vec::new();
    for test in TESTS {
        for (with, without) in TICKLING.into_iter().zip(NOT_TICKLING) {
            let deviation = |configuration| r.series(test, configuration, DEVIATION);
            proof.greater(&deviation(with)?, 1.0, &deviation(without)?);
        }
        measured.push(r.list(test, &FIXED_CREDIT, DEVIATION)?);
    }
    Ok(proof.finding(
        measured.join("; "),
        "the deviation of each of t, tb, ts, tbs against that of its twin all-off, b, s, bs",
    ))
}

fn little(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    let mut measured = Vec::new();
    for test in TESTS {
        let latency = |configuration| r.series(test, configuration, PING);
        for configuration in ["b", "s", "bs"] {
            proof.within(&latency(configuration)?, LITTLE, &latency("all-off")?);
        }
        measured.push(r.list(test, &["all-off", "b", "s", "bs"], PING)?);
    }
    Ok(proof.finding(
        measured.join("; "),
        "the average of b, s and bs, less than a third from all-off's on either side",
    ))
}

fn sedf(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    let mut measured = Vec::new();
    for test in TESTS {
        for figure in [PING, SPREAD] {
            let sedf = r.series(test, "sedf-patched", figure)?;
            for credit in FIXED_CREDIT {
                proof.greater(&sedf, 1.0, &r.series(test, credit, figure)?);
            }
            measured.push(r.list(test, &FIXED, figure)?);
        }
    }
    Ok(proof.finding(
        measured.join("; "),
        "sedf-patched against each credit configuration with the fix: average latency and spread \
         of bandwidth, both higher",
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, Values};
    use super::*;
    use crate::ledger::Verdict::{Fails, Holds};

    /// As the paper describes figures 9 and 10.
    fn paper() -> Fake {
        let latency = |name: &str, last: bool| match (name, last) {
            ("orig", true) => 67.2,
            ("orig", false) => 2.6,
            ("sedf" | "sedf-patched", _) => {
                if last {
                    40.0
                } else {
                    30.0
                }
            }
            _ => {
                if last {
                    10.0
                } else {
                    6.0
                }
            }
        };
        let mut fake = Fake::new(rows());
        for (test, last) in [("test5", true), ("test6", false)] {
            fake = fake
                .all(test, &ALL, PING.key, |name| {
                    Values::around(latency(name, last))
                })
                .all(test, &ALL, DEVIATION.key, |name| {
                    Values::around(if TICKLING.contains(&name) { 9.0 } else { 3.0 })
                })
                .all(test, &ALL, SPREAD.key, |name| {
                    Values::around(if name.starts_with("sedf") {
                        150.0
                    } else {
                        20.0
                    })
                });
        }
        ["test1", "test5", "test6"]
            .into_iter()
            .fold(fake, |fake, test| {
                fake.all(test, &ALL, AVERAGE.key, |_| Values::around(105.0))
            })
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
        for (id, cell, figure, value) in [
            ("test5.orig", ("test5", "orig"), PING, 5.0),
            ("test6.orig", ("test6", "orig"), PING, 12.0),
            ("test56.stream-unchanged", ("test6", "bs"), AVERAGE, 90.0),
            ("test56.first-is-faster", ("test6", "t"), PING, 10.5),
            ("test56.tickle-varies", ("test5", "ts"), DEVIATION, 2.0),
            ("test56.boost-sort-little", ("test5", "bs"), PING, 3.0),
            ("test56.sedf", ("test6", "sedf-patched"), PING, 5.0),
            ("test56.sedf", ("test5", "tb"), SPREAD, 180.0),
        ] {
            let fake = paper().cell(cell.0, cell.1, &[(figure.key, Values::around(value))]);
            let verdict = fake.verdict(&format!("ongaro.{id}"));
            assert_eq!(verdict, Fails, "{id} with {value} for {cell:?}");
        }
    }
}
