//! The elevator `lease`, under virtual disks that lie far from each other on one drive.

use domio_blk::elevator::{
    Bio, IoPrio, IoWay, Jiffies, QueueAction, RequestId, Submitter, Tuning, elevators,
    find_elevator,
};
use domio_blk::queue::{DiskQueue, QueueLimits};

/// Ticks a second.
const HZ: i64 = 1000;
/// Sectors between the starts of two virtual disks.
const REGION: u64 = 1 << 24;
/// Ticks of a command, and of one that goes to another virtual disk.
const NEAR: Jiffies = 4;
const FAR: Jiffies = 12;

/// What a drive did with requests of several virtual disks, each of which always has `queued` of
/// them somewhere.
struct Did {
    /// Completed requests by virtual disk.
    done: Vec<u64>,
    /// Ticks of the drive by virtual disk.
    spent: Vec<Jiffies>,
    /// How often the drive went to another virtual disk.
    crossings: u64,
    /// Longest time from the submission of a bio to its completion.
    longest: Jiffies,
}

/// Runs for `ticks`. A drive that holds `depth` commands serves one at a time, first those where
/// the arm is. `sectors` is the size of the requests of each virtual disk, which take a tick more
/// for each 8.
fn run(name: &str, sectors: &[u32], depth: u32, ticks: Jiffies) -> Did {
    run_with(name, &[], sectors, depth, ticks)
}

/// The same with values written to the elevator's tunables.
fn run_with(
    name: &str,
    written: &[(&str, i64)],
    sectors: &[u32],
    depth: u32,
    ticks: Jiffies,
) -> Did {
    let info = find_elevator(elevators(), name).unwrap();
    let mut tuning = Tuning::defaults(info.tunables, HZ);
    for (name, value) in written {
        tuning.write(name, *value).unwrap();
    }
    let limits = QueueLimits::disk(HZ, depth);
    let mut queue = DiskQueue::new(limits, (info.make)(&tuning, 0));
    let guests = sectors.len();
    let mut did = Did {
        done: vec![0; guests],
        spent: vec![0; guests],
        crossings: 0,
        longest: 0,
    };
    let mut state = 1u64;
    let mut submitted = Vec::new();
    let mut submit = |queue: &mut DiskQueue, guest: usize, now: Jiffies| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let place = (state >> 40) % (REGION / 64) * 64;
        submitted.push(now);
        let bio = Bio {
            sector: guest as u64 * REGION + place,
            sectors: sectors[guest],
            segments: 1,
            way: IoWay::Read,
            sync: false,
            meta: false,
            submitter: Submitter(guest as u32),
            prio: IoPrio::BestEffort(4),
            tag: submitted.len() as u64 - 1,
        };
        queue.submit(now, &bio);
        queue.unplug(now);
        submitted.clone()
    };
    let mut times = Vec::new();
    for guest in 0..guests {
        for _ in 0..20 {
            times = submit(&mut queue, guest, 0);
        }
    }
    let mut held: Vec<RequestId> = Vec::new();
    let (mut now, mut arm) = (0, 0usize);
    while now < ticks {
        while let Some(action) = queue.take_action() {
            match action {
                QueueAction::Start(rq) => held.push(rq),
                QueueAction::Work(work) => queue.work(now, work),
                _ => {}
            }
        }
        assert!(held.len() <= depth as usize);
        let region = |rq: RequestId| (queue.requests()[rq].sector / REGION) as usize;
        let near = held.iter().position(|rq| region(*rq) == arm).unwrap_or(0);
        let rq = held.remove(near);
        let to = region(rq);
        let crosses = to != arm;
        did.crossings += u64::from(crosses);
        arm = to;
        let took = if crosses { FAR } else { NEAR } + i64::from(queue.requests()[rq].sectors / 8);
        now += took;
        did.spent[to] += took;
        let tags: Vec<u64> = queue.requests().tags(rq).collect();
        for tag in &tags {
            did.longest = did.longest.max(now - times[*tag as usize]);
        }
        did.done[to] += tags.len() as u64;
        queue.complete(now, rq);
        for _ in tags {
            times = submit(&mut queue, to, now);
        }
    }
    did
}

/// Largest of `all` over the smallest.
fn apart(all: &[Jiffies]) -> f64 {
    *all.iter().max().unwrap() as f64 / *all.iter().min().unwrap() as f64
}

#[test]
fn the_drive_stays_with_one_virtual_disk_for_a_lease() {
    let lease = run("lease", &[8; 3], 4, 60_000);
    let noop = run("noop", &[8; 3], 4, 60_000);
    // A lease is 200 ticks, after which the commands of the old holder are served to their end.
    assert!(lease.crossings <= 2 * 60_000 / 200, "{}", lease.crossings);
    assert!(
        noop.crossings * 2 > 3 * lease.crossings,
        "{}",
        noop.crossings
    );
    let sum = |did: &Did| did.done.iter().sum::<u64>();
    assert!(sum(&lease) > sum(&noop));
}

#[test]
fn time_of_the_drive_is_shared_and_not_requests() {
    // Requests of the first take 5 ticks, those of the second 12.
    let lease = run("lease", &[8, 64], 4, 60_000);
    assert!(apart(&lease.spent) < 1.05, "{:?}", lease.spent);
    assert!(lease.done[0] > 2 * lease.done[1], "{:?}", lease.done);
    let noop = run("noop", &[8, 64], 4, 60_000);
    assert!(apart(&noop.spent) > 1.2, "{:?}", noop.spent);
}

#[test]
fn nobody_waits_for_much_longer_than_the_expiry() {
    // Leases of 10 s, so that a request expires long before the turn of its virtual disk.
    let many = run_with("lease", &[("lease", 10_000)], &[8; 6], 1, 200_000);
    assert!(many.done.iter().all(|done| *done > 0), "{:?}", many.done);
    // 120 requests wait; from their expiry on the oldest goes next.
    let longest = many.longest;
    assert!(
        longest > 2_000 && longest < 2_000 + 120 * (FAR + 1),
        "{longest}"
    );
}
