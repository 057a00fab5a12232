//! XenMon: who gets the processors, who waits and behind whom.
//!
//! Three parts, as Gupta et al. 2006 have them. Whoever has records is a source
//! ([`live::Records`]). [`feed`] makes samples of them. The others show samples: [`mod@log`] in
//! xenmon's own files, [`lines`] as JSON, [`prometheus`], and [`live`] on a terminal, with keys.

pub mod feed;
mod history;
pub mod lines;
pub mod live;
pub mod log;
mod names;
pub mod pace;
pub mod prometheus;
mod screen;

pub use names::DomainNames;

use domio_meter::IntervalSample;

/// What the trace does not tell of.
pub fn untold(sample: &IntervalSample) -> Option<&'static str> {
    match (sample.tells.packets, sample.tells.work) {
        (false, false) => {
            Some("the trace has no packets: the guests of driver domains' work are not known")
        }
        (false, true) => Some("the trace has no packets: shares by packets are not known"),
        _ => None,
    }
}
