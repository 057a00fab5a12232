//! Binding, sending and closing: what Xen gives, does and refuses.

use domio_core::{DomainId, VcpuName};
use domio_vmm::evtchn::{Abi, Binding, Channels, EvtchnError, Port, Raised, ScanForm, Virq, Width};
use proptest::prelude::*;
use std::collections::BTreeSet;

const DOM0: DomainId = DomainId::DOM0;
const A: DomainId = DomainId(1);
const B: DomainId = DomainId(2);

fn vcpu(domain: DomainId, index: u16) -> VcpuName {
    VcpuName { domain, index }
}

fn host(abi: Abi) -> Channels {
    let mut channels = Channels::new();
    for id in [DOM0, A, B] {
        channels.add(id, abi, 2).unwrap();
    }
    channels
}

const BITMAPS: Abi = Abi::TwoLevel {
    width: Width::Bits64,
    scan: ScanForm::Restart,
};

/// A channel between `from` and `to`, unmasked at both ends, and served once.
fn channel(channels: &mut Channels, from: DomainId, to: DomainId) -> (Port, Port) {
    let offered = channels.offer(from, to).unwrap();
    let bound = channels.connect(to, from, offered).unwrap();
    for (id, port) in [(from, offered), (to, bound.port)] {
        let guest = channels.guest(id).unwrap();
        guest.clear_pending(port);
        let _ = guest.unmask(port, 0);
    }
    (offered, bound.port)
}

#[test]
fn a_backend_started_later_has_a_higher_port_in_dom0() {
    let mut channels = host(BITMAPS);
    let timer = channels.bind_virq(vcpu(DOM0, 0), Virq::TIMER).unwrap();
    let card = channels.bind_pirq(DOM0, 16).unwrap();
    let (_, first) = channel(&mut channels, A, DOM0);
    let (_, second) = channel(&mut channels, B, DOM0);
    assert_eq!([timer, card, first, second], [1, 2, 3, 4].map(Port));
    // The guest that starts next takes the place of the one that left.
    channels.close(DOM0, first).unwrap();
    assert_eq!(channel(&mut channels, B, DOM0).1, Port(3));
}

#[test]
fn a_send_kicks_once_until_the_guest_looks() {
    for abi in [BITMAPS, Abi::Fifo] {
        let mut channels = host(abi);
        let (x, _) = channel(&mut channels, A, DOM0);
        let (y, _) = channel(&mut channels, B, DOM0);
        let mut send = |id, port| channels.send(id, port).unwrap().unwrap().raised;
        assert_eq!(send(A, x), Raised::Kick, "{abi:?}");
        assert_eq!(send(A, x), Raised::Coalesced, "{abi:?}");
        assert_eq!(send(B, y), Raised::Latched, "{abi:?}");
        let guest = channels.guest(DOM0).unwrap();
        assert!(!guest.block(0), "{abi:?}: an upcall is due");
        assert!(guest.block(1), "{abi:?}: none is due there");
    }
}

#[test]
fn a_masked_port_stays_pending_until_it_is_unmasked() {
    for abi in [BITMAPS, Abi::Fifo] {
        let mut channels = host(abi);
        let (x, local) = channel(&mut channels, A, DOM0);
        channels.guest(DOM0).unwrap().mask(local);
        let sent = channels.send(A, x).unwrap().unwrap();
        assert_eq!((sent.to, sent.port), (vcpu(DOM0, 0), local));
        assert_eq!(sent.raised, Raised::Masked, "{abi:?}");
        let guest = channels.guest(DOM0).unwrap();
        assert!(!guest.upcall_due(0));
        let unmasked = guest.unmask(local, 0);
        assert!(unmasked.upcall, "{abi:?}");
        // A kernel can set the bits of its own vcpu, but not put a port into a queue.
        assert_eq!(unmasked.hypercall, abi == Abi::Fifo);
        guest.set_upcall_mask(0, true);
        assert!(!guest.upcall_due(0) && guest.upcall_pending(0));
        assert!(!guest.block(0), "blocking turns interrupts on");
        assert!(guest.upcall_due(0));
    }
}

#[test]
fn unmasking_a_port_of_another_vcpu_takes_a_hypercall() {
    let mut channels = host(BITMAPS);
    let (x, local) = channel(&mut channels, A, DOM0);
    let moved = channels.rebind(vcpu(DOM0, 1), local, 0).unwrap().unwrap();
    assert!(moved.hypercall && !moved.upcall && moved.vcpu == 1);
    let sent = channels.send(A, x).unwrap().unwrap();
    assert_eq!((sent.to, sent.raised), (vcpu(DOM0, 1), Raised::Kick));
}

