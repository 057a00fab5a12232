//! Which lost records may hide a change of which vcpu.

use domio_core::{PcpuId, Runstate};

/// Counts [`Kind::Lost`](domio_core::Kind::Lost) records, so that whoever follows vcpus can say in
/// constant time whether it may have missed a change: remember [`Losses::concerning`] with the
/// vcpu's state, and compare at its next record.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    total: u64,
    by_pcpu: Vec<u64>,
}

impl Losses {
    /// What [`Losses::concerning`] never returns: a vcpu that remembers this may have missed a
    /// change, whatever was lost.
    pub const UNSURE: u64 = u64::MAX;

    /// None so far.
    pub fn new() -> Self {
        Losses::default()
    }

    /// Records of `pcpu` are missing.
    pub fn add(&mut self, pcpu: PcpuId) {
        let index = pcpu.index();
        if self.by_pcpu.len() <= index {
            self.by_pcpu.resize(index + 1, 0);
        }
        self.by_pcpu[index] += 1;
        self.total += 1;
    }

    /// How many losses so far may hide a change of a vcpu that is in `state` and, when it runs,
    /// runs on `pcpu`: what ends a run is recorded where it runs, everything else may happen
    /// anywhere.
    #[inline]
    pub fn concerning(&self, state: Runstate, pcpu: PcpuId) -> u64 {
        if state == Runstate::Running {
            self.by_pcpu.get(pcpu.index()).copied().unwrap_or(0)
        } else {
            self.total
        }
    }
}
