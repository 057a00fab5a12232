//! Packets that driver domains have at hand, as the policy is told.

use domio_contract::Dispatching;
use domio_core::{DomainId, VcpuName};
use domio_vmm::bus::at_hand::AtHand;

const V: VcpuName = VcpuName::new(DomainId(0), 0);

/// What `told` and whether a hypercall was made, after each number of packets.
fn told(how: Dispatching, numbers: &[u32]) -> Vec<(Option<u32>, bool)> {
    let mut at_hand = AtHand::new(how);
    let each = numbers.iter().map(|packets| {
        let hypercall = at_hand.set(1, V, *packets);
        (at_hand.next_news().map(|(_, packets)| packets), hypercall)
    });
    each.collect()
}

#[test]
fn the_bit_is_set_for_two_packets_and_cleared_when_none_is_left() {
    let (set, clear, quiet) = ((Some(2), true), (Some(0), true), (None, false));
    assert_eq!(
        told(Dispatching::Bit, &[0, 1, 2, 3, 1, 0, 1, 0]),
        [quiet, quiet, set, quiet, quiet, clear, quiet, quiet]
    );
}

#[test]
fn the_counter_follows_each_packet_without_hypercalls() {
    let is = |n| (Some(n), false);
    assert_eq!(
        told(Dispatching::Counter, &[1, 1, 2, 0]),
        [is(1), (None, false), is(2), is(0)]
    );
    assert_eq!(told(Dispatching::Untold, &[7]), [(None, false)]);
}

#[test]
fn packets_of_all_models_count_for_a_vcpu_and_for_no_other() {
    let mut at_hand = AtHand::new(Dispatching::Bit);
    let other = VcpuName::new(DomainId(0), 1);
    assert!(!at_hand.set(1, V, 1) && !at_hand.set(1, other, 1));
    assert_eq!(at_hand.next_news(), None);
    assert!(at_hand.set(2, V, 1), "a second one for the first vcpu");
    assert_eq!(at_hand.next_news(), Some((V, 2)));
    assert!(!at_hand.set(1, V, 0), "one is left");
    assert!(at_hand.set(2, V, 0));
    assert_eq!(at_hand.next_news(), Some((V, 0)));
}

#[test]
fn what_comes_back_before_it_is_told_is_no_news() {
    let mut at_hand = AtHand::new(Dispatching::Counter);
    at_hand.set(1, V, 1);
    assert_eq!(at_hand.next_news(), Some((V, 1)));
    at_hand.set(1, V, 2);
    at_hand.set(1, V, 1);
    assert_eq!(at_hand.next_news(), None);
}
