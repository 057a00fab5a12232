//! Choosing a pcpu for a vcpu (xen-spec 3.1 "cpu_pick", 3.2 to 3.4, 0.10).

use super::rules::{FirstVcpu, IdleBias};
use super::state::{NIL, flag};
use super::wake::Step;
use super::{Credit, event};
use crate::placement;
use domio_contract::Cx;
use domio_core::{CpuSet, DomainId, PcpuId, VcpuId};

/// The control domain.
const DOM0: DomainId = DomainId(0);

/// What came of a walk to ever better pcpus.
struct Choice {
    pcpu: PcpuId,
    /// Whose bias the last of its steps went by.
    bias_of: Option<PcpuId>,
}

impl Credit {
    /// The best pcpu for `vcpu`, which belongs to `from`: an idle one that it may use, as far as
    /// possible from the busy ones, else its own. `commit` says that the vcpu goes there; at the
    /// tick it is only a question.
    pub(super) fn choose_pcpu(
        &mut self,
        cx: &mut Cx<'_>,
        here: PcpuId,
        vcpu: VcpuId,
        from: PcpuId,
        commit: bool,
    ) -> PcpuId {
        let mut chosen = from;
        let mut bias_of = None;
        if self.nowhere_else(cx, vcpu, from) {
            // The usual case on a busy host: nowhere to go.
            event::picked(cx, here, vcpu, from);
            return from;
        }
        for step in [Step::Soft, Step::Hard] {
            let Some(affinity) = self.affinity(cx, vcpu, step) else {
                continue;
            };
            let candidates = affinity & cx.online();
            let own = candidates
                .test_or_cycle(from)
                .expect("a vcpu has an online pcpu in its affinity");
            let idlers = self.idle_for(cx, own, from);
            let choice = self.spread(cx, own, candidates & idlers, &idlers, commit);
            chosen = choice.pcpu;
            bias_of = choice.bias_of.or(bias_of);
            if idlers.contains(chosen) {
                break;
            }
        }
        if commit
            && self.rules.idle_bias == IdleBias::Last
            && let Some(p) = bias_of
        {
            self.pcpus[p].idle_bias = chosen;
        }
        event::picked(cx, here, vcpu, chosen);
        chosen
    }

    /// Whether `from` is in the affinity of `vcpu` and no other pcpu in it idles.
    #[inline(always)]
    pub(super) fn nowhere_else(&self, cx: &Cx<'_>, vcpu: VcpuId, from: PcpuId) -> bool {
        cx.may_run_on(vcpu, from)
            && (self.idlers.is_empty() || !self.idles_elsewhere(cx, vcpu, from))
    }

    /// Whether a pcpu in the affinity of `vcpu`, other than `from`, idles.
    fn idles_elsewhere(&self, cx: &Cx<'_>, vcpu: VcpuId, from: PcpuId) -> bool {
        let mut others = self.idlers & cx.hard(vcpu);
        others.remove(from);
        !others.is_empty()
    }

    /// Pcpus that count as idle in the search: those that idle, and `own` if nobody but the vcpu
    /// in question keeps it busy. `from` is where that vcpu belongs.
    fn idle_for(&self, cx: &Cx<'_>, own: PcpuId, from: PcpuId) -> CpuSet {
        let mut idlers = self.idlers & cx.online();
        if !self.rules.pick_checks_own_queue || (own == from && self.pcpus[own].head == NIL) {
            idlers.insert(own);
        }
        idlers
    }

    /// From `own`, goes to ever better pcpus of `candidates`, all of which are idle: to a core
    /// with more idle threads in the same socket, to a socket with more idle pcpus otherwise.
    fn spread(
        &mut self,
        cx: &Cx<'_>,
        own: PcpuId,
        mut candidates: CpuSet,
        idlers: &CpuSet,
        commit: bool,
    ) -> Choice {
        let topology = cx.topology();
        let mut chosen = own;
        let mut bias_of = None;
        if self.rules.pick_checks_own_queue && !candidates.contains(chosen) {
            // Start from an idle one, if there is any: next to an idle sibling, a busy thread
            // would look as good as that.
            chosen = candidates.cycle(chosen).unwrap_or(chosen);
        }
        candidates.remove(chosen);
        while let Some(next) = candidates.cycle(chosen) {
            let same_socket = topology.socket_of(chosen) == topology.socket_of(next);
            let (ours, theirs, factor) = if same_socket {
                (topology.siblings(chosen), topology.siblings(next), 1)
            } else {
                let factor = self.rules.cross_socket_factor as usize;
                (topology.socket(chosen), topology.socket(next), factor)
            };
            let (ours, theirs) = (*idlers & *ours, *idlers & *theirs);
            let better = if self.settings.smt_power_savings {
                ours.len() > theirs.len()
            } else {
                ours.len() * factor < theirs.len()
            };
            if !better {
                candidates &= !theirs;
            } else if self.rules.idle_bias != IdleBias::None {
                bias_of = Some(next);
                // 4.0.0 looks at pcpus outside of the affinity too, and may choose one; 4.0.4 does
                // not.
                chosen = (theirs & candidates)
                    .cycle(self.pcpus[next].idle_bias)
                    .expect("the better pcpu is itself a candidate");
                if commit && self.rules.idle_bias == IdleBias::EachStep {
                    self.pcpus[next].idle_bias = chosen;
                }
                candidates &= !*topology.siblings(chosen);
            } else {
                chosen = next;
                candidates.remove(chosen);
            }
        }
        Choice {
            pcpu: chosen,
            bias_of,
        }
    }

    /// Where the search for the first pcpu of `vcpu` begins: for vcpu 0 of a domain where
    /// [`FirstVcpu`] says, for the others after the one placed before.
    pub(super) fn first_pcpu(&self, cx: &Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let domain = &self.domains[self.vcpus[vcpu.index()].domain as usize];
        let start = match domain.placed_last {
            Some(before) if cx.vcpu(vcpu).name.index != 0 => {
                cx.online().cycle(cx.vcpu(before).pcpu)
            }
            _ => match self.rules.first_vcpu {
                FirstVcpu::Emptiest => Some(self.emptiest_pcpu(cx)),
                FirstVcpu::Random if cx.vcpu(vcpu).name.domain != DOM0 => Some(cx.any_pcpu()),
                FirstVcpu::Random | FirstVcpu::Lowest => cx.online().first(),
            },
        };
        placement::allowed_from(cx, vcpu, start)
    }

    /// The pcpu with the fewest vcpus, by the tools' rule.
    fn emptiest_pcpu(&self, cx: &Cx<'_>) -> PcpuId {
        let numbered = self.vcpus.iter().enumerate();
        let placed = numbered.filter(|(_, v)| v.has(flag::PRESENT) && !v.has(flag::UNPLACED));
        placement::emptiest_pcpu(cx, placed.map(|(i, _)| VcpuId(i as u32)))
    }
}
