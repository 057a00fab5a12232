//! How long each vcpu of a KVM guest polls before it sleeps (linux-spec 9.2).

use crate::config::HaltPolling;
use alloc::vec::Vec;
use domio_core::{Duration, Instant, VcpuId};

/// A vcpu that polls when it halts.
#[derive(Clone, Copy)]
struct HaltPoll {
    rules: HaltPolling,
    /// How long the next halt polls.
    window: Duration,
    /// Since when the vcpu halts; [`Instant::MAX`] if it does not.
    since: Instant,
}

/// All vcpus that poll when they halt.
#[derive(Default)]
pub(crate) struct HaltPolls {
    /// By vcpu; empty on a host where none polls.
    all: Vec<Option<HaltPoll>>,
}

impl HaltPolls {
    /// `vcpu` polls by `rules`.
    pub fn add(&mut self, vcpu: VcpuId, rules: HaltPolling) {
        if rules.max.is_zero() {
            return;
        }
        if self.all.len() <= vcpu.index() {
            self.all.resize(vcpu.index() + 1, None);
        }
        self.all[vcpu.index()] = Some(HaltPoll {
            rules,
            window: Duration::ZERO,
            since: Instant::MAX,
        });
    }

    /// Whether any vcpu of the host polls.
    #[inline(always)]
    pub fn any(&self) -> bool {
        !self.all.is_empty()
    }

    /// `vcpu` has something to do at `now`: if it halted, that is over.
    #[inline]
    pub fn over(&mut self, vcpu: VcpuId, now: Instant) {
        if let Some(Some(poll)) = self.all.get_mut(vcpu.index())
            && poll.since != Instant::MAX
        {
            let halted = now.saturating_since(poll.since);
            poll.window = poll.rules.next(poll.window, halted);
            poll.since = Instant::MAX;
        }
    }

    /// Until when `vcpu`, which has nothing to do at `now`, may poll; `None` when it does not.
    pub fn until(&mut self, vcpu: VcpuId, now: Instant) -> Option<Instant> {
        let poll = self.all.get_mut(vcpu.index())?.as_mut()?;
        if poll.since == Instant::MAX {
            poll.since = now;
        }
        let until = poll.since + poll.window;
        (until > now).then_some(until)
    }
}
