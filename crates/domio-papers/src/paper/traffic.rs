//! What driver domains do for a domain: in truth, and as packets are counted.
//!
//! | measure | of a domain |
//! |---|---|
//! | `served_pct` | time that driver domains worked for it, in truth, of one pcpu |
//! | `charged_pct` | the same as an observer charges it by weighted packets, of one pcpu |
//! | `combined_pct` | its own time and what it is charged for, of one pcpu |
//! | `charge_error_pt` | its part of the packets less its part of all work for guests, in points |
//! | `packets_out_per_s` | packets that netback took from it |
//! | `packets_in_per_s` | packets that netback handed to it |
//! | `packets_per_s` | both, and those that it moved for others: what XenMon counts as I/O |
//!
//! A driver domain is charged to its guests as Gupta et al. 2006, section 3, do: in proportion to
//! `weight * sent + received`, all of its time, whatever the time was for.

use domio_core::{DomainId, Names, Record};
use domio_meter::{PacketWeight, Summary, at_backend, split};
use std::collections::BTreeMap;

/// The measures.
pub(super) const MEASURES: [&str; 7] = [
    "served_pct",
    "charged_pct",
    "combined_pct",
    "charge_error_pt",
    "packets_out_per_s",
    "packets_in_per_s",
    "packets_per_s",
];

/// Guests with the packets that they sent and received.
type GuestPackets = Vec<(DomainId, (u64, u64))>;

/// Packets at netback: sent and received, by driver domain and guest.
#[derive(Debug, Default)]
pub(super) struct Packets(BTreeMap<(DomainId, DomainId), (u64, u64)>);

impl Packets {
    /// Takes a record of a packet that moved.
    pub fn moved(&mut self, names: &Names, record: &Record) {
        let guest = names.vcpu(record.actor).map(|vcpu| vcpu.domain);
        let Some(((driver, sent), guest)) = at_backend(names, record).zip(guest) else {
            return;
        };
        let counts = self.0.entry((driver, guest)).or_default();
        match sent {
            true => counts.0 += 1,
            false => counts.1 += 1,
        }
    }

    /// Packets of `guest` at all driver domains.
    fn of(&self, guest: DomainId) -> (u64, u64) {
        let own = self.0.iter().filter(|((_, g), _)| *g == guest);
        own.fold((0, 0), |(out, into), (_, n)| (out + n.0, into + n.1))
    }

    /// Packets that `domain` sent or received, or moved for others.
    fn seen_by(&self, domain: DomainId) -> u64 {
        let seen = self
            .0
            .iter()
            .filter(|((d, g), _)| [*d, *g].contains(&domain));
        seen.map(|(_, (out, into))| out + into).sum()
    }

    /// Driver domains with their guests and packets.
    fn by_driver(&self) -> BTreeMap<DomainId, GuestPackets> {
        let mut all: BTreeMap<DomainId, GuestPackets> = BTreeMap::new();
        for ((driver, guest), packets) in &self.0 {
            all.entry(*driver).or_default().push((*guest, *packets));
        }
        all
    }
}

/// The value of `measure` of the domain `id`.
pub(super) fn value(
    measure: &str,
    id: DomainId,
    weight: PacketWeight,
    summary: &Summary,
    packets: &Packets,
) -> Option<f64> {
    let running = |id| summary.domain(id).map_or(0, |d| d.total.running);
    let value = match measure {
        "served_pct" => {
            let of_driver = summary.driver_work.iter();
            let served: u64 = of_driver.filter_map(|w| w.done_for.get(&id)).sum();
            summary.percent(served)
        }
        "charged_pct" => summary.percent(charged(id, weight, packets, running)),
        "combined_pct" => summary.percent(running(id) + charged(id, weight, packets, running)),
        "charge_error_pt" => return error_points(id, weight, summary, packets),
        "packets_out_per_s" => summary.per_second(packets.of(id).0),
        "packets_in_per_s" => summary.per_second(packets.of(id).1),
        "packets_per_s" => summary.per_second(packets.seen_by(id)),
        _ => return None,
    };
    Some(value)
}

/// Time of all driver domains that `guest` is charged for, when `used` gives the time of each.
fn charged(
    guest: DomainId,
    weight: PacketWeight,
    packets: &Packets,
    used: impl Fn(DomainId) -> u64,
) -> u64 {
    let part = |(driver, guests): (&DomainId, &GuestPackets)| {
        part_of(guest, weight, guests, used(*driver))
    };
    packets.by_driver().iter().map(part).sum()
}

