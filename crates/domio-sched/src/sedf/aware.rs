//! The communication-aware variant of SEDF (Govindan and others 2007), as Ongaro, Cox and Rixner
//! 2008 describe it in section 7: packets into and out of each domain are counted, and of those
//! that have some of their slice left in the current period, the domain with the highest count
//! runs.
//!
//! The rest is SEDF: deadlines, periods, wake-ups, extra time and the choice of a pcpu. Where the
//! description leaves a choice:
//!
//! - A count is of the last window that is over and of the one under way, so that it reports what a
//!   domain does now. Windows have one phase for all.
//! - A packet counts for the guest and for the driver domain that moves it, through which it goes
//!   as well.
//! - Equal counts leave the earlier deadline first: without packets there is no difference to SEDF.
//! - Packets that come ask nobody for a pass.

use super::params::{DomainParams, RELEASE, release};
use super::state::Queue;
use super::{Sedf, event, ns};
use alloc::vec::Vec;
use core::fmt;
use domio_contract::{Cx, Descriptor, Needs, PacketsMoved};
use domio_core::params::{Params as _, int};
use domio_core::{DomainId, Duration, PcpuId, VcpuId, XenVersion};

const MS: i64 = 1_000_000;

params! {
    /// Parameters of the policy as a whole.
    pub(super) struct Params {
        // The authors changed Xen 3.0.2.
        version: XenVersion = release(XenVersion::V3_0), RELEASE;
        window_ms: i64 = int("ms", (1, 60_000), 100),
            "Length of a window: packets count until the end of the window after the one in which \
             they were moved (a choice of domio).";
    }
}

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "communication-aware",
    summary: "SEDF that runs the domain with the most packets of those with some slice left",
    source: "Govindan and others 2007, by Ongaro 2008, section 7; Xen 3.0, sched_sedf.c",
    params: Params::SPECS,
    domain_params: DomainParams::SPECS,
    needs: Needs {
        packets: true,
        ..super::DESCRIPTOR.needs
    },
    ..super::DESCRIPTOR
};

/// Packets of a domain.
#[derive(Clone, Copy, Default, Debug)]
struct Heard {
    /// The window that `now` is of.
    window: i64,
    /// Packets of that window.
    now: u64,
    /// Packets of the one before.
    before: u64,
}

impl Heard {
    /// As it is in `window`, which is that of the last call or later.
    fn at(self, window: i64) -> Heard {
        let before = match window - self.window {
            0 => return self,
            1 => self.now,
            _ => 0,
        };
        Heard {
            window,
            now: 0,
            before,
        }
    }
}

/// Who has moved how many packets.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    /// Length of a window, in nanoseconds.
    window: i64,
    /// By domain.
    heard: Vec<Heard>,
}

impl Listener {
    pub fn new(params: &Params) -> Self {
        Listener {
            window: params.window_ms * MS,
            heard: Vec::new(),
        }
    }

    /// `moved` have been moved until `now`.
    pub fn count(&mut self, now: i64, moved: PacketsMoved) {
        let packets = u64::from(moved.sent) + u64::from(moved.received);
        let window = now / self.window;
        for domain in [moved.guest, moved.driver] {
            if self.heard.len() <= domain.index() {
                self.heard.resize(domain.index() + 1, Heard::default());
            }
            let heard = &mut self.heard[domain.index()];
            *heard = heard.at(window);
            heard.now = heard.now.saturating_add(packets);
        }
    }

    /// Packets of `domain` that count at `now`.
    pub fn packets(&self, now: i64, domain: DomainId) -> u64 {
        let heard = self.heard.get(domain.index()).copied();
        let heard = heard.unwrap_or_default().at(now / self.window);
        heard.now.saturating_add(heard.before)
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = Duration::from_nanos(self.window as u64);
        write!(f, "packets in windows of {window}:")?;
        for (domain, heard) in self.heard.iter().enumerate() {
            let Heard { now, before, .. } = heard;
            write!(f, " d{domain} {before}+{now}")?;
        }
        Ok(())
    }
}

impl Sedf {
    /// Of those in the run queue of `pcpu` that may run by their reservation, the one with the most
    /// packets; of equals the one with the earliest deadline. `first` is the head of the queue,
    /// which may run.
    pub(super) fn busiest(&self, cx: &mut Cx<'_>, pcpu: PcpuId, first: VcpuId) -> VcpuId {
        let Some(listener) = &self.listener else {
            return first;
        };
        let now = ns(cx.now());
        let packets = |v: VcpuId| {
            let domain = DomainId(self.vcpus[v.index()].domain);
            listener.packets(now, domain)
        };
        let (mut best, mut most) = (first, packets(first));
        for vcpu in self.queue(pcpu, Queue::Run) {
            // Nobody's deadline here is before that of the first.
            let has_some_left = self.vcpus[vcpu.index()].remaining() > 0;
            if has_some_left && packets(vcpu) > most {
                (best, most) = (vcpu, packets(vcpu));
            }
        }
        if best != first {
            event::busiest(cx, best, most, &self.vcpus[first.index()], now);
        }
        best
    }
}
