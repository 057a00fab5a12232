//! Which vcpu is in which state, and who runs where.

use std::collections::BTreeMap;

use domio_core::{DomainId, PcpuId, Runstate, VcpuName};
use domio_trace::VCPUS_MAX;

use super::result::{DomainWaits, Explanation};

/// A vcpu that was seen.
#[derive(Debug)]
struct Vcpu {
    name: VcpuName,
    state: Runstate,
    /// Where it ran last, or where it was first heard of.
    pcpu: PcpuId,
    /// Time in states other than runnable, by number.
    times: [u64; 4],
    run_queue: BTreeMap<Option<DomainId>, u64>,
}

/// All vcpus, idle ones left out.
#[derive(Debug, Default)]
pub(super) struct Vcpus {
    list: Vec<Vcpu>,
    /// Places in `list`, by word.
    index: BTreeMap<u32, usize>,
    /// What runs on each pcpu; none when idle.
    current: Vec<Option<VcpuName>>,
}

/// What a side of a packet's way does, as far as the packet is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    Runs,
    /// Runnable, behind the domain that runs on its pcpu.
    Waits(Option<DomainId>),
    Rests,
    Unknown,
}

impl Vcpus {
    pub fn change(&mut self, name: VcpuName, pcpu: PcpuId, old: Runstate, new: Runstate) {
        let at = pcpu.index();
        if at >= self.current.len() {
            self.current.resize(at + 1, None);
        }
        if old == Runstate::Running && new != old && self.current[at] == Some(name) {
            self.current[at] = None;
        }
        if name.is_idle() {
            return;
        }
        if new == Runstate::Running {
            self.current[at] = Some(name);
        }
        match self.index.get(&name.word()) {
            Some(&i) => {
                let vcpu = &mut self.list[i];
                vcpu.state = new;
                if new == Runstate::Running {
                    vcpu.pcpu = pcpu;
                }
            }
            None if self.list.len() < VCPUS_MAX => {
                self.index.insert(name.word(), self.list.len());
                self.list.push(Vcpu {
                    name,
                    state: new,
                    pcpu,
                    times: [0; 4],
                    run_queue: BTreeMap::new(),
                });
            }
            None => {}
        }
    }

    /// Time that the vcpu with this word ran.
    pub fn ran(&self, word: u32) -> u64 {
        let vcpu = self.index.get(&word).map(|i| &self.list[*i]);
        vcpu.map_or(0, |v| v.times[Runstate::Running as usize])
    }

    /// What the vcpu with this word does.
    pub fn doing(&self, word: u32) -> Doing {
        let Some(&i) = self.index.get(&word) else {
            return Doing::Unknown;
        };
        let vcpu = &self.list[i];
        match vcpu.state {
            Runstate::Running => Doing::Runs,
            Runstate::Runnable => Doing::Waits(behind(&self.current, vcpu.pcpu)),
            Runstate::Blocked | Runstate::Offline => Doing::Rests,
        }
    }

    /// `time` passes.
    pub fn pass(&mut self, time: u64) {
        for vcpu in &mut self.list {
            if vcpu.state == Runstate::Runnable {
                let behind = behind(&self.current, vcpu.pcpu);
                *vcpu.run_queue.entry(behind).or_default() += time;
            } else {
                vcpu.times[vcpu.state as usize] += time;
            }
        }
    }

    /// The sums by domain.
    pub fn waits(&self) -> Vec<DomainWaits> {
        let mut all = Explanation::default();
        for vcpu in &self.list {
            let domain = all.domain(vcpu.name.domain);
            domain.running += vcpu.times[Runstate::Running as usize];
            domain.at_rest += vcpu.times[Runstate::Blocked as usize];
            domain.at_rest += vcpu.times[Runstate::Offline as usize];
            for (behind, time) in &vcpu.run_queue {
                *domain.run_queue.entry(*behind).or_default() += time;
            }
        }
        all.domains
    }
}

/// Whose vcpu runs on `pcpu`.
fn behind(current: &[Option<VcpuName>], pcpu: PcpuId) -> Option<DomainId> {
    let name = current.get(pcpu.index()).copied().flatten()?;
    Some(name.domain)
}
