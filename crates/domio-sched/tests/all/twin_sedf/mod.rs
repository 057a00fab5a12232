//! The slow twin of SEDF: xen-spec 2 as written there, sentence by sentence.
//!
//! It shares no code with SEDF. Every queue is a `Vec` that is searched, a begin is worked out
//! whenever it is needed, and sums are added up again. Where the specification is silent it does
//! what the page of the policy says under "Where the source leaves a choice".

mod debts;
mod ears;
mod operator;

use debts::{Debt, Feedback};
use domio_contract::{Cx, Descriptor, PacketsMoved, Pick, Prev, Scheduler, Wake};
use domio_core::{DomainId, Duration, ParamValues, PcpuId, Topology, VcpuId, VcpuName, XenVersion};
use domio_sched::find;
use ears::Ears;
use operator::Order;

const US: i128 = 1_000;
const MS: i128 = 1_000_000;
const EXTRA_QUANTUM: i128 = 500 * US;

/// Which list of the pcpu is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    Runq,
    Waitq,
    L0,
    L1,
}

/// In which queue's turn of extra time a vcpu runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    L0,
    L1,
}

/// A vcpu.
#[derive(Clone, Debug)]
struct Vcpu {
    name: VcpuName,
    /// Where it lives; nowhere until its first pcpu was picked.
    home: Option<PcpuId>,
    period: i128,
    slice: i128,
    period_orig: i128,
    slice_orig: i128,
    latency: i128,
    weight: i128,
    extraweight: i128,
    aware: bool,
    want_pen: bool,
    turn: Option<Turn>,
    deadl: Option<i128>,
    cputime: i128,
    sched_start: i128,
    block_abs: Option<i128>,
    lost: i128,
    l0_score: i128,
    l1_score: i128,
    owes: Debt,
}

impl Vcpu {
    fn deadl(&self) -> i128 {
        self.deadl.expect("a vcpu that has woken has a deadline")
    }

    fn begin(&self) -> i128 {
        self.deadl() - self.period
    }
}

/// A pcpu.
#[derive(Clone, Debug, Default)]
struct Pcpu {
    runq: Vec<VcpuId>,
    waitq: Vec<VcpuId>,
    l0: Vec<VcpuId>,
    l1: Vec<VcpuId>,
    current_slice_expires: i128,
}

impl Pcpu {
    fn list(&mut self, list: List) -> &mut Vec<VcpuId> {
        match list {
            List::Runq => &mut self.runq,
            List::Waitq => &mut self.waitq,
            List::L0 => &mut self.l0,
            List::L1 => &mut self.l1,
        }
    }
}

/// The policy.
pub struct TwinSedf {
    version: XenVersion,
    unblock: &'static str,
    /// Of SEDF-DC.
    feedback: Option<Feedback>,
    /// Of the communication-aware variant.
    ears: Option<Ears>,
    vcpus: Vec<Option<Vcpu>>,
    pcpus: Vec<Pcpu>,
    /// What operators last asked for.
    orders: Vec<(DomainId, Order)>,
}

/// Smallest number of whole `period`s that is at least `time`.
fn periods(time: i128, period: i128) -> i128 {
    let mut n = time / period;
    while n * period < time {
        n += 1;
    }
    n
}

impl TwinSedf {
    /// A twin with the parameters of SEDF or SEDF-DC.
    pub fn new(params: &ParamValues, topology: &Topology) -> Self {
        let choice = |name: &str| {
            let spec = params.specs().iter().find(|s| s.name == name);
            let value = params.by_name(name).expect("sedf declares it");
            spec.expect("sedf declares it").show(value).to_string()
        };
        let version = XenVersion::from_name(&choice("version")).expect("a release");
        let ways = ["isochronous-edf", "edf", "atropos", "short-resume"];
        let feedback = Feedback::new(params);
        let ears = Ears::new(params);
        let unblock = match (&feedback, &ears) {
            (None, None) => choice("unblock"),
            _ => String::new(),
        };
        let way = ways.into_iter().find(|w| unblock == *w);
        TwinSedf {
            version,
            feedback,
            ears,
            unblock: way
                .filter(|_| version == XenVersion::V3_0)
                .unwrap_or("extra-support"),
            vcpus: Vec::new(),
            pcpus: vec![Pcpu::default(); topology.pcpus()],
            orders: Vec::new(),
        }
    }

