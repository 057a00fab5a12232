//! The order in which each scan serves ports, and whom it starves.

use domio_core::{DomainId, VcpuName};
use domio_vmm::evtchn::{Abi, Channels, FifoPriority, Port, Raised, ScanForm, Virq, Width};
use std::collections::BTreeMap;

const D: DomainId = DomainId(1);
const V0: VcpuName = VcpuName {
    domain: D,
    index: 0,
};

/// A domain whose ports up to `last` are IPIs to vcpu 0, unmasked.
fn domain(abi: Abi, last: u32) -> Channels {
    let mut channels = Channels::new();
    channels.add(D, abi, 1).unwrap();
    for _ in 0..last {
        let port = channels.bind_ipi(V0).unwrap();
        let unmasked = channels.guest(D).unwrap().unmask(port, 0);
        assert!(!unmasked.hypercall && !unmasked.upcall);
    }
    channels
}

fn two_level(scan: ScanForm) -> Abi {
    Abi::TwoLevel {
        width: Width::Bits64,
        scan,
    }
}

fn send(channels: &mut Channels, port: u32) {
    let _ = channels.send(D, Port(port)).unwrap();
}

/// Serves up to `n` ports in as many upcalls as it takes. `handler` may send.
fn serve(
    channels: &mut Channels,
    n: usize,
    mut handler: impl FnMut(&mut Channels, u32),
) -> Vec<u32> {
    let mut order = Vec::new();
    while channels.guest(D).unwrap().upcall_due(0) {
        assert!(channels.guest(D).unwrap().begin_upcall(0));
        loop {
            while let Some(port) = channels.guest(D).unwrap().next_port(0) {
                order.push(port.0);
                if order.len() == n {
                    return order;
                }
                channels.guest(D).unwrap().enter(port);
                handler(channels, port.0);
                let _ = channels.guest(D).unwrap().leave(port, 0);
            }
            if !channels.guest(D).unwrap().end_upcall(0) {
                break;
            }
        }
    }
    order
}

/// Vector 14: ports 3, 5 and 130 pending; 3 and 5 are sent to again in their handlers.
fn vector_14(abi: Abi) -> Vec<u32> {
    let mut channels = domain(abi, 130);
    for port in [3, 5, 130] {
        send(&mut channels, port);
    }
    serve(&mut channels, 12, |channels, port| {
        if port != 130 {
            send(channels, port);
        }
    })
}

#[test]
fn vector_14_the_old_scan_starves_5_and_130() {
    assert_eq!(vector_14(two_level(ScanForm::Restart)), [3; 12]);
}

#[test]
fn vector_14_the_final_scans_take_turns() {
    for form in [ScanForm::Resume, ScanForm::ResumeMainline] {
        let order = vector_14(two_level(form));
        assert_eq!(order, [3, 5, 130, 3, 5, 3, 5, 3, 5, 3, 5, 3], "{form:?}");
    }
}

#[test]
fn vector_14_the_first_fix_takes_turns_with_the_words_of_its_pass() {
    let order = vector_14(two_level(ScanForm::RoundRobin));
    assert_eq!(order, [3, 5, 130, 3, 5, 3, 5, 3, 5, 3, 5, 3]);
}

#[test]
fn vector_14_queues_take_turns() {
    let order = vector_14(Abi::Fifo);
    assert_eq!(order, [3, 5, 130, 3, 5, 3, 5, 3, 5, 3, 5, 3]);
}

/// How often each port is served when `busy` ports are always sent to again in their handlers, and
/// `late` is sent to in the first handler.
fn against(abi: Abi, busy: &[u32], late: u32) -> BTreeMap<u32, usize> {
    let mut channels = domain(abi, 200);
    for &port in busy {
        send(&mut channels, port);
    }
    let mut sent = false;
    let order = serve(&mut channels, 1000, |channels, port| {
        if busy.contains(&port) {
            send(channels, port);
        }
        if !sent {
            send(channels, late);
            sent = true;
        }
    });
    let mut served = BTreeMap::new();
    for port in order {
        *served.entry(port).or_default() += 1;
    }
    served
}

