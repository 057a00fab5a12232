//! For whom driver domains work, as a monitor estimates it that counts packets at netback.

use super::domain::Domain;
use crate::bus::device::Device;
use crate::bus::models::Bus;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use domio_contract::control::DomainSeen;
use domio_contract::control::accounting::{Counted, SendWeight, divide};
use domio_core::{DomainId, Duration};

/// Packets of guests at the last observation, by driver domain and guest.
#[derive(Default)]
pub(crate) struct Packets(BTreeMap<(DomainId, DomainId), Counted>);

impl Packets {
    /// Puts the estimate in place of what `seen` says was worked for each domain in the interval:
    /// the time of each driver domain, divided by the packets since the last observation.
    ///
    /// Guests that have left in the interval have their part, which nobody is shown.
    pub fn charge<D: Device>(
        &mut self,
        seen: &mut [DomainSeen],
        bus: &Bus<D>,
        domains: &[Domain],
        weight: SendWeight,
    ) {
        seen.iter_mut().for_each(|d| d.served = Duration::ZERO);
        let drivers = seen.iter().filter(|d| d.is_driver);
        let drivers: Vec<(DomainId, Duration)> = drivers.map(|d| (d.id, d.gotten)).collect();
        for (driver, busy) in drivers {
            let guests = domains.iter().map(|d| d.config.id);
            let guests: Vec<DomainId> = guests.filter(|id| *id != driver).collect();
            let since = |guest: &DomainId| {
                let now = bus.counted(driver, *guest);
                let before = self.0.insert((driver, *guest), now);
                now.since(before.unwrap_or_default())
            };
            let counts: Vec<Counted> = guests.iter().map(since).collect();
            for (guest, part) in guests.iter().zip(divide(busy, weight, &counts)) {
                if let Ok(i) = seen.binary_search_by_key(guest, |d| d.id) {
                    seen[i].served += part;
                }
            }
        }
    }
}