    fn v(&self, v: VcpuId) -> &Vcpu {
        self.vcpus[v.index()].as_ref().expect("an inserted vcpu")
    }

    fn v_mut(&mut self, v: VcpuId) -> &mut Vcpu {
        self.vcpus[v.index()].as_mut().expect("an inserted vcpu")
    }

    fn home(&mut self, v: VcpuId) -> &mut Pcpu {
        let home = self.v(v).home.expect("a placed vcpu");
        &mut self.pcpus[home.index()]
    }

    fn is_on(&mut self, list: List, v: VcpuId) -> bool {
        self.v(v).home.is_some() && self.home(v).list(list).contains(&v)
    }

    /// On the runq or the waitq: what SEDF calls runnable.
    fn is_queued(&mut self, v: VcpuId) -> bool {
        self.is_on(List::Runq, v) || self.is_on(List::Waitq, v)
    }

    fn key(&self, list: List, v: VcpuId) -> i128 {
        let v = self.v(v);
        match list {
            List::Runq => v.deadl(),
            List::Waitq => v.begin(),
            List::L0 => v.l0_score,
            List::L1 => v.l1_score,
        }
    }

    /// Ascending, equal keys after existing ones.
    fn add(&mut self, list: List, v: VcpuId) {
        assert!(!self.is_on(list, v), "twice on a list");
        let own = self.key(list, v);
        let members = self.home(v).list(list).clone();
        let after = members.iter().position(|m| self.key(list, *m) > own);
        let place = after.unwrap_or(members.len());
        self.home(v).list(list).insert(place, v);
    }

    fn del(&mut self, list: List, v: VcpuId) {
        self.home(v).list(list).retain(|m| *m != v);
    }

    fn del_everywhere(&mut self, v: VcpuId) {
        for list in [List::Runq, List::Waitq, List::L0, List::L1] {
            self.del(list, v);
        }
    }

    // ---- pass -------------------------------------------------------------------------------

    /// "leave-EDF".
    fn leave_edf(&mut self, v: VcpuId, now: i128, runnable: bool) {
        let start = self.v(v).sched_start;
        self.v_mut(v).cputime += now - start;
        self.pay(v);
        let used_up = self.v(v).cputime >= self.v(v).slice;
        if !used_up && runnable {
            return;
        }
        self.del(List::Runq, v);
        if used_up {
            let v = self.v_mut(v);
            v.cputime -= v.slice;
            if v.period < v.period_orig {
                let doubled = (v.period * 2, v.slice * 2);
                let too_much = doubled.0 > v.period_orig || doubled.1 > v.slice_orig;
                (v.period, v.slice) = match too_much {
                    true => (v.period_orig, v.slice_orig),
                    false => doubled,
                };
            }
            v.deadl = Some(v.deadl() + v.period);
        }
        if runnable {
            self.add(List::Waitq, v);
        } else {
            self.del(List::L0, v);
            self.del(List::L1, v);
        }
    }

    /// "leave-extra".
    fn leave_extra(&mut self, v: VcpuId, turn: Turn, now: i128, runnable: bool) {
        let epoch_3_0 = self.version == XenVersion::V3_0;
        let vcpu = self.v_mut(v);
        vcpu.turn = None;
        vcpu.cputime = 0;
        let requeue = match turn {
            Turn::L0 => {
                vcpu.lost -= now - vcpu.sched_start;
                if !epoch_3_0 || vcpu.lost <= 0 {
                    vcpu.lost = 0;
                    vcpu.want_pen = false;
                } else {
                    vcpu.l0_score = vcpu.period * 1024 / vcpu.lost;
                }
                let want = vcpu.want_pen;
                self.del(List::L0, v);
                want.then_some((List::L0, 0))
            }
            Turn::L1 => {
                let old = vcpu.l1_score;
                vcpu.l1_score = if vcpu.extraweight == 0 {
                    vcpu.period * 1024 / if vcpu.slice == 0 { 1 } else { vcpu.slice }
                } else {
                    131_072 / vcpu.extraweight
                };
                let aware = vcpu.aware;
                self.del(List::L1, v);
                aware.then_some((List::L1, old))
            }
        };
        if !runnable {
            self.del_everywhere(v);
        } else if let Some((list, old)) = requeue {
            for member in self.home(v).list(list).clone() {
                match list {
                    List::L0 => self.v_mut(member).l0_score -= old,
                    _ => self.v_mut(member).l1_score -= old,
                }
            }
            self.add(list, v);
        }
    }

