//! Vcpus of one domain on several pcpus: sections that one of them at a time may be in, flushes of
//! each other's TLBs, interrupts to each other.

use crate::common::*;
use domio_core::{CpuSet, DomainId, Duration, Instant, NullSink, XenVersion};
use domio_sim::TimerId;
use domio_vmm::Simulation;
use domio_vmm::bus::{
    Attach, Device, Io, KernelIo, KernelLock, Owner, Progress, Softirq, SoftirqLine, Tasklet, Token,
};
use domio_vmm::config::{HostConfig, ProcessOrder, TaskConfig, VcpuConfig, Workload};
use domio_vmm::evtchn::Port;
use domio_vmm::process::{Answer, Call, Context, FileId, Op, Pid, Program, What};

const D: DomainId = DomainId(1);

/// What the kernel does with each of its softirqs.
#[derive(Clone, Copy)]
struct Work {
    /// When the interrupt comes that raises the softirq (us), by vcpu.
    at: [u64; 2],
    /// How long the softirq works.
    piece: Duration,
    /// How much of that, at the end, is a section.
    section: Duration,
    /// Vcpu 0 flushes TLBs first.
    flushes: bool,
    /// Vcpu 0 has a tasklet run on vcpu 1 first.
    tells: bool,
}

/// Work without sections that begins at 1 ms, on vcpu 0 a little sooner.
const PLAIN: Work = Work {
    at: [1_000, 1_010],
    piece: us(100),
    section: Duration::ZERO,
    flushes: false,
    tells: false,
};

/// A card with an interrupt for each of two vcpus.
struct Card {
    work: Work,
    timers: [TimerId; 2],
    pirqs: [u16; 2],
    ports: Vec<Port>,
    softirqs: [SoftirqLine; 2],
    tasklet: Tasklet,
    lock: KernelLock,
    running: [bool; 2],
    calling: bool,
    /// When softirqs and calls ended, by vcpu (us).
    ended: Vec<(u16, u64)>,
}

impl Card {
    fn new(work: Work, attach: &mut Attach<'_>) -> Card {
        Card {
            work,
            timers: [0, 1].map(|vcpu| attach.timer(vcpu)),
            pirqs: [0, 1].map(|_| attach.pirq()),
            ports: Vec::new(),
            softirqs: [0, 1].map(|vcpu| attach.softirq(Softirq::NetRx, vcpu)),
            tasklet: attach.tasklet(2),
            lock: attach.lock(),
            running: [false; 2],
            calling: false,
            ended: Vec::new(),
        }
    }

    fn ends(&mut self, kernel: &KernelIo<'_, '_>) {
        let at = kernel.now().as_nanos() / 1_000;
        self.ended.push((kernel.vcpu.index, at));
    }
}

impl Device for Card {
    fn serves(&self, domain: DomainId) -> bool {
        domain == D
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for vcpu in 0..2 {
            let own = usize::from(vcpu);
            let port = io.bind_pirq(domain, self.pirqs[own], vcpu, u32::from(vcpu));
            // A domain with one vcpu has both interrupts there.
            let port = port.or_else(|_| io.bind_pirq(domain, 90, 0, u32::from(vcpu)));
            self.ports.push(port.expect("a free port"));
            io.arm(self.timers[own], at_us(self.work.at[own]));
        }
    }

    fn unplug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn event(&mut self, token: Token, io: &mut Io<'_>) {
        io.raise_pirq(D, self.ports[token as usize]);
    }

    fn irq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        kernel.raise(self.softirqs[token as usize]);
        Progress::Done
    }

    fn softirq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let own = token as usize;
        self.running[own] = !self.running[own];
        if !self.running[own] {
            self.ends(kernel);
            return Progress::Done;
        }
        if own == 0 && self.work.flushes {
            kernel.flush_tlbs();
        }
        if own == 0 && self.work.tells {
            kernel.schedule_on(1, self.tasklet);
        }
        if !self.work.section.is_zero() {
            kernel.under(self.lock, self.work.section);
        }
        Progress::Run(self.work.piece, Owner::Nobody)
    }

    fn tasklet(&mut self, _: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        self.ends(kernel);
        Progress::Done
    }

    fn call(&mut self, _: Call, _: Pid, kernel: &mut KernelIo<'_, '_>) -> Answer {
        self.calling = !self.calling;
        if !self.calling {
            self.ends(kernel);
            return Answer::Return(0);
        }
        kernel.under(self.lock, self.work.section);
        Answer::Run(self.work.piece, Owner::Nobody)
    }
}

