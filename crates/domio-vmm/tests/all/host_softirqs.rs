//! linux-spec 9.7: interrupts and softirqs of a host with KVM take the time of whoever runs on the
//! pcpu, within limits, and a thread does the rest.

use crate::common::*;
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, XenVersion};
use domio_sim::TimerId;
use domio_vmm::Simulation;
use domio_vmm::bus::{Attach, Device, Io, KernelIo, Owner, Progress, Softirq, SoftirqLine, Token};
use domio_vmm::config::{Action, DomainKind, HostSoftirqs, KvmThread, Workload};
use domio_vmm::evtchn::Port;

/// The domain of the kernel's threads.
const KERNEL: DomainId = DomainId(1);

/// A card with interrupts at these times (us), each of which asks for so many runs of a softirq
/// one after the other, of so many us each.
struct Card {
    timer: TimerId,
    interrupts: Vec<u64>,
    softirq: SoftirqLine,
    pirq: u16,
    port: Option<Port>,
    runs: u32,
    left: u32,
    takes: u64,
    running: bool,
    /// When each run ended (us).
    ended: Vec<u64>,
}

impl Card {
    fn arm(&mut self, io: &mut Io<'_>) {
        if !self.interrupts.is_empty() {
            io.arm(self.timer, at_us(self.interrupts.remove(0)));
        }
    }
}

impl Device for Card {
    fn serves(&self, domain: DomainId) -> bool {
        domain == KERNEL
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        let port = io.bind_pirq(domain, self.pirq, 0, 0);
        self.port = Some(port.expect("a free port"));
        self.arm(io);
    }

    fn unplug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn event(&mut self, _: Token, io: &mut Io<'_>) {
        io.raise_pirq(KERNEL, self.port.expect("it is plugged in"));
        self.arm(io);
    }

    fn irq(&mut self, _: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        self.left += self.runs;
        kernel.raise(self.softirq);
        Progress::Done
    }

    fn softirq(&mut self, _: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        self.running = !self.running;
        if self.running {
            return Progress::Run(us(self.takes), Owner::Nobody);
        }
        self.ended.push(kernel.now().as_nanos() / 1_000);
        self.left -= 1;
        if self.left > 0 {
            kernel.raise(self.softirq);
        }
        Progress::Done
    }
}

/// A case: when interrupts come, what each asks for.
#[derive(Clone, Debug)]
struct Case {
    interrupts: Vec<u64>,
    runs: u32,
    takes: u64,
    tick_us: u64,
    left_to_thread: bool,
    /// What the operator does, and the number of pcpus.
    actions: Vec<(Instant, Action)>,
    pcpus: u16,
    /// What a switch takes (us).
    switch: u64,
}

impl Case {
    fn new(at: u64, takes: u64, tick_us: u64) -> Self {
        Case {
            interrupts: vec![at],
            runs: 30,
            takes,
            tick_us,
            left_to_thread: false,
            actions: Vec::new(),
            pcpus: 1,
            switch: 0,
        }
    }
}

