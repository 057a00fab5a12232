//! Test 1, figure 5: seven streams.

use super::configurations::{ALL, FIXED_CREDIT, NOT_TICKLING, SEDF, TICKLING, all_but};
use super::decide::{BASICALLY, MUCH, Row};
use super::series::{AVERAGE, Reading, SPREAD};
use super::suite::{Role, TESTS};
use crate::ledger::{Finding, Measured};
use crate::series::Series;
use crate::stats;

const TEST: &str = "test1";
/// Slowest and fastest guest of the original configuration (Mb/s), as printed.
const EXTREMES: (f64, f64) = (23.9, 192.3);
/// Bandwidth differences without tickling stay below this (Mb/s), as printed.
const FAIR: f64 = 17.0;
/// "Slightly" more: by less than this part.
const SLIGHTLY: f64 = 0.25;

/// The rows of this test.
pub fn rows() -> Vec<Row> {
    let with_orig = |names: &[&'static str]| [&["orig"], names].concat();
    let row = |claim, configurations: &[&'static str], decide| {
        Row::new(claim, &[TEST], configurations, decide)
    };
    vec![
        row("ongaro.test1.orig-worst-spread", &ALL, worst_spread),
        row("ongaro.test1.orig-extremes", &["orig"], extremes),
        row("ongaro.test1.orig-average", &ALL, average),
        row("ongaro.test1.fix-helps", &["orig", "tb"], fix_helps),
        row("ongaro.test1.tickle-is-the-culprit", &FIXED_CREDIT, culprit),
        row("ongaro.test1.no-tickle-bound", &NOT_TICKLING, no_tickle),
        row("ongaro.test1.sedf", &["orig", "sedf"], sedf),
        row(
            "ongaro.test1.sedf-unfair",
            &with_orig(&all_but(&["orig"])),
            sedf_unfair,
        ),
    ]
}

fn worst_spread(r: &Reading<'_>) -> Result<Finding, String> {
    let orig = r.series(TEST, "orig", SPREAD)?;
    let mut proof = r.proof();
    for other in all_but(&["orig"]) {
        proof.greater(&orig, 1.0, &r.series(TEST, other, SPREAD)?);
    }
    let measured = r.list(TEST, &ALL, SPREAD)?;
    Ok(proof.finding(
        measured,
        "orig's spread against that of each of the other ten",
    ))
}

/// Bandwidths of the guests by rank, slowest first, of each replication.
fn by_rank(r: &Reading<'_>) -> Result<Vec<Vec<f64>>, String> {
    let streaming = TESTS[0].guests(Role::streams);
    let guests: Result<Vec<Vec<f64>>, String> = streaming
        .map(|n| r.values(TEST, "orig", &format!("guest{n}.rate_mbps")))
        .collect();
    let guests = guests?;
    let replications = guests.first().map_or(0, Vec::len);
    let sorted = (0..replications).map(|replication| {
        let mut rates: Vec<f64> = guests.iter().map(|g| g[replication]).collect();
        rates.sort_by(f64::total_cmp);
        rates
    });
    Ok(sorted.collect())
}

/// How far the guest farthest from where it would be if all were spaced evenly is from there, in
/// steps of the even spacing; `rates` are sorted.
fn unevenness(rates: &[f64]) -> f64 {
    let (Some(first), Some(last)) = (rates.first(), rates.last()) else {
        return 0.0;
    };
    let step = (last - first) / (rates.len() - 1) as f64;
    let off = |(rank, rate): (usize, &f64)| (rate - (first + step * rank as f64)).abs() / step;
    rates.iter().enumerate().map(off).fold(0.0, f64::max)
}

fn extremes(r: &Reading<'_>) -> Result<Finding, String> {
    let sorted = by_rank(r)?;
    let rank = |i: usize| -> Vec<f64> { sorted.iter().map(|rates| rates[i]).collect() };
    let last = sorted.first().map_or(0, |rates| rates.len() - 1);
    let slowest = Series::new("the slowest guest", "Mb/s", rank(0));
    let fastest = Series::new("the fastest guest", "Mb/s", rank(last));
    let off = sorted.iter().map(|rates| unevenness(rates)).collect();
    let off = Series::new("the largest distance from even spacing", "steps", off);
    let tolerance = r.tolerance()?;
    let mut proof = r.proof();
    proof.near(&slowest, EXTREMES.0, tolerance);
    proof.near(&fastest, EXTREMES.1, tolerance);
    proof.below(&off, 1.0);
    let means = (0..=last).filter_map(|i| stats::mean(&rank(i)));
    let means: Vec<f64> = means.collect();
    let mut finding = proof.finding(
        "",
        "the slowest and the fastest guest of each replication of test1/orig; the others are \
         spaced evenly when none is a whole step of the even spacing from its place",
    );
    finding.measured = Measured::Numbers(means);
    finding.unit = "Mb/s, by rank".to_owned();
    Ok(finding)
}

fn average(r: &Reading<'_>) -> Result<Finding, String> {
    let orig = r.series(TEST, "orig", AVERAGE)?;
    let mut proof = r.proof();
    for other in all_but(&["orig"]) {
        proof.greater(&orig, 1.0 - BASICALLY, &r.series(TEST, other, AVERAGE)?);
    }
    let measured = r.list(TEST, &ALL, AVERAGE)?;
    Ok(proof.finding(
        measured,
        "orig's average, over nine tenths of that of each of the other ten",
    ))
}

fn fix_helps(r: &Reading<'_>) -> Result<Finding, String> {
    let (fixed, orig) = (
        r.series(TEST, "tb", SPREAD)?,
        r.series(TEST, "orig", SPREAD)?,
    );
    let mut proof = r.proof();
    proof.less(&fixed, 1.0 / MUCH, &orig);
    proof.above(&fixed, FAIR);
    let measured = r.list(TEST, &["orig", "tb"], SPREAD)?;
    Ok(proof.finding(
        measured,
        "tb's spread, under half of orig's, and over 17 Mb/s",
    ))
}

fn culprit(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    for with in TICKLING {
        for without in NOT_TICKLING {
            let spread = |configuration| r.series(TEST, configuration, SPREAD);
            proof.greater(&spread(with)?, 1.0, &spread(without)?);
        }
    }
    let measured = r.list(TEST, &FIXED_CREDIT, SPREAD)?;
    Ok(proof.finding(
        measured,
        "the spread of each of the four with tickling against that of each of the four without",
    ))
}

fn no_tickle(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    for configuration in NOT_TICKLING {
        proof.below(&r.series(TEST, configuration, SPREAD)?, FAIR);
    }
    let measured = r.list(TEST, &NOT_TICKLING, SPREAD)?;
    Ok(proof.finding(
        measured,
        "the spread, interval included, of each of the four",
    ))
}

fn sedf(r: &Reading<'_>) -> Result<Finding, String> {
    let average = |configuration| r.series(TEST, configuration, AVERAGE);
    let spread = |configuration| r.series(TEST, configuration, SPREAD);
    let mut proof = r.proof();
    proof.greater(&average("sedf")?, 1.0, &average("orig")?);
    proof.less(&average("sedf")?, 1.0 + SLIGHTLY, &average("orig")?);
    proof.less(&spread("sedf")?, 1.0, &spread("orig")?);
    let measured = [
        r.list(TEST, &["sedf", "orig"], AVERAGE)?,
        r.list(TEST, &["sedf", "orig"], SPREAD)?,
    ];
    Ok(proof.finding(
        measured.join("; "),
        "sedf's average against orig's, higher by less than a quarter, and its spread, lower",
    ))
}

fn sedf_unfair(r: &Reading<'_>) -> Result<Finding, String> {
    let mut proof = r.proof();
    for sedf in SEDF {
        for credit in FIXED_CREDIT {
            let spread = |configuration| r.series(TEST, configuration, SPREAD);
            proof.greater(&spread(sedf)?, MUCH, &spread(credit)?);
        }
    }
    let measured = r.list(TEST, &all_but(&["orig"]), SPREAD)?;
    Ok(proof.finding(
        measured,
        "the spread of each sedf configuration, over twice that of each credit configuration with \
         the fix",
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, Values};
    use super::*;
    use crate::ledger::Verdict::{Fails, Holds, Undecided};

    /// As in figure 5.
    fn paper() -> Fake {
        let spread = |name: &str| {
            Values::around(match name {
                "orig" => 168.4,
                "sedf" | "sedf-patched" => 150.0,
                name if TICKLING.contains(&name) => 40.0,
                _ => 12.0,
            })
        };
        Fake::new(rows())
            .all(TEST, &ALL, SPREAD.key, spread)
            .all(TEST, &ALL, AVERAGE.key, |name| {
                Values::around(if name == "sedf" { 110.0 } else { 105.0 })
            })
    }

    #[test]
    fn the_rows_hold_for_what_the_paper_printed() {
        for id in [
            "orig-worst-spread",
            "orig-average",
            "fix-helps",
            "tickle-is-the-culprit",
            "no-tickle-bound",
            "sedf",
            "sedf-unfair",
        ] {
            let finding = paper().finding(&format!("ongaro.test1.{id}"));
            assert_eq!(finding.verdict, Holds, "{id}: {}", finding.note);
        }
    }

    #[test]
    fn each_row_fails_for_the_opposite() {
        let changed = |name, key, value| paper().cell(TEST, name, &[(key, value)]);
        for (id, name, key, value) in [
            ("orig-worst-spread", "ts", SPREAD.key, 200.0),
            ("orig-average", "bs", AVERAGE.key, 160.0),
            ("fix-helps", "tb", SPREAD.key, 12.0),
            ("fix-helps", "tb", SPREAD.key, 120.0),
            ("tickle-is-the-culprit", "t", SPREAD.key, 5.0),
            ("no-tickle-bound", "s", SPREAD.key, 17.5),
            ("sedf", "sedf", AVERAGE.key, 100.0),
            ("sedf", "sedf", AVERAGE.key, 190.0),
            ("sedf-unfair", "sedf-patched", SPREAD.key, 60.0),
        ] {
            let fake = changed(name, key, Values::around(value));
            let verdict = fake.verdict(&format!("ongaro.test1.{id}"));
            assert_eq!(verdict, Fails, "{id} with {value} for {name}");
        }
        let noisy = changed("tb", SPREAD.key, Values::scattered(40.0));
        let noisy = noisy.verdict("ongaro.test1.fix-helps");
        assert_eq!(noisy, Undecided, "neither is proven");
    }

    #[test]
    fn extremes_want_both_ends_and_even_spacing() {
        let verdict = |rates: [f64; 7]| {
            let figures: Vec<(String, Values)> = (1..)
                .zip(rates)
                .map(|(n, rate)| (format!("guest{n}.rate_mbps"), Values::around(rate)))
                .collect();
            let figures: Vec<(&str, Values)> =
                figures.iter().map(|(key, v)| (key.as_str(), *v)).collect();
            Fake::new(rows())
                .cell(TEST, "orig", &figures)
                .verdict("ongaro.test1.orig-extremes")
        };
        assert_eq!(
            verdict([192.0, 24.0, 52.0, 80.0, 108.0, 136.0, 164.0]),
            Holds
        );
        assert_eq!(
            verdict([192.0, 24.0, 26.0, 28.0, 30.0, 32.0, 34.0]),
            Fails,
            "uneven"
        );
        assert_eq!(
            verdict([120.0, 70.0, 80.0, 90.0, 100.0, 110.0, 75.0]),
            Fails,
            "narrow"
        );
    }

    #[test]
    fn spacing_is_measured_in_steps() {
        assert_eq!(unevenness(&[0.0, 10.0, 20.0, 30.0]), 0.0);
        assert_eq!(unevenness(&[0.0, 20.0, 20.0, 30.0]), 1.0);
    }
}
