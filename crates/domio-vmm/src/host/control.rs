//! What processes of controllers ask of the hypervisor: reading figures, and setting things.
//!
//! A controller sees what its process has read, and its answers are carried out when the process
//! gets there: both are as late as the process's domain was kept from running.

use super::counting::Packets;
use super::{Cause, Host, Queue};
use crate::bus::device::{Device, Passed};
use crate::config::{Accounting, ControllerConfig};
use crate::process::Hypercall;
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_control::{
    Adjustment, Answers, Change, Controller, DomainSeen, Kinds, Observation, PcpuSeen, PolicySeen,
    Reservation, Settings, Traffic,
};
use domio_core::{DomainId, Duration, Instant, ParamSpec, ParamValues, PcpuId, Sink, VcpuId};

/// A controller of the host.
pub(super) struct Controlled {
    controller: Box<dyn Controller>,
    config: ControllerConfig,
    /// When the last observation was made, or the observing began.
    since: Instant,
    /// Totals at that time, by domain id.
    before: Vec<Option<Totals>>,
    /// Busy times of the pcpus at that time.
    busy_before: Vec<Duration>,
    /// Packets at that time, where they are counted.
    packets: Packets,
    /// What was read and is not decided on.
    seen: Option<Seen>,
    /// What was decided and is not carried out, the next one last.
    to_do: Vec<Adjustment>,
    /// What of the last answers lasts for a time.
    to_renew: Vec<Adjustment>,
}

/// What was read.
struct Seen {
    now: Instant,
    since: Instant,
    pcpus: Vec<PcpuSeen>,
    domains: Vec<DomainSeen>,
}

/// What a domain has got and done since it was created.
#[derive(Clone, Copy, Default)]
struct Totals {
    times: [Duration; 4],
    served: Duration,
    passed: Passed,
}

impl Controlled {
    pub fn new(config: &ControllerConfig) -> Self {
        Controlled {
            controller: (config.entry.make)(&config.params),
            config: config.clone(),
            since: Instant::ZERO,
            before: Vec::new(),
            busy_before: Vec::new(),
            packets: Packets::default(),
            seen: None,
            to_do: Vec::new(),
            to_renew: Vec::new(),
        }
    }

