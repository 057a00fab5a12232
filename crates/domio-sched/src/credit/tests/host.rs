//! What the [`Rig`] does as a host.

use super::*;

impl Rig {
    /// Calls the policy and carries out what it asks for.
    pub fn call<T>(&mut self, body: impl FnOnce(&mut Credit, &mut Cx<'_>) -> T) -> T {
        let mut effects = Vec::new();
        let mut cx = Cx::new(self.now, &mut self.tables, &mut effects, true);
        let answer = body(&mut self.credit, &mut cx);
        for effect in effects {
            match effect {
                Effect::Tickle(p) => {
                    self.pending.insert(p);
                    self.tickled.insert(p);
                }
                Effect::Timer { pcpu, slot, at } => {
                    self.timers[pcpu.index()][slot as usize] = at;
                }
                Effect::Migrate(v) => {
                    assert!(
                        Some(v) == self.current(self.home(v)),
                        "only current ones migrate"
                    );
                }
                Effect::Park(_) | Effect::Unpark(_) => {}
                Effect::Move(v, pcpu) => {
                    assert!(!self.tables.vcpus[v.index()].on_pcpu, "{v:?} runs");
                    assert!(
                        self.tables.may_run_on(v, pcpu),
                        "{v:?} may not run on {pcpu}"
                    );
                }
                Effect::DomainTimer { .. } => unreachable!("credit has no timers of domains"),
                Effect::Note {
                    number,
                    about,
                    words,
                    ..
                } => {
                    let name = about.map(|v| self.tables.vcpus[v.index()].name);
                    let mut told = noted(self.credit.class(), number, name, words);
                    // Xen's credit has two words for a vcpu, but in one record, and in one place.
                    if let Some(name) = name.filter(|_| number != 10) {
                        let split = [u32::from(name.domain.0), u32::from(name.index)];
                        told.splice(..1, split);
                        if number == 4 {
                            told.rotate_left(2);
                        }
                    }
                    self.notes.push((number, told));
                }
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
        let pick = self.call(|c, cx| c.schedule(cx, pcpu, prev));
        self.slices[pcpu.index()] = pick.time_slice.map(|s| self.now + s);
        if pick.next != before {
            self.switch(pcpu, before, pick.next);
        }
        pick
    }

    fn switch(&mut self, pcpu: PcpuId, before: Option<VcpuId>, next: Option<VcpuId>) {
        self.tables.pcpus[pcpu].current = next;
        self.since[pcpu.index()] = self.now;
        if let Some(v) = next {
            let view = &mut self.tables.vcpus[v.index()];
            assert!(view.runnable(), "{v:?} was picked, but is not runnable");
            assert!(!view.on_pcpu, "{v:?} was picked, but runs elsewhere");
            view.pcpu = pcpu;
            view.on_pcpu = true;
            assert!(self.tables.affinity[v.index()].hard.contains(pcpu));
        }
        if let Some(v) = before {
            self.tables.vcpus[v.index()].on_pcpu = false;
            self.call(|c, cx| c.context_saved(cx, v));
            if self.tables.vcpus[v.index()].pause.has(Pause::MIGRATING) {
                self.migrate(v);
            }
        }
    }

    /// Carries out a migration: `vcpu` is neither queued nor current.
    pub fn migrate(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()]
            .pause
            .clear(Pause::MIGRATING);
        let pcpu = self.call(|c, cx| c.pick_pcpu(cx, vcpu));
        self.tables.vcpus[vcpu.index()].pcpu = pcpu;
        if self.tables.vcpus[vcpu.index()].runnable() {
            self.call(|c, cx| c.wake(cx, vcpu, Wake::Migrate));
        }
    }

    /// Passes wherever one is pending, until none is.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            match self.pending.first() {
                Some(p) => drop(self.pass(p)),
                None => return,
            }
        }
        panic!("passes without end");
    }

    /// Fires timer `slot` of `pcpu` now.
    pub fn fire(&mut self, pcpu: PcpuId, slot: u8) {
        self.timers[pcpu.index()][slot as usize] = None;
        self.call(|c, cx| {
            if let Some(at) = c.timer(cx, pcpu, slot) {
                cx.set_timer(pcpu, slot, at);
            }
        });
    }

    /// The tick of `pcpu`, now.
    pub fn tick(&mut self, pcpu: PcpuId) {
        self.fire(pcpu, 0);
    }

    /// Accounting, now, whatever the release calls it by.
    pub fn account(&mut self) {
        let master = self.credit.master.expect("a pcpu is online");
        self.call(|c, cx| c.account(cx, master));
    }

    /// Lets time pass, with timers, slices and passes as they come.
    pub fn run_to(&mut self, end: Instant) {
        self.settle();
        while let Some((at, pcpu, slot)) = self.earliest().filter(|(at, ..)| *at <= end) {
            self.now = self.now.max(at);
            match slot {
                Some(slot) => self.fire(pcpu, slot),
                None => {
                    self.slices[pcpu.index()] = None;
                    self.pending.insert(pcpu);
                }
            }
            // Whatever expires at the same time comes before the passes.
            if self.earliest().is_none_or(|(at, ..)| at > self.now) {
                self.settle();
            }
        }
        self.now = end;
    }

    /// What comes next: a timer, or the end of a slice (`None`).
    fn earliest(&self) -> Option<(Instant, PcpuId, Option<u8>)> {
        let mut all = Vec::new();
        for p in 0..self.timers.len() {
            let pcpu = PcpuId(p as u16);
            for slot in 0..2 {
                if let Some(at) = self.timers[p][slot as usize] {
                    all.push((at, pcpu, Some(slot)));
                }
            }
            if let Some(at) = self.slices[p] {
                all.push((at, pcpu, None));
            }
        }
        all.into_iter().min_by_key(|(at, ..)| *at)
    }

    /// Moves time without letting anything happen.
    pub fn skip(&mut self, by: Duration) {
        self.now += by;
    }
}
