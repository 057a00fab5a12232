//! Tests 3 and 4, figures 7 and 8: seven guests that burn, one that answers pings, started last or
//! first.

use super::configurations::{ALL, SEDF, all_but};
use super::decide::{MUCH, Row};
use super::series::{BURN, DEVIATION, DRIVER, PING, Reading};
use super::suite::{Role, TESTS};
use crate::ledger::{Finding, Measured};
use crate::series::Series;

/// Average latencies of the original configuration (ms), as printed: test 3, test 4.
const ORIG: [f64; 2] = [36_600.0, 12_300.0];
/// Average latencies with all optimizations (ms), as printed: test 3, test 4.
const ALL_ON: [f64; 2] = [5.5, 3.5];
/// Lowest and highest of the other averages of test 3 (ms), as printed.
const RANGE: (f64, f64) = (5.5, 259.0);
/// A burning guest's share in percent.
const SEVENTH: f64 = 100.0 / 7.0;
/// The driver domain has the rest of what the burning guests lost: at least this part of it.
const MOST: f64 = 0.5;

/// The rows of these tests.
pub fn rows() -> Vec<Row> {
    let third = |claim, configurations: &[&'static str], decide| {
        Row::new(claim, &["test3"], configurations, decide)
    };
    vec![
        third("ongaro.test3.orig", &["orig"], third_orig),
        third("ongaro.test3.range", &all_but(&["orig"]), range),
        third("ongaro.test3.tbs", &ALL, third_tbs),
        third(
            "ongaro.test3.sedf-steady",
            &["tbs", "sedf", "sedf-patched"],
            steady,
        ),
        third("ongaro.test3.burn-share", &all_but(&["tbs"]), share),
        third("ongaro.test3.tbs-costs-cpu", &ALL, costs_cpu),
        Row::new(
            "ongaro.test4.orig",
            &["test3", "test4"],
            &["orig"],
            fourth_orig,
        ),
        Row::new("ongaro.test4.tbs", &["test4"], &["tbs"], fourth_tbs),
    ]
}

fn third_orig(r: &Reading<'_>) -> Result<Finding, String> {
    let latency = r.series("test3", "orig", PING)?;
    let mut proof = r.proof();
    proof.near(&latency, ORIG[0], r.tolerance()?);
    Ok(proof.finding_on(&latency, "the average round trip"))
}

fn range(r: &Reading<'_>) -> Result<Finding, String> {
    let others: Result<Vec<Series>, String> = all_but(&["orig"])
        .into_iter()
        .map(|configuration| r.series("test3", configuration, PING))
        .collect();
    let others = others?;
    let mut ranked: Vec<(f64, &Series)> = others
        .iter()
        .map(|series| (series.estimate().map_or(f64::INFINITY, |e| e.mean), series))
        .collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some((low, lowest)), Some((high, highest))) = (ranked.first(), ranked.last()) else {
        return Err("nothing was measured".to_owned());
    };
    let tolerance = r.tolerance()?;
    let mut proof = r.proof();
    proof.near(lowest, RANGE.0, tolerance);
    proof.near(highest, RANGE.1, tolerance);
    let measured = r.list("test3", &all_but(&["orig"]), PING)?;
    let mut finding = proof.finding(
        "",
        "the configurations with the lowest and the highest average of the ten, each within the \
         tolerance",
    );
    finding.measured = Measured::Numbers(
        [*low, *high]
            .into_iter()
            .filter(|v| v.is_finite())
            .collect(),
    );
    finding.unit = "ms".to_owned();
    finding.note += &format!("; {measured}");
    Ok(finding)
}

fn third_tbs(r: &Reading<'_>) -> Result<Finding, String> {
    let of = |configuration, figure| r.series("test3", configuration, figure);
    let latency = of("tbs", PING)?;
    let mut proof = r.proof();
    proof.near(&latency, ALL_ON[0], r.tolerance()?);
    for other in all_but(&["tbs"]) {
        proof.less(&latency, 1.0, &of(other, PING)?);
    }
    for sedf in SEDF {
        proof.greater(&of("tbs", DEVIATION)?, MUCH, &of(sedf, DEVIATION)?);
    }
    Ok(proof.finding_on(
        &latency,
        "the average within the tolerance and under that of each other configuration, and the \
         deviation, over twice that of each sedf configuration",
    ))
}

fn steady(r: &Reading<'_>) -> Result<Finding, String> {
    let of = |configuration, figure| r.series("test3", configuration, figure);
    let mut proof = r.proof();
    for sedf in SEDF {
        proof.greater(&of(sedf, PING)?, 1.0, &of("tbs", PING)?);
        proof.less(&of(sedf, PING)?, MUCH, &of("tbs", PING)?);
        proof.less(&of(sedf, DEVIATION)?, 1.0 / MUCH, &of("tbs", DEVIATION)?);
    }
    let shown = ["tbs", "sedf", "sedf-patched"];
    let measured = [
        r.list("test3", &shown, PING)?,
        r.list("test3", &shown, DEVIATION)?,
    ];
    Ok(proof.finding(
        measured.join("; "),
        "each sedf configuration against tbs: the average over its, but under twice that, and the \
         deviation under half of its",
    ))
}

