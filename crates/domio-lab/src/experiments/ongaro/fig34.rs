//! Figures 3 and 4: what boost does for streams and for a ping.

use super::decide::Row;
use super::run::{PINGS, PINGS_SHOWN};
use super::series::{AVERAGE, PING, Reading, SPREAD};
use crate::ledger::{Finding, Measured};
use crate::pooled::{self, Group};
use crate::sample::Sample;
use crate::series::Series;
use crate::stats;

/// Largest over smallest bandwidth in figure 3, "a factor of almost 1.5".
const UNEVEN: f64 = 1.5;
/// "Nearly the same", in the claim's words.
const NEARLY: f64 = 0.25;
/// Latency without boost in figure 4 (ms).
const WITHOUT_BOOST: f64 = 150.0;
/// Latency with boost in figure 4 (ms): from, to.
const WITH_BOOST: (f64, f64) = (0.2, 0.3);
/// "Usually": more than this part of the round trips.
const USUALLY: f64 = 0.5;
/// Least height of a spike (ms): "tens of milliseconds".
const SPIKE: f64 = 10.0;

/// The rows of these figures.
pub fn rows() -> Vec<Row> {
    vec![
        Row::new("ongaro.fig3.stream-unfair", &["test1"], &["tb"], unfair),
        Row::new(
            "ongaro.fig3.boost-irrelevant",
            &["test1"],
            &["tb", "t"],
            irrelevant,
        ),
        Row::new("ongaro.fig4.no-boost", &["fig4"], &["t"], without_boost),
        Row::new("ongaro.fig4.boost", &["fig4"], &["tb"], with_boost),
    ]
}

fn unfair(r: &Reading<'_>) -> Result<Finding, String> {
    let of = |key| r.values("test1", "tb", key);
    let (low, high) = (of("streams.lowest_mbps")?, of("streams.highest_mbps")?);
    let ratios = low.iter().zip(&high).map(|(low, high)| high / low);
    let ratio = Series::new(
        "the largest over the smallest bandwidth",
        "",
        ratios.collect(),
    );
    let mut proof = r.proof();
    proof.near(&ratio, UNEVEN, r.tolerance()?);
    Ok(proof.finding_on(
        &ratio,
        "the fastest guest's bandwidth over the slowest's of each replication of test1/tb",
    ))
}

fn irrelevant(r: &Reading<'_>) -> Result<Finding, String> {
    let spread = |configuration| r.series("test1", configuration, SPREAD);
    let mut proof = r.proof();
    proof.within(&spread("tb")?, NEARLY, &spread("t")?);
    let measured = [
        r.list("test1", &["tb", "t"], SPREAD)?,
        r.list("test1", &["tb", "t"], AVERAGE)?,
    ];
    Ok(proof.finding(
        measured.join("; "),
        "the spread of test1/tb, less than a quarter from that of test1/t on either side",
    ))
}

fn without_boost(r: &Reading<'_>) -> Result<Finding, String> {
    let latency = r.series("fig4", "t", PING)?;
    let mut proof = r.proof();
    proof.near(&latency, WITHOUT_BOOST, r.tolerance()?);
    Ok(proof.finding_on(&latency, "the average round trip of fig4/t"))
}

