//! Histories: what a controller is shown, interval by interval, as plain data.

use alloc::string::String;
use alloc::vec::Vec;
use domio_contract::control::{Change, DomainSeen, Kinds, PcpuSeen, PolicySeen};
use domio_core::{DomainId, Duration};

/// Ids of domains in histories are multiples of this, dom0's is 0. The ids between are free for
/// [`History::renamed`].
pub const ID_STEP: u16 = 8;

/// What becomes of the answers to an observation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// They are carried out before the next observation.
    AtOnce,
    /// They are carried out after the next observation, by those domains that are still there.
    Late,
    /// They are not carried out.
    Lost,
}

/// One interval and the observation at its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Round {
    /// How long the interval is; may be zero.
    pub length: Duration,
    /// What can be set.
    pub abilities: Kinds,
    /// The pcpus.
    pub pcpus: Vec<PcpuSeen>,
    /// The domains, in ascending order of ids. [`DomainSeen::set`] counts for those that the round
    /// before does not show; the others keep what they have.
    pub domains: Vec<DomainSeen>,
    /// What an operator sets before the observation: whose, and what.
    pub operator: Vec<(DomainId, Change)>,
    /// Whose parameters an operator changes before the observation, and the seed that the values
    /// are drawn with. Values of domains that are new are the defaults.
    pub told: Vec<(DomainId, u64)>,
    /// What becomes of the answers.
    pub fate: Fate,
}

/// A life of a host, as a controller sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// Name for reports.
    pub name: String,
    /// Parameters of the policy at the start.
    pub policy: Vec<PolicySeen>,
    /// Interval by interval.
    pub rounds: Vec<Round>,
}

impl Round {
    /// A round that shows nobody.
    pub fn empty(length: Duration) -> Self {
        Round {
            length,
            abilities: Kinds::ALL,
            pcpus: Vec::new(),
            domains: Vec::new(),
            operator: Vec::new(),
            told: Vec::new(),
            fate: Fate::AtOnce,
        }
    }

    /// Whether the round shows `id`.
    pub fn has(&self, id: DomainId) -> bool {
        self.domains.iter().any(|d| d.id == id)
    }
}

impl History {
    /// The same, in which a domain that comes back is another domain: it has the next free id
    /// instead of its old one. Order by id stays as it is. `None` when nobody comes back.
    pub fn renamed(&self) -> Option<History> {
        let mut renamed = self.clone();
        // By domain: how often it came, and whether the last round showed it.
        let mut lives: Vec<(DomainId, u16, bool)> = Vec::new();
        let mut again = false;
        for (round, new) in self.rounds.iter().zip(&mut renamed.rounds) {
            for (id, _, there) in &mut lives {
                *there &= round.has(*id);
            }
            for domain in &round.domains {
                match lives.iter_mut().find(|(id, _, _)| *id == domain.id) {
                    Some((_, _, true)) => {}
                    Some((_, life, there)) => {
                        *life = (*life + 1).min(ID_STEP - 1);
                        *there = true;
                        again = true;
                    }
                    None => lives.push((domain.id, 0, true)),
                }
            }
            let rename = |id: &mut DomainId| {
                let life = lives.iter().find(|(of, _, _)| of == id);
                id.0 += life.map_or(0, |(_, life, _)| *life);
            };
            new.domains.iter_mut().for_each(|d| rename(&mut d.id));
            new.operator.iter_mut().for_each(|(id, _)| rename(id));
            new.told.iter_mut().for_each(|(id, _)| rename(id));
        }
        again.then_some(renamed)
    }

    /// The same, after which the last round is repeated `rounds` times with all answers carried
    /// out, so that nothing changes but what they set. `None` when it shows nobody, or when no time
    /// goes by in it.
    pub fn held(&self, rounds: usize) -> Option<History> {
        let mut last = self.rounds.last()?.clone();
        if last.domains.is_empty() || last.length.is_zero() {
            return None;
        }
        last.operator.clear();
        last.told.clear();
        last.fate = Fate::AtOnce;
        let mut held = self.clone();
        held.rounds.extend(core::iter::repeat_n(last, rounds));
        Some(held)
    }
}

/// The name in the history itself of a domain of [`History::renamed`].
pub fn original(id: DomainId) -> DomainId {
    DomainId(id.0 - id.0 % ID_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn history(shown: &[&[u16]]) -> History {
        let rounds = shown.iter().map(|ids| Round {
            domains: ids
                .iter()
                .map(|id| DomainSeen {
                    id: DomainId(*id),
                    ..DomainSeen::default()
                })
                .collect(),
            ..Round::empty(Duration::from_millis(1))
        });
        History {
            name: String::new(),
            policy: Vec::new(),
            rounds: rounds.collect(),
        }
    }

    fn shown(history: &History) -> Vec<Vec<u16>> {
        let ids = |r: &Round| r.domains.iter().map(|d| d.id.0).collect();
        history.rounds.iter().map(ids).collect()
    }

    #[test]
    fn who_comes_back_gets_another_name() {
        let lives = history(&[&[0, 8], &[0], &[8, 16], &[8], &[16], &[8, 16]]);
        let renamed = lives.renamed().expect("domain 8 comes back");
        let expected: [&[u16]; 6] = [&[0, 8], &[0], &[9, 16], &[9], &[17], &[10, 17]];
        assert_eq!(shown(&renamed), expected);
        assert_eq!(history(&[&[0, 8], &[0], &[0, 16]]).renamed(), None);
        assert_eq!(original(DomainId(17)), DomainId(16));
    }

    #[test]
    fn a_held_history_repeats_its_end() {
        let mut one = history(&[&[0], &[0, 8]]);
        one.rounds[1].operator = vec![(DomainId(8), Change::Cap(1))];
        one.rounds[1].fate = Fate::Lost;
        let held = one.held(2).expect("the last round shows somebody");
        assert_eq!(held.rounds[..2], one.rounds[..]);
        assert_eq!(held.rounds[2], held.rounds[3]);
        assert_eq!(held.rounds[3].domains, one.rounds[1].domains);
        assert!(held.rounds[3].operator.is_empty() && held.rounds[3].fate == Fate::AtOnce);
        assert_eq!(history(&[&[0], &[]]).held(2), None);
    }
}
