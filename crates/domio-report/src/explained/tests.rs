//! A made-up explanation, and what its sections hold.

use super::*;
use domio_core::{Acts, Class, Hold, PcpuId, Place};
use domio_meter::{Cause, DriverWork, ItemWaits, Side, VcpuWaits, WaitTells, Why};

/// A device whose packets are at these places.
pub(crate) static NETWORK: Class = Class::new("network", &[]).with_places(
    "packets",
    &[
        Place::new("card", Acts::Device, Hold::Nothing),
        Place::new("tx ring", Acts::Driver, Hold::Ring),
        Place::new("driver in", Acts::Driver, Hold::Nothing).inwards(),
    ],
);

/// A policy whose records say nothing.
static CREDIT: Class = Class::new("credit", &[]);

fn ms(ms: u64) -> u64 {
    ms * 1_000_000
}

/// Domain 1 with packets that waited 60 ms for the scan and 30 behind domain 2, of 100 ms; its vcpu
/// was runnable for 45 ms behind domain 2 and a millisecond behind nobody, over its credit.
pub(crate) fn explanation() -> Explanation {
    let driver = Cause::RunQueue(Side::Driver, Some(DomainId(2)));
    let [web, other] = [1, 2].map(|domain| VcpuName {
        domain: DomainId(domain),
        index: 0,
    });
    let packets = |domain, begun, times: &[((usize, Cause), u64)]| ItemWaits {
        domain: DomainId(domain),
        class: &NETWORK,
        device: None,
        begun,
        under_way: 1,
        times: times.iter().copied().collect(),
    };
    let times = [
        ((1, Cause::Scan), ms(60)),
        ((0, driver), ms(30)),
        ((2, Cause::Work(Side::Driver)), ms(10)),
    ];
    let wait = LongWait {
        run: 0,
        vcpu: web,
        pcpu: PcpuId(0),
        begin: Instant::from_nanos(ms(20)),
        length: ms(45),
        woken: false,
        why: Why::OverCredit,
        behind: vec![(Some(other), ms(45))],
        others: 0,
    };
    Explanation {
        elapsed: ms(100),
        runs: 1,
        records: 12,
        runstates: true,
        pcpus: vec![PcpuId(0)],
        tells: WaitTells {
            policy: Some(&CREDIT),
            credits: true,
            slices: true,
            ..WaitTells::default()
        },
        vcpus: vec![VcpuWaits {
            name: web,
            seen: ms(100),
            running: ms(54),
            times: [
                ((Some(other), Why::OverCredit), ms(45)),
                ((None, Why::OverCredit), ms(1)),
            ]
            .into(),
            waits: 1,
            longest: ms(45),
            ..VcpuWaits::default()
        }],
        worst: vec![wait],
        items: vec![packets(1, 4, &times), packets(2, 0, &[])],
        ..Explanation::default()
    }
}

/// Domain 2 worked 20 ms for domain 1 and 5 for nobody.
pub(crate) fn driver_work() -> DriverWork {
    DriverWork {
        driver: DomainId(2),
        busy: 25_000_000,
        done_for: [(DomainId(1), 20_000_000)].into(),
    }
}

pub(crate) fn names() -> Vec<(DomainId, String)> {
    vec![(DomainId(1), "web".to_owned())]
}

#[test]
fn sections_are_there_for_what_there_is() {
    let (mut explanation, names) = (explanation(), names());
    let titles = |explanation: &Explanation| -> Vec<String> {
        let sections = Explained::new(explanation, &names).sections();
        sections.into_iter().map(|s| s.title).collect()
    };
    let told = titles(&explanation);
    assert_eq!(
        told[..4],
        [
            "The worst waits",
            "Where packets wait",
            "Behind whom vcpus wait, and why",
            "The longest waits"
        ]
    );
    explanation.driver_work = vec![driver_work()];
    assert!(titles(&explanation).contains(&"Work of driver domains".to_owned()));
    let sections = Explained::new(&explanation, &names).sections();
    let work = sections
        .iter()
        .find(|s| s.title.starts_with("Work of"))
        .unwrap();
    let Chart::Stack(stack) = &work.figures[0].chart else {
        panic!("no stack");
    };
    assert_eq!(stack.parts, ["web", "nobody"]);
    assert_eq!(stack.bars[0].lengths, [20.0, 5.0]);
    explanation.items.clear();
    assert_eq!(titles(&explanation)[1], "Behind whom vcpus wait, and why");
}

#[test]
fn a_short_wait_that_lasts_is_not_listed() {
    let (mut explanation, names) = (explanation(), names());
    let mut short = explanation.worst[0].clone();
    short.length = ms(11);
    explanation.unfinished = vec![short];
    let lists = |explanation: &Explanation| Explained::new(explanation, &names).longest().len();
    assert_eq!(lists(&explanation), 1);
    explanation.unfinished[0].length = ms(12);
    assert_eq!(lists(&explanation), 2);
}

/// A vcpu of `domain` that ran and waited so many milliseconds of 100, behind domain 9, for `why`.
fn vcpu(domain: u16, [ran, waited, parked]: [u64; 3], why: Why) -> VcpuWaits {
    VcpuWaits {
        name: VcpuName::new(DomainId(domain), 0),
        seen: ms(100),
        running: ms(ran),
        blocked: ms(100 - ran - waited - parked),
        parked: ms(parked),
        times: [((Some(VcpuName::new(DomainId(9), 0)), why), ms(waited))].into(),
        waits: 1,
        longest: ms(waited / 2),
        ..VcpuWaits::default()
    }
}

