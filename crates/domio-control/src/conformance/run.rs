//! Runs a controller through a history and keeps what it was shown and what it answered.

use super::history::{Fate, History, Round};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use domio_contract::control::{
    Adjustment, Answers, Change, Controller, DomainSeen, Kinds, Observation, PcpuSeen, PolicySeen,
    Settings,
};
use domio_core::{DomainId, Instant, ParamValues};
use domio_suite::drawn;

/// One observation and the answers to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// [`Observation::now`].
    pub now: Instant,
    /// [`Observation::since`].
    pub since: Instant,
    /// [`Observation::pcpus`].
    pub pcpus: Vec<PcpuSeen>,
    /// [`Observation::domains`].
    pub domains: Vec<DomainSeen>,
    /// [`Observation::abilities`].
    pub abilities: Kinds,
    /// [`Observation::policy`].
    pub policy: Vec<PolicySeen>,
    /// The answers.
    pub answers: Vec<Adjustment>,
}

/// A controller's life under one history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// One entry a round.
    pub log: Vec<Taken>,
    /// What the controller's `dump` wrote at the end.
    pub dump: String,
}

impl Taken {
    /// What the controller was shown.
    pub fn observation(&self) -> Observation<'_> {
        Observation {
            now: self.now,
            since: self.since,
            pcpus: &self.pcpus,
            domains: &self.domains,
            abilities: self.abilities,
            policy: &self.policy,
        }
    }
}

impl fmt::Display for Taken {
    /// A line for the observation, one for each domain, one for each answer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.now.saturating_since(self.since);
        writeln!(f, "{}, after {length}:", self.now)?;
        for d in &self.domains {
            write!(
                f,
                "  {} of {} vcpus got {}, waited {},",
                d.id, d.vcpus, d.gotten, d.waited
            )?;
            write!(f, " served {};", d.served)?;
            for kind in domio_contract::control::SettingKind::ALL {
                if let Some(set) = d.set.get(kind) {
                    write!(f, " {set}")?;
                }
            }
            writeln!(f)?;
        }
        for answer in &self.answers {
            writeln!(f, "  -> {answer}")?;
        }
        Ok(())
    }
}

/// Domains that exist, with what is set.
struct Host {
    domains: Vec<(DomainId, Settings)>,
    policy: Vec<PolicySeen>,
}

impl Host {
    /// Carries the answers out, for those who are still there.
    fn carry_out(&mut self, answers: &[Adjustment]) {
        for answer in answers {
            match *answer {
                Adjustment::Domain { domain, change } => self.set(domain, change),
                Adjustment::Policy { name, value } => {
                    if let Some(p) = self.policy.iter_mut().find(|p| p.spec.name == name) {
                        p.value = value;
                    }
                }
            }
        }
    }

    fn set(&mut self, domain: DomainId, change: Change) {
        if let Some((_, settings)) = self.domains.iter_mut().find(|(id, _)| *id == domain) {
            settings.set(change);
        }
    }

    /// Who comes (the answer), who goes, and what the operator does in `round`.
    fn begin(&mut self, round: &Round) -> Vec<DomainId> {
        self.domains.retain(|(id, _)| round.has(*id));
        let mut new = Vec::new();
        for seen in &round.domains {
            if !self.domains.iter().any(|(id, _)| *id == seen.id) {
                self.domains.push((seen.id, seen.set));
                new.push(seen.id);
            }
        }
        for (id, change) in &round.operator {
            self.set(*id, *change);
        }
        new
    }

    /// What is shown of `seen`.
    fn show(&self, seen: &DomainSeen) -> DomainSeen {
        let found = self.domains.iter().find(|(id, _)| *id == seen.id);
        let set = found.map_or(seen.set, |(_, set)| *set);
        DomainSeen { set, ..*seen }
    }
}