fn share(r: &Reading<'_>) -> Result<Finding, String> {
    let tolerance = r.tolerance()?;
    let mut proof = r.proof();
    let mut farthest: Option<(f64, Series)> = None;
    for configuration in all_but(&["tbs"]) {
        for guest in TESTS[2].guests(Role::burns) {
            let key = format!("guest{guest}.share_pct");
            let values = r.values("test3", configuration, &key)?;
            let name = format!("share of guest {guest} of test3/{configuration}");
            let share = Series::new(name, "% of the processor", values);
            proof.near(&share, SEVENTH, tolerance);
            let off = share.estimate().map_or(0.0, |e| (e.mean - SEVENTH).abs());
            if farthest.as_ref().is_none_or(|(most, _)| off > *most) {
                farthest = Some((off, share));
            }
        }
    }
    let (_, farthest) = farthest.ok_or("nothing was measured")?;
    Ok(proof.finding_on(
        &farthest,
        "the share of each of seven guests in each of ten configurations; the one farthest from \
         1/7 is shown",
    ))
}

fn costs_cpu(r: &Reading<'_>) -> Result<Finding, String> {
    let of = |configuration, figure| r.series("test3", configuration, figure);
    let (burn, driver) = (of("tbs", BURN)?, of("tbs", DRIVER)?);
    let mut proof = r.proof();
    for other in all_but(&["tbs"]) {
        proof.less(&burn, 1.0, &of(other, BURN)?);
        proof.greater(&driver, 1.0, &of(other, DRIVER)?);
    }
    let guests = TESTS[2].guests(Role::burns).count() as f64;
    let lost = of("all-off", BURN)?.with(&burn, |before, now| (before - now) * guests);
    let lost = Series::new("what the burning guests lost to all-off", "points", lost);
    let gained = driver.with(&of("all-off", DRIVER)?, |now, before| now - before);
    let gained = Series::new("what dom0 gained", "points", gained);
    proof.greater(&gained, MOST, &lost);
    let measured = [
        r.list("test3", &["tbs", "all-off", "bs", "sedf-patched"], BURN)?,
        r.list("test3", &["tbs", "all-off", "bs", "sedf-patched"], DRIVER)?,
    ];
    Ok(proof.finding(
        measured.join("; "),
        "tbs against each other configuration: the burning guests' average share, lower, and \
         dom0's, higher; against all-off, dom0 has over half of what they lost",
    ))
}

fn fourth_orig(r: &Reading<'_>) -> Result<Finding, String> {
    let first = r.series("test4", "orig", PING)?;
    let last = r.series("test3", "orig", PING)?;
    let mut proof = r.proof();
    proof.near(&first, ORIG[1], r.tolerance()?);
    proof.less(&first, 1.0 / MUCH, &last);
    Ok(proof.finding_on(
        &first,
        "the average round trip within the tolerance, and under half of test 3's",
    ))
}

fn fourth_tbs(r: &Reading<'_>) -> Result<Finding, String> {
    let latency = r.series("test4", "tbs", PING)?;
    let mut proof = r.proof();
    proof.near(&latency, ALL_ON[1], r.tolerance()?);
    Ok(proof.finding_on(&latency, "the average round trip"))
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, Values};
    use super::*;
    use crate::ledger::Verdict::{Fails, Holds};

    /// As in figures 7 and 8.
    fn paper() -> Fake {
        let latency = |name: &str| {
            Values::around(match name {
                "orig" => 36_600.0,
                "tbs" => 5.5,
                "sedf" | "sedf-patched" => 7.0,
                "all-off" => 259.0,
                _ => 150.0,
            })
        };
        let deviation = |name: &str| Values::around(if SEDF.contains(&name) { 1.0 } else { 20.0 });
        let mut fake = Fake::new(rows())
            .all("test3", &ALL, PING.key, latency)
            .all("test3", &ALL, DEVIATION.key, deviation)
            .all("test3", &ALL, BURN.key, |name| {
                Values::around(if name == "tbs" { 11.0 } else { 14.2 })
            })
            .all("test3", &ALL, DRIVER.key, |name| {
                Values::around(if name == "tbs" { 20.0 } else { 0.4 })
            })
            .all("test4", &["orig"], PING.key, |_| Values::around(12_300.0))
            .all("test4", &["tbs"], PING.key, |_| Values::around(3.5));
        for guest in 1..=7 {
            let key = format!("guest{guest}.share_pct");
            fake = fake.all("test3", &ALL, &key, |_| Values::around(14.2));
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
            ("test3.orig", ("test3", "orig"), PING.key, 5_000.0),
            ("test3.range", ("test3", "s"), PING.key, 900.0),
            ("test3.range", ("test3", "tbs"), PING.key, 1.0),
            ("test3.tbs", ("test3", "sedf"), PING.key, 4.0),
            ("test3.tbs", ("test3", "sedf"), DEVIATION.key, 15.0),
            ("test3.sedf-steady", ("test3", "sedf"), PING.key, 40.0),
            (
                "test3.sedf-steady",
                ("test3", "sedf-patched"),
                PING.key,
                2.0,
            ),
            (
                "test3.burn-share",
                ("test3", "bs"),
                "guest4.share_pct",
                12.5,
            ),
            ("test3.tbs-costs-cpu", ("test3", "tbs"), BURN.key, 14.2),
            ("test3.tbs-costs-cpu", ("test3", "tbs"), DRIVER.key, 3.0),
            ("test4.orig", ("test4", "orig"), PING.key, 30_000.0),
            ("test4.tbs", ("test4", "tbs"), PING.key, 8.0),
        ] {
            let fake = paper().cell(cell.0, cell.1, &[(key, Values::around(value))]);
            let verdict = fake.verdict(&format!("ongaro.{id}"));
            assert_eq!(verdict, Fails, "{id} with {value} for {cell:?}");
        }
    }
}
