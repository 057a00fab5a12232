//! Consequences of the rules, on a queue with a disk that is told when to finish.

use domio_blk::elevator::{
    Bio, IoPrio, IoWay, Jiffies, QueueAction, QueueTimer, QueueWork, RequestId, Submitter, Tuning,
    elevators, find_elevator,
};
use domio_blk::queue::{DiskQueue, QueueLimits, Submitted};

struct Bench {
    queue: DiskQueue,
    now: Jiffies,
    /// Requests in the device.
    held: Vec<RequestId>,
    /// First sector of what was started since the last look.
    started: Vec<u64>,
    armed: [Option<Jiffies>; 3],
    work: Vec<QueueWork>,
    woken: Vec<Submitter>,
    tag: u64,
}

fn bench(elevator: &str, limits: QueueLimits) -> Bench {
    let info = find_elevator(elevators(), elevator).unwrap();
    let tuning = Tuning::defaults(info.tunables, limits.hz);
    Bench {
        queue: DiskQueue::new(limits, (info.make)(&tuning, 1000)),
        now: 1000,
        held: Vec::new(),
        started: Vec::new(),
        armed: [None; 3],
        work: Vec::new(),
        woken: Vec::new(),
        tag: 0,
    }
}

impl Bench {
    fn bio(&mut self, who: u32, way: IoWay, sector: u64) -> Bio {
        self.tag += 1;
        Bio {
            sector,
            sectors: 8,
            segments: 1,
            way,
            sync: false,
            meta: false,
            submitter: Submitter(who),
            prio: IoPrio::None { nice: 0 },
            tag: self.tag,
        }
    }

    fn write(&mut self, who: u32, sector: u64) -> Submitted {
        let bio = self.bio(who, IoWay::Write, sector);
        let submitted = self.queue.submit(self.now, &bio);
        self.look();
        submitted
    }

    fn read(&mut self, who: u32, sector: u64) -> Submitted {
        let bio = self.bio(who, IoWay::Read, sector);
        let submitted = self.queue.submit(self.now, &bio);
        self.look();
        submitted
    }

    fn look(&mut self) {
        while let Some(action) = self.queue.take_action() {
            match action {
                QueueAction::Arm(timer, at) => self.armed[timer as usize] = Some(at),
                QueueAction::Cancel(timer) => self.armed[timer as usize] = None,
                QueueAction::Work(work) => self.work.push(work),
                QueueAction::Wake(who) => self.woken.push(who),
                QueueAction::Start(rq) => {
                    self.held.push(rq);
                    self.started.push(self.queue.requests()[rq].sector);
                }
            }
        }
    }

    fn unplug(&mut self) {
        self.queue.unplug(self.now);
        self.look();
    }

    /// The device finishes the request that it has held longest.
    fn finish(&mut self) -> Vec<u64> {
        let rq = self.held.remove(0);
        let tags = self.queue.requests().tags(rq).collect();
        self.queue.complete(self.now, rq);
        self.look();
        tags
    }

    fn started(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.started)
    }
}

const LIMITS: QueueLimits = QueueLimits::disk(1000, 1);

#[test]
fn an_empty_queue_is_plugged_and_the_fourth_request_pulls_the_plug() {
    let mut bench = bench("noop", LIMITS);
    for sector in [800, 400, 600] {
        bench.write(0, sector);
    }
    assert_eq!(bench.started(), []);
    assert_eq!(bench.armed[0], Some(1003));
    bench.write(0, 200);
    assert_eq!(bench.started(), [800]);
    assert_eq!(bench.armed[0], None);
}

#[test]
fn the_plug_goes_out_by_itself_and_work_runs_the_queue() {
    let mut bench = bench("noop", LIMITS);
    bench.write(0, 800);
    bench.now = 1003;
    bench.queue.timer(1003, QueueTimer::Unplug);
    bench.look();
    assert_eq!(bench.started(), []);
    assert_eq!(bench.work, [QueueWork::Unplug]);
    bench.queue.work(1003, QueueWork::Unplug);
    bench.look();
    assert_eq!(bench.started(), [800]);
    // Neither goes twice.
    bench.queue.timer(1003, QueueTimer::Unplug);
    bench.queue.work(1003, QueueWork::Unplug);
    bench.look();
    assert_eq!(bench.work.len(), 1);
}

