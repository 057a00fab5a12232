//! What the load tools and the kernels of a recorded host counted: `truth.json`.

use domio_core::Instant;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What `truth.json` says, as far as it is compared.
#[derive(Clone, Debug, Deserialize)]
pub struct Truth {
    /// By log, as `logs` names them.
    pub flows: Vec<TrueFlow>,
    /// What the scheduler did.
    pub sched: TrueSched,
    /// Differences of the kernels' counters over the whole recording, by kernel: "dom0" or the
    /// guest's address. There is a note among them.
    #[serde(default)]
    pub counters: BTreeMap<String, serde_json::Value>,
}

/// The window that is compared.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct TrueSched {
    /// Its begin and end, ticks of the trace's clock: all flows were under way.
    pub window_tsc: [u64; 2],
}

/// What one log of a load tool says.
#[derive(Clone, Debug, Deserialize)]
pub struct TrueFlow {
    /// The log's name: `logs/sink-ADDRESS.log`, `logs/sink-dom0.log`, `logs/usink.log`, and those
    /// of senders and of pings.
    pub log: String,
    /// Bytes that came in each 100 ms from the first byte on.
    #[serde(default)]
    pub bytes_per_100ms: Vec<f64>,
    /// Round trips (microseconds).
    pub rtt_us: Option<TrueQuantiles>,
    /// Mean throughput (10^6 bytes a second).
    pub mbyte_per_s: Option<f64>,
    /// Pings answered a second.
    pub pings_per_s: Option<f64>,
    /// Times between two datagrams (microseconds).
    pub arrival_gaps_us: Option<TrueQuantiles>,
    /// Totals, by name.
    #[serde(default)]
    pub sum: serde_json::Value,
}

/// Quantiles of a list.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct TrueQuantiles {
    /// Median.
    pub p50: Option<f64>,
    /// 95 % are below.
    pub p95: Option<f64>,
    /// 99 % are below.
    pub p99: Option<f64>,
}

impl Truth {
    /// Reads it.
    ///
    /// # Errors
    /// Where the text is no JSON, or not of this form, and why.
    pub fn parse(text: &[u8]) -> Result<Truth, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// The window on the clock of a trace of `hz` ticks a second.
    pub fn window(&self, hz: u64) -> [Instant; 2] {
        let ns = |ticks: u64| u128::from(ticks) * 1_000_000_000 / u128::from(hz.max(1));
        let [from, to] = self.sched.window_tsc;
        [from, to.max(from)].map(|t| Instant::from_nanos(u64::try_from(ns(t)).unwrap_or(u64::MAX)))
    }

    /// Packets and interrupts for received packets of `kernel` over the whole recording, if both
    /// were counted.
    pub fn packets_an_interrupt(&self, kernel: &str) -> Option<f64> {
        let counted = self.counters.get(kernel)?;
        let interrupts = counted["interrupts"]["vif0-q0-rx"].as_f64()?;
        let snmp = counted["snmp"]["Ip.InReceives"].as_f64()?;
        (interrupts > 0.0).then_some(snmp / interrupts)
    }
}
