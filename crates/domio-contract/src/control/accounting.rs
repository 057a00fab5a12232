//! Dividing a driver domain's time among guests by counting their packets.
//!
//! A hypervisor sees how long a driver domain runs and not for whom. Gupta et al. 2006, section 3,
//! count the packets that netback takes from each guest and hands to it, give those that are taken
//! a weight, and charge each guest the part of the driver domain's time that it has in the weighted
//! count. The weight is what sending a packet costs over receiving one, measured once for a
//! machine. Everything that the driver domain does is divided, whatever it was for.
//!
//! ```text
//! wcount(i) = weight * sent(i) + received(i)
//! charge(i) = busy * wcount(i) / (wcount(1) + ... + wcount(n))
//! ```

use alloc::vec::Vec;
use domio_core::Duration;

/// What sending a packet costs a driver domain, over receiving one, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SendWeight(pub u32);

/// Packets of a guest that its backend in one driver domain has processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Taken from the guest.
    pub sent: u64,
    /// Handed to the guest.
    pub received: u64,
}

impl SendWeight {
    /// 1.1, of the first machine of Gupta et al. 2006; the second has 1.16.
    pub const GUPTA_SYSTEM_1: SendWeight = SendWeight(1_100);

    /// Smallest and largest weight: a thousandth, and a thousand.
    pub const RANGE: core::ops::RangeInclusive<u32> = 1..=1_000_000;
}

impl Counted {
    /// The packets with what is sent weighted, in thousandths of a packet that is received.
    pub fn weighted(self, weight: SendWeight) -> u128 {
        u128::from(self.sent) * u128::from(weight.0) + u128::from(self.received) * 1_000
    }

    /// What was counted since `before` was. A count that went back counts as none.
    #[must_use]
    pub const fn since(self, before: Counted) -> Counted {
        Counted {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
        }
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Counted) -> Counted {
        Counted {
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
        }
    }
}

/// Divides `busy`, the time of one driver domain, among guests with these packets, in their order.
///
/// The parts sum to `busy`: what rounding leaves goes to those who come later, so that each part is
/// within a nanosecond of the exact one. When nobody has a packet, nobody is charged, and all is
/// the driver domain's own.
pub fn divide(busy: Duration, weight: SendWeight, counts: &[Counted]) -> Vec<Duration> {
    let all: u128 = counts.iter().map(|c| c.weighted(weight)).sum();
    if all == 0 {
        return alloc::vec![Duration::ZERO; counts.len()];
    }
    // Counts of more than 64 bits lose their last bits, so that the products have room.
    let shift = (u128::BITS - all.leading_zeros()).saturating_sub(u64::BITS);
    let (mut so_far, mut given) = (0, 0);
    let part = |counted: &Counted| {
        so_far += counted.weighted(weight);
        let until = u128::from(busy.as_nanos()) * (so_far >> shift) / (all >> shift);
        let part = until as u64 - given;
        given = until as u64;
        Duration::from_nanos(part)
    };
    counts.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_suite::Rng;

    const ONE: SendWeight = SendWeight(1_000);

    fn counted(sent: u64, received: u64) -> Counted {
        Counted { sent, received }
    }

    fn ns(parts: &[Duration]) -> Vec<u64> {
        parts.iter().map(|part| part.as_nanos()).collect()
    }

    #[test]
    fn a_guest_is_charged_by_its_weighted_packets() {
        let busy = Duration::from_nanos(2_100);
        let both = [counted(10, 0), counted(0, 10)];
        let parts = divide(busy, SendWeight::GUPTA_SYSTEM_1, &both);
        assert_eq!(ns(&parts), [1_100, 1_000]);
        let parts = divide(busy, ONE, &[counted(1, 1), counted(0, 0), counted(0, 1)]);
        assert_eq!(ns(&parts), [1_400, 0, 700]);
    }

    #[test]
    fn without_packets_nobody_is_charged() {
        let busy = Duration::from_secs(1);
        assert_eq!(ns(&divide(busy, ONE, &[counted(0, 0); 2])), [0, 0]);
        assert_eq!(ns(&divide(busy, ONE, &[])), []);
        assert_eq!(ns(&divide(Duration::ZERO, ONE, &[counted(3, 4)])), [0]);
    }

    #[test]
    fn what_was_counted_before_does_not_count_again() {
        assert_eq!(counted(7, 9).since(counted(2, 9)), counted(5, 0));
        assert_eq!(
            counted(1, 1).since(counted(2, 0)),
            counted(0, 1),
            "it went back"
        );
        assert_eq!(
            counted(u64::MAX, 1).plus(counted(1, 1)),
            counted(u64::MAX, 2)
        );
    }

    /// Any weight, any number of guests, counts of any size: zero, small, huge.
    #[test]
    fn parts_sum_to_the_whole_and_are_what_they_should_be() {
        let mut rng = Rng::new(1);
        for case in 0..20_000 {
            let bits = rng.between(0, 64);
            let number = |rng: &mut Rng| match bits {
                0 => 0,
                bits => rng.next_u64() >> (64 - bits),
            };
            let weight = SendWeight(rng.between(1, 1_000_000) as u32);
            let counts: Vec<Counted> = (0..rng.between(0, 9))
                .map(|_| match rng.one_in(4) {
                    true => counted(0, 0),
                    false => counted(number(&mut rng), number(&mut rng)),
                })
                .collect();
            let busy = rng.next_u64() >> rng.between(0, 63);
            let parts = divide(Duration::from_nanos(busy), weight, &counts);
            assert_eq!(parts.len(), counts.len());
            let all: u128 = counts.iter().map(|c| c.weighted(weight)).sum();
            let sum: u128 = parts.iter().map(|p| u128::from(p.as_nanos())).sum();
            let whole = if all == 0 { 0 } else { u128::from(busy) };
            assert_eq!(sum, whole, "case {case}");
            for (part, count) in parts.iter().zip(&counts) {
                if count.weighted(weight) == 0 {
                    assert!(part.as_nanos() <= 1, "case {case}");
                }
                if let (true, Some(product)) = (all > 0, whole.checked_mul(count.weighted(weight)))
                    && all <= u128::from(u64::MAX)
                {
                    let exact = product / all;
                    let off = exact.abs_diff(u128::from(part.as_nanos()));
                    assert!(off <= 1, "case {case}: {part} and not {exact} ns");
                }
            }
        }
    }
}
