//! Where a vcpu runs: stealing and picking.

use super::{AffinityStep, TwinCredit};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::{CpuSet, PcpuId, VcpuId, XenVersion};
use domio_sched::{Cx, Pause};

/// `cycle` starts with the first member after it.
const LAST: PcpuId = PcpuId(MAX_PCPUS as u16 - 1);

impl TwinCredit {
    /// Something more important than `head` from elsewhere. It stays queued; the caller takes it.
    pub(super) fn load_balance(
        &mut self,
        cx: &Cx<'_>,
        p: PcpuId,
        head: Option<VcpuId>,
    ) -> Option<VcpuId> {
        let pri = self.pri(head);
        if !self.since(XenVersion::V4_3) {
            let peers = self.busy_peers(cx, p, cx.online());
            return round_from(peers, p)
                .find_map(|peer| self.steal(cx, peer, p, pri, |v| cx.hard(v)));
        }
        let nodes = cx.topology().sockets();
        let own = cx.topology().socket_of(p);
        for step in [AffinityStep::Soft, AffinityStep::Hard] {
            for node in (0..nodes).map(|i| (own + i) % nodes) {
                let workers = self.busy_peers(cx, p, *cx.topology().node(node));
                let since_4_9 = self.since(XenVersion::V4_9);
                let bias = if since_4_9 {
                    self.balance_bias[node]
                } else {
                    LAST
                };
                for peer in round_from(workers, bias) {
                    let running = usize::from(cx.current(peer).is_some());
                    if since_4_9 && self.pcpus[peer.index()].queue.len() + running <= 1 {
                        continue;
                    }
                    let allowed = |v| {
                        let steps = self.affinity_steps(cx, v);
                        let mine = steps.into_iter().find(|(s, _)| *s == step);
                        mine.map_or(CpuSet::EMPTY, |(_, set)| set)
                    };
                    if let Some(stolen) = self.steal(cx, peer, p, pri, allowed) {
                        self.balance_bias[node] = peer;
                        return Some(stolen);
                    }
                }
            }
        }
        None
    }

    fn busy_peers(&self, cx: &Cx<'_>, p: PcpuId, among: CpuSet) -> CpuSet {
        let mut peers = cx.online() & among & !self.idlers;
        peers.remove(p);
        peers
    }

    fn steal(
        &self,
        cx: &Cx<'_>,
        peer: PcpuId,
        p: PcpuId,
        pri: i32,
        allowed: impl Fn(VcpuId) -> CpuSet,
    ) -> Option<VcpuId> {
        cx.current(peer)?;
        let hot = |v: VcpuId| cx.now().saturating_since(self.v(v).stopped) < self.migration_delay;
        self.pcpus[peer.index()]
            .queue
            .iter()
            .copied()
            .take_while(|v| self.v(*v).pri > pri)
            .find(|v| !cx.vcpu(*v).on_pcpu && allowed(*v).contains(p) && !hot(*v))
    }

    /// Where a new vcpu is put (0.10): the first of a domain on the pcpu with the fewest vcpus,
    /// another on the pcpu after that of the one before it.
    pub(super) fn first_pcpu(&self, cx: &Cx<'_>, v: VcpuId) -> PcpuId {
        let name = cx.vcpu(v).name;
        let before = self
            .names
            .iter()
            .find(|(known, _)| known.domain == name.domain && known.index + 1 == name.index);
        let online = cx.online();
        let start = match before {
            Some((_, before)) => online.cycle(cx.vcpu(*before).pcpu),
            // core.c 4.17: no counting any more.
            None if self.since(XenVersion::V4_13) => online.first(),
            // 4.8: cpumask_any(); dom0 is no work of the tools.
            None if self.since(XenVersion::V4_8) && name.domain.0 == 0 => online.first(),
            None if self.since(XenVersion::V4_8) => Some(cx.any_pcpu()),
            None => Some(self.least_populated(cx)),
        };
        let start = start.expect("some pcpu is online");
        cx.hard(v)
            .test_or_cycle(start)
            .expect("hard is never empty")
    }

    /// Not among the siblings of pcpu 0 unless nothing is lighter; of a core with hyperthreads
    /// the second; of equals the highest.
    fn least_populated(&self, cx: &Cx<'_>) -> PcpuId {
        let online = cx.online();
        let core = |p: PcpuId| *cx.topology().siblings(p) & online;
        let count = |p: PcpuId| {
            let placed = |v: &VcpuId| {
                let known = self.vcpus[v.index()].as_ref().is_some_and(|v| v.placed);
                known && cx.vcpu(*v).pcpu == p && !cx.vcpu(*v).pause.has(Pause::DOWN)
            };
            (0..self.vcpus.len() as u32)
                .map(VcpuId)
                .filter(placed)
                .count()
        };
        let second = |set: CpuSet| set.iter().nth(1).or(set.first()).expect("not empty");
        let first_core = core(online.first().expect("some pcpu is online"));
        let mut best = second(first_core);
        let others = online
            .iter()
            .filter(|p| !first_core.contains(*p) && second(core(*p)) == *p);
        for p in others {
            if count(p) <= count(best) {
                best = p;
            }
        }
        best
    }

    /// Where `v`, which belongs to `own`, should go.
    pub(super) fn cpu_pick(&mut self, cx: &Cx<'_>, v: VcpuId, own: PcpuId, commit: bool) -> PcpuId {
        if self.since(XenVersion::V4_3) {
            self.cpu_pick_c(cx, v, own, commit)
        } else {
            self.cpu_pick_a(cx, v, own, commit)
        }
    }

