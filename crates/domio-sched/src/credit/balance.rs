//! Taking work from other pcpus (xen-spec 3.1 "load_balance", 3.3, 3.4).

use super::state::Priority;
use super::wake::Step;
use super::{Credit, event};
use domio_contract::Cx;
use domio_core::{CpuSet, PcpuId, VcpuId};

impl Credit {
    /// Looks for a vcpu on another pcpu that deserves to run on `pcpu` rather than what heads the
    /// queue there, of priority `than`, and takes it out of its queue.
    pub(super) fn steal(
        &mut self,
        cx: &mut Cx<'_>,
        pcpu: PcpuId,
        than: Priority,
    ) -> Option<VcpuId> {
        if !cx.online().contains(pcpu) {
            return None;
        }
        // Only where somebody suitable heads the queue can a search find anything. A trace records
        // the searches, so all of them are made then.
        let mut workers = match than {
            _ if cx.tracing() => CpuSet::ALL,
            Priority::Idle => self.waiting,
            _ => self.eager,
        };
        workers.remove(pcpu);
        if workers.is_empty() {
            return None;
        }
        workers &= cx.online() & !self.idlers;
        if workers.is_empty() {
            return None;
        }
        if self.rules.steal_by_node {
            self.steal_by_node(cx, pcpu, than, workers)
        } else {
            self.steal_round(cx, pcpu, than, workers)
        }
    }

    /// Until 4.2: every pcpu of `workers` once, beginning after `pcpu`.
    fn steal_round(
        &mut self,
        cx: &mut Cx<'_>,
        pcpu: PcpuId,
        than: Priority,
        mut workers: CpuSet,
    ) -> Option<VcpuId> {
        let mut peer = pcpu;
        while let Some(next) = workers.cycle(peer) {
            peer = next;
            workers.remove(peer);
            event::steal_check(cx, pcpu, peer, true);
            let stolen = self.steal_from(cx, peer, pcpu, than, Step::Hard);
            if stolen.is_some() {
                return stolen;
            }
        }
        None
    }

    /// Since 4.3: node by node, beginning with that of `pcpu`; since 4.5 first for vcpus that
    /// prefer `pcpu`, then for any that may run there.
    fn steal_by_node(
        &mut self,
        cx: &mut Cx<'_>,
        pcpu: PcpuId,
        than: Priority,
        workers: CpuSet,
    ) -> Option<VcpuId> {
        let nodes = cx.topology().sockets();
        let own_node = cx.topology().socket_of(pcpu);
        // What has to be recorded has to be searched.
        let soft = self.rules.soft_affinity && (cx.soft_affinity_matters() || cx.tracing());
        let steps = [Step::Soft, Step::Hard];
        for step in &steps[usize::from(!soft)..] {
            for i in 0..nodes {
                let node = (own_node + i) % nodes;
                let workers = workers & *cx.topology().node(node);
                if let Some(stolen) = self.steal_in_node(cx, pcpu, than, *step, node, &workers) {
                    return Some(stolen);
                }
            }
        }
        None
    }

    fn steal_in_node(
        &mut self,
        cx: &mut Cx<'_>,
        pcpu: PcpuId,
        than: Priority,
        step: Step,
        node: usize,
        workers: &CpuSet,
    ) -> Option<VcpuId> {
        let first = if self.rules.balance_bias {
            workers.cycle(self.balance_bias[node])?
        } else {
            workers.first()?
        };
        let mut peer = first;
        loop {
            let search = !self.rules.count_runnable || self.pcpus[peer].runnable > 1;
            event::steal_check(cx, pcpu, peer, search);
            if search {
                let stolen = self.steal_from(cx, peer, pcpu, than, step);
                if stolen.is_some() {
                    self.balance_bias[node] = peer;
                    return stolen;
                }
            }
            peer = workers.cycle(peer).unwrap_or(first);
            if peer == first {
                return None;
            }
        }
    }

    /// The first vcpu in the queue of `peer`, among those of higher priority than `than`, that
    /// may and should run on `pcpu`. A peer that idles is left alone: it is about to look itself.
    fn steal_from(
        &mut self,
        cx: &mut Cx<'_>,
        peer: PcpuId,
        pcpu: PcpuId,
        than: Priority,
        step: Step,
    ) -> Option<VcpuId> {
        cx.current(peer)?;
        let found = self
            .queue(peer)
            .take_while(|v| self.vcpus[v.index()].priority > than)
            .find(|&v| {
                // Whoever is still in the peer's switch cannot move.
                !cx.vcpu(v).on_pcpu && self.suits(cx, v, step, pcpu) && !self.is_cache_hot(cx, v)
            })?;
        event::stolen(cx, pcpu, peer, found);
        self.dequeue_runnable(found);
        // It runs here without going through this queue.
        self.pcpus[pcpu].runnable += 1;
        Some(found)
    }

    /// Whether `pcpu` is in the affinity of `vcpu` for `step`.
    #[inline]
    fn suits(&self, cx: &Cx<'_>, vcpu: VcpuId, step: Step, pcpu: PcpuId) -> bool {
        cx.may_run_on(vcpu, pcpu)
            && (step == Step::Hard
                || self
                    .affinity(cx, vcpu, step)
                    .is_some_and(|set| set.contains(pcpu)))
    }

    fn is_cache_hot(&self, cx: &Cx<'_>, vcpu: VcpuId) -> bool {
        let delay = self.settings.migration_delay.as_nanos();
        delay != 0 && cx.now().as_nanos() - self.vcpus[vcpu.index()].last_ran < delay
    }
}