#[test]
fn only_the_old_scan_starves_a_port_of_the_same_word() {
    // Dom0: the network card's interrupt is port 3, the backend of a guest is port 20.
    let old = against(two_level(ScanForm::Restart), &[3], 20);
    assert_eq!(old, BTreeMap::from([(3, 1000)]));
    for abi in [
        two_level(ScanForm::RoundRobin),
        two_level(ScanForm::Resume),
        two_level(ScanForm::ResumeMainline),
        Abi::Fifo,
    ] {
        assert_eq!(
            against(abi, &[3], 20),
            BTreeMap::from([(3, 999), (20, 1)]),
            "{abi:?}"
        );
    }
}

#[test]
fn the_first_fix_still_starves_a_word_that_is_selected_during_the_pass() {
    let first_fix = against(two_level(ScanForm::RoundRobin), &[3], 130);
    assert_eq!(first_fix, BTreeMap::from([(3, 1000)]));
    for form in [ScanForm::Resume, ScanForm::ResumeMainline] {
        let served = against(two_level(form), &[3], 130);
        assert_eq!(served, BTreeMap::from([(3, 999), (130, 1)]), "{form:?}");
    }
}

#[test]
fn busy_ports_share_equally_in_all_but_the_old_scan() {
    let busy = [1, 2, 63, 64, 130, 190];
    for abi in [
        two_level(ScanForm::RoundRobin),
        two_level(ScanForm::Resume),
        two_level(ScanForm::ResumeMainline),
        Abi::Fifo,
    ] {
        let served = against(abi, &busy, 1);
        for port in busy {
            assert!(
                served[&port].abs_diff(1000 / busy.len()) <= 3,
                "{abi:?} {served:?}"
            );
        }
    }
}

#[test]
fn the_first_fix_goes_on_in_the_next_word_behind_the_same_bit() {
    let mut channels = domain(two_level(ScanForm::RoundRobin), 130);
    send(&mut channels, 5);
    assert_eq!(serve(&mut channels, 9, |_, _| ()), [5]);
    // From word 1, bit 6: port 64 + 3 waits for the second round, and so does port 4 of word 0.
    for port in [4, 64 + 3, 64 + 9] {
        send(&mut channels, port);
    }
    assert_eq!(serve(&mut channels, 9, |_, _| ()), [73, 4, 67]);
}

#[test]
fn the_final_scan_goes_on_behind_the_last_port_and_comes_back_to_its_first_word_last() {
    for form in [ScanForm::Resume, ScanForm::ResumeMainline] {
        let mut channels = domain(two_level(form), 130);
        send(&mut channels, 5);
        assert_eq!(serve(&mut channels, 9, |_, _| ()), [5]);
        for port in [4, 5, 7, 64 + 3, 64 + 9] {
            send(&mut channels, port);
        }
        assert_eq!(
            serve(&mut channels, 9, |_, _| ()),
            [7, 67, 73, 4, 5],
            "{form:?}"
        );
    }
}

#[test]
fn only_mainline_looks_at_all_of_the_first_word_at_the_end() {
    // Port 4 was served last, so the pass begins at 5. During it 10 is sent to again.
    let order = |form| {
        let mut channels = domain(two_level(form), 130);
        send(&mut channels, 4);
        assert_eq!(serve(&mut channels, 9, |_, _| ()), [4]);
        for port in [2, 10, 70] {
            send(&mut channels, port);
        }
        serve(&mut channels, 9, |channels, port| match port {
            70 => send(channels, 10),
            2 => send(channels, 5),
            _ => {}
        })
    };
    // Ports 5 and 10 wait for a pass that begins at 3.
    assert_eq!(order(ScanForm::Resume), [10, 70, 2, 5, 10]);
    // Port 10 is seen together with 2, and 5 waits.
    assert_eq!(order(ScanForm::ResumeMainline), [10, 70, 2, 10, 5]);
}