/// When runs ended; how long the thread of the softirqs ran; what records say was taken (ns), with
/// two guests that compute without end on the first pcpu, and turns of 10 ms.
fn run(case: &Case) -> (Vec<u64>, Duration, [u64; 2]) {
    let rules = HostSoftirqs {
        tick: us(case.tick_us),
        left_to_thread: case.left_to_thread,
    };
    let mut kernel = domain(KERNEL.0, Workload::Burn);
    kernel.vcpus[0].tasks.clear();
    kernel.vcpus[0].hard = CpuSet::of(P0);
    kernel.kind = DomainKind::Threads(vec![KvmThread {
        name: "ksoftirqd/0".to_owned(),
        of: None,
        softirqs: Some(rules),
    }]);
    let guests = [2, 3].map(|id| pinned(domain(id, Workload::Burn), P0));
    let domains = [kernel].into_iter().chain(guests).collect();
    let mut host = host(case.pcpus, XenVersion::V4_17, domains);
    host.actions.clone_from(&case.actions);
    host.profile.switch = us(case.switch);
    let policy = domio_sched::find("round-robin").expect("a shipped policy");
    let mut params = ParamValues::defaults(policy.descriptor.params);
    params.set("tslice_ms", 10).expect("a parameter of it");
    let card = |attach: &mut Attach<'_>| Card {
        timer: attach.timer(0),
        interrupts: case.interrupts.clone(),
        softirq: attach.softirq(Softirq::NetRx, 0),
        pirq: attach.pirq(),
        port: None,
        runs: case.runs,
        left: 0,
        takes: case.takes,
        running: false,
        ended: Vec::new(),
    };
    let scheduler = (policy.make)(&params, &host.topology);
    let mut simulation = Simulation::with_device(&host, scheduler, card, Trace::default(), 0, 0);
    let _ = simulation.run(Instant::ZERO + ms(100));
    let times = simulation.host().vcpu_times(0);
    let ended = simulation.host().device(0).ended.clone();
    let trace = simulation.into_sink();
    let taken = |name| [2, 3].map(|id| sum_of(&trace, name, vcpu(id))).iter().sum();
    (ended, times.running, ["irq", "softirq"].map(taken))
}

/// How many runs of the softirq follow each other in the interrupt, written from the rule.
#[derive(Clone, Copy)]
struct Rule {
    rounds: usize,
    jiffies: bool,
    resched: bool,
}

const LINUX: Rule = Rule {
    rounds: 10,
    jiffies: true,
    resched: true,
};

impl Rule {
    fn runs(self, case: &Case) -> usize {
        let start = case.interrupts[0];
        let ticks = 2_000_u64.div_ceil(case.tick_us);
        let end = (start / case.tick_us + ticks) * case.tick_us;
        // The turn of who was interrupted, which began at a multiple of 10 ms.
        let turn = (start / 10_000 + 1) * 10_000;
        let mut now = start;
        for run in 1.. {
            now += case.takes;
            let late = self.jiffies && now >= end || self.resched && now >= turn;
            if late || run >= self.rounds || run >= case.runs as usize {
                return run;
            }
        }
        0
    }
}

/// Cases in which each limit decides.
fn cases() -> Vec<Case> {
    vec![
        // Ten rounds of 20 us.
        Case::new(1_000, 20, 4_000),
        // The tick at 4 ms, after half of a millisecond.
        Case::new(3_500, 100, 4_000),
        // The second tick from here on, with 1000 ticks a second.
        Case::new(1_000, 300, 1_000),
        // The turn of the guest is over at 10 ms.
        Case::new(9_750, 100, 4_000),
    ]
}

/// How many runs followed each other without a gap.
fn at_once(case: &Case) -> usize {
    let (ended, ..) = run(case);
    let ideal = (1..).map(|run| case.interrupts[0] + case.takes * run);
    ended.iter().zip(ideal).take_while(|(a, b)| *a == b).count()
}

#[test]
fn ten_rounds_or_two_milliseconds_or_somebody_else_to_run() {
    let found: Vec<usize> = cases().iter().map(at_once).collect();
    let by_rule = |rule: Rule| -> Vec<usize> { cases().iter().map(|c| rule.runs(c)).collect() };
    assert_eq!(found, by_rule(LINUX));
    assert_eq!(found, [10, 5, 7, 3]);
    // A copy that lacks one of the limits is noticed.
    let broken = [
        Rule {
            rounds: 11,
            ..LINUX
        },
        Rule {
            jiffies: false,
            ..LINUX
        },
        Rule {
            resched: false,
            ..LINUX
        },
    ];
    for rule in broken {
        assert_ne!(found, by_rule(rule));
    }
}

