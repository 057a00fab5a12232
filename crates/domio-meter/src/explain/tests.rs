//! The rules one by one, and that the sums are those of packets that are followed one by one.

mod disks;
mod threads;

use super::*;
use crate::cast::{first, names};
use crate::device::NETWORK;
use crate::moves::told;
use crate::moves::told::Stage::{
    self, Device, DriverIn, DriverOut, FromGuest, GuestIn, GuestOut, Outside, ToGuest,
};
use domio_core::{ClassId, DomainId, PcpuId, Runstate};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A trace on one pcpu that is written down step by step.
struct Trace {
    explainer: Explainer,
    names: Names,
    network: ClassId,
    now: u64,
    running: Option<u16>,
    blocked: BTreeSet<u16>,
}

impl Trace {
    /// Domains 0 to `domains` are blocked.
    fn new(explainer: Explainer, domains: u16) -> Self {
        let mut names = names();
        let network = names.add_class(&NETWORK);
        let mut trace = Trace {
            explainer,
            names,
            network,
            now: 0,
            running: None,
            blocked: (0..domains).collect(),
        };
        for domain in 0..domains {
            trace.state(domain, Runstate::Blocked, Runstate::Blocked);
        }
        trace
    }

    fn at(&mut self, ns: u64) -> &mut Self {
        self.now = ns;
        self
    }

