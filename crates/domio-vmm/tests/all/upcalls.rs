//! What a kernel with devices does within an upcall (Linux 2.6.18 for Xen): softirqs of a handler
//! before the next port.

use crate::common::*;
use domio_core::{DomainId, Instant, Kind, Record, XenVersion};
use domio_sim::TimerId;
use domio_vmm::Simulation;
use domio_vmm::config::Workload;
use domio_vmm::device::{Devices, Io, KernelIo, Progress, Timers};
use domio_vmm::evtchn::{Abi, Port, ScanForm, Width};
use domio_vmm::kernel::{KernelConfig, Softirq};

const D: DomainId = DomainId(1);

/// Two cards of one domain. The handler of each takes 10 us and asks for a softirq that takes 100.
struct Cards {
    abi: Abi,
    timers: [TimerId; 2],
    /// When each card raises its interrupt.
    raised: [Vec<Instant>; 2],
    ports: Vec<Port>,
    /// Microseconds, and what happened.
    told: Vec<(u64, String)>,
}

impl Cards {
    fn tell(&mut self, at: Instant, what: String) {
        self.told.push((at.as_nanos() / 1_000, what));
    }
}

impl Devices for Cards {
    fn kernel(&self, domain: DomainId) -> Option<KernelConfig> {
        (domain == D).then_some(KernelConfig {
            abi: self.abi,
            upcall: us(0),
            nested: us(0),
            irq: us(0),
            timer_irq: us(0),
            timer_softirq: us(0),
            services: 0,
        })
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for card in 0..2 {
            let port = io.channels.bind_pirq(domain, card).expect("a free port");
            let guest = io.channels.guest(domain).expect("it has event channels");
            guest.clear_pending(port);
            let _ = guest.unmask(port, 0);
            self.ports.push(port);
        }
        for (timer, raised) in self.timers.into_iter().zip(&mut self.raised) {
            raised.reverse();
            if let Some(at) = raised.pop() {
                io.arm(timer, at);
            }
        }
    }

    fn unplug(&mut self, _: DomainId, _: &mut Io<'_>) {}

    fn event(&mut self, token: u32, io: &mut Io<'_>) {
        let card = token as usize;
        let sent = io.channels.raise_pirq(D, self.ports[card]);
        io.notify(sent.expect("its port is bound"));
        if let Some(at) = self.raised[card].pop() {
            io.arm(self.timers[card], at);
        }
    }

    fn irq(&mut self, port: Port, step: u32, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let card = self.ports.iter().position(|p| *p == port).expect("a card");
        if step == 0 {
            self.tell(kernel.now(), format!("irq {card}"));
            return Progress::Run(us(10));
        }
        let softirq = [Softirq::NetRx, Softirq::Block][card];
        kernel.raise(softirq);
        Progress::Done
    }

    fn softirq(&mut self, softirq: Softirq, step: u32, kernel: &mut KernelIo<'_, '_>) -> Progress {
        if step == 0 {
            self.tell(kernel.now(), format!("{softirq:?}"));
            return Progress::Run(us(100));
        }
        Progress::Done
    }

    fn tasklet(&mut self, _: u8, _: u32, _: &mut KernelIo<'_, '_>) -> Progress {
        Progress::Done
    }

    fn service(&mut self, _: u8, _: u32, _: &mut KernelIo<'_, '_>) -> Progress {
        Progress::Done
    }

    fn timers(&mut self, _: &mut KernelIo<'_, '_>) {}
}

/// What the domain does when the cards raise their interrupts at these times (microseconds); and
/// when it enters the handlers, by its trace.
fn told(abi: Abi, first: &[u64], second: &[u64]) -> (Vec<(u64, String)>, Vec<u64>) {
    let host = host(1, XenVersion::V4_17, vec![domain(1, Workload::Idle)]);
    let policy = domio_sched::find("round-robin").expect("a shipped policy");
    let params = domio_core::ParamValues::defaults(policy.descriptor.params);
    let raised = [first, second].map(|times| times.iter().map(|t| at_us(*t)).collect());
    let cards = |timers: &mut Timers<'_>| Cards {
        abi,
        timers: [0, 1].map(|card| timers.timer(card)),
        raised,
        ports: Vec::new(),
        told: Vec::new(),
    };
    let mut simulation = Simulation::with_devices(
        &host,
        (policy.make)(&params, &host.topology),
        cards,
        Vec::<Record>::new(),
        0,
        0,
    );
    let _ = simulation.run(at_ms(10));
    let told = simulation.host().devices().told.clone();
    let records = simulation.into_sink();
    let serves = records.iter().filter(|r| r.kind == Kind::EvtchnServe);
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
