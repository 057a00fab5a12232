//! Several devices behind one driver domain.

use super::*;
use domio_core::{Acts, Class, Declared, Field, Hold, Place, Says, Unit};

/// A request goes from place to place; the record tells the disk.
pub(super) const MOVED: Declared = Declared::new(
    0,
    "moved",
    &[
        Field::bits("from", 0, 8, Unit::Place),
        Field::bits("to", 8, 8, Unit::Place),
        Field::bits("driver", 32, 24, Unit::Actor),
        Field::bits(Field::DEVICE, 56, 8, Unit::Number),
        Field::long("ago", 2, Unit::Nanoseconds),
    ],
)
.says(Says::Moved {
    from: 0,
    to: 1,
    driver: 2,
    ago: 4,
});

/// Requests of several disks behind one driver domain, which the record tells apart.
static DISKS: Class = Class::new("disks", &[MOVED]).with_places(
    "requests",
    &[
        Place::new("outside", Acts::Nobody, Hold::Nothing),
        Place::new("queue", Acts::Driver, Hold::Order),
        Place::new("drive", Acts::Device, Hold::Nothing),
    ],
);

#[test]
fn disks_of_one_driver_domain_are_told_apart() {
    let mut trace = Trace::new(whole(), 3);
    let class = trace.names.add_class(&DISKS);
    let moves = |trace: &mut Trace, guest: u16, disk: u32, from: u32, to: u32| {
        let words = [from | to << 8, first(0).0 | disk << 24, 0, 0];
        let at = trace.instant();
        trace.put(Record::of(at, PcpuId(0), (class, 0), first(guest), words));
    };
    // Guest 1 has a request in the drive of disk 0 from 100 to 400, and waits for disk 1 from 200
    // to 300, where guest 2's request is in the drive.
    moves(trace.at(100), 1, 0, 0, 2);
    moves(trace.at(100), 2, 1, 0, 2);
    moves(trace.at(200), 1, 1, 0, 1);
    moves(trace.at(300), 2, 1, 2, 0);
    moves(trace.at(300), 1, 1, 1, 2);
    moves(trace.at(350), 1, 1, 2, 0);
    moves(trace.at(400), 1, 0, 2, 0);
    let explanation = trace.finish();
    let told = explanation.items(DomainId(1)).map(|items| {
        let beside = |whom: u16| {
            let whom = Cause::Beside(Some(DomainId(whom)));
            let times = items.times.iter().filter(|((_, cause), _)| *cause == whom);
            times.map(|(_, time)| time).sum::<u64>()
        };
        (items.device, beside(1), beside(2))
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [(Some(0), 300, 0), (Some(1), 50, 100)]
    );
}
