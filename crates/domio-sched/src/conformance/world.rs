//! [`World`]: the state of a host, rebuilt from its boundary log.

use super::log::{LogEntry, Occurrence, PolicyCall};
use alloc::vec::Vec;
use domio_contract::Pause;
use domio_core::{CpuSet, Instant, PcpuId, VcpuId};

/// What the log says of a vcpu.
#[derive(Clone, Copy, Debug)]
pub struct VcpuState {
    /// Between `insert` and `remove`.
    pub exists: bool,
    /// Why it does not run.
    pub pause: Pause,
    /// Where it belongs.
    pub pcpu: PcpuId,
    /// Where it may run.
    pub hard: CpuSet,
    /// Where it runs.
    pub on: Option<PcpuId>,
    /// Since when it is as it is now: runnable or not, running or not, here or elsewhere.
    pub since: Instant,
    /// Since when it waits, wherever it was sent meanwhile; of use only while it [waits].
    ///
    /// [waits]: VcpuState::waits
    pub waits_since: Instant,
    /// When it last stopped being runnable.
    paused_at: Instant,
    /// Whether it ran since its pcpu was last picked.
    pub has_run_here: bool,
}

/// The state of a host at one point of its log.
#[derive(Clone, Debug)]
pub struct World {
    /// By vcpu.
    pub vcpus: Vec<VcpuState>,
    /// By pcpu: the current vcpu.
    pub current: Vec<Option<VcpuId>>,
    /// By pcpu: since when it runs this vcpu, or idles, or is away.
    pub current_since: Vec<Instant>,
    /// Pcpus that take part.
    pub online: CpuSet,
}

impl VcpuState {
    /// Whether it wants a pcpu and has none.
    pub fn waits(&self) -> bool {
        self.exists && self.pause == Pause::NONE && self.on.is_none()
    }
}

impl World {
    /// The state before the first entry.
    pub fn new(pcpus: usize, vcpus: usize) -> Self {
        let nobody = VcpuState {
            exists: false,
            pause: Pause::NONE,
            pcpu: PcpuId(0),
            hard: CpuSet::ALL,
            on: None,
            since: Instant::ZERO,
            waits_since: Instant::ZERO,
            paused_at: Instant::ZERO,
            has_run_here: false,
        };
        World {
            vcpus: alloc::vec![nobody; vcpus],
            current: alloc::vec![None; pcpus],
            current_since: alloc::vec![Instant::ZERO; pcpus],
            online: CpuSet::EMPTY,
        }
    }

    /// Online pcpus that idle.
    pub fn idle(&self) -> impl Iterator<Item = PcpuId> + '_ {
        self.online
            .iter()
            .filter(|p| self.current[p.index()].is_none())
    }

    /// Vcpus that want a pcpu and have none.
    pub fn waiting(&self) -> impl Iterator<Item = (VcpuId, &VcpuState)> + '_ {
        let numbered = self.vcpus.iter().enumerate();
        numbered
            .filter(|(_, v)| v.waits())
            .map(|(i, v)| (VcpuId(i as u32), v))
    }

    /// Continues by one entry.
    pub fn apply(&mut self, entry: &LogEntry) {
        let at = entry.at;
        match entry.what {
            Occurrence::Call(PolicyCall::Insert(v)) => self.vcpus[v.index()].exists = true,
            Occurrence::Call(PolicyCall::Remove(v)) => self.vcpus[v.index()].exists = false,
            Occurrence::Call(PolicyCall::PickPcpu(v, _)) => {
                self.vcpus[v.index()].has_run_here = false
            }
            Occurrence::Paused(v, pause) => {
                let vcpu = &mut self.vcpus[v.index()];
                if pause != Pause::NONE {
                    if vcpu.pause == Pause::NONE {
                        vcpu.paused_at = at;
                    }
                } else if at > vcpu.paused_at || vcpu.on.is_some() {
                    // A move pauses for no time at all and is no end of waiting.
                    vcpu.waits_since = at;
                }
                vcpu.pause = pause;
                vcpu.since = at;
            }
            Occurrence::Belongs(v, pcpu) => {
                let vcpu = &mut self.vcpus[v.index()];
                vcpu.pcpu = pcpu;
                vcpu.since = at;
            }
            Occurrence::Affinity(v, hard, _) => {
                self.vcpus[v.index()].hard = hard;
                self.vcpus[v.index()].since = at;
            }
            Occurrence::Online(online) => {
                let changed = (self.online & !online) | (online & !self.online);
                for p in changed.iter() {
                    self.current_since[p.index()] = at;
                }
                self.online = online;
            }
            Occurrence::Switch(pcpu, from, to) => {
                self.current[pcpu.index()] = to;
                self.current_since[pcpu.index()] = at;
                if let Some(v) = from {
                    let vcpu = &mut self.vcpus[v.index()];
                    vcpu.on = None;
                    vcpu.since = at;
                    vcpu.waits_since = at;
                }
                if let Some(v) = to {
                    let vcpu = &mut self.vcpus[v.index()];
                    vcpu.on = Some(pcpu);
                    vcpu.since = at;
                    vcpu.has_run_here = true;
                }
            }
            Occurrence::Call(_)
            | Occurrence::Tickle(_)
            | Occurrence::Timer(..)
            | Occurrence::DomainTimer(..)
            | Occurrence::Migrate(_)
            | Occurrence::Fault(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_no_end_of_waiting_and_a_pause_is() {
        let mut world = World::new(2, 1);
        let v = VcpuId(0);
        let mut migrating = Pause::NONE;
        migrating.set(Pause::MIGRATING);
        let mut tell = |at, what| {
            let at = Instant::from_nanos(at);
            world.apply(&LogEntry { at, what });
            (
                world.vcpus[0].waits(),
                world.vcpus[0].waits_since.as_nanos(),
            )
        };
        tell(5, Occurrence::Call(PolicyCall::Insert(v)));
        assert_eq!(tell(5, Occurrence::Paused(v, Pause::NONE)), (true, 5));
        assert!(!tell(8, Occurrence::Paused(v, migrating)).0);
        tell(8, Occurrence::Belongs(v, PcpuId(1)));
        assert_eq!(tell(8, Occurrence::Paused(v, Pause::NONE)), (true, 5));
        tell(9, Occurrence::Paused(v, migrating));
        assert_eq!(tell(10, Occurrence::Paused(v, Pause::NONE)), (true, 10));
        assert!(!tell(11, Occurrence::Switch(PcpuId(1), None, Some(v))).0);
        assert_eq!(
            tell(12, Occurrence::Switch(PcpuId(1), Some(v), None)),
            (true, 12)
        );
    }
}
