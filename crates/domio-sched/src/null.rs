//! Null: one vcpu, one pcpu, no scheduling (Xen 4.17, `sched/null.c`; xen-spec 4.3).
//!
//! A vcpu is bound to a free pcpu of its affinity when it first wakes: to the one that it was
//! created on, or, through the queue of those that wait, to whichever free one makes its pass
//! first. It runs there whenever it is runnable. Vcpus that found none stay in the queue and get a
//! pcpu only when one is given back. Whoever is down owns nothing and waits for nothing.

use crate::placement::Successive;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_contract::state::About;
use domio_contract::{
    Cx, Descriptor, Needs, Pause, Pick, Prev, Releases, Scheduler, StateRows, Wake,
};
use domio_core::class::{Class, Declared, Field, Says, Unit};
use domio_core::{CpuSet, DomainId, ParamValues, PcpuId, Topology, VcpuId, XenVersion};

/// The releases of Xen that have it.
pub static RELEASES: Releases = Releases {
    first: XenVersion::V4_9,
    last: None,
    changes: None,
    began: &[],
};

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "null",
    summary: "each vcpu owns a pcpu; the others wait until one is free",
    source: "Xen 4.17, sched/null.c",
    needs: Needs {
        tickle: true,
        ..Needs::NOTHING
    },
    class: Some(&CLASS),
    ..Descriptor::PLAIN
};

/// Records of Xen's null scheduler (`TRC_SNULL_*` of 4.17), which this policy reads off traces of
/// real hosts and does not write. The vcpu that a record is about is its actor.
static CLASS: Class = Class::new(
    "null",
    &[
        Declared::new(1, "pcpu picked", &[PCPU]).says(Says::Wants { pcpu: 0 }),
        Declared::new(2, "assigned", &[PCPU]),
        Declared::new(3, "assigned no more", &[PCPU]),
        Declared::new(
            4,
            "migrated",
            &[
                Field::bits("from", 0, 16, Unit::Pcpu),
                Field::bits("to", 16, 16, Unit::Pcpu),
            ],
        ),
        Declared::new(
            5,
            "pass",
            &[
                Field::bits("tasklet", 0, 16, Unit::Flag),
                Field::bits("pcpu", 16, 16, Unit::Pcpu),
            ],
        )
        .says(Says::Pass),
        Declared::new(6, "tasklet", &[]),
    ],
);

const PCPU: Field = Field::word("pcpu", 0, Unit::Pcpu);

/// The policy's state.
pub struct Null {
    /// By pcpu: who owns it.
    owner: Vec<Option<VcpuId>>,
    /// Vcpus without a pcpu, longest waiting first.
    waiting: VecDeque<VcpuId>,
    /// Where a new vcpu belongs until it wakes.
    successive: Successive,
    /// By vcpu: whether it was placed.
    placed: Vec<bool>,
}

impl Null {
    /// A null policy for a host of this shape.
    pub fn new(_: &ParamValues, topology: &Topology) -> Self {
        Null {
            owner: alloc::vec![None; topology.pcpus()],
            waiting: VecDeque::new(),
            successive: Successive::default(),
            placed: Vec::new(),
        }
    }

    fn owned_by(&self, vcpu: VcpuId) -> Option<PcpuId> {
        self.owner
            .iter()
            .position(|o| *o == Some(vcpu))
            .map(|p| PcpuId(p as u16))
    }

    fn is_free(&self, pcpu: PcpuId) -> bool {
        self.owner[pcpu.index()].is_none()
    }

    /// Binds `vcpu` to `pcpu`.
    fn assign(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, pcpu: PcpuId) {
        self.owner[pcpu.index()] = Some(vcpu);
        if cx.vcpu(vcpu).pcpu != pcpu {
            cx.move_to(vcpu, pcpu);
        }
    }