#[test]
fn the_timer_comes_first_in_the_final_scans() {
    for form in ScanForm::ALL {
        let mut channels = domain(two_level(form), 8);
        let timer = channels.bind_virq(V0, Virq::TIMER).unwrap();
        let _ = channels.guest(D).unwrap().unmask(timer, 0);
        send(&mut channels, 2);
        let sent = channels.raise_virq(V0, Virq::TIMER).unwrap().unwrap();
        assert_eq!(sent.port, timer);
        let order = serve(&mut channels, 9, |_, _| ());
        if form.timer_first() {
            assert_eq!(order, [9, 2], "{form:?}");
        } else {
            assert_eq!(order, [2, 9], "{form:?}");
        }
    }
}

#[test]
fn a_timer_that_fires_in_its_handler_lets_the_others_have_their_turn() {
    let mut channels = domain(two_level(ScanForm::Resume), 8);
    let timer = channels.bind_virq(V0, Virq::TIMER).unwrap();
    let _ = channels.guest(D).unwrap().unmask(timer, 0);
    let _ = channels.raise_virq(V0, Virq::TIMER).unwrap();
    send(&mut channels, 2);
    let order = serve(&mut channels, 6, |channels, port| {
        if port == 9 {
            let _ = channels.raise_virq(V0, Virq::TIMER).unwrap();
        }
    });
    assert_eq!(&order[..3], [9, 2, 9]);
}

#[test]
fn nested_upcalls_only_count_and_have_the_outer_one_go_over_the_ports_again() {
    for form in ScanForm::ALL {
        let mut channels = domain(two_level(form), 130);
        send(&mut channels, 3);
        let guest = channels.guest(D).unwrap();
        assert!(guest.begin_upcall(0));
        let port = guest.next_port(0).unwrap();
        guest.enter(port);
        send(&mut channels, 130);
        let guest = channels.guest(D).unwrap();
        assert!(guest.upcall_due(0));
        assert!(!guest.begin_upcall(0), "{form:?}: nested");
        assert!(
            !guest.upcall_due(0),
            "{form:?}: the nested upcall took note"
        );
        let _ = guest.leave(port, 0);
        assert_eq!(
            guest.next_port(0),
            None,
            "{form:?}: word 2 waits for the next pass"
        );
        assert!(guest.end_upcall(0), "{form:?}");
        assert_eq!(guest.next_port(0), Some(Port(130)), "{form:?}");
        guest.enter(Port(130));
        let _ = guest.leave(Port(130), 0);
        assert_eq!(guest.next_port(0), None);
        assert!(!guest.end_upcall(0), "{form:?}");
        assert_eq!(guest.next_port(0), None, "{form:?}: outside");
    }
}

#[test]
fn where_upcalls_nest_the_inner_one_serves_ports_and_the_outer_one_goes_on() {
    let mut channels = domain(two_level(ScanForm::Nesting), 130);
    for port in [3, 70] {
        send(&mut channels, port);
    }
    let guest = channels.guest(D).unwrap();
    assert!(guest.begin_upcall(0));
    assert_eq!(guest.next_port(0), Some(Port(3)));
    guest.enter(Port(3));
    let _ = guest.leave(Port(3), 0);
    // During the softirqs. Word 1 was selected before, and is the outer one's.
    for port in [5, 130] {
        send(&mut channels, port);
    }
    let guest = channels.guest(D).unwrap();
    assert!(guest.upcall_due(0) && guest.begin_upcall(0), "nested");
    for port in [5, 130] {
        assert_eq!(guest.next_port(0), Some(Port(port)));
        guest.enter(Port(port));
        let _ = guest.leave(Port(port), 0);
    }
    assert_eq!(guest.next_port(0), None);
    assert!(!guest.end_upcall(0), "back in the softirqs");
    assert_eq!(guest.next_port(0), Some(Port(70)), "the outer one");
    guest.enter(Port(70));
    let _ = guest.leave(Port(70), 0);
    assert_eq!(guest.next_port(0), None);
    assert!(!guest.end_upcall(0) && !guest.upcall_due(0));
}

