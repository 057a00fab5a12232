//! What the kernel has no room for is counted, and marked at its place.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domio_linux::{LinuxEvent as Event, LinuxWhat as What, Tasks};
use domio_record::Way;

use crate::cost::load;
use crate::start_with;

/// Events are left in the smallest buffer until it is full, and are taken from then on.
#[test]
fn all_that_is_lost_by_bpf_is_told() {
    let Some(mut live) = start_with(Way::Bpf, 64 << 10) else {
        return;
    };
    let load = load();
    let (mut told, mut events) = (BTreeMap::new(), 0);
    let mut see = |event: &Event, _: &Tasks| match event.what {
        What::Lost { events } => *told.entry(event.cpu).or_insert(0) += events,
        _ => events += 1,
    };
    std::thread::sleep(Duration::from_millis(800));
    let until = Instant::now() + Duration::from_millis(400);
    while Instant::now() < until {
        live.round(&mut see).unwrap();
    }
    drop(load);
    live.round(&mut see).unwrap();
    let ended = live.finish(&mut see).unwrap();
    let lost = ended.lost;
    println!("{events} events, lost {lost:?}, told {told:?}");
    assert!(events > 10_000);
    assert_eq!((ended.refused, ended.disorder), (0, 0));
    assert_eq!(told, lost);
    assert!(lost.values().sum::<u64>() > 0, "the load is too small");
}
