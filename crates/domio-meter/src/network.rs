//! What a trace tells of a domain's network: the figures of that name.

use crate::figures::{DomainFigure, Figures};
use crate::{DomainSummary, Quantiles};

const DELIVERED: &str = "net_delivered_bytes";
const ROUND_TRIP: &str = "net_round_trip";

/// What the network of a domain did, both directions together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct NetworkSummary {
    /// Bytes that reached an application, in the domain or at the other end; without headers.
    pub delivered: u64,
    /// Round trips of the pings that were answered, each counted when its reply came.
    pub round_trips: Quantiles,
}

impl DomainSummary {
    /// What its network did, where the trace tells.
    pub fn network(&self) -> Option<NetworkSummary> {
        let figures = &self.figures[..];
        figures.iter().any(is_network).then(|| NetworkSummary {
            delivered: figures.sum(DELIVERED),
            round_trips: figures.samples(ROUND_TRIP),
        })
    }
}

/// Whether a [`NetworkSummary`] has the figure.
pub(crate) fn is_network(figure: &DomainFigure) -> bool {
    [DELIVERED, ROUND_TRIP].contains(&figure.name)
}
