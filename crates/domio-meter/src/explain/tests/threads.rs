//! A thread of the driver domain that takes one item after the other.

use super::disks::MOVED;
use super::*;
use domio_core::{Acts, Class, Declared, Field, Hold, Place, Says, Unit};

/// Requests that a thread takes one by one, reads from a drive, or writes to memory.
static FILES: Class = Class::new(
    "files",
    &[
        MOVED,
        Declared::new(
            1,
            "fills",
            &[
                Field::word("pages", 0, Unit::Number),
                Field::bits("driver", 32, 24, Unit::Actor),
                Field::bits(Field::DEVICE, 56, 8, Unit::Number),
            ],
        )
        .says(Says::Fills {
            amount: 0,
            driver: 1,
        }),
    ],
)
.with_places(
    "requests",
    &[
        Place::new("outside", Acts::Nobody, Hold::Nothing),
        Place::new("loop thread", Acts::Driver, Hold::Thread),
        Place::new("loop", Acts::Driver, Hold::Nothing),
        Place::new("memory", Acts::Driver, Hold::Memory),
        Place::new("queue", Acts::Driver, Hold::Order),
        Place::new("drive", Acts::Device, Hold::Nothing),
    ],
);

const NOWHERE: u32 = 0;
const WAITS: u32 = 1;
const LOOP: u32 = 2;
const MEMORY: u32 = 3;
const DRIVE: u32 = 5;

/// A trace with such requests of disk 0.
struct Files(Trace, ClassId);

impl Files {
    fn new() -> Self {
        let mut trace = Trace::new(whole(), 4);
        let class = trace.names.add_class(&FILES);
        Files(trace, class)
    }

    fn put(&mut self, at: u64, guest: u16, (number, word): (u8, u32), disk: u32) {
        let words = [word, first(0).0 | disk << 24, 0, 0];
        let at = self.0.at(at).instant();
        let class = (self.1, number);
        let record = Record::of(at, PcpuId(0), class, first(guest), words);
        self.0.put(record);
    }

    fn moves(&mut self, at: u64, guest: u16, from: u32, to: u32) {
        self.put(at, guest, (0, from | to << 8), 0);
    }

    fn fills(&mut self, at: u64, guest: u16, pages: u32) {
        self.put(at, guest, (1, pages), 0);
    }

    /// Time of a guest's requests by name of the place, and cause.
    fn times(self, guest: u16) -> Vec<(&'static str, Cause, u64)> {
        let explanation = self.0.finish();
        let items = packets(&explanation, guest).clone();
        let times = items.times.into_iter();
        times
            .map(|((place, cause), time)| (FILES.places[place].name, cause, time))
            .collect()
    }
}

fn thread(domain: u16) -> Cause {
    Cause::Thread(Some(DomainId(domain)))
}

/// Whoever waits behind an item that is read waits for the thread's own guest, and whoever is read
/// for the drive.
#[test]
fn behind_a_read_items_wait_for_their_own_guest() {
    let mut files = Files::new();
    files.moves(100, 1, NOWHERE, DRIVE);
    files.moves(100, 1, NOWHERE, WAITS);
    files.moves(100, 1, NOWHERE, WAITS);
    files.moves(400, 1, DRIVE, NOWHERE);
    let times = files.times(1);
    let beside = Cause::Beside(Some(DomainId(1)));
    let expected = [("loop thread", thread(1), 600), ("drive", beside, 300)];
    assert_eq!(times, expected);
}

/// The thread works on the first item while the driver domain runs, and both wait in its run queue.
#[test]
fn behind_a_thread_that_works_items_wait_for_it_or_with_it() {
    let mut files = Files::new();
    files.0.wakes(0);
    files.0.runs(0, Runstate::Runnable);
    files.moves(100, 1, NOWHERE, LOOP);
    files.moves(100, 1, NOWHERE, WAITS);
    files.0.at(150).wakes(2);
    files.0.at(150).runs(2, Runstate::Runnable);
    files.moves(400, 1, LOOP, NOWHERE);
    let behind = Cause::RunQueue(Side::Driver, Some(DomainId(2)));
    let expected = [
        ("loop thread", behind, 250),
        ("loop thread", thread(1), 50),
        ("loop", behind, 250),
        ("loop", Cause::Work(Side::Driver), 50),
    ];
    assert_eq!(files.times(1), expected);
}

/// The time of a thread that stands still is divided by who fills the memory, for the item with
/// which it does and for those behind, whatever the driver domain does.
#[test]
fn who_fills_the_memory_is_ahead_of_all() {
    let mut files = Files::new();
    files.fills(50, 2, 300);
    files.fills(50, 3, 100);
    // Of another disk.
    files.put(50, 3, (1, 10_000), 1);
    files.moves(100, 1, NOWHERE, MEMORY);
    files.moves(100, 1, NOWHERE, WAITS);
    files.0.at(200).wakes(0);
    files.0.at(200).runs(0, Runstate::Runnable);
    files.fills(300, 2, 0);
    files.fills(300, 1, 100);
    files.moves(400, 1, MEMORY, NOWHERE);
    files.moves(400, 1, WAITS, NOWHERE);
    let times = files.times(1);
    let expected = [
        ("loop thread", thread(1), 50),
        ("loop thread", thread(2), 150),
        ("loop thread", thread(3), 100),
        ("memory", thread(1), 50),
        ("memory", thread(2), 150),
        ("memory", thread(3), 100),
    ];
    assert_eq!(times, expected);
}

/// A thread that waits for the log while nobody has written anything is behind nobody.
#[test]
fn an_empty_memory_is_nobodys() {
    let mut files = Files::new();
    files.moves(100, 1, NOWHERE, MEMORY);
    files.fills(100, 2, 0);
    files.moves(130, 1, MEMORY, NOWHERE);
    assert_eq!(files.times(1), [("memory", Cause::Thread(None), 30)]);
}
