//! Test 2, figure 6: three streams, three guests that burn.

use super::configurations::{
    ALL, BOOSTING, CREDIT, FIXED_CREDIT, NOT_BOOSTING, NOT_TICKLING, SEDF, TICKLING, all_but,
};
use super::decide::Row;
use super::series::{AVERAGE, BURN, BURN_SPREAD, Figure, Reading, SPREAD};
use crate::ledger::Finding;
use crate::series::Series;

const TEST: &str = "test2";
/// "Over 100 Mbps on average".
const FAST: f64 = 100.0;
/// "Very little variation", in the claim's words: under this part of the mean.
const LITTLE: f64 = 0.1;
/// How far the shares of burning guests may be apart, in the claim's words (points).
const FAIR: f64 = 1.0;

/// The rows of this test.
pub fn rows() -> Vec<Row> {
    let row = |claim, configurations: &[&'static str], decide| {
        Row::new(claim, &[TEST], configurations, decide)
    };
    vec![
        row("ongaro.test2.orig-worst", &ALL, orig_worst),
        row("ongaro.test2.burn-fair", &ALL, burn_fair),
        row("ongaro.test2.boost", &FIXED_CREDIT, boost),
        row("ongaro.test2.bs-best", &CREDIT, bs_best),
        row("ongaro.test2.tickle", &FIXED_CREDIT, tickle),
        row("ongaro.test2.sedf", &ALL, sedf),
    ]
}

fn orig_worst(r: &Reading<'_>) -> Result<Finding, String> {
    let of = |configuration, figure| r.series(TEST, configuration, figure);
    let mut proof = r.proof();
    for other in all_but(&["orig"]) {
        proof.greater(&of("orig", BURN)?, 1.0, &of(other, BURN)?);
        proof.less(&of("orig", AVERAGE)?, 1.0, &of(other, AVERAGE)?);
    }
    let measured = [r.list(TEST, &ALL, BURN)?, r.list(TEST, &ALL, AVERAGE)?];
    Ok(proof.finding(
        measured.join("; "),
        "orig against each of the other ten: the burning guests' average share, higher, and the \
         streams' average bandwidth, lower",
    ))
}

fn burn_fair(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    for configuration in ALL {
        proof.below(&r.series(TEST, configuration, BURN_SPREAD)?, FAIR);
    }
    let measured = r.list(TEST, &ALL, BURN_SPREAD)?;
    Ok(proof.finding(
        measured,
        "the largest less the smallest share of each replication, interval of the mean included, \
         under 1 point in each configuration",
    ))
}

fn boost(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    for with in BOOSTING {
        for without in NOT_BOOSTING {
            let average = |configuration| r.series(TEST, configuration, AVERAGE);
            proof.greater(&average(with)?, 1.0, &average(without)?);
        }
    }
    let measured = r.list(TEST, &FIXED_CREDIT, AVERAGE)?;
    Ok(proof.finding(
        measured,
        "the average of each of the four with boost against that of each of the four without",
    ))
}

fn bs_best(r: &Reading<'_>) -> Result<Finding, String> {
    let best = r.series(TEST, "bs", AVERAGE)?;
    let spread = r.series(TEST, "bs", SPREAD)?;
    let relative = spread.with(&best, |spread, average| spread / average);
    let relative = Series::new("bs's spread over its average", "", relative);
    let mut proof = r.proof();
    for other in CREDIT.into_iter().filter(|name| *name != "bs") {
        proof.greater(&best, 1.0, &r.series(TEST, other, AVERAGE)?);
    }
    proof.near(&best, FAST, r.tolerance_in(AVERAGE.unit)?);
    proof.below(&relative, LITTLE);
    Ok(proof.finding_on(
        &best,
        "bs's average against that of each other credit configuration and within the tolerance, \
         and its spread, under a tenth of its average",
    ))
}

