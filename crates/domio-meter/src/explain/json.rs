//! The JSON of `domio explain --json`.

use std::collections::BTreeMap;

use domio_core::DomainId;
use serde::Serialize;

use crate::DriverWorkJson;

use super::result::{Cause, DomainWaits, Explanation, PacketQueue, PacketWaits, Side};

/// An explanation as JSON; times in nanoseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExplanationJson {
    /// Length of the time that counts, over all replications.
    pub elapsed_ns: u64,
    /// Records that are missing.
    pub lost_records: u64,
    /// By id.
    pub domains: Vec<WaitsJson>,
    /// For whom driver domains worked, by id; left out where none worked for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub driver_work: Vec<DriverWorkJson>,
}

/// A domain, see [`DomainWaits`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WaitsJson {
    /// Xen's domid.
    pub id: u16,
    /// Its name, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its vcpus ran.
    pub running_ns: u64,
    /// They were blocked, paused or parked.
    pub at_rest_ns: u64,
    /// They were runnable.
    pub runnable_ns: u64,
    /// Parts of `runnable_ns`.
    pub run_queue: Vec<BehindJson>,
    /// Its packets; left out when it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketsJson>,
}

/// Time behind a domain.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BehindJson {
    /// The domain that ran meanwhile; `null` where none did.
    pub domain: Option<u16>,
    /// The time.
    pub ns: u64,
}

/// Packets, see [`PacketWaits`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PacketsJson {
    /// Packets that began their way.
    pub begun: u64,
    /// Packets under way at the end.
    pub under_way: u64,
    /// Time that packets were under way.
    pub total_ns: u64,
    /// Parts of it, by [`PacketQueue::key`].
    pub queues_ns: BTreeMap<&'static str, u64>,
    /// The same, told apart further.
    pub waits: Vec<WaitJson>,
}

/// Time of packets at one place, for one cause.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WaitJson {
    /// [`NetPlace::name`](domio_core::NetPlace::name).
    pub place: &'static str,
    /// `run_queue`, `event_channel_scan`, `busy`, `work`, `rate_limit`, `held` or `unknown`; see
    /// [`Cause`].
    pub cause: &'static str,
    /// Who is in the run queue, or works: `guest` or `driver`.
    pub side: Option<&'static str>,
    /// For `run_queue`: the domain that ran meanwhile, `null` where none did.
    pub behind: Option<u16>,
    /// The time.
    pub ns: u64,
}

impl ExplanationJson {
    /// `explanation` as JSON; `name` gives the name of a domain.
    pub fn new(explanation: &Explanation, name: impl Fn(DomainId) -> Option<String>) -> Self {
        let domains = explanation.domains.iter();
        let drivers = explanation.driver_work.iter();
        ExplanationJson {
            elapsed_ns: explanation.elapsed(),
            lost_records: explanation.lost_records,
            domains: domains.map(|d| waits(d, name(d.id))).collect(),
            driver_work: drivers.map(|w| DriverWorkJson::new(w, &name)).collect(),
        }
    }
}

fn waits(domain: &DomainWaits, name: Option<String>) -> WaitsJson {
    let behind = domain.run_queue.iter().map(|(whom, ns)| BehindJson {
        domain: whom.map(|d| d.0),
        ns: *ns,
    });
    WaitsJson {
        id: domain.id.0,
        name,
        running_ns: domain.running,
        at_rest_ns: domain.at_rest,
        runnable_ns: domain.runnable(),
        run_queue: behind.collect(),
        packets: domain.packets.as_ref().map(packets),
    }
}

fn packets(packets: &PacketWaits) -> PacketsJson {
    let queues = packets.queues();
    let time = |queue| queues.get(&queue).copied().unwrap_or(0);
    let waits = packets.times.iter().map(|((place, cause), ns)| {
        let (cause, side, behind) = match *cause {
            Cause::RunQueue(side, behind) => ("run_queue", Some(side), behind),
            Cause::Scan => ("event_channel_scan", None, None),
            Cause::Busy => ("busy", None, None),
            Cause::Work(side) => ("work", Some(side), None),
            Cause::Limit => ("rate_limit", None, None),
            Cause::Held => ("held", None, None),
            Cause::Unknown => ("unknown", None, None),
        };
        WaitJson {
            place: place.name(),
            cause,
            side: side.map(|side| match side {
                Side::Guest => "guest",
                Side::Driver => "driver",
            }),
            behind: behind.map(|d| d.0),
            ns: *ns,
        }
    });
    PacketsJson {
        begun: packets.begun,
        under_way: packets.under_way,
        total_ns: packets.total(),
        queues_ns: PacketQueue::ALL
            .map(|queue| (queue.key(), time(queue)))
            .into(),
        waits: waits.collect(),
    }
}