    /// Binds the first vcpu of the queue that `takes` and that may use `pcpu`, which is free: one
    /// that prefers the pcpu before others.
    fn assign_waiting(
        &mut self,
        cx: &mut Cx<'_>,
        pcpu: PcpuId,
        takes: impl Fn(&Cx<'_>, VcpuId) -> bool,
    ) {
        let likes = |v: &VcpuId| preferred(cx, *v).is_some_and(|s| s.contains(pcpu));
        let may = |v: &VcpuId| cx.may_run_on(*v, pcpu);
        let mut waiting = self.waiting.iter();
        let liking = waiting.position(|v| likes(v) && takes(cx, *v));
        let at = liking.or_else(|| {
            let mut waiting = self.waiting.iter();
            waiting.position(|v| may(v) && takes(cx, *v))
        });
        if let Some(vcpu) = at.and_then(|at| self.waiting.remove(at)) {
            self.assign(cx, vcpu, pcpu);
        }
    }

    /// `vcpu` neither owns a pcpu nor waits for one from now on. Returns the pcpu that somebody
    /// else got by it.
    fn let_go(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> Option<PcpuId> {
        self.waiting.retain(|v| *v != vcpu);
        let pcpu = self.owned_by(vcpu)?;
        self.owner[pcpu.index()] = None;
        self.assign_waiting(cx, pcpu, |_, _| true);
        if self.is_free(pcpu) {
            return None;
        }
        cx.tickle(pcpu);
        Some(pcpu)
    }

    /// `vcpu` waits for a pcpu; free ones that it may use are told.
    fn wait(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.waiting.push_back(vcpu);
        for pcpu in cx.hard(vcpu).iter().filter(|p| self.is_free(*p)) {
            cx.tickle(pcpu);
        }
    }

    /// Where `vcpu` goes that has to leave `from`, or might: nowhere if that is free or its own,
    /// else to the first free pcpu, in both cases one that it prefers before others; else to any.
    fn next_pcpu(&self, cx: &Cx<'_>, vcpu: VcpuId, from: PcpuId) -> PcpuId {
        let hard = cx.hard(vcpu);
        let owner = self.owner[from.index()];
        let own = owner.is_none() || owner == Some(vcpu);
        for allowed in preferred(cx, vcpu).iter().chain([&hard]) {
            if own && allowed.contains(from) {
                return from;
            }
            if let Some(free) = allowed.iter().find(|p| self.is_free(*p)) {
                return free;
            }
        }
        hard.first().expect("the host keeps an allowed pcpu online")
    }
}

/// The pcpus that `vcpu` prefers among those it may have, if that says anything.
fn preferred(cx: &Cx<'_>, vcpu: VcpuId) -> Option<CpuSet> {
    if !cx.soft_affinity_matters() {
        return None;
    }
    let (hard, soft) = (cx.hard(vcpu), cx.soft(vcpu));
    let both = hard & soft;
    let narrows = !hard.is_subset(&soft) && !cx.online().is_subset(&soft);
    (narrows && !both.is_empty()).then_some(both)
}

impl Scheduler for Null {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, _: PcpuId) {
        // It is free, and its first pass looks for somebody who waits.
    }

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        // The host has moved whom it belonged to.
        self.owner[pcpu.index()] = None;
    }