/// What `guest` is charged of `used`.
fn part_of(
    guest: DomainId,
    weight: PacketWeight,
    guests: &[(DomainId, (u64, u64))],
    used: u64,
) -> u64 {
    let counts: Vec<(u64, u64)> = guests.iter().map(|(_, n)| *n).collect();
    let parts = split(used, weight, &counts);
    let at = guests.iter().position(|(id, _)| *id == guest);
    at.map_or(0, |i| parts[i])
}

/// How far the part of the packets is from the part of the work, where one driver domain works for
/// the guest, and has worked for anybody.
fn error_points(
    guest: DomainId,
    weight: PacketWeight,
    summary: &Summary,
    packets: &Packets,
) -> Option<f64> {
    /// Parts are found in billionths.
    const WHOLE: u64 = 1_000_000_000;
    let by_driver = packets.by_driver();
    let mut serve = by_driver
        .iter()
        .filter(|(_, guests)| guests.iter().any(|(id, _)| *id == guest));
    let (Some((driver, guests)), None) = (serve.next(), serve.next()) else {
        return None;
    };
    let work = summary.driver_work.iter().find(|w| w.driver == *driver)?;
    let all: u64 = work.done_for.values().sum();
    if all == 0 {
        return None;
    }
    let estimate = part_of(guest, weight, guests, WHOLE) as f64 / WHOLE as f64;
    let own = work.done_for.get(&guest).copied().unwrap_or(0);
    Some((estimate - own as f64 / all as f64) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Instant, PcpuId, Runstate, Sink, VcpuName};
    use domio_meter::Meter;

    const DRIVER: DomainId = DomainId(0);
    const ONE: DomainId = DomainId(1);
    const TWO: DomainId = DomainId(2);

    fn packets() -> Packets {
        // 1.1 * 100 + 90 = 200, and 1.1 * 0 + 600 = 600.
        let counts = [((DRIVER, ONE), (100, 90)), ((DRIVER, TWO), (0, 600))];
        Packets(counts.into_iter().collect())
    }

    /// A second in which the driver domain ran for 400 ms, 60 and 140 of them for its guests, and
    /// the first guest for 300.
    fn summary() -> Summary {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut names = Names::new();
        let mut meter = Meter::new();
        let (running, blocked) = (Runstate::Running, Runstate::Blocked);
        for (pcpu, id, ms) in [(0, DRIVER, 400), (1, ONE, 300)] {
            let (pcpu, vcpu) = (PcpuId(pcpu), names.add_actor(VcpuName::new(id, 0)));
            let mut record = |record| meter.record(&names, &record);
            record(Record::runstate(at(0), pcpu, vcpu, running, running));
            for (owner, ns) in [(ONE, 60_000_000), (TWO, 140_000_000)] {
                if id == DRIVER {
                    record(Record::driver_work(at(ms), pcpu, vcpu, owner, ns));
                }
            }
            record(Record::runstate(at(ms), pcpu, vcpu, running, blocked));
        }
        meter.finish_at(at(1000))
    }

    #[test]
    fn a_guest_is_charged_for_its_part_of_the_packets() {
        let (summary, packets) = (summary(), packets());
        let of = |measure, id| value(measure, id, PacketWeight::GUPTA, &summary, &packets).unwrap();
        assert!((of("charged_pct", ONE) - 10.0).abs() < 1e-6);
        assert!((of("charged_pct", TWO) - 30.0).abs() < 1e-6);
        assert!((of("combined_pct", ONE) - 40.0).abs() < 1e-6);
        assert!((of("served_pct", ONE) - 6.0).abs() < 1e-6);
        // A quarter of the packets, and 60 of 200 ms.
        assert!((of("charge_error_pt", ONE) + 5.0).abs() < 1e-6);
        assert!((of("packets_in_per_s", TWO) - 600.0).abs() < 1e-6);
        assert!((of("packets_out_per_s", ONE) - 100.0).abs() < 1e-6);
        assert_eq!(of("charged_pct", DRIVER), 0.0);
        assert!((of("packets_per_s", ONE) - 190.0).abs() < 1e-6);
        assert!((of("packets_per_s", DRIVER) - 790.0).abs() < 1e-6);
    }

    #[test]
    fn nothing_is_known_of_a_guest_without_packets() {
        let summary = summary();
        let none = Packets::default();
        let of = |measure| value(measure, ONE, PacketWeight::GUPTA, &summary, &none);
        assert_eq!(of("charge_error_pt"), None);
        assert_eq!(of("charged_pct"), Some(0.0));
        assert_eq!(of("share_pct"), None);
    }
}
