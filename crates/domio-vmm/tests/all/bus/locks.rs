//! Spin locks of a kernel with several vcpus.

use domio_core::{DomainId, VcpuName};
use domio_vmm::bus::locks::{LockEntry, Locks};

#[test]
fn one_vcpu_at_a_time_is_in_a_section() {
    let mut locks = Locks::default();
    let [_, lock] = [(); 2].map(|()| locks.add());
    let [a, b] = [0, 1].map(|vcpu| VcpuName::new(DomainId(3), vcpu));
    assert_eq!(locks.enter(lock, a), LockEntry::Taken);
    assert_eq!(locks.enter(lock, b), LockEntry::Spins);
    // An interrupt of the holder enters again; it is free when both have left.
    assert_eq!(locks.enter(lock, a), LockEntry::Taken);
    assert!(!locks.leave(lock));
    assert_eq!(locks.enter(lock, b), LockEntry::Spins);
    assert!(locks.leave(lock));
    assert_eq!(locks.enter(lock, b), LockEntry::TakenFrom);
    assert!(!locks.leave(lock), "nobody spins");
}

#[test]
fn locks_do_not_outlive_their_domain() {
    let mut locks = Locks::default();
    let lock = locks.add();
    let [a, b] = [3, 4].map(|domain| VcpuName::new(DomainId(domain), 0));
    assert_eq!(locks.enter(lock, a), LockEntry::Taken);
    locks.forget(DomainId(4));
    assert_eq!(locks.enter(lock, b), LockEntry::Spins);
    locks.forget(DomainId(3));
    assert_eq!(locks.enter(lock, b), LockEntry::Taken);
}