#[test]
fn a_request_for_an_unplugged_queue_that_is_not_empty_waits_for_a_completion() {
    let depth = QueueLimits { depth: 2, ..LIMITS };
    let mut bench = bench("noop", depth);
    bench.write(0, 100);
    bench.write(0, 200);
    bench.write(0, 300);
    bench.unplug();
    assert_eq!(bench.started(), [100, 200]);
    // 300 is looked at by the driver: the queue is not empty, and is not plugged.
    bench.write(0, 400);
    bench.unplug();
    assert_eq!(bench.started(), []);
    bench.finish();
    bench.finish();
    assert_eq!(bench.started(), [300, 400]);
}

#[test]
fn what_the_driver_has_looked_at_is_neither_passed_nor_merged() {
    let mut bench = bench("noop", LIMITS);
    bench.write(0, 100);
    bench.write(0, 200);
    bench.unplug();
    assert_eq!(bench.started(), [100]);
    assert_eq!(bench.write(0, 208), Submitted::Queued);
    assert_eq!(bench.write(0, 192), Submitted::Queued);
    bench.finish();
    bench.finish();
    assert_eq!(bench.started(), [200, 208]);
}

#[test]
fn bios_are_merged_behind_in_front_and_between() {
    let mut bench = bench("deadline", LIMITS);
    assert_eq!(bench.write(0, 100), Submitted::Queued);
    assert_eq!(bench.write(1, 116), Submitted::Queued);
    // Between the two: all become one request.
    assert_eq!(bench.write(2, 108), Submitted::Merged);
    assert_eq!(bench.write(3, 92), Submitted::Merged);
    // Reads are never merged into writes.
    assert_eq!(bench.read(3, 124), Submitted::Queued);
    bench.unplug();
    assert_eq!(bench.started(), [124]);
    bench.finish();
    assert_eq!(bench.started(), [92]);
    assert_eq!(bench.finish(), [4, 1, 3, 2]);
}

#[test]
fn a_request_that_met_a_limit_takes_nothing_any_more() {
    let limits = QueueLimits {
        sectors: 20,
        ..LIMITS
    };
    let mut bench = bench("noop", limits);
    assert_eq!(bench.write(0, 100), Submitted::Queued);
    assert_eq!(bench.write(0, 108), Submitted::Merged);
    assert_eq!(bench.write(0, 116), Submitted::Queued);
    let mut small = bench.bio(0, IoWay::Write, 96);
    small.sectors = 4;
    assert_eq!(bench.queue.submit(1000, &small), Submitted::Queued);
}

#[test]
fn segments_are_a_limit_too() {
    let limits = QueueLimits {
        segments: 2,
        ..LIMITS
    };
    let mut bench = bench("noop", limits);
    bench.write(0, 100);
    assert_eq!(bench.write(0, 108), Submitted::Merged);
    assert_eq!(bench.write(0, 116), Submitted::Queued);
}

#[test]
fn who_takes_the_last_request_is_a_batcher_and_others_sleep() {
    let limits = QueueLimits {
        requests: 8,
        ..LIMITS
    };
    let mut bench = bench("noop", limits);
    for i in 0..8 {
        assert_eq!(bench.write(0, i * 100), Submitted::Queued);
    }
    // The batcher goes on to half as many again, another one sleeps at once.
    assert_eq!(bench.write(1, 5000), Submitted::Asleep);
    assert_eq!(bench.write(2, 6000), Submitted::Asleep);
    for i in 8..12 {
        assert_eq!(bench.write(0, i * 100), Submitted::Queued, "{i}");
    }
    assert_eq!(bench.write(0, 7000), Submitted::Asleep);
    // Reads have requests of their own.
    assert_eq!(bench.read(1, 8000), Submitted::Queued);
    assert!(bench.queue.is_congested(IoWay::Write) && !bench.queue.is_congested(IoWay::Read));
    for _ in 0..5 {
        assert_eq!(bench.woken, []);
        bench.finish();
    }
    // Each request given back below the limit wakes one, who slept longest first.
    assert_eq!(bench.woken, [Submitter(1)]);
    assert_eq!(bench.queue.resume(1000, Submitter(1)), Submitted::Queued);
    bench.finish();
    assert_eq!(bench.woken, [Submitter(1), Submitter(2)]);
}

