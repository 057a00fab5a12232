//! Which arrows pass through an event, and the wake-ups that arrows begin at.

use domio_core::{Acts, PcpuId, Record, Runstate, VcpuName};

use super::flow::{Arrows, Step};
use super::intern::NameOf;
use super::proto::TrackEvent;
use super::{INSTANT, Packets, vcpu_track};

impl Packets {
    fn new_flow(&mut self) -> u64 {
        self.flows += 1;
        self.flows
    }

    /// Lets the item of `step` continue, and says which arrow passes through the event.
    pub(super) fn follow(&mut self, record: &Record, step: &Step) -> Arrows {
        let spot = |place| (record.class.0, record.actor.0, step.flow, place);
        let [from, to] = step.places.map(spot);
        let [leaves, enters] = step.declared.map(|place| place.acts == Acts::Nobody);
        let known = match leaves {
            true => None,
            false => self.items.take(&from),
        };
        if enters {
            // An item that was never seen before has no way that could be shown.
            return Arrows {
                passes: None,
                ends: known,
            };
        }
        let number = known.unwrap_or_else(|| self.new_flow());
        self.items.bring(to, number);
        Arrows {
            passes: Some(number),
            ends: None,
        }
    }

    /// The vcpu is woken by what runs on `pcpu`. A wake-up of one that does not sleep changes
    /// nothing and is not shown.
    pub(super) fn wake(&mut self, record: &Record, vcpu: VcpuName) {
        let Some(thread) = self.thread(vcpu) else {
            return;
        };
        if !thread.sleeps() {
            return;
        }
        let name = format!("wake {}", thread.name);
        let number = self.new_flow();
        if let Some(thread) = self.thread(vcpu) {
            thread.wake = Some(number);
        }
        let track = self.pcpu(record.pcpu);
        let arrow = Arrows {
            passes: Some(number),
            ends: None,
        };
        let event = TrackEvent {
            r#type: INSTANT,
            track,
            name: Some(self.number(NameOf::Event, &name)),
            categories: vec![self.number(NameOf::Category, "wake")],
            ..TrackEvent::default()
        };
        self.event(record.at, arrow.on(event));
    }

    /// The arrow of the wake-up that ends when the vcpu goes to `new`.
    pub(super) fn woken(&mut self, vcpu: VcpuName, old: Runstate, new: Runstate) -> Arrows {
        let Some(thread) = self.vcpus.get_mut(&vcpu.word()) else {
            return Arrows::default();
        };
        thread.preempted = new == Runstate::Runnable && old == Runstate::Running;
        let ends = match new {
            Runstate::Running => thread.wake.take(),
            // Asleep again without a run.
            Runstate::Blocked | Runstate::Offline => {
                thread.wake = None;
                None
            }
            Runstate::Runnable => None,
        };
        Arrows { passes: None, ends }
    }

    /// The track of the vcpu, or that of the pcpu where there is none.
    pub(super) fn track_of(&mut self, vcpu: Option<VcpuName>, pcpu: PcpuId) -> u64 {
        match vcpu.filter(|vcpu| self.thread(*vcpu).is_some()) {
            Some(vcpu) => vcpu_track(vcpu.word()),
            None => self.pcpu(pcpu),
        }
    }
}
