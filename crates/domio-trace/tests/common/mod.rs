//! A small host that behaves, for tests: it wakes, blocks, pauses and switches vcpus at random and
//! writes what Xen would.

use domio_core::{ActorId, DomainId, Instant, Kind, Names, PcpuId, Record, Runstate, VcpuName};

/// A random number generator that needs no crate: xorshift64*.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

struct Vcpu {
    actor: ActorId,
    state: Runstate,
    since: u64,
}

/// Records of `steps` steps of a host with `pcpus` pcpus and `vcpus` vcpus, two to a domain, and
/// what their numbers stand for. All
/// vcpus start blocked, all pcpus idle. Times are even, so that a test can halve them, and no two
/// steps share one: the writer of xentrace files would move them apart.
pub fn host(seed: u64, pcpus: u16, vcpus: u16, steps: usize) -> (Names, Vec<Record>) {
    let mut random = Random::new(seed);
    let mut out = Vec::new();
    let mut now = 1_000_000_000;
    let mut names = Names::new();
    let idle: Vec<ActorId> = (0..pcpus)
        .map(|pcpu| names.add_actor(VcpuName::idle(PcpuId(pcpu))))
        .collect();
    let mut table: Vec<Vcpu> = (0..vcpus)
        .map(|i| Vcpu {
            actor: names.add_actor(VcpuName::new(DomainId(i / 2), i % 2)),
            state: Runstate::Blocked,
            since: now,
        })
        .collect();
    // What runs on each pcpu, and since when; `None` is idle.
    let mut current: Vec<(Option<usize>, u64)> = vec![(None, now); usize::from(pcpus)];
    for _ in 0..steps {
        now += 2 + 2 * random.below(1_000_000);
        let at = Instant::from_nanos(now);
        let pcpu = PcpuId(random.below(pcpus.into()) as u16);
        if random.below(2) == 0 {
            let i = random.below(vcpus.into()) as usize;
            let v = &mut table[i];
            if v.state == Runstate::Blocked || v.state == Runstate::Offline {
                out.push(Record::new(at, pcpu, Kind::Wake, v.actor));
                let change = Record::runstate(at, pcpu, v.actor, v.state, Runstate::Runnable);
                out.push(change);
                v.state = Runstate::Runnable;
                v.since = now;
            }
            continue;
        }
        let (prev, ran_since) = current[pcpu.index()];
        let runnable: Vec<usize> = (0..table.len())
            .filter(|&i| table[i].state == Runstate::Runnable)
            .collect();
        let left_to = match (prev, random.below(4)) {
            (None, _) => Runstate::Runnable,
            (Some(_), 0) => Runstate::Blocked,
            (Some(_), 1) => Runstate::Offline,
            (Some(_), _) => Runstate::Runnable,
        };
        let next = match runnable.len() {
            0 if left_to == Runstate::Runnable => prev,
            0 => None,
            n => Some(runnable[random.below(n as u64) as usize]),
        };
        let ran = (now - ran_since) as u32;
        let slice = 30_000_000;
        let idle = idle[pcpu.index()];
        let prev_actor = prev.map_or(idle, |i| table[i].actor);
        if next == prev {
            let words = [ran, slice, 0, 0];
            out.push(Record::with(at, pcpu, Kind::Continue, prev_actor, words));
            continue;
        }
        match left_to {
            Runstate::Blocked => out.push(Record::new(at, pcpu, Kind::Block, prev_actor)),
            Runstate::Offline => out.push(Record::new(at, pcpu, Kind::Sleep, prev_actor)),
            Runstate::Running | Runstate::Runnable => {}
        }
        let (next_actor, times) = match next {
            Some(i) => {
                let waited = (now - table[i].since) as u32;
                (table[i].actor, [ran, waited, slice])
            }
            None => (idle, [ran, 0, u32::MAX]),
        };
        let prev_state = (prev_actor, left_to);
        out.push(Record::switch(at, pcpu, prev_state, next_actor, times));
        if let Some(i) = prev {
            table[i].state = left_to;
            table[i].since = now;
        }
        if let Some(i) = next {
            table[i].state = Runstate::Running;
            table[i].since = now;
        }
        current[pcpu.index()] = (next, now);
    }
    (names, out)
}
