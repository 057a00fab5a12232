//! Where the processes of a guest with several vcpus execute.

use domio_vmm::process::roam::{Pull, pull, wakes_here};

#[test]
fn a_waker_attracts_whoever_has_it_better_there() {
    // Nobody executes on either, or only on the vcpu that the process comes from.
    assert!(wakes_here(0, 0) && wakes_here(0, 1));
    // The waker's is as busy, or busier.
    assert!(!wakes_here(1, 0) && !wakes_here(1, 1));
    // With the process it has as many as the other one, or 12 % more.
    assert!(wakes_here(1, 2) && wakes_here(0, 3));
    assert!(!wakes_here(2, 2) && !wakes_here(8, 8) && wakes_here(9, 9));
}

#[test]
fn two_more_are_worth_a_move() {
    let from = |from, processes| Some(Pull { from, processes });
    assert_eq!(pull(&[0, 1], 0), None);
    assert_eq!(pull(&[0, 2], 0), from(1, 1));
    assert_eq!(pull(&[1, 2], 0), None);
    assert_eq!(pull(&[5, 0], 1), from(0, 2));
    assert_eq!(pull(&[5, 1], 1), from(0, 2));
    assert_eq!(pull(&[3], 0), None);
    // The fullest of three, the first of equals, and no more than the average.
    assert_eq!(pull(&[0, 4, 2], 0), from(1, 2));
    assert_eq!(pull(&[3, 0, 3], 1), from(0, 1));
    assert_eq!(pull(&[2, 2, 0, 0], 3), from(0, 1));
}
