//! linux-spec 9.5: what threads of a host with KVM work for, by their names.

use domio_contract::WorksFor;
use domio_core::DomainId;
use domio_vmm::config::KvmThread;
use std::collections::BTreeSet;

const GUEST: DomainId = DomainId(3);

fn works(name: &str, of: Option<DomainId>, place: u16) -> WorksFor {
    let thread = KvmThread {
        name: name.to_owned(),
        of,
        softirqs: None,
    };
    thread.works(place)
}

#[test]
fn the_name_says_the_number_of_an_io_thread() {
    assert_eq!(works("IO iothread1", None, 0), WorksFor::Kernel);
    assert_eq!(works("vhost-1", Some(GUEST), 0), WorksFor::Emulator(GUEST));
    let io = |name| works(name, Some(GUEST), 0);
    assert_eq!(io("IO iothread1"), WorksFor::Iothread(GUEST, 1));
    assert_eq!(io("iothread65535"), WorksFor::Iothread(GUEST, 65_535));
}

#[test]
fn io_threads_without_a_number_share_no_group_with_others() {
    // Each at the place that another one has in its name; the last number is none of Linux.
    let names = [
        "IO iothread1",
        "IO disks",
        "iothread3",
        "iothread",
        "iothread0",
        "iothread70000",
    ];
    let places = [0, 1, 3, 4, 5, u16::MAX];
    let all = names.into_iter().zip(places);
    let numbers: BTreeSet<u32> = all
        .filter_map(|(name, place)| match works(name, Some(GUEST), place) {
            WorksFor::Iothread(GUEST, number) => Some(number),
            _ => None,
        })
        .collect();
    let due = [0, 1, 3, 65_537, 65_540, 131_071];
    assert_eq!(numbers, BTreeSet::from(due));
}
