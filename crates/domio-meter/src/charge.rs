//! How a driver domain's time is charged to guests by counting their packets.
//!
//! Nobody can see from outside for whom a driver domain works. Gupta et al. 2006, section 3, count
//! packets at netback, where each has to pass, and charge in proportion:
//!
//! ```text
//! charged(guest) = used(driver) * (weight * sent(guest) + received(guest))
//!                               / (weight * sent(all)   + received(all))
//! ```
//!
//! `weight` says how much more a packet takes that a guest sends than one that it receives. The
//! whole use is charged, what was done for nobody included. A simulated host knows the truth beside
//! ([`GuestTraffic::work`]), so that [`DriverUse`] says how far off the count is.
//!
//! Counting goes wrong where packets are not alike: in size where they are copied, in how many
//! share an interrupt, where some are dropped after they were paid for, and where a driver domain
//! works for disks as well.

use domio_core::DomainId;

use crate::sampler::{GuestTraffic, IntervalSample};

/// How much more a packet that a guest sends takes than one that it receives, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketWeight(pub u32);

impl PacketWeight {
    /// 1.1, as measured by Gupta et al. 2006 on the first of their two machines.
    pub const GUPTA: PacketWeight = PacketWeight(1100);
}

/// Splits `used` in proportion to the packets `(sent, received)` of each guest; nothing for anybody
/// when there was no packet. Parts are rounded down.
pub fn split(used: u64, weight: PacketWeight, packets: &[(u64, u64)]) -> Vec<u64> {
    let count = |&(sent, received): &(u64, u64)| {
        u128::from(sent) * u128::from(weight.0) + u128::from(received) * 1000
    };
    let all: u128 = packets.iter().map(count).sum();
    let part = |packets| match all {
        0 => 0,
        // Counts of a real trace stay far below 2^64, so that the product fits. If not, a divided
        // count is near enough.
        _ => match u128::from(used).checked_mul(count(packets)) {
            Some(product) => (product / all) as u64,
            None => (u128::from(used) * (count(packets) >> 64) / (all >> 64)) as u64,
        },
    };
    packets.iter().map(part).collect()
}

/// The use of a driver domain in one interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriverUse {
    /// The driver domain.
    pub driver: DomainId,
    /// Time that its vcpus executed, in nanoseconds.
    pub used: u64,
    /// By guest.
    pub charges: Vec<PacketCharge>,
}

/// What a guest is charged for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketCharge {
    /// Packets, and the time that was worked in truth.
    pub traffic: GuestTraffic,
    /// Time that is charged, in nanoseconds; `None` where the trace reports no packet.
    pub estimate: Option<u64>,
    /// Time that was worked in truth, in nanoseconds; `None` where the trace does not say.
    pub exact: Option<u64>,
}

impl PacketCharge {
    /// By how much the estimate is too high, in hundredths (points) of the driver domain's `used`
    /// time; `None` where one of the two is not known, or nothing was used.
    pub fn error_points(&self, used: u64) -> Option<f64> {
        let (estimate, exact) = self.estimate.zip(self.exact)?;
        let error = estimate as f64 - exact as f64;
        (used > 0).then(|| error * 100.0 / used as f64)
    }
}

/// What each driver domain did in `sample`, charged by packets and in truth. A driver domain that
/// its own work is notified of is no guest of itself.
pub fn charges(sample: &IntervalSample, weight: PacketWeight) -> Vec<DriverUse> {
    let mut all = Vec::new();
    for of_driver in sample.traffic.chunk_by(|a, b| a.driver == b.driver) {
        let driver = of_driver[0].driver;
        let guests = of_driver.iter().filter(|t| t.guest != driver);
        let guests: Vec<GuestTraffic> = guests.copied().collect();
        let used = sample.domain(driver).gotten;
        let packets: Vec<(u64, u64)> = guests.iter().map(|t| (t.sent, t.received)).collect();
        let estimates = split(used, weight, &packets);
        let charge = |(traffic, estimate): (GuestTraffic, u64)| PacketCharge {
            traffic,
            estimate: sample.tells.packets.then_some(estimate),
            exact: sample.tells.work.then_some(traffic.work),
        };
        all.push(DriverUse {
            driver,
            used,
            charges: guests.into_iter().zip(estimates).map(charge).collect(),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::{DomainSample, Figures, Tells};

    #[test]
    fn the_split_is_the_papers_formula() {
        // 1.1 * 100 + 0 = 110 and 1.1 * 0 + 110 = 110: half each.
        let even = split(1000, PacketWeight::GUPTA, &[(100, 0), (0, 110)]);
        assert_eq!(even, [500, 500]);
        // 2 * 10 + 30 = 50 of 2 * 15 + 70 = 100; 2 * 5 + 40 = 50.
        assert_eq!(
            split(900, PacketWeight(2000), &[(10, 30), (5, 40)]),
            [450, 450]
        );
        assert_eq!(split(1000, PacketWeight(0), &[(7, 0), (0, 1)]), [0, 1000]);
    }

    #[test]
    fn without_packets_nobody_is_charged() {
        assert_eq!(split(1000, PacketWeight::GUPTA, &[(0, 0), (0, 0)]), [0, 0]);
        assert_eq!(split(1000, PacketWeight::GUPTA, &[]), [0; 0]);
    }

    #[test]
    fn no_count_is_too_large() {
        let parts = split(
            u64::MAX,
            PacketWeight(u32::MAX),
            &[(u64::MAX, 0), (u64::MAX, 0)],
        );
        let half = u64::MAX / 2;
        assert!(
            parts.iter().all(|p| p.abs_diff(half) < 1 << 34),
            "{parts:?}"
        );
    }

    #[test]
    fn the_error_is_in_points_of_the_use() {
        let driver = DomainId(0);
        let traffic = |guest, sent, received, work| GuestTraffic {
            driver,
            guest: DomainId(guest),
            sent,
            received,
            work,
        };
        let sample = IntervalSample {
            domains: vec![DomainSample {
                id: driver,
                figures: Figures {
                    gotten: 1000,
                    ..Figures::default()
                },
            }],
            traffic: vec![traffic(1, 100, 0, 450), traffic(2, 0, 110, 520)],
            tells: Tells {
                packets: true,
                work: true,
                grants: false,
            },
            ..IntervalSample::default()
        };
        let uses = charges(&sample, PacketWeight::GUPTA);
        assert_eq!((uses.len(), uses[0].used), (1, 1000));
        let errors = uses[0].charges.iter().map(|c| c.error_points(1000));
        assert_eq!(errors.collect::<Vec<_>>(), [Some(5.0), Some(-2.0)]);
        let untold = IntervalSample {
            tells: Tells::default(),
            ..sample
        };
        let charge = charges(&untold, PacketWeight::GUPTA)[0].charges[0];
        assert_eq!((charge.estimate, charge.exact), (None, None));
        assert_eq!(charge.error_points(1000), None);
    }
}
