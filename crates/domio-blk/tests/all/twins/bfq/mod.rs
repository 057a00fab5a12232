//! `bfq`: everything that has happened is kept, and each figure is computed anew from that.

mod hooks;

use domio_blk::elevator::{
    Bio, Elevator, ElevatorCx, IoPrio, IoWay, Jiffies, QueueTimer, RequestId, Requests, Tuning,
};

pub fn make(tuning: &Tuning, _: Jiffies) -> Box<dyn Elevator> {
    twin(tuning, 3)
}

/// The twin with a mistake: async sectors are charged once, as sync ones are.
pub fn broken(tuning: &Tuning, _: Jiffies) -> Box<dyn Elevator> {
    twin(tuning, 1)
}

/// A twin that charges each async sector so often.
fn twin(tuning: &Tuning, async_factor: u64) -> Box<dyn Elevator> {
    let hz = tuning.hz();
    Box::new(Twin {
        hz,
        timeout: hz / 8 * (1_000_000_000 / hz),
        async_factor,
        queues: Vec::new(),
        free: Vec::new(),
        owners: Vec::new(),
        waiting: Vec::new(),
        stamps: 0,
        belongs: Vec::new(),
        driver: Vec::new(),
        last_end: 0,
        depths: Vec::new(),
        deep: false,
        done: Vec::new(),
        rate: 16 * 1024,
        vtime: [0; 3],
        idle_class_seen: 0,
        active: None,
        turn_began: 0,
        idle_since: None,
        turns: 0,
    })
}

/// How long the disk is kept waiting (ns).
const IDLE: i64 = 8_000_000;

/// Whose requests a queue has.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Process(u32),
    Level(usize, u8),
}

#[derive(Default)]
struct Queue {
    sync: bool,
    class: usize,
    weight: u64,
    gone: bool,
    busy: bool,
    /// Handed on and not completed.
    under_way: u32,
    start: u64,
    finish: u64,
    budget: u64,
    next_budget: u64,
    /// Charges of the turn.
    charges: Vec<u64>,
    looked: bool,
    next: Option<RequestId>,
    /// Distances of all requests to the one before.
    distances: Vec<u64>,
    last_end: Option<u64>,
    /// All think times (ns).
    thinks: Vec<i64>,
    last_done: Option<i64>,
}

/// A request that waits; in order of arrival.
#[derive(Clone, Copy)]
struct Waiting {
    rq: RequestId,
    queue: usize,
    /// Order by sector.
    place: (u64, u64),
    expires: Jiffies,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    TooIdle,
    Timeout,
    Exhausted,
    Empty,
}

struct Twin {
    hz: i64,
    timeout: i64,
    async_factor: u64,
    queues: Vec<Queue>,
    /// Places of queues that nobody needs, the last one is used first.
    free: Vec<usize>,
    owners: Vec<(Owner, usize)>,
    waiting: Vec<Waiting>,
    stamps: u64,
    /// Queues of all requests that were made and not given back.
    belongs: Vec<(RequestId, usize)>,
    /// Requests that the driver has seen.
    driver: Vec<RequestId>,
    last_end: u64,
    /// Requests in the driver at each completion, and whether it counts.
    depths: Vec<(usize, bool)>,
    deep: bool,
    /// Completions of the observation: time, first sector, sectors.
    done: Vec<(i64, u64, u64)>,
    rate: u64,
    vtime: [u64; 3],
    idle_class_seen: Jiffies,
    active: Option<usize>,
    turn_began: i64,
    idle_since: Option<i64>,
    turns: u32,
}

fn level(prio: IoPrio) -> (usize, u8) {
    match prio {
        IoPrio::RealTime(level) => (0, level),
        IoPrio::None { nice } => (1, ((i32::from(nice) + 20) / 5) as u8),
        IoPrio::BestEffort(level) => (1, level),
        IoPrio::Idle => (2, 7),
    }
}

fn owner(bio: &Bio) -> Owner {
    if bio.way == IoWay::Read || bio.sync {
        return Owner::Process(bio.submitter.0);
    }
    let (class, level) = level(bio.prio);
    Owner::Level(class, level)
}

