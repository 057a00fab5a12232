//! What a trace tells of each domain's web servers, as their clients saw them.

use std::collections::BTreeMap;

use domio_core::{DomainId, Record, WebStep};
use serde::Serialize;

use crate::distribution::{Distribution, Quantiles};
use crate::json::{MicrosJson, micros};
use crate::summary::Summary;

/// Sums and samples of every domain with a web server.
#[derive(Debug, Default)]
pub(crate) struct WebBooks {
    by_domain: BTreeMap<DomainId, WebBook>,
}

/// Those of one domain.
#[derive(Debug, Default)]
struct WebBook {
    steps: [u64; WebStep::ALL.len()],
    bytes: u64,
    connect: Distribution,
    first_byte: Distribution,
    response: Distribution,
}

impl WebBook {
    fn distributions(&mut self) -> [&mut Distribution; 3] {
        [&mut self.connect, &mut self.first_byte, &mut self.response]
    }
}

impl WebBooks {
    /// Takes a `Web` record; returns whether its sample takes memory of its own, or nothing where
    /// the record tells of no step that there is.
    pub fn step(&mut self, record: &Record) -> Option<bool> {
        let (step, _, bytes, ns) = record.web_step()?;
        let book = self.by_domain.entry(record.vcpu.domain).or_default();
        book.steps[step as usize] += 1;
        Some(match step {
            WebStep::Connected => book.connect.add(ns),
            WebStep::FirstByte => book.first_byte.add(ns),
            WebStep::Replied => {
                book.bytes = book.bytes.saturating_add(u64::from(bytes));
                book.response.add(ns)
            }
            _ => false,
        })
    }

    /// The distributions, to save memory on.
    pub fn distributions(&mut self) -> impl Iterator<Item = &mut Distribution> {
        self.by_domain.values_mut().flat_map(WebBook::distributions)
    }

    /// The figures by domain, in the order of ids.
    pub fn summaries(self) -> impl Iterator<Item = (DomainId, WebSummary)> {
        self.by_domain.into_iter().map(|(domain, mut book)| {
            let of = |step: WebStep| book.steps[step as usize];
            let summary = WebSummary {
                started: of(WebStep::Started),
                replies: of(WebStep::Replied),
                closed: of(WebStep::Closed),
                timed_out: of(WebStep::TimedOut),
                refused: of(WebStep::Refused),
                reset: of(WebStep::Reset),
                no_descriptor: of(WebStep::NoDescriptor),
                no_port: of(WebStep::NoPort),
                bytes: book.bytes,
                connect: book.connect.quantiles(),
                first_byte: book.first_byte.quantiles(),
                response: book.response.quantiles(),
            };
            (domain, summary)
        })
    }
}

/// What the clients of a domain's web servers saw, all servers together. Each counts when it
/// happened.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct WebSummary {
    /// Connections that the clients began.
    pub started: u64,
    /// Answers that were complete.
    pub replies: u64,
    /// Connections over which all answers have come.
    pub closed: u64,
    /// Connections that the clients gave up.
    pub timed_out: u64,
    /// Connections that the server's kernel refused.
    pub refused: u64,
    /// Connections that were reset, or closed before an answer was complete.
    pub reset: u64,
    /// Connections that did not begin for want of a file descriptor.
    pub no_descriptor: u64,
    /// Connections that did not begin for want of a port.
    pub no_port: u64,
    /// Bytes of the answers that were complete.
    pub bytes: u64,
    /// From the begin of a connection until it is open, in nanoseconds.
    pub connect: Quantiles,
    /// From a request to the first bytes of its answer, in nanoseconds.
    pub first_byte: Quantiles,
    /// From the begin of a connection, or from a later request, to the last byte of the answer, in
    /// nanoseconds.
    pub response: Quantiles,
}

impl WebSummary {
    /// Connections that failed, those included that did not begin.
    pub fn errors(&self) -> u64 {
        self.timed_out + self.refused + self.reset + self.no_descriptor + self.no_port
    }
}

/// [`WebSummary`] as JSON.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct WebJson {
    /// Connections that the clients began.
    pub started: u64,
    /// Answers that were complete.
    pub replies: u64,
    /// The same, a second.
    pub replies_per_second: f64,
    /// Bytes of these answers.
    pub reply_bytes: u64,
    /// Connections over which all answers have come.
    pub closed: u64,
    /// Connections that the clients gave up.
    pub timed_out: u64,
    /// Connections that the server's kernel refused.
    pub refused: u64,
    /// Connections that were reset, or closed before an answer was complete.
    pub reset: u64,
    /// Connections that did not begin for want of a file descriptor.
    pub no_descriptor: u64,
    /// Connections that did not begin for want of a port.
    pub no_port: u64,
    /// From the begin of a connection until it is open.
    pub connect_us: MicrosJson,
    /// From a request to the first bytes of its answer.
    pub first_byte_us: MicrosJson,
    /// From the begin of a connection, or from a later request, to the last byte of the answer.
    pub response_us: MicrosJson,
}

impl WebJson {
    /// `web` of a domain of `summary`.
    pub(crate) fn new(summary: &Summary, web: &WebSummary) -> Self {
        WebJson {
            started: web.started,
            replies: web.replies,
            replies_per_second: summary.per_second(web.replies),
            reply_bytes: web.bytes,
            closed: web.closed,
            timed_out: web.timed_out,
            refused: web.refused,
            reset: web.reset,
            no_descriptor: web.no_descriptor,
            no_port: web.no_port,
            connect_us: micros(&web.connect),
            first_byte_us: micros(&web.first_byte),
            response_us: micros(&web.response),
        }
    }
}
