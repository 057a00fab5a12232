//! Each error of xenbaked on hand-made records. Times are milliseconds.

use super::*;
use crate::cast::{actor, fed, names};
use domio_core::{ActorId, Instant, Runstate};

const MS: u64 = 1_000_000;
const A: VcpuName = VcpuName::new(DomainId(1), 0);
const B: VcpuName = VcpuName::new(DomainId(2), 0);
const IDLE: VcpuName = VcpuName::idle(PcpuId(0));

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * MS)
}

fn record(ms: u64, pcpu: u16, kind: Kind, vcpu: VcpuName) -> Record {
    Record::new(at(ms), PcpuId(pcpu), kind, actor(vcpu))
}

/// `vcpu` comes, after `waited` ms, for a slice of 30 ms.
fn comes(ms: u64, pcpu: u16, vcpu: VcpuName, waited: u64) -> Record {
    let mut next = record(ms, pcpu, Kind::InfNext, vcpu);
    next.words = [(waited * MS) as u32, 30 * MS as u32, 0, 0];
    next
}

fn leaves(ms: u64, pcpu: u16, vcpu: VcpuName) -> Record {
    record(ms, pcpu, Kind::InfPrev, vcpu)
}

fn transfer(ms: u64, pcpu: u16, domain: DomainId) -> Record {
    let words = [GRANT_TRANSFER, domain.0.into(), 0, 0];
    let foreign = (ClassId::FOREIGN, 1);
    Record::of(at(ms), PcpuId(pcpu), foreign, ActorId::NONE, words)
}

fn baked(payload: Payload, records: &[Record]) -> Baked {
    let (sample, interval) = (Duration::from_millis(100), Duration::from_secs(1));
    fed(Baked::new(sample, interval, payload), &names(), records)
}

/// What the samples that are over say of a domain on a cpu.
fn of(records: &[Record], pcpu: u16, domain: DomainId) -> Figures {
    let totals = baked(Payload::Before48, records).totals();
    totals.on(PcpuId(pcpu)).domain(domain)
}

fn ms(ns: u64) -> u64 {
    ns / MS
}

#[test]
fn gotten_is_booked_at_the_end_if_runnable_at_the_last_booking() {
    // 10 to 40, and the record says nothing of it.
    let run = [comes(10, 0, A, 0), leaves(40, 0, A), comes(40, 0, IDLE, 0)];
    let got = of(&[&run[..], &[leaves(150, 0, IDLE)]].concat(), 0, A.domain);
    assert_eq!(ms(got.gotten), 30);
    // A sample ends at 130, between the block and the switch: 130 to 140 is lost.
    let cut = [
        comes(10, 0, A, 0),
        record(20, 0, Kind::Block, A),
        record(130, 1, Kind::Wake, B),
        record(131, 0, Kind::Wake, B),
        leaves(140, 0, A),
        comes(140, 0, IDLE, 0),
        leaves(300, 0, IDLE),
    ];
    assert_eq!(ms(of(&cut, 0, A.domain).gotten), 121);
}

#[test]
fn a_wake_up_on_another_cpu_is_not_heard_of() {
    let wakes_on = |pcpu| {
        let records = [
            comes(0, 0, A, 0),
            record(10, 0, Kind::Block, A),
            leaves(10, 0, A),
            comes(10, 0, B, 0),
            record(30, pcpu, Kind::Wake, A),
            leaves(70, 0, B),
            comes(70, 0, A, 40),
            leaves(120, 0, A),
        ];
        of(&records, 0, A.domain)
    };
    assert_eq!((ms(wakes_on(0).blocked), ms(wakes_on(0).waited)), (20, 40));
    // The 40 ms that it waited count twice.
    assert_eq!((ms(wakes_on(1).blocked), ms(wakes_on(1).waited)), (60, 40));
}

#[test]
fn blocked_time_is_of_the_sample_in_which_it_ends() {
    let mut records = vec![comes(0, 0, B, 0), record(1, 0, Kind::Block, A)];
    records.extend((1..30).map(|n| leaves(n * 101, 0, B)));
    let before = of(&records, 0, A.domain);
    assert_eq!(before.blocked, 0);
    records.push(record(2940, 0, Kind::Wake, A));
    records.push(leaves(3050, 0, B));
    assert_eq!(ms(of(&records, 0, A.domain).blocked), 2939);
    // One sample of about 100 ms, in a window of a second, holds nearly three seconds.
    records.push(leaves(4001, 0, B));
    let windows: Vec<Windows> = {
        let mut baked = baked(Payload::Before48, &records);
        std::iter::from_fn(|| baked.take()).collect()
    };
    let last = &windows.last().unwrap().short;
    assert_eq!(ms(last.domain(A.domain).blocked), 2939);
    assert_eq!(ms(last.length()), 1000);
}