/// Sectors by weight, with 22 bits behind the point.
fn weighed(sectors: u64, weight: u64) -> u64 {
    sectors * (1 << 22) / weight
}

/// How good a request is from where the device is: smaller is better.
fn rank(requests: &Requests, rq: RequestId, from: u64) -> (bool, bool, bool, u64) {
    let rq = &requests[rq];
    let sync = rq.way == IoWay::Read || rq.sync;
    let (late, way) = match rq.sector >= from {
        true => (false, rq.sector - from),
        false if rq.sector + 2 * 16 * 1024 >= from => (false, 2 * (from - rq.sector)),
        // Only behind the turn of the sweep: from the lowest sector upwards.
        false => (true, rq.sector),
    };
    (!sync, !rq.meta, late, way)
}

impl Queue {
    fn service(&self) -> u64 {
        self.charges.iter().sum()
    }

    fn is_random(&self) -> bool {
        let last = self.distances.iter().rev().take(32);
        last.filter(|distance| **distance > 800).count() > 19
    }

    /// Whether the think times are short, or too few to tell.
    fn thinks_shortly(&self) -> bool {
        let (mut samples, mut total, mut mean) = (0, 0, 0);
        for think in &self.thinks {
            samples = (samples * 7 + 256) / 8;
            total = (total * 7 + 256 * think) / 8;
            mean = (total + 128) / samples;
        }
        samples <= 80 || mean <= IDLE
    }
}

impl Twin {
    /// The better of two; where they are equally good, the one with the higher sector, or else
    /// the first.
    fn better(
        &self,
        requests: &Requests,
        a: Option<RequestId>,
        b: Option<RequestId>,
    ) -> Option<RequestId> {
        let (Some(x), Some(y)) = (a, b) else {
            return a.or(b);
        };
        let ranks = (
            rank(requests, x, self.last_end),
            rank(requests, y, self.last_end),
        );
        if ranks.0 != ranks.1 {
            return if ranks.0 < ranks.1 { a } else { b };
        }
        if requests[x].sector >= requests[y].sector {
            a
        } else {
            b
        }
    }

    fn find(&self, owner: Owner) -> Option<usize> {
        let mut owners = self.owners.iter();
        owners.find(|(one, _)| *one == owner).map(|(_, at)| *at)
    }

    fn of(&self, rq: RequestId) -> usize {
        let mut all = self.belongs.iter();
        all.find(|(one, _)| *one == rq).expect("a queue").1
    }

