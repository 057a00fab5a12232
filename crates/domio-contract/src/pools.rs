//! Cpupools: several policies on one host, each on pcpus of its own (Xen 4.1 and later).
//!
//! [`Pools`] is a policy to its host, and a host to the policies of its pools. Each call goes to
//! the pool of the pcpu, vcpu or domain that it is about. To the policy of a pool no pcpu is online
//! but those of the pool, so that it sends nobody elsewhere. The pcpu whose code runs
//! ([`Cx::here`]) may be another pool's: a wake-up comes from wherever the waker is, as in Xen.

use crate::contract::{
    Conflict, Descriptor, GroupId, Needs, PacketsMoved, Pick, Prev, Scheduler, Wake, WorksFor,
};
use crate::cx::Cx;
use crate::state::StateRows;
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_core::{Class, CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, VcpuId};

/// A pool: a policy, and where it decides for whom.
pub struct Pool {
    /// The policy.
    pub scheduler: Box<dyn Scheduler>,
    /// Its pcpus; no two pools share any.
    pub pcpus: CpuSet,
    /// The domains in it. Those that no pool names are in the first one.
    pub domains: Vec<DomainId>,
}

/// The policies of a host with several pools.
pub struct Pools {
    /// Pool-0 first.
    pools: Vec<Pool>,
    /// By vcpu: index of its pool.
    of_vcpu: Vec<u8>,
}

impl Pools {
    /// Policies that have seen no pcpu yet. The first pool is Xen's Pool-0, where the toolstack is:
    /// parameters of the policy as a whole are those of its policy.
    ///
    /// # Panics
    /// Without a pool, with over 256, or with a pcpu in two of them.
    pub fn new(pools: Vec<Pool>) -> Self {
        assert!(!pools.is_empty() && pools.len() <= 256, "1 to 256 pools");
        let mut all = CpuSet::EMPTY;
        for pool in &pools {
            assert!(!all.intersects(&pool.pcpus), "a pcpu is in one pool");
            pool.pcpus.iter().for_each(|pcpu| all.insert(pcpu));
        }
        Pools {
            pools,
            of_vcpu: Vec::new(),
        }
    }

    fn of_domain(&self, domain: DomainId) -> usize {
        let found = self.pools.iter().position(|p| p.domains.contains(&domain));
        found.unwrap_or(0)
    }

    /// Calls the policy of pool `index`, if there is one.
    fn at<R>(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        call: impl FnOnce(&mut dyn Scheduler, &mut Cx<'_>) -> R,
    ) -> R {
        let pool = &mut self.pools[index];
        let scheduler = &mut *pool.scheduler;
        cx.in_pool(index as u8, pool.pcpus, |cx| call(scheduler, cx))
    }

    /// Calls the policy of the pool that has `pcpu`; nobody for one that is in no pool.
    fn on<R>(
        &mut self,
        cx: &mut Cx<'_>,
        pcpu: PcpuId,
        call: impl FnOnce(&mut dyn Scheduler, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        let index = self.pools.iter().position(|p| p.pcpus.contains(pcpu))?;
        Some(self.at(cx, index, call))
    }

    /// Calls the policy of the pool of `vcpu`.
    fn of<R>(
        &mut self,
        cx: &mut Cx<'_>,
        vcpu: VcpuId,
        call: impl FnOnce(&mut dyn Scheduler, &mut Cx<'_>) -> R,
    ) -> R {
        let index = usize::from(self.of_vcpu[vcpu.index()]);
        self.at(cx, index, call)
    }
}

impl Scheduler for Pools {
    /// Pool-0's.
    fn descriptor(&self) -> &'static Descriptor {
        self.pools[0].scheduler.descriptor()
    }

    fn needs(&self) -> Needs {
        let all = self.pools.iter().map(|pool| pool.scheduler.needs());
        all.fold(Needs::NOTHING, Needs::and)
    }

    fn classes(&self) -> Vec<Option<&'static Class>> {
        let pools = self.pools.iter();
        pools.flat_map(|pool| pool.scheduler.classes()).collect()
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.on(cx, pcpu, |s, cx| s.pcpu_online(cx, pcpu));
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.on(cx, pcpu, |s, cx| s.pcpu_offline(cx, pcpu));
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let index = self.of_domain(domain);
        self.at(cx, index, |s, cx| s.set_domain(cx, domain, params));
    }

    fn set_vcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, params: &ParamValues) {
        self.of(cx, vcpu, |s, cx| s.set_vcpu(cx, vcpu, params));
    }

