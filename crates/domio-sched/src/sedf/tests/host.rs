//! What the [`Rig`] does as a host.

use super::*;

impl Rig {
    /// Calls the policy and carries out what it asks for.
    pub fn call<T>(&mut self, body: impl FnOnce(&mut Sedf, &mut Cx<'_>) -> T) -> T {
        let mut effects = Vec::new();
        let mut cx = Cx::new(self.now, &mut self.tables, &mut effects, true);
        let answer = body(&mut self.sedf, &mut cx);
        for effect in effects {
            match effect {
                Effect::Tickle(p) => {
                    self.pending.insert(p);
                    self.tickled.insert(p);
                }
                Effect::Note {
                    event, len, words, ..
                } => {
                    self.notes.push((event, words[..len as usize].to_vec()));
                }
                other => panic!("SEDF needs nothing but tickling, and asks for {other:?}"),
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
        let slice = pick.time_slice.expect("every slice of SEDF ends");
        assert!(!slice.is_zero(), "a slice of nothing");
        self.slices[pcpu.index()] = Some(self.now + slice);
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
            assert!(!view.on_pcpu, "{v:?} was picked, but runs elsewhere");
            assert_eq!(view.pcpu, pcpu, "{v:?} belongs elsewhere");
            view.on_pcpu = true;
            assert!(self.tables.affinity[v.index()].hard.contains(pcpu));
        }
        if let Some(v) = before {
            self.ran[v.index()] += ran;
            self.tables.vcpus[v.index()].on_pcpu = false;
            self.call(|s, cx| s.context_saved(cx, v));
            if self.tables.vcpus[v.index()].pause.has(Pause::MIGRATING) {
                self.migrate(v);
            }
        }
    }

    pub fn ask_for_pcpu(&mut self, vcpu: VcpuId) {
        let pcpu = self.call(|s, cx| s.pick_pcpu(cx, vcpu));
        assert!(self.tables.online.contains(pcpu), "{pcpu} is not online");
        self.tables.vcpus[vcpu.index()].pcpu = pcpu;
    }

    /// Carries out a migration: `vcpu` is neither queued nor current.
    pub fn migrate(&mut self, vcpu: VcpuId) {
        self.tables.vcpus[vcpu.index()]
            .pause
            .clear(Pause::MIGRATING);
        self.ask_for_pcpu(vcpu);
        if self.tables.vcpus[vcpu.index()].runnable() {
            self.call(|s, cx| s.wake(cx, vcpu, Wake::Migrate));
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

    /// Lets time pass, with slices and passes as they come.
    pub fn run_to(&mut self, end: Instant) {
        self.settle();
        while let Some(at) = self.slices.iter().flatten().min().copied()
            && at <= end
        {
            self.now = at;
            for (p, slice) in self.slices.iter_mut().enumerate() {
                if *slice == Some(at) {
                    *slice = None;
                    self.pending.insert(PcpuId(p as u16));
                }
            }
            self.settle();
        }
        self.now = end;
    }

    /// Moves time without letting anything happen.
    pub fn skip(&mut self, by: Duration) {
        self.now += by;
    }
}