    fn instant(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    fn put(&mut self, record: Record) {
        self.explainer.record(&self.names, &record);
    }

    fn common(&mut self, kind: Kind, domain: u16, words: [u32; 4]) {
        let (at, vcpu) = (self.instant(), first(domain));
        self.put(Record::with(at, PcpuId(0), kind, vcpu, words));
    }

    fn state(&mut self, domain: u16, old: Runstate, new: Runstate) {
        let (at, vcpu) = (self.instant(), first(domain));
        self.put(Record::runstate(at, PcpuId(0), vcpu, old, new));
    }

    fn wakes(&mut self, domain: u16) {
        self.blocked.remove(&domain);
        self.state(domain, Runstate::Blocked, Runstate::Runnable);
    }

    /// `domain` runs instead of who did, who goes to `left_to`.
    fn runs(&mut self, domain: u16, left_to: Runstate) {
        match self.running.replace(domain) {
            Some(old) => {
                if left_to == Runstate::Blocked {
                    self.blocked.insert(old);
                }
                let (at, leaves) = (self.instant(), (first(old), left_to));
                self.put(Record::switch(at, PcpuId(0), leaves, first(domain), [0; 3]));
            }
            None => self.state(domain, Runstate::Runnable, Runstate::Running),
        }
    }

    fn moves(&mut self, guest: u16, old: Stage, new: Stage, ago: u64) {
        let (at, places) = (self.instant(), [old, new]);
        let (guest, driver) = (first(guest), first(0));
        let moved = told::moved_before(at, self.network, guest, driver, places, ago);
        self.put(moved);
    }

    fn finds_full(&mut self, guest: u16) {
        let (at, guest, driver) = (self.instant(), first(guest), first(0));
        self.put(told::full(at, self.network, guest, driver, GuestOut));
    }

    fn is_held(&mut self, guest: u16, ns: u64) {
        let (at, guest, driver) = (self.instant(), first(guest), first(0));
        self.put(told::held(at, self.network, guest, driver, ns));
    }

    fn sends(&mut self, from: u16, to: u16, port: u32) {
        self.common(Kind::EvtchnSend, to, [port, first(from).0, 0, 0]);
    }

    fn serves(&mut self, domain: u16, port: u32) {
        self.common(Kind::EvtchnServe, domain, [port, 0, 0, 0]);
    }

    fn finish(self) -> Explanation {
        self.explainer.finish_at(Instant::from_nanos(self.now))
    }
}

fn whole() -> Explainer {
    Explainer::new(MapWindow::Worst)
}

fn packets(explanation: &Explanation, guest: u16) -> &ItemWaits {
    let mut items = explanation.items(DomainId(guest));
    items.next().expect("it has packets")
}

fn times(explanation: &Explanation, guest: u16) -> Vec<((Stage, Cause), u64)> {
    let times = packets(explanation, guest).times.iter();
    times
        .map(|((place, cause), time)| ((Stage::ALL[*place], *cause), *time))
        .collect()
}

/// Domain 1 has a packet in its ring and has told the driver domain, which is runnable at 100;
/// domain 2 runs then.
fn waiting_in_tx_ring() -> Trace {
    let mut trace = Trace::new(whole(), 3);
    trace.wakes(1);
    trace.runs(1, Runstate::Blocked);
    trace.moves(1, Outside, GuestOut, 0);
    trace.at(10).moves(1, GuestOut, FromGuest, 0);
    trace.at(15).sends(1, 0, 9);
    trace.wakes(0);
    trace.wakes(2);
    trace.at(100).runs(2, Runstate::Blocked);
    trace
}

const SCAN: (Stage, Cause) = (FromGuest, Cause::Scan);
const BEHIND_1: Cause = Cause::RunQueue(Side::Driver, Some(DomainId(1)));
const BEHIND_2: Cause = Cause::RunQueue(Side::Driver, Some(DomainId(2)));

#[test]
fn until_it_runs_a_port_waits_for_the_driver_domain() {
    let mut trace = waiting_in_tx_ring();
    trace.at(300).runs(0, Runstate::Runnable);
    trace.at(301).serves(0, 9);
    trace.at(310).moves(1, FromGuest, DriverOut, 0);
    trace.at(340).moves(1, DriverOut, Outside, 0);
    trace.at(400);
    let work = |place, side| (place, Cause::Work(side));
    let explanation = trace.finish();
    let packets = packets(&explanation, 1);
    assert_eq!(
        (packets.begun, packets.under_way, packets.total()),
        (1, 0, 340)
    );
    assert_eq!(
        packets.largest_wait(),
        Some((ItemQueue::RunQueue(Side::Driver), 285))
    );
    assert_eq!(
        times(&explanation, 1),
        [
            (work(GuestOut, Side::Guest), 10),
            ((FromGuest, BEHIND_1), 85),
            ((FromGuest, BEHIND_2), 200),
            ((FromGuest, Cause::Busy), 1),
            (work(FromGuest, Side::Guest), 5),
            (work(FromGuest, Side::Driver), 9),
            (work(DriverOut, Side::Driver), 30),
        ]
    );
}

#[test]
fn once_another_port_was_served_first_it_waits_for_the_scan() {
    let mut trace = waiting_in_tx_ring();
    trace.at(300).runs(0, Runstate::Runnable);
    trace.at(310).serves(0, 2);
    trace.at(350).runs(2, Runstate::Runnable);
    trace.at(900).runs(0, Runstate::Runnable);
    trace.at(905).serves(0, 2);
    trace.at(950).serves(0, 9);
    trace.at(960).moves(1, FromGuest, DriverOut, 0);
    let times = times(&trace.finish(), 1);
    let found = |key| times.iter().find(|(k, _)| *k == key).map(|(_, time)| *time);
    assert_eq!(found(SCAN), Some(640), "from 310 to 950");
    assert_eq!(found((FromGuest, BEHIND_2)), Some(200), "from 100 to 300");
    assert_eq!(found((FromGuest, Cause::Busy)), Some(10));
}

#[test]
fn a_guest_that_found_the_ring_full_waits_for_the_driver_domain_even_while_it_runs() {
    let mut trace = Trace::new(whole(), 3);
    trace.wakes(1);
    trace.runs(1, Runstate::Blocked);
    trace.moves(1, Outside, GuestOut, 0);
    trace.at(10).finds_full(1);
    trace.sends(1, 0, 9);
    trace.at(25).wakes(0);
    trace.at(50).moves(1, GuestOut, FromGuest, 0);
    assert_eq!(
        times(&trace.finish(), 1),
        [
            ((GuestOut, BEHIND_1), 25),
            ((GuestOut, Cause::Work(Side::Guest)), 10),
            ((GuestOut, Cause::Held), 15),
        ]
    );
}

#[test]
fn until_more_comes_packets_wait_for_the_rate_limit_whoever_runs() {
    let mut trace = Trace::new(whole(), 3);
    trace.wakes(1);
    trace.runs(1, Runstate::Blocked);
    for _ in 0..2 {
        trace.moves(1, Outside, GuestOut, 0);
        trace.moves(1, GuestOut, FromGuest, 0);
    }
    trace.sends(1, 0, 9);
    trace.wakes(0);
    trace.at(10).runs(0, Runstate::Runnable);
    trace.serves(0, 9);
    // It looks at the first packet, and finds that more comes at 100. Domain 1 finds the ring full.
    trace.at(20).is_held(1, 80);
    trace.at(30).runs(1, Runstate::Blocked);
    trace.moves(1, Outside, GuestOut, 0);
    trace.at(40).finds_full(1);
    trace.at(70).wakes(0);
    trace.at(150).runs(0, Runstate::Runnable);
    trace.at(160).moves(1, FromGuest, DriverOut, 0);
    trace.at(170);
    let limit = |place| (place, Cause::Limit);
    let work = |place, side| (place, Cause::Work(side));
    assert_eq!(
        times(&trace.finish(), 1),
        [
            ((GuestOut, BEHIND_1), 50),
            (work(GuestOut, Side::Guest), 10),
            (work(GuestOut, Side::Driver), 20),
            (limit(GuestOut), 60),
            ((FromGuest, BEHIND_1), 120),
            (work(FromGuest, Side::Driver), 50),
            (limit(FromGuest), 160),
            (work(DriverOut, Side::Driver), 10),
        ]
    );
}

#[test]
fn a_port_that_is_sent_to_again_begins_anew() {
    let mut trace = waiting_in_tx_ring();
    trace.at(300).runs(0, Runstate::Runnable);
    trace.serves(0, 2);
    trace.at(320).serves(0, 9);
    trace.sends(1, 0, 9);
    trace.at(330).runs(2, Runstate::Runnable);
    trace.at(400);
    let times = times(&trace.finish(), 1);
    let found = |key| times.iter().find(|(k, _)| *k == key).map(|(_, time)| *time);
    assert_eq!(
        (found(SCAN), found((FromGuest, BEHIND_2))),
        (Some(20), Some(270))
    );
}

#[test]
fn the_past_of_a_packet_that_nobody_saw_arrive_is_told_apart() {
    let mut trace = Trace::new(whole(), 3);
    trace.moves(1, Outside, Device, 0);
    trace.moves(1, Device, Outside, 0);
    trace.at(10).wakes(2);
    trace.runs(2, Runstate::Blocked);
    trace.at(40).wakes(0);
    trace.at(100).runs(0, Runstate::Runnable);
    trace.at(120).moves(1, Outside, Device, 95);
    trace.at(130).moves(1, Device, DriverIn, 0);
    assert_eq!(
        times(&trace.finish(), 1),
        [
            ((Device, BEHIND_2), 60),
            ((Device, Cause::Busy), 30),
            ((Device, Cause::Held), 15),
        ]
    );
}

#[test]
fn a_guest_that_was_not_told_of_a_packet_waits_for_the_driver_domain() {
    let mut trace = Trace::new(whole(), 3);
    trace.wakes(0);
    trace.runs(0, Runstate::Blocked);
    trace.moves(1, Outside, Device, 0);
    trace.moves(1, Device, DriverIn, 0);
    trace.moves(1, DriverIn, ToGuest, 0);
    trace.at(20).sends(0, 1, 5);
    trace.wakes(1);
    trace.at(50).runs(1, Runstate::Runnable);
    trace.at(60).moves(1, ToGuest, GuestIn, 0);
    trace.at(75).moves(1, GuestIn, Outside, 0);
    let behind = Cause::RunQueue(Side::Guest, Some(DomainId(0)));
    assert_eq!(
        times(&trace.finish(), 1),
        [
            ((ToGuest, behind), 30),
            ((ToGuest, Cause::Work(Side::Guest)), 10),
            ((ToGuest, Cause::Work(Side::Driver)), 20),
            ((GuestIn, Cause::Work(Side::Guest)), 15),
        ]
    );
}

#[test]
fn sums_of_replications_add_up() {
    let mut trace = waiting_in_tx_ring();
    trace.at(400);
    let one = trace.finish();
    let mut both = one.clone();
    both.add(&one);
    assert_eq!(both.elapsed, 800);
    let of = |e: &Explanation| e.domains().iter().map(DomainWaits::runnable).sum::<u64>();
    assert_eq!(of(&both), 2 * of(&one));
    let total = |e: &Explanation| packets(e, 1).total();
    assert_eq!(total(&both), 2 * total(&one));
}

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// This domain runs instead of who did, who goes to runnable or blocked.
    Run(u16, bool),
    /// A packet of this guest goes on from the place with this number, or begins its way in the
    /// card or in the guest.
    Move(u16, usize),
    /// A packet of this guest came to the card so long ago, but after the one before.
    Arrive(u16, u64),
    Send(u16, u32),
    Serve(u32),
    /// The rate limit of this guest holds its packets back for so long.
    Limit(u16, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4u16, any::<bool>()).prop_map(|(d, blocks)| Step::Run(d, blocks)),
        (1..3u16, 0..9usize).prop_map(|(g, place)| Step::Move(g, place)),
        (1..3u16, 0..200u64).prop_map(|(g, ago)| Step::Arrive(g, ago)),
        (1..3u16, 0..3u32).prop_map(|(g, port)| Step::Send(g, port)),
        (0..3u32).prop_map(Step::Serve),
        (1..3u16, 0..500u64).prop_map(|(g, ns)| Step::Limit(g, ns)),
    ]
}

