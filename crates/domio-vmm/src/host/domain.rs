//! The domains of a host: their configuration, and what became of each.

use crate::config::{Action, DomainConfig, GroupConfig, HostConfig};
use crate::event::{Event, Queue};
use alloc::format;
use alloc::vec::Vec;
use domio_contract::control::Traffic;
use domio_core::{CpuSet, DomainId, Instant, PcpuId, VcpuId, XenVersion};
use domio_sim::RandomStream;

/// A domain of the configuration.
pub(crate) struct Domain {
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

/// All domains of the configuration, and what an operator does with them.
pub(crate) struct Domains {
    pub all: Vec<Domain>,
    pub groups: Vec<GroupConfig>,
    pub actions: Vec<(Instant, Action)>,
    seed: u64,
    replication: u32,
}

impl Domains {
    /// The domains of `config`, none of them created. Their random streams are those of `seed` and
    /// `replication`.
    pub fn new(config: &HostConfig, seed: u64, replication: u32) -> Self {
        Domains {
            all: config.domains.iter().cloned().map(Domain::new).collect(),
            groups: config.groups.clone(),
            actions: config.actions.clone(),
            seed,
            replication,
        }
    }

    /// Puts the creation and destruction of the domains and the operator's actions into `queue`.
    pub fn post_plan(&self, queue: &mut Queue) {
        for (i, domain) in self.all.iter().enumerate() {
            queue.post(domain.config.start, Event::Start(i as u32));
            if let Some(stop) = domain.config.stop {
                queue.post(stop, Event::Destroy(i as u32));
            }
        }
        for (i, (at, _)) in self.actions.iter().enumerate() {
            queue.post(*at, Event::Action(i as u32));
        }
    }

    /// Seed and replication of the random streams.
    pub fn seeds(&self) -> (u64, u32) {
        (self.seed, self.replication)
    }

    /// The pcpu, one of `online`, on which the first vcpu of the domain called `name` begins in
    /// some releases. Each domain has a stream of its own, so that nobody's luck depends on who
    /// else is created.
    pub fn draw_pcpu(&self, name: &str, online: &CpuSet) -> PcpuId {
        let component = format!("{name}/first-pcpu");
        let mut stream = RandomStream::new(self.seed, self.replication, &component);
        let drawn = stream.below(online.len() as u64) as usize;
        online.iter().nth(drawn).expect("a host has a pcpu online")
    }

    /// The domain with this id, if it is there.
    pub fn alive_mut(&mut self, domain: DomainId) -> Option<&mut Domain> {
        let mut all = self.all.iter_mut();
        all.find(|d| d.alive && d.config.id == domain)
    }

    /// Whether `domain` is there.
    pub fn is_alive(&self, domain: DomainId) -> bool {
        self.all.iter().any(|d| d.alive && d.config.id == domain)
    }

    /// The vcpus of `domain`, if it is there.
    pub fn vcpus_of(&self, domain: DomainId) -> Vec<VcpuId> {
        let mut all = self.all.iter();
        let found = all.find(|d| d.alive && d.config.id == domain);
        found.map_or_else(Vec::new, |d| d.vcpus.clone())
    }

    /// Takes down that the toolstack pauses `domain`. Since 4.5 such pauses are counted, before
    /// there is a flag. Returns whether it was not paused.
    pub fn count_pause(&mut self, version: XenVersion, domain: DomainId) -> bool {
        let counts = version >= XenVersion::V4_5;
        let Some(d) = self.alive_mut(domain) else {
            return false;
        };
        let was_running = d.paused == 0;
        d.paused = if counts { d.paused + 1 } else { 1 };
        was_running
    }

    /// Takes down that the toolstack ends a pause of `domain`. Returns whether that was the last.
    pub fn count_unpause(&mut self, domain: DomainId) -> bool {
        let Some(d) = self.alive_mut(domain) else {
            return false;
        };
        d.paused = d.paused.saturating_sub(1);
        d.paused == 0
    }
}

/// Whether an affinity, hard or soft, says nothing for every vcpu, from beginning to end: `of`
/// picks it from those of a vcpu, hard and soft.
pub(crate) fn says_nothing(config: &HostConfig, of: impl Fn(CpuSet, CpuSet) -> CpuSet) -> bool {
    let mut vcpus = config.domains.iter().flat_map(|d| &d.vcpus);
    let pins = |(_, action): &(Instant, Action)| match action {
        Action::Pin { hard, soft, .. } => of(*hard, *soft) != CpuSet::ALL,
        _ => false,
    };
    vcpus.all(|v| of(v.hard, v.soft) == CpuSet::ALL) && !config.actions.iter().any(pins)
}