fn with_boost(r: &Reading<'_>) -> Result<Finding, String> {
    let tolerance = r.tolerance()?;
    let (least, _) = tolerance.range(WITH_BOOST.0);
    let (_, most) = tolerance.range(WITH_BOOST.1);
    let share = |name: String, is_so: &dyn Fn(f64) -> bool| {
        let group = |sample: &Sample| Group::share(sample.list(PINGS), is_so);
        Series::new(name, "", r.pooled("fig4", "tb", group, pooled::means))
    };
    let usual = format!("the share of round trips of fig4/tb of {least} to {most} ms");
    let usual = share(usual, &|ms| (least..=most).contains(&ms));
    let spikes = format!("the share of those over {SPIKE} ms");
    let spikes = share(spikes, &|ms| ms > SPIKE);
    let mut proof = r.proof();
    proof.above(&usual, USUALLY);
    proof.above(&spikes, 1.0 / PINGS_SHOWN as f64);
    let lists = r.lists("fig4", "tb", PINGS);
    let mut finding = proof.finding(
        "",
        "the round trips of fig4/tb, of which more than half are within the tolerance around 0.2 \
         to 0.3 ms, and more than one in ninety, as many as the figure has, over 10 ms",
    );
    finding.measured = stats::median(&lists).map_or(Measured::Nothing, Measured::Number);
    finding.ci95 = stats::median_ci95(&lists);
    finding.unit = "ms".to_owned();
    finding.note += &format!("; {}, {}", usual.told(), spikes.told());
    Ok(finding)
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, Values};
    use super::*;
    use crate::ledger::Verdict::{Fails, Holds, Undecided};

    #[test]
    fn streams_are_unfair_within_the_tolerance() {
        let fake = |lowest| {
            Fake::new(rows()).cell(
                "test1",
                "tb",
                &[
                    ("streams.lowest_mbps", Values::around(lowest)),
                    ("streams.highest_mbps", Values::around(90.0)),
                ],
            )
        };
        let verdict = |lowest| fake(lowest).verdict("ongaro.fig3.stream-unfair");
        assert_eq!(verdict(60.0), Holds);
        assert_eq!(verdict(85.0), Fails, "fair");
        assert_eq!(verdict(20.0), Fails, "far too unfair");
    }

    #[test]
    fn boost_is_irrelevant_when_the_spreads_are_near() {
        let verdict = |with, without| {
            Fake::new(rows())
                .all("test1", &["tb", "t"], AVERAGE.key, |_| {
                    Values::around(110.0)
                })
                .cell("test1", "tb", &[(SPREAD.key, Values::around(with))])
                .cell("test1", "t", &[(SPREAD.key, Values::around(without))])
                .verdict("ongaro.fig3.boost-irrelevant")
        };
        assert_eq!(verdict(40.0, 44.0), Holds);
        assert_eq!(verdict(40.0, 28.0), Fails);
        assert_eq!(verdict(28.0, 40.0), Fails);
    }

    #[test]
    fn the_latency_without_boost_is_within_the_tolerance() {
        let verdict = |mean| {
            Fake::new(rows())
                .cell("fig4", "t", &[(PING.key, Values::around(mean))])
                .verdict("ongaro.fig4.no-boost")
        };
        assert_eq!(verdict(160.0), Holds);
        assert_eq!(verdict(80.0), Fails);
        assert_eq!(verdict(240.0), Fails);
    }

    #[test]
    fn boost_needs_round_trips_that_are_usually_short_and_spikes() {
        let finding = |usual, spikes| {
            let list = |replication: usize| {
                let spike = |n: usize| match n < spikes + replication % 2 {
                    true => 40.0,
                    false => usual,
                };
                (0..90).map(spike).collect()
            };
            Fake::new(rows())
                .lists("fig4", "tb", PINGS, list)
                .finding("ongaro.fig4.boost")
        };
        let verdict = |usual, spikes| finding(usual, spikes).verdict;
        assert_eq!(verdict(0.25, 10), Holds);
        assert_eq!(verdict(0.25, 0), Undecided, "hardly a spike");
        assert_eq!(verdict(0.25, 60), Fails, "not over half");
        assert_eq!(verdict(2.5, 10), Fails);
        let finding = finding(0.25, 10);
        assert_eq!(finding.measured, Measured::Number(0.25));
        assert_eq!(finding.ci95, Some([0.25, 0.25]));
    }

    #[test]
    fn a_ping_without_replies_fails_with_the_reason() {
        let finding = Fake::new(rows()).finding("ongaro.fig4.no-boost");
        assert_eq!(finding.verdict, Fails);
        let told = &finding.checks[0].told;
        assert!(told.contains("without any reply"), "{told}");
    }
}
