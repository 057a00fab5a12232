//! Histories: what processes ask for and what the device does, step by step.

use crate::elevator::{Bio, IoPrio, IoWay, Submitter};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use domio_suite::Rng;

/// Something that happens. Steps of a process that sleeps are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HistoryStep {
    /// A process submits these, and does not stop between them. Tags are given by the run.
    Submit(Vec<Bio>),
    /// The queue is unplugged: a process is about to wait.
    Unplug,
    /// Time passes (us).
    Pass(u64),
    /// The device finishes one of the requests that it holds: this one, counted round.
    Finish(usize),
    /// The device gives one back unfinished.
    Requeue(usize),
    /// A process exits; who submits under this number later is another one.
    Exit(Submitter),
}

/// A history. At its end the device serves whatever is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoHistory {
    /// What it is about.
    pub name: String,
    /// Ticks a second.
    pub hz: i64,
    /// Requests that the device holds.
    pub depth: u32,
    /// Requests of each direction.
    pub requests: u32,
    /// Most sectors of a request.
    pub sectors: u32,
    /// Whether the device turns.
    pub rotational: bool,
    /// Time of a request (us), if the device finishes requests by itself, one at a time in order.
    /// Waits are compared with promises in these histories alone.
    pub service_us: Option<u64>,
    /// What happens.
    pub steps: Vec<HistoryStep>,
}

/// First sector beyond the disk.
pub const SECTORS: u64 = 4096;

/// Numbers of processes are below.
pub const PROCESSES: u32 = 6;

fn bio(who: u32, way: IoWay, sector: u64, sectors: u32) -> Bio {
    Bio {
        sector,
        sectors,
        segments: sectors.div_ceil(8),
        way,
        sync: false,
        meta: false,
        submitter: Submitter(who),
        prio: IoPrio::None { nice: 0 },
        tag: 0,
    }
}

fn base(name: &str) -> IoHistory {
    IoHistory {
        name: String::from(name),
        hz: 1000,
        depth: 1,
        requests: 128,
        sectors: 1024,
        rotational: true,
        service_us: None,
        steps: Vec::new(),
    }
}

/// The hand-written histories.
pub fn library() -> Vec<IoHistory> {
    let mut all = vec![merges(), requeues(), exits(), sleepers(), alike()];
    for (hz, depth) in [(100, 1), (250, 4), (1000, 32), (250, 64)] {
        all.push(flood(hz, depth, IoWay::Read));
        all.push(flood(hz, depth, IoWay::Write));
    }
    all
}

/// Every other bio, then those between, backwards.
fn merges() -> IoHistory {
    let mut history = base("gaps are filled");
    let sectors = (0..40)
        .step_by(2)
        .chain((0..40).rev().filter(|i| i % 2 == 1));
    for i in sectors {
        let one = bio(i as u32 % 2, IoWay::Write, 8 * i, 8);
        history.steps.push(HistoryStep::Submit(vec![one]));
    }
    history
}

fn requeues() -> IoHistory {
    let mut history = base("requests come back");
    history.depth = 4;
    for i in 0..60u32 {
        let way = [IoWay::Read, IoWay::Write][(i % 3 == 0) as usize];
        let one = bio(i % 4, way, u64::from(i * 37 % 200) * 16, 8);
        history
            .steps
            .extend([HistoryStep::Submit(vec![one]), HistoryStep::Unplug]);
        if i % 2 == 0 {
            history.steps.push(HistoryStep::Requeue(i as usize));
        }
        history
            .steps
            .extend([HistoryStep::Pass(1500), HistoryStep::Finish(i as usize)]);
    }
    history
}

fn exits() -> IoHistory {
    let mut history = base("processes exit with requests under way");
    history.hz = 250;
    for i in 0..60u32 {
        let one = bio(
            i % 3,
            IoWay::Read,
            u64::from(i % 3) * 1000 + u64::from(i) * 8,
            8,
        );
        history
            .steps
            .extend([HistoryStep::Submit(vec![one]), HistoryStep::Unplug]);
        history.steps.push(HistoryStep::Exit(Submitter(i % 3)));
        history
            .steps
            .extend([HistoryStep::Pass(700), HistoryStep::Finish(0)]);
    }
    history
}

