//! The JSON of `domio explain --json`, of a scenario and of a trace.

use std::collections::BTreeMap;

use domio_core::{DomainId, Instant, PcpuId, VcpuName};
use serde::Serialize;

use super::cause::{Cause, ItemQueue, ItemWaits, Side};
use super::result::{DomainWaits, Explanation, LongWait, VcpuWaits};
use super::tells::WaitTells;
use super::waits::map::{Map, MapChange, MapRow};
use super::waits::why::Why;
use crate::{DriverWorkJson, ResidenceJson};

/// An explanation as JSON; times in nanoseconds, instants since the first record, or since the
/// warm-up.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExplanationJson {
    /// Length of the time that counts, over all runs.
    pub elapsed_ns: u64,
    /// When it begins by the trace's own clock.
    pub start_ns: u64,
    /// Runs that are added up; 1 for a trace.
    pub runs: u32,
    /// Records of all kinds.
    pub records: u64,
    /// Records that are missing.
    pub lost_records: u64,
    /// Whether the file ends too early.
    pub truncated: bool,
    /// Whether there are records of runstates.
    pub runstates: bool,
    /// Pcpus that records came from.
    pub pcpus: Vec<u16>,
    /// Whose private records there are; `null` without any.
    pub policy: Option<&'static str>,
    /// Which records there are.
    pub tells: TellsJson,
    /// What the trace does not tell, a sentence each.
    pub untold: Vec<String>,
    /// By id.
    pub domains: Vec<DomainWaitsJson>,
    /// By name.
    pub vcpus: Vec<VcpuWaitsJson>,
    /// The longest waits.
    pub worst_waits: Vec<WaitedJson>,
    /// The longest waits after a wake-up.
    pub worst_wakeups: Vec<WaitedJson>,
    /// Waits that last when the trace ends.
    pub unfinished: Vec<WaitedJson>,
    /// Who ran where in a part of the trace; `null` when nothing changed there.
    pub map: Option<MapJson>,
    /// For whom driver domains worked, by id; left out where none worked for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub driver_work: Vec<DriverWorkJson>,
}

/// A domain, see [`DomainWaits`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DomainWaitsJson {
    /// Xen's domid.
    pub id: u16,
    /// Its name, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its vcpus ran.
    pub running_ns: u64,
    /// They were blocked, paused or parked.
    pub at_rest_ns: u64,
    /// They were runnable.
    pub runnable_ns: u64,
    /// Parts of `runnable_ns`.
    pub run_queue: Vec<BehindJson>,
    /// Its packets and requests, by class; left out when it had none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemsJson>,
}

/// Time behind a domain.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BehindJson {
    /// The domain that ran meanwhile; `null` where none did.
    pub domain: Option<u16>,
    /// The time.
    pub ns: u64,
}

/// Items of one class, see [`ItemWaits`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ItemsJson {
    /// Name of the class.
    pub class: &'static str,
    /// What the items are ("packets").
    pub items: &'static str,
    /// The device behind the driver domain, where the trace tells several apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
    /// Items that began their way.
    pub begun: u64,
    /// Items under way at the end.
    pub under_way: u64,
    /// Time that items were under way.
    pub total_ns: u64,
    /// Parts of it, by [`ItemQueue::key`].
    pub queues_ns: BTreeMap<&'static str, u64>,
    /// The same, told apart further.
    pub waits: Vec<ItemWaitJson>,
}

/// Time of items at one place, for one cause.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ItemWaitJson {
    /// Name of the [`Place`](domio_core::Place).
    pub place: &'static str,
    /// `run_queue`, `event_channel_scan`, `busy`, `work`, `rate_limit`, `beside`, `thread`, `held`
    /// or `unknown`; see [`Cause`].
    pub cause: &'static str,
    /// Who is in the run queue, or works: `guest` or `driver`.
    pub side: Option<&'static str>,
    /// For `run_queue`: the domain that ran meanwhile; for `beside`: whose items the device had;
    /// for `thread`: whose items were ahead. `null` for nobody.
    pub behind: Option<u16>,
    /// The time.
    pub ns: u64,
}

