//! What a trace tells of a domain's web servers, as their clients saw them: the figures of that
//! name.

use serde::Serialize;

use crate::Quantiles;
use crate::figures::{DomainFigure, Figures};
use crate::json::{MicrosJson, micros};
use crate::summary::{DomainSummary, Summary};

/// The figures that a [`WebSummary`] has.
const NAMES: [&str; 12] = [
    "web_started",
    "web_replied",
    "web_closed",
    "web_timed_out",
    "web_refused",
    "web_reset",
    "web_no_descriptor",
    "web_no_port",
    "web_reply_bytes",
    "web_connect",
    "web_first_byte",
    "web_response",
];

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

impl DomainSummary {
    /// What the clients of its web servers saw, where the trace tells.
    pub fn web(&self) -> Option<WebSummary> {
        let figures = &self.figures[..];
        figures.iter().any(is_web).then(|| WebSummary {
            started: figures.sum("web_started"),
            replies: figures.sum("web_replied"),
            closed: figures.sum("web_closed"),
            timed_out: figures.sum("web_timed_out"),
            refused: figures.sum("web_refused"),
            reset: figures.sum("web_reset"),
            no_descriptor: figures.sum("web_no_descriptor"),
            no_port: figures.sum("web_no_port"),
            bytes: figures.sum("web_reply_bytes"),
            connect: figures.samples("web_connect"),
            first_byte: figures.samples("web_first_byte"),
            response: figures.samples("web_response"),
        })
    }
}

/// Whether a [`WebSummary`] has the figure.
pub(crate) fn is_web(figure: &DomainFigure) -> bool {
    NAMES.contains(&figure.name)
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