#[test]
fn the_time_is_that_of_who_was_interrupted_and_the_threads_own_after_that() {
    let case = &cases()[0];
    let (ended, thread, [irq, softirq]) = run(case);
    assert_eq!(ended.len(), 30);
    // Ten of thirty runs in the interrupt; twenty in the turn of the thread, which comes after the
    // turn of the second guest.
    assert_eq!((irq, softirq), (0, 200_000));
    assert_eq!(thread, us(400));
    assert_eq!(ended[10..].first(), Some(&20_020));
    assert_eq!(ended.last(), Some(&20_400));
}

#[test]
fn the_thread_that_waits_has_softirqs_left_to_it_in_6_1_and_not_in_6_12() {
    let case = |left_to_thread| Case {
        // The first leaves twenty runs to the thread, which waits for its turn.
        interrupts: vec![1_000, 5_000],
        left_to_thread,
        ..Case::new(1_000, 20, 4_000)
    };
    let before_its_turn = |left| {
        let (ended, ..) = run(&case(left));
        assert_eq!(ended.len(), 60);
        ended.iter().filter(|at| **at < 10_000).count()
    };
    assert_eq!(before_its_turn(true), 10);
    assert_eq!(before_its_turn(false), 20);
}

/// The thread of the softirqs, which is runnable, leaves a pcpu whose interrupt its kernel is in,
/// and has its turn elsewhere before the interrupt is over.
#[test]
fn a_kernel_in_an_interrupt_does_not_run_on_another_pcpu_as_well() {
    let leave = at_us(5_050);
    let (there, back) = (pin(KERNEL.0, P1), pin(KERNEL.0, P0));
    // How many of the ten runs in the second interrupt there are: a pcpu that goes off has a pass
    // to come, for which softirqs make way.
    let cases = [
        (vec![(leave, Action::PcpuOffline(P0))], 3),
        (vec![(leave, there.clone())], 10),
        // There and back again in one softirq.
        (vec![(leave, there), (at_us(5_090), back)], 10),
    ];
    for (actions, second) in cases {
        let case = Case {
            // The first leaves twenty runs to the thread, which waits for its turn.
            interrupts: vec![1_000, 5_000],
            actions,
            pcpus: 2,
            ..Case::new(1_000, 20, 4_000)
        };
        let (ended, thread, [_, softirq]) = run(&case);
        assert_eq!(ended.len(), 60, "{case:?}");
        // One run after the other, whatever the pcpu.
        let apart = ended.windows(2).map(|two| two[1] - two[0]);
        assert!(apart.min() >= Some(20), "{case:?}: {ended:?}");
        let taken = 10 + second;
        assert_eq!(ended[taken - 1], 5_000 + 20 * second as u64, "{case:?}");
        assert_eq!(softirq, 20_000 * taken as u64, "{case:?}");
        assert_eq!(thread, us(20 * (60 - taken as u64)), "{case:?}");
    }
}

/// An interrupt that comes in a switch begins on the pcpu to which its thread goes meanwhile, even
/// though that one idles and has no pass.
#[test]
fn an_interrupt_that_waits_for_its_pcpu_follows_its_thread() {
    let case = Case {
        // The first turn is over at 10 ms and 20 us.
        interrupts: vec![10_030],
        actions: vec![(at_us(10_035), pin(KERNEL.0, P1))],
        pcpus: 2,
        runs: 5,
        switch: 20,
        ..Case::new(1_000, 20, 4_000)
    };
    let (ended, _, [_, softirq]) = run(&case);
    assert_eq!(ended, [10_055, 10_075, 10_095, 10_115, 10_135]);
    assert_eq!(softirq, 0, "the pcpu was idle");
}

#[test]
fn jiffies_are_rounded_up() {
    let ticks = |tick| {
        let rules = HostSoftirqs {
            tick: us(tick),
            left_to_thread: false,
        };
        (rules.restart_ticks(), rules.ticks_after(at_us(9_999), 1))
    };
    assert_eq!(ticks(4_000), (1, at_us(12_000)));
    assert_eq!(ticks(1_000), (2, at_us(10_000)));
    assert_eq!(ticks(10_000), (1, at_us(10_000)));
}
