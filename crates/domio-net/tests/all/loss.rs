//! Random loss: the rate goes with one over the square root of the loss.
//!
//! M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The macroscopic behavior of the TCP congestion
//! avoidance algorithm" (1997): rate = MSS / RTT * C / sqrt(p). With delayed acknowledgements C is
//! sqrt(3/4) = 0.87 for losses at equal distances and 0.93 for random ones. The formula leaves
//! timeouts out, which take some of the rate when the window is small.

use crate::path::{Path, application};
use domio_core::{Duration, Instant};
use domio_net::link::{LinkConfig, Rate};
use domio_net::packet::MSS;
use domio_net::tcp::{Control, TcpConfig};

const C: f64 = 0.93;
const RTT: Duration = Duration::from_millis(200);
const SEEDS: u64 = 4;
/// Losses in each run.
const LOSSES: u64 = 200;

/// Delivered bytes a second, without the first tenth of the run.
fn rate(tcp: TcpConfig, per_million: u32, seed: u64) -> f64 {
    let line = LinkConfig {
        rate: Rate::GBIT_10,
        latency: RTT / 4,
        queue: 100_000,
    };
    let config = TcpConfig {
        send_buffer: 16 << 20,
        receive_buffer: 16 << 20,
        ..tcp
    };
    let applications = [application(u64::MAX), application(0)];
    let mut path = Path::new(line, config, applications).with_loss(seed, per_million);
    path.start();
    let p = f64::from(per_million) / 1e6;
    // So many round trips of C / sqrt(p) segments lose so many.
    let round_trips = (LOSSES as f64 / (p.sqrt() * C)) as u64;
    let begin = Instant::ZERO + RTT * (round_trips / 10);
    path.run(begin);
    let before = path.ends[1].delivered;
    path.run(begin + RTT * round_trips);
    (path.ends[1].delivered - before) as f64 * 1e9 / (RTT * round_trips).as_nanos() as f64
}

/// Mean of several runs.
fn mean_rate(tcp: TcpConfig, per_million: u32) -> f64 {
    (0..SEEDS)
        .map(|seed| rate(tcp, per_million, seed))
        .sum::<f64>()
        / SEEDS as f64
}

#[test]
fn the_rate_goes_with_the_square_root_of_the_loss() {
    follow_the_formula(&[1_000, 3_000, 10_000]);
}

/// Packets on the way grow with one over the loss.
#[test]
#[ignore = "simulates for long; `cargo xtask nightly long` runs it"]
fn the_rate_goes_with_the_square_root_of_small_losses() {
    follow_the_formula(&[100, 300, 1_000, 3_000]);
}

/// Transports with and without selective acknowledgements, with these losses in a million packets.
fn follow_the_formula(losses: &[u32]) {
    for selective in [false, true] {
        println!("selective acknowledgements: {selective}");
        let tcp = TcpConfig {
            selective,
            ..TcpConfig::default()
        };
        follows_the_formula(tcp, losses);
    }
}

/// Where windows are large BIC gets back to them sooner, which is what it is for.
#[test]
fn bic_gets_more_out_of_a_path_that_loses() {
    let with = |control| TcpConfig {
        control,
        ..TcpConfig::default()
    };
    let [reno, bic] = [Control::Reno, Control::Bic].map(|control| mean_rate(with(control), 300));
    println!("{reno:.0} and {bic:.0} B/s");
    assert!(bic > 1.2 * reno, "{reno:.0} and {bic:.0} B/s");
}

fn follows_the_formula(tcp: TcpConfig, losses: &[u32]) {
    let mut points = Vec::new();
    for &per_million in losses {
        let p = f64::from(per_million) / 1e6;
        let expected = f64::from(MSS) * 1e9 / RTT.as_nanos() as f64 * C / p.sqrt();
        let mean = mean_rate(tcp, per_million);
        let ratio = mean / expected;
        println!("p = {p}: {mean:.0} B/s, {ratio:.3} of the formula");
        assert!(
            (0.75..=1.25).contains(&ratio),
            "p = {p}: {ratio:.3} of the formula"
        );
        points.push((p.ln(), mean.ln()));
    }
    // The exponent, by least squares.
    let n = points.len() as f64;
    let (mx, my) = points
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xy, xx) = points.iter().fold((0.0, 0.0), |(xy, xx), (x, y)| {
        (xy + (x - mx) * (y - my), xx + (x - mx) * (x - mx))
    });
    let exponent = xy / xx;
    println!("exponent {exponent:.3}");
    assert!(
        (-0.55..=-0.45).contains(&exponent),
        "the rate goes with p^{exponent:.3}"
    );
}
