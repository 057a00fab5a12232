//! Arrows: from a wake-up to the run that it leads to, and along the way of each item that moves
//! between a guest and the world outside.
//!
//! Records of items have no number of the item. Items of one flow (fields that the declaration has
//! in addition to places, driver and time) leave a place in the order in which they came, so that a
//! queue of numbers for each flow and place follows them.

use std::collections::{BTreeMap, VecDeque};

use domio_core::{ActorId, Acts, Declared, Hold, Names, Place, Record, Says, VcpuName};

use super::proto::TrackEvent;

/// Items of which a place is known. A damaged trace has items that never leave: those are no longer
/// followed.
const ITEMS_MAX: usize = 1 << 20;

/// Numbers of the arrows that pass through an event.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Arrows {
    /// One that continues after the event.
    pub(super) passes: Option<u64>,
    /// One that ends there.
    pub(super) ends: Option<u64>,
}

impl Arrows {
    /// `event` with these arrows.
    pub(super) fn on(self, event: TrackEvent) -> TrackEvent {
        TrackEvent {
            flow_ids: self.passes.into_iter().collect(),
            terminating_flow_ids: self.ends.into_iter().collect(),
            ..event
        }
    }
}

/// What tells the items of one flow at one place: class, actor, flow, place.
type Spot = (u8, u32, u128, u64);

/// Where items are.
#[derive(Clone, Default, Debug)]
pub(super) struct Items {
    places: BTreeMap<Spot, VecDeque<u64>>,
    count: usize,
}

impl Items {
    /// Forgets all items: after lost records nobody knows where they are.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.count = 0;
    }

    /// The item that left `spot`, if any is known there.
    pub(super) fn take(&mut self, spot: &Spot) -> Option<u64> {
        let queue = self.places.get_mut(spot)?;
        let number = queue.pop_front()?;
        self.count -= 1;
        // Flows come and go: what is empty does not stay.
        if queue.is_empty() {
            self.places.remove(spot);
        }
        Some(number)
    }

    /// An item came to `spot`.
    pub(super) fn bring(&mut self, spot: Spot, number: u64) {
        if self.count < ITEMS_MAX {
            self.places.entry(spot).or_default().push_back(number);
            self.count += 1;
        }
    }
}

/// A step of an item, as its record says.
pub(super) struct Step {
    /// Numbers of the places that the item leaves and enters.
    pub(super) places: [u64; 2],
    /// What these places are.
    pub(super) declared: [&'static Place; 2],
    /// The vcpu of the driver domain.
    driver: ActorId,
    /// The fields that tell one flow from another, as bits of the words.
    pub(super) flow: u128,
}

impl Step {
    /// What `record` says, if it says that an item moved, between places that exist.
    pub(super) fn of(names: &Names, record: &Record, declared: &Declared) -> Option<Self> {
        let Says::Moved {
            from,
            to,
            driver,
            ago,
        } = declared.says
        else {
            return None;
        };
        let class = names.class(record.class)?;
        let places = [from, to].map(|field| declared.value(record, field));
        let place = |place: u64| class.places.get(usize::try_from(place).ok()?);
        let told = [from, to, driver, ago];
        let others = declared.fields.iter().zip(0_u8..);
        let others = others.filter(|(_, i)| !told.contains(i));
        let flow = others.fold(0, |all, (field, _)| {
            all | u128::from(field.value(record)) << field.bit
        });
        Some(Step {
            places,
            declared: [place(places[0])?, place(places[1])?],
            driver: ActorId(declared.value(record, driver) as u32),
            flow,
        })
    }

    /// The vcpu that does the step: the driver domain's, where one of the places is in the driver
    /// domain or its device.
    pub(super) fn vcpu(&self, names: &Names, record: &Record) -> Option<VcpuName> {
        let in_driver = |place: &Place| {
            matches!(place.acts, Acts::Driver | Acts::Device) && place.holds != Hold::Ring
        };
        match self.declared.into_iter().any(in_driver) {
            true => names.vcpu(self.driver),
            false => names.vcpu(record.actor),
        }
    }
}