    fn in_queue(&self, at: usize) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter().filter(move |w| w.queue == at)
    }

    fn entry(&self, rq: RequestId) -> Waiting {
        let mut all = self.waiting.iter();
        *all.find(|w| w.rq == rq).expect("the request waits")
    }

    fn behind(&self, rq: RequestId) -> Option<RequestId> {
        let one = self.entry(rq);
        let behind = self.in_queue(one.queue).filter(|w| w.place > one.place);
        behind.min_by_key(|w| w.place).map(|w| w.rq)
    }

    fn before(&self, rq: RequestId) -> Option<RequestId> {
        let one = self.entry(rq);
        let before = self.in_queue(one.queue).filter(|w| w.place < one.place);
        before.max_by_key(|w| w.place).map(|w| w.rq)
    }

    fn place(&mut self, sector: u64) -> (u64, u64) {
        self.stamps += 1;
        (sector, self.stamps)
    }

    fn busy(&self) -> Vec<usize> {
        let all = 0..self.queues.len();
        all.filter(|at| self.queues[*at].busy).collect()
    }

    fn differ(&self) -> bool {
        let busy = self.busy();
        let kind = |at: usize| (self.queues[at].weight, self.queues[at].class);
        busy.iter().any(|at| kind(*at) != kind(busy[0]))
    }

    fn largest(&self) -> u64 {
        if self.turns < 194 {
            16 * 1024
        } else {
            self.rate.max(1)
        }
    }

    fn charge(&self, requests: &Requests, at: usize) -> u64 {
        let queue = &self.queues[at];
        let factor = match queue.sync || self.differ() {
            true => 1,
            false => self.async_factor,
        };
        queue
            .next
            .map_or(0, |rq| u64::from(requests[rq].sectors) * factor)
    }

    fn plan(&mut self, requests: &Requests, at: usize) {
        let charge = self.charge(requests, at);
        let queue = &mut self.queues[at];
        queue.budget = queue.next_budget.max(charge);
        queue.finish = queue.start + weighed(queue.budget, queue.weight);
    }

    fn changed(&mut self, requests: &Requests, at: usize) {
        if self.queues[at].busy && self.active != Some(at) {
            self.plan(requests, at);
        }
    }

    fn pay(&mut self, at: usize, sectors: u64) {
        self.queues[at].charges.push(sectors);
        let class = self.queues[at].class;
        let alike = self.busy().into_iter().map(|at| &self.queues[at]);
        let alike = alike.filter(|queue| queue.class == class);
        let weights: u64 = alike.map(|queue| queue.weight).sum();
        self.vtime[class] += weighed(sectors, weights.max(1));
    }

    fn worth_waiting(&self, turns_round: bool, at: usize) -> bool {
        let queue = &self.queues[at];
        if !queue.sync || queue.gone || queue.class == 2 {
            return false;
        }
        let near = !queue.is_random() && queue.thinks_shortly();
        turns_round && (near || !self.deep) || self.differ() || self.busy().len() == 1
    }

    fn over(&self, ns: i64, at: usize) -> bool {
        let queue = &self.queues[at];
        let left = queue.budget.saturating_sub(queue.service());
        let counts = self.idle_since.is_none() || left >= queue.budget / 3;
        counts && ns - self.turn_began >= self.timeout
    }

    /// Takes a request out, and finds its queue another next one.
    fn take(&mut self, cx: &ElevatorCx<'_>, rq: RequestId) {
        let one = self.entry(rq);
        let at = one.queue;
        let lowest = self.in_queue(at).min_by_key(|w| w.place).map(|w| w.rq);
        let behind = self.behind(rq).or(lowest.filter(|low| *low != rq));
        let before = self.before(rq);
        self.waiting.retain(|w| w.rq != rq);
        if self.queues[at].next != Some(rq) {
            return;
        }
        let first_look = !self.queues[at].looked;
        self.queues[at].looked = true;
        let oldest = self.in_queue(at).next();
        let old = oldest.filter(|w| first_look && w.expires <= cx.now);
        self.queues[at].next = match old {
            Some(old) => Some(old.rq),
            None => self.better(cx.view(), behind, before),
        };
    }

    fn choose(&mut self, now: Jiffies) -> Option<usize> {
        let busy = self.busy();
        let mut class = busy.iter().map(|at| self.queues[*at].class).min()?;
        if now - self.idle_class_seen > self.hz / 5 {
            self.idle_class_seen = now;
            if busy.iter().any(|at| self.queues[*at].class == 2) {
                class = 2;
            }
        }
        let own: Vec<usize> = busy
            .into_iter()
            .filter(|at| self.queues[*at].class == class)
            .collect();
        let earliest = own.iter().map(|at| self.queues[*at].start).min()?;
        self.vtime[class] = self.vtime[class].max(earliest);
        let mut ready: Vec<usize> = own
            .into_iter()
            .filter(|at| self.queues[*at].start <= self.vtime[class])
            .collect();
        ready.sort_by_key(|at| (self.queues[*at].finish, *at));
        ready.first().copied()
    }

    fn no_more_idling(&mut self, cx: &mut ElevatorCx<'_>) {
        if self.idle_since.take().is_some() {
            cx.cancel(QueueTimer::First);
        }
    }

    fn end_turn(&mut self, cx: &mut ElevatorCx<'_>, why: End) {
        let Some(at) = self.active.take() else { return };
        let took = self.idle_since.unwrap_or(cx.ns()) - self.turn_began;
        self.no_more_idling(cx);
        let largest = self.largest();
        let (served, budget) = (self.queues[at].service(), self.queues[at].budget);
        let slow = self.queues[at].sync && took > 20_000_000 && served < largest / 2;
        let much_left = budget.saturating_sub(served) >= budget / 3;
        if slow || why == End::Timeout && much_left {
            let part = took.max(0).min(self.timeout) as u128;
            let by_time = (u128::from(largest) * part / self.timeout as u128) as u64;
            self.pay(at, by_time.saturating_sub(served));
        }
        let least = largest / 32;
        let queue = &mut self.queues[at];
        let before = queue.next_budget;
        let mut after = match why {
            _ if !queue.sync => largest,
            End::Empty => queue.service().max(least),
            End::Exhausted => largest.min(4 * before),
            End::Timeout => largest.min(2 * before),
            End::TooIdle if queue.under_way > 0 => largest.min(2 * before),
            End::TooIdle if before <= 5 * least => least,
            End::TooIdle => before - 4 * least,
        };
        if self.turns >= 194 {
            after = after.min(largest);
        }
        queue.next_budget = after;
        queue.finish = queue.start + weighed(queue.service(), queue.weight);
        if queue.next.is_none() {
            queue.busy = false;
            self.reuse(at);
        } else {
            queue.start = queue.finish;
            self.plan(cx.view(), at);
        }
    }

    /// The place of a queue is free, if nobody needs the queue.
    fn reuse(&mut self, at: usize) {
        let queue = &self.queues[at];
        let needed = self.belongs.iter().any(|(_, own)| *own == at);
        if queue.gone && !needed && !queue.busy && !self.free.contains(&at) {
            self.free.push(at);
        }
    }

    /// The queue whose turn it is or becomes.
    fn turn(&mut self, cx: &mut ElevatorCx<'_>) -> Option<usize> {
        if let Some(at) = self.active {
            let waits = self.worth_waiting(cx.is_rotational(), at);
            let empty = self.queues[at].next.is_none();
            let why = if self.over(cx.ns(), at) && !(empty && waits) {
                End::Timeout
            } else if empty {
                if self.idle_since.is_some() || waits && self.queues[at].under_way > 0 {
                    return None;
                }
                End::Empty
            } else {
                let sum = self.queues[at].service() + self.charge(cx.view(), at);
                if sum <= self.queues[at].budget {
                    self.no_more_idling(cx);
                    return Some(at);
                }
                End::Exhausted
            };
            self.end_turn(cx, why);
        }
        let at = self.choose(cx.now)?;
        self.active = Some(at);
        self.turn_began = cx.ns();
        self.turns += 1;
        self.queues[at].charges.clear();
        self.queues[at].looked = false;
        Some(at)
    }

    fn observe(&mut self, ns: i64, sector: u64, sectors: u64) {
        if self
            .done
            .last()
            .is_some_and(|(last, ..)| ns - last > 100_000_000)
        {
            self.done.clear();
        }
        self.done.push((ns, sector, sectors));
        let took = ns - self.done[0].0;
        if self.done.len() < 32 || took < 300_000_000 {
            return;
        }
        let pairs = self.done.windows(2);
        let in_line = 1 + pairs.filter(|two| two[0].1 + two[0].2 == two[1].1).count();
        let sum: u64 = self.done[1..].iter().map(|(.., sectors)| sectors).sum();
        let in_a_turn = (u128::from(sum) * self.timeout as u128 / took as u128) as u64;
        if in_a_turn > self.rate || 4 * in_line >= 3 * self.done.len() {
            self.rate = (7 * self.rate + in_a_turn) / 8;
        }
        self.done.clear();
    }

    fn sample_depth(&mut self) {
        let held = self.driver.len();
        self.depths.push((held, held + self.waiting.len() > 3));
        if self.depths.iter().filter(|(_, counts)| *counts).count() == 32 {
            self.deep = self.depths.iter().any(|(held, _)| *held > 3);
            self.depths.clear();
        }
    }
}
