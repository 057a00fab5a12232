//! What a host says of its queues by itself: where each vcpu waits and for what, of which rank it
//! is, which pcpus it may use, and when interrupts took the pcpu.

use domio_core::{ActorId, PcpuId, WaitsFor};

use super::WaitBooks;
use super::why::Why;

impl WaitBooks {
    /// The vcpu's wait is for this.
    pub(super) fn waits_for(&mut self, actor: ActorId, at: u64, what: WaitsFor) {
        let Some(slot) = self.place(actor) else {
            return;
        };
        self.flush(slot, at);
        if let Some(wait) = &mut self.list[slot].wait {
            wait.base = Some(match what {
                WaitsFor::Pass => Why::Pass,
                WaitsFor::Queue => Why::Queued,
                WaitsFor::Turn => Why::SliceOver,
                WaitsFor::Limit => Why::Throttled,
            });
        }
    }

    /// The vcpu waits in the queue of `to` from now on.
    pub(super) fn queues_on(&mut self, actor: ActorId, at: u64, to: PcpuId) {
        let Some(slot) = self.place(actor) else {
            return;
        };
        self.flush(slot, at);
        let from = std::mem::replace(&mut self.list[slot].home, to);
        if from == to || self.list[slot].wait.is_none() {
            return;
        }
        self.pcpu(from).waiters.retain(|other| *other != slot);
        self.pcpu(to).waiters.push(slot);
        let current = self.pcpu(to).current.map(|who| who.name);
        let rank = self.rank_on(to);
        let vcpu = &mut self.list[slot];
        if let Some(wait) = &mut vcpu.wait {
            wait.behind = current.filter(|name| !name.is_idle());
            wait.is_free = current.is_some_and(|name| name.is_idle());
            wait.waking = 0;
            wait.outranked = rank.is_some_and(|rank| rank < vcpu.rank);
        }
    }

    /// The vcpu is of this rank from now on, whether it waits or runs.
    pub(super) fn ranks(&mut self, actor: ActorId, at: u64, rank: u64) {
        let Some(slot) = self.place(actor) else {
            return;
        };
        self.flush(slot, at);
        self.list[slot].rank = rank;
        let home = self.list[slot].home;
        let runner = self.rank_on(home);
        let runs = self.runs(actor, home);
        let waiters = match runs {
            true => self.pcpu(home).waiters.clone(),
            false => vec![slot],
        };
        for slot in waiters {
            self.flush(slot, at);
            let vcpu = &mut self.list[slot];
            if let Some(wait) = &mut vcpu.wait {
                wait.outranked = runner.is_some_and(|runner| runner < vcpu.rank);
            }
        }
    }

    /// `pcpu` has served interrupts for the last `time` ns. Of what waits there that time was not
    /// behind who runs.
    pub(super) fn interrupted(&mut self, at: u64, pcpu: PcpuId, time: u64) {
        let waiters = std::mem::take(&mut self.pcpu(pcpu).waiters);
        for slot in &waiters {
            self.flush(*slot, at.saturating_sub(time));
            let idled = self.idling.until(at, self.list[*slot].may_use);
            let window = self.window;
            if let Some(wait) = &mut self.list[*slot].wait
                && at > wait.flushed
            {
                let part = window.part(wait.flushed, at);
                if part > 0 {
                    wait.parts.add((wait.behind, Why::Interrupts), part);
                }
                wait.flushed = at;
                wait.idled = idled;
            }
        }
        self.pcpu(pcpu).waiters = waiters;
    }

    /// The vcpu may use the pcpus of `bits` from `first` on.
    pub(super) fn may_use(&mut self, actor: ActorId, at: u64, first: u64, bits: u64) {
        let Some(slot) = self.place(actor) else {
            return;
        };
        self.flush(slot, at);
        let word = usize::from(first as u16) / 64;
        let before = match (word, self.list[slot].may_use) {
            (0, _) | (_, None) => Vec::new(),
            (_, Some(place)) => self.idling.set(place).to_vec(),
        };
        let mut set = before;
        set.resize(word + 1, 0);
        set[word] = bits;
        let pcpus = self.pcpus.iter().enumerate();
        let idle = pcpus.filter(|(_, pcpu)| pcpu.current.is_some_and(|who| who.name.is_idle()));
        let idle: Vec<PcpuId> = idle.map(|(number, _)| PcpuId(number as u16)).collect();
        let place = self.idling.place(at, set, &idle);
        let vcpu = &mut self.list[slot];
        vcpu.may_use = place;
        if let Some(wait) = &mut vcpu.wait {
            wait.idled = self.idling.until(at, place);
        }
    }
}
