//! The mini host: the smallest honest host of a [`Scheduler`].
//!
//! It does what [`domio_contract::contract`] and xen-spec 0.2 to 0.8 say, slowly and obviously.
//! Nothing
//! costs time. Pending events lie in a `Vec`, in their order; of simultaneous ones, timers and
//! guests come before the scheduler softirq (xen-spec 0.2), and otherwise first in is first out.
//!
//! The operator's code runs on the pcpu of the vcpu that it is about, and what creates vcpus on the
//! first pcpu. Two orders of events are the host's own choice, where Xen leaves the contract open:
//! - A pcpu that comes online gets a scheduler pass immediately.
//! - A pcpu that goes offline first disappears from [`Cx::online`]. Its vcpus are then moved as by
//!   a change of affinity; the pass that takes the current one off must answer "idle".
//!   `pcpu_offline` follows when the pcpu idles and no vcpu belongs to it.

mod life;
mod tell;
#[cfg(test)]
mod tests;

use super::log::{Fault, LogEntry, Occurrence, PolicyCall, Run};
use super::script::{Intervention, Script, ScriptError};
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_contract::{
    Affinity, Cx, Effect, Pause, Pick, Prev, Scheduler, StateRows, Stop, Tables, VcpuView,
};
use domio_core::{DomainId, Duration, Instant, ParamValues, PcpuId, VcpuId};

/// Runs `script` under `policy`. The run ends at [`Script::end`], or at the first decision that no
/// host could carry out; the last entry of the log is a [`Occurrence::Fault`] then.
///
/// # Errors
/// When the script itself makes no sense ([`Script::check`]).
pub fn run(script: &Script, policy: Box<dyn Scheduler>) -> Result<Run, ScriptError> {
    run_traced(script, policy, true)
}

/// As [`run`], and notifies the policy that no trace is kept: [`Cx::tracing`] is false.
///
/// # Errors
/// As [`run`].
pub fn run_untraced(script: &Script, policy: Box<dyn Scheduler>) -> Result<Run, ScriptError> {
    run_traced(script, policy, false)
}

fn run_traced(
    script: &Script,
    policy: Box<dyn Scheduler>,
    tracing: bool,
) -> Result<Run, ScriptError> {
    script.check()?;
    let mut host = Host::new(script, policy, tracing);
    host.boot();
    while !host.ended() {
        let Some(event) = host.take_earliest() else {
            break;
        };
        host.handle(event);
    }
    let state = StateRows::of(&*host.policy);
    let end = if host.ended() { host.now } else { script.end };
    let log = host.log;
    Ok(Run { log, end, state })
}

/// Something that is going to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Create(VcpuId),
    Destroy(VcpuId),
    Operator(Intervention),
    /// A vcpu, while it executes, comes to the end of its step.
    StepEnds(VcpuId),
    /// The timeout of a block.
    Timeout(VcpuId),
    SliceEnds(PcpuId),
    Timer(PcpuId, u8),
    DomainTimer(DomainId),
    /// The scheduler softirq.
    Schedule(PcpuId),
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    at: Instant,
    sequence: u64,
    event: Event,
}

impl Pending {
    fn key(&self) -> (Instant, bool, u64) {
        let softirq = matches!(self.event, Event::Schedule(_));
        (self.at, softirq, self.sequence)
    }
}

/// What the host knows of a pcpu and the policy does not.
#[derive(Clone, Copy, Default)]
struct Pcpu {
    /// When the current vcpu was switched in.
    since: Instant,
    /// Why the coming pass happens.
    slice_ended: bool,
    yielded: bool,
    /// Going offline.
    leaving: bool,
}

/// What the host knows of a vcpu and the policy does not.
#[derive(Clone, Default)]
struct Vcpu {
    /// Between `insert` and `remove`.
    exists: bool,
    /// To be removed when it has stopped.
    dying: bool,
    /// An event came while it was not blocked: the next block returns immediately.
    event_pending: bool,
    /// Which of its steps it is at.
    step: usize,
    /// What is left of that step.
    left: Duration,
    /// Since when it executes; `None` while it does not.
    executes_since: Option<Instant>,
}

