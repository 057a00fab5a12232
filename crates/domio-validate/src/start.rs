//! The state in which a trace finds its host.
//!
//! A trace begins in mid-flight. What its records show of the host at that moment is read off here:
//! who runs since when, who waits, who sleeps, who is parked. The policy's own state is a matter of
//! [`PolicyState`](crate::policy::PolicyState).

use crate::recording::Recording;
use domio_core::{Duration, Instant, Kind, PcpuId, Runstate, VcpuName};
use domio_replay::NamedRecord;
use domio_replay::private::is_pass;
use domio_vmm::Profile;
use std::collections::BTreeMap;

/// What a trace shows of the state at its first record. All times are those of the trace.
#[derive(Clone, Debug)]
pub struct Start {
    /// Time of the first record.
    pub at: Instant,
    /// By pcpu: who runs, since when, until when its slice lasts.
    pub pcpus: Vec<StartPcpu>,
    /// Vcpus that appear in the trace, in the order in which they are dispatched.
    pub vcpus: Vec<StartVcpu>,
}

/// A pcpu in a [`Start`].
#[derive(Clone, Copy, Debug, Default)]
pub struct StartPcpu {
    /// Who runs.
    pub current: Option<VcpuName>,
    /// When it was switched in (a saturated subtraction: never before the trace's clock began).
    pub entered: Instant,
    /// When its slice ends, if the trace shows it.
    pub slice_end: Option<Instant>,
}

/// A vcpu in a [`Start`].
#[derive(Clone, Copy, Debug)]
pub struct StartVcpu {
    /// Which.
    pub name: VcpuName,
    /// Its runstate.
    pub state: Runstate,
    /// Where it is.
    pub pcpu: PcpuId,
    /// Since when it is in that state, as far as the trace shows.
    pub since: Instant,
    /// Offline because its domain was over its cap.
    pub parked: bool,
}

impl Start {
    /// Reads the state off `recording`.
    pub fn observe(recording: &Recording, profile: &Profile) -> Start {
        let at = recording.begin();
        let mut pcpus: Vec<StartPcpu> = Vec::new();
        for p in 0..recording.description.pcpus {
            let mut seen = observe_pcpu(&recording.records, PcpuId(p), profile);
            // A vcpu that moved before a record of its old pcpu showed it runs in one place only.
            if pcpus.iter().any(|other| other.current == seen.current) {
                seen.current = None;
            }
            pcpus.push(seen);
        }
        Start {
            at,
            pcpus,
            vcpus: observe_vcpus(&recording.records, at),
        }
    }
}

fn observe_pcpu(records: &[NamedRecord], pcpu: PcpuId, profile: &Profile) -> StartPcpu {
    let mut seen = StartPcpu::default();
    let mine = || records.iter().filter(|r| r.pcpu == pcpu);
    let first = mine().find(|r| {
        r.is(Kind::Continue)
            || r.runstates()
                .is_some_and(|(old, _)| old == Runstate::Running)
    });
    if let Some(r) = first.filter(|r| !r.vcpu.is_idle()) {
        seen.current = Some(r.vcpu);
    }
    let pass = mine().find(|r| is_pass(r)).map(|r| r.at);
    let ran = mine().find_map(|r| match r.kind {
        Some(Kind::InfPrev | Kind::Continue) => Some(Duration::from_nanos(u64::from(r.words[0]))),
        _ => None,
    });
    if let (Some(pass), Some(ran)) = (pass, ran) {
        seen.entered = pass.saturating_sub(ran);
        let provoked = mine()
            .take_while(|r| r.at <= pass)
            .any(|r| matches!(r.kind, Some(Kind::Wake | Kind::Sleep | Kind::Block)));
        if !provoked {
            seen.slice_end = Some(pass.saturating_sub(profile.timer_to_pass));
        }
    }
    seen
}

fn observe_vcpus(records: &[NamedRecord], begin: Instant) -> Vec<StartVcpu> {
    let mut observer = VcpuObserver {
        begin,
        ..VcpuObserver::default()
    };
    for r in records {
        observer.observe(r);
    }
    observer.finish()
}

/// Gathers the state of each vcpu from the first records that tell of it.
#[derive(Default)]
struct VcpuObserver {
    begin: Instant,
    /// In the order in which they first run or stop running.
    order: Vec<VcpuName>,
    found: BTreeMap<VcpuName, StartVcpu>,
    waiting: BTreeMap<VcpuName, Instant>,
}

impl VcpuObserver {
    fn observe(&mut self, r: &NamedRecord) {
        match r.kind {
            Some(Kind::RunstateChange) if !r.vcpu.is_idle() => {
                if let Some((old, new)) = r.runstates() {
                    let runs = new == Runstate::Running || old == Runstate::Running;
                    self.find(r, old, runs);
                }
            }
            Some(Kind::Continue) if !r.vcpu.is_idle() => self.find(r, Runstate::Running, true),
            // Written before the change of runstate that it explains.
            Some(Kind::InfNext) if !r.vcpu.is_idle() && !self.found.contains_key(&r.vcpu) => {
                let waited = Duration::from_nanos(u64::from(r.words[0]));
                let since = r.at.saturating_sub(waited).min(self.begin);
                self.waiting.insert(r.vcpu, since);
            }
            _ => {}
        }
    }

    /// The vcpu of `r` was in `state` until then.
    fn find(&mut self, r: &NamedRecord, state: Runstate, runs: bool) {
        self.found.entry(r.vcpu).or_insert(StartVcpu {
            name: r.vcpu,
            state,
            pcpu: r.pcpu,
            since: self.begin,
            parked: state == Runstate::Offline,
        });
        if runs && !self.order.contains(&r.vcpu) {
            self.order.push(r.vcpu);
        }
    }

    fn finish(mut self) -> Vec<StartVcpu> {
        for (name, v) in &mut self.found {
            if v.state == Runstate::Runnable
                && let Some(since) = self.waiting.get(name)
            {
                v.since = *since;
            }
        }
        // Those that never run come last.
        let never_ran = |name: &&VcpuName| !self.order.contains(name);
        let rest: Vec<VcpuName> = self.found.keys().filter(never_ran).copied().collect();
        let all = self.order.iter().chain(&rest);
        all.map(|name| self.found[name]).collect()
    }
}
