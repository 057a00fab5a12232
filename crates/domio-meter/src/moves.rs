//! What records say of items on their way between guests and the world outside.

use domio_core::{ActorId, Class, Names, Place, Record, Says, Stage};

/// An item goes from one place to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    /// The class of the record.
    pub class: &'static Class,
    /// Numbers of the places in the class, which exist.
    pub places: [usize; 2],
    /// The stage that it leaves.
    pub from: Stage,
    /// The stage where it is.
    pub to: Stage,
    /// The driver domain's vcpu.
    pub driver: ActorId,
    /// For how long it has been there already, in nanoseconds.
    pub ago: u64,
}

impl Move {
    /// What `record` says, if it says that something moved, between places that exist.
    #[inline]
    pub fn of(names: &Names, record: &Record) -> Option<Self> {
        let declared = names.declared(record)?;
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
        let value = |field| declared.value(record, field);
        let (from, old) = place(class, value(from))?;
        let (to, new) = place(class, value(to))?;
        Some(Move {
            class,
            places: [from, to],
            from: old.stage,
            to: new.stage,
            driver: ActorId(value(driver) as u32),
            ago: value(ago),
        })
    }
}

/// The place of `class` with this number, as traces hold it.
pub(crate) fn place(class: &'static Class, number: u64) -> Option<(usize, &'static Place)> {
    let number = usize::try_from(number).ok()?;
    Some((number, class.places.get(number)?))
}
