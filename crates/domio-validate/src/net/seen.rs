//! What a simulated network shows of itself, within a window.

use domio_core::{DomainId, Instant, Kind, Names, Record, Sink};
use domio_meter::{Meter, Summary};
use domio_net::class::NetRecord;
use std::collections::{BTreeMap, BTreeSet};

/// How long a part of a window is, of which bytes are summed.
pub(super) const PART_NS: u64 = 100_000_000;

/// What came of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FlowSeen {
    /// Bytes that reached their application in each part of the window.
    pub bytes: Vec<u64>,
    /// Round trips (ns).
    pub round_trips: Vec<u64>,
    /// Times between two deliveries (ns).
    pub gaps: Vec<u64>,
    last: Option<Instant>,
}

/// Takes the records of a simulated host.
pub(super) struct NetSeen {
    meter: Meter,
    window: [Instant; 2],
    /// By number.
    pub flows: BTreeMap<u32, FlowSeen>,
    /// Interrupts that brought packets, by domain: netfront has one for those and for answers to
    /// what it has sent, where Linux 6.1 has two.
    pub interrupts: BTreeMap<DomainId, u64>,
    /// Packets that guests took from their rings.
    pub received: BTreeMap<DomainId, u64>,
    /// Domains with an interrupt since which no packet was taken.
    fresh: BTreeSet<DomainId>,
}

impl NetSeen {
    /// Nothing is seen so far; what is from `from` up to `to` counts.
    pub fn new([from, to]: [Instant; 2]) -> NetSeen {
        NetSeen {
            meter: Meter::window(from, to),
            window: [from, to],
            flows: BTreeMap::new(),
            interrupts: BTreeMap::new(),
            received: BTreeMap::new(),
            fresh: BTreeSet::new(),
        }
    }

    /// The figures of the scheduler, at the window's end, and the rest.
    pub fn finish(self) -> (Summary, NetSeenParts) {
        let end = self.window[1];
        let parts = NetSeenParts {
            flows: self.flows,
            interrupts: self.interrupts,
            received: self.received,
        };
        (self.meter.finish_at(end), parts)
    }

    fn network(&mut self, names: &Names, record: &Record) {
        let long = u64::from(record.words[2]) | u64::from(record.words[3]) << 32;
        let flow = self.flows.entry(record.words[0]);
        if record.number == NetRecord::Delivered as u8 {
            let flow = flow.or_default();
            let part = record.at.saturating_since(self.window[0]).as_nanos() / PART_NS;
            let part = usize::try_from(part).unwrap_or(usize::MAX);
            if flow.bytes.len() <= part {
                flow.bytes.resize(part + 1, 0);
            }
            flow.bytes[part] += long;
            if let Some(last) = flow.last.replace(record.at) {
                flow.gaps.push(record.at.saturating_since(last).as_nanos());
            }
        } else if record.number == NetRecord::Reply as u8 {
            flow.or_default().round_trips.push(long);
        } else if record.number == NetRecord::Moved as u8 {
            // From the ring to the guest's kernel: places 3 and 4.
            let places = record.words[0] >> 24;
            if (places & 15, places >> 4) == (3, 4)
                && let Some(vcpu) = names.vcpu(record.actor)
            {
                *self.received.entry(vcpu.domain).or_default() += 1;
                if self.fresh.remove(&vcpu.domain) {
                    *self.interrupts.entry(vcpu.domain).or_default() += 1;
                }
            }
        }
    }
}

/// What [`NetSeen`] has seen besides the scheduler.
pub(super) struct NetSeenParts {
    pub flows: BTreeMap<u32, FlowSeen>,
    pub interrupts: BTreeMap<DomainId, u64>,
    pub received: BTreeMap<DomainId, u64>,
}

impl NetSeenParts {
    /// Packets that `guest` received for each interrupt.
    pub fn packets_an_interrupt(&self, guest: DomainId) -> Option<f64> {
        let interrupts = *self.interrupts.get(&guest)?;
        let received = self.received.get(&guest).copied().unwrap_or(0);
        (received > 0).then(|| received as f64 / interrupts as f64)
    }
}

impl Sink for NetSeen {
    const OWNERS: bool = false;

    fn record(&mut self, names: &Names, record: &Record) {
        self.meter.record(names, record);
        if record.at < self.window[0] || record.at >= self.window[1] {
            return;
        }
        match record.kind() {
            Some(Kind::EvtchnServe) => {
                if let Some(vcpu) = names.vcpu(record.actor) {
                    self.fresh.insert(vcpu.domain);
                }
            }
            Some(_) => {}
            None if names
                .class(record.class)
                .is_some_and(|c| c.name == "network") =>
            {
                self.network(names, record);
            }
            None => {}
        }
    }
}
