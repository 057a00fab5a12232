//! Extra time: what nobody has reserved, in turns of 500 us (xen-spec 2, "extra", "leave-extra").

use super::state::{EXTRA_QUANTUM, NIL, Queue, Vcpu, flag};
use super::{Sedf, event, ns};
use domio_contract::Cx;
use domio_core::{PcpuId, VcpuId};

/// Score that a turn costs a vcpu with an extra weight of 1.
const SCORE_OF_WEIGHT_ONE: i64 = 1 << 17;

/// `period` over `part` with ten binary places: the score of who has `part` of each `period`. A
/// `part` of nothing, which would fault in Xen, counts as a nanosecond; a slice may be negative.
pub(super) fn score_of(period: i64, part: i64) -> i64 {
    match part {
        0 => period << 10,
        part => (period << 10) / part,
    }
}

/// The score of `v` after a turn in the utilisation queue.
fn utilisation_score(v: &Vcpu) -> i64 {
    match v.extraweight {
        0 => score_of(v.period, v.slice),
        weight => SCORE_OF_WEIGHT_ONE / weight,
    }
}

impl Sedf {
    /// The vcpu that runs on `pcpu`, where nobody's period lasts and the next one begins in
    /// `until`, and for how long.
    pub(super) fn choose_extra(
        &mut self,
        cx: &mut Cx<'_>,
        pcpu: PcpuId,
        until: i64,
    ) -> (Option<VcpuId>, i64) {
        let turns = [
            (Queue::Penalty, flag::RUN_PENALTY),
            (Queue::Utilisation, flag::RUN_UTILISATION),
        ];
        for (queue, running) in turns {
            let head = self.pcpus[pcpu.index()].head(queue);
            if head == NIL {
                continue;
            }
            if until < EXTRA_QUANTUM {
                event::gap(cx, pcpu, until);
                break;
            }
            let v = &mut self.vcpus[head as usize];
            v.set(running);
            let score = v.score[usize::from(queue == Queue::Utilisation)];
            event::extra(cx, VcpuId(head), queue, score);
            return (Some(VcpuId(head)), EXTRA_QUANTUM);
        }
        (None, until)
    }

    /// `vcpu` had a turn out of `queue`. It pays for it and waits for another one.
    ///
    /// A turn costs the same however soon it was interrupted. Who blocks in it leaves with the
    /// price as its score, and the others' scores stay as they are.
    pub(super) fn leave_extra(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, queue: Queue) {
        let ran = ns(cx.now()) - self.vcpus[vcpu.index()].started;
        let runnable = cx.vcpu(vcpu).runnable();
        self.dequeue(queue, vcpu);
        let one_turn = self.rules.one_penalty_turn;
        let v = &mut self.vcpus[vcpu.index()];
        v.clear(flag::RUN_PENALTY | flag::RUN_UTILISATION);
        v.cputime = 0;
        let (again, charge, score) = if queue == Queue::Penalty {
            v.lost -= ran;
            if one_turn || v.lost <= 0 {
                v.lost = 0;
                v.clear(flag::WANT_PENALTY);
            } else {
                v.score[0] = score_of(v.period, v.lost);
            }
            (v.has(flag::WANT_PENALTY), 0, v.score[0])
        } else {
            let charge = v.score[1];
            v.score[1] = utilisation_score(v);
            (v.has(flag::AWARE), charge, v.score[1])
        };
        if !runnable {
            self.dequeue_all(vcpu);
        } else if again {
            self.enqueue_charging(queue, vcpu, charge);
        }
        event::extra_end(cx, vcpu, queue, runnable && again, score);
    }

    /// Brings `vcpu` into the utilisation queue or out of it after a change of its flag. A turn
    /// that has begun continues.
    pub(super) fn check_extra(&mut self, vcpu: VcpuId) {
        let v = &self.vcpus[vcpu.index()];
        let (is_in, aware) = (v.is_in(Queue::Utilisation), v.has(flag::AWARE));
        if is_in && !aware && v.extra_turn().is_none() {
            self.dequeue(Queue::Utilisation, vcpu);
        } else if !is_in && aware && v.linked() {
            self.enqueue(Queue::Utilisation, vcpu);
        }
    }
}