/// Which records a trace has, see [`WaitTells`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct TellsJson {
    /// Of tickles.
    pub tickles: bool,
    /// Of boosts.
    pub boosts: bool,
    /// Of passes, and so of the rate limit.
    pub rate_limit: bool,
    /// Of slices.
    pub slices: bool,
    /// Of credits.
    pub credits: bool,
}

/// A vcpu.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WhomJson {
    /// Xen's domid.
    pub domain: u16,
    /// Index in the domain.
    pub vcpu: u16,
    /// Name of the domain, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Waits of a vcpu, see [`VcpuWaits`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VcpuWaitsJson {
    /// Which.
    #[serde(flatten)]
    pub whom: WhomJson,
    /// From its first to its last runstate record.
    pub seen_ns: u64,
    /// It ran.
    pub running_ns: u64,
    /// Where it ran.
    pub residence: ResidenceJson,
    /// It was runnable.
    pub runnable_ns: u64,
    /// It was blocked.
    pub blocked_ns: u64,
    /// It was put to sleep while it ran, as by a cap.
    pub parked_ns: u64,
    /// It was paused otherwise.
    pub paused_ns: u64,
    /// Records are missing.
    pub unknown_ns: u64,
    /// Part of `runnable_ns` while another pcpu idled.
    pub idle_elsewhere_ns: u64,
    /// Waits that began and ended.
    pub waits: u64,
    /// The longest of them.
    pub longest_ns: u64,
    /// Parts of `runnable_ns` by [`Why::key`]; `null` for causes that the trace could not tell.
    pub causes_ns: BTreeMap<&'static str, Option<u64>>,
    /// Parts of `runnable_ns`.
    pub behind: Vec<CauseJson>,
}

/// Time behind a vcpu for a cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CauseJson {
    /// Who ran; `null` where nobody did, or nobody is known to have.
    pub behind: Option<WhomJson>,
    /// [`Why::key`].
    pub cause: &'static str,
    /// The time.
    pub ns: u64,
}

/// One wait, see [`LongWait`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WaitedJson {
    /// In which of several runs, from 0; left out for the first.
    #[serde(skip_serializing_if = "is_first")]
    pub run: u32,
    /// Whose.
    #[serde(flatten)]
    pub whom: WhomJson,
    /// Where.
    pub pcpu: u16,
    /// When it began.
    pub at_ns: u64,
    /// How long it was.
    pub ns: u64,
    /// Whether it began with a wake-up.
    pub woken: bool,
    /// The cause that most of it had.
    pub cause: &'static str,
    /// Who ran meanwhile, the longest first.
    pub behind: Vec<RanJson>,
    /// Time of others.
    pub others_ns: u64,
}

/// Who ran, and how long.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RanJson {
    /// Who; `null` for nobody.
    pub vcpu: Option<WhomJson>,
    /// The time.
    pub ns: u64,
}

/// See [`Map`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MapJson {
    /// Where it begins.
    pub from_ns: u64,
    /// Where it ends.
    pub until_ns: u64,
    /// Who ran at the begin.
    pub first: Vec<OnPcpuJson>,
    /// The first changes.
    pub rows: Vec<MapRowJson>,
    /// Changes after them that were left out.
    pub left_out: u64,
    /// Who ran after those, on the pcpus that they changed.
    pub then: Vec<OnPcpuJson>,
    /// The last changes.
    pub last_rows: Vec<MapRowJson>,
}

/// Who runs on a pcpu.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OnPcpuJson {
    /// The pcpu.
    pub pcpu: u16,
    /// Who; `null` when it idles.
    pub vcpu: Option<WhomJson>,
}

/// A change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MapRowJson {
    /// When.
    pub at_ns: u64,
    /// `runs` or `wakes`.
    pub event: &'static str,
    /// Where.
    #[serde(flatten)]
    pub on: OnPcpuJson,
    /// Who left the pcpu, if that is known and was no idle vcpu.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<WhomJson>,
    /// The runstate that who left went to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_to: Option<&'static str>,
}