/// Where a packet goes from the place with this number; 8: the guest sends one.
fn next(place: usize) -> (Stage, Stage) {
    match place {
        0 => (Outside, GuestOut),
        1 => (Device, DriverIn),
        2 => (DriverIn, ToGuest),
        3 => (ToGuest, GuestIn),
        4 => (GuestIn, Outside),
        5 => (GuestOut, FromGuest),
        6 => (FromGuest, DriverOut),
        7 => (DriverOut, Outside),
        _ => (DriverIn, Outside),
    }
}

/// When packets came to where they are, oldest first, by guest and place; and the time that they
/// spent at each.
#[derive(Default)]
struct OneByOne {
    window: (u64, u64),
    since: BTreeMap<(u16, Stage), VecDeque<u64>>,
    spent: BTreeMap<(u16, Stage), u64>,
}

impl OneByOne {
    fn leaves(&mut self, guest: u16, place: Stage, now: u64) -> bool {
        let Some(since) = self.since.entry((guest, place)).or_default().pop_front() else {
            return false;
        };
        let (from, to) = self.window;
        let time = now.min(to).saturating_sub(since.max(from));
        *self.spent.entry((guest, place)).or_default() += time;
        true
    }

    fn comes(&mut self, guest: u16, place: Stage, since: u64) {
        self.since
            .entry((guest, place))
            .or_default()
            .push_back(since);
    }
}

