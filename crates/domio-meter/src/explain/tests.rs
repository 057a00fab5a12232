//! The rules one by one, and that the sums are those of packets that are followed one by one.

use super::*;
use domio_core::NetPlace::{Card, DriverIn, DriverOut, GuestIn, GuestOut, Outside, RxRing, TxRing};
use domio_core::{DomainId, PcpuId, Runstate, VcpuName};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const DRIVER: VcpuName = vcpu(0);

const fn vcpu(domain: u16) -> VcpuName {
    VcpuName {
        domain: DomainId(domain),
        index: 0,
    }
}

/// A trace on one pcpu that is written down step by step.
struct Told {
    explainer: Explainer,
    now: u64,
    running: Option<VcpuName>,
}

impl Told {
    /// Domains 0 to `domains` are blocked.
    fn new(explainer: Explainer, domains: u16) -> Self {
        let mut told = Told {
            explainer,
            now: 0,
            running: None,
        };
        for domain in 0..domains {
            told.state(vcpu(domain), Runstate::Blocked, Runstate::Blocked);
        }
        told
    }

    fn at(&mut self, ns: u64) -> &mut Self {
        self.now = ns;
        self
    }

    fn put(&mut self, kind: Kind, vcpu: VcpuName, detail: u8, data: [u32; 4]) {
        let mut record = Record::new(Instant::from_nanos(self.now), PcpuId(0), kind, vcpu);
        (record.detail, record.data) = (detail, data);
        self.explainer.record(&record);
    }

    fn state(&mut self, vcpu: VcpuName, old: Runstate, new: Runstate) {
        let detail = (old as u8) << 4 | new as u8;
        self.put(Kind::RunstateChange, vcpu, detail, [0; 4]);
    }

    fn wakes(&mut self, domain: u16) {
        self.state(vcpu(domain), Runstate::Blocked, Runstate::Runnable);
    }

    /// `domain` runs instead of who did, who goes to `left_to`.
    fn runs(&mut self, domain: u16, left_to: Runstate) {
        let new = vcpu(domain);
        match self.running.replace(new) {
            Some(old) => self.put(Kind::Switch, old, left_to as u8, [new.word(), 0, 0, 0]),
            None => self.state(new, Runstate::Runnable, Runstate::Running),
        }
    }

    fn moves(&mut self, guest: u16, old: NetPlace, new: NetPlace, ago: u64) {
        let data = [1, DRIVER.word(), ago as u32, (ago >> 32) as u32];
        let detail = (old as u8) << 4 | new as u8;
        self.put(Kind::NetMove, vcpu(guest), detail, data);
    }

    fn sends(&mut self, from: u16, to: u16, port: u32) {
        let data = [port, vcpu(from).word(), 0, 0];
        self.put(Kind::EvtchnSend, vcpu(to), 0, data);
    }

    fn serves(&mut self, domain: u16, port: u32) {
        self.put(Kind::EvtchnServe, vcpu(domain), 0, [port, 0, 0, 0]);
    }

    fn finish(self) -> Explanation {
        self.explainer.finish_at(Instant::from_nanos(self.now))
    }
}

fn times(explanation: &mut Explanation, guest: u16) -> Vec<((NetPlace, Cause), u64)> {
    let packets = explanation.domain(DomainId(guest)).packets.take();
    packets.unwrap_or_default().times.into_iter().collect()
}

/// Domain 1 has a packet in its ring and has told the driver domain, which is runnable at 100;
/// domain 2 runs then.
fn waiting_in_tx_ring() -> Told {
    let mut told = Told::new(Explainer::new(), 3);
    told.wakes(1);
    told.runs(1, Runstate::Blocked);
    told.moves(1, Outside, GuestOut, 0);
    told.at(10).moves(1, GuestOut, TxRing, 0);
    told.at(15).sends(1, 0, 9);
    told.wakes(0);
    told.wakes(2);
    told.at(100).runs(2, Runstate::Blocked);
    told
}

const SCAN: (NetPlace, Cause) = (TxRing, Cause::Scan);
const BEHIND_1: Cause = Cause::RunQueue(Side::Driver, Some(DomainId(1)));
const BEHIND_2: Cause = Cause::RunQueue(Side::Driver, Some(DomainId(2)));

#[test]
fn until_it_runs_a_port_waits_for_the_driver_domain() {
    let mut told = waiting_in_tx_ring();
    told.at(300).runs(0, Runstate::Runnable);
    told.at(301).serves(0, 9);
    told.at(310).moves(1, TxRing, DriverOut, 0);
    told.at(340).moves(1, DriverOut, Outside, 0);
    told.at(400);
    let work = |place, side| (place, Cause::Work(side));
    let mut explanation = told.finish();
    let packets = explanation.domain(DomainId(1)).packets.clone().unwrap();
    assert_eq!(
        (packets.begun, packets.under_way, packets.total()),
        (1, 0, 340)
    );
    assert_eq!(packets.largest_wait(), Some((PacketQueue::DriverRunq, 285)));
    assert_eq!(
        times(&mut explanation, 1),
        [
            (work(GuestOut, Side::Guest), 10),
            ((TxRing, BEHIND_1), 85),
            ((TxRing, BEHIND_2), 200),
            ((TxRing, Cause::Busy), 1),
            (work(TxRing, Side::Guest), 5),
            (work(TxRing, Side::Driver), 9),
            (work(DriverOut, Side::Driver), 30),
        ]
    );
}

