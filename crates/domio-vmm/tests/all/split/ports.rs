//! Ports by number.

use domio_vmm::evtchn::{Port, Width};

#[test]
fn the_number_of_ports_is_the_square_of_the_word() {
    assert_eq!(Width::Bits32.ports(), 1024);
    assert_eq!(Width::Bits64.ports(), 4096);
}

#[test]
fn vector_14_port_130_of_a_64_bit_guest_is_bit_2_of_word_2() {
    assert_eq!(Width::Bits64.locate(Port(130)), (2, 2));
    assert_eq!(Width::Bits64.port(2, 2), Port(130));
    assert_eq!(Width::Bits32.locate(Port(130)), (4, 2));
}
