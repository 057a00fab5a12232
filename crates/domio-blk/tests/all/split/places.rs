//! Where records say that pieces of I/O are: each goes on from where it was, and who waits for a
//! loop thread is told.

use super::site::*;
use crate::site::{KIB, MIB, Told, domain, machine, ms, us};
use domio_blk::split::{BackKind, DiskPlace, DiskRecord, RECORDS};
use domio_core::DomainId;
use domio_vmm::Profile;
use domio_vmm::process::programs::CopyDirection::{Read, Write};
use std::collections::{BTreeMap, BTreeSet};

/// The field of this name of a record of disks.
fn field(told: &Told, name: &str) -> u64 {
    let declared = RECORDS.declared(told.record.number).expect("declared");
    let field = declared.fields.iter().find(|field| field.name == name);
    field.expect("a field of the record").value(&told.record)
}

/// Steps that pieces made, by the numbers of the places; each went on from where it was.
#[track_caller]
fn steps(records: &[Told]) -> BTreeSet<(u64, u64)> {
    let mut places: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    let mut steps = BTreeSet::new();
    let moved =
        |told: &&Told| told.class == RECORDS.name && told.record.number == DiskRecord::Moved as u8;
    let outside = DiskPlace::Outside as u64;
    for told in records.iter().filter(moved) {
        let (from, to) = (field(told, "from"), field(told, "to"));
        let piece = (told.record.actor.0, field(told, "piece"));
        steps.insert((from, to));
        let was = places.insert(piece, to).unwrap_or(outside);
        assert_eq!(was, from, "{piece:?}");
    }
    assert!(
        places.values().all(|place| *place == outside),
        "each arrives"
    );
    steps
}

fn fills(records: &[Told]) -> Vec<(DomainId, u64)> {
    let fills = records
        .iter()
        .filter(|told| told.class == RECORDS.name && told.record.number == DiskRecord::Fills as u8);
    fills
        .map(|told| (told.vcpu.expect("a guest's").domain, field(told, "pages")))
        .collect()
}

#[test]
fn pieces_of_files_go_through_the_loop_thread_and_those_of_other_paths_do_not() {
    use DiskPlace::{Answering, Drive, HostQueue, Loop, Looping, PageCache, Ring};
    for back in [BackKind::Phy, BackKind::TapAio, BackKind::File] {
        // Two who read wait for each other.
        let drive = Fixed {
            depth: 1,
            ..fixed(us(500))
        };
        let guests = [
            runs(domain(1, 1), copy(0, Read, 64 * KIB, 8 * MIB)),
            runs(domain(2, 1), copy(1, Write, 256 * KIB, 32 * MIB)),
            runs(domain(3, 1), copy(2, Read, 64 * KIB, 8 * MIB)),
        ];
        let host = machine(2, Profile::OPTERON_242, domains(guests));
        let disks = match back {
            BackKind::File => super::loops::in_files(&drive, &[1, 2, 3], ["cfq", "cfq"], 32 << 20),
            _ => disks(&drive, &[1, 2, 3], ["cfq", "cfq"], back),
        };
        let mut simulation = simulation(&host, &disks);
        run(&mut simulation, 30_000);
        assert!(model(&simulation).is_idle(), "{back:?}");
        let records = simulation.into_sink();
        let steps = steps(&records);
        let made = |from: DiskPlace, to: DiskPlace| steps.contains(&(from as u64, to as u64));
        let is_file = back == BackKind::File;
        for (from, to) in [
            (Ring, Loop),
            (Loop, Looping),
            (Looping, HostQueue),
            (HostQueue, Drive),
            (Drive, Looping),
            (Looping, PageCache),
            (PageCache, Looping),
            (Looping, Answering),
        ] {
            let expected = is_file || (from, to) == (HostQueue, Drive);
            assert_eq!(made(from, to), expected, "{back:?}: {from:?} to {to:?}");
        }
        assert_eq!(made(Ring, HostQueue), !is_file, "{back:?}");
        let fills = fills(&records);
        assert_eq!(!fills.is_empty(), is_file, "{back:?}");
        assert!(fills.iter().all(|(guest, _)| *guest == DomainId(2)));
    }
}

/// Memory is full of what one guest writes, and the thread of another one stands still.
#[test]
fn a_thread_that_stands_still_tells_whose_pages_fill_the_memory() {
    let drive = fixed(ms(20));
    let guests = [
        runs(domain(1, 1), copy(0, Write, 256 * KIB, 32 * MIB)),
        runs(domain(2, 1), copy(1, Write, 16 * KIB, MIB)),
    ];
    let host = machine(2, Profile::OPTERON_242, domains(guests));
    let disks = super::loops::in_files(&drive, &[1, 2], ["noop", "noop"], 64 << 20);
    let mut simulation = simulation(&host, &disks);
    run(&mut simulation, 20_000);
    let records = simulation.into_sink();
    let fills = fills(&records);
    let most = |guest: u16| {
        let own = fills.iter().filter(|(of, _)| *of == DomainId(guest));
        own.map(|(_, pages)| *pages).max().expect("it is told")
    };
    // A tenth of 56 MiB is 1433 pages, beside the log and 600 pages between two looks.
    assert!((1_200..2_100).contains(&most(1)), "{}", most(1));
    assert!((16..=256).contains(&most(2)), "{}", most(2));
    for guest in [1, 2].map(DomainId) {
        let mut told: Vec<u64> = Vec::new();
        told.extend(
            fills
                .iter()
                .filter(|(of, _)| *of == guest)
                .map(|(_, pages)| pages),
        );
        let changes = told.windows(2).all(|pair| pair[0] != pair[1]);
        assert!(changes, "what has not changed is not told again");
    }
}
