//! Vcpus that come and go, and pcpus that go on and off.

use super::Hypervisor;
use crate::event::{Event, Queue};
use crate::guest::Guest;
use crate::hypervisor::pcpu::{Cause, Pcpu};
use crate::hypervisor::timer::HOST_TICK;
use crate::hypervisor::vcpu::{Tick, Vcpu};
use alloc::vec::Vec;
use domio_contract::{Affinity, Pause, VcpuView};
use domio_core::{Duration, Instant, PcpuId, Runstate, Sink, VcpuId, VcpuName, XenVersion};

/// A vcpu that is to be added.
pub(crate) struct NewVcpu {
    pub name: VcpuName,
    pub guest: Guest,
    /// Where it may run, and where it prefers to.
    pub affinity: Affinity,
    /// Period of the tick that Xen gives it while it runs.
    pub tick: Option<Duration>,
}

impl<S: Sink> Hypervisor<S> {
    /// Adds a vcpu, which is not up yet.
    pub fn add_vcpu(&mut self, queue: &mut Queue, new: NewVcpu, now: Instant) -> VcpuId {
        let vcpu = VcpuId(self.vcpus.len() as u32);
        let mut pause = Pause::NONE;
        pause.set(Pause::DOWN);
        self.policy.tables.vcpus.push(VcpuView {
            name: new.name,
            pcpu: PcpuId(0),
            pause,
            on_pcpu: false,
        });
        self.policy.tables.affinity.push(new.affinity);
        let tick = new.tick.map(|period| Tick {
            period,
            last: now,
            timer: queue.timer(Event::GuestTick(vcpu)),
            seen: 0,
        });
        self.vcpus.add(Vcpu {
            name: new.name,
            state: Runstate::Offline,
            since: now,
            accounted: now,
            times: [Duration::ZERO; 4],
            created: now,
            guest: new.guest,
            timer_at: Instant::MAX,
            timer: queue.timer(Event::GuestTimer(vcpu)),
            ticks: tick.is_some(),
            tick,
            ran_on: None,
            alive: true,
        });
        vcpu
    }

    /// Takes `vcpu` out, which no pcpu holds.
    pub fn remove_vcpu(&mut self, queue: &mut Queue, vcpu: VcpuId, now: Instant) {
        let pcpu = self.policy.view(vcpu).pcpu;
        self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
            s.remove(cx, vcpu)
        });
        if self.vcpus[vcpu].state != Runstate::Offline {
            self.change(vcpu, Runstate::Offline, pcpu, now);
        }
        let v = &mut self.vcpus[vcpu];
        v.account(Runstate::Offline, now);
        v.alive = false;
        queue.disarm(v.timer);
        v.stop_tick(queue);
    }

    /// Sets up timers and phases of every pcpu and notifies the policy about them.
    pub fn power_on(&mut self, queue: &mut Queue, now: Instant) {
        for pcpu in self.pcpus.ids() {
            if pcpu != PcpuId(0) {
                self.pcpus[pcpu] = Pcpu::new(pcpu, queue);
            }
            if self.release.version <= XenVersion::V3_0 {
                queue.post(now + HOST_TICK, Event::HostTick(pcpu));
            }
        }
        // Pcpus that are in no pool stay out.
        let pooled = |pcpu: &PcpuId| !self.release.pool_with(*pcpu).is_empty();
        let pooled: Vec<PcpuId> = self.pcpus.ids().filter(pooled).collect();
        for pcpu in pooled {
            self.policy.tables.online.insert(pcpu);
            self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
                s.pcpu_online(cx, pcpu)
            });
        }
    }

    /// The pcpu on which the hypervisor's work for the toolstack is done.
    pub fn toolstack_pcpu(&self) -> PcpuId {
        let pool = self.release.first_pool() & self.policy.tables.online;
        pool.first().expect("Pool-0 has a pcpu online")
    }

    /// Takes `pcpu` out: its vcpus move elsewhere, breaking their affinity where nothing else is
    /// left (as Xen does), and the policy is told once it idles. The last pcpu of a pool stays.
    pub fn pcpu_offline(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let pool = self.release.pool_with(pcpu) & self.policy.tables.online;
        if !pool.contains(pcpu) || pool.len() == 1 {
            return;
        }
        self.raise(queue, pcpu, now, Cause::Operator);
        self.policy.tables.online.remove(pcpu);
        self.pcpus[pcpu].leaving = true;
        // Xen's list of domains is in the order of their ids.
        let alive = self.vcpus.alive();
        let mut all: Vec<(VcpuName, VcpuId)> = alive.map(|(id, v)| (v.name, id)).collect();
        all.sort_unstable();
        for (name, vcpu) in all {
            let affinity = &mut self.policy.tables.affinity[vcpu.index()];
            if !affinity.hard.intersects(&self.policy.tables.online) {
                affinity.hard = self.release.pool_of(name.domain);
            }
            if self.policy.view(vcpu).pcpu == pcpu {
                self.move_away(queue, vcpu, now);
            }
        }
        self.finish_leaving(queue, pcpu, now);
    }

    /// Notifies the policy that `pcpu` has left, when it is on its way out and idles.
    pub fn finish_leaving(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if self.pcpus[pcpu].leaving && self.policy.current(pcpu).is_none() {
            self.pcpus[pcpu].leaving = false;
            self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
                s.pcpu_offline(cx, pcpu)
            });
            for slot in 0..self.pcpus[pcpu].policy.len() {
                let timer = self.pcpus[pcpu].policy[slot];
                queue.disarm(timer);
            }
            self.pcpus.drop_pass(queue, pcpu);
        }
    }

    pub fn pcpu_online(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let pooled = self.release.pool_with(pcpu).contains(pcpu);
        if !pooled || self.policy.tables.online.contains(pcpu) || self.pcpus[pcpu].leaving {
            return;
        }
        self.policy.tables.online.insert(pcpu);
        self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
            s.pcpu_online(cx, pcpu)
        });
        // It looks for work, as a pcpu that comes up does.
        self.raise(queue, pcpu, now, Cause::Operator);
    }
}