#[test]
fn a_batchers_time_ends() {
    let limits = QueueLimits {
        requests: 8,
        ..LIMITS
    };
    let mut bench = bench("noop", limits);
    for i in 0..9 {
        assert_eq!(bench.write(0, i * 100), Submitted::Queued);
    }
    bench.now += 20;
    assert_eq!(bench.write(0, 5000), Submitted::Asleep);
}

#[test]
fn the_congestion_thresholds_are_the_kernels() {
    let mut bench = bench("noop", LIMITS);
    let mut on = 0;
    for i in 1..=120 {
        bench.write(0, i * 100);
        if on == 0 && bench.queue.is_congested(IoWay::Write) {
            on = i;
        }
    }
    assert_eq!(on, 113);
    let mut left = 120;
    while bench.queue.is_congested(IoWay::Write) {
        bench.finish();
        left -= 1;
    }
    assert_eq!(left, 102);
}

#[test]
fn a_requeued_request_goes_first_again() {
    let mut bench = bench("cfq", LIMITS);
    for sector in [100, 200, 300, 400] {
        bench.read(0, sector);
    }
    assert_eq!(bench.started(), [100]);
    let rq = bench.held.remove(0);
    bench.queue.requeue(1000, rq);
    // 200 was looked at before; the one that came back is in front of it.
    bench.queue.plug(1000);
    bench.unplug();
    assert_eq!(bench.started(), [100]);
    for _ in 0..3 {
        bench.finish();
    }
    assert_eq!(bench.started(), [200, 300, 400]);
}

/// Streams of requests from a few processes, with exits, on each elevator: every bio is completed
/// once, a request holds contiguous bios in order, and what is told to the device is what the bios
/// in the request cover.
#[test]
fn every_bio_is_completed_once() {
    for elevator in ["noop", "deadline", "anticipatory", "cfq"] {
        for seed in 1..=40 {
            conserve(elevator, seed);
        }
    }
}

fn conserve(elevator: &str, seed: u64) {
    let limits = QueueLimits {
        requests: 8 + (seed % 3) as u32 * 20,
        depth: 1 + (seed % 5) as u32,
        sectors: 64,
        ..QueueLimits::disk([100, 250, 1000][(seed % 3) as usize], 1)
    };
    let mut bench = bench(elevator, limits);
    let mut state = seed;
    let mut chance = move |of: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % of
    };
    let mut bios: Vec<Bio> = Vec::new();
    let mut done = vec![];
    let mut asleep = [false; 4];
    for _ in 0..600 {
        match chance(10) {
            0..6 => {
                let who = chance(4) as u32;
                let way = [IoWay::Read, IoWay::Write][chance(2) as usize];
                let mut bio = bench.bio(who, way, chance(60) * 8);
                bio.sync = way == IoWay::Write && chance(4) == 0;
                bio.meta = chance(8) == 0;
                bio.tag = bios.len() as u64;
                if !asleep[who as usize] {
                    bios.push(bio);
                    let submitted = bench.queue.submit(bench.now, &bio);
                    asleep[who as usize] = submitted == Submitted::Asleep;
                }
            }
            6 => bench.now += chance(30) as i64,
            7 => bench.queue.unplug(bench.now),
            _ if !bench.held.is_empty() => {
                let at = chance(bench.held.len() as u64) as usize;
                finish_checked(&mut bench, at, &bios, &mut done);
            }
            _ => {}
        }
        settle(&mut bench, &mut asleep);
    }
    // Nothing comes any more: whatever is left drains, given time.
    for who in 0..4 {
        if !asleep[who as usize] {
            bench.queue.exit(bench.now, Submitter(who));
        }
    }
    for _ in 0..100_000 {
        bench.now += 1;
        if !bench.held.is_empty() {
            finish_checked(&mut bench, 0, &bios, &mut done);
        }
        settle(&mut bench, &mut asleep);
    }
    done.sort_unstable();
    let all: Vec<u64> = (0..bios.len() as u64).collect();
    assert_eq!(done, all, "{elevator}, seed {seed}");
}

