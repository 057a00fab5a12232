//! Pcpus that come and go, and the run queues that they share (xen-spec 4.1 "Runqueues").

use super::Credit2;
use super::params::Arrangement;
use super::rules::QueueLimit;
use super::state::{NOWHERE, Runq};
use domio_contract::Cx;
use domio_core::{CpuSet, PcpuId, Topology};

/// What the policy keeps for a pcpu.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pcpu {
    /// Threads of its core that are in the same run queue, itself included (Xen's
    /// `sibling_mask`; before 4.13 all that are online).
    pub core: CpuSet,
    /// Its run queue, or [`NOWHERE`].
    pub runq: u16,
}

impl Pcpu {
    pub const OFFLINE: Pcpu = Pcpu {
        core: CpuSet::EMPTY,
        runq: NOWHERE,
    };
}

impl Credit2 {
    /// `pcpu` joins a run queue, idle.
    pub(super) fn add_pcpu(&mut self, cx: &Cx<'_>, pcpu: PcpuId) {
        // Xen arranges its run queues when all pcpus that it boots with are up.
        let booting = self.came_online < cx.pcpus();
        self.came_online += 1;
        let online = match booting {
            true => cx.topology().all(),
            false => cx.online(),
        };
        let runq = match self.settings.rules.queue_limit {
            QueueLimit::None => self.matching_runq(cx.topology(), pcpu),
            _ => self.suitable_runq(cx.topology(), pcpu, &online),
        };
        let runq = runq.unwrap_or_else(|| self.begin_runq(pcpu));
        let siblings = *cx.topology().siblings(pcpu);
        let r = &mut self.runqs[runq];
        let others = match self.settings.rules.threads_of_the_queue {
            true => siblings & r.active,
            false => siblings & online,
        } & !CpuSet::of(pcpu);
        for other in others.iter() {
            self.pcpus[other].core.insert(pcpu);
        }
        r.idle.insert(pcpu);
        r.active.insert(pcpu);
        r.smt_idle.insert(pcpu);
        self.pcpus[pcpu] = Pcpu {
            core: others | CpuSet::of(pcpu),
            runq: runq as u16,
        };
    }

    /// A run queue of its own for `pcpu`: the first number that is not in use.
    fn begin_runq(&mut self, pcpu: PcpuId) -> usize {
        let unused = self.runqs.iter().position(|r| !r.exists());
        let number = unused.unwrap_or(self.runqs.len());
        if number == self.runqs.len() {
            self.runqs.push(Runq::of(pcpu));
        }
        let old = self.runqs[number];
        self.runqs[number] = match self.settings.rules.queue_limit {
            // The table is the same: the averages continue where they were.
            QueueLimit::None => Runq {
                average: old.average,
                balanced: old.balanced,
                averaged: old.averaged,
                ..Runq::of(pcpu)
            },
            _ => Runq::of(pcpu),
        };
        number
    }

    /// The run queue that `pcpu` belongs to by topology, unless a number before that is unused.
    fn matching_runq(&self, topology: &Topology, pcpu: PcpuId) -> Option<usize> {
        let fits = |r: &Runq| match r.active.first() {
            Some(peer) => self.fits(topology, peer, pcpu),
            None => true,
        };
        let found = self.runqs.iter().position(fits)?;
        self.runqs[found].exists().then_some(found)
    }

    /// The run queue that `pcpu` belongs to by topology and is not full: the one with the fewest
    /// pcpus, but the one of its core in any case.
    fn suitable_runq(&self, topology: &Topology, pcpu: PcpuId, online: &CpuSet) -> Option<usize> {
        let pcpus = online.len();
        let most = pcpus / ((pcpus - 1) / self.settings.max_cpus + 1);
        let core = *topology.siblings(pcpu) & *online;
        let mut found: Option<usize> = None;
        for i in self.existing() {
            let r = &self.runqs[i];
            if !self.fits(topology, r.pick_bias, pcpu) {
                continue;
            }
            if r.active.intersects(&core) {
                return Some(i);
            }
            let count = r.active.len();
            let alone = self.settings.rules.queue_limit == QueueLimit::Whole
                && self.settings.arrangement == Arrangement::All;
            let has_room = count < most
                && (alone || reserved(topology, r, online) + topology.threads_per_core() <= most);
            if has_room && found.is_none_or(|f| count < self.runqs[f].active.len()) {
                found = Some(i);
            }
        }
        found
    }

    /// Whether `pcpu` shares a run queue with `peer`.
    fn fits(&self, topology: &Topology, peer: PcpuId, pcpu: PcpuId) -> bool {
        match self.settings.arrangement {
            Arrangement::Cpu => false,
            Arrangement::Core => topology.core_of(peer) == topology.core_of(pcpu),
            Arrangement::Socket | Arrangement::Node => {
                topology.socket_of(peer) == topology.socket_of(pcpu)
            }
            Arrangement::All => true,
        }
    }

    /// `pcpu`, which idles, leaves.
    pub(super) fn remove_pcpu(&mut self, pcpu: PcpuId) {
        let runq = self.runq_of(pcpu);
        let r = &mut self.runqs[runq];
        for set in [&mut r.idle, &mut r.smt_idle, &mut r.active, &mut r.tickled] {
            set.remove(pcpu);
        }
        let rest = r.active;
        if r.pick_bias == pcpu
            && let Some(first) = rest.first()
        {
            r.pick_bias = first;
        }
        let core = self.pcpus[pcpu].core;
        for other in core.iter() {
            self.pcpus[other].core.remove(pcpu);
        }
        self.pcpus[pcpu] = Pcpu::OFFLINE;
        assert!(
            !rest.is_empty() || self.first_member(runq).is_none(),
            "a run queue ends while vcpus belong to it"
        );
    }
}

/// Pcpus for which there must be room in `runq`: each one there with its whole core.
fn reserved(topology: &Topology, runq: &Runq, online: &CpuSet) -> usize {
    let mut covered = CpuSet::EMPTY;
    let mut sum = 0;
    for pcpu in runq.active.iter() {
        let core = *topology.siblings(pcpu) & *online;
        if !core.intersects(&covered) {
            covered |= core;
            sum += topology.threads_per_core();
        }
    }
    sum
}