#[test]
fn binding_sends_once_for_what_was_lost_before() {
    for abi in [BITMAPS, Abi::Fifo] {
        let mut channels = host(abi);
        let offered = channels.offer(A, DOM0).unwrap();
        assert_eq!(channels.send(A, offered), Ok(None), "sent to nobody");
        let bound = channels.connect(DOM0, A, offered).unwrap();
        assert_eq!(bound.first.raised, Raised::Masked);
        let guest = channels.guest(DOM0).unwrap();
        assert!(guest.is_pending(bound.port), "{abi:?}");
        assert!(guest.unmask(bound.port, 0).upcall, "{abi:?}");
        assert!(!channels.guest(A).unwrap().is_pending(offered));
    }
}

#[test]
fn closing_offers_the_other_end_again_and_forgets_what_was_sent() {
    let mut channels = host(BITMAPS);
    let (x, local) = channel(&mut channels, A, DOM0);
    let _ = channels.send(A, x).unwrap();
    channels.close(DOM0, local).unwrap();
    let again = Binding::Unbound { remote: DOM0 };
    assert_eq!(channels.binding(A, x), Ok((again, 0)));
    assert_eq!(channels.send(A, x), Ok(None));
    let reused = channels.bind_ipi(vcpu(DOM0, 0)).unwrap();
    assert_eq!(reused, local);
    let guest = channels.guest(DOM0).unwrap();
    assert!(!guest.is_pending(reused) && guest.is_masked(reused));
}

#[test]
fn a_domain_that_goes_closes_all_its_ports() {
    for abi in [BITMAPS, Abi::Fifo] {
        let mut channels = host(abi);
        let (_, x) = channel(&mut channels, A, DOM0);
        let (_, y) = channel(&mut channels, A, DOM0);
        channels.remove(A).unwrap();
        for port in [x, y] {
            let again = Binding::Unbound { remote: A };
            assert_eq!(channels.binding(DOM0, port), Ok((again, 0)));
        }
        assert_eq!(channels.remove(A), Err(EvtchnError::NoDomain(A)));
    }
}

#[test]
fn virqs_of_each_vcpu_and_of_the_domain() {
    let mut channels = host(BITMAPS);
    let timer = |i| vcpu(A, i);
    let first = channels.bind_virq(timer(0), Virq::TIMER).unwrap();
    let second = channels.bind_virq(timer(1), Virq::TIMER).unwrap();
    let console = channels.bind_virq(vcpu(A, 0), Virq::CONSOLE).unwrap();
    assert_eq!([first, second, console], [1, 2, 3].map(Port));
    let mut raised = |v, virq| {
        let sent = channels.raise_virq(v, virq).unwrap();
        sent.map(|sent| (sent.to, sent.port))
    };
    assert_eq!(raised(vcpu(A, 1), Virq::TIMER), Some((vcpu(A, 1), second)));
    assert_eq!(
        raised(vcpu(A, 1), Virq::CONSOLE),
        Some((vcpu(A, 0), console))
    );
    assert_eq!(raised(vcpu(A, 0), Virq::DEBUG), None);
    channels.close(A, second).unwrap();
    assert_eq!(channels.raise_virq(vcpu(A, 1), Virq::TIMER), Ok(None));
}

#[test]
fn pollers_are_woken_even_by_masked_ports() {
    let mut channels = host(BITMAPS);
    let (x, local) = channel(&mut channels, A, DOM0);
    channels.guest(DOM0).unwrap().mask(local);
    for index in 0..2 {
        assert_eq!(channels.poll(vcpu(DOM0, index), &[local]), Ok(true));
    }
    let sent = channels.send(A, x).unwrap().unwrap();
    assert!(sent.pollers && sent.raised == Raised::Masked);
    assert_eq!(channels.unblock_poller(DOM0), Ok(Some(vcpu(DOM0, 0))));
    assert_eq!(channels.unblock_poller(DOM0), Ok(Some(vcpu(DOM0, 1))));
    assert_eq!(channels.unblock_poller(DOM0), Ok(None));
    let pending = channels.poll(vcpu(DOM0, 0), &[local]);
    assert_eq!(pending, Ok(false), "nothing to wait for");
    assert!(!channels.send(A, x).unwrap().unwrap().pollers);
}

