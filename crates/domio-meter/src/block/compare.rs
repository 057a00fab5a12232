//! How alike two traces are.
//!
//! The demerit figure is that of DiskSim (reference manual, section 6): the root of the mean square
//! of the horizontal distance between the two cumulative distributions, taken in 10,000 equal steps
//! of the share, with straight lines between values. It has the unit of the values, and is told in
//! percent of the mean of the first trace, too.

use super::summary::{BlockMeter, Compared};
use super::values::Values;
use domio_answer::rows;
use std::borrow::Cow;

/// Steps of the share.
const STEPS: usize = 10_000;

/// The demerit figure of two distributions; `None` when one has no value.
pub fn demerit(a: &mut Values, b: &mut Values) -> Option<f64> {
    let (a, b) = (a.curve(STEPS)?, b.curve(STEPS)?);
    let squares = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b));
    Some((squares.sum::<f64>() / a.len() as f64).sqrt())
}

rows! {
    /// Two traces, figure by figure.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct BlockComparison {
        /// Lengths of the traces.
        pub seconds: [f64; 2] = fact("seconds");
        /// Requests of both ways.
        pub requests: [u64; 2] = fact("requests");
        /// Part of them that are reads.
        pub reads: [f64; 2] = fact("reads");
        /// Part of the reads that begin where the one before of the same actor ended; null without
        /// any.
        pub sequential_reads: [Option<f64>; 2] = fact("sequential_reads");
        /// The same of writes.
        pub sequential_writes: [Option<f64>; 2] = fact("sequential_writes");
        /// Distributions that both have.
        pub figures: Vec<ComparedFigure> = parts("figures", []);
    }

    /// One distribution of both traces.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ComparedFigure {
        /// Of what.
        pub name: Cow<'static, str> = key("name");
        /// `ns`, `bytes` or `sector`, of 512 bytes.
        pub unit: Cow<'static, str> = fact("unit");
        /// How many values each has.
        pub count: [u64; 2] = fact("count");
        /// Means.
        pub mean: [f64; 2] = fact("mean");
        /// Medians.
        pub p50: [u64; 2] = fact("p50");
        /// 99 % of each are below.
        pub p99: [u64; 2] = fact("p99");
        /// Root of the mean square of the distance between the distributions, in the unit.
        pub demerit: f64 = fact("demerit");
        /// The same in percent of the first mean; null when that is zero.
        pub demerit_percent: Option<f64> = share("demerit_percent");
    }
}

impl BlockComparison {
    /// Compares what two meters have seen.
    pub fn new(a: BlockMeter, b: BlockMeter) -> Self {
        let (mut a, mut b) = (a.compared(), b.compared());
        let requests = [&a, &b].map(|t| t.requests[0] + t.requests[1]);
        let part = |part: u64, of: u64| part as f64 / of.max(1) as f64;
        let sequential = |way: usize| {
            [&a, &b].map(|t| {
                let all = t.requests[way];
                (all > 0).then(|| part(t.sequential[way], all))
            })
        };
        BlockComparison {
            seconds: [a.seconds, b.seconds],
            requests,
            reads: [
                part(a.requests[0], requests[0]),
                part(b.requests[0], requests[1]),
            ],
            sequential_reads: sequential(0),
            sequential_writes: sequential(1),
            figures: figures(&mut a, &mut b),
        }
    }
}

fn figures(a: &mut Compared, b: &mut Compared) -> Vec<ComparedFigure> {
    let both = |name, unit, a: &mut Values, b: &mut Values| compared(name, unit, a, b);
    let [size_r, size_w] = &mut a.sizes;
    let [other_size_r, other_size_w] = &mut b.sizes;
    let [response_r, response_w] = &mut a.responses;
    let [other_response_r, other_response_w] = &mut b.responses;
    let all = [
        both("size of reads", "bytes", size_r, other_size_r),
        both("size of writes", "bytes", size_w, other_size_w),
        both("between requests", "ns", &mut a.between, &mut b.between),
        both("position", "sector", &mut a.positions, &mut b.positions),
        both(
            "distance to the request before",
            "sector",
            &mut a.distances,
            &mut b.distances,
        ),
        both("response of reads", "ns", response_r, other_response_r),
        both("response of writes", "ns", response_w, other_response_w),
        both("in the device", "ns", &mut a.services, &mut b.services),
    ];
    all.into_iter().flatten().collect()
}

fn compared(
    name: &'static str,
    unit: &'static str,
    a: &mut Values,
    b: &mut Values,
) -> Option<ComparedFigure> {
    let (one, other) = (a.spread()?, b.spread()?);
    let demerit = demerit(a, b)?;
    Some(ComparedFigure {
        name: name.into(),
        unit: unit.into(),
        count: [one.count, other.count],
        mean: [one.mean, other.mean],
        p50: [one.p50, other.p50],
        p99: [one.p99, other.p99],
        demerit,
        demerit_percent: (one.mean > 0.0).then(|| 100.0 * demerit / one.mean),
    })
}
