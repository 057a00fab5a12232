//! Samples of hand-made traces.

use super::*;
use crate::cast::{fed, first, names};
use crate::device::NETWORK;
use crate::moves::told::{self, Stage};
use Runstate::{Blocked, Runnable, Running};

fn change(ns: u64, domain: u16, old: Runstate, new: Runstate) -> Record {
    Record::runstate(Instant::from_nanos(ns), PcpuId(0), first(domain), old, new)
}

fn samples(records: &[Record]) -> Vec<IntervalSample> {
    let sampler = Sampler::new(Duration::from_nanos(100));
    fed(sampler, &names(), records).finish().collect()
}

#[test]
fn states_are_cut_at_the_edges() {
    let words = [30, 30_000, 0, 0];
    let next = Record::with(at(130), PcpuId(0), Kind::InfNext, first(1), words);
    let s = samples(&[
        change(100, 1, Blocked, Runnable),
        next,
        change(130, 1, Runnable, Running),
        change(350, 1, Running, Blocked),
        change(380, 2, Blocked, Runnable),
    ]);
    let seen: Vec<_> = s
        .iter()
        .map(|s| {
            let d = s.domains[0].figures;
            (
                s.start.as_nanos(),
                s.length(),
                d.gotten,
                d.waited,
                d.blocked,
                d.executions,
                d.allocated,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (100, 100, 70, 30, 0, 1, 30_000),
            (200, 100, 100, 0, 0, 0, 0),
            (300, 80, 50, 0, 30, 0, 0),
        ]
    );
    assert_eq!(s[0].domains[0].figures.wakeups, 1);
}

#[test]
fn a_long_gap_is_one_sample() {
    let s = samples(&[
        change(0, 1, Runnable, Running),
        change(u64::MAX, 1, Running, Blocked),
    ]);
    assert!(s.len() <= 1 + EMPTY_MAX as usize, "{}", s.len());
    let gotten: u64 = s.iter().map(|s| s.domains[0].figures.gotten).sum();
    assert_eq!(gotten, u64::MAX);
}

#[test]
fn samples_can_be_taken_as_they_come() {
    let mut sampler = Sampler::new(Duration::from_nanos(100));
    let names = names();
    sampler.record(&names, &change(0, 1, Runnable, Running));
    assert_eq!(sampler.take(), None);
    sampler.record(&names, &change(250, 1, Running, Blocked));
    assert_eq!(sampler.take().unwrap().domains[0].figures.gotten, 100);
    assert_eq!(sampler.take().unwrap().domains[0].figures.gotten, 100);
    assert_eq!(sampler.take(), None);
    let last: Vec<IntervalSample> = sampler.finish().collect();
    assert_eq!(last[0].domains[0].figures.gotten, 50);
}

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// `domain` leaves `pcpu` for `next`, which has a slice of 5000 ns.
fn switch(ns: u64, pcpu: u16, domain: u16, left_to: Runstate, next: u16) -> Record {
    let leaves = (first(domain), left_to);
    Record::switch(at(ns), PcpuId(pcpu), leaves, first(next), [0, 0, 5000])
}

fn part(sample: &IntervalSample, domain: u16, pcpu: u16) -> Figures {
    sample.on(PcpuId(pcpu)).domain(DomainId(domain))
}

#[test]
fn a_vcpu_that_moves_counts_where_it_was() {
    let s = samples(&[
        switch(0, 0, 9, Blocked, 1),
        // Runs until 30 on pcpu 0, waits 20 there, runs on pcpu 1 from 50.
        switch(30, 0, 1, Runnable, 9),
        switch(50, 1, 8, Blocked, 1),
        switch(80, 1, 1, Blocked, 8),
        change(100, 1, Blocked, Runnable),
    ]);
    let figures = |p| {
        let f = part(&s[0], 1, p);
        (f.gotten, f.waited, f.blocked, f.executions, f.allocated)
    };
    assert_eq!(figures(0), (30, 20, 0, 1, 5000));
    assert_eq!(figures(1), (30, 0, 20, 1, 5000));
    let whole = s[0].domain(DomainId(1));
    assert_eq!((whole.gotten, whole.waited, whole.blocked), (60, 20, 20));
}

#[test]
fn a_slice_is_for_whoever_comes_next_if_he_is_of_the_domain() {
    let given = |domain| {
        let words = [0, 700, 0, 0];
        let next = Record::with(at(0), PcpuId(0), Kind::InfNext, first(domain), words);
        let comes = change(0, 1, Runnable, Running);
        let s = samples(&[next, comes, change(50, 1, Running, Blocked)]);
        s[0].domain(DomainId(1)).allocated
    };
    assert_eq!([given(1), given(2)], [700, 0]);
}

#[test]
fn the_longest_wait_names_who_ran_most() {
    let s = samples(&[
        switch(0, 0, 9, Blocked, 1),
        switch(10, 0, 1, Runnable, 2),
        switch(25, 0, 2, Runnable, 3),
        // 2 waits for 7, 1 for 42 from 10 on: behind 2 for 15 + 12, behind 3 for 7 and idle for 8.
        switch(32, 0, 3, Blocked, 2),
        switch(44, 0, 2, Blocked, 4),
        switch(52, 0, 4, Blocked, 1),
        change(100, 1, Running, Blocked),
    ]);
    let wait = s[0].longest_wait.unwrap();
    assert_eq!(
        (wait.vcpu.domain.0, wait.length, wait.goes_on),
        (1, 42, false)
    );
    let (who, time) = wait.behind.unwrap();
    assert_eq!((who.domain.0, time, wait.since), (2, 27, at(10)));
}

#[test]
fn a_wait_that_goes_on_is_in_every_sample() {
    let s = samples(&[
        switch(0, 0, 1, Runnable, 2),
        change(250, 3, Blocked, Runnable),
    ]);
    let waits = s.iter().map(|s| {
        let wait = s.longest_wait.unwrap();
        (
            wait.vcpu.domain.0,
            wait.length,
            wait.goes_on,
            wait.behind.unwrap().1,
        )
    });
    assert_eq!(
        waits.collect::<Vec<_>>(),
        [
            (1, 100, true, 100),
            (1, 200, true, 200),
            (1, 250, true, 250)
        ]
    );
    let both = Totals::of(&s);
    assert_eq!(both.longest_wait.unwrap().length, 250);
    assert_eq!(both.length(), 250);
}

#[test]
fn packets_are_counted_at_netback_and_work_when_it_is_told() {
    use Stage::{Device, DriverIn, DriverOut, FromGuest, Outside, ToGuest};
    let driver = first(0);
    let mut names = names();
    let network = names.add_class(&NETWORK);
    let moves = |ns, old, new| told::moved_before(at(ns), network, first(1), driver, [old, new], 0);
    let records = [
        switch(0, 0, 1, Blocked, 0),
        moves(5, Device, DriverIn),
        moves(6, DriverIn, ToGuest),
        moves(7, DriverIn, Outside),
        moves(8, FromGuest, DriverOut),
        moves(9, FromGuest, FromGuest),
        moves(9, FromGuest, DriverOut),
        Record::driver_work(at(40), PcpuId(0), driver, DomainId(1), 30),
        // More than was executed since.
        Record::driver_work(at(50), PcpuId(0), driver, DomainId(1), 30),
        switch(100, 0, 0, Blocked, 1),
    ];
    let sampler = Sampler::new(Duration::from_nanos(100));
    let s: Vec<IntervalSample> = fed(sampler, &names, &records).finish().collect();
    let expected = GuestTraffic {
        driver: DomainId(0),
        guest: DomainId(1),
        sent: 2,
        received: 1,
        work: 50,
    };
    assert_eq!(s[0].traffic, [expected]);
    assert_eq!(s[0].domain(DomainId(1)).io, 3);
    assert!(s[0].tells.packets && s[0].tells.work && !s[0].tells.grants);
    assert_eq!(s[0].domain(DomainId(0)).gotten, 100);
}

#[test]
fn pages_count_for_their_domain() {
    let page = |event| {
        let words = [event, 7, 0, 0];
        let foreign = (ClassId::FOREIGN, 1);
        Record::of(at(5), PcpuId(0), foreign, ActorId::NONE, words)
    };
    let s = samples(&[
        change(0, 1, Blocked, Runnable),
        page(GRANT_MAP),
        page(GRANT_MAP + 1),
        page(GRANT_TRANSFER),
        change(9, 1, Runnable, Running),
    ]);
    assert_eq!(s[0].domain(DomainId(7)).io, 2);
    assert!(s[0].tells.grants && !s[0].tells.packets);
}
