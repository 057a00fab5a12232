//! What processes of controllers ask of the hypervisor: reading figures, and setting things.
//!
//! A controller sees what its process has read, and its answers are carried out when the process
//! gets there: both are as late as the process's domain was kept from running.

use super::Host;
use super::controlled::Totals;
use super::domain::Domain;
use crate::bus::device::Device;
use crate::event::Queue;
use crate::hypervisor::Hypervisor;
use crate::hypervisor::pcpu::Cause;
use crate::process::Hypercall;
use alloc::vec::Vec;
use domio_contract::control::{
    Adjustment, Change, DomainSeen, Kinds, Reservation, Settings, Traffic,
};
use domio_core::{Duration, Instant, PcpuId, Sink, VcpuId};

impl<S: Sink, D: Device> Host<S, D> {
    /// The process that executes on `vcpu`, on `pcpu`, makes a hypercall.
    #[inline(never)]
    pub(super) fn hypercall(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        call: Hypercall,
        now: Instant,
    ) {
        let value = match call {
            Hypercall::Vcpus => self.xen.vcpus.alive().count() as u64,
            Hypercall::Observe(number) => {
                self.observe(usize::from(number), now);
                0
            }
            Hypercall::Decide(number) => self.decide(usize::from(number)),
            Hypercall::Adjust(number) => {
                if let Some(adjustment) = self.controls[usize::from(number)].next() {
                    self.adjust_as_told(queue, pcpu, adjustment, now);
                }
                0
            }
            Hypercall::Renew(number) => {
                let renewed = self.controls[usize::from(number)].to_renew();
                for adjustment in renewed {
                    self.renew(queue, pcpu, adjustment, now);
                }
                0
            }
        };
        self.xen.vcpus[vcpu].guest.hypercall_returned(value);
    }

    /// Reads what the host and its domains did since the last time.
    fn observe(&mut self, number: usize, now: Instant) {
        self.xen.vcpus.mark(now);
        let mut seen = Vec::new();
        for domain in &self.domains.all {
            let id = domain.config.id;
            if !domain.alive {
                self.controls[number].forget(id);
                continue;
            }
            let (totals, settings) = (self.totals(domain), self.settings(domain, now));
            seen.push(DomainSeen {
                is_driver: self.bus.is_driver(id),
                vcpus: domain.vcpus.len() as u16,
                ..self.controls[number].seen_of(id, totals, settings)
            });
        }
        seen.sort_unstable_by_key(|d| d.id);
        let control = &mut self.controls[number];
        control.estimate(&mut seen, &self.bus, &self.domains.all);
        let Hypervisor { pcpus, policy, .. } = &self.xen;
        let busy = |p| pcpus.busy_until(p, policy.current(p).is_some(), now);
        let busy = pcpus.ids().map(busy).collect();
        control.has_read(now, seen, busy, &policy.tables.online);
    }

    /// Has the controller decide on what was read. How many adjustments it wants, and how many of
    /// them last for a time.
    fn decide(&mut self, number: usize) -> u64 {
        let policy = self.xen.policy.changeable();
        let abilities = Kinds {
            traffic: D::present(),
            policy: !policy.is_empty(),
            ..self.xen.policy.abilities()
        };
        self.controls[number].decide(abilities, &policy)
    }

    /// What `domain` has got and done.
    fn totals(&self, domain: &Domain) -> Totals {
        let mut times = [Duration::ZERO; 4];
        for vcpu in &domain.vcpus {
            let of_vcpu = &self.xen.vcpus[*vcpu].times;
            for (sum, time) in times.iter_mut().zip(of_vcpu) {
                *sum += *time;
            }
        }
        let id = domain.config.id;
        Totals {
            times,
            served: self.xen.served.of(id),
            passed: self.bus.passed(id),
        }
    }

    /// What is set for `domain`.
    fn settings(&self, domain: &Domain, now: Instant) -> Settings {
        let config = &domain.config;
        let param = |name| {
            config
                .params
                .by_name(name)
                .and_then(|v| u32::try_from(v).ok())
        };
        let time = |name| {
            let us = config.params.by_name(name)?;
            Some(Duration::from_micros(u64::try_from(us).ok()?))
        };
        Settings {
            weight: param("weight"),
            cap: param("cap"),
            reservation: time("period_us")
                .zip(time("slice_us"))
                .map(|(period, slice)| Reservation { period, slice }),
            traffic: (D::present() && self.bus.serves(config.id) && !self.bus.is_driver(config.id))
                .then(|| domain.traffic_at(now)),
            debt: self.xen.policy.scheduler.debt(config.id),
        }
    }

    /// Carries out again what lasts for a time, unless something else was set meanwhile.
    fn renew(&mut self, queue: &mut Queue, pcpu: PcpuId, adjustment: Adjustment, now: Instant) {
        let Adjustment::Domain { domain, .. } = adjustment else {
            return;
        };
        let guarded = |d: &Domain| {
            d.alive && d.config.id == domain && matches!(d.traffic, Traffic::Guarded { .. })
        };
        if self.domains.all.iter().any(guarded) {
            self.adjust_as_told(queue, pcpu, adjustment, now);
        }
    }

    /// Changes one parameter of the policy.
    fn adjust_policy(&mut self, queue: &mut Queue, name: &str, value: i64, now: Instant) {
        let Some(mut params) = self.xen.policy.scheduler.params().copied() else {
            return;
        };
        if params.set(name, value).is_ok() {
            self.set_policy(queue, &params, now);
        }
    }

    /// Carries out what a controller has answered; what has become impossible meanwhile is left
    /// out, as a hypercall that fails.
    fn adjust_as_told(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        adjustment: Adjustment,
        now: Instant,
    ) {
        let (domain, change) = match adjustment {
            Adjustment::Policy { name, value } => {
                return self.adjust_policy(queue, name, value, now);
            }
            Adjustment::Domain { domain, change } => (domain, change),
        };
        let Some(d) = self.domains.alive_mut(domain) else {
            return;
        };
        let mut params = d.config.params;
        let set = match change {
            Change::Weight(weight) => params.set("weight", i64::from(weight)),
            Change::Cap(cap) => params.set("cap", i64::from(cap)),
            Change::Reservation(Reservation { period, slice }) => {
                let us = |time: Duration| (time.as_nanos() / 1_000) as i64;
                params
                    .set("period_us", us(period))
                    .and_then(|()| params.set("slice_us", us(slice)))
            }
            Change::Traffic(traffic) => {
                d.set_traffic(traffic, now);
                return self.limit_traffic(queue, domain, traffic, pcpu, now);
            }
            Change::Charge(done) => {
                // A refusal is an answer that came too late: the domain reserves nothing any more.
                return self.xen.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
                    s.charge(cx, domain, done);
                });
            }
        };
        if set.is_ok() {
            self.adjust(queue, domain, &params, now);
        }
    }
}