    /// Groups are Pool-0's.
    fn set_group(
        &mut self,
        cx: &mut Cx<'_>,
        group: GroupId,
        parent: Option<GroupId>,
        params: &ParamValues,
    ) {
        self.at(cx, 0, |s, cx| s.set_group(cx, group, parent, params));
    }

    fn join(&mut self, cx: &mut Cx<'_>, domain: DomainId, group: Option<GroupId>) {
        if self.of_domain(domain) == 0 {
            self.at(cx, 0, |s, cx| s.join(cx, domain, group));
        }
    }

    fn host_thread(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, works: WorksFor) {
        self.of(cx, vcpu, |s, cx| s.host_thread(cx, vcpu, works));
    }

    fn params(&self) -> Option<&ParamValues> {
        self.pools[0].scheduler.params()
    }

    fn set_params(&mut self, cx: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        self.at(cx, 0, |s, cx| s.set_params(cx, params))
    }

    fn charge(&mut self, cx: &mut Cx<'_>, domain: DomainId, done: Duration) -> bool {
        let index = self.of_domain(domain);
        self.at(cx, index, |s, cx| s.charge(cx, domain, done))
    }

    fn debt(&self, domain: DomainId) -> Option<Duration> {
        self.pools[self.of_domain(domain)].scheduler.debt(domain)
    }

    /// All hear of packets: those who ask for it may have the driver domain or the guest.
    fn packets(&mut self, cx: &mut Cx<'_>, moved: PacketsMoved) {
        for index in 0..self.pools.len() {
            if self.pools[index].scheduler.needs().packets {
                self.at(cx, index, |s, cx| s.packets(cx, moved));
            }
        }
    }

    fn dispatching(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, packets: u32) {
        self.of(cx, vcpu, |s, cx| s.dispatching(cx, vcpu, packets));
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let index = self.of_domain(cx.vcpu(vcpu).name.domain);
        if self.of_vcpu.len() <= vcpu.index() {
            self.of_vcpu.resize(vcpu.index() + 1, 0);
        }
        self.of_vcpu[vcpu.index()] = index as u8;
        self.at(cx, index, |s, cx| s.insert(cx, vcpu));
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.of(cx, vcpu, |s, cx| s.remove(cx, vcpu));
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        self.of(cx, vcpu, |s, cx| s.pick_pcpu(cx, vcpu))
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake) {
        self.of(cx, vcpu, |s, cx| s.wake(cx, vcpu, why));
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.of(cx, vcpu, |s, cx| s.sleep(cx, vcpu));
    }

    fn yielded(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.of(cx, vcpu, |s, cx| s.yielded(cx, vcpu));
    }

    fn together(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> CpuSet {
        let all = self.on(cx, pcpu, |s, cx| s.together(cx, pcpu));
        all.unwrap_or(CpuSet::of(pcpu))
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let pick = self.on(cx, pcpu, |s, cx| s.schedule(cx, pcpu, prev));
        pick.unwrap_or(Pick::IDLE)
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.of(cx, vcpu, |s, cx| s.context_saved(cx, vcpu));
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        self.on(cx, pcpu, |s, cx| s.timer(cx, pcpu, slot))?
    }

    fn domain_timer(&mut self, cx: &mut Cx<'_>, domain: DomainId) -> Option<Instant> {
        let index = self.of_domain(domain);
        self.at(cx, index, |s, cx| s.domain_timer(cx, domain))
    }

    fn resume(&mut self, cx: &mut Cx<'_>, runnable: &[VcpuId], _: &StateRows) {
        for index in 0..self.pools.len() {
            let pool = |vcpu: &VcpuId| usize::from(self.of_vcpu[vcpu.index()]);
            let own = runnable.iter().copied().filter(|v| pool(v) == index);
            let own: Vec<VcpuId> = own.collect();
            self.at(cx, index, |s, cx| s.resume(cx, &own, &StateRows::default()));
        }
    }

    fn state(&self, out: &mut StateRows) {
        for pool in &self.pools {
            pool.scheduler.state(out);
        }
    }
}