#[test]
fn once_another_port_was_served_first_it_waits_for_the_scan() {
    let mut told = waiting_in_tx_ring();
    told.at(300).runs(0, Runstate::Runnable);
    told.at(310).serves(0, 2);
    told.at(350).runs(2, Runstate::Runnable);
    told.at(900).runs(0, Runstate::Runnable);
    told.at(905).serves(0, 2);
    told.at(950).serves(0, 9);
    told.at(960).moves(1, TxRing, DriverOut, 0);
    let times = times(&mut told.finish(), 1);
    let found = |key| times.iter().find(|(k, _)| *k == key).map(|(_, time)| *time);
    assert_eq!(found(SCAN), Some(640), "from 310 to 950");
    assert_eq!(found((TxRing, BEHIND_2)), Some(200), "from 100 to 300");
    assert_eq!(found((TxRing, Cause::Busy)), Some(10));
}

#[test]
fn a_guest_that_found_the_ring_full_waits_for_the_driver_domain_even_while_it_runs() {
    let mut told = Told::new(Explainer::new(), 3);
    told.wakes(1);
    told.runs(1, Runstate::Blocked);
    told.moves(1, Outside, GuestOut, 0);
    told.at(10).moves(1, GuestOut, GuestOut, 0);
    told.sends(1, 0, 9);
    told.at(25).wakes(0);
    told.at(50).moves(1, GuestOut, TxRing, 0);
    assert_eq!(
        times(&mut told.finish(), 1),
        [
            ((GuestOut, BEHIND_1), 25),
            ((GuestOut, Cause::Work(Side::Guest)), 10),
            ((GuestOut, Cause::Held), 15),
        ]
    );
}

#[test]
fn until_more_comes_packets_wait_for_the_rate_limit_whoever_runs() {
    let mut told = Told::new(Explainer::new(), 3);
    told.wakes(1);
    told.runs(1, Runstate::Blocked);
    for _ in 0..2 {
        told.moves(1, Outside, GuestOut, 0);
        told.moves(1, GuestOut, TxRing, 0);
    }
    told.sends(1, 0, 9);
    told.wakes(0);
    told.at(10).runs(0, Runstate::Runnable);
    told.serves(0, 9);
    // It looks at the first packet, and finds that more comes at 100. Domain 1 finds the ring full.
    told.at(20).moves(1, TxRing, TxRing, 80);
    told.at(30).runs(1, Runstate::Blocked);
    told.moves(1, Outside, GuestOut, 0);
    told.at(40).moves(1, GuestOut, GuestOut, 0);
    told.at(70).wakes(0);
    told.at(150).runs(0, Runstate::Runnable);
    told.at(160).moves(1, TxRing, DriverOut, 0);
    told.at(170);
    let limit = |place| (place, Cause::Limit);
    let work = |place, side| (place, Cause::Work(side));
    assert_eq!(
        times(&mut told.finish(), 1),
        [
            ((GuestOut, BEHIND_1), 50),
            (work(GuestOut, Side::Guest), 10),
            (work(GuestOut, Side::Driver), 20),
            (limit(GuestOut), 60),
            ((TxRing, BEHIND_1), 120),
            (work(TxRing, Side::Driver), 50),
            (limit(TxRing), 160),
            (work(DriverOut, Side::Driver), 10),
        ]
    );
}

#[test]
fn a_port_that_is_sent_to_again_begins_anew() {
    let mut told = waiting_in_tx_ring();
    told.at(300).runs(0, Runstate::Runnable);
    told.serves(0, 2);
    told.at(320).serves(0, 9);
    told.sends(1, 0, 9);
    told.at(330).runs(2, Runstate::Runnable);
    told.at(400);
    let times = times(&mut told.finish(), 1);
    let found = |key| times.iter().find(|(k, _)| *k == key).map(|(_, time)| *time);
    assert_eq!(
        (found(SCAN), found((TxRing, BEHIND_2))),
        (Some(20), Some(270))
    );
}

#[test]
fn the_past_of_a_packet_that_nobody_saw_arrive_is_told_apart() {
    let mut told = Told::new(Explainer::new(), 3);
    told.moves(1, Outside, Card, 0);
    told.moves(1, Card, Outside, 0);
    told.at(10).wakes(2);
    told.runs(2, Runstate::Blocked);
    told.at(40).wakes(0);
    told.at(100).runs(0, Runstate::Runnable);
    told.at(120).moves(1, Outside, Card, 95);
    told.at(130).moves(1, Card, DriverIn, 0);
    assert_eq!(
        times(&mut told.finish(), 1),
        [
            ((Card, BEHIND_2), 60),
            ((Card, Cause::Busy), 30),
            ((Card, Cause::Held), 15),
        ]
    );
}

