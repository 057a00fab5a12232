//! Actions on pcpus: those that leave and come back.

use super::{Host, OfPcpu};
use crate::amount::show_pcpus;
use crate::check::{Cx, Fields};
use domio_core::keys::Slot;
use domio_core::keys::{Code, Mistake};
use domio_core::{Instant, PcpuId};
use domio_vmm::config::Action;

impl Host<'_> {
    /// The pcpu at `slot`, if the host has it.
    fn pcpu(&self, cx: &mut Cx<'_>, fields: &Fields, slot: &Slot<u16>) -> Option<PcpuId> {
        let pcpu = PcpuId(slot.get()?);
        let all = self.topology.all();
        if all.contains(pcpu) {
            return Some(pcpu);
        }
        cx.push(
            Mistake::new(
                Code::OutOfRange,
                fields.span(slot),
                format!("the host has no pcpu {}", pcpu.0),
            )
            .key(fields.path_of(slot))
            .found(pcpu.0.to_string())
            .expected(format!("pcpus of the host: {}", show_pcpus(&all)))
            .hint("pcpus are counted from 0; [host] says how many there are"),
        );
        None
    }

    pub(super) fn take_offline(
        &mut self,
        cx: &mut Cx<'_>,
        at: Instant,
        fields: &Fields,
        actions: &mut Vec<Action>,
    ) {
        let slot = fields.read::<OfPcpu>().pcpu;
        let Some(pcpu) = self.pcpu(cx, fields, &slot) else {
            return;
        };
        let mut left = self.online;
        left.remove(pcpu);
        let expected = format!("one of the online pcpus: {}", show_pcpus(&self.online));
        let refused = |message: String| {
            Mistake::new(Code::Action, fields.span(&slot), message)
                .key(fields.path_of(&slot))
                .found(pcpu.0.to_string())
                .expected(expected.clone())
        };
        if left == self.online {
            let message = format!("pcpu {} is offline at {at} already", pcpu.0);
            cx.push(refused(message).hint("remove the action, or one of those before it"));
            return;
        }
        if left.is_empty() {
            let hint = "a host keeps at least one pcpu online";
            cx.push(refused(format!("pcpu {} is the last one at {at}", pcpu.0)).hint(hint));
            return;
        }
        let pools = &self.pools.pools;
        if let Some(pool) = pools.iter().find(|p| p.pcpus.contains(pcpu))
            && !pool.pcpus.intersects(&left)
        {
            let message = format!(
                "pcpu {} is the last one of the pool `{}`",
                pcpu.0, pool.name
            );
            cx.push(refused(message).hint("a pool keeps at least one pcpu online"));
            return;
        }
        for (d, domain) in self.resolved.domains.iter().enumerate() {
            let alive = domain.config.start <= at && domain.config.stop.is_none_or(|s| at < s);
            let pinned = self.affinity[d]
                .iter()
                .position(|(hard, _)| !hard.intersects(&left));
            if let Some(vcpu) = pinned.filter(|_| alive) {
                cx.push(
                    refused(format!(
                        "vcpu {vcpu} of {} is pinned to pcpu {} and has no other online at {at}",
                        domain.config.name, pcpu.0
                    ))
                    .related(domain.span, "the domain")
                    .hint("pin it elsewhere with an action before this one"),
                );
                return;
            }
        }
        self.online = left;
        actions.push(Action::PcpuOffline(pcpu));
    }

    pub(super) fn bring_online(
        &mut self,
        cx: &mut Cx<'_>,
        at: Instant,
        fields: &Fields,
        actions: &mut Vec<Action>,
    ) {
        let slot = fields.read::<OfPcpu>().pcpu;
        let Some(pcpu) = self.pcpu(cx, fields, &slot) else {
            return;
        };
        if !self.online.contains(pcpu) {
            self.online.insert(pcpu);
            actions.push(Action::PcpuOnline(pcpu));
            return;
        }
        cx.push(
            Mistake::new(
                Code::Action,
                fields.span(&slot),
                format!("pcpu {} is online at {at} already", pcpu.0),
            )
            .key(fields.path_of(&slot))
            .found(pcpu.0.to_string())
            .expected("a pcpu that an earlier action took offline")
            .hint("all pcpus are online at first; remove the action, or take it offline before"),
        );
    }
}
