//! What a kernel with devices does within an upcall (Linux 2.6.18 for Xen): softirqs of a handler
//! before the next port.

use crate::common::*;
use domio_core::{DomainId, Instant, Kind, Record, XenVersion};
use domio_sim::TimerId;
use domio_vmm::Simulation;
use domio_vmm::bus::{Attach, Device, Io, KernelIo, Owner, Progress, Softirq, SoftirqLine, Token};
use domio_vmm::config::Workload;
use domio_vmm::evtchn::{Abi, Port, ScanForm, Width};

const D: DomainId = DomainId(1);

/// Two cards of one domain. The handler of each takes 10 us and asks for a softirq that takes 100.
struct Cards {
    timers: [TimerId; 2],
    softirqs: [SoftirqLine; 2],
    pirqs: [u16; 2],
    /// When each card raises its interrupt.
    raised: [Vec<Instant>; 2],
    ports: Vec<Port>,
    /// Whose handler and softirq are under way.
    handling: [bool; 2],
    deferred: [bool; 2],
    /// Microseconds, and what happened.
    told: Vec<(u64, String)>,
}

impl Cards {
    fn tell(&mut self, at: Instant, what: String) {
        self.told.push((at.as_nanos() / 1_000, what));
    }
}

impl Device for Cards {
    fn serves(&self, domain: DomainId) -> bool {
        domain == D
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for card in 0..2 {
            let port = io.bind_pirq(domain, self.pirqs[card], 0, card as Token);
            self.ports.push(port.expect("a free port"));
        }
        for (timer, raised) in self.timers.into_iter().zip(&mut self.raised) {
            raised.reverse();
            if let Some(at) = raised.pop() {
                io.arm(timer, at);
            }
        }
    }

    fn unplug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn event(&mut self, token: Token, io: &mut Io<'_>) {
        let card = token as usize;
        io.raise_pirq(D, self.ports[card]);
        if let Some(at) = self.raised[card].pop() {
            io.arm(self.timers[card], at);
        }
    }

    fn irq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let card = token as usize;
        self.handling[card] = !self.handling[card];
        if self.handling[card] {
            self.tell(kernel.now(), format!("irq {card}"));
            return Progress::Run(us(10), Owner::Nobody);
        }
        kernel.raise(self.softirqs[card]);
        Progress::Done
    }

    fn softirq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let card = token as usize;
        self.deferred[card] = !self.deferred[card];
        if self.deferred[card] {
            self.tell(kernel.now(), ["NetRx", "Block"][card].to_owned());
            return Progress::Run(us(100), Owner::Nobody);
        }
        Progress::Done
    }
}

/// What the domain does when the cards raise their interrupts at these times (microseconds); and
/// when it enters the handlers, by its trace.
fn told(abi: Abi, first: &[u64], second: &[u64]) -> (Vec<(u64, String)>, Vec<u64>) {
    let mut host = host(1, XenVersion::V4_17, vec![domain(1, Workload::Idle)]);
    host.domains[0].guest.abi = abi;
    let policy = domio_sched::find("round-robin").expect("a shipped policy");
    let params = domio_core::ParamValues::defaults(policy.descriptor.params);
    let raised = [first, second].map(|times| times.iter().map(|t| at_us(*t)).collect());
    let cards = |attach: &mut Attach<'_>| Cards {
        timers: [0, 1].map(|card| attach.timer(card)),
        softirqs: [
            attach.softirq(Softirq::NetRx, 0),
            attach.softirq(Softirq::Block, 1),
        ],
        pirqs: [0, 1].map(|_| attach.pirq()),
        raised,
        ports: Vec::new(),
        handling: [false; 2],
        deferred: [false; 2],
        told: Vec::new(),
    };
    let mut simulation = Simulation::with_device(
        &host,
        (policy.make)(&params, &host.topology),
        cards,
        Vec::<Record>::new(),
        0,
        0,
    );
    let _ = simulation.run(at_ms(10));
    let told = simulation.host().device(0).told.clone();
    let records = simulation.into_sink();
    let serves = records.iter().filter(|r| r.is(Kind::EvtchnServe));
    let serves = serves.map(|r| r.at.as_nanos() / 1_000);
    (told, serves.collect())
}

fn abis() -> Vec<Abi> {
    let of = |width| ScanForm::ALL.map(|scan| Abi::TwoLevel { width, scan });
    let [narrow, wide] = [Width::Bits32, Width::Bits64].map(of);
    [&narrow[..], &wide, &[Abi::Fifo]].concat()
}

#[test]
fn what_a_handler_leaves_for_later_runs_before_the_next_port_is_looked_for() {
    for abi in abis() {
        let (told, serves) = told(abi, &[1_000], &[1_000]);
        let expected = [
            (1_000, "irq 0"),
            (1_010, "NetRx"),
            (1_110, "irq 1"),
            (1_120, "Block"),
        ];
        assert_eq!(told, expected.map(|(at, s)| (at, s.to_owned())), "{abi:?}");
        assert_eq!(serves, [1_000, 1_110], "{abi:?}");
    }
}

/// The kernels of Xen 3.0: the handler interrupts the softirq, and what it raises is a round of its
/// own after that.
#[test]
fn where_upcalls_nest_a_port_is_served_during_the_softirqs() {
    for width in [Width::Bits32, Width::Bits64] {
        let abi = Abi::TwoLevel {
            width,
            scan: ScanForm::Nesting,
        };
        let (told, serves) = told(abi, &[1_000], &[1_050]);
        let expected = [
            (1_000, "irq 0"),
            (1_010, "NetRx"),
            (1_050, "irq 1"),
            (1_120, "Block"),
        ];
        assert_eq!(told, expected.map(|(at, s)| (at, s.to_owned())), "{abi:?}");
        assert_eq!(serves, [1_000, 1_050], "{abi:?}");
    }
}

#[test]
fn a_port_that_becomes_pending_meanwhile_waits_for_the_softirqs() {
    for abi in abis() {
        let (told, _) = told(abi, &[1_000], &[1_050]);
        let expected = [
            (1_000, "irq 0"),
            (1_010, "NetRx"),
            (1_110, "irq 1"),
            (1_120, "Block"),
        ];
        assert_eq!(told, expected.map(|(at, s)| (at, s.to_owned())), "{abi:?}");
    }
}
