//! Counters of driver domains' work: one for each domain that they work for.

use std::io::Write;

use domio_core::{DomainId, Instant};

use super::proto::{CounterDescriptor, TracePacket, TrackDescriptor, TrackEvent};
use super::{COUNTER, PerfettoWriter, domain_track};
use crate::VCPUS_MAX;

/// `CounterDescriptor.Unit`: nanoseconds.
const UNIT_TIME_NS: i32 = 1;

impl<W: Write> PerfettoWriter<W> {
    /// `driver` has worked for `ns` more on behalf of `owner`. The counter holds the sum so far,
    /// whose slope is the share of a pcpu.
    pub(super) fn work(&mut self, at: Instant, driver: DomainId, owner: DomainId, ns: u64) {
        let track = work_track(driver, owner);
        let sum = match self.work.get(&track) {
            Some(sum) => sum.saturating_add(ns),
            None if self.work.len() >= VCPUS_MAX => return,
            None => {
                self.describe_work(driver, owner);
                ns
            }
        };
        self.work.insert(track, sum);
        self.event(
            at,
            TrackEvent {
                r#type: COUNTER,
                track,
                counter_value: Some(i64::try_from(sum).unwrap_or(i64::MAX)),
                ..TrackEvent::default()
            },
        );
    }

    fn describe_work(&mut self, driver: DomainId, owner: DomainId) {
        let owner_name = self.domain_name(owner);
        self.put(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: work_track(driver, owner),
                parent_uuid: Some(domain_track(driver)),
                name: Some(format!("work for {owner_name}")),
                counter: Some(CounterDescriptor { unit: UNIT_TIME_NS }),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        });
    }
}

const fn work_track(driver: DomainId, owner: DomainId) -> u64 {
    4 << 32 | (driver.0 as u64) << 16 | owner.0 as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DomainInfo, TraceHeader};
    use domio_core::{Names, PcpuId, Record, Runstate, Sink, VcpuName};
    use prost::Message;

    #[test]
    fn work_is_a_counter_below_the_driver_domain() {
        let header = TraceHeader {
            domains: vec![DomainInfo {
                id: 3,
                name: "web".to_owned(),
                ..DomainInfo::default()
            }],
            ..TraceHeader::default()
        };
        let mut names = Names::new();
        let driver = names.add_actor(VcpuName::new(DomainId(0), 0));
        let pcpu = PcpuId(0);
        let at = Instant::from_nanos;
        let work =
            |ns, owner, took| Record::driver_work(at(ns), pcpu, driver, DomainId(owner), took);
        let mut writer = PerfettoWriter::new(Vec::new(), Some(&header));
        for record in [
            // Done before the trace began.
            work(5, 3, 1_000),
            Record::runstate(at(5), pcpu, driver, Runstate::Running, Runstate::Running),
            work(100, 3, 40),
            work(100, 4, 50),
            work(300, 3, 2),
        ] {
            writer.record(&names, &record);
        }
        let bytes = writer.finish().unwrap();
        let trace = super::super::Trace::decode(&bytes[..]).unwrap();
        let mut counters = Vec::new();
        let mut values = Vec::new();
        for packet in &trace.packets {
            let track = packet.track_descriptor.as_ref();
            if let Some(track) = track.filter(|t| t.counter.is_some()) {
                assert_eq!(track.parent_uuid, Some(domain_track(DomainId(0))));
                assert_eq!(track.counter, Some(CounterDescriptor { unit: 1 }));
                counters.push((track.uuid, track.name.as_deref().unwrap()));
            }
            let event = packet.track_event.as_ref();
            if let Some(event) = event.filter(|e| e.r#type == COUNTER) {
                values.push((packet.timestamp, event.track, event.counter_value));
            }
        }
        let (web, other) = (counters[0].0, counters[1].0);
        assert_eq!(
            counters,
            [(web, "work for web (d3)"), (other, "work for d4")]
        );
        assert_eq!(
            values,
            [
                (Some(100), web, Some(40)),
                (Some(100), other, Some(50)),
                (Some(300), web, Some(42)),
            ]
        );
    }
}