    /// The totals of `domain` at the last observation, and those of now in their place; none for
    /// a domain that was not there.
    fn replace(&mut self, domain: DomainId, now: Totals) -> Option<Totals> {
        if self.before.len() <= domain.index() {
            self.before.resize(domain.index() + 1, None);
        }
        self.before[domain.index()].replace(now)
    }
}

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
            Hypercall::Vcpus => self.vcpus.iter().filter(|v| v.alive).count() as u64,
            Hypercall::Observe(number) => {
                self.observe(usize::from(number), now);
                0
            }
            Hypercall::Decide(number) => self.decide(usize::from(number)),
            Hypercall::Adjust(number) => {
                if let Some(adjustment) = self.controls[usize::from(number)].to_do.pop() {
                    self.adjust_as_told(queue, pcpu, adjustment, now);
                }
                0
            }
            Hypercall::Renew(number) => {
                let renewed = self.controls[usize::from(number)].to_renew.clone();
                for adjustment in renewed {
                    self.renew(queue, pcpu, adjustment, now);
                }
                0
            }
        };
        self.vcpus[vcpu.index()].guest.hypercall_returned(value);
    }

    /// Reads what the host and its domains did since the last time.
    fn observe(&mut self, number: usize, now: Instant) {
        self.mark_accounts(now);
        let mut domains = Vec::new();
        for i in 0..self.domains.len() {
            let id = self.domains[i].config.id;
            if !self.domains[i].alive {
                if let Some(before) = self.controls[number].before.get_mut(id.index()) {
                    *before = None;
                }
                continue;
            }
            let totals = self.totals(i);
            let before = self.controls[number].replace(id, totals);
            // A domain that is new is seen from its creation on.
            let before = before.unwrap_or_default();
            let since =
                |now: [Duration; 4], state: usize| now[state].saturating_sub(before.times[state]);
            domains.push(DomainSeen {
                id,
                is_driver: self.bus.is_driver(id),
                vcpus: self.domains[i].vcpus.len() as u16,
                gotten: since(totals.times, 0),
                waited: since(totals.times, 1),
                blocked: since(totals.times, 2),
                offline: since(totals.times, 3),
                served: totals.served.saturating_sub(before.served),
                packets_in: totals.passed.packets_in - before.passed.packets_in,
                packets_out: totals.passed.packets_out - before.passed.packets_out,
                bytes_in: totals.passed.bytes_in - before.passed.bytes_in,
                bytes_out: totals.passed.bytes_out - before.passed.bytes_out,
                requests_read: totals.passed.requests_read - before.passed.requests_read,
                requests_written: totals.passed.requests_written - before.passed.requests_written,
                set: self.settings(i, now),
            });
        }
        domains.sort_unstable_by_key(|d| d.id);
        if let Accounting::Packets(weight) = self.controls[number].config.accounting {
            self.controls[number]
                .packets
                .charge(&mut domains, &self.bus, &self.domains, weight);
        }
        let busy: Vec<Duration> = self.pcpus.ids().map(|p| self.busy_until(p, now)).collect();
        let control = &mut self.controls[number];
        control.busy_before.resize(busy.len(), Duration::ZERO);
        let pcpus = self.tables.online.iter().map(|pcpu| PcpuSeen {
            pcpu,
            busy: busy[pcpu.index()].saturating_sub(control.busy_before[pcpu.index()]),
        });
        let pcpus = pcpus.collect();
        control.busy_before = busy;
        let since = core::mem::replace(&mut control.since, now);
        control.seen = Some(Seen {
            now,
            since,
            pcpus,
            domains,
        });
    }

    /// What the domain with this index has got and done.
    fn totals(&self, index: usize) -> Totals {
        let domain = &self.domains[index];
        let mut times = [Duration::ZERO; 4];
        for vcpu in &domain.vcpus {
            let of_vcpu = &self.vcpus[vcpu.index()].times;
            for (sum, time) in times.iter_mut().zip(of_vcpu) {
                *sum += *time;
            }
        }
        let id = domain.config.id;
        Totals {
            times,
            served: self.served.get(id.index()).copied().unwrap_or_default(),
            passed: self.bus.passed(id),
        }
    }

    /// How long `pcpu` did not idle until `now`.
    fn busy_until(&self, pcpu: PcpuId, now: Instant) -> Duration {
        let busy = self.busy.get(pcpu.index()).copied().unwrap_or_default();
        match self.tables.pcpus[pcpu].current {
            Some(_) => busy.time + now.saturating_since(busy.since),
            None => busy.time,
        }
    }

    /// What is set for the domain with this index.
    fn settings(&self, index: usize, now: Instant) -> Settings {
        let config = &self.domains[index].config;
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
            traffic: (D::PRESENT && self.bus.serves(config.id) && !self.bus.is_driver(config.id))
                .then(|| self.domains[index].traffic_at(now)),
            debt: self.scheduler.debt(config.id),
        }
    }

    /// Has the controller decide on what was read. How many adjustments it wants, and how many of
    /// them last for a time.
    fn decide(&mut self, number: usize) -> u64 {
        let policy: Vec<PolicySeen> = self.policy_params();
        let abilities = self.abilities(&policy);
        let control = &mut self.controls[number];
        let Some(seen) = control.seen.take() else {
            return 0;
        };
        let defaults = ParamValues::defaults(control.config.entry.descriptor.domain_params);
        for domain in &seen.domains {
            let own = control.config.domain_params.iter();
            let own = own.clone().find(|(id, _)| *id == domain.id);
            let params = own.map_or(defaults, |(_, params)| *params);
            control.controller.set_domain(domain.id, &params);
        }
        let mut answers = Answers::new();
        control.controller.observe(
            &Observation {
                now: seen.now,
                since: seen.since,
                pcpus: &seen.pcpus,
                domains: &seen.domains,
                abilities,
                policy: &policy,
            },
            &mut answers,
        );
        control.to_do = answers.list().to_vec();
        control.to_do.reverse();
        let lasts =
            |a: &&Adjustment| matches!(a, Adjustment::Domain { change, .. } if change.renews());
        control.to_renew = answers.list().iter().filter(lasts).copied().collect();
        let renewed = control.to_renew.len() as u64;
        control.to_do.len() as u64 | renewed << Hypercall::RENEWED_SHIFT
    }

    /// Carries out again what lasts for a time, unless something else was set meanwhile.
    fn renew(&mut self, queue: &mut Queue, pcpu: PcpuId, adjustment: Adjustment, now: Instant) {
        let Adjustment::Domain { domain, .. } = adjustment else {
            return;
        };
        let guarded = |d: &super::Domain| {
            d.alive && d.config.id == domain && matches!(d.traffic, Traffic::Guarded { .. })
        };
        if self.domains.iter().any(guarded) {
            self.adjust_as_told(queue, pcpu, adjustment, now);
        }
    }

    /// What can be set on this host.
    fn abilities(&self, policy: &[PolicySeen]) -> Kinds {
        let specs = self.scheduler.descriptor().domain_params;
        let has = |name| specs.iter().any(|spec| spec.name == name);
        Kinds {
            weight: has("weight"),
            cap: has("cap"),
            reservation: has("period_us") && has("slice_us"),
            traffic: D::PRESENT,
            charge: self.scheduler.descriptor().promises.charges,
            policy: !policy.is_empty(),
        }
    }

    /// The parameters of the policy that can be changed, with their values.
    fn policy_params(&self) -> Vec<PolicySeen> {
        let Some(values) = self.scheduler.params() else {
            return Vec::new();
        };
        let seen = |spec: &'static ParamSpec| {
            let value = values.by_name(spec.name)?;
            Some(PolicySeen { spec, value })
        };
        let changeable = self.scheduler.descriptor().changeable.iter();
        changeable.filter_map(seen).collect()
    }

    /// Changes one parameter of the policy.
    fn adjust_policy(&mut self, queue: &mut Queue, name: &str, value: i64, now: Instant) {
        let Some(mut params) = self.scheduler.params().copied() else {
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
        let alive = |d: &&mut super::Domain| d.alive && d.config.id == domain;
        let Some(d) = self.domains.iter_mut().find(alive) else {
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
                return self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
                    s.charge(cx, domain, done);
                });
            }
        };
        if set.is_ok() {
            self.adjust(queue, domain, &params, now);
        }
    }
}

/// How long a pcpu has been busy.
#[derive(Clone, Copy, Default)]
pub(super) struct Busy {
    time: Duration,
    /// Since when it has been, if it is.
    since: Instant,
}

impl Busy {
    /// The pcpu begins to be busy, or ceases.
    pub fn turn(&mut self, busy: bool, now: Instant) {
        if busy {
            self.since = now;
        } else {
            self.time += now.since(self.since);
        }
    }
}
