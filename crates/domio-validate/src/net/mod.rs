//! Recorded networks: a host of which the load of its guests' network is known, and not their
//! demand of processor time. What the load tools were asked to send becomes processes of a
//! simulated host, and everything after that is the model's own: who runs when, how many packets
//! go at a time, how much arrives.
//!
//! ```text
//! scenario.json ─▶ flows ─▶ NetHost ─▶ simulated network ─▶ NetSeen ─┐
//! trace.bin, truth.json ─▶ Meter, logs of the load tools ────────────┴─▶ Agreement
//! ```

pub mod described;
mod figures;
mod host;
mod seen;
pub mod truth;

use self::described::DescribedNetwork;
use self::figures::Sides;
use self::host::NetHost;
use self::seen::{NetSeen, NetSeenParts};
use self::truth::Truth;
use crate::agreement::{Agreement, DomainAgreement, usable};
use crate::limits::Judgement;
use crate::recording::{Description, Recording, RecordingError};
use crate::release;
use domio_answer::Maybe;
use domio_core::{Duration, Instant};
use domio_meter::{Meter, Summary};
use domio_net::host::Network;
use domio_replay::named::copy_to;
use domio_sim::Outcome;
use domio_vmm::Simulation;
use rayon::prelude::*;

/// Simulations of a recording, which differ in when the flows begin.
const SIMULATIONS: u32 = 8;

/// How long each simulated host runs before the window: streams have found their pace then.
const WARM_UP: Duration = Duration::from_secs(2);

/// A side that is compared.
pub(crate) struct Side {
    summary: Summary,
    net: NetSeenParts,
}

/// Compares `recording`, of whose network `described` was asked and `truth` counted, with
/// simulations.
///
/// # Errors
/// [`RecordingError::Unusable`] when the description cannot be simulated.
pub(crate) fn check(
    recording: &Recording,
    described: &DescribedNetwork,
    truth: &Truth,
) -> Result<Agreement, RecordingError> {
    let description = &recording.description;
    let window = truth.window(description.tsc_hz);
    let length = window[1].saturating_since(window[0]);
    if length.is_zero() || window[0] < recording.begin() || window[1] > recording.end() {
        return usable(
            recording,
            Err(format!(
                "sched.window_tsc of truth.json is no part of the trace, which goes from {} to {}",
                recording.begin(),
                recording.end()
            )),
        );
    }
    let hosts: Result<Vec<NetHost>, String> = (0..SIMULATIONS)
        .map(|number| NetHost::new(description, described, number))
        .collect();
    let hosts = usable(recording, hosts)?;
    let simulated: Result<Vec<Side>, String> = hosts
        .par_iter()
        .map(|host| simulate(host, length))
        .collect();
    let sides = Sides {
        recorded: recorded(recording, window),
        simulated: usable(recording, simulated)?,
        described,
        truth,
        flows: &hosts[0].flows,
        smp: description.pcpus > 1,
    };
    let domains: Vec<DomainAgreement> = description
        .domains
        .iter()
        .map(|d| sides.domain(d))
        .collect();
    let verdict = match Judgement::of_all(domains.iter().map(|d| d.verdict)) {
        Judgement::NotJudged => Judgement::CannotTell,
        verdict => verdict,
    };
    Ok(Agreement {
        name: recording.name.clone(),
        verdict,
        pcpus: description.pcpus,
        simulations: SIMULATIONS as usize,
        exact: Maybe(None),
        domains,
        remarks: remarks(description),
    })
}

/// What has to be known besides the figures of a host that `description` describes.
fn remarks(description: &Description) -> Vec<String> {
    let mut remarks = description.assumed.clone();
    remarks.extend(release::remark(&description.xen, &description.scheduler));
    let mode = description.guest_tsc_mode.as_deref();
    remarks.extend(mode.filter(|mode| *mode != "native").map(|mode| {
        format!(
            "guest_tsc_mode is {mode:?}: Xen emulates each time that a guest reads the counter, 10 \
             to 35 times a batch of packets and 5.6 us each on this machine, and no simulation does"
        )
    }));
    remarks
}

/// The scheduler's figures of the recording within `window`.
fn recorded(recording: &Recording, [from, to]: [Instant; 2]) -> Summary {
    let mut meter = Meter::window(from, to);
    copy_to(&recording.records, &mut meter);
    meter.finish_at(to)
}

/// Simulates `host` for a window of `length` after its start.
fn simulate(host: &NetHost, length: Duration) -> Result<Side, String> {
    let from = Instant::ZERO + WARM_UP;
    let to = from + length;
    let mut simulation = Simulation::<_, Network>::with_device(
        &host.config,
        host.scheduler(),
        |attach| Network::new(&host.network, attach, 1, 0),
        NetSeen::new([from, to]),
        1,
        0,
    );
    match simulation.run(to) {
        Outcome::Completed { .. } => {}
        other => return Err(format!("a simulation does not come to its end: {other}")),
    }
    let (summary, net) = simulation.into_sink().finish();
    Ok(Side { summary, net })
}
