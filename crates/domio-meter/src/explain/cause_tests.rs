//! Causes one by one, in traces with a known answer, and the sums of random traces.

use super::*;
use crate::Meter;
use crate::cast::{actor, fed, first, names};
use Runstate::{Blocked, Offline, Runnable, Running};
use domio_core::{
    ActorId, Class, ClassId, Declared, DomainId, Duration, Field, PcpuId, QueueRules, Runstate,
    Says, Shows, Unit, VcpuName,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

mod held_back;

const PCPU: Field = Field::word("pcpu", 0, Unit::Pcpu);
const PASSES: Shows = Shows {
    tickles: true,
    limits: true,
    ..Shows::NOTHING
};

/// As credit writes: passes, tickles, boosts, the rate limit and where it wants a vcpu.
static CREDIT: Class = Class::new(
    "credit",
    &[
        Declared::new(5, "picked", &[PCPU]).says(Says::Wants { pcpu: 0 }),
        Declared::new(6, "tickle", &[PCPU]).says(Says::Tickled { pcpu: 0 }),
        Declared::new(7, "boost", &[]).says(Says::Boosted),
        Declared::new(8, "unboost", &[]).says(Says::BoostOver),
        Declared::new(9, "pass", &[]).says(Says::Pass).shows(PASSES),
        Declared::new(10, "ratelimit", &[])
            .says(Says::RateLimited)
            .shows(PASSES),
    ],
)
.with_queue(QueueRules {
    fifo_with_boost: true,
    ..QueueRules::NONE
});

const CREDITS: Says = Says::Credit {
    credit: 0,
    budget: None,
};
const LEFT: Field = Field::word("credit", 0, Unit::Signed);

/// As credit2 writes: its number of the load is credit's of a pass.
static CREDIT2: Class = Class::new(
    "credit2",
    &[
        Declared::new(3, "burn", &[LEFT, Field::word("budget", 1, Unit::Signed)]).says(
            Says::Credit {
                credit: 0,
                budget: Some(1),
            },
        ),
        Declared::new(6, "tickle", &[PCPU]).says(Says::Tickled { pcpu: 0 }),
        Declared::new(9, "load", &[Field::word("load", 0, Unit::Number)]),
        Declared::new(13, "tickle-check", &[LEFT])
            .says(CREDITS)
            .shows(Shows {
                tickles: true,
                ..Shows::NOTHING
            }),
        Declared::new(21, "pass", &[])
            .says(Says::Pass)
            .shows(Shows {
                limits: true,
                ..Shows::NOTHING
            }),
        Declared::new(22, "ratelimit", &[]).says(Says::RateLimited),
    ],
);

/// A policy whose records say nothing of waits.
static OTHER: Class = Class::new("other", &[Declared::new(1, "budget", &[])]);

/// As RTDS writes.
static RTDS: Class = Class::new(
    "rtds",
    &[
        Declared::new(3, "burned", &[Field::long("left", 0, Unit::Nanoseconds)])
            .says(Says::Budget { left: 0 }),
        Declared::new(4, "filled", &[]).says(Says::Filled),
    ],
);

/// Numbers of these classes in [`known`].
const CREDIT_ID: ClassId = ClassId(2);
const CREDIT2_ID: ClassId = ClassId(3);
const OTHER_ID: ClassId = ClassId(4);
const RTDS_ID: ClassId = ClassId(5);

/// All vcpus, and the four policies.
fn known() -> Names {
    let mut names = names();
    let ids = [&CREDIT, &CREDIT2, &OTHER, &RTDS].map(|class| names.add_class(class));
    assert_eq!(ids, [CREDIT_ID, CREDIT2_ID, OTHER_ID, RTDS_ID]);
    names
}

const fn vcpu(domain: u16) -> VcpuName {
    VcpuName {
        domain: DomainId(domain),
        index: 0,
    }
}

/// A trace that is written down step by step, with times in microseconds.
struct Trace {
    records: Vec<Record>,
    now: u64,
    pcpu: u16,
    running: BTreeMap<u16, u16>,
}

impl Trace {
    /// Domains 1 to `domains` are blocked at time 0.
    fn new(domains: u16) -> Self {
        let mut trace = Trace {
            records: Vec::new(),
            now: 0,
            pcpu: 0,
            running: BTreeMap::new(),
        };
        for domain in 1..=domains {
            trace.state(domain, Blocked, Blocked);
        }
        trace
    }

    fn at(&mut self, us: u64) -> &mut Self {
        self.now = us * 1_000;
        self
    }

    fn on(&mut self, pcpu: u16) -> &mut Self {
        self.pcpu = pcpu;
        self
    }

    fn put(&mut self, kind: Kind, actor: ActorId, words: [u32; 4]) -> &mut Self {
        let at = Instant::from_nanos(self.now);
        let record = Record::with(at, PcpuId(self.pcpu), kind, actor, words);
        self.records.push(record);
        self
    }

    fn change(&mut self, actor: ActorId, old: Runstate, new: Runstate) -> &mut Self {
        let (at, pcpu) = (Instant::from_nanos(self.now), PcpuId(self.pcpu));
        self.records
            .push(Record::runstate(at, pcpu, actor, old, new));
        self
    }

    fn state(&mut self, domain: u16, old: Runstate, new: Runstate) -> &mut Self {
        self.change(first(domain), old, new)
    }

    /// A policy's record of a domain's vcpu.
    fn tells(&mut self, class: ClassId, number: u8, domain: u16, words: &[u32]) -> &mut Self {
        let (at, pcpu) = (Instant::from_nanos(self.now), PcpuId(self.pcpu));
        let mut all = [0; 4];
        all[..words.len()].copy_from_slice(words);
        let record = Record::of(at, pcpu, (class, number), first(domain), all);
        self.records.push(record);
        self
    }

    /// Credit tells of a domain's vcpu.
    fn says(&mut self, number: u8, domain: u16, words: &[u32]) -> &mut Self {
        self.tells(CREDIT_ID, number, domain, words)
    }

    /// Credit begins a pass.
    fn pass(&mut self) -> &mut Self {
        self.says(9, 0, &[])
    }

    /// Credit boosts a domain's vcpu and tickles pcpu 0 for it.
    fn boosts_and_tickles(&mut self, domain: u16) -> &mut Self {
        self.says(7, domain, &[]).says(6, 0, &[0])
    }

    fn wakes(&mut self, domain: u16) -> &mut Self {
        self.put(Kind::Wake, first(domain), [0; 4]);
        self.state(domain, Blocked, Runnable)
    }

    /// A pass puts `domain` on the pcpu with a slice of 30 ms, and who ran goes to `left_to`.
    fn runs(&mut self, domain: u16, left_to: Runstate) -> &mut Self {
        let old = self.running.insert(self.pcpu, domain);
        self.put(Kind::InfNext, first(domain), [0, 30_000_000, 0, 0]);
        if let Some(old) = old.filter(|old| *old != domain) {
            self.state(old, Running, left_to);
        }
        self.state(domain, Runnable, Running)
    }

    fn waiting(&self) -> Explanation {
        explained(&self.records, MapWindow::Worst)
    }

    /// Causes and culprits of the waits of `domain`, in microseconds.
    fn times(&self, domain: u16) -> Vec<(u16, Why, u64)> {
        let waiting = self.waiting();
        let waits = waiting.vcpus.iter().find(|v| v.name == vcpu(domain));
        let times = waits.expect("it was seen").times.iter();
        let whom = |v: Option<VcpuName>| v.map_or(0, |v| v.domain.0);
        times
            .map(|((v, why), ns)| (whom(*v), *why, ns / 1_000))
            .collect()
    }
}

fn explained(records: &[Record], map: MapWindow) -> Explanation {
    fed(Explainer::new(map), &known(), records).finish()
}

/// Domain 1 runs, with credit's records of passes, from 10 us on; ticks have taken its boost.
fn credit_with_1_running(domains: u16) -> Trace {
    let mut trace = Trace::new(domains);
    trace.at(10).wakes(1).boosts_and_tickles(1);
    trace.pass().runs(1, Blocked);
    trace.at(20).says(8, 1, &[]).says(5, 1, &[0]);
    trace
}

#[test]
fn who_is_tickled_for_waits_for_the_pass() {
    let mut trace = credit_with_1_running(2);
    trace.at(5_000).wakes(2).boosts_and_tickles(2);
    trace.at(5_009).pass().runs(2, Runnable);
    trace.at(6_000).runs(1, Blocked);
    assert_eq!(trace.times(2), [(1, Why::Pass, 9)]);
    assert_eq!(trace.times(1), [(2, Why::Preempted, 991)]);
}

#[test]
fn the_rate_limit_is_told_by_the_pass_that_it_ends() {
    let mut trace = credit_with_1_running(2);
    trace.at(100).wakes(2).boosts_and_tickles(2);
    trace.at(105).pass();
    trace.says(10, 1, &[]);
    trace.put(Kind::Continue, first(1), [95_000, 905_000, 0, 0]);
    trace.at(1_010).pass().runs(2, Runnable);
    trace.at(1_050).runs(1, Blocked);
    assert_eq!(
        trace.times(2),
        [(1, Why::Pass, 5), (1, Why::RateLimit, 905)]
    );
    // What was left of the limit is no slice.
    assert_eq!(trace.times(1), [(2, Why::Preempted, 40)]);
}

#[test]
fn a_pass_may_take_another_one() {
    let mut trace = credit_with_1_running(3);
    trace.at(100).wakes(3).boosts_and_tickles(3);
    trace.at(101).wakes(2).boosts_and_tickles(2);
    trace.at(110).pass().runs(3, Runnable);
    trace.at(150).runs(2, Blocked);
    trace.at(160).runs(1, Blocked);
    assert_eq!(
        trace.times(2),
        [(1, Why::Pass, 9), (3, Why::PassedOver, 40)]
    );
}

#[test]
fn who_is_woken_without_a_tickle_is_over_its_credit_behind_one_without_boost() {
    let mut trace = credit_with_1_running(2);
    trace.at(100).wakes(2).says(5, 1, &[0]);
    trace.at(30_020).pass().runs(2, Runnable);
    trace.at(30_100).runs(1, Blocked);
    assert_eq!(trace.times(2), [(1, Why::OverCredit, 29_920)]);
    assert_eq!(trace.times(1), [(2, Why::SliceOver, 80)]);
}

#[test]
fn who_is_woken_with_a_boost_behind_a_boost_is_not_tickled_for() {
    let mut trace = Trace::new(2);
    trace.at(10).wakes(1).boosts_and_tickles(1);
    trace.at(12).pass().runs(1, Blocked);
    trace.at(20).wakes(2).says(7, 2, &[]);
    trace.at(50).pass().runs(2, Blocked);
    trace.at(60).state(2, Running, Blocked);
    assert_eq!(trace.times(2), [(1, Why::NotTickled, 30)]);
}

#[test]
fn who_is_queued_later_and_runs_first_has_more_credit_or_a_boost() {
    let mut trace = credit_with_1_running(3);
    trace.at(100).wakes(2).boosts_and_tickles(2);
    trace.at(110).pass().runs(2, Runnable);
    trace.at(120).says(8, 2, &[]).says(5, 2, &[0]);
    // Domain 3 is woken while domain 1 waits, runs first, and blocks.
    trace.at(200).wakes(3).boosts_and_tickles(3);
    trace.at(210).pass().runs(3, Runnable);
    // Domain 2 was queued after domain 1 and goes before it.
    trace.at(300).pass().runs(2, Blocked);
    trace.at(400).pass().runs(1, Runnable);
    trace.at(500).pass().runs(2, Blocked);
    let expected = [
        (2, Why::OverCredit, 100),
        (2, Why::Preempted, 100),
        (3, Why::BoostAhead, 90),
    ];
    assert_eq!(trace.times(1), expected);
}

#[test]
fn nothing_is_concluded_of_who_may_be_in_another_queue() {
    let mut trace = credit_with_1_running(2);
    // The tick wants domain 2 elsewhere, and when it is woken it may be there.
    trace.at(30).says(5, 2, &[3]);
    trace.at(100).wakes(2);
    trace.at(500).pass().runs(2, Blocked);
    trace.at(600).state(2, Running, Blocked);
    assert_eq!(trace.times(2), [(1, Why::NotTickled, 400)]);
}

#[test]
fn slices_and_yields_tell_how_a_run_ended() {
    let mut trace = Trace::new(2);
    trace.at(0).wakes(1).runs(1, Blocked);
    trace.at(1).wakes(2);
    trace.at(30_001).runs(2, Runnable);
    trace.at(30_101).put(Kind::Yield, first(2), [0; 4]);
    trace.at(30_102).runs(1, Runnable);
    trace.at(30_202).runs(2, Runnable);
    trace.at(30_302).runs(1, Blocked);
    assert_eq!(
        trace.times(1),
        [(2, Why::Preempted, 100), (2, Why::SliceOver, 101)]
    );
    assert_eq!(
        trace.times(2),
        [(1, Why::Woken, 30_000), (1, Why::Yielded, 100)]
    );
    // Without slices nothing is told of how a run ends.
    trace.records.retain(|r| !r.is(Kind::InfNext));
    let displaced = [(2, Why::Displaced, 201)];
    assert_eq!(trace.times(1), displaced);
    let untold = trace.waiting().untold().join(" ");
    assert!(untold.contains("no records of slices"), "{untold}");
    assert!(
        untold.contains("no records of the policy's own"),
        "{untold}"
    );
    assert!(!trace.waiting().tells.told(Why::RateLimit));
}

#[test]
fn credit2_tells_credits_and_budgets() {
    let burn = |trace: &mut Trace, domain: u16, credit: i32, budget: i32| {
        let words = [credit.cast_unsigned(), budget.cast_unsigned()];
        trace.tells(CREDIT2_ID, 3, domain, &words);
    };
    let mut trace = Trace::new(3);
    trace.at(0).wakes(1).tells(CREDIT2_ID, 13, 1, &[100]);
    trace
        .tells(CREDIT2_ID, 6, 0, &[0])
        .tells(CREDIT2_ID, 21, 0, &[])
        .runs(1, Blocked);
    trace.at(10).wakes(2).tells(CREDIT2_ID, 13, 2, &[50]);
    burn(&mut trace, 1, 90, i32::MIN);
    trace.at(1_000).tells(CREDIT2_ID, 21, 0, &[]);
    burn(&mut trace, 1, -5, i32::MIN);
    trace.runs(2, Runnable);
    trace.at(2_000).tells(CREDIT2_ID, 21, 0, &[]);
    burn(&mut trace, 2, 40, 0);
    trace.runs(1, Runnable);
    trace
        .at(3_000)
        .tells(CREDIT2_ID, 21, 0, &[])
        .runs(2, Blocked);
    trace.at(3_500).state(2, Running, Blocked);
    assert_eq!(trace.times(1), [(2, Why::OverCredit, 1_000)]);
    assert_eq!(
        trace.times(2),
        [(1, Why::NotTickled, 990), (1, Why::Cap, 1_000)]
    );
    let waiting = trace.waiting();
    assert_eq!(waiting.tells.policy_name(), Some("credit2"));
    assert!(waiting.tells.told(Why::Cap) && waiting.untold().is_empty());
}

#[test]
fn idle_pcpus_elsewhere_are_told() {
    let mut trace = Trace::new(2);
    let idle = actor(VcpuName::idle(PcpuId(1)));
    trace.at(0).wakes(1).runs(1, Blocked).wakes(2);
    trace.at(100).on(1).change(idle, Running, Running);
    trace.at(400).change(idle, Running, Runnable);
    trace.at(1_000).on(0).runs(2, Blocked);
    trace.at(1_001).state(2, Running, Blocked);
    let waiting = trace.waiting();
    assert_eq!(waiting.vcpus[1].runnable(), 1_000_000);
    assert_eq!(waiting.vcpus[1].idle_elsewhere, 300_000);
    assert_eq!(waiting.pcpus, [PcpuId(0), PcpuId(1)]);
}

#[test]
fn time_with_losses_is_unknown_and_the_edges_are_told() {
    let mut trace = Trace::new(2);
    trace.at(0).wakes(1).runs(1, Blocked).wakes(2);
    trace.at(100).put(Kind::Lost, ActorId::NONE, [7, 0, 0, 0]);
    trace.at(200).runs(2, Runnable);
    trace.at(300).runs(1, Runnable);
    let waiting = trace.waiting();
    assert_eq!(waiting.lost_records, 7);
    assert!(waiting.untold()[0].contains("7 records were lost"));
    // Until the loss, and from the next record of that pcpu on, all is known.
    assert_eq!(waiting.vcpus[1].unknown, 100_000);
    assert_eq!(waiting.vcpus[1].runnable(), 100_000);
    assert_eq!(trace.times(1), [(2, Why::Displaced, 100)]);
    // The second one waits when the trace ends.
    trace.at(900).wakes(3);
    let waiting = trace.waiting();
    assert_eq!(waiting.unfinished.len(), 1);
    assert_eq!(waiting.unfinished[0].vcpu, vcpu(2));
    assert_eq!(waiting.unfinished[0].length, 600_000);
    let mut begun = Trace::new(0);
    begun
        .at(0)
        .state(1, Runnable, Runnable)
        .at(50)
        .runs(1, Blocked);
    assert_eq!(begun.times(1), [(0, Why::Before, 50)]);
    assert_eq!(begun.waiting().worst, []);
}

#[test]
fn the_longest_waits_are_kept_in_order() {
    let mut trace = Trace::new(2);
    trace.at(0).wakes(1).runs(1, Blocked);
    for i in 1..=30_u64 {
        trace.at(i * 1_000).wakes(2);
        trace.at(i * 1_000 + 10 * i).runs(2, Runnable);
        trace.at(i * 1_000 + 400).runs(1, Blocked);
    }
    let waiting = trace.waiting();
    let lengths: Vec<u64> = waiting
        .worst_woken
        .iter()
        .map(|w| w.length / 1_000)
        .collect();
    let expected: Vec<u64> = (11..=30).rev().map(|i| i * 10).collect();
    assert_eq!(lengths, expected);
    assert_eq!(
        waiting.worst_woken[0].begin,
        Instant::from_nanos(30_000_000)
    );
    assert_eq!(waiting.worst_woken[0].behind, [(Some(vcpu(1)), 300_000)]);
    assert_eq!(waiting.worst.len(), WORST_MAX);
    assert!(waiting.worst[0].length >= waiting.worst_woken[0].length);
    let map = waiting.map.0.unwrap();
    assert!(map.from <= waiting.worst_woken[0].begin);
    let wake = MapRow {
        at: waiting.worst_woken[0].begin,
        pcpu: PcpuId(0),
        what: MapChange::Wakes(vcpu(2)),
    };
    assert!(map.head.contains(&wake), "{map:?}");
}

#[test]
fn a_map_has_its_begin_and_its_end_and_counts_the_rest() {
    let mut trace = Trace::new(2);
    trace.at(0).wakes(1).runs(1, Blocked);
    for i in 1..=100 {
        trace.at(10 * i).wakes(2).runs(2, Runnable);
        trace.at(10 * i + 5).runs(1, Blocked);
    }
    let us = Duration::from_micros;
    let window = MapWindow::Between(us(101), us(100_000));
    let map = explained(&trace.records, window).map.0.unwrap();
    assert_eq!(map.first, [(PcpuId(0), vcpu(2))]);
    assert_eq!((map.head.len(), map.tail.len()), (MAP_ROWS, MAP_ROWS));
    // The first change is at 105 us; of every ten microseconds after it there are three.
    assert_eq!(map.left_out, 271 - 2 * MAP_ROWS as u64);
    assert_eq!(map.head[0].at, Instant::from_nanos(105_000));
    assert_eq!(map.tail[MAP_ROWS - 1].at, Instant::from_nanos(1_005_000));
    assert_eq!(map.then[&PcpuId(0)], vcpu(1));
    assert_eq!(map.until, Instant::from_nanos(1_005_000));
}

#[test]
fn who_leaves_first_ran_before() {
    let mut trace = Trace::new(2);
    trace.at(10).state(1, Running, Blocked);
    trace.state(2, Runnable, Running);
    let ms = Duration::from_millis;
    let map = explained(&trace.records, MapWindow::Between(ms(0), ms(1)));
    assert_eq!(map.map.0.unwrap().first, [(PcpuId(0), vcpu(1))]);
}

/// A record that a host could write, or that a damaged file could hold.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let kinds = [
        Kind::RunstateChange,
        Kind::RunstateChange,
        Kind::RunstateChange,
        Kind::Switch,
        Kind::Continue,
        Kind::Wake,
        Kind::Sleep,
        Kind::Yield,
        Kind::Lost,
        Kind::InfNext,
        Kind::SwitchOnly,
    ];
    let common = kinds.map(|kind| (ClassId::COMMON, kind as u8));
    let policies = [6, 7, 8, 9].map(|number| (CREDIT_ID, number));
    let policies = policies
        .into_iter()
        .chain([3, 6, 13, 21].map(|number| (CREDIT2_ID, number)));
    let others = [(OTHER_ID, 1), (OTHER_ID, 2), (ClassId::FOREIGN, 3)];
    let what: Vec<(ClassId, u8)> = common.into_iter().chain(policies).chain(others).collect();
    let words = [0, 4, 8, 12, 0x8000_0008, 0x4000_0004, u32::MAX];
    let word = prop::sample::select(words.to_vec());
    let record = (
        0..400_u64,
        0..3_u16,
        prop::sample::select(what),
        any::<u32>(),
        0..4_u16,
        [word.clone(), word.clone(), word.clone(), word],
    );
    let record = record.prop_map(|(passes, pcpu, what, states, domain, mut words)| {
        if what == (ClassId::COMMON, Kind::RunstateChange as u8) {
            words[0] = states & 0x33;
        }
        let at = Instant::from_nanos(passes);
        Record::of(at, PcpuId(pcpu), what, first(domain), words)
    });
    prop::collection::vec(record, 0..200)
}