    fn set_domain(&mut self, _: &mut Cx<'_>, _: DomainId, _: &ParamValues) {}

    fn insert(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        if self.placed.len() <= vcpu.index() {
            self.placed.resize(vcpu.index() + 1, false);
        }
        self.placed[vcpu.index()] = false;
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.let_go(cx, vcpu);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        if !core::mem::replace(&mut self.placed[vcpu.index()], true) {
            return self.successive.first_pcpu(cx, vcpu);
        }
        let from = cx.vcpu(vcpu).pcpu;
        let to = self.next_pcpu(cx, vcpu, from);
        if to == from {
            // Nobody who stays is bound or set free by that, and the vcpu that waits continues
            // waiting.
            return to;
        }
        if self.owner[from.index()] == Some(vcpu) {
            self.let_go(cx, vcpu);
        }
        let down = cx.vcpu(vcpu).pause.has(Pause::DOWN);
        if down || self.is_free(to) {
            self.waiting.retain(|v| *v != vcpu);
        }
        if down {
            return to;
        }
        if self.is_free(to) {
            self.owner[to.index()] = Some(vcpu);
        } else if !self.waiting.contains(&vcpu) {
            self.waiting.push_back(vcpu);
        }
        to
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        if cx.is_current(vcpu) || self.waiting.contains(&vcpu) {
            return;
        }
        if let Some(pcpu) = self.owned_by(vcpu) {
            return cx.tickle(pcpu);
        }
        // It was down.
        let pcpu = cx.vcpu(vcpu).pcpu;
        let likes = preferred(cx, vcpu).is_none_or(|s| s.contains(pcpu));
        if self.is_free(pcpu) && cx.may_run_on(vcpu, pcpu) && likes {
            self.owner[pcpu.index()] = Some(vcpu);
            cx.tickle(pcpu);
        } else {
            self.wait(cx, vcpu);
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let pcpu = cx.vcpu(vcpu).pcpu;
        let down = cx.vcpu(vcpu).pause.has(Pause::DOWN);
        let tickled = if down { self.let_go(cx, vcpu) } else { None };
        if tickled != Some(pcpu) && cx.is_current(vcpu) {
            cx.tickle(pcpu);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, _: Prev) -> Pick {
        if self.is_free(pcpu) {
            // Xen needs the lock of the pcpu that the vcpu belongs to; this pcpu's own is taken.
            self.assign_waiting(cx, pcpu, |cx, v| cx.vcpu(v).pcpu != pcpu);
        }
        Pick {
            next: self.owner[pcpu.index()].filter(|v| cx.vcpu(*v).runnable()),
            time_slice: None,
        }
    }

    fn resume(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId], _: &StateRows) {
        // The vcpu that runs already has its pcpu; the others take what is left.
        for &vcpu in runnable.iter().filter(|v| cx.is_current(**v)) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            self.owner[pcpu.index()] = Some(vcpu);
        }
        for &vcpu in runnable {
            self.wake(cx, vcpu, Wake::Event);
        }
    }

    fn state(&self, out: &mut StateRows) {
        for (pcpu, owner) in (0..).map(PcpuId).zip(&self.owner) {
            let row = out.row("", About::Pcpu(pcpu));
            row.say("p").tell("pcpu", "", pcpu.0);
            match owner {
                Some(vcpu) => row.say(": vcpu ").tell("owner", "", vcpu.0),
                None => row.say(": nobody's"),
            };
        }
        let waiting: Vec<VcpuId> = self.waiting.iter().copied().collect();
        out.row("", About::Policy)
            .say("waiting: ")
            .tell("waiting", "", waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Occurrence, Script, ScriptStep, host};
    use alloc::boxed::Box;
    use domio_core::{Duration, Instant};

    const P0: PcpuId = PcpuId(0);
    const P1: PcpuId = PcpuId(1);

    fn script(pcpus: u16) -> Script {
        let end = Instant::ZERO + Duration::from_millis(10);
        Script::new("test", Topology::flat(pcpus).unwrap(), end)
    }

    fn hog(s: &mut Script, hard: &[u16], soft: &[u16], starts_ms: u64) -> VcpuId {
        let domain = s.domain(&[]);
        let v = s.vcpu(domain, &[ScriptStep::Burn]);
        let set = |pcpus: &[u16]| pcpus.iter().map(|p| PcpuId(*p)).collect();
        let vcpu = &mut s.vcpus[v.index()];
        (vcpu.hard, vcpu.soft) = (set(hard), set(soft));
        vcpu.starts = Instant::ZERO + Duration::from_millis(starts_ms);
        v
    }

    /// Who was switched to whom, and where.
    fn switches(s: &Script) -> Vec<(PcpuId, Option<VcpuId>)> {
        let run = host::run(
            s,
            Box::new(Null::new(&ParamValues::defaults(&[]), &s.topology)),
        );
        let run = run.expect("a sound script");
        let to = |what| match what {
            Occurrence::Switch(pcpu, _, to) => Some((pcpu, to)),
            _ => None,
        };
        run.log.iter().filter_map(|e| to(e.what)).collect()
    }

    #[test]
    fn who_prefers_another_pcpu_does_not_take_its_own() {
        let mut s = script(2);
        let v = hog(&mut s, &[0, 1], &[1], 0);
        // It is created on pcpu 0, which makes the first pass and leaves it in the queue.
        assert_eq!(switches(&s), [(P1, Some(v))]);
    }

    #[test]
    fn a_pcpu_that_is_given_back_goes_to_who_prefers_it() {
        let mut s = script(2);
        let owner = hog(&mut s, &[1], &[0, 1], 0);
        let other = hog(&mut s, &[0], &[0, 1], 1);
        let first = hog(&mut s, &[0, 1], &[0, 1], 2);
        let liking = hog(&mut s, &[0, 1], &[1], 3);
        s.vcpus[owner.index()].stops = Some(Instant::ZERO + Duration::from_millis(5));
        let expected = [(P1, Some(owner)), (P0, Some(other)), (P1, Some(liking))];
        assert_eq!(switches(&s), expected);
        // `first` has waited for longer.
        s.vcpus[liking.index()].soft = CpuSet::ALL;
        assert_eq!(switches(&s)[2], (P1, Some(first)));
    }
}