#[test]
fn those_who_wake_come_first_and_those_who_hardly_wait_last() {
    let mut explanation = explanation();
    explanation.vcpus = vec![
        vcpu(1, [10, 0, 0], Why::Pass),
        vcpu(2, [20, 80, 0], Why::SliceOver),
        vcpu(3, [30, 2, 68], Why::SliceOver),
        vcpu(4, [10, 5, 0], Why::RateLimit),
    ];
    explanation.worst.clear();
    let explained = Explained::new(&explanation, &[]);
    let ranked = explained.ranked();
    let order: Vec<u16> = ranked.iter().map(|vcpu| vcpu.name.domain.0).collect();
    assert_eq!(order, [4, 2, 3, 1]);
    let (said, causes) = explained.worst();
    assert_eq!(causes, [Why::RateLimit, Why::SliceOver, Why::Parked]);
    let first = "dom4.0 waited 5 % of the time (up to 2 ms), 100 % of it for \"rate limit\", \
                 mostly behind dom9.0 (100 %). Rate limit: ";
    assert!(said[0].starts_with(first), "{said:?}");
    let third = "dom3.0 was parked 68 % of the time, and waited 2 % (up to 1 ms). Parked: ";
    assert!(said[2].starts_with(third), "{said:?}");
    assert!(
        said[2].ends_with(" Try: a larger `cap`, or none."),
        "{said:?}"
    );
    let table = explained.overview(3, true);
    assert_eq!(table.rows().len(), 3);
    let titles: Vec<&str> = table.columns().iter().map(|c| &*c.title).collect();
    assert_eq!(titles[..4], ["vcpu", "runs", "waits", "parked"]);
    // Nobody is parked: no column says so.
    explanation.vcpus.remove(2);
    let table = Explained::new(&explanation, &[]).overview(3, true);
    assert!(
        table
            .columns()
            .iter()
            .all(|column| column.title != "parked")
    );
}

#[test]
fn vcpus_of_domains_that_are_alike_are_one_line_where_there_are_too_many() {
    let mut explanation = explanation();
    let guest = |domain| vcpu(domain, [10, 40, 0], Why::SliceOver);
    explanation.vcpus = (2..=20).map(guest).collect();
    explanation.vcpus[3].longest = ms(33);
    // It hardly waits.
    explanation.vcpus.push(vcpu(21, [10, 0, 0], Why::Pass));
    // Another name.
    explanation.vcpus.push(vcpu(1, [30, 20, 0], Why::SliceOver));
    let names: Vec<(DomainId, String)> = (2..=21)
        .map(|id| (DomainId(id), format!("guest{id}")))
        .chain([(DomainId(1), "web".to_owned())])
        .collect();
    let explained = Explained::new(&explanation, &names);
    assert_eq!(explained.lines(21).len(), 21, "there is room for all");
    let lines = explained.lines(9);
    let shown: Vec<(&str, u64)> = lines.iter().map(|l| (l.name.as_str(), l.count)).collect();
    assert_eq!(
        shown,
        [("guest2 to guest20", 19), ("web.0", 1), ("guest21.0", 1)]
    );
    let table = explained.overview(9, false);
    let first = &table.rows()[0];
    assert_eq!(first[0], Cell::text("guest2 to guest20"));
    assert_eq!(first[1], Cell::Number(10.0), "the mean of each");
    assert_eq!(first[2], Cell::Number(40.0));
    assert_eq!(first[3], Cell::from(ms(33)), "the longest of all");
}

#[test]
fn who_hardly_gets_to_run_when_it_is_woken_is_no_loop() {
    let mut explanation = explanation();
    let mut driver = vcpu(0, [2, 97, 0], Why::NotTickled);
    assert!(driver.always_computes());
    (driver.waits, driver.woken) = (40, 38);
    assert!(!driver.always_computes());
    let mut guest = vcpu(1, [1, 98, 0], Why::SliceOver);
    (guest.waits, guest.woken) = (40, 1);
    assert!(guest.always_computes());
    explanation.vcpus = vec![guest, driver];
    let explained = Explained::new(&explanation, &[]);
    let order: Vec<u16> = explained
        .ranked()
        .iter()
        .map(|vcpu| vcpu.name.domain.0)
        .collect();
    assert_eq!(order, [0, 1], "although the guest lost more");
}

#[test]
fn columns_are_in_the_order_of_their_sums_and_small_ones_are_one() {
    let mut explanation = explanation();
    explanation.vcpus = vec![
        vcpu(1, [10, 10, 0], Why::Preempted),
        vcpu(2, [10, 20, 0], Why::SliceOver),
        vcpu(3, [10, 0, 0], Why::RateLimit),
    ];
    // A tenth of a millisecond each: of a loop that hardly waits for them, and all that one waits.
    let [_, second, third] = &mut explanation.vcpus[..] else {
        panic!("three vcpus");
    };
    for why in [Why::Pass, Why::Yielded] {
        second.times.insert((None, why), ms(1) / 10);
    }
    third.times.values_mut().for_each(|time| *time = ms(1) / 10);
    let explained = Explained::new(&explanation, &[]);
    let shares = explained.causes();
    let parts = ["slice over", "preempted", "rate limit", "other"];
    assert_eq!(shares.parts, parts);
    assert_eq!(shares.rows[0].1, [0.0, 10.0, 0.0, 0.0]);
    assert_eq!(shares.rows[1].1, [20.0, 0.0, 0.0, 0.2]);
    assert_eq!(
        shares.rows[2].1,
        [0.0, 0.0, 0.1, 0.0],
        "its largest is not hidden"
    );
}
