//! Figure 2: seven guests that burn.

use super::super::{divided, host, id, members, random_starts, told};
use crate::claims::Claim;
use crate::ledger::Finding;
use crate::proof::Proof;
use crate::registry::{LabContext, Registry};
use crate::sample::Sample;
use crate::simulate::simulate;
use domio_core::{Duration, NullSink};

const REPLICATIONS: u32 = 20;

const FAIRNESS: &str = "ongaro.fig2.burn7";
const GUESTS: u32 = 7;

/// Adds the experiment.
pub fn register(registry: &mut Registry, divisor: u32) {
    let burn = registry.experiment(FAIRNESS, REPLICATIONS, move |cx, n| burn7(cx, n, divisor));
    burn.kept(&divided(divisor), &[]);
    registry.check("ongaro.fig2.cpu-fairness", &[FAIRNESS], fairness);
}

fn burn7(cx: &LabContext, replication: u32, divisor: u32) -> Result<Sample, String> {
    let guests = members("guest", GUESTS);
    let starts = random_starts(&guests, Duration::from_secs(1), cx, replication);
    let text = include_str!("burn7.toml");
    let mut built = host("ongaro-burn7", text, &starts, cx)?;
    built.duration = built.duration / u64::from(divisor);
    let result = simulate(&built, replication, NullSink).map_err(told)?;
    let mut sample = Sample::new();
    for guest in &guests {
        let used = result.summary.domain(id(&built, guest)?);
        let used = used.map_or(0, |d| d.total.running);
        sample.set(&format!("{guest}.share_pct"), result.summary.percent(used));
    }
    Ok(sample)
}
