//! A controller stops, limits and frees the traffic of a guest: a process of the driver domain,
//! whose
//! hypercalls change what netback does while it runs.

use crate::site::*;
use crate::told::{Record, Records};
use domio_contract::control::{
    Adjustment, Answers, Change, Controller, Descriptor, Entry, Guard, Kinds, Observation,
    Promises, Traffic, interval_ms,
};
use domio_core::{DomainId, Duration, Instant, ParamValues};
use domio_net::host::Network;
use domio_net::queue::{DropPlace, Ledger};
use domio_vmm::Simulation;
use domio_vmm::bus::{Device as _, Passed};
use domio_vmm::config::{Accounting, ControllerConfig, ControllerCosts, Workload};
use domio_vmm::hardware::OPTERON_242;
use std::cell::RefCell;
use std::fmt;

/// Where what comes for a guest that is stopped ends.
const STOPPED: DropPlace = DropPlace("driver domain, traffic stopped");
const G1: DomainId = DomainId(1);
const INTERVAL: u64 = 50;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "scripted",
    summary: "does what a test says",
    source: "domio",
    interval: interval_ms(50, 1, 1_000),
    params: &[],
    domain_params: &[],
    answers: Kinds {
        traffic: true,
        ..Kinds::NONE
    },
    promises: Promises { settles: false },
};

/// At observation 4 (150 ms) the traffic of guest 1 is stopped, at 10 (450 ms) it is free again, at
/// 14 (650 ms) limited to 25,000 bytes in 50 ms, and at 24 (1,150 ms) free.
const SCRIPT: [(u64, Traffic); 4] = [
    (4, Traffic::Stopped),
    (10, Traffic::Free),
    (
        14,
        Traffic::Limited {
            bytes: 25_000,
            per: Duration::from_millis(50),
        },
    ),
    (24, Traffic::Free),
];

struct Scripted(u64);

thread_local! {
    /// What was set for guest 1 at each observation.
    static SET: RefCell<Vec<(Instant, Option<Traffic>)>> = const { RefCell::new(Vec::new()) };
}

