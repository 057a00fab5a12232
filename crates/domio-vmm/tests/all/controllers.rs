//! Processes of controllers: how old the figures are that a controller decides on.

use crate::common::*;
use domio_contract::control::{
    Answers, Controller, Descriptor, Entry, Kinds, Observation, Promises, interval_ms,
};
use domio_core::{DomainId, Kind, ParamValues, XenVersion};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::config::{Accounting, ControllerConfig, ControllerCosts, Workload};
use std::cell::RefCell;
use std::fmt;

/// What a domain did in an interval, in ms: running, waiting, blocked.
type Did = [u64; 3];

/// An observation: when it was read, since when it counts, and what each domain did, in ms.
type Seen = (u64, u64, Vec<Did>);

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

static DESCRIPTOR: Descriptor = Descriptor {
    name: "remembers",
    summary: "remembers what it was shown; shortens slices at its second observation",
    source: "domio",
    interval: interval_ms(100, 1, 1_000),
    params: &[],
    domain_params: &[],
    answers: Kinds {
        weight: false,
        cap: false,
        reservation: false,
        traffic: false,
        charge: false,
        policy: true,
    },
    promises: Promises { settles: true },
};

/// See [`DESCRIPTOR`].
struct Remembers;

impl Controller for Remembers {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        let ms = |time: domio_core::Duration| time.as_nanos() / 1_000_000;
        let did =
            |d: &domio_contract::control::DomainSeen| [ms(d.gotten), ms(d.waited), ms(d.blocked)];
        let domains = seen.domains.iter().map(did).collect();
        let (now, since) = (seen.now.as_nanos(), seen.since.as_nanos());
        SEEN.with_borrow_mut(|all| {
            all.push((now / 1_000_000, since / 1_000_000, domains));
            if all.len() == 2 {
                answers.policy("tslice_ms", 10);
            }
        });
    }

    fn dump(&self, _: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// Dom0 shares a pcpu with two burners under round robin, which lets whoever wakes wait for all
/// others: 30 ms each. Reading takes 4 ms and 2 ms a vcpu, deciding 25 ms, setting 5 ms. An
/// observation is due each 100 ms.
///
/// | ms | who runs |
/// |---|---|
/// | 0 to 30 | dom0: reads until 10, decides; its slice ends |
/// | 30 to 90 | the burners |
/// | 90 to 95 | dom0 has decided; sleeps until 100, and waits then |
/// | 95 to 155 | the burners |
/// | 155 to 185 | dom0: reads until 165, decides; its slice ends |
/// | 185 to 245 | the burners |
/// | 245 to 275 | dom0: has decided at 250 and set at 255; is late for 200, reads until 265 |
/// | from 275 on | all of them, for 10 ms each |
#[test]
fn a_controller_in_a_starved_dom0_sees_late_and_acts_later() {
    let policy = domio_sched::find("round-robin").unwrap();
    let params = ParamValues::defaults(policy.descriptor.params);
    let mut dom0 = domain(0, Workload::Burn);
    dom0.vcpus[0].tasks.clear();
    let burners = [domain(1, Workload::Burn), domain(2, Workload::Burn)];
    let domains = std::iter::once(dom0).chain(burners).collect();
    let mut host = host(1, XenVersion::V4_17, domains);
    host.add_controller(ControllerConfig {
        entry: Entry {
            descriptor: &DESCRIPTOR,
            make: |_| Box::new(Remembers),
            validate: |_| Ok(()),
            validate_domain: |_, _, _| Ok(()),
        },
        params: ParamValues::defaults(&[]),
        domain_params: Vec::new(),
        interval: ms(100),
        domain: DomainId(0),
        vcpu: 0,
        costs: ControllerCosts {
            read: ms(4),
            read_vcpu: ms(2),
            decide: ms(25),
            adjust: ms(5),
        },
        accounting: Accounting::Exact,
    });
    let scheduler = (policy.make)(&params, &host.topology);
    let mut simulation = Simulation::new(&host, scheduler, Trace::default(), 1, 0);
    SEEN.with_borrow_mut(Vec::clear);

    let seen_until = |simulation: &mut Simulation<_>, time: u64| {
        let outcome = simulation.run(at_ms(time));
        assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
        SEEN.with_borrow(Vec::len)
    };
    // The controller is shown what was read at 165 when dom0 has had 25 ms more: 85 ms later.
    assert_eq!(seen_until(&mut simulation, 94), 0);
    assert_eq!(seen_until(&mut simulation, 96), 1);
    assert_eq!(seen_until(&mut simulation, 249), 1);
    assert_eq!(seen_until(&mut simulation, 251), 2);
    // In slices of 10 ms the third decision has its last 5 ms from 325 on.
    assert_eq!(seen_until(&mut simulation, 329), 2);
    assert_eq!(seen_until(&mut simulation, 331), 3);
    let seen = SEEN.take();
    assert_eq!(seen[0], (10, 0, vec![[10, 0, 0], [0, 10, 0], [0, 10, 0]]));
    assert_eq!(
        seen[1],
        (165, 10, vec![[35, 115, 5], [60, 95, 0], [60, 95, 0]])
    );
    let third = (265, 165, vec![[40, 60, 0], [30, 70, 0], [30, 70, 0]]);
    assert_eq!(seen[2], third);

    let switches = lines(&simulation.into_sink(), &[Kind::Switch]);
    let times: Vec<u64> = switches
        .iter()
        .filter_map(|l| l.split(' ').next()?.parse().ok())
        .collect();
    let in_ms: Vec<u64> = times.iter().map(|us| us / 1_000).collect();
    assert_eq!(
        in_ms,
        [
            0, 30, 60, 90, 95, 125, 155, 185, 215, 245, 275, 285, 295, 305, 315, 325
        ]
    );
}
