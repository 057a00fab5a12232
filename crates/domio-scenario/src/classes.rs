//! Declarations of all records that a host of a scenario may write.

use crate::devices::RECORDS;
use domio_core::Class;
use domio_sched::policies;

/// The class of the policy or device with number `i`, policies first.
const fn class(i: usize) -> Option<&'static Class> {
    let policies = policies();
    match i < policies.len() {
        true => policies[i].descriptor.class,
        false => RECORDS[i - policies.len()],
    }
}

/// Policies and devices, with classes or without.
const ALL: usize = policies().len() + RECORDS.len();

const COUNT: usize = {
    let (mut i, mut count) = (0, 0);
    while i < ALL {
        count += class(i).is_some() as usize;
        i += 1;
    }
    count
};

static CLASSES: [&Class; COUNT] = {
    let mut classes = [&domio_core::COMMON; COUNT];
    let (mut i, mut count) = (0, 0);
    while i < ALL {
        if let Some(class) = class(i) {
            classes[count] = class;
            count += 1;
        }
        i += 1;
    }
    classes
};

/// The classes of every policy and of every device that scenarios can ask for. Readers of traces
/// tell private records of real and simulated hosts by them. Policies of one kind share a class,
/// which is there for each.
pub fn classes() -> &'static [&'static Class] {
    &CLASSES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_and_devices_have_their_records_there() {
        let names: Vec<&str> = classes().iter().map(|class| class.name).collect();
        for name in [
            "credit", "credit2", "sedf", "bvt", "rtds", "null", "network",
        ] {
            assert!(names.contains(&name), "{names:?} without {name}");
        }
        let declared = policies().iter().filter(|p| p.descriptor.class.is_some());
        let devices = RECORDS.iter().flatten().count();
        assert_eq!(names.len(), declared.count() + devices);
        assert!(
            !names.contains(&"sched"),
            "the common class is every stream's"
        );
    }
}
