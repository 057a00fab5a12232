//! Softirqs that do not end: after ten rounds they are left to a thread, which goes before all
//! processes or waits for its turn like them, as the guest has it.

use crate::common::*;
use domio_core::{DomainId, Instant, NullSink, XenVersion};
use domio_sim::TimerId;
use domio_vmm::Simulation;
use domio_vmm::bus::{
    Attach, Device, Io, KernelIo, Owner, Progress, Softirq, SoftirqLine, Token,
};
use domio_vmm::config::{ProcessOrder, Workload};
use domio_vmm::evtchn::Port;

const D: DomainId = DomainId(1);

/// Runs of the softirq that the card asks for.
const RUNS: usize = 50;

/// A card whose only interrupt comes at 1 ms. Its softirq takes 100 us and raises itself again.
struct Storm {
    timer: TimerId,
    softirq: SoftirqLine,
    pirq: u16,
    port: Option<Port>,
    running: bool,
    /// When each run ended (us).
    ended: Vec<u64>,
}

impl Device for Storm {
    fn serves(&self, domain: DomainId) -> bool {
        domain == D
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        let port = io.bind_pirq(domain, self.pirq, 0, 0);
        self.port = Some(port.expect("a free port"));
        io.arm(self.timer, at_ms(1));
    }

    fn unplug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn event(&mut self, _: Token, io: &mut Io<'_>) {
        io.raise_pirq(D, self.port.expect("it is plugged in"));
    }

    fn irq(&mut self, _: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        kernel.raise(self.softirq);
        Progress::Done
    }

    fn softirq(&mut self, _: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        self.running = !self.running;
        if self.running {
            return Progress::Run(us(100), Owner::Nobody);
        }
        self.ended.push(kernel.now().as_nanos() / 1_000);
        if self.ended.len() < RUNS {
            kernel.raise(self.softirq);
        }
        Progress::Done
    }
}

/// When the runs of the softirq ended, beside a process that computes for ever.
fn ended(order: ProcessOrder) -> Vec<u64> {
    let mut host = host(1, XenVersion::V4_17, vec![domain(1, Workload::Burn)]);
    host.domains[0].guest.order = order;
    let policy = domio_sched::find("round-robin").expect("a shipped policy");
    let params = domio_core::ParamValues::defaults(policy.descriptor.params);
    let storm = |attach: &mut Attach<'_>| Storm {
        timer: attach.timer(0),
        softirq: attach.softirq(Softirq::NetRx, 0),
        pirq: attach.pirq(),
        port: None,
        running: false,
        ended: Vec::new(),
    };
    let scheduler = (policy.make)(&params, &host.topology);
    let mut simulation = Simulation::with_device(&host, scheduler, storm, NullSink, 0, 0);
    let _ = simulation.run(Instant::ZERO + ms(1_000));
    simulation.host().device(0).ended.clone()
}

#[test]
fn a_thread_that_goes_before_all_ends_the_storm_at_once() {
    let ended = ended(ProcessOrder::Turns);
    let at_once: Vec<u64> = (1..=RUNS as u64).map(|run| 1_000 + 100 * run).collect();
    assert_eq!(ended, at_once);
}

#[test]
fn a_thread_of_nice_19_waits_for_the_process_that_computes() {
    let ended = ended(ProcessOrder::Linux26);
    // Ten rounds within the interrupt: 1 ms. Then the process uses up its slice of 100 ms, of
    // which 1 ms had passed, and the thread goes on, ten rounds at a time for as long as it has
    // to, since the process waits in the expired array.
    let within = (1..=10).map(|run| 1_000 + 100 * run);
    let later = (1..=RUNS as u64 - 10).map(|run| 101_000 + 100 * run);
    assert_eq!(ended, within.chain(later).collect::<Vec<u64>>());
}
