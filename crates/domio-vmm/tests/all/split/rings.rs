//! Rings: sizes, the rule of notification, and that no end waits for what lies in the ring.

use domio_vmm::ring::{BLOCK, NET_RX, NET_TX, Ring, RingError, entries, halfway, passes};
use proptest::prelude::*;
use std::collections::VecDeque;

#[test]
fn sizes_follow_from_what_the_entries_hold() {
    assert_eq!((NET_TX, NET_RX, BLOCK), (256, 256, 32));
    assert_eq!(entries(4032, 1), 1);
    assert_eq!(entries(2016, 1), 2);
    assert_eq!(entries(1, 15), 256);
}

#[test]
fn vector_13_notification() {
    for (event, notify) in [(6, true), (8, true), (5, false), (9, false), (7, true)] {
        assert_eq!(passes(event, 5, 8), notify, "{event}");
        // The same across the end of the numbers.
        let shift = |n: u32| n.wrapping_sub(7);
        assert_eq!(passes(shift(event), shift(5), shift(8)), notify, "{event}");
    }
    assert!(!passes(5, 5, 5), "nothing was pushed");
}

#[test]
fn half_of_what_is_outstanding() {
    assert_eq!(halfway(10, 0), 11);
    assert_eq!(halfway(10, 1), 11);
    assert_eq!(halfway(10, 8), 15);
    assert_eq!(halfway(u32::MAX, 4), 2);
}

#[test]
fn netfront_hears_of_half_of_its_packets() {
    let mut ring = Ring::new(NET_TX);
    for packet in 0..9 {
        ring.put_request(packet).unwrap();
    }
    assert!(ring.push_requests(), "the backend wants the first");
    ring.want_half_of_responses();
    let mut told = Vec::new();
    while let Some(packet) = ring.take_request() {
        ring.put_response(packet).unwrap();
        if ring.push_responses() {
            told.push(packet);
        }
    }
    assert_eq!(told, [4], "the fifth of nine");
}

#[test]
fn a_push_is_told_once_until_the_other_end_asks_again() {
    let mut ring: Ring<u8, u8> = Ring::new(BLOCK);
    let push = |ring: &mut Ring<u8, u8>| {
        ring.put_request(0).unwrap();
        ring.push_requests()
    };
    assert!(push(&mut ring));
    assert!(!push(&mut ring));
    assert!(ring.final_check_for_requests(), "two are there");
    assert!(!push(&mut ring), "nothing was asked for");
    while ring.take_request().is_some() {}
    assert!(!ring.final_check_for_requests());
    assert!(push(&mut ring));
    assert!(!ring.push_requests(), "nothing new");
}

#[test]
fn neither_end_writes_over_the_other() {
    let mut ring = Ring::new(4);
    for i in 0..4 {
        ring.put_request(i).unwrap();
    }
    assert_eq!(ring.put_request(4), Err(RingError::Full));
    assert_eq!(ring.put_response(0), Err(RingError::NothingToAnswer));
    assert_eq!(ring.take_request(), None, "not pushed");
    let _ = ring.push_requests();
    assert_eq!(ring.take_request(), Some(0));
    ring.put_response(0).unwrap();
    assert_eq!(ring.put_response(1), Err(RingError::NothingToAnswer));
    assert_eq!(ring.take_response(), None, "not pushed");
    assert_eq!(ring.put_request(4), Err(RingError::Full), "not taken");
    let _ = ring.push_responses();
    assert_eq!(ring.take_response(), Some(0));
    ring.put_request(4).unwrap();
    assert_eq!((ring.free(), ring.outstanding()), (0, 4));
    assert_eq!((ring.requests(), ring.unanswered()), (3, 0));
}

/// Two ends, each of which works until it finds nothing and sleeps until it is notified. The steps
/// of an end and of its final check come in any order with the other's.
struct Drivers {
    ring: Ring<u32, u32>,
    front: End,
    back: End,
    put: u32,
    taken: VecDeque<u32>,
    answered: VecDeque<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Working,
    /// Has moved the event index, and looks once more.
    Checking,
    Asleep,
}

