//! Processes that ask for what was recorded, in simulated hosts without costs.

use domio_core::{DomainId, Duration, Instant, Kind, ParamValues, Topology, VcpuName, XenVersion};
use domio_replay::{Arrival, Demand, NamedRecord, NamedRecords, ReplayProcess};
use domio_sim::{Outcome, RandomStream};
use domio_vmm::config::{DomainConfig, DomainKind, GuestConfig, HostConfig, VcpuConfig, Workload};
use domio_vmm::guest::{Guest, Step};
use domio_vmm::{Profile, Simulation};
use std::sync::Arc;

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn replay<const N: usize>(demands: [Demand; N]) -> Workload {
    Workload::Jobs(Arc::new(ReplayProcess::new(Arc::from(demands))))
}

/// A host of one pcpu, under round robin with slices of 3 ms, of guests with these processes. They
/// have run for 30 ms.
fn run(workloads: Vec<Workload>) -> Simulation<NamedRecords> {
    let domains = (1..).zip(workloads).map(|(id, workload)| DomainConfig {
        id: DomainId(id),
        name: format!("g{id}"),
        params: ParamValues::defaults(&[]),
        guest: GuestConfig::IDEAL,
        vcpus: vec![VcpuConfig::anywhere([workload])],
        start: Instant::ZERO,
        stop: None,
        kind: DomainKind::Guest,
    });
    let config = HostConfig {
        topology: Topology::flat(1).unwrap(),
        version: XenVersion::V4_17,
        profile: Profile::IDEAL,
        domains: domains.collect(),
        groups: vec![],
        pools: Vec::new(),
        actions: vec![],
        controllers: vec![],
    };
    let policy = domio_sched::find("round-robin").unwrap();
    let mut params = ParamValues::defaults(policy.descriptor.params);
    params.set("tslice_ms", 3).unwrap();
    let scheduler = (policy.make)(&params, &config.topology);
    let mut simulation = Simulation::new(&config, scheduler, NamedRecords::default(), 0, 0);
    let outcome = simulation.run(at_us(30_000));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
    simulation
}

/// Wake-ups and blocks of a guest that asks for `demands` alone, after its start, in microseconds.
fn alone<const N: usize>(demands: [Demand; N]) -> Vec<String> {
    let records = run(vec![replay(demands)]).into_sink().0;
    let of_guest = |r: &&NamedRecord| r.vcpu == VcpuName::new(DomainId(1), 0);
    let lines = records.iter().filter(of_guest).filter_map(|r| {
        let word = match r.kind {
            Some(Kind::Wake) => "wake",
            Some(Kind::Block) => "block",
            Some(Kind::JobDone) => panic!("nobody waits for its jobs"),
            _ => return None,
        };
        Some(format!("{} {word}", r.at.as_nanos() / 1_000))
    });
    lines.skip(2).collect()
}

/// As [`alone`], of jobs that do not spin, each at its millisecond and for so many microseconds.
fn replayed<const N: usize>(demands: [(u64, u64, Arrival); N]) -> Vec<String> {
    alone(demands.map(|(at, work, arrival)| spinning(at * 1_000, 0, work, arrival)))
}

/// A job of `work` that spins for `spin` before, both in microseconds.
fn spinning(at: u64, spin: u64, work: u64, arrival: Arrival) -> Demand {
    Demand {
        at: at_us(at),
        spin: us(spin),
        work: us(work),
        arrival,
    }
}

#[test]
fn a_replay_wakes_when_it_did_and_adds_up_what_it_could_not_do() {
    let demands = [(1, 500), (3, 800), (4, 300)];
    let demands = demands.map(|(at, work)| (at, work, Arrival::Outside));
    assert_eq!(
        replayed(demands),
        [
            "1000 wake",
            "1500 block",
            "3000 wake",
            "3800 block",
            "4000 wake",
            "4300 block",
        ]
    );
    // Where a burner keeps it from running up to 3 ms, all work is done in one run.
    let demands = demands.map(|(at, work, arrival)| spinning(at * 1_000, 0, work, arrival));
    let simulation = run(vec![Workload::Burn, replay(demands)]);
    let running = simulation.host().vcpu_times(1).running;
    let records = simulation.into_sink().0;
    let of_guest = |r: &&NamedRecord| r.vcpu == VcpuName::new(DomainId(2), 0);
    let blocks = records.iter().filter(of_guest);
    let blocks = blocks.filter(|r| r.is(Kind::Block)).count();
    assert_eq!((running, blocks - 1), (us(1_600), 1), "after its start");
}

