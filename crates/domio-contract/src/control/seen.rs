//! What a controller sees: figures of the interval that just ended, and what is set.
//!
//! Every figure is of the interval from [`Observation::since`] to [`Observation::now`]. Figures may
//! be exact (a simulated host knows them), counted by a tool that reads a trace, or estimated (work
//! in a driver domain by counting packets); a controller cannot say and makes do with any. They may
//! contradict each other a little, because not all of them are read at the same instant.

use super::change::{Adjustment, Kinds, Settings};
use core::fmt;
use domio_core::{DomainId, Duration, Instant, ParamSpec, PcpuId};

/// A pcpu in one interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PcpuSeen {
    /// Which.
    pub pcpu: PcpuId,
    /// How long it did not idle.
    pub busy: Duration,
}

/// A domain in one interval.
///
/// The four times are sums over its vcpus. Together they are `vcpus` times the part of the interval
/// in which the domain was there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DomainSeen {
    /// Which.
    pub id: DomainId,
    /// Whether it has a device that other domains use.
    pub is_driver: bool,
    /// How many vcpus it has.
    pub vcpus: u16,
    /// Time in which they ran.
    pub gotten: Duration,
    /// Time in which they were runnable and waited for a pcpu.
    pub waited: Duration,
    /// Time in which they waited for an event.
    pub blocked: Duration,
    /// Time in which they were kept from running: paused, parked by a cap, throttled, not brought
    /// up.
    pub offline: Duration,
    /// Time for which driver domains worked on its behalf, all of them together. What a driver
    /// domain does for itself is not in it.
    pub served: Duration,
    /// Packets that it was handed.
    pub packets_in: u64,
    /// Packets that it sent.
    pub packets_out: u64,
    /// Bytes of `packets_in`.
    pub bytes_in: u64,
    /// Bytes of `packets_out`.
    pub bytes_out: u64,
    /// Requests to read from its disks.
    pub requests_read: u64,
    /// Requests to write to its disks.
    pub requests_written: u64,
    /// What was set at [`Observation::now`].
    pub set: Settings,
}

/// A parameter of the scheduling policy that can be changed while the host runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicySeen {
    /// Its name, range and meaning.
    pub spec: &'static ParamSpec,
    /// Its value at [`Observation::now`].
    pub value: i64,
}

/// A host in one interval.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// When the figures were read, the end of the interval. Answers are carried out later.
    pub now: Instant,
    /// The start of the interval: `now` of the observation before, or when the observing began.
    /// Not later than `now`, and the same when no time went by.
    pub since: Instant,
    /// The pcpus in service, in ascending order.
    pub pcpus: &'a [PcpuSeen],
    /// The domains that exist, in ascending order of their ids, each once.
    pub domains: &'a [DomainSeen],
    /// What can be set on this host. A domain that lacks a setting of such a kind shows `None` in
    /// [`DomainSeen::set`].
    pub abilities: Kinds,
    /// The parameters of the policy that can be set, if [`Kinds::policy`] is among the abilities.
    pub policy: &'a [PolicySeen],
}

/// Why an answer cannot be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// No domain of that id was seen.
    NoDomain,
    /// The host cannot set things of that kind, or the domain or policy has nothing of that kind.
    NoAbility,
    /// The value is out of its range.
    OutOfRange,
    /// The value is what is set already.
    NoChange,
}

impl<'a> Observation<'a> {
    /// How long the interval was.
    pub const fn length(&self) -> Duration {
        self.now.saturating_since(self.since)
    }

