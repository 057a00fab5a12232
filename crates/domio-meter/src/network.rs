//! What a trace tells of each domain's network.

use std::collections::BTreeMap;

use domio_core::{DomainId, Record};

use crate::distribution::Distribution;
use crate::summary::NetworkSummary;

/// Sums and samples of every domain with a network. A trace can name no more domains than there
/// are ids.
#[derive(Debug, Default)]
pub(crate) struct NetworkBooks {
    by_domain: BTreeMap<DomainId, NetworkBook>,
}

/// Those of one domain.
#[derive(Debug, Default)]
struct NetworkBook {
    delivered: u64,
    round_trips: Distribution,
}

impl NetworkBooks {
    /// Takes a `NetDelivered` record.
    pub fn delivered(&mut self, record: &Record) {
        let book = self.by_domain.entry(record.vcpu.domain).or_default();
        book.delivered = book.delivered.saturating_add(value(record));
    }

    /// Takes a `NetReply` record; returns whether its sample takes memory of its own.
    pub fn replied(&mut self, record: &Record) -> bool {
        let book = self.by_domain.entry(record.vcpu.domain).or_default();
        book.round_trips.add(value(record))
    }

    /// The distributions, to save memory on.
    pub fn distributions(&mut self) -> impl Iterator<Item = &mut Distribution> {
        self.by_domain.values_mut().map(|b| &mut b.round_trips)
    }

    /// The figures by domain, in the order of ids.
    pub fn summaries(self) -> impl Iterator<Item = (DomainId, NetworkSummary)> {
        self.by_domain.into_iter().map(|(domain, mut book)| {
            let summary = NetworkSummary {
                delivered: book.delivered,
                round_trips: book.round_trips.quantiles(),
            };
            (domain, summary)
        })
    }
}

/// The value of a record of the network: bytes, or nanoseconds.
fn value(record: &Record) -> u64 {
    u64::from(record.data[2]) | u64::from(record.data[3]) << 32
}
