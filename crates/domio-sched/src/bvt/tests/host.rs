//! What the [`Rig`] does as a host.

use super::*;
use crate::contract::{Pick, Prev, Stop, Wake};

impl Rig {
    /// Calls the policy and carries out what it asks for.
    pub fn call<T>(&mut self, body: impl FnOnce(&mut Bvt, &mut Cx<'_>) -> T) -> T {
        let mut effects = Vec::new();
        let mut cx = Cx::new(self.now, &mut self.tables, &mut effects, true);
        let answer = body(&mut self.bvt, &mut cx);
        for effect in effects {
            match effect {
                Effect::Tickle(p) => self.pending.insert(p),
                Effect::Timer { pcpu, slot, at } => {
                    assert!(at.is_none_or(|at| at >= self.now), "a timer in the past");
                    self.timers[pcpu.index()][slot as usize] = at;
                }
                Effect::Note {
                    event, len, words, ..
                } => {
                    self.notes.push((event, words[..len as usize].to_vec()));
                }
                other => panic!("BVT needs no {other:?}"),
            }
        }
        answer
    }

    /// The scheduler softirq on `pcpu`.
    pub fn pass(&mut self, pcpu: PcpuId) -> Pick {
        self.pending.remove(pcpu);
        let before = self.current(pcpu);
        let prev = Prev {
            vcpu: before,
            ran: match before {
                Some(_) => self.now.since(self.since[pcpu.index()]),
                None => Duration::ZERO,
            },
            why: Stop::Tickled,
        };
        let pick = self.call(|s, cx| s.schedule(cx, pcpu, prev));
        let slice = pick.time_slice.expect("every slice of BVT ends");
        self.slices[pcpu.index()] = Some(self.now + slice);
        if pcpu == P0 {
            self.passes.push(self.now.as_nanos() / 1_000);
        }
        if pick.next != before {
            self.switch(pcpu, before, pick.next);
        }
        pick
    }

    fn switch(&mut self, pcpu: PcpuId, before: Option<VcpuId>, next: Option<VcpuId>) {
        let ran = self.now.since(self.since[pcpu.index()]);
        self.tables.pcpus[pcpu].current = next;
        self.since[pcpu.index()] = self.now;
        if pcpu == P0 {
            self.switches.push((self.now.as_nanos() / 1_000, next));
        }
        if let Some(v) = next {
            let view = &mut self.tables.vcpus[v.index()];
            assert!(view.runnable(), "{v:?} was picked, but is not runnable");
            assert_eq!(view.pcpu, pcpu, "{v:?} belongs elsewhere");
            view.on_pcpu = true;
        }
        if let Some(v) = before {
            self.ran[v.index()] += ran;
            self.tables.vcpus[v.index()].on_pcpu = false;
            if self.tables.vcpus[v.index()].pause.has(Pause::MIGRATING) {
                self.migrate(v);
            }
        }
    }

    pub fn ask_for_pcpu(&mut self, vcpu: VcpuId) {
        let pcpu = self.call(|s, cx| s.pick_pcpu(cx, vcpu));
        self.tables.vcpus[vcpu.index()].pcpu = pcpu;
    }

    /// Carries out a migration: `vcpu` is neither queued nor current.
    fn migrate(&mut self, vcpu: VcpuId) {
        let pause = &mut self.tables.vcpus[vcpu.index()].pause;
        pause.clear(Pause::MIGRATING);
        self.ask_for_pcpu(vcpu);
        if self.tables.vcpus[vcpu.index()].runnable() {
            self.call(|s, cx| s.wake(cx, vcpu, Wake::Migrate));
        }
    }

    /// Pins `vcpu` to `pcpu`.
    pub fn pin(&mut self, vcpu: VcpuId, pcpu: PcpuId) {
        self.tables.affinity[vcpu.index()].hard = CpuSet::of(pcpu);
        self.stop(vcpu, Pause::MIGRATING);
        match self.current(self.home(vcpu)) == Some(vcpu) {
            true => self.settle(),
            false => self.migrate(vcpu),
        }
    }

    /// Stops `vcpu` for the reason `flag`.
    pub fn stop(&mut self, vcpu: VcpuId, flag: u8) {
        let was_runnable = self.tables.vcpus[vcpu.index()].runnable();
        self.tables.vcpus[vcpu.index()].pause.set(flag);
        if was_runnable {
            self.call(|s, cx| s.sleep(cx, vcpu));
        }
    }

    pub fn wake(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.clear(Pause::BLOCKED);
        if self.tables.vcpus[vcpu.index()].runnable() {
            self.call(|s, cx| s.wake(cx, vcpu, Wake::Event));
        }
    }

    /// `vcpu`, which is current, waits for an event, and has the pass that takes it off.
    pub fn block(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()].pause.set(Pause::BLOCKED);
        self.pending.insert(self.home(vcpu));
        self.settle();
    }

    /// Passes wherever one is pending, until none is.
    pub fn settle(&mut self) {
        for _ in 0..1_000 {
            match self.pending.first() {
                Some(p) => drop(self.pass(p)),
                None => return,
            }
        }
        panic!("passes without end");
    }

    /// When the next slice or timer ends.
    fn next_event(&self) -> Option<Instant> {
        let timers = self.timers.iter().flatten().flatten();
        self.slices.iter().flatten().chain(timers).min().copied()
    }

    /// Lets time pass, with timers, slices and passes as they come.
    pub fn run_to(&mut self, end: Instant) {
        self.settle();
        while let Some(at) = self.next_event()
            && at <= end
        {
            self.now = at;
            for p in 0..self.timers.len() {
                let pcpu = PcpuId(p as u16);
                for slot in 0..Cx::TIMER_SLOTS {
                    self.fire(pcpu, slot);
                }
                if self.slices[p] == Some(at) {
                    self.slices[p] = None;
                    self.pending.insert(pcpu);
                }
            }
            self.settle();
        }
        self.now = end;
    }

    /// Fires timer `slot` of `pcpu`, if it is due.
    fn fire(&mut self, pcpu: PcpuId, slot: u8) {
        if self.timers[pcpu.index()][slot as usize] == Some(self.now) {
            self.timers[pcpu.index()][slot as usize] = None;
            let next = self.call(|s, cx| s.timer(cx, pcpu, slot));
            if next.is_some() {
                self.timers[pcpu.index()][slot as usize] = next;
            }
        }
    }

    pub fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        self.run_to(end);
    }
}
