//! What holds after every call, on random histories of the mini host.

use crate::conformance::{host, library, random};
use crate::credit2::params::{COMPENSATION, CREDIT_MAX, CREDIT_MIN};
use crate::credit2::state::{NIL, flag};
use crate::credit2::{Credit2, DESCRIPTOR};
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_contract::{Conflict, Cx, Descriptor, Pick, Prev, Scheduler, Wake};
use domio_core::{CpuSet, DomainId, Instant, ParamValues, PcpuId, VcpuId};

/// Credit2 that is looked through after each call.
struct Watched(Credit2);

impl Watched {
    fn look(&self) {
        let c = &self.0;
        let mut members = 0;
        for i in 0..c.runqs.len() {
            let r = &c.runqs[i];
            let queue: Vec<VcpuId> = c.waiting(i).collect();
            let credit = |v: &VcpuId| c.vcpus[v.index()].credit;
            assert!(
                queue.is_sorted_by(|a, b| credit(a) >= credit(b)),
                "by credit"
            );
            assert_eq!(queue.last().map_or(NIL, |v| v.0), r.tail, "the tail");
            let all: Vec<VcpuId> = c.members(i).collect();
            assert_eq!(
                all.last().map_or(NIL, |v| v.0),
                r.member_tail,
                "the last member"
            );
            members += all.len();
            let of = |v: &VcpuId| &c.vcpus[v.index()];
            assert!(
                all.iter().all(|v| of(v).runq as usize == i),
                "members know it"
            );
            let queued = all.iter().filter(|v| of(v).has(flag::QUEUED)).count();
            assert_eq!(queued, queue.len(), "who is queued is in the queue");
            let busy = flag::QUEUED | flag::SCHEDULED;
            let load = all.iter().filter(|v| of(v).has(busy)).count();
            assert_eq!(r.load, load as i64, "load is who runs or waits");
            let heaviest = all.iter().map(|v| of(v).weight).max().unwrap_or(1);
            assert_eq!(r.max_weight, heaviest, "the heaviest weight");
            assert!(r.average >= 0 && r.balanced >= 0, "averages are no debts");
            for set in [r.idle, r.tickled, r.smt_idle] {
                assert!(set.is_subset(&r.active), "sets of its pcpus");
            }
            let theirs: CpuSet = c
                .pcpus
                .ids()
                .filter(|p| c.pcpus[*p].runq as usize == i)
                .collect();
            assert_eq!(theirs, r.active, "pcpus know it");
        }
        let placed = c.vcpus.iter().filter(|v| (v.runq as usize) < c.runqs.len());
        assert_eq!(placed.count(), members, "everybody is in one run queue");
        for v in &c.vcpus {
            let range = CREDIT_MIN..=CREDIT_MAX + 20 * COMPENSATION;
            assert!(range.contains(&v.credit), "credit is bounded: {}", v.credit);
        }
        for d in c.domains.iter().filter(|d| d.cap != 0) {
            assert!(d.budget <= d.whole * 2, "a pool holds what was given");
            assert!(d.vcpus.iter().all(|v| c.vcpus[v.index()].capped()));
        }
    }

    fn then<R>(&mut self, body: impl FnOnce(&mut Credit2) -> R) -> R {
        let answer = body(&mut self.0);
        self.look();
        answer
    }
}

impl Scheduler for Watched {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }
    fn pcpu_online(&mut self, cx: &mut Cx<'_>, p: PcpuId) {
        self.then(|c| c.pcpu_online(cx, p));
    }
    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, p: PcpuId) {
        self.then(|c| c.pcpu_offline(cx, p));
    }
    fn set_domain(&mut self, cx: &mut Cx<'_>, d: DomainId, values: &ParamValues) {
        self.then(|c| c.set_domain(cx, d, values));
    }
    fn params(&self) -> Option<&ParamValues> {
        self.0.params()
    }
    fn set_params(&mut self, cx: &mut Cx<'_>, values: &ParamValues) -> Result<(), Conflict> {
        self.then(|c| c.set_params(cx, values))
    }
    fn insert(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        self.then(|c| c.insert(cx, v));
    }
    fn remove(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        self.then(|c| c.remove(cx, v));
    }
    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, v: VcpuId) -> PcpuId {
        self.then(|c| c.pick_pcpu(cx, v))
    }
    fn wake(&mut self, cx: &mut Cx<'_>, v: VcpuId, why: Wake) {
        self.then(|c| c.wake(cx, v, why));
    }
    fn sleep(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        self.then(|c| c.sleep(cx, v));
    }
    fn yielded(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        self.then(|c| c.yielded(cx, v));
    }
    fn schedule(&mut self, cx: &mut Cx<'_>, p: PcpuId, prev: Prev) -> Pick {
        self.then(|c| c.schedule(cx, p, prev))
    }
    fn context_saved(&mut self, cx: &mut Cx<'_>, v: VcpuId) {
        self.then(|c| c.context_saved(cx, v));
    }
    fn domain_timer(&mut self, cx: &mut Cx<'_>, d: DomainId) -> Option<Instant> {
        self.then(|c| c.domain_timer(cx, d))
    }
}

#[test]
fn queues_sums_and_sets_stay_true() {
    for arrangement in 0..5 {
        let mut params = ParamValues::defaults(DESCRIPTOR.params);
        params.set("runqueue", arrangement).unwrap();
        let random = (0..4).map(random::script);
        for script in library::scripts().into_iter().chain(random) {
            let policy = Watched(Credit2::new(&params, &script.topology));
            let run = host::run_untraced(&script, Box::new(policy));
            run.expect("a sound script");
        }
    }
}
