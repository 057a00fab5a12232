//! What the communication-aware variant does otherwise, slowly: every packet is remembered, and
//! those that count are counted anew whenever somebody is chosen.

use super::{MS, TwinSedf};
use domio_contract::PacketsMoved;
use domio_core::{DomainId, ParamValues, VcpuId};

/// All that was heard.
pub struct Ears {
    window: i128,
    heard: Vec<(i128, PacketsMoved)>,
}

impl Ears {
    /// None for a policy without windows.
    pub fn new(params: &ParamValues) -> Option<Ears> {
        let window_ms = params.by_name("window_ms")?;
        Some(Ears {
            window: i128::from(window_ms) * MS,
            heard: Vec::new(),
        })
    }

    pub fn hear(&mut self, now: i128, moved: PacketsMoved) {
        self.heard.push((now, moved));
    }

    /// Packets through `domain` since the last window but one ended.
    fn packets(&self, now: i128, domain: DomainId) -> u64 {
        let mut start_of_window = 0;
        while start_of_window + self.window <= now {
            start_of_window += self.window;
        }
        let mut sum = 0;
        for (at, moved) in &self.heard {
            if *at < start_of_window - self.window {
                continue;
            }
            for side in [moved.guest, moved.driver] {
                if side == domain {
                    sum += u64::from(moved.sent) + u64::from(moved.received);
                }
            }
        }
        sum
    }
}

impl TwinSedf {
    /// Who of the runq, whose head may run, runs.
    pub(super) fn chosen(&self, runq: &[VcpuId], now: i128) -> Option<VcpuId> {
        let head = *runq.first()?;
        let Some(ears) = &self.ears else {
            return Some(head);
        };
        let packets = |v: VcpuId| ears.packets(now, self.v(v).name.domain);
        let mut best = head;
        for v in &runq[1..] {
            let vcpu = self.v(*v);
            let has_time = vcpu.slice > vcpu.cputime && vcpu.deadl() >= now;
            if has_time && packets(*v) > packets(best) {
                best = *v;
            }
        }
        Some(best)
    }
}