#[test]
fn a_timer_set_late_comes_late_and_merges_with_nothing() {
    let timer = Arrival::Timer { least: us(80) };
    let demands = [
        (1, 1_500, Arrival::Outside),
        (2, 300, timer),
        (8, 100, timer),
    ];
    assert_eq!(
        replayed(demands),
        [
            "1000 wake",
            "2500 block",
            "2580 wake",
            "2880 block",
            "8000 wake",
            "8100 block",
        ]
    );
}

#[test]
fn timers_that_expired_long_ago_are_handled_together() {
    let timer = Arrival::Timer { least: us(80) };
    let demands = [
        (1, 10_000, Arrival::Outside),
        (2, 100, timer),
        (3, 100, timer),
        (4, 100, timer),
        (20, 100, timer),
    ];
    assert_eq!(
        replayed(demands)[2..],
        ["11080 wake", "11380 block", "20000 wake", "20100 block",]
    );
}

#[test]
fn turns_of_a_loop_that_are_late_stay_apart() {
    let turn = Arrival::Loop { least: us(80) };
    let demands = [
        (1, 10_000, Arrival::Outside),
        (2, 100, turn),
        (3, 100, turn),
        (4, 100, turn),
        (20, 100, turn),
    ];
    assert_eq!(
        replayed(demands)[2..],
        [
            "11080 wake",
            "11180 block",
            "11260 wake",
            "11360 block",
            "11440 wake",
            "11540 block",
            "20000 wake",
            "20100 block",
        ]
    );
}

/// A kernel tick every 4 ms, `least` after a block at the earliest.
fn tick(least: Duration) -> Arrival {
    Arrival::Tick {
        period: us(4_000),
        least,
        saved: Duration::ZERO,
    }
}

#[test]
fn a_tick_after_work_that_took_longer_is_a_later_one() {
    let tick = tick(Duration::ZERO);
    let demands = [
        (1, 1_500, Arrival::Outside),
        (2, 300, tick),
        (18, 100, tick),
    ];
    assert_eq!(
        replayed(demands),
        [
            "1000 wake",
            "2500 block",
            "6000 wake",
            "6300 block",
            "10000 wake",
            "10100 block",
        ]
    );
}

#[test]
fn a_tick_soon_after_the_block_comes_as_early_as_a_timer_can() {
    for (least, at) in [(0, 4_000), (600, 4_100)] {
        let demands = [(1, 2_500, Arrival::Outside), (4, 300, tick(us(least)))];
        assert_eq!(
            replayed(demands)[1..3],
            ["3500 block", &format!("{at} wake")]
        );
    }
}

#[test]
fn jobs_that_spin_follow_each_other_and_do_not_merge() {
    let timer = Arrival::Timer { least: us(80) };
    let demands = [
        spinning(1_000, 3_000, 100, Arrival::Outside),
        spinning(2_000, 500, 100, Arrival::Outside),
        spinning(2_500, 500, 100, timer),
        spinning(3_000, 500, 100, timer),
        spinning(3_500, 500, 100, timer),
    ];
    assert_eq!(
        alone(demands),
        [
            "1000 wake",
            "4700 block",
            "4780 wake",
            "5380 block",
            "5460 wake",
            "6060 block",
            "6140 wake",
            "6740 block",
        ]
    );
}