/// Sleeps until a time, and calls a file once.
#[derive(Clone, Debug)]
struct CallsOnce {
    at: Instant,
    step: u8,
}

impl Program for CallsOnce {
    fn name(&self) -> &'static str {
        "calls-once"
    }

    fn next(&mut self, _: &Context) -> Op {
        self.step += 1;
        let file = FileId { device: 0, file: 0 };
        match self.step {
            1 => Op::SleepUntil(self.at),
            2 => file.does(What::Sync),
            _ => Op::Exit,
        }
    }
}

/// A domain with these workloads, one a vcpu, each vcpu on a pcpu of its own.
fn pinned_vcpus<const N: usize>(workloads: [Workload; N]) -> HostConfig {
    let mut own = domain(1, Workload::Idle);
    own.vcpus = workloads.map(|w| VcpuConfig::anywhere([w])).into();
    for (pcpu, vcpu) in [P0, P1].into_iter().zip(&mut own.vcpus) {
        vcpu.hard = CpuSet::of(pcpu);
    }
    host(2, XenVersion::V4_17, vec![own])
}

/// When softirqs and calls ended within a second.
fn ended(host: &HostConfig, work: Work) -> Vec<(u16, u64)> {
    let policy = domio_sched::find("round-robin").expect("a shipped policy");
    let params = domio_core::ParamValues::defaults(policy.descriptor.params);
    let scheduler = (policy.make)(&params, &host.topology);
    let card = |attach: &mut Attach<'_>| Card::new(work, attach);
    let mut simulation = Simulation::with_device(host, scheduler, card, NullSink, 0, 0);
    let _ = simulation.run(Instant::ZERO + ms(1_000));
    simulation.host().device(0).ended.clone()
}

fn two_idle_vcpus() -> HostConfig {
    pinned_vcpus([Workload::Idle, Workload::Idle])
}

#[test]
fn whoever_comes_to_a_section_that_another_vcpu_is_in_spins_until_it_is_free() {
    let host = two_idle_vcpus();
    assert_eq!(ended(&host, PLAIN), [(0, 1_100), (1, 1_110)]);
    let section = us(60);
    let work = Work { section, ..PLAIN };
    // In it from 1,040 to 1,100, and then the other one.
    assert_eq!(ended(&host, work), [(0, 1_100), (1, 1_160)]);
    // Whoever comes later does not wait.
    let at = [1_000, 1_060];
    let work = Work { at, ..work };
    assert_eq!(ended(&host, work), [(0, 1_100), (1, 1_160)]);
}

#[test]
fn the_line_of_a_lock_comes_from_the_vcpu_that_had_it_last() {
    let mut host = two_idle_vcpus();
    host.domains[0].guest.costs.lock_line = us(3);
    let section = us(60);
    let work = Work { section, ..PLAIN };
    assert_eq!(ended(&host, work), [(0, 1_100), (1, 1_163)]);
}

#[test]
fn a_call_of_a_process_and_a_softirq_exclude_each_other() {
    let section = us(60);
    let at = [1_000, 900_000];
    let work = Work {
        at,
        section,
        ..PLAIN
    };
    let calls = |us| {
        let at = at_us(us);
        let calls = Workload::program(CallsOnce { at, step: 0 });
        pinned_vcpus([Workload::Idle, calls])
    };
    // The process spins from 1,060 on.
    let late = (1, 900_100);
    assert_eq!(ended(&calls(1_020), work), [(0, 1_100), (1, 1_160), late]);
    // The process is there from 1,020 to 1,080, and the softirq comes at 1,040.
    assert_eq!(ended(&calls(980), work), [(1, 1_080), (0, 1_140), late]);
}

/// The holder is preempted, and the other one executes for nothing.
#[test]
fn a_preempted_holder_has_the_others_spin() {
    let mut host = two_idle_vcpus();
    let section = ms(50);
    let work = Work {
        at: [1_000, 50_000],
        piece: section,
        section,
        ..PLAIN
    };
    assert_eq!(ended(&host, work), [(0, 51_000), (1, 101_000)]);
    // Vcpu 0 and a neighbour have turns of 30 ms each. It is in the section from 30 to 60 ms and
    // from 90 to 110 ms, and vcpu 1 spins from 50 to 110 ms.
    host.domains.push(pinned(domain(2, Workload::Burn), P0));
    assert_eq!(ended(&host, work), [(0, 110_000), (1, 160_000)]);
}