#[test]
fn mainline_goes_on_when_an_upcall_is_due_and_the_others_return_to_be_called_again() {
    for form in ScanForm::ALL {
        let mut channels = domain(two_level(form), 130);
        send(&mut channels, 3);
        let guest = channels.guest(D).unwrap();
        assert!(guest.begin_upcall(0));
        let port = guest.next_port(0).unwrap();
        guest.enter(port);
        send(&mut channels, 130);
        let guest = channels.guest(D).unwrap();
        let _ = guest.leave(port, 0);
        assert_eq!(guest.next_port(0), None);
        assert_eq!(
            guest.end_upcall(0),
            form == ScanForm::ResumeMainline,
            "{form:?}"
        );
        assert_eq!(
            guest.upcall_due(0),
            form != ScanForm::ResumeMainline,
            "{form:?}"
        );
    }
}

#[test]
fn queues_are_served_by_priority_and_in_order_inside_one() {
    let mut channels = domain(Abi::Fifo, 40);
    let priority = |n| FifoPriority::new(n).unwrap();
    for (port, number) in [(30, 0), (31, 0), (1, 15), (2, 8)] {
        channels
            .set_priority(D, Port(port), priority(number))
            .unwrap();
    }
    for port in [1, 2, 20, 31, 10, 30] {
        send(&mut channels, port);
    }
    let order = serve(&mut channels, 99, |channels, port| {
        if port == 20 {
            send(channels, 31);
            send(channels, 5);
        }
    });
    // 31 comes before the rest of its betters' queue as soon as it is ready; 5 after 10.
    assert_eq!(order, [31, 30, 20, 31, 10, 5, 2, 1]);
}

#[test]
fn a_busy_high_priority_starves_the_lower_ones() {
    let mut channels = domain(Abi::Fifo, 4);
    channels
        .set_priority(D, Port(4), FifoPriority::HIGHEST)
        .unwrap();
    for port in [1, 4] {
        send(&mut channels, port);
    }
    let order = serve(&mut channels, 50, |channels, port| {
        if port == 4 {
            send(channels, 4);
        }
    });
    assert_eq!(order, [4; 50]);
}

#[test]
fn a_port_that_was_taken_off_its_queue_is_queued_again_though_it_is_still_pending() {
    let mut channels = domain(Abi::Fifo, 3);
    send(&mut channels, 2);
    let guest = channels.guest(D).unwrap();
    assert!(guest.begin_upcall(0));
    assert_eq!(guest.next_port(0), Some(Port(2)));
    // Before the handler clears the pending bit.
    let again = channels.send(D, Port(2)).unwrap().unwrap();
    assert_eq!(again.raised, Raised::Kick);
    let guest = channels.guest(D).unwrap();
    guest.enter(Port(2));
    let _ = guest.leave(Port(2), 0);
    assert_eq!(guest.next_port(0), None, "the handler has seen both");
    // It goes on for the kick, and finds nothing.
    assert!(guest.end_upcall(0));
    assert_eq!(guest.next_port(0), None);
    assert!(!guest.end_upcall(0));
}

#[test]
fn a_32_bit_guest_scans_32_words_of_32_bits() {
    for form in ScanForm::ALL {
        let abi = Abi::TwoLevel {
            width: Width::Bits32,
            scan: form,
        };
        let mut channels = domain(abi, 1023);
        assert!(channels.bind_ipi(V0).is_err(), "1024 ports, with port 0");
        for port in [1023, 31, 32, 1] {
            send(&mut channels, port);
        }
        assert_eq!(
            serve(&mut channels, 9, |_, _| ()),
            [1, 31, 32, 1023],
            "{form:?}"
        );
        // Behind the last port comes the first one.
        for port in [1023, 992, 1] {
            send(&mut channels, port);
        }
        assert_eq!(
            serve(&mut channels, 9, |_, _| ()),
            [1, 992, 1023],
            "{form:?}"
        );
    }
}