    /// "update queues".
    fn update_queues(&mut self, p: PcpuId, now: i128) {
        while let Some(&head) = self.pcpus[p.index()].waitq.first()
            && self.v(head).begin() <= now
        {
            self.del(List::Waitq, head);
            let list = self.enter(head, now);
            self.add(list, head);
        }
        // The walk goes on to whoever was next before it moved one, and from there along the queue
        // as it is then.
        let mut at = self.pcpus[p.index()].runq.first().copied();
        while let Some(v) = at {
            let runq = &self.pcpus[p.index()].runq;
            let place = runq.iter().position(|m| *m == v).expect("on the runq");
            at = runq.get(place + 1).copied();
            let Vcpu {
                slice,
                cputime,
                period,
                ..
            } = *self.v(v);
            if slice == 0 {
                self.del(List::Runq, v);
                let v_mut = self.v_mut(v);
                let mut begin = v_mut.begin() + period;
                begin += periods((now - begin).max(0), period) * period;
                v_mut.deadl = Some(begin + period);
                self.add(List::Waitq, v);
            } else if self.v(v).deadl() < now || cputime > slice {
                self.del(List::Runq, v);
                let v_mut = self.v_mut(v);
                let mut deadl = v_mut.deadl() + period;
                deadl += periods((now - deadl).max(0), period) * period;
                v_mut.deadl = Some(deadl);
                v_mut.cputime = 0;
                let list = self.enter(v, now);
                self.add(list, v);
            } else {
                break;
            }
        }
    }

    fn pass(&mut self, cx: &mut Cx<'_>, p: PcpuId, prev: Prev) -> Pick {
        let now = i128::from(cx.now().as_nanos());
        if let Some(curr) = prev.vcpu {
            let runnable = cx.vcpu(curr).runnable();
            if !runnable {
                self.v_mut(curr).block_abs = Some(now);
            }
            match self.v(curr).turn {
                Some(turn) => self.leave_extra(curr, turn, now, runnable),
                None => self.leave_edf(curr, now, runnable),
            }
        }
        self.update_queues(p, now);
        let Pcpu {
            runq,
            waitq,
            l0,
            l1,
            ..
        } = self.pcpus[p.index()].clone();
        let end = waitq.first().map(|v| self.v(*v).begin());
        let (next, time) = if let Some(head) = self.chosen(&runq, now) {
            let slice_end = now + self.v(head).slice - self.v(head).cputime;
            (
                Some(head),
                end.map_or(slice_end, |e| e.min(slice_end)) - now,
            )
        } else if let Some(end) = end {
            let turns = [(l0.first(), Turn::L0), (l1.first(), Turn::L1)];
            let fits = end - now >= EXTRA_QUANTUM;
            let turn = turns.into_iter().find_map(|(v, t)| Some((*v?, t)));
            match turn.filter(|_| fits) {
                Some((v, turn)) => {
                    self.v_mut(v).turn = Some(turn);
                    (Some(v), EXTRA_QUANTUM)
                }
                None => (None, end - now),
            }
        } else {
            (None, 1_000 * MS)
        };
        // A negative time becomes 500 us; a slice of nothing ends at once.
        let time = if time < 0 { EXTRA_QUANTUM } else { time.max(1) };
        if let Some(next) = next {
            self.v_mut(next).sched_start = now;
        }
        self.pcpus[p.index()].current_slice_expires = now + time;
        Pick {
            next,
            time_slice: Some(Duration::from_nanos(time as u64)),
        }
    }

    // ---- wake-up ----------------------------------------------------------------------------

    fn wake_vcpu(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        if self.is_queued(v) {
            return;
        }
        let now = i128::from(cx.now().as_nanos());
        if self.feedback.is_some() {
            self.unblock_with_debt(v, now);
        } else {
            self.unblock(v, now);
        }
        if self.v(v).aware {
            self.add(List::L1, v);
        }
        let list = self.enter(v, now);
        self.add(list, v);
        if self.should_switch(cx, v) {
            cx.tickle(cx.vcpu(v).pcpu);
        }
    }

