//! Whom the host calls for an interrupt, a softirq, a tasklet, a timer.

use domio_core::DomainId;
use domio_vmm::bus::lines::{BusLine, BusLines};
use domio_vmm::bus::{Softirq, SoftirqLine};
use domio_vmm::evtchn::Port;

#[test]
fn lines_of_one_softirq_run_in_the_order_in_which_they_were_made() {
    let mut lines = BusLines::default();
    let of = |device, token| BusLine { device, token };
    let block = lines.add_softirq(Softirq::Block, of(0, 7));
    let first = lines.add_softirq(Softirq::NetRx, of(0, 8));
    let second = lines.add_softirq(Softirq::NetRx, of(1, 8));
    let mut all = [
        block,
        second,
        SoftirqLine::TASKLET,
        first,
        SoftirqLine::TIMER,
    ];
    all.sort_unstable();
    let expected = [
        SoftirqLine::TIMER,
        first,
        second,
        block,
        SoftirqLine::TASKLET,
    ];
    assert_eq!(all, expected);
    assert_eq!(lines.softirq(second), of(1, 8));
    assert_eq!(lines.softirq(block), of(0, 7));
}

#[test]
fn a_port_belongs_to_one_domain() {
    let mut lines = BusLines::default();
    let line = BusLine {
        device: 2,
        token: 9,
    };
    lines.set_port(DomainId(3), Port(5), Some(line));
    assert_eq!(lines.port(DomainId(3), Port(5)), Some(line));
    assert_eq!(lines.port(DomainId(3), Port(4)), None);
    assert_eq!(lines.port(DomainId(2), Port(5)), None);
    assert_eq!(lines.port(DomainId(9), Port(5)), None);
    lines.forget(DomainId(3));
    assert_eq!(lines.port(DomainId(3), Port(5)), None);
}