impl Drivers {
    fn new(size: u32, start: u32) -> Drivers {
        Drivers {
            ring: Ring::starting_at(size, start),
            front: End::Asleep,
            back: End::Asleep,
            put: 0,
            taken: VecDeque::new(),
            answered: VecDeque::new(),
        }
    }

    fn produce(&mut self, n: u32) {
        for _ in 0..n {
            let room = self.ring.outstanding() < self.ring.size();
            let put = self.ring.put_request(self.put);
            assert_eq!(put.is_ok(), room, "full exactly when it is");
            self.put += u32::from(room);
        }
        if self.ring.push_requests() {
            self.back = End::Working;
        }
    }

    /// One step of the backend; it answers the oldest or the newest of what it took.
    fn backend(&mut self, answer: u32, newest: bool) {
        for _ in 0..answer {
            let next = if newest {
                self.taken.pop_back()
            } else {
                self.taken.pop_front()
            };
            let Some(request) = next else {
                assert_eq!(self.ring.unanswered(), 0);
                assert_eq!(self.ring.put_response(0), Err(RingError::NothingToAnswer));
                break;
            };
            self.ring.put_response(request).unwrap();
            self.answered.push_back(request);
        }
        if self.ring.push_responses() {
            self.front = End::Working;
        }
        self.back = match self.back {
            End::Working => match self.ring.take_request() {
                Some(request) => {
                    self.taken.push_back(request);
                    End::Working
                }
                None => {
                    self.ring.want_requests(1);
                    End::Checking
                }
            },
            End::Checking if self.ring.requests() > 0 => End::Working,
            End::Checking | End::Asleep => End::Asleep,
        };
    }

    fn frontend(&mut self, half: bool) {
        self.front = match self.front {
            End::Working => match self.ring.take_response() {
                Some(response) => {
                    assert_eq!(Some(response), self.answered.pop_front());
                    End::Working
                }
                None => {
                    if half {
                        self.ring.want_half_of_responses();
                    } else {
                        self.ring.want_next_response();
                    }
                    End::Checking
                }
            },
            End::Checking if self.ring.responses() > 0 => End::Working,
            End::Checking | End::Asleep => End::Asleep,
        };
    }

    fn check(&self) {
        let ring = &self.ring;
        assert!(ring.outstanding() <= ring.size());
        assert!(ring.requests() + ring.unanswered() + ring.responses() <= ring.outstanding());
        let asleep = self.back == End::Asleep;
        assert!(
            !asleep || ring.requests() == 0,
            "the backend sleeps on a request"
        );
    }

    fn settle(&mut self) {
        for _ in 0..4 * self.ring.size() + 8 {
            self.backend(2, false);
            self.frontend(false);
        }
        assert_eq!((self.back, self.front), (End::Asleep, End::Asleep));
        assert!(self.taken.is_empty() && self.answered.is_empty());
        assert_eq!(
            self.ring.outstanding(),
            0,
            "all answered, and all answers taken"
        );
    }
}

proptest! {
    #[test]
    fn no_end_sleeps_on_what_is_for_it(
        size in prop::sample::select(vec![1, 2, 4, 32]),
        before_the_end in 0..50u32,
        steps in prop::collection::vec((0..3u8, 0..4u32, any::<bool>()), 0..300),
    ) {
        // The indices pass the end of the numbers on the way.
        let mut drivers = Drivers::new(size, u32::MAX - before_the_end);
        for (who, n, choice) in steps {
            match who {
                0 => drivers.produce(n),
                1 => drivers.backend(n, choice),
                _ => drivers.frontend(choice),
            }
            drivers.check();
        }
        drivers.settle();
    }

    #[test]
    fn a_push_is_told_exactly_if_it_passes_the_event(
        start in any::<u32>(), ahead in 0..300u32, n in 0..256u32,
    ) {
        let event = start.wrapping_add(ahead);
        let passed = (1..=n).any(|i| start.wrapping_add(i) == event);
        prop_assert_eq!(passes(event, start, start.wrapping_add(n)), passed);
    }
}