    fn unblock(&mut self, v: VcpuId, now: i128) {
        if self.v(v).deadl.is_none() {
            self.v_mut(v).deadl = Some(now + self.v(v).slice);
        }
        if now < self.v(v).begin() {
            if self.v(v).want_pen {
                self.add(List::L0, v);
            }
        } else if now < self.v(v).deadl() {
            self.short_unblock(v, now);
        } else {
            self.long_unblock(v, now);
        }
    }

    fn short_unblock(&mut self, v: VcpuId, now: i128) {
        let short_resume = self.unblock == "short-resume";
        let extra_support = self.unblock == "extra-support";
        let vcpu = self.v_mut(v);
        if short_resume && let Some(block_abs) = vcpu.block_abs {
            vcpu.cputime += now - block_abs;
            if vcpu.slice - vcpu.cputime >= EXTRA_QUANTUM {
                return;
            }
        }
        vcpu.deadl = Some(vcpu.deadl() + vcpu.period);
        let unused = (vcpu.slice - vcpu.cputime).max(0);
        vcpu.cputime = 0;
        if extra_support && vcpu.block_abs.is_some() {
            vcpu.lost = unused;
            if unused > 0 {
                vcpu.l0_score = vcpu.period * 1024 / unused;
                vcpu.want_pen = true;
                self.add(List::L0, v);
            }
        }
    }

    fn long_unblock(&mut self, v: VcpuId, now: i128) {
        let way = self.unblock;
        let vcpu = self.v_mut(v);
        vcpu.cputime = 0;
        if way == "isochronous-edf" {
            let mut begin = vcpu.deadl();
            while begin < now {
                begin += vcpu.period;
            }
            vcpu.deadl = Some(begin + vcpu.period);
            return;
        }
        if way == "atropos" && vcpu.latency > 0 {
            vcpu.period = vcpu.latency;
            vcpu.slice = vcpu.latency * vcpu.slice_orig / vcpu.period_orig;
        }
        vcpu.deadl = Some(now + vcpu.period);
    }

    /// "Preempt after wake?"
    fn should_switch(&mut self, cx: &Cx<'_>, woken: VcpuId) -> bool {
        let expires = self.home(woken).current_slice_expires;
        let woken = self.v(woken);
        if woken.begin() < expires {
            return true;
        }
        let home = woken.home.expect("a placed vcpu");
        match cx.current(home).map(|c| self.v(c)) {
            None => true,
            Some(current) => match current.turn {
                None => false,
                Some(Turn::L0) => woken.want_pen && woken.l0_score < current.l0_score,
                Some(Turn::L1) => woken.want_pen,
            },
        }
    }
}

impl Scheduler for TwinSedf {
    fn descriptor(&self) -> &'static Descriptor {
        let name = match (&self.feedback, &self.ears) {
            (Some(_), _) => "sedf-dc",
            (None, Some(_)) => "communication-aware",
            (None, None) => "sedf",
        };
        find(name).expect("all are in the registry").descriptor
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        self.pcpus[pcpu.index()] = Pcpu::default();
    }

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, pcpu: PcpuId) {
        let p = &self.pcpus[pcpu.index()];
        assert!(p.runq.is_empty() && p.waitq.is_empty() && p.l0.is_empty() && p.l1.is_empty());
    }

    fn set_domain(&mut self, _: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        self.order(domain, params);
    }

    fn charge(&mut self, _: &mut Cx<'_>, domain: DomainId, done: Duration) -> bool {
        self.charge_vcpus(domain, done)
    }

    fn packets(&mut self, cx: &mut Cx<'_>, moved: PacketsMoved) {
        let now = i128::from(cx.now().as_nanos());
        if let Some(ears) = &mut self.ears {
            ears.hear(now, moved);
        }
    }

    fn debt(&self, domain: DomainId) -> Option<Duration> {
        self.debt_of_vcpus(domain)
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.vcpus.len() <= vcpu.index() {
            self.vcpus.resize(vcpu.index() + 1, None);
        }
        self.build(cx.vcpu(vcpu).name, vcpu);
    }

    fn remove(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        self.del_everywhere(vcpu);
        self.vcpus[vcpu.index()] = None;
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        self.pick(cx, vcpu)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        self.wake_vcpu(cx, vcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            cx.tickle(cx.vcpu(vcpu).pcpu);
        } else {
            self.del_everywhere(vcpu);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        self.pass(cx, pcpu, prev)
    }
}