#[test]
fn a_sample_is_over_with_the_first_record_after_its_time() {
    let records = [0, 100, 170, 270, 600].map(|t| leaves(t, 0, A));
    let totals = baked(Payload::Before48, &records).totals();
    // 0 to 170 and 170 to 600; 100 ms are not more than 100 ms.
    assert_eq!(totals.passed, [(PcpuId(0), 600 * MS)]);
    let totals = baked(Payload::Before48, &records[..4]).totals();
    assert_eq!(totals.passed, [(PcpuId(0), 170 * MS)]);
    // A cpu without records ends none.
    let totals = baked(Payload::Before48, &[leaves(0, 0, A), leaves(900, 1, A)]).totals();
    assert_eq!(totals.passed, []);
}

#[test]
fn a_domain_has_one_state_on_a_cpu() {
    let second = VcpuName::new(A.domain, 1);
    let records = [
        comes(0, 0, A, 0),
        record(10, 0, Kind::Block, second),
        record(40, 0, Kind::Wake, second),
        leaves(120, 0, A),
    ];
    // Another vcpu's sleep is booked, although the domain ran all the time.
    let domain = of(&records, 0, A.domain);
    assert_eq!((ms(domain.gotten), ms(domain.blocked)), (120, 30));
}

#[test]
fn the_33rd_domain_has_no_place() {
    let name = |n| VcpuName::new(DomainId(n), 0);
    let mut records: Vec<Record> = (0..40)
        .map(|n| comes(u64::from(n), 0, name(n), 0))
        .collect();
    records.push(leaves(200, 0, name(39)));
    let totals = baked(Payload::Before48, &records).totals();
    assert_eq!(totals.domains.len(), 32);
    assert_eq!(totals.domain(DomainId(31)).executions, 1);
    assert_eq!(totals.domain(DomainId(32)).executions, 0);
}

#[test]
fn a_transferred_page_counts_everywhere_and_for_the_first() {
    let mut map = transfer(3, 0, B.domain);
    map.words[0] = crate::sampler::GRANT_MAP;
    let records = [
        comes(0, 0, A, 0),
        comes(0, 1, B, 0),
        transfer(1, 1, B.domain),
        transfer(2, 1, B.domain),
        map,
        leaves(150, 0, A),
        leaves(150, 1, B),
    ];
    let io = |pcpu, domain| of(&records, pcpu, domain).io;
    assert_eq!([io(0, B.domain), io(1, B.domain)], [2, 2]);
    // The first domain seen, on the cpu with the records.
    assert_eq!([io(0, A.domain), io(1, A.domain)], [0, 2]);
}

#[test]
fn no_limit_is_a_long_slice() {
    let mut idle = comes(0, 0, IDLE, 0);
    idle.words[1] = u32::MAX;
    let got = of(&[idle, leaves(150, 0, IDLE)], 0, DomainId::IDLE);
    assert_eq!(got.allocated, 4_294_967_295);
}

#[test]
fn ten_seconds_are_less_than_nine() {
    // A sample every 101 ms, for a long time.
    let records: Vec<Record> = (0..400).map(|n| comes(n * 101, 0, A, 1)).collect();
    let mut baked = baked(Payload::Before48, &records);
    let windows: Vec<Windows> = std::iter::from_fn(|| baked.take()).collect();
    assert_eq!(windows.len(), 40);
    let samples = |sample: &IntervalSample| sample.domain(A.domain).executions;
    for full in &windows[12..] {
        assert!(
            (79..=89).contains(&samples(&full.long)),
            "{}",
            samples(&full.long)
        );
        assert_eq!(samples(&full.short), 10);
        assert_eq!(full.short.passed(PcpuId(0)), 1 + 1010 * MS);
    }
    let longest = windows[12..].iter().map(|w| samples(&w.long)).max();
    assert!(longest > Some(85), "{longest:?}");
}

#[test]
fn since_4_8_the_words_are_one_too_far() {
    let mut vcpu3 = comes(0, 0, VcpuName::new(A.domain, 3), 7);
    vcpu3.words[1] = 30 * MS as u32;
    let totals = |payload| baked(payload, &[vcpu3, leaves(150, 0, A)]).totals();
    let told = |payload| {
        let domain = totals(payload).domain(A.domain);
        (domain.waited, domain.allocated)
    };
    assert_eq!(told(Payload::Before48), (7 * MS, 30 * MS));
    assert_eq!(told(Payload::Since48), (3, 7 * MS));
}

#[test]
fn a_simulated_switch_is_both_halves() {
    let told = [30, 25, 10].map(|ms| ms * MS as u32);
    let leaves_to = (actor(A), Runstate::Runnable);
    let switch = Record::switch(at(40), PcpuId(0), leaves_to, actor(B), told);
    let records = [comes(10, 0, A, 0), switch, leaves(150, 0, B)];
    let (a, b) = (of(&records, 0, A.domain), of(&records, 0, B.domain));
    assert_eq!(ms(a.gotten), 30);
    let told = (ms(b.gotten), ms(b.waited), ms(b.allocated), b.executions);
    assert_eq!(told, (110, 25, 10, 1));
}
