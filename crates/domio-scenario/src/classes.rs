//! Declarations of all records that a host of a scenario may write.

use crate::devices::RECORDS;
use domio_contract::Policy;
use domio_core::Class;

/// The classes of each of `policies` and of every device that scenarios can ask for. Readers of
/// traces tell private records of real and simulated hosts by them. Policies of one kind share a
/// class, which is there for each.
pub fn classes(policies: &[Policy]) -> Vec<&'static Class> {
    let policies = policies.iter().filter_map(|p| p.descriptor.class);
    policies.chain(RECORDS.iter().copied().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_sched::policies;

    #[test]
    fn policies_and_devices_have_their_records_there() {
        let names: Vec<&str> = classes(policies()).iter().map(|class| class.name).collect();
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
