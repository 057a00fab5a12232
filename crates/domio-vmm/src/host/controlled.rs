//! Controllers: what each has read, decided and not carried out yet.

use super::counting::Packets;
use super::domain::Domain;
use crate::bus::device::{Device, Passed};
use crate::bus::models::Bus;
use crate::config::{Accounting, ControllerConfig};
use crate::process::Hypercall;
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_contract::control::{
    Adjustment, Answers, Controller, DomainSeen, Kinds, Observation, PcpuSeen, PolicySeen, Settings,
};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues};

/// A controller of the host.
pub(crate) struct Controlled {
    controller: Box<dyn Controller>,
    pub config: ControllerConfig,
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
pub(crate) struct Totals {
    pub times: [Duration; 4],
    pub served: Duration,
    pub passed: Passed,
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

    /// `domain` is not there: what it did before is forgotten.
    pub fn forget(&mut self, domain: DomainId) {
        if let Some(before) = self.before.get_mut(domain.index()) {
            *before = None;
        }
    }

    /// What `domain`, whose totals are `totals`, has got and done since the last observation; one
    /// that is new, since its creation. The rest of what is seen of it is left to the caller.
    pub fn seen_of(&mut self, domain: DomainId, totals: Totals, set: Settings) -> DomainSeen {
        if self.before.len() <= domain.index() {
            self.before.resize(domain.index() + 1, None);
        }
        let before = self.before[domain.index()].replace(totals);
        let before = before.unwrap_or_default();
        let since = |state: usize| totals.times[state].saturating_sub(before.times[state]);
        let (now, then) = (totals.passed, before.passed);
        DomainSeen {
            id: domain,
            is_driver: false,
            vcpus: 0,
            gotten: since(0),
            waited: since(1),
            blocked: since(2),
            offline: since(3),
            served: totals.served.saturating_sub(before.served),
            packets_in: now.packets_in - then.packets_in,
            packets_out: now.packets_out - then.packets_out,
            bytes_in: now.bytes_in - then.bytes_in,
            bytes_out: now.bytes_out - then.bytes_out,
            requests_read: now.requests_read - then.requests_read,
            requests_written: now.requests_written - then.requests_written,
            set,
        }
    }

    /// Puts an estimate in place of what `seen` says was worked for each domain, where the
    /// controller knows no better.
    pub fn estimate<D: Device>(
        &mut self,
        seen: &mut [DomainSeen],
        bus: &Bus<D>,
        domains: &[Domain],
    ) {
        if let Accounting::Packets(weight) = self.config.accounting {
            self.packets.charge(seen, bus, domains, weight);
        }
    }

    /// Figures of `now` were read: those of `domains`, and how long each pcpu was busy altogether,
    /// of which those `online` are seen.
    pub fn has_read(
        &mut self,
        now: Instant,
        domains: Vec<DomainSeen>,
        busy: Vec<Duration>,
        online: &CpuSet,
    ) {
        self.busy_before.resize(busy.len(), Duration::ZERO);
        let pcpus = online.iter().map(|pcpu| PcpuSeen {
            pcpu,
            busy: busy[pcpu.index()].saturating_sub(self.busy_before[pcpu.index()]),
        });
        let pcpus = pcpus.collect();
        self.busy_before = busy;
        let since = core::mem::replace(&mut self.since, now);
        self.seen = Some(Seen {
            now,
            since,
            pcpus,
            domains,
        });
    }

    /// Has the controller decide on what was read, on a host where `abilities` can be set and the
    /// policy's parameters are `policy`. How many adjustments it wants, and how many of them last
    /// for a time.
    pub fn decide(&mut self, abilities: Kinds, policy: &[PolicySeen]) -> u64 {
        let Some(seen) = self.seen.take() else {
            return 0;
        };
        let defaults = ParamValues::defaults(self.config.entry.descriptor.domain_params);
        for domain in &seen.domains {
            let own = self.config.domain_params.iter();
            let own = own.clone().find(|(id, _)| *id == domain.id);
            let params = own.map_or(defaults, |(_, params)| *params);
            self.controller.set_domain(domain.id, &params);
        }
        let mut answers = Answers::new();
        self.controller.observe(
            &Observation {
                now: seen.now,
                since: seen.since,
                pcpus: &seen.pcpus,
                domains: &seen.domains,
                abilities,
                policy,
            },
            &mut answers,
        );
        self.to_do = answers.list().to_vec();
        self.to_do.reverse();
        let lasts =
            |a: &&Adjustment| matches!(a, Adjustment::Domain { change, .. } if change.renews());
        self.to_renew = answers.list().iter().filter(lasts).copied().collect();
        let renewed = self.to_renew.len() as u64;
        self.to_do.len() as u64 | renewed << Hypercall::RENEWED_SHIFT
    }

    /// The next adjustment that is to be carried out.
    pub fn next(&mut self) -> Option<Adjustment> {
        self.to_do.pop()
    }

    /// Those of the last answers that last for a time.
    pub fn to_renew(&self) -> Vec<Adjustment> {
        self.to_renew.clone()
    }
}