fn is_first(run: &u32) -> bool {
    *run == 0
}

impl ExplanationJson {
    /// `explanation` as JSON; `truncated` says whether the trace ends too early, and `name` gives
    /// the name of a domain.
    pub fn new(
        explanation: &Explanation,
        truncated: bool,
        name: impl Fn(DomainId) -> Option<String>,
    ) -> Self {
        let named = Named {
            name: &name,
            start: explanation.start,
        };
        let waits = |list: &[LongWait]| list.iter().map(|w| named.wait(w)).collect();
        ExplanationJson {
            elapsed_ns: explanation.elapsed(),
            start_ns: explanation.start.as_nanos(),
            runs: explanation.runs,
            records: explanation.records,
            lost_records: explanation.lost_records,
            truncated,
            runstates: explanation.runstates,
            pcpus: explanation.pcpus.iter().map(|p| p.0).collect(),
            policy: explanation.tells.policy_name(),
            tells: tells(explanation.tells),
            untold: explanation.untold(),
            domains: explanation
                .domains()
                .iter()
                .map(|domain| waits_of(explanation, domain, name(domain.id)))
                .collect(),
            vcpus: explanation
                .vcpus
                .iter()
                .map(|v| named.vcpu(v, explanation))
                .collect(),
            worst_waits: waits(&explanation.worst),
            worst_wakeups: waits(&explanation.worst_woken),
            unfinished: waits(&explanation.unfinished),
            map: explanation.map.as_ref().map(|map| named.map(map)),
            driver_work: explanation
                .driver_work
                .iter()
                .map(|work| DriverWorkJson::new(work, &name))
                .collect(),
        }
    }
}

fn waits_of(
    explanation: &Explanation,
    domain: &DomainWaits,
    name: Option<String>,
) -> DomainWaitsJson {
    let behind = domain.run_queue.iter().map(|(whom, ns)| BehindJson {
        domain: whom.map(|d| d.0),
        ns: *ns,
    });
    DomainWaitsJson {
        id: domain.id.0,
        name,
        running_ns: domain.running,
        at_rest_ns: domain.at_rest,
        runnable_ns: domain.runnable(),
        run_queue: behind.collect(),
        items: explanation.items(domain.id).map(items).collect(),
    }
}

fn items(items: &ItemWaits) -> ItemsJson {
    let queues = items.queues();
    let time = |queue| queues.get(&queue).copied().unwrap_or(0);
    let places = items.class.places;
    let waits = items.times.iter().map(|((place, cause), ns)| {
        let (cause, side, behind) = match *cause {
            Cause::RunQueue(side, behind) => ("run_queue", Some(side), behind),
            Cause::Scan => ("event_channel_scan", None, None),
            Cause::Busy => ("busy", None, None),
            Cause::Work(side) => ("work", Some(side), None),
            Cause::Limit => ("rate_limit", None, None),
            Cause::Held => ("held", None, None),
            Cause::Beside(whom) => ("beside", None, whom),
            Cause::Thread(whom) => ("thread", None, whom),
            Cause::Unknown => ("unknown", None, None),
        };
        ItemWaitJson {
            place: places.get(*place).map_or("", |place| place.name),
            cause,
            side: side.map(|side| match side {
                Side::Guest => "guest",
                Side::Driver => "driver",
            }),
            behind: behind.map(|d| d.0),
            ns: *ns,
        }
    });
    ItemsJson {
        class: items.class.name,
        items: items.class.items,
        device: items.device,
        begun: items.begun,
        under_way: items.under_way,
        total_ns: items.total(),
        queues_ns: ItemQueue::ALL
            .into_iter()
            .filter(|queue| !queue.holds_back() || time(*queue) > 0)
            .map(|queue| (queue.key(), time(queue)))
            .collect(),
        waits: waits.collect(),
    }
}

fn tells(tells: WaitTells) -> TellsJson {
    TellsJson {
        tickles: tells.tickles,
        boosts: tells.boosts,
        rate_limit: tells.limits,
        slices: tells.slices,
        credits: tells.credits,
    }
}