struct Host<'s> {
    script: &'s Script,
    policy: Box<dyn Scheduler>,
    tracing: bool,
    tables: Tables,
    now: Instant,
    sequence: u64,
    /// The earliest last.
    pending: Vec<Pending>,
    /// Events handled at this instant.
    rounds: u32,
    pcpus: Vec<Pcpu>,
    vcpus: Vec<Vcpu>,
    domains: Vec<(DomainId, ParamValues)>,
    /// By vcpu: its own parameters, if any were told.
    own: Vec<Option<ParamValues>>,
    /// By group; none for a policy that has no groups.
    groups: Vec<ParamValues>,
    log: Vec<LogEntry>,
    /// Room for the effects of a call; empty between calls.
    effects: Vec<Effect>,
}

impl<'s> Host<'s> {
    fn new(script: &'s Script, policy: Box<dyn Scheduler>, tracing: bool) -> Self {
        let mut tables = Tables::new(script.topology.clone());
        let mut down = Pause::NONE;
        down.set(Pause::DOWN);
        for v in &script.vcpus {
            tables.vcpus.push(VcpuView {
                name: v.name,
                pcpu: PcpuId(0),
                pause: down,
                on_pcpu: false,
            });
            tables.affinity.push(Affinity {
                hard: v.hard,
                soft: v.soft,
            });
        }
        Host {
            policy,
            tracing,
            tables,
            now: Instant::ZERO,
            sequence: 0,
            pending: Vec::new(),
            rounds: 0,
            pcpus: alloc::vec![Pcpu::default(); script.topology.pcpus()],
            vcpus: alloc::vec![Vcpu::default(); script.vcpus.len()],
            domains: Vec::new(),
            own: alloc::vec![None; script.vcpus.len()],
            groups: Vec::new(),
            log: Vec::new(),
            effects: Vec::new(),
            script,
        }
    }

    fn boot(&mut self) {
        for pcpu in self.script.topology.all().iter() {
            self.bring_online(pcpu);
        }
        self.tell_groups();
        for (i, v) in self.script.vcpus.iter().enumerate() {
            let id = VcpuId(i as u32);
            self.add(v.starts, Event::Create(id));
            if let Some(stops) = v.stops {
                self.add(stops, Event::Destroy(id));
            }
        }
        for (at, action) in &self.script.actions {
            self.add(*at, Event::Operator(*action));
        }
    }

    // ---- time -------------------------------------------------------------------------------

    fn add(&mut self, at: Instant, event: Event) {
        let new = Pending {
            at: at.max(self.now),
            sequence: self.sequence,
            event,
        };
        let place = self.pending.partition_point(|p| p.key() > new.key());
        self.pending.insert(place, new);
        self.sequence += 1;
    }

    fn cancel(&mut self, event: Event) {
        self.pending.retain(|p| p.event != event);
    }

    /// Takes the next event out and moves time to it; `None` when the script ends before it.
    fn take_earliest(&mut self) -> Option<Event> {
        let next = self.pending.pop_if(|p| p.at < self.script.end)?;
        if next.at > self.now {
            self.now = next.at;
            self.rounds = 0;
        }
        self.rounds += 1;
        Some(next.event)
    }

    /// Most events that one instant may have. Everything that an honest policy does immediately is
    /// a small multiple of the number of pcpus and vcpus.
    fn rounds_max(&self) -> u32 {
        1000 + 100 * (self.pcpus.len() + self.vcpus.len()) as u32
    }

