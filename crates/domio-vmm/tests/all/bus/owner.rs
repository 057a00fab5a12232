//! On whose behalf driver domains work.

use domio_core::{DomainId, Duration};
use domio_vmm::bus::owner::{WorkServed, WorkShare};

fn share(domain: u16, weight: u64) -> WorkShare {
    WorkShare {
        domain: DomainId(domain),
        weight,
    }
}

fn taken(served: &mut WorkServed) -> Vec<(u16, u64)> {
    let all = served.drain();
    all.map(|(domain, time)| (domain.0, time.as_nanos()))
        .collect()
}

#[test]
fn parts_are_in_proportion_and_sum_to_the_whole() {
    let mut served = WorkServed::default();
    let shares = [share(1, 1), share(7, 2), share(3, 4)];
    served.add_shared(&shares, Duration::from_nanos(100));
    // 100/7 = 14; 300/7 = 42, less 14; 100 less 42.
    assert_eq!(taken(&mut served), [(1, 14), (7, 28), (3, 58)]);
    served.add_shared(&[share(1, 3), share(1, 1)], Duration::from_nanos(9));
    assert_eq!(taken(&mut served), [(1, 9)], "one domain twice");
    // A product of more than 64 bits: 2^40 * 2^30 / 2^31.
    let long = Duration::from_nanos(1 << 40);
    served.add_shared(&[share(1, 1 << 30), share(2, 1 << 30)], long);
    assert_eq!(taken(&mut served), [(1, 1 << 39), (2, 1 << 39)]);
}

#[test]
fn what_is_taken_out_is_gone() {
    let mut served = WorkServed::default();
    served.add(DomainId(2), Duration::from_nanos(5));
    served.add(DomainId(2), Duration::from_nanos(5));
    assert_eq!(taken(&mut served), [(2, 10)]);
    assert!(served.is_empty());
    served.add(DomainId(2), Duration::ZERO);
    assert!(served.is_empty(), "no time is nothing");
    served.add_shared(&[], Duration::from_nanos(5));
    assert!(served.is_empty(), "nobody has a share");
}
