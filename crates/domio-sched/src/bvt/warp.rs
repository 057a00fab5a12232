//! Warping: running ahead of one's virtual time, and the two timers that limit it (xen-spec 1,
//! "Warp").
//!
//! The timers belong to a domain, and the host offers timers of pcpus. So each domain has a pcpu
//! where its timers expire, and one timer of that pcpu is set to the earliest of them.

use super::params::Setting;
use super::state::{Domain, flag};
use super::{Bvt, WARP, event, ns};
use domio_contract::Cx;
use domio_core::{DomainId, Instant, PcpuId, VcpuId};

impl Bvt {
    /// An operator sets what `domain` may do. It warps from now on, if it warps at all.
    pub(super) fn adjust(&mut self, cx: &mut Cx<'_>, domain: DomainId, setting: Setting) {
        if self.domains.len() <= domain.index() {
            let unknown = Domain::unknown();
            self.domains.resize(domain.index() + 1, unknown);
        }
        let d = &mut self.domains[domain.index()];
        d.setting = setting;
        d.warpback = setting.warpback;
        d.warp = setting.warpback;
        d.rewarps = None;
        if !setting.warpback {
            d.unwarps = None;
        }
        let home = d.home;
        self.set_warp_timer(cx, home);
    }

    /// `vcpu` was current: its dispatch is over, and the limit of its warp with it.
    pub(super) fn stop_warp_timer(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let d = self.domain_mut(vcpu);
        if d.warpback && d.setting.warpl > 0 && d.unwarps.is_some() {
            d.unwarps = None;
            let home = d.home;
            self.set_warp_timer(cx, home);
        }
    }

    /// `vcpu` is dispatched: the limit of its warp begins.
    pub(super) fn start_warp_timer(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let now = ns(cx.now());
        let d = self.domain_mut(vcpu);
        if d.warp && d.setting.warpl > 0 {
            d.unwarps = Some(now + d.setting.warpl);
            let home = d.home;
            self.set_warp_timer(cx, home);
        }
    }

    /// The timer of all warps whose home is `pcpu`. What was due when it was set is due now, even
    /// if the host is a little early. Returns when the next of them is due.
    pub(super) fn warp_timers(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> Option<Instant> {
        let due = self.pcpus[pcpu.index()].warp_timer.take();
        let horizon = due.map_or(ns(cx.now()), |due| due.max(ns(cx.now())));
        while let Some((at, domain)) = self.first_of(pcpu)
            && at <= horizon
        {
            if self.domains[domain].unwarps == Some(at) {
                self.unwarp(cx, domain);
            } else {
                self.rewarp(cx, domain);
            }
        }
        let next = self.first_of(pcpu).map(|(at, _)| at);
        self.pcpus[pcpu.index()].warp_timer = next;
        next.map(|at| Instant::from_nanos(at as u64))
    }

    /// The warp of `domain` has lasted as long as it may.
    fn unwarp(&mut self, cx: &mut Cx<'_>, domain: usize) {
        let d = &mut self.domains[domain];
        d.unwarps = None;
        d.warp = false;
        let ends = d.setting.warpu == 0;
        if ends {
            d.warpback = false;
        }
        d.rewarps = Some(ns(cx.now()) + d.setting.warpu);
        let vcpu = self.first_vcpu(cx, domain);
        event::warp(cx, vcpu, false);
        if ends {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        }
    }

    /// `domain` may warp again.
    fn rewarp(&mut self, cx: &mut Cx<'_>, domain: usize) {
        let d = &mut self.domains[domain];
        d.rewarps = None;
        if d.warpback {
            d.warp = true;
            let vcpu = self.first_vcpu(cx, domain);
            event::warp(cx, vcpu, true);
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        }
    }

    /// The vcpu of `domain` with the lowest index, whose pcpu Xen asks for a pass.
    fn first_vcpu(&self, cx: &Cx<'_>, domain: usize) -> VcpuId {
        let numbered = self.vcpus.iter().enumerate();
        let of_domain = numbered
            .filter(|(_, v)| v.has(flag::PLACED) && usize::from(v.domain) == domain)
            .map(|(i, _)| VcpuId(i as u32));
        of_domain
            .min_by_key(|v| cx.vcpu(*v).name.index)
            .expect("timers end with the last vcpu of a domain")
    }

    /// The first timer of a domain at home on `pcpu`: when it expires, and whose it is.
    fn first_of(&self, pcpu: PcpuId) -> Option<(i64, usize)> {
        let at_home = self.domains.iter().enumerate();
        at_home
            .filter(|(_, d)| d.home == Some(pcpu))
            .filter_map(|(i, d)| d.first_timer().map(|at| (at, i)))
            .min()
    }

    /// Sets the timer of warps on `home` to the first of those at home there.
    fn set_warp_timer(&mut self, cx: &mut Cx<'_>, home: Option<PcpuId>) {
        let Some(home) = home else {
            return;
        };
        let first = self.first_of(home).map(|(at, _)| at);
        let p = &mut self.pcpus[home.index()];
        if p.warp_timer == first {
            return;
        }
        p.warp_timer = first;
        match first {
            Some(at) => cx.set_timer(home, WARP, Instant::from_nanos(at as u64)),
            None => cx.stop_timer(home, WARP),
        }
    }

    /// A vcpu of its domain was placed on `pcpu`.
    pub(super) fn count_in(&mut self, vcpu: VcpuId, pcpu: PcpuId) {
        let d = self.domain_mut(vcpu);
        d.vcpus += 1;
        d.home.get_or_insert(pcpu);
    }

    /// `vcpu` goes; with the last one of a domain its timers do.
    pub(super) fn count_out(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let d = self.domain_mut(vcpu);
        d.vcpus -= 1;
        if d.vcpus > 0 {
            return;
        }
        (d.unwarps, d.rewarps) = (None, None);
        d.warpback = d.setting.warpback;
        d.warp = d.warpback;
        let home = d.home.take();
        self.set_warp_timer(cx, home);
    }

    /// `pcpu` leaves: timers that are at home there go to the lowest of the others.
    pub(super) fn leave_home(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let mut others = cx.online();
        others.remove(pcpu);
        let to = others.first();
        let mut moved = false;
        for d in self.domains.iter_mut().filter(|d| d.home == Some(pcpu)) {
            d.home = to;
            moved = true;
        }
        if moved {
            self.set_warp_timer(cx, Some(pcpu));
            self.set_warp_timer(cx, to);
        }
    }
}