/// Turns names and times into what JSON has.
struct Named<'a, F> {
    name: &'a F,
    start: Instant,
}

impl<F: Fn(DomainId) -> Option<String>> Named<'_, F> {
    fn since(&self, at: Instant) -> u64 {
        at.saturating_since(self.start).as_nanos()
    }

    fn whom(&self, vcpu: VcpuName) -> WhomJson {
        WhomJson {
            domain: vcpu.domain.0,
            vcpu: vcpu.index,
            name: (self.name)(vcpu.domain),
        }
    }

    fn unless_idle(&self, vcpu: VcpuName) -> Option<WhomJson> {
        (!vcpu.is_idle()).then(|| self.whom(vcpu))
    }

    fn vcpu(&self, vcpu: &VcpuWaits, explanation: &Explanation) -> VcpuWaitsJson {
        let tells = explanation.tells;
        let places = explanation.places.as_ref();
        let by_cause = vcpu.by_cause();
        let time = |why: Why| by_cause.get(&why).copied();
        let causes = Why::ALL
            .map(|why| (why.key(), time(why).or(tells.told(why).then_some(0))))
            .into();
        let behind = vcpu.times.iter().map(|((whom, why), ns)| CauseJson {
            behind: whom.map(|whom| self.whom(whom)),
            cause: why.key(),
            ns: *ns,
        });
        VcpuWaitsJson {
            whom: self.whom(vcpu.name),
            seen_ns: vcpu.seen,
            running_ns: vcpu.running,
            residence: ResidenceJson::new(vcpu.name, &vcpu.residence, places),
            runnable_ns: vcpu.runnable(),
            blocked_ns: vcpu.blocked,
            parked_ns: vcpu.parked,
            paused_ns: vcpu.paused,
            unknown_ns: vcpu.unknown,
            idle_elsewhere_ns: vcpu.idle_elsewhere,
            waits: vcpu.waits,
            longest_ns: vcpu.longest,
            causes_ns: causes,
            behind: behind.collect(),
        }
    }

    fn wait(&self, wait: &LongWait) -> WaitedJson {
        let behind = wait.behind.iter().map(|(whom, ns)| RanJson {
            vcpu: whom.map(|whom| self.whom(whom)),
            ns: *ns,
        });
        WaitedJson {
            run: wait.run,
            whom: self.whom(wait.vcpu),
            pcpu: wait.pcpu.0,
            at_ns: self.since(wait.begin),
            ns: wait.length,
            woken: wait.woken,
            cause: wait.why.key(),
            behind: behind.collect(),
            others_ns: wait.others,
        }
    }

    fn map(&self, map: &Map) -> MapJson {
        let on = |(pcpu, vcpu): (PcpuId, VcpuName)| OnPcpuJson {
            pcpu: pcpu.0,
            vcpu: self.unless_idle(vcpu),
        };
        MapJson {
            from_ns: self.since(map.from),
            until_ns: self.since(map.until),
            first: map.first.iter().copied().map(on).collect(),
            rows: map.head.iter().map(|row| self.row(row)).collect(),
            left_out: map.left_out,
            then: map.then.iter().map(|(p, v)| on((*p, *v))).collect(),
            last_rows: map.tail.iter().map(|row| self.row(row)).collect(),
        }
    }

    fn row(&self, row: &MapRow) -> MapRowJson {
        let (event, vcpu, left) = match row.what {
            MapChange::Runs(vcpu, left) => ("runs", vcpu, left),
            MapChange::Wakes(vcpu) => ("wakes", vcpu, None),
        };
        let left = left.filter(|(vcpu, _)| !vcpu.is_idle());
        MapRowJson {
            at_ns: self.since(row.at),
            event,
            on: OnPcpuJson {
                pcpu: row.pcpu.0,
                vcpu: self.unless_idle(vcpu),
            },
            left: left.map(|(vcpu, _)| self.whom(vcpu)),
            left_to: left.map(|(_, state)| state.name()),
        }
    }
}