    fn handle(&mut self, event: Event) {
        if self.rounds > self.rounds_max() {
            return self.fault(Fault::Endless(self.rounds));
        }
        match event {
            Event::Create(v) => self.create(v),
            Event::Destroy(v) => self.destroy(v),
            Event::Operator(action) => self.operate(action),
            Event::StepEnds(v) => self.step(v),
            Event::Timeout(v) => self.send_event(v, self.home(v)),
            Event::SliceEnds(p) => {
                self.pcpus[p.index()].slice_ended = true;
                self.raise_schedule(p);
            }
            Event::Timer(p, slot) => {
                let fire = |s: &mut dyn Scheduler, cx: &mut Cx<'_>| {
                    if let Some(at) = s.timer(cx, p, slot) {
                        cx.set_timer(p, slot, at);
                    }
                };
                self.call(fire, |()| PolicyCall::Timer(p, slot));
            }
            Event::DomainTimer(domain) => {
                self.tables.here = self.tables.online.first().expect("some pcpu is online");
                let fire = |s: &mut dyn Scheduler, cx: &mut Cx<'_>| {
                    if let Some(at) = s.domain_timer(cx, domain) {
                        cx.set_domain_timer(domain, at);
                    }
                };
                self.call(fire, |()| PolicyCall::DomainTimer(domain));
            }
            Event::Schedule(p) => self.schedule(p),
        }
    }

    // ---- the boundary -----------------------------------------------------------------------

    /// Logs `what`; a fault is the last entry.
    fn note(&mut self, what: Occurrence) {
        if !self.ended() {
            self.log.push(LogEntry { at: self.now, what });
        }
    }

    fn fault(&mut self, fault: Fault) {
        self.note(Occurrence::Fault(fault));
    }

    fn ended(&self) -> bool {
        matches!(self.log.last(), Some(e) if matches!(e.what, Occurrence::Fault(_)))
    }

    /// Calls the policy, logs the call as `entry` names it, and carries out the effects.
    fn call<R>(
        &mut self,
        method: impl FnOnce(&mut dyn Scheduler, &mut Cx<'_>) -> R,
        entry: impl FnOnce(&R) -> PolicyCall,
    ) -> R {
        let mut effects = core::mem::take(&mut self.effects);
        let mut cx = Cx::new(self.now, &mut self.tables, &mut effects, self.tracing);
        let answer = method(&mut *self.policy, &mut cx);
        self.note(Occurrence::Call(entry(&answer)));
        for effect in effects.drain(..) {
            if !self.ended() {
                self.carry_out(effect);
            }
        }
        self.effects = effects;
        answer
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Tickle(p) => {
                self.note(Occurrence::Tickle(p));
                if self.takes_part(p) {
                    self.raise_schedule(p);
                }
            }
            Effect::Timer { pcpu, slot, at } => {
                self.note(Occurrence::Timer(pcpu, slot, at));
                self.cancel(Event::Timer(pcpu, slot));
                match at {
                    Some(at) if self.takes_part(pcpu) => self.add(at, Event::Timer(pcpu, slot)),
                    Some(_) => self.fault(Fault::NotOnline(pcpu)),
                    None => {}
                }
            }
            Effect::DomainTimer { domain, at } => {
                self.note(Occurrence::DomainTimer(domain, at));
                self.cancel(Event::DomainTimer(domain));
                if let Some(at) = at {
                    self.add(at, Event::DomainTimer(domain));
                }
            }
            Effect::Park(v) | Effect::Unpark(v) => {
                if !self.vcpus[v.index()].exists {
                    return self.fault(Fault::NoSuchVcpu(v));
                }
                self.pause_changed(v);
            }
            Effect::Migrate(v) => {
                if !self.vcpus[v.index()].exists {
                    return self.fault(Fault::NoSuchVcpu(v));
                }
                self.note(Occurrence::Migrate(v));
                self.pause_changed(v);
                self.migrate_if_stopped(v);
            }
            Effect::Move(v, pcpu) => self.moved(v, pcpu),
            Effect::Note { number, words, .. } => self.is_declared(number, &words),
        }
    }

    /// A record is of the policy's class, and has no more words than that declares.
    fn is_declared(&self, number: u8, words: &[u32]) {
        let class = self.policy.classes().into_iter().flatten().next();
        let declared = class.and_then(|class| class.declared(number));
        let declared = declared.expect("a policy declares its records");
        let further = &words[usize::from(declared.words)..];
        assert!(
            further.iter().all(|word| *word == 0),
            "record {number} has more words than are declared"
        );
    }

    /// Whether `pcpu` is online or on its way out.
    fn takes_part(&self, pcpu: PcpuId) -> bool {
        let known = pcpu.index() < self.pcpus.len();
        known && (self.tables.online.contains(pcpu) || self.pcpus[pcpu.index()].leaving)
    }

    fn raise_schedule(&mut self, pcpu: PcpuId) {
        let raised = |p: &Pending| p.event == Event::Schedule(pcpu);
        if !self.pending.iter().any(raised) {
            self.add(self.now, Event::Schedule(pcpu));
        }
    }

    // ---- the scheduler softirq (xen-spec 0.5) -----------------------------------------------

    fn schedule(&mut self, pcpu: PcpuId) {
        self.cancel(Event::SliceEnds(pcpu));
        let prev = self.tables.pcpus[pcpu].current;
        let question = self.prev(pcpu, prev);
        let pick = self.call(
            |s, cx| s.schedule(cx, pcpu, question),
            |pick| PolicyCall::Schedule(pcpu, question, *pick),
        );
        if self.ended() {
            return;
        }
        if let Some(fault) = self.refuses(pcpu, pick) {
            return self.fault(fault);
        }
        if let Some(slice) = pick.time_slice {
            self.add(self.now + slice, Event::SliceEnds(pcpu));
        }
        if pick.next == prev {
            if let Some(v) = prev {
                self.resume(v);
            }
            return;
        }
        self.switch(pcpu, prev, pick.next);
        if let Some(v) = prev {
            self.save_context(v);
        }
        self.leave_if_empty(pcpu);
    }

    fn prev(&mut self, pcpu: PcpuId, vcpu: Option<VcpuId>) -> Prev {
        let state = &mut self.pcpus[pcpu.index()];
        let (yielded, slice_ended) = (state.yielded, state.slice_ended);
        (state.yielded, state.slice_ended) = (false, false);
        let stopped = vcpu.is_some_and(|v| !self.tables.vcpus[v.index()].runnable());
        Prev {
            vcpu,
            ran: match vcpu {
                Some(_) => self.now.since(state.since),
                None => Duration::ZERO,
            },
            why: if stopped {
                Stop::NotRunnable
            } else if yielded {
                Stop::Yielded
            } else if slice_ended {
                Stop::Slice
            } else {
                Stop::Tickled
            },
        }
    }

    fn refuses(&self, pcpu: PcpuId, pick: Pick) -> Option<Fault> {
        if pick.time_slice.is_some_and(Duration::is_zero) {
            return Some(Fault::ZeroSlice(pcpu));
        }
        let v = pick.next?;
        if !self.vcpus.get(v.index()).is_some_and(|known| known.exists) {
            return Some(Fault::NoSuchVcpu(v));
        }
        let view = &self.tables.vcpus[v.index()];
        if !view.runnable() {
            return Some(Fault::NotRunnable(pcpu, v, view.pause));
        }
        if view.on_pcpu && self.tables.pcpus[pcpu].current != Some(v) {
            return Some(Fault::RunsElsewhere(pcpu, v));
        }
        if !self.tables.affinity[v.index()].hard.contains(pcpu) {
            return Some(Fault::NotAllowed(pcpu, v));
        }
        (!self.tables.online.contains(pcpu)).then_some(Fault::NotOnline(pcpu))
    }

    fn switch(&mut self, pcpu: PcpuId, prev: Option<VcpuId>, next: Option<VcpuId>) {
        if let Some(v) = prev {
            self.suspend(v);
        }
        self.note(Occurrence::Switch(pcpu, prev, next));
        self.tables.pcpus[pcpu].current = next;
        self.pcpus[pcpu.index()].since = self.now;
        if let Some(v) = next {
            self.assign(v, pcpu);
            self.tables.vcpus[v.index()].on_pcpu = true;
            self.resume(v);
        }
    }

    fn save_context(&mut self, v: VcpuId) {
        self.tables.vcpus[v.index()].on_pcpu = false;
        self.call(
            |s, cx| s.context_saved(cx, v),
            |()| PolicyCall::ContextSaved(v),
        );
        self.migrate_if_stopped(v);
        self.remove_if_stopped(v);
    }
}