fn sleepers() -> IoHistory {
    let mut history = base("there are fewer requests than processes want");
    history.requests = 4;
    history.depth = 2;
    for i in 0..200u32 {
        let one = bio(i % PROCESSES, IoWay::Write, u64::from(i * 11 % 250) * 16, 8);
        history.steps.push(HistoryStep::Submit(vec![one]));
        if i % 5 == 0 {
            history.steps.push(HistoryStep::Finish(0));
        }
    }
    history
}

/// Several requests that start at one sector.
fn alike() -> IoHistory {
    let mut history = base("the same sectors again");
    for i in 0..40u32 {
        let way = [IoWay::Read, IoWay::Write][(i % 2) as usize];
        history.steps.push(HistoryStep::Submit(vec![bio(
            i % 3,
            way,
            80,
            8 + 8 * (i % 2),
        )]));
    }
    history
}

/// One process wants more than the device can do; others come now and then.
fn flood(hz: i64, depth: u32, way: IoWay) -> IoHistory {
    let mut history = base(&format!("a flood of {way:?}s, {hz} Hz, depth {depth}"));
    (history.hz, history.depth) = (hz, depth);
    history.service_us = Some(1000);
    let mut rng = Rng::new(hz as u64 + u64::from(depth));
    for i in 0..6000u64 {
        let one = bio(0, way, rng.below(200) * 8, 8);
        history.steps.push(HistoryStep::Submit(vec![one]));
        if i % 5 == 0 {
            history.steps.push(HistoryStep::Unplug);
        }
        if i % 97 == 0 {
            let other = [IoWay::Read, IoWay::Write][(i % 2) as usize];
            let who = 1 + (i % 5) as u32;
            let one = bio(who, other, 4000 - rng.below(100) * 16, 8);
            history
                .steps
                .extend([HistoryStep::Submit(vec![one]), HistoryStep::Unplug]);
        }
        history.steps.push(HistoryStep::Pass(600));
    }
    history
}

/// The random history of a seed.
pub fn random(seed: u64) -> IoHistory {
    let mut rng = Rng::new(seed);
    let mut history = base("random");
    history.hz = *rng.pick(&[100, 250, 1000]);
    history.depth = *rng.pick(&[1, 1, 2, 4, 16, 31, 64]);
    history.requests = *rng.pick(&[4, 8, 32, 128]);
    history.sectors = *rng.pick(&[16, 64, 1024]);
    history.rotational = !rng.one_in(3);
    let span = *rng.pick(&[40, 500]);
    let mut steps = Vec::new();
    for _ in 0..500 {
        steps.push(match rng.below(12) {
            0..6 => {
                let who = rng.below(u64::from(PROCESSES)) as u32;
                let many = if rng.one_in(8) { rng.between(2, 40) } else { 1 };
                HistoryStep::Submit((0..many).map(|_| random_bio(&mut rng, who, span)).collect())
            }
            6 => HistoryStep::Unplug,
            7 => HistoryStep::Pass(rng.below(30_000)),
            8 if rng.one_in(4) => {
                HistoryStep::Exit(Submitter(rng.below(u64::from(PROCESSES)) as u32))
            }
            8 => HistoryStep::Requeue(rng.below(64) as usize),
            _ => HistoryStep::Finish(rng.below(64) as usize),
        });
    }
    history.steps = steps;
    history
}

fn random_bio(rng: &mut Rng, who: u32, span: u64) -> Bio {
    let way = *rng.pick(&[IoWay::Read, IoWay::Write]);
    let sectors = *rng.pick(&[8, 8, 8, 16, 1]);
    Bio {
        sync: way == IoWay::Write && rng.one_in(4),
        meta: rng.one_in(8),
        prio: match who {
            4 => IoPrio::RealTime(3),
            5 => IoPrio::Idle,
            3 => IoPrio::BestEffort(7),
            _ => IoPrio::None { nice: 0 },
        },
        ..bio(who, way, rng.below(span) * 8, sectors)
    }
}