#[test]
fn a_tick_that_finds_a_timer_expired_saves_a_wake_up() {
    // The tick comes at 4,000, but the guest executes from 34,000 on.
    let left_at = |due: u64, work: u64, spin: u64| {
        let least = us(80);
        let tick = Arrival::Tick {
            period: us(4_000),
            least,
            saved: us(40),
        };
        let process = replay([
            spinning(1_000, 0, 100, Arrival::Outside),
            spinning(4_000, 0, 50, tick),
            spinning(due, spin, work, Arrival::Loop { least }),
        ]);
        let vcpu = VcpuConfig::anywhere([process]);
        let stream = |_| RandomStream::new(1, 0, "replay");
        let mut guest = Guest::new(GuestConfig::IDEAL, &vcpu, Instant::ZERO, stream);
        let mut jobs = Vec::new();
        assert_eq!(guest.step(at_us(0), &mut jobs), Step::Block);
        guest.interrupt();
        assert_eq!(guest.step(at_us(1_000), &mut jobs), Step::Run(us(100)));
        guest.executed(us(100));
        assert_eq!(guest.step(at_us(1_100), &mut jobs), Step::Block);
        guest.interrupt();
        assert_eq!(guest.step(at_us(34_000), &mut jobs), Step::Run(us(50)));
        guest.executed(us(50));
        guest.step(at_us(34_050), &mut jobs)
    };
    // The turn's timer had expired before, or expires while the tick is handled.
    assert_eq!(left_at(10_000, 400, 0), Step::Run(us(360)));
    assert_eq!(left_at(34_001, 400, 0), Step::Run(us(400)));
    assert_eq!(left_at(10_000, 400, 300), Step::Run(us(700)));
    // Something is left to do in any case.
    assert_eq!(left_at(10_000, 30, 0), Step::Run(Duration::from_nanos(1)));
    assert_eq!(left_at(34_100, 400, 0), Step::Block);
}

#[test]
fn a_tick_leaves_the_timer_of_a_job_that_spins_as_it_is() {
    let timer = Arrival::Timer { least: us(80) };
    let tick = |work| spinning(2_000, 0, work, tick(Duration::ZERO));
    let demands = [
        spinning(1_000, 500, 100, Arrival::Outside),
        // Done at 2,050.
        tick(50),
        spinning(5_000, 2_000, 100, timer),
        // It would come at 10,000: the next job is due before.
        tick(50),
        spinning(9_000, 2_000, 100, timer),
        // At 14,000, and while it is handled the timer expires.
        tick(50),
        spinning(14_020, 500, 100, timer),
        spinning(20_000, 0, 50, Arrival::Outside),
    ];
    assert_eq!(
        alone(demands),
        [
            "1000 wake",
            "1600 block",
            "2000 wake",
            "2050 block",
            "5000 wake",
            "7100 block",
            "9000 wake",
            "11100 block",
            "14000 wake",
            "14650 block",
            "20000 wake",
            "20050 block",
        ]
    );
}

#[test]
fn a_vcpu_that_is_kicked_begins_when_the_other_has_come_so_far() {
    let demand = |at, work, arrival| Demand {
        at: at_us(at),
        spin: Duration::ZERO,
        work: us(work),
        arrival,
    };
    // Two turns of 400 us, each with a kick after 300; the second comes before the first is done.
    let turns = [(1_000, 300), (1_000, 100), (1_200, 300), (1_200, 100)];
    let turns = turns.map(|(at, work)| demand(at, work, Arrival::Outside));
    let waker = ReplayProcess::new(Arc::from(turns)).kicking(Arc::from([0, 2]), 1);
    // Recorded at other times, and two more than there are kicks.
    let works = [5_000, 5_100, 5_200, 5_300];
    let works = works.map(|at| demand(at, 50, Arrival::Kicked));
    let helper = ReplayProcess::new(Arc::from(works));
    let tasks = [waker, helper].map(|process| Workload::Jobs(Arc::new(process)));
    let config = HostConfig {
        topology: Topology::flat(2).unwrap(),
        version: XenVersion::V4_17,
        profile: Profile::IDEAL,
        domains: vec![DomainConfig {
            id: DomainId(1),
            name: "g".to_owned(),
            params: ParamValues::defaults(&[]),
            guest: GuestConfig::IDEAL,
            vcpus: tasks.map(|task| VcpuConfig::anywhere([task])).into(),
            start: Instant::ZERO,
            stop: None,
            kind: DomainKind::Guest,
        }],
        groups: vec![],
        pools: Vec::new(),
        actions: vec![],
        controllers: vec![],
    };
    let policy = domio_sched::find("round-robin").unwrap();
    let params = ParamValues::defaults(policy.descriptor.params);
    let scheduler = (policy.make)(&params, &config.topology);
    let mut simulation = Simulation::new(&config, scheduler, NamedRecords::default(), 0, 0);
    let outcome = simulation.run(at_us(30_000));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
    let records = simulation.into_sink().0;
    let woken: Vec<u64> = records
        .iter()
        .filter(|r| r.is(Kind::Wake) && r.vcpu == VcpuName::new(DomainId(1), 1))
        .map(|r| r.at.as_nanos() / 1_000)
        .filter(|at| *at > 0)
        .collect();
    assert_eq!(woken, [1_300, 1_700]);
}
