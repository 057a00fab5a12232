//! The eight tests of the paper's section 5.2, and the experiment of its figure 4.

use domio_net::icmp::Pace;

/// What a guest does in a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Gets a TCP stream from the remote host.
    Stream,
    /// Computes.
    Burn,
    /// Answers pings.
    Ping,
    /// Answers pings and computes.
    PingAndBurn,
    /// Nothing.
    Idle,
}

impl Role {
    /// It gets a stream.
    pub const fn streams(self) -> bool {
        matches!(self, Role::Stream)
    }

    /// It computes.
    pub const fn burns(self) -> bool {
        matches!(self, Role::Burn | Role::PingAndBurn)
    }

    /// It answers pings.
    pub const fn answers(self) -> bool {
        matches!(self, Role::Ping | Role::PingAndBurn)
    }
}

/// A test: what the eight guests do, in the order in which they are started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Test {
    /// Name in cells.
    pub name: &'static str,
    /// In the paper's words.
    pub title: &'static str,
    /// By guest.
    pub guests: [Role; 8],
    /// When the remote host sends its next ping.
    pub pace: Pace,
}

/// "The ping program on the remote system transmits each packet upon the receipt of the previous
/// packet's acknowledgement or after a timeout" (section 5.1), which is what `ping -f` does.
const FLOOD: Pace = Pace::Flood(Pace::FLOOD_TIMEOUT);

impl Test {
    /// Numbers, from 1, of the guests whose role is `wanted`.
    pub fn guests(&self, wanted: impl Fn(Role) -> bool) -> impl Iterator<Item = u16> {
        let numbered = (1..).zip(self.guests);
        numbered.filter_map(move |(number, role)| wanted(role).then_some(number))
    }

    /// Whether some guest's role is `wanted`.
    pub fn has(&self, wanted: impl Fn(Role) -> bool) -> bool {
        self.guests.iter().any(|role| wanted(*role))
    }
}

use Role::{Burn as B, Idle as I, Ping as P, PingAndBurn as M, Stream as S};

/// The suite, in its order.
pub const TESTS: [Test; 8] = [
    Test {
        name: "test1",
        title: "stream x 7",
        guests: [S, S, S, S, S, S, S, I],
        pace: FLOOD,
    },
    Test {
        name: "test2",
        title: "stream x 3, burn x 3",
        guests: [S, S, S, B, B, B, I, I],
        pace: FLOOD,
    },
    Test {
        name: "test3",
        title: "burn x 7, ping x 1",
        guests: [B, B, B, B, B, B, B, P],
        pace: FLOOD,
    },
    Test {
        name: "test4",
        title: "ping x 1, burn x 7",
        guests: [P, B, B, B, B, B, B, B],
        pace: FLOOD,
    },
    Test {
        name: "test5",
        title: "stream x 7, ping x 1",
        guests: [S, S, S, S, S, S, S, P],
        pace: FLOOD,
    },
    Test {
        name: "test6",
        title: "ping x 1, stream x 7",
        guests: [P, S, S, S, S, S, S, S],
        pace: FLOOD,
    },
    Test {
        name: "test7",
        title: "stream x 3, burn x 3, ping x 1",
        guests: [S, S, S, B, B, B, P, I],
        pace: FLOOD,
    },
    Test {
        name: "test8",
        title: "stream x 3, ping+burn x 1, burn x 3",
        guests: [S, S, S, M, B, B, B, I],
        pace: FLOOD,
    },
];

/// The experiment of figure 4, "90 consecutive pings": the guests of test 3 and a plain `ping`.
///
/// It can't be a flood: at the 0.2 to 0.3 ms of that figure a flood is some four thousand requests
/// a second, whose work in the driver domain would show in the shares of test 3, and figure 7
/// finds them to be a seventh in each configuration but tbs.
pub const FIGURE_4: Test = Test {
    name: "fig4",
    pace: Pace::Every(Pace::INTERVAL),
    ..TESTS[2]
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The title says how many guests of each kind there are, in their order.
    #[test]
    fn titles_say_who_does_what() {
        for test in TESTS.into_iter().chain([FIGURE_4]) {
            let mut told = Vec::new();
            for part in test.title.split(", ") {
                let (what, count) = part.split_once(" x ").unwrap();
                let role = match what {
                    "stream" => S,
                    "burn" => B,
                    "ping" => P,
                    "ping+burn" => M,
                    other => panic!("{other}"),
                };
                told.extend(vec![role; count.parse().unwrap()]);
            }
            told.resize(8, I);
            assert_eq!(told, test.guests, "{}", test.name);
        }
    }

    #[test]
    fn guests_are_numbered_from_one() {
        let eighth = TESTS[7];
        assert_eq!(eighth.guests(Role::burns).collect::<Vec<_>>(), [4, 5, 6, 7]);
        assert_eq!(eighth.guests(Role::answers).collect::<Vec<_>>(), [4]);
        assert!(!TESTS[0].has(Role::answers));
    }
}