/// Runs `controller` through `history`.
pub fn run(history: &History, mut controller: Box<dyn Controller>) -> Run {
    let params = controller.descriptor().domain_params;
    let mut host = Host {
        domains: Vec::new(),
        policy: history.policy.clone(),
    };
    let mut log: Vec<Taken> = Vec::new();
    let mut now = Instant::ZERO;
    let mut late: Vec<Adjustment> = Vec::new();
    let mut answers = Answers::new();
    for round in &history.rounds {
        let since = now;
        now = now.saturating_add(round.length);
        for id in host.begin(round) {
            controller.set_domain(id, &ParamValues::defaults(params));
        }
        for (id, seed) in &round.told {
            if round.has(*id) {
                controller.set_domain(*id, &drawn(params, *seed));
            }
        }
        let mut taken = Taken {
            now,
            since,
            pcpus: round.pcpus.clone(),
            domains: round.domains.iter().map(|d| host.show(d)).collect(),
            abilities: round.abilities,
            policy: host.policy.clone(),
            answers: Vec::new(),
        };
        controller.observe(&taken.observation(), &mut answers);
        taken.answers = answers.list().to_vec();
        answers.clear();
        host.carry_out(&core::mem::take(&mut late));
        match round.fate {
            Fate::AtOnce => host.carry_out(&taken.answers),
            Fate::Late => late = taken.answers.clone(),
            Fate::Lost => {}
        }
        log.push(taken);
    }
    let mut dump = String::new();
    controller.dump(&mut dump).expect("a string takes any text");
    Run { log, dump }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_contract::control::{Descriptor, Promises, interval_ms};
    use domio_core::Duration;

    /// Answers each observation with a cap of one more than it saw, for all it sees.
    struct OneMore;

    static DESCRIPTOR: Descriptor = Descriptor {
        name: "one-more",
        summary: "",
        source: "",
        interval: interval_ms(1, 1, 1),
        params: &[],
        domain_params: &[],
        answers: Kinds::ALL,
        promises: Promises { settles: false },
    };

    impl Controller for OneMore {
        fn descriptor(&self) -> &'static Descriptor {
            &DESCRIPTOR
        }

        fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
            for d in seen.domains {
                answers.domain(d.id, Change::Cap(d.set.cap.unwrap_or(0) + 1));
            }
        }

        fn dump(&self, out: &mut dyn fmt::Write) -> fmt::Result {
            out.write_str("one more")
        }
    }

    /// The caps of domain 8 that the controller sees when its answers have these fates; it is not
    /// there where there is none.
    fn caps(fates: &[Option<Fate>]) -> Vec<Option<u32>> {
        let mut rounds = Vec::new();
        for fate in fates {
            let mut round = Round::empty(Duration::from_millis(1));
            if let Some(fate) = fate {
                round.fate = *fate;
                round.domains.push(DomainSeen {
                    id: DomainId(8),
                    set: Settings {
                        cap: Some(10),
                        ..Settings::default()
                    },
                    ..DomainSeen::default()
                });
            }
            rounds.push(round);
        }
        let history = History {
            name: String::new(),
            policy: Vec::new(),
            rounds,
        };
        let run = run(&history, Box::new(OneMore));
        assert_eq!(run.dump, "one more");
        let cap = |t: &Taken| t.domains.first().and_then(|d| d.set.cap);
        run.log.iter().map(cap).collect()
    }

    #[test]
    fn answers_are_carried_out_at_once_late_or_never() {
        use Fate::{AtOnce, Late, Lost};
        let all = caps(&[Some(AtOnce), Some(Late), Some(Lost), Some(AtOnce), None]);
        assert_eq!(all, [Some(10), Some(11), Some(11), Some(12), None]);
    }

    #[test]
    fn late_answers_do_not_reach_who_comes_back() {
        use Fate::{AtOnce, Late};
        let all = caps(&[Some(AtOnce), Some(Late), None, Some(Late), Some(AtOnce)]);
        assert_eq!(all, [Some(10), Some(11), None, Some(10), Some(10)]);
    }
}