#[test]
fn a_guest_that_was_not_told_of_a_packet_waits_for_the_driver_domain() {
    let mut told = Told::new(Explainer::new(), 3);
    told.wakes(0);
    told.runs(0, Runstate::Blocked);
    told.moves(1, Outside, Card, 0);
    told.moves(1, Card, DriverIn, 0);
    told.moves(1, DriverIn, RxRing, 0);
    told.at(20).sends(0, 1, 5);
    told.wakes(1);
    told.at(50).runs(1, Runstate::Runnable);
    told.at(60).moves(1, RxRing, GuestIn, 0);
    told.at(75).moves(1, GuestIn, Outside, 0);
    let behind = Cause::RunQueue(Side::Guest, Some(DomainId(0)));
    assert_eq!(
        times(&mut told.finish(), 1),
        [
            ((RxRing, behind), 30),
            ((RxRing, Cause::Work(Side::Guest)), 10),
            ((RxRing, Cause::Work(Side::Driver)), 20),
            ((GuestIn, Cause::Work(Side::Guest)), 15),
        ]
    );
}

#[test]
fn sums_of_replications_add_up() {
    let mut told = waiting_in_tx_ring();
    told.at(400);
    let one = told.finish();
    let mut both = one.clone();
    both.add(&one);
    assert_eq!(both.elapsed(), 800);
    let of = |e: &Explanation| e.domains.iter().map(DomainWaits::runnable).sum::<u64>();
    assert_eq!(of(&both), 2 * of(&one));
    let total = |e: &Explanation| e.domains[1].packets.as_ref().map(PacketWaits::total);
    assert_eq!(total(&both), total(&one).map(|t| 2 * t));
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
fn next(place: usize) -> (NetPlace, NetPlace) {
    match place {
        0 => (Outside, GuestOut),
        1 => (Card, DriverIn),
        2 => (DriverIn, RxRing),
        3 => (RxRing, GuestIn),
        4 => (GuestIn, Outside),
        5 => (GuestOut, TxRing),
        6 => (TxRing, DriverOut),
        7 => (DriverOut, Outside),
        _ => (DriverIn, Outside),
    }
}

/// When packets came to where they are, oldest first, by guest and place; and the time that they
/// spent at each.
#[derive(Default)]
struct OneByOne {
    window: (u64, u64),
    since: BTreeMap<(u16, NetPlace), VecDeque<u64>>,
    spent: BTreeMap<(u16, NetPlace), u64>,
}

impl OneByOne {
    fn leaves(&mut self, guest: u16, place: NetPlace, now: u64) -> bool {
        let Some(since) = self.since.entry((guest, place)).or_default().pop_front() else {
            return false;
        };
        let (from, to) = self.window;
        let time = now.min(to).saturating_sub(since.max(from));
        *self.spent.entry((guest, place)).or_default() += time;
        true
    }

    fn comes(&mut self, guest: u16, place: NetPlace, since: u64) {
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
        let mut told = Told::new(window, 4);
        let mut packets = OneByOne { window: (from, to), ..OneByOne::default() };
        // The driver domain has to be known before packets arrive behind its back.
        told.moves(1, Outside, Card, 0);
        packets.comes(1, Card, 0);
        let mut last_arrival = 0;
        for (passes, step) in steps {
            let now = told.now + passes;
            told.at(now);
            match step {
                Step::Run(domain, blocks) if told.running != Some(vcpu(domain)) => {
                    let left_to = if blocks { Runstate::Blocked } else { Runstate::Runnable };
                    told.runs(domain, left_to);
                }
                Step::Move(guest, place) => {
                    let (old, new) = next(place);
                    if old == Outside || packets.leaves(guest, old, now) {
                        told.moves(guest, old, new, 0);
                        if new != Outside {
                            packets.comes(guest, new, now);
                        }
                    }
                }
                Step::Arrive(guest, ago) => {
                    last_arrival = now.saturating_sub(ago).max(last_arrival);
                    told.moves(guest, Outside, Card, now - last_arrival);
                    packets.comes(guest, Card, last_arrival);
                }
                Step::Send(guest, port) => told.sends(guest, 0, port),
                Step::Serve(port) => told.serves(0, port),
                Step::Limit(guest, ns) => told.moves(guest, TxRing, TxRing, ns),
                Step::Run(..) => {}
            }
        }
        let end = told.now;
        let explanation = told.finish();
        let keys: Vec<_> = packets.since.keys().copied().collect();
        for (guest, place) in keys {
            while packets.leaves(guest, place, end) {}
        }
        let mut sums: BTreeMap<(u16, NetPlace), u64> = BTreeMap::new();
        for domain in &explanation.domains {
            for ((place, cause), time) in domain.packets.iter().flat_map(|p| &p.times) {
                prop_assert_ne!(*cause, Cause::Unknown);
                *sums.entry((domain.id.0, *place)).or_default() += time;
            }
            let states = domain.running + domain.at_rest + domain.runnable();
            prop_assert_eq!(states, end.min(to).saturating_sub(from));
        }
        packets.spent.retain(|_, time| *time > 0);
        prop_assert_eq!(sums, packets.spent);
    }
}