proptest! {
    /// Whatever happens: what the causes add up to is the time that each packet spent at each
    /// place, followed one by one, and the states of each domain add up to the time that passed.
    #[test]
    fn nothing_is_lost_and_nothing_counts_twice(
        steps in prop::collection::vec((0..100u64, step()), 1..300),
        from in 0..4_000u64,
        length in 0..8_000u64,
    ) {
        let to = from + length;
        let window = Explainer::window(Instant::from_nanos(from), Instant::from_nanos(to));
        let mut trace = Trace::new(window, 4);
        let mut packets = OneByOne { window: (from, to), ..OneByOne::default() };
        // The driver domain has to be known before packets arrive behind its back.
        trace.moves(1, Outside, Device, 0);
        packets.comes(1, Device, 0);
        let mut last_arrival = 0;
        for (passes, step) in steps {
            let now = trace.now + passes;
            trace.at(now);
            match step {
                Step::Run(domain, blocks) if trace.running != Some(domain) => {
                    let left_to = if blocks { Runstate::Blocked } else { Runstate::Runnable };
                    if trace.blocked.contains(&domain) {
                        trace.wakes(domain);
                    }
                    trace.runs(domain, left_to);
                }
                Step::Move(guest, place) => {
                    let (old, new) = next(place);
                    if old == Outside || packets.leaves(guest, old, now) {
                        trace.moves(guest, old, new, 0);
                        if new != Outside {
                            packets.comes(guest, new, now);
                        }
                    }
                }
                Step::Arrive(guest, ago) => {
                    last_arrival = now.saturating_sub(ago).max(last_arrival);
                    trace.moves(guest, Outside, Device, now - last_arrival);
                    packets.comes(guest, Device, last_arrival);
                }
                Step::Send(guest, port) => trace.sends(guest, 0, port),
                Step::Serve(port) => trace.serves(0, port),
                Step::Limit(guest, ns) => trace.is_held(guest, ns),
                Step::Run(..) => {}
            }
        }
        let end = trace.now;
        let explanation = trace.finish();
        let keys: Vec<_> = packets.since.keys().copied().collect();
        for (guest, place) in keys {
            while packets.leaves(guest, place, end) {}
        }
        let mut sums: BTreeMap<(u16, Stage), u64> = BTreeMap::new();
        for items in &explanation.items {
            for ((place, cause), time) in &items.times {
                prop_assert_ne!(*cause, Cause::Unknown);
                *sums.entry((items.domain.0, Stage::ALL[*place])).or_default() += time;
            }
        }
        for domain in explanation.domains() {
            let states = domain.running + domain.at_rest + domain.runnable();
            prop_assert_eq!(states, end.min(to).saturating_sub(from));
        }
        packets.spent.retain(|_, time| *time > 0);
        prop_assert_eq!(sums, packets.spent);
    }
}