    /// 3.1, with the bias of 4.0 and the factor of 4.1.
    fn cpu_pick_a(&mut self, cx: &Cx<'_>, v: VcpuId, own: PcpuId, commit: bool) -> PcpuId {
        let allowed = cx.online() & cx.hard(v);
        let cpu = allowed.test_or_cycle(own).expect("hard is never empty");
        // A pcpu that leaves is no idler, though it idles.
        let mut idlers = self.idlers & cx.online();
        idlers.insert(cpu);
        let mut cand = allowed & idlers;
        cand.remove(cpu);
        let mut bias_of = None;
        let factor = if self.since(XenVersion::V4_1) { 2 } else { 1 };
        let cpu = if self.since(XenVersion::V4_0) {
            let savings = self.power_savings;
            // Until 4.2 the bias is noted at each step.
            let each_step = !self.since(XenVersion::V4_2);
            let take = |nxt: PcpuId, nxt_idle, cand: &mut CpuSet| {
                bias_of = Some(nxt).filter(|_| !each_step);
                let taken = self.take_biased(cx, nxt, nxt_idle & allowed, cand);
                self.remember_bias(Some(nxt).filter(|_| each_step), taken, commit);
                taken
            };
            better(cx, idlers, cpu, cand, take, factor, savings)
        } else {
            let take = |nxt, _, cand: &mut CpuSet| {
                cand.remove(nxt);
                nxt
            };
            better(cx, idlers, cpu, cand, take, factor, self.power_savings)
        };
        self.remember_bias(bias_of, cpu, commit);
        cpu
    }

    /// 4.0: the pcpu of `set` after the bias of `nxt`; its siblings are candidates no more.
    fn take_biased(&self, cx: &Cx<'_>, nxt: PcpuId, set: CpuSet, cand: &mut CpuSet) -> PcpuId {
        let bias = self.pcpus[nxt.index()].idle_bias;
        let cpu = set.cycle(bias).expect("nxt is in it");
        *cand &= !*cx.topology().siblings(cpu);
        cpu
    }

    fn remember_bias(&mut self, of: Option<PcpuId>, cpu: PcpuId, commit: bool) {
        if let Some(nxt) = of
            && commit
        {
            self.pcpus[nxt.index()].idle_bias = cpu;
        }
    }

    /// 3.4.
    fn cpu_pick_c(&mut self, cx: &Cx<'_>, v: VcpuId, own: PcpuId, commit: bool) -> PcpuId {
        let mut result = own;
        let mut bias_of = None;
        for (_, affinity) in self.affinity_steps(cx, v) {
            let mut cand = cx.online() & affinity;
            if cand.is_empty() {
                continue;
            }
            let mut cpu = cand.test_or_cycle(own).expect("not empty");
            let mut idlers = self.idlers & cx.online();
            if cpu == own && self.pcpus[own.index()].queue.is_empty() {
                idlers.insert(own);
            }
            cand &= idlers;
            if !cand.contains(cpu)
                && let Some(idle) = cand.cycle(cpu)
            {
                cpu = idle;
            }
            cand.remove(cpu);
            let take = |nxt: PcpuId, nxt_idle, cand: &mut CpuSet| {
                bias_of = Some(nxt);
                self.take_biased(cx, nxt, nxt_idle & *cand, cand)
            };
            result = better(cx, idlers, cpu, cand, take, 2, self.power_savings);
            if idlers.contains(result) {
                break;
            }
        }
        self.remember_bias(bias_of, result, commit);
        result
    }
}

/// The loop of `cpu_pick`: walks over the candidates and moves to idler surroundings. `take` says
/// which pcpu of the better surroundings is taken, and strikes it off the candidates. To save power
/// (3.2) it goes to busier ones.
fn better(
    cx: &Cx<'_>,
    idlers: CpuSet,
    mut cpu: PcpuId,
    mut cand: CpuSet,
    mut take: impl FnMut(PcpuId, CpuSet, &mut CpuSet) -> PcpuId,
    factor_across_sockets: usize,
    power_savings: bool,
) -> PcpuId {
    let topology = cx.topology();
    while let Some(nxt) = cand.cycle(cpu) {
        let same_socket = topology.socket_of(cpu) == topology.socket_of(nxt);
        let (of_cpu, of_nxt, factor) = if same_socket {
            (*topology.siblings(cpu), *topology.siblings(nxt), 1)
        } else {
            (
                *topology.socket(cpu),
                *topology.socket(nxt),
                factor_across_sockets,
            )
        };
        let (cpu_idle, nxt_idle) = (idlers & of_cpu, idlers & of_nxt);
        let moves = if power_savings {
            cpu_idle.len() > nxt_idle.len()
        } else {
            cpu_idle.len() * factor < nxt_idle.len()
        };
        if moves {
            cpu = take(nxt, nxt_idle, &mut cand);
        } else {
            cand &= !of_nxt;
        }
    }
    cpu
}

/// The members of `set`, starting after `from`, once round.
fn round_from(set: CpuSet, from: PcpuId) -> impl Iterator<Item = PcpuId> {
    let first = set.cycle(from);
    let mut next = first;
    core::iter::from_fn(move || {
        let current = next?;
        next = set.cycle(current).filter(|p| Some(*p) != first);
        Some(current)
    })
}
