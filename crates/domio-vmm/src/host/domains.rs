//! Creation and destruction of domains, what an operator does, and pcpu hotplug.

use super::{Cause, Event, Host, Phase, Queue, Vcpu, roam};
use crate::bus::{Device, Traffic};
use crate::config::{Action, DomainConfig, HostConfig};
use alloc::format;
use alloc::vec::Vec;
use domio_core::{
    CpuSet, DomainId, Duration, Instant, Kind, ParamValues, PcpuId, Record, Runstate, Sink, VcpuId,
    VcpuName, XenVersion,
};
use domio_sched::{Affinity, Pause, VcpuView, Wake};
use domio_sim::RandomStream;

/// A domain of the configuration.
pub(super) struct Domain {
    pub config: DomainConfig,
    /// Its vcpus, once created.
    pub vcpus: Vec<VcpuId>,
    pub alive: bool,
    /// What its traffic is limited to by a controller, and until when.
    pub traffic: Traffic,
    pub traffic_until: Instant,
    /// Pauses by the toolstack that have not ended.
    paused: u32,
}

impl Domain {
    /// `config`, not created yet.
    pub fn new(config: DomainConfig) -> Self {
        Domain {
            config,
            vcpus: Vec::new(),
            alive: false,
            traffic: Traffic::Free,
            traffic_until: Instant::MAX,
            paused: 0,
        }
    }

    /// A controller limits its traffic.
    pub fn set_traffic(&mut self, traffic: Traffic, now: Instant) {
        self.traffic = traffic;
        self.traffic_until = match traffic {
            Traffic::Guarded { lasts, .. } => now.saturating_add(lasts),
            Traffic::Free | Traffic::Limited { .. } | Traffic::Stopped => Instant::MAX,
        };
    }

    /// What its traffic is limited to at `now`.
    pub fn traffic_at(&self, now: Instant) -> Traffic {
        match self.traffic {
            Traffic::Guarded { guard, .. } => {
                let lasts = self.traffic_until.saturating_since(now);
                match lasts.is_zero() {
                    true => Traffic::Free,
                    false => Traffic::Guarded { guard, lasts },
                }
            }
            traffic => traffic,
        }
    }
}

