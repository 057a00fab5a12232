//! Disks that are files of the driver domain: what waits behind a loop thread, and behind whom.

use super::{explain, kept, of_kept};
use crate::simulate::tests::built;
use domio_core::{Acts, DomainId, Hold};
use domio_meter::{Cause, Explanation, ItemQueue, ItemWaits};

/// A host whose guests' disks are served by `path`, with these guests.
fn explained(path: &str, guests: &[(&str, &str)]) -> Explanation {
    let mut text = r#"
        run.warmup_s = 2
        run.duration_s = 6
        host.profile = "opteron-242"
        scheduler.policy = "credit"
        [[disk]]
        name = "sda"
        profile = "sata-2008"
        elevator = "cfq"
        file_system = { memory = "128M" }
        [[domain]]
        name = "Domain-0"
    "#
    .to_owned();
    for (name, job) in guests {
        text += &format!(
            "\n[[domain]]\nname = \"{name}\"\nworkload = \"fio\"\n\
             disk = {{ kind = \"vbd\", size = \"4G\", path = \"{path}\" }}\n\
             job = \"\"\"\n[job]\ndirect=1\n{job}\n\"\"\"\n"
        );
    }
    let (scenario, built) = built(&text);
    let explanation = explain(&built, 0).unwrap();
    let again = of_kept(&kept(&explanation), scenario.parts());
    let items = again.expect("it was kept").items;
    assert_eq!(items, explanation.items, "causes are kept");
    explanation
}

fn pieces(explanation: &Explanation, guest: u16) -> &ItemWaits {
    let mut items = explanation.items(DomainId(guest));
    items.next().expect("it has pieces of I/O")
}

/// The part of the time of a guest's pieces that was behind the loop thread, or in the page cache
/// with it, while those of `whom` were ahead.
fn ahead(items: &ItemWaits, whom: Option<u16>) -> f64 {
    let time = items.ahead().get(&whom.map(DomainId)).copied();
    time.unwrap_or(0) as f64 / items.total() as f64
}

const WRITES: &str = "rw=randwrite\nbs=16k\nsize=2g";
const FEW_WRITES: &str = "rw=randwrite\nbs=4k\nsize=64m\nrate_iops=20";
const READS: &str = "ioengine=libaio\nrw=randread\nbs=4k\niodepth=8\nsize=2g";

#[test]
fn who_writes_little_waits_for_the_data_of_who_writes_much() {
    let explanation = explained("file", &[("log", WRITES), ("db", FEW_WRITES)]);
    let (log, db) = (pieces(&explanation, 1), pieces(&explanation, 2));
    // Memory is full of what the first guest has written.
    assert!(ahead(db, Some(1)) > 0.6, "{:?}", db.ahead());
    assert!(ahead(db, Some(2)) < 0.2, "{:?}", db.ahead());
    assert_eq!(
        db.largest_wait().unwrap().0,
        ItemQueue::Place(Acts::Driver, Hold::Memory)
    );
    assert!(ahead(log, Some(1)) > 0.8, "{:?}", log.ahead());
}

#[test]
fn reads_of_one_guest_wait_behind_each_other() {
    let explanation = explained("file", &[("reads", READS), ("rests", FEW_WRITES)]);
    let reads = pieces(&explanation, 1);
    // One of eight is read, one lies in the ring until the next response, and six wait for their
    // turn.
    let own = ahead(reads, Some(1));
    let queues = reads.queues();
    assert!((0.72..0.78).contains(&own), "{own}: {queues:?}");
    assert_eq!(
        reads.largest_wait().unwrap().0,
        ItemQueue::Place(Acts::Driver, Hold::Thread)
    );
    assert_eq!(
        queues.get(&ItemQueue::Place(Acts::Driver, Hold::Memory)),
        None,
        "{queues:?}"
    );
    let at = |queue| *queues.get(&queue).unwrap_or(&0) as f64 / reads.total() as f64;
    let read = at(ItemQueue::DEVICE) + at(ItemQueue::Place(Acts::Driver, Hold::Order));
    assert!((0.11..0.13).contains(&read), "{queues:?}");
    assert!((0.11..0.13).contains(&at(ItemQueue::Rings)), "{queues:?}");
    assert!(ahead(reads, Some(2)) == 0.0 && ahead(reads, None) == 0.0);
}

#[test]
fn nothing_waits_for_a_loop_thread_where_there_is_none() {
    for path in ["phy", "tap:aio", "hosted"] {
        for second in [FEW_WRITES, READS] {
            let explanation = explained(path, &[("log", WRITES), ("other", second)]);
            for guest in [1, 2] {
                let items = pieces(&explanation, guest);
                // Under cfq, plain writes starve beside so many reads: none has begun since.
                assert!(items.total() > 0, "{path}");
                assert!(items.ahead().is_empty(), "{path}: {:?}", items.ahead());
                let of_files = ["loop thread", "page cache", "driver, loop"];
                for (place, cause) in items.times.keys() {
                    let name = items.class.places[*place].name;
                    assert!(!of_files.contains(&name), "{path}: {name} {cause:?}");
                    assert!(!matches!(cause, Cause::Thread(_)), "{path}");
                }
            }
        }
    }
}