fn tickle(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    for (with, without) in TICKLING.into_iter().zip(NOT_TICKLING) {
        let of = |configuration, figure| r.series(TEST, configuration, figure);
        proof.greater(&of(with, SPREAD)?, 1.0, &of(without, SPREAD)?);
        proof.less(&of(with, AVERAGE)?, 1.0, &of(without, AVERAGE)?);
    }
    let measured = [
        r.list(TEST, &FIXED_CREDIT, SPREAD)?,
        r.list(TEST, &FIXED_CREDIT, AVERAGE)?,
    ];
    Ok(proof.finding(
        measured.join("; "),
        "each of t, tb, ts, tbs against its twin all-off, b, s, bs: the spread, wider, and the \
         average, lower",
    ))
}

/// The mean of `figure` over the credit configurations, of each replication.
fn over_credit(r: &Reading<'_>, figure: Figure) -> Result<Series, String> {
    let first = r.series(TEST, CREDIT[0], figure)?;
    let mut sum = first.map(|_| 0.0).values;
    for configuration in CREDIT {
        let one = r.series(TEST, configuration, figure)?;
        for (sum, value) in sum.iter_mut().zip(&one.values) {
            *sum += value / CREDIT.len() as f64;
        }
    }
    let name = format!("mean {} over the credit configurations", figure.name);
    Ok(Series::new(name, figure.unit, sum))
}

fn sedf(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    for configuration in SEDF {
        for figure in [AVERAGE, SPREAD] {
            let sedf = r.series(TEST, configuration, figure)?;
            proof.greater(&sedf, 1.0, &over_credit(r, figure)?);
        }
    }
    let measured = [r.list(TEST, &ALL, AVERAGE)?, r.list(TEST, &ALL, SPREAD)?];
    Ok(proof.finding(
        measured.join("; "),
        "average and spread of each sedf configuration, over their means over the nine credit \
         configurations",
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, Values};
    use super::*;
    use crate::ledger::Verdict::{Fails, Holds};

    /// As in figure 6.
    fn paper() -> Fake {
        let average = |name: &str| {
            Values::around(match name {
                "orig" => 8.0,
                "bs" => 105.0,
                "b" => 90.0,
                "sedf" | "sedf-patched" => 120.0,
                name if BOOSTING.contains(&name) => 70.0,
                "t" | "ts" => 30.0,
                _ => 40.0,
            })
        };
        let spread = |name: &str| {
            Values::around(match name {
                "sedf" | "sedf-patched" => 90.0,
                name if TICKLING.contains(&name) => 20.0,
                _ => 4.0,
            })
        };
        Fake::new(rows())
            .all(TEST, &ALL, AVERAGE.key, average)
            .all(TEST, &ALL, SPREAD.key, spread)
            .all(TEST, &ALL, BURN_SPREAD.key, |_| Values::around(0.3))
            .all(TEST, &ALL, BURN.key, |name| {
                Values::around(if name == "orig" { 30.0 } else { 24.0 })
            })
    }

    #[test]
    fn the_rows_hold_for_what_the_paper_printed() {
        for id in [
            "orig-worst",
            "burn-fair",
            "boost",
            "bs-best",
            "tickle",
            "sedf",
        ] {
            let finding = paper().finding(&format!("ongaro.test2.{id}"));
            assert_eq!(finding.verdict, Holds, "{id}: {}", finding.note);
        }
    }

    #[test]
    fn each_row_fails_for_the_opposite() {
        for (id, name, figure, value) in [
            ("orig-worst", "s", BURN, 31.0),
            ("orig-worst", "ts", AVERAGE, 7.0),
            ("burn-fair", "tbs", BURN_SPREAD, 1.1),
            ("boost", "tb", AVERAGE, 25.0),
            ("bs-best", "b", AVERAGE, 110.0),
            ("bs-best", "bs", AVERAGE, 95.0),
            ("bs-best", "bs", SPREAD, 15.0),
            ("tickle", "ts", SPREAD, 2.0),
            ("tickle", "tbs", AVERAGE, 130.0),
            ("sedf", "sedf", SPREAD, 3.0),
            ("sedf", "sedf-patched", AVERAGE, 30.0),
        ] {
            let fake = paper().cell(TEST, name, &[(figure.key, Values::around(value))]);
            let verdict = fake.verdict(&format!("ongaro.test2.{id}"));
            assert_eq!(verdict, Fails, "{id} with {value} for {name}");
        }
    }
}