impl<S: Sink, D: Device> Host<S, D> {
    /// Sets up timers and phases of every pcpu and tells the policy about them.
    pub(crate) fn power_on(&mut self, queue: &mut Queue, now: Instant) {
        for pcpu in self.pcpus.ids() {
            if pcpu != PcpuId(0) {
                self.pcpus[pcpu] = super::Pcpu::new(pcpu, queue);
            }
            if self.version <= XenVersion::V3_0 {
                queue.post(now + super::timer::HOST_TICK, Event::HostTick(pcpu));
            }
        }
        for pcpu in self.pcpus.ids() {
            self.tables.online.insert(pcpu);
            self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
                s.pcpu_online(cx, pcpu)
            });
        }
        self.tell_groups(queue, now);
    }

    /// The pcpu on which the hypervisor's work for the toolstack is done.
    pub(super) fn toolstack_pcpu(&self) -> PcpuId {
        let first = self.tables.online.first();
        first.expect("a host has a pcpu online")
    }

    pub(super) fn create_domain(&mut self, queue: &mut Queue, index: usize, now: Instant) {
        let on = self.create_vcpus(queue, index, now, now);
        // The toolstack unpauses the domain when it is complete.
        for vcpu in self.domains[index].vcpus.clone() {
            self.tables.vcpus[vcpu.index()].pause.clear(Pause::DOWN);
            self.wake(queue, vcpu, on, now, Wake::Event);
        }
    }

    /// Creates the domain with its vcpus, none of them runnable. Their guests' time began at
    /// `booted`. Returns the pcpu that did it.
    pub(super) fn create_vcpus(
        &mut self,
        queue: &mut Queue,
        index: usize,
        now: Instant,
        booted: Instant,
    ) -> PcpuId {
        let config = self.domains[index].config.clone();
        let on = self.toolstack_pcpu();
        self.trace(Record::new(
            now,
            on,
            Kind::DomainAdd,
            VcpuName::new(config.id, 0),
        ));
        self.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.set_domain(cx, config.id, &config.params)
        });
        self.join_first(queue, config.id, on, now);
        self.note_first_vcpu(config.id);
        self.draw_pcpu(&config.name);
        for i in 0..config.vcpus.len() {
            let vcpu = self.create_vcpu(queue, index, i as u16, now, booted);
            self.ask(queue, on, now, Cause::Operator, |s, cx| s.insert(cx, vcpu));
            self.place(queue, vcpu, on, now);
            if let Some(own) = &config.vcpus[i].params {
                self.tell_vcpu(queue, vcpu, own, now);
            }
        }
        self.domains[index].alive = true;
        if D::PRESENT {
            self.plug(queue, index, on, now);
        }
        on
    }

    /// Draws the pcpu on which the first vcpu of a new domain begins in some releases. Each domain
    /// has a stream of its own, so that nobody's luck depends on who else is created.
    fn draw_pcpu(&mut self, name: &str) {
        let component = format!("{name}/first-pcpu");
        let mut stream = RandomStream::new(self.seed, self.replication, &component);
        let online = self.tables.online;
        let drawn = stream.below(online.len() as u64) as usize;
        let pcpu = online.iter().nth(drawn);
        self.tables.any_pcpu = pcpu.expect("a host has a pcpu online");
    }

    fn create_vcpu(
        &mut self,
        queue: &mut Queue,
        domain: usize,
        index: u16,
        now: Instant,
        booted: Instant,
    ) -> VcpuId {
        let vcpu = VcpuId(self.vcpus.len() as u32);
        let config = &self.domains[domain].config;
        let name = VcpuName::new(config.id, index);
        let settings = &config.vcpus[index as usize];
        let seeds = (self.seed, self.replication);
        let guest = roam::guest_on(config, usize::from(index), booted, seeds);
        self.roams |= guest.roams();
        let hard = settings.hard & self.tables.topology.all();
        let mut pause = Pause::NONE;
        pause.set(Pause::DOWN);
        self.tables.vcpus.push(VcpuView {
            name,
            pcpu: PcpuId(0),
            pause,
            on_pcpu: false,
        });
        self.tables.affinity.push(Affinity {
            hard,
            soft: settings.soft,
        });
        let tick = Self::new_tick(queue, vcpu, config.guest.tick, now);
        self.vcpus.push(Vcpu {
            name,
            state: Runstate::Offline,
            since: now,
            accounted: now,
            times: [Duration::ZERO; 4],
            created: now,
            guest,
            timer_at: Instant::MAX,
            timer: queue.timer(Event::GuestTimer(vcpu)),
            ticks: tick.is_some(),
            tick,
            ran_on: None,
            alive: true,
        });
        self.domains[domain].vcpus.push(vcpu);
        vcpu
    }

    pub(super) fn destroy_domain(&mut self, queue: &mut Queue, index: usize, now: Instant) {
        if !self.domains[index].alive {
            return;
        }
        let vcpus = self.domains[index].vcpus.clone();
        let id = self.domains[index].config.id;
        // Pausing comes first; a vcpu that a pcpu still holds is waited for.
        let mut held = false;
        for &vcpu in &vcpus {
            let view = self.tables.vcpus[vcpu.index()];
            if !view.pause.has(Pause::DOWN) {
                self.pause(queue, vcpu, Pause::DOWN, view.pcpu, now);
            }
            held |= self.tables.vcpus[vcpu.index()].on_pcpu;
        }
        if held {
            let settle = self.profile.ipi
                + self.profile.ipi_to_pass
                + self.profile.wake_to_pass
                + self.profile.switch;
            // On a host without costs the passes of this instant come after all its events.
            let later = settle.max(Duration::from_nanos(1));
            queue.post(now + later, Event::Destroy(index as u32));
            return;
        }
        for &vcpu in &vcpus {
            let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
            self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
                s.remove(cx, vcpu)
            });
            let state = self.vcpus[vcpu.index()].state;
            if state != Runstate::Offline {
                self.change(vcpu, Runstate::Offline, pcpu, now);
            }
            let v = &mut self.vcpus[vcpu.index()];
            v.account(Runstate::Offline, now);
            v.alive = false;
            queue.disarm(v.timer);
            v.stop_tick(queue);
        }
        self.domains[index].alive = false;
        let on = self.toolstack_pcpu();
        if D::PRESENT {
            self.unplug(queue, id, on, now);
        }
        self.trace(Record::new(
            now,
            on,
            Kind::DomainRemove,
            VcpuName::new(id, 0),
        ));
    }

    pub(super) fn operator(&mut self, queue: &mut Queue, action: usize, now: Instant) {
        match self.actions[action].1.clone() {
            Action::Pause(domain) => {
                if self.count_pause(domain) {
                    let vcpus = self.vcpus_of(domain);
                    self.pause_all(queue, &vcpus, now);
                }
            }
            Action::Unpause(domain) => {
                if self.count_unpause(domain) {
                    let vcpus = self.vcpus_of(domain);
                    self.unpause_all(queue, &vcpus, now);
                }
            }
            Action::SetParams(domain, params) => self.adjust(queue, domain, &params, now),
            Action::SetVcpu {
                domain,
                vcpu,
                params,
            } => {
                if let Some(&vcpu) = self.vcpus_of(domain).get(vcpu as usize) {
                    self.tell_vcpu(queue, vcpu, &params, now);
                }
            }
            Action::SetGroup(group, params) => self.set_group(queue, group, &params, now),
            Action::Join(domain, group) => {
                if self
                    .domains
                    .iter()
                    .any(|d| d.alive && d.config.id == domain)
                {
                    let on = self.toolstack_pcpu();
                    self.ask(queue, on, now, Cause::Operator, |s, cx| {
                        s.join(cx, domain, group)
                    });
                }
            }
            Action::SetPolicy(params) => {
                self.set_policy(queue, &params, now);
            }
            Action::Pin {
                domain,
                vcpu,
                hard,
                soft,
            } => {
                let target = self.vcpus_of(domain).get(vcpu as usize).copied();
                if let Some(vcpu) = target {
                    self.pin(queue, vcpu, hard & self.tables.topology.all(), soft, now);
                }
            }
            Action::PcpuOffline(pcpu) => self.pcpu_offline(queue, pcpu, now),
            Action::PcpuOnline(pcpu) => self.pcpu_online(queue, pcpu, now),
        }
    }

    /// Gives the policy other parameters. Where it refuses, the toolstack prints what is wrong, and
    /// the host goes on as before.
    pub(super) fn set_policy(&mut self, queue: &mut Queue, params: &ParamValues, now: Instant) {
        let on = self.toolstack_pcpu();
        let _ = self.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.set_params(cx, params)
        });
    }

    /// Takes down that the toolstack pauses `domain`. Since 4.5 such pauses are counted, before
    /// there is a flag. Returns whether it was not paused.
    fn count_pause(&mut self, domain: DomainId) -> bool {
        let counts = self.version >= XenVersion::V4_5;
        let alive = |d: &&mut Domain| d.alive && d.config.id == domain;
        let Some(d) = self.domains.iter_mut().find(alive) else {
            return false;
        };
        let was_running = d.paused == 0;
        d.paused = if counts { d.paused + 1 } else { 1 };
        was_running
    }

    /// Takes down that the toolstack ends a pause of `domain`. Returns whether that was the last.
    fn count_unpause(&mut self, domain: DomainId) -> bool {
        let alive = |d: &&mut Domain| d.alive && d.config.id == domain;
        let Some(d) = self.domains.iter_mut().find(alive) else {
            return false;
        };
        d.paused = d.paused.saturating_sub(1);
        d.paused == 0
    }

    fn pause_all(&mut self, queue: &mut Queue, vcpus: &[VcpuId], now: Instant) {
        for &vcpu in vcpus {
            let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
            self.pause(queue, vcpu, Pause::PAUSED, pcpu, now);
        }
    }

    fn unpause_all(&mut self, queue: &mut Queue, vcpus: &[VcpuId], now: Instant) {
        for &vcpu in vcpus {
            let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
            self.unpause(queue, vcpu, Pause::PAUSED, pcpu, now);
        }
    }

    /// Gives `domain` other parameters. From 3.1 to 4.1 its vcpus are paused meanwhile. Xen waits
    /// until they have stopped; here they have no time for that, but who runs is switched out.
    pub(super) fn adjust(
        &mut self,
        queue: &mut Queue,
        domain: DomainId,
        params: &ParamValues,
        now: Instant,
    ) {
        let Some(d) = self.domains.iter_mut().find(|d| d.config.id == domain) else {
            return;
        };
        d.config.params = *params;
        if !d.alive {
            return;
        }
        let pauses = (XenVersion::V3_1..=XenVersion::V4_1).contains(&self.version);
        let mut held = match pauses {
            true => self.vcpus_of(domain),
            false => Vec::new(),
        };
        // Pauses by the hypervisor are counted: whom the toolstack has paused stays so.
        held.retain(|v| !self.tables.vcpus[v.index()].pause.has(Pause::PAUSED));
        self.pause_all(queue, &held, now);
        let on = self.toolstack_pcpu();
        self.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.set_domain(cx, domain, params)
        });
        self.unpause_all(queue, &held, now);
    }

    fn vcpus_of(&self, domain: DomainId) -> Vec<VcpuId> {
        self.domains
            .iter()
            .find(|d| d.alive && d.config.id == domain)
            .map_or_else(Vec::new, |d| d.vcpus.clone())
    }

    /// Takes `pcpu` out: its vcpus move elsewhere, breaking their affinity where nothing else is
    /// left (as Xen does), and the policy is told once it idles. The last pcpu stays.
    fn pcpu_offline(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if !self.tables.online.contains(pcpu) || self.tables.online.len() == 1 {
            return;
        }
        self.raise(queue, pcpu, now, Cause::Operator);
        self.tables.online.remove(pcpu);
        self.pcpus[pcpu].leaving = true;
        // Xen's list of domains is in the order of their ids.
        let mut all: Vec<usize> = (0..self.vcpus.len()).collect();
        all.retain(|i| self.vcpus[*i].alive);
        all.sort_by_key(|i| self.vcpus[*i].name);
        for i in all {
            let affinity = &mut self.tables.affinity[i];
            if !affinity.hard.intersects(&self.tables.online) {
                affinity.hard = CpuSet::ALL & self.tables.topology.all();
            }
            if self.tables.vcpus[i].pcpu == pcpu {
                self.move_away(queue, VcpuId(i as u32), now);
            }
        }
        self.finish_leaving(queue, pcpu, now);
    }

    /// Tells the policy that `pcpu` has left, when it is on its way out and idles.
    pub(super) fn finish_leaving(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if self.pcpus[pcpu].leaving && self.tables.pcpus[pcpu].current.is_none() {
            self.pcpus[pcpu].leaving = false;
            self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
                s.pcpu_offline(cx, pcpu)
            });
            for slot in 0..self.pcpus[pcpu].policy.len() {
                let timer = self.pcpus[pcpu].policy[slot];
                queue.disarm(timer);
            }
            self.drop_pass(queue, pcpu);
        }
    }

    /// A pass that `pcpu`, which has left, was asked for does not come: nothing is left to decide.
    fn drop_pass(&mut self, queue: &mut Queue, pcpu: PcpuId) {
        let p = &mut self.pcpus[pcpu];
        p.again = false;
        if p.phase == Phase::Entering {
            p.phase = Phase::Guest;
            queue.disarm(p.stage);
            let to_come = self.due.split_off(self.due_done);
            self.due.extend(to_come.into_iter().filter(|p| *p != pcpu));
        }
    }

    fn pcpu_online(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if self.tables.online.contains(pcpu) || self.pcpus[pcpu].leaving {
            return;
        }
        self.tables.online.insert(pcpu);
        self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
            s.pcpu_online(cx, pcpu)
        });
        // It looks for work, as a pcpu that comes up does.
        self.raise(queue, pcpu, now, Cause::Operator);
    }
}

/// Whether an affinity, hard or soft, says nothing for every vcpu, from beginning to end: `of`
/// picks it from those of a vcpu, hard and soft.
pub(super) fn says_nothing(config: &HostConfig, of: impl Fn(CpuSet, CpuSet) -> CpuSet) -> bool {
    let mut vcpus = config.domains.iter().flat_map(|d| &d.vcpus);
    let pins = |(_, action): &(Instant, Action)| match action {
        Action::Pin { hard, soft, .. } => of(*hard, *soft) != CpuSet::ALL,
        _ => false,
    };
    vcpus.all(|v| of(v.hard, v.soft) == CpuSet::ALL) && !config.actions.iter().any(pins)
}