/// A disk beside the network, with requests of its own.
static DISK: domio_core::Class = domio_core::Class {
    name: "disk",
    items: "requests",
    ..NETWORK
};

#[test]
fn classes_of_one_guest_are_told_side_by_side() {
    let mut trace = waiting_in_tx_ring();
    let network = std::mem::replace(&mut trace.network, ClassId(u8::MAX));
    trace.network = trace.names.add_class(&DISK);
    assert_ne!(trace.network, network);
    // A request that is in the ring from 100 on; its event is not the packet's.
    trace.at(100).moves(1, Outside, FromGuest, 0);
    trace.sends(1, 0, 4);
    trace.at(200).runs(0, Runstate::Runnable);
    trace.at(210).serves(0, 9);
    trace.at(220).serves(0, 4);
    trace.at(230).moves(1, FromGuest, Outside, 0);
    let explanation = trace.finish();
    let both: Vec<&ItemWaits> = explanation.items(DomainId(1)).collect();
    let told = both.iter().map(|w| (w.class.items, w.total(), w.under_way));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [("requests", 130, 0), ("packets", 230, 1)]
    );
    let requests = both[0]
        .times
        .iter()
        .filter(|((_, cause), _)| *cause == Cause::Scan);
    // The packet's port was served first, at 210; the request's at 220.
    assert_eq!(requests.map(|(_, time)| time).sum::<u64>(), 10);
    assert!(both[1].times.keys().all(|(_, cause)| *cause != Cause::Scan));
    let json = serde_json::to_value(explanation.answer(|_| None, |_| None, None, false)).unwrap();
    let items = &json["items"];
    assert_eq!(items[0]["items"], "requests");
    assert_eq!(items[1]["waits"][0]["place"], "guest, out");
}

/// Waits of vcpus count with the part inside of a window, and of several runs all are told.
#[test]
fn a_window_has_parts_of_waits_and_runs_are_told_apart() {
    let at = Instant::from_nanos;
    let run = |window: Explainer| {
        let mut trace = Trace::new(window, 3);
        trace.wakes(1);
        trace.runs(1, Runstate::Blocked);
        trace.at(100).wakes(2);
        trace.at(300).runs(2, Runstate::Runnable);
        trace.at(900).runs(1, Runstate::Blocked);
        trace.at(1_000);
        trace.finish()
    };
    let whole = run(whole());
    let domain = |e: &Explanation, id: usize| e.domains()[id].clone();
    assert_eq!(
        (domain(&whole, 2).runnable(), domain(&whole, 1).runnable()),
        (200, 600)
    );
    let cut = run(Explainer::window(at(250), at(950)));
    assert_eq!((cut.start, cut.elapsed), (at(250), 700));
    assert_eq!(
        (domain(&cut, 2).runnable(), domain(&cut, 1).runnable()),
        (50, 600)
    );
    assert_eq!(
        (domain(&cut, 1).running, domain(&cut, 2).running),
        (100, 600)
    );
    let lengths = |e: &Explanation| {
        e.worst
            .iter()
            .map(|w| (w.run, w.length))
            .collect::<Vec<_>>()
    };
    assert_eq!(lengths(&cut), [(0, 600), (0, 50)]);
    assert_eq!(cut.worst_woken[0].begin, at(250));
    // Domain 1 was put there as it was woken. The wait of domain 2 ends outside of the window, and
    // is in the sums alone.
    let early = run(Explainer::window(at(0), at(250)));
    assert_eq!(
        (lengths(&early), domain(&early, 2).runnable()),
        (vec![(0, 0)], 150)
    );
    let mut sum = Explanation::default();
    sum.add(&whole);
    sum.add(&cut);
    assert_eq!((sum.runs, sum.elapsed), (2, 1_700));
    assert_eq!(lengths(&sum)[..3], [(0, 600), (1, 600), (0, 200)]);
    let json = serde_json::to_value(sum.answer(|_| None, |_| None, None, false)).unwrap();
    assert_eq!(json["worst_waits"][1]["run"], 1);
    assert_eq!(json["worst_waits"][0]["run"], 0);
}