impl Controller for Scripted {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        self.0 += 1;
        assert!(seen.abilities.traffic, "the host has a network");
        assert!(
            seen.domain(DomainId(0))
                .is_some_and(|d| d.set.traffic.is_none())
        );
        let guest = seen.domain(G1).expect("guest 1 is there");
        SET.with_borrow_mut(|set| set.push((seen.now, guest.set.traffic)));
        for (at, traffic) in SCRIPT {
            if at == self.0 {
                let answer = Adjustment::Domain {
                    domain: G1,
                    change: Change::Traffic(traffic),
                };
                assert_eq!(seen.refuses(&answer), None);
                answers.domain(G1, Change::Traffic(traffic));
            }
        }
    }

    fn dump(&self, _: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

static ENTRY: Entry = Entry {
    descriptor: &DESCRIPTOR,
    make: |_| Box::new(Scripted(0)),
    validate: |_| Ok(()),
    validate_domain: |_, _, _| Ok(()),
};

/// Guests 1 and 2 with datagrams both ways, 1,000 of 1,000 bytes a second each, and the controller
/// in dom0's vcpu `vcpu`.
fn host_with(vcpu: u16) -> Simulation<Records, Network> {
    host_of(vcpu, ENTRY)
}

fn host_of(vcpu: u16, entry: Entry) -> Simulation<Records, Network> {
    let flows = [udp_in(1_000), udp_out(1_000), ping(10)];
    let cards = [card(0, vec![vif(1, &flows), vif(2, &flows)])];
    let mut domains = vec![
        domain(0, usize::from(vcpu) + 1),
        domain(1, 1),
        with(domain(2, 1), 0, Workload::Burn),
    ];
    equip(&cards, &mut domains);
    let mut host = host(2, CREDIT_4_17, domains);
    host.add_controller(ControllerConfig {
        entry,
        params: ParamValues::defaults(&[]),
        domain_params: Vec::new(),
        interval: ms(INTERVAL),
        domain: DomainId(0),
        vcpu,
        costs: ControllerCosts::on(&OPTERON_242),
        accounting: Accounting::Exact,
    });
    simulation(&host, CREDIT_4_17, &cards, Records::default())
}

fn passed(simulation: &Simulation<Records, Network>, guest: u16) -> Passed {
    simulation.host().device(0).passed(DomainId(guest))
}

fn dropped(simulation: &Simulation<Records, Network>, place: DropPlace) -> u64 {
    let mut ledger = Ledger::new();
    ledger.add(simulation.host().device(0));
    ledger.dropped_at(place)
}

/// Datagrams that the remote host has got from guests 1 and 2.
fn sent(simulation: &Simulation<Records, Network>) -> [u64; 2] {
    [1, 4].map(|flow| datagrams(simulation.host().device(0), flow))
}

#[test]
fn a_stopped_guest_gets_nothing_and_sends_nothing() {
    for vcpu in [0, 1] {
        SET.take();
        let mut simulation = host_with(vcpu);
        run(&mut simulation, 0, 160);
        let before = [1, 2].map(|guest| passed(&simulation, guest));
        let (count, sent_before) = (dropped(&simulation, STOPPED), sent(&simulation));
        run(&mut simulation, 160, 440);
        let during = [1, 2].map(|guest| passed(&simulation, guest));
        // What was in netback, or on its way, has left at 160 ms.
        assert_eq!(during[0], before[0], "nothing passes while it is stopped");
        assert!(during[1].packets_in >= before[1].packets_in + 280);
        assert!(during[1].packets_out >= before[1].packets_out + 280);
        // 280 datagrams and 28 pings, and a question or two for the guest's address.
        let turned_away = dropped(&simulation, STOPPED) - count;
        assert!((306..=315).contains(&turned_away), "{turned_away}");
        let sent_during = sent(&simulation);
        assert!(sent_during[0] <= sent_before[0] + 1, "{sent_during:?}");
        assert!((278..=282).contains(&(sent_during[1] - sent_before[1])));
        // Freed at 450 ms: what waited in the guest's ring and queue goes on, and nothing is lost
        // of
        // what it sent. 1,000 a second from 6 ms on.
        run(&mut simulation, 440, 640);
        let sent = sent(&simulation);
        assert!(
            sent.iter().all(|sent| (632..=635).contains(sent)),
            "{sent:?}"
        );
        assert!(passed(&simulation, 1).packets_in >= during[0].packets_in + 180);
        let settled = dropped(&simulation, STOPPED);
        run(&mut simulation, 640, 1_300);
        assert_eq!(
            dropped(&simulation, STOPPED),
            settled,
            "nothing more is turned away"
        );
    }
}

/// The controller sees what is set, and what it asks for is so at the next observation.
#[test]
fn the_controller_sees_what_it_has_set() {
    SET.take();
    let mut simulation = host_with(0);
    run(&mut simulation, 0, 1_300);
    let set = SET.take();
    assert_eq!(set.len(), 1_300 / INTERVAL as usize);
    for (i, (now, traffic)) in (1..).zip(set) {
        // Set by an answer to an earlier observation, `Free` from the start.
        let last = SCRIPT.iter().rev().find(|(at, _)| *at < i);
        let expected = last.map_or(Traffic::Free, |(_, traffic)| *traffic);
        assert_eq!(traffic, Some(expected), "observation {i} at {now}");
        // The process is as late as its reading takes, and as others in its domain keep it.
        let late = now.saturating_since(at((i - 1) * INTERVAL));
        assert!(late < ms(2), "observation {i} at {now}");
    }
}

/// 25,000 bytes in 50 ms are 23 datagrams of 1,042 bytes, and the little that is left each time
/// does
/// not add up: credit is that of one interval.
#[test]
fn a_limited_guest_sends_at_its_rate() {
    let mut simulation = host_with(0);
    run(&mut simulation, 0, 700);
    let before = (passed(&simulation, 1), sent(&simulation));
    run(&mut simulation, 700, 1_100);
    let after = (passed(&simulation, 1), sent(&simulation));
    // Eight intervals, with at most one burst more at either end.
    let bytes = after.0.bytes_out - before.0.bytes_out;
    assert!((7 * 23_000..=9 * 25_000).contains(&bytes), "{bytes}");
    assert!(after.1[1] - before.1[1] >= 398, "the other guest is free");
    // All that comes for the guest comes in: 400 datagrams, and 40 pings.
    let came = after.0.packets_in - before.0.packets_in;
    assert!((435..=445).contains(&came), "{came}");
    // Free again at 1,150 ms: what waits goes out, since the guest's queue held all.
    run(&mut simulation, 1_100, 1_300);
    let sent = sent(&simulation);
    assert!(
        sent.iter().all(|sent| (1_292..=1_295).contains(sent)),
        "{sent:?}"
    );
}

/// A flood for a guest that is stopped costs the driver domain far less than one that is taken
/// through the bridge and netback.
#[test]
fn what_is_turned_away_costs_little() {
    let mut simulation = host_with(0);
    run(&mut simulation, 0, 440);
    let records = simulation.into_sink();
    let work = |from: u64, to: u64| -> u64 {
        let within = records
            .iter()
            .filter(|r| (at(from)..at(to)).contains(&r.at));
        let done = within.filter_map(Record::done_for);
        done.filter(|(guest, _)| *guest == G1)
            .map(|(_, ns)| ns)
            .sum()
    };
    // 100 ms each: datagrams both ways and pings, then what is turned away.
    let (open, stopped) = (work(40, 140), work(200, 300));
    assert!(stopped > 0 && stopped * 5 < open, "{stopped} of {open}");
}

/// Drops for 60 ms once, at the fourth observation (150 ms), and never again: what lasts for a time
/// is repeated 25 ms later, and ends 60 ms after that.
struct Once(u64);

impl Controller for Once {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn observe(&mut self, _: &Observation<'_>, answers: &mut Answers) {
        self.0 += 1;
        if self.0 == 4 {
            let (guard, lasts) = (Guard::Drop, ms(60));
            answers.domain(G1, Change::Traffic(Traffic::Guarded { guard, lasts }));
        }
    }

    fn dump(&self, _: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// A guard ends to the millisecond without anybody's doing, and each packet is in the books.
#[test]
fn a_guard_ends_by_itself_and_its_packets_are_accounted_for() {
    let entry = Entry {
        make: |_| Box::new(Once(0)),
        ..ENTRY
    };
    let mut simulation = host_of(0, entry);
    run(&mut simulation, 0, 154);
    let before = (passed(&simulation, 1), sent(&simulation));
    run(&mut simulation, 154, 234);
    assert_eq!(passed(&simulation, 1), before.0, "repeated at 175 ms");
    assert!(
        sent(&simulation)[1] >= before.1[1] + 78,
        "the other is free"
    );
    let gone = dropped(&simulation, DropPlace("netback, traffic dropped"));
    assert!((80..=86).contains(&gone), "{gone}");
    // 175 and 60 ms: from 236 ms on a thousand a second pass again.
    run(&mut simulation, 234, 336);
    let came_out = sent(&simulation)[0] - before.1[0];
    assert!((98..=103).contains(&came_out), "{came_out}");
    let lost = dropped(&simulation, DropPlace("netback, traffic dropped"));
    assert!(lost <= gone + 2, "{lost}, {gone} before");
    let mut ledger = Ledger::new();
    ledger.add(simulation.host().device(0));
    assert_eq!(ledger.check(), Ok(()));
}