proptest! {
    #[test]
    fn waits_of_a_vcpu_sum_to_its_runnable_time(mut records in records()) {
        let mut now = 0;
        for record in &mut records {
            now += record.at.as_nanos();
            record.at = Instant::from_nanos(now);
        }
        let waiting = explained(&records, MapWindow::Worst);
        let summary = fed(Meter::new(), &known(), &records).finish();
        prop_assert_eq!(summary.runstates, waiting.runstates);
        for domain in summary.domains.iter().filter(|d| d.id != DomainId::IDLE) {
            for vcpu in &domain.vcpus {
                let waits = waiting.vcpus.iter().find(|w| w.name == vcpu.name);
                let runnable = waits.map_or(0, VcpuWaits::runnable);
                prop_assert_eq!(runnable, vcpu.account.runnable, "{}", vcpu.name);
            }
        }
        for wait in waiting.worst.iter().chain(&waiting.worst_woken) {
            let behind: u64 = wait.behind.iter().map(|(_, ns)| ns).sum();
            prop_assert_eq!(behind + wait.others, wait.length);
        }
    }

    #[test]
    fn disorder_and_any_bits_do_no_harm(
        records in records(),
        bits in prop::collection::vec((any::<[u32; 6]>(), 0..8_u8, any::<u8>()), 0..40),
    ) {
        let wild = bits.into_iter().map(|([at, pcpu, actor, a, b, c], class, number)| {
            let at = Instant::from_nanos(u64::from(at) << 20);
            let pcpu = PcpuId(pcpu as u16 % 300);
            let what = (ClassId(class), number % 24);
            Record::of(at, pcpu, what, ActorId(actor), [a, b, c, 0])
        });
        let records: Vec<Record> = records.into_iter().chain(wild).collect();
        let us = Duration::from_micros;
        for window in [MapWindow::Worst, MapWindow::Between(us(0), us(100))] {
            let waiting = explained(&records, window);
            serde_json::to_string(&waiting.answer(|_| None, |_| None, None, false)).unwrap();
        }
    }
}