    /// The domain `id`, if it exists.
    pub fn domain(&self, id: DomainId) -> Option<&'a DomainSeen> {
        let i = self.domains.binary_search_by_key(&id, |d| d.id).ok()?;
        Some(&self.domains[i])
    }

    /// `time` within the interval as a share of one pcpu, in millionths, rounded down; `None` when
    /// no time went by. 1 % of one pcpu is 10 000.
    pub fn millionths(&self, time: Duration) -> Option<u64> {
        let length = u128::from(self.length().as_nanos());
        let share = (u128::from(time.as_nanos()) * 1_000_000).checked_div(length)?;
        Some(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// Why `answer`, given to this observation, cannot be carried out; `None` when it can.
    pub fn refuses(&self, answer: &Adjustment) -> Option<Refusal> {
        let (ability, in_range, news) = match *answer {
            Adjustment::Domain { domain, change } => {
                let Some(domain) = self.domain(domain) else {
                    return Some(Refusal::NoDomain);
                };
                let set = domain.set.get(change.kind());
                (
                    set.is_some(),
                    change.in_range(domain.vcpus),
                    set != Some(change) || change.is_increment() || change.renews(),
                )
            }
            Adjustment::Policy { name, value } => {
                match self.policy.iter().find(|p| p.spec.name == name) {
                    Some(seen) => (true, seen.spec.allows(value), seen.value != value),
                    None => (false, true, true),
                }
            }
        };
        if !ability || !self.abilities.has(answer.kind()) {
            Some(Refusal::NoAbility)
        } else if !in_range {
            Some(Refusal::OutOfRange)
        } else if !news {
            Some(Refusal::NoChange)
        } else {
            None
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::NoDomain => "no such domain was seen",
            Refusal::NoAbility => "nothing of the kind can be set there",
            Refusal::OutOfRange => "the value is out of its range",
            Refusal::NoChange => "the value is set already",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::change::{Change, Traffic};
    use super::*;
    use domio_core::ParamKind;

    static TSLICE: ParamSpec = ParamSpec {
        name: "tslice_ms",
        unit: "ms",
        kind: ParamKind::Int {
            min: 1,
            max: 1000,
            or_zero: false,
        },
        default: 30,
        doc: "",
    };

    #[test]
    fn a_share_is_of_one_pcpu_and_of_the_interval() {
        let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut seen = Observation {
            now: ms(700),
            since: ms(200),
            pcpus: &[],
            domains: &[],
            abilities: Kinds::NONE,
            policy: &[],
        };
        assert_eq!(seen.length(), Duration::from_millis(500));
        let share = |time| seen.millionths(time);
        assert_eq!(share(Duration::from_millis(125)), Some(250_000));
        assert_eq!(share(Duration::from_secs(1)), Some(2_000_000));
        assert_eq!(share(Duration::from_nanos(499)), Some(0));
        seen.since = seen.now;
        assert_eq!(seen.millionths(Duration::from_secs(1)), None);
        seen.since = Instant::from_nanos(seen.now.as_nanos() - 1);
        assert_eq!(seen.millionths(Duration::MAX), Some(u64::MAX));
    }

    #[test]
    fn an_answer_is_refused_for_the_first_thing_that_is_wrong() {
        let one = DomainSeen {
            id: DomainId(1),
            vcpus: 1,
            set: Settings {
                cap: Some(40),
                weight: Some(256),
                ..Settings::default()
            },
            ..DomainSeen::default()
        };
        let policy = [PolicySeen {
            spec: &TSLICE,
            value: 30,
        }];
        let seen = Observation {
            now: Instant::ZERO,
            since: Instant::ZERO,
            pcpus: &[],
            domains: &[one],
            abilities: Kinds {
                weight: false,
                ..Kinds::ALL
            },
            policy: &policy,
        };
        let domain = |id, change| {
            seen.refuses(&Adjustment::Domain {
                domain: DomainId(id),
                change,
            })
        };
        let tslice = |name, value| seen.refuses(&Adjustment::Policy { name, value });
        assert_eq!(domain(2, Change::Cap(40)), Some(Refusal::NoDomain));
        assert_eq!(domain(1, Change::Cap(101)), Some(Refusal::OutOfRange));
        assert_eq!(domain(1, Change::Cap(40)), Some(Refusal::NoChange));
        assert_eq!(domain(1, Change::Cap(41)), None);
        let weight = domain(1, Change::Weight(512));
        assert_eq!(weight, Some(Refusal::NoAbility), "the host has no ability");
        let traffic = domain(1, Change::Traffic(Traffic::Stopped));
        assert_eq!(traffic, Some(Refusal::NoAbility), "the domain has no vif");
        assert_eq!(tslice("tslice_ms", 0), Some(Refusal::OutOfRange));
        assert_eq!(tslice("tslice_ms", 30), Some(Refusal::NoChange));
        assert_eq!(tslice("tslice_ms", 5), None);
        assert_eq!(tslice("ratelimit_us", 5), Some(Refusal::NoAbility));
    }
}