#[test]
fn what_xen_refuses_changes_nothing_and_says_why() {
    let mut channels = host(BITMAPS);
    let offered = channels.offer(A, DOM0).unwrap();
    let ipi = channels.bind_ipi(vcpu(A, 1)).unwrap();
    let timer = channels.bind_virq(vcpu(A, 0), Virq::TIMER).unwrap();
    let binding = Binding::Unbound { remote: DOM0 };
    let not_offered = EvtchnError::NotOffered {
        remote: A,
        port: offered,
        binding,
        asked: B,
    };
    let unsuitable = |port, binding| EvtchnError::Unsuitable(A, port, binding);
    let cases = [
        (channels.connect(B, A, offered).unwrap_err(), not_offered),
        (
            channels.send(A, Port(0)).unwrap_err(),
            EvtchnError::NoPort(A, Port(0)),
        ),
        (
            channels.send(A, Port(9999)).unwrap_err(),
            EvtchnError::NoPort(A, Port(9999)),
        ),
        (
            channels.send(A, timer).unwrap_err(),
            unsuitable(timer, Binding::Virq(Virq::TIMER)),
        ),
        (
            channels.raise_pirq(A, ipi).unwrap_err(),
            unsuitable(ipi, Binding::Ipi),
        ),
        (
            channels.rebind(vcpu(A, 0), ipi, 0).unwrap_err(),
            unsuitable(ipi, Binding::Ipi),
        ),
        (
            channels.bind_virq(vcpu(A, 0), Virq::TIMER).unwrap_err(),
            EvtchnError::VirqTaken(vcpu(A, 0), Virq::TIMER),
        ),
        (
            channels.bind_virq(vcpu(A, 1), Virq::CONSOLE).unwrap_err(),
            EvtchnError::GlobalVirq(Virq::CONSOLE),
        ),
        (
            channels.bind_virq(vcpu(A, 0), Virq(24)).unwrap_err(),
            EvtchnError::NoVirq(Virq(24)),
        ),
        (
            channels.bind_ipi(vcpu(A, 2)).unwrap_err(),
            EvtchnError::NoVcpu(vcpu(A, 2)),
        ),
        (
            channels.add(A, BITMAPS, 1).unwrap_err(),
            EvtchnError::DomainExists(A),
        ),
        (
            channels.offer(A, DomainId(7)).unwrap_err(),
            EvtchnError::NoDomain(DomainId(7)),
        ),
    ];
    for (got, expected) in cases {
        assert_eq!(got, expected);
        assert!(got.to_string().contains(['d', 'v']), "{got}");
    }
    assert_eq!(
        channels.bind_pirq(A, 1),
        Ok(Port(4)),
        "nothing was allocated"
    );
    let text = not_offered.to_string();
    assert_eq!(
        text,
        "d1: port 1 is offered to d0, not offered to d2; let d1 offer a port to it"
    );
}

#[test]
fn the_ports_of_each_abi() {
    for (abi, ports) in [
        (BITMAPS, 4096),
        (
            Abi::TwoLevel {
                width: Width::Bits32,
                scan: ScanForm::Resume,
            },
            1024,
        ),
        (Abi::Fifo, 1 << 17),
    ] {
        assert_eq!(host(abi).guest(A).unwrap().ports(), ports);
    }
    let mut channels = host(BITMAPS);
    for number in 1..4096 {
        assert_eq!(channels.bind_pirq(A, 0), Ok(Port(number)));
    }
    assert_eq!(channels.bind_pirq(A, 0), Err(EvtchnError::NoFreePort(A)));
    channels.close(A, Port(77)).unwrap();
    assert_eq!(channels.bind_pirq(A, 0), Ok(Port(77)));
}

proptest! {
    #[test]
    fn the_lowest_free_port_is_allocated(steps in prop::collection::vec(0..40u32, 1..200)) {
        let mut channels = host(BITMAPS);
        let mut used = BTreeSet::new();
        for step in steps {
            if used.remove(&step) {
                channels.close(A, Port(step)).unwrap();
            } else {
                let lowest = (1..).find(|port| !used.contains(port)).unwrap();
                prop_assert_eq!(channels.bind_ipi(vcpu(A, 1)), Ok(Port(lowest)));
                used.insert(lowest);
            }
        }
    }
}
