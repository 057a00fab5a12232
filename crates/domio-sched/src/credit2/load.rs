//! Load: averages that decay over a window, of each run queue and of each vcpu (xen-spec 4.1).

use super::params::GRANULARITY;
use super::{Credit2, event};
use domio_contract::Cx;
use domio_core::VcpuId;

/// A change of a vcpu that its load follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// It began to run or wait.
    Begins,
    /// It ceased to.
    Ceases,
    /// None of that.
    None,
}

impl Change {
    fn of_queue(self) -> i64 {
        match self {
            Change::Begins => 1,
            Change::Ceases => -1,
            Change::None => 0,
        }
    }
}

impl Credit2 {
    /// The average `average` moved on by `delta` with `load`.
    #[inline]
    fn decayed(&self, average: i64, delta: i64, load: i64) -> i64 {
        let (window, precision) = (self.settings.window, self.settings.precision);
        average + ((delta * (load << precision)) >> window) - ((delta * average) >> window)
    }

    /// Works the averages of `runq` out anew; its load changes by `change` from now on.
    #[inline]
    pub(super) fn update_runq_load(&mut self, cx: &mut Cx<'_>, runq: usize, change: Change) {
        let now = cx.now().as_nanos() as i64 >> GRANULARITY;
        let r = &self.runqs[runq];
        let load = r.load;
        let (average, balanced) = if r.averaged + (1 << self.settings.window) < now {
            let fresh = load << self.settings.precision;
            (fresh, fresh)
        } else {
            let delta = now - r.averaged;
            (
                self.decayed(r.average, delta, load),
                self.decayed(r.balanced, delta, load),
            )
        };
        let r = &mut self.runqs[runq];
        (r.average, r.balanced) = (average, balanced);
        r.load += change.of_queue();
        r.averaged = now;
        event::runq_load(cx, self.here, r);
    }

    /// Works the average of `vcpu` out anew, which changes as `change` says.
    #[inline]
    pub(super) fn update_vcpu_load(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, change: Change) {
        let now = cx.now().as_nanos() as i64 >> GRANULARITY;
        let was_active = match change {
            Change::Ceases => true,
            Change::Begins => false,
            Change::None => self.runnable(cx, vcpu),
        };
        let load = i64::from(was_active);
        let v = &self.vcpus[vcpu.index()];
        let average = if v.averaged + (1 << self.settings.window) < now {
            load << self.settings.precision
        } else {
            self.decayed(v.average, now - v.averaged, load)
        };
        let v = &mut self.vcpus[vcpu.index()];
        (v.average, v.averaged) = (average, now);
        event::vcpu_load(cx, self.here, vcpu, average, self.settings.precision);
    }

    /// As both, for `vcpu` and its run queue.
    #[inline]
    pub(super) fn update_load(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, change: Change) {
        let runq = self.vcpus[vcpu.index()].runq as usize;
        event::load(cx, self.here);
        self.update_runq_load(cx, runq, change);
        self.update_vcpu_load(cx, vcpu, change);
    }

    /// As [`Credit2::update_load`] for a run queue alone.
    #[inline]
    pub(super) fn update_load_of(&mut self, cx: &mut Cx<'_>, runq: usize, change: Change) {
        event::load(cx, self.here);
        self.update_runq_load(cx, runq, change);
    }
}