#[test]
fn a_flush_costs_who_asks_and_whose_vcpus_execute() {
    let mut host = two_idle_vcpus();
    host.profile.tlb_wait = us(5);
    host.profile.tlb_flush = us(7);
    let flushes = Work {
        at: [1_010, 1_000],
        flushes: true,
        ..PLAIN
    };
    assert_eq!(ended(&host, flushes), [(1, 1_107), (0, 1_115)]);
    // Nobody waits for a vcpu that is blocked.
    let alone = Work {
        at: [1_000, 1_010],
        ..flushes
    };
    assert_eq!(ended(&host, alone), [(0, 1_100), (1, 1_110)]);
}

#[test]
fn who_has_another_vcpu_work_pays_for_the_interrupt() {
    let mut host = two_idle_vcpus();
    let tells = Work {
        at: [1_000, 900_000],
        tells: true,
        ..PLAIN
    };
    let late = (1, 900_100);
    assert_eq!(ended(&host, tells), [(1, 1_000), (0, 1_100), late]);
    host.domains[0].guest.costs.send_ipi = us(4);
    assert_eq!(ended(&host, tells), [(1, 1_000), (0, 1_104), late]);
}

/// Two vcpus of Linux 2.6.18 on pcpus of their own. On the first a process takes turns of 100 ms
/// with one that computes. It comes second, calls the file at 100 ms, and is ready to go on at
/// 200 ms, at 400 ms and so on. Both may leave their vcpu. The second vcpu executes for `busy`,
/// and then looks for more to do.
fn a_vcpu_that_pulls(busy: Duration) -> HostConfig {
    let at = at_us(10_000);
    let calls = Workload::program(CallsOnce { at, step: 0 });
    let mut host = pinned_vcpus([Workload::Idle, compute(busy)]);
    let own = &mut host.domains[0];
    own.guest.order = ProcessOrder::Linux26;
    own.guest.tick = Some(ms(10));
    let processes = [calls, compute(ms(2_000))].map(|workload| TaskConfig {
        roams: true,
        ..TaskConfig::from(workload)
    });
    own.vcpus[0].tasks = processes.into();
    host
}

/// No interrupt comes before the run is over.
const NEVER: u64 = 5_000_000;

/// Nobody takes a process away from the vcpu that its section belongs to, however long it waits for
/// its turn there.
#[test]
fn who_is_in_a_section_is_not_pulled() {
    let work = Work {
        at: [NEVER; 2],
        piece: ms(290),
        ..PLAIN
    };
    let host = a_vcpu_that_pulls(ms(205));
    // It has executed for 100 ms when the other vcpu pulls it.
    assert_eq!(ended(&host, work), [(1, 395_000)]);
    // In a section it goes on at 300 and 500 ms.
    let section = ms(290);
    let work = Work { section, ..work };
    assert_eq!(ended(&host, work), [(0, 590_000)]);
}

/// Linux preempts nobody who spins: whoever does is on its vcpu when the section is free.
#[test]
fn who_spins_for_a_section_is_not_pulled() {
    let section = ms(190);
    let work = Work {
        at: [NEVER, 15_000],
        piece: section,
        section,
        ..PLAIN
    };
    // The second vcpu is in the section from 15 to 205 ms and pulls at 206 ms. The process spins
    // from 100 to 200 ms, and is in the section from 300 to 400 ms and from 500 ms on.
    let host = a_vcpu_that_pulls(ms(16));
    assert_eq!(ended(&host, work), [(1, 205_000), (0, 590_000)]);
}

/// Linux compiles locks away where there is one vcpu.
#[test]
fn one_vcpu_has_no_locks() {
    let host = pinned_vcpus([Workload::Idle]);
    let section = us(60);
    let with = Work {
        section,
        flushes: true,
        ..PLAIN
    };
    let both = [(0, 1_100), (0, 1_200)];
    assert_eq!(ended(&host, with), both);
    assert_eq!(ended(&host, PLAIN), both);
}