fn finish_checked(bench: &mut Bench, at: usize, bios: &[Bio], done: &mut Vec<u64>) {
    let rq = bench.held.remove(at);
    let request = bench.queue.requests()[rq];
    let tags: Vec<u64> = bench.queue.requests().tags(rq).collect();
    let mut end = request.sector;
    for tag in &tags {
        let bio = &bios[*tag as usize];
        assert_eq!((bio.sector, bio.way), (end, request.way));
        end = bio.end();
    }
    assert_eq!(end, request.end());
    assert!(tags.len() == 1 || request.sectors <= 64);
    done.extend(&tags);
    bench.queue.complete(bench.now, rq);
}

fn settle(bench: &mut Bench, asleep: &mut [bool; 4]) {
    loop {
        bench.look();
        let due = |at: &Option<Jiffies>| at.is_some_and(|at| at <= bench.now);
        if let Some(i) = bench.armed.iter().position(due) {
            bench.armed[i] = None;
            let timers = QueueTimer::ALL;
            bench.queue.timer(bench.now, timers[i]);
        } else if let Some(work) = bench.work.pop() {
            bench.queue.work(bench.now, work);
        } else if let Some(who) = bench.woken.pop() {
            let submitted = bench.queue.resume(bench.now, who);
            asleep[who.index()] = submitted == Submitted::Asleep;
        } else {
            return;
        }
    }
}

#[test]
fn a_plug_of_the_multi_queue_layer_is_emptied_by_work_or_by_the_32nd_request() {
    let limits = QueueLimits::disk(1000, 64);
    let mut bench = bench("mq-deadline", limits);
    bench.write(0, 800);
    assert_eq!(bench.started(), []);
    assert_eq!(bench.work, [QueueWork::Unplug]);
    // Merged in the plug, before the elevator sees anything.
    assert_eq!(bench.write(0, 808), Submitted::Merged);
    // The plug is the process's: another one's is not merged with.
    assert_eq!(bench.write(1, 816), Submitted::Queued);
    bench.queue.work(1000, QueueWork::Unplug);
    bench.look();
    assert_eq!(bench.started(), [800]);
    for i in 0..31 {
        bench.write(0, 10_000 + 100 * i);
    }
    assert_eq!(bench.started(), []);
    bench.write(0, 50_000);
    assert_eq!(bench.started().len(), 32);
}

#[test]
fn the_multi_queue_layer_chooses_no_more_than_the_device_holds() {
    let mut bench = bench("mq-deadline", QueueLimits::disk(1000, 2));
    for sector in [100, 300, 500] {
        bench.read(0, sector);
    }
    bench.unplug();
    assert_eq!(bench.started(), [100, 300]);
    // 500 was not looked at: what comes later and fits in front is merged.
    assert_eq!(bench.read(0, 508), Submitted::Merged);
    // Two commands have four tags.
    assert_eq!(bench.read(0, 900), Submitted::Queued);
    assert_eq!(bench.read(1, 1100), Submitted::Asleep);
    bench.finish();
    assert_eq!(bench.woken, [Submitter(1)]);
    assert_eq!(bench.queue.resume(1000, Submitter(1)), Submitted::Queued);
}

#[test]
fn without_an_elevator_there_are_as_many_requests_as_the_device_holds() {
    let mut bench = bench("none", QueueLimits::disk(1000, 2));
    assert_eq!(bench.write(0, 100), Submitted::Queued);
    assert_eq!(bench.write(0, 300), Submitted::Queued);
    assert_eq!(bench.write(0, 500), Submitted::Asleep);
    assert_eq!(bench.started(), [100, 300]);
}
