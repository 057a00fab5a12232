//! The boundary log: every call, decision and effect between host and policy, and what the host
//! did because of them.
//!
//! Logs of two runs compare with `==`; one entry prints as one line. The checkers see nothing
//! else, so that whatever keeps such a log can be checked.

use alloc::vec::Vec;
use core::fmt;
use domio_contract::{GroupId, PacketsMoved, Pause, Pick, Prev, StateRows, Stop, Wake, WorksFor};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, VcpuId};

/// One line of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogEntry {
    /// When.
    pub at: Instant,
    /// What.
    pub what: Occurrence,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occurrence {
    /// A call of the policy, with its answer. The effects that it asked for follow.
    Call(PolicyCall),
    /// The policy tickled a pcpu.
    Tickle(PcpuId),
    /// The policy set or stopped (`None`) a timer.
    Timer(PcpuId, u8, Option<Instant>),
    /// The policy set or stopped (`None`) the timer of a domain.
    DomainTimer(DomainId, Option<Instant>),
    /// The policy flagged a vcpu to migrate.
    Migrate(VcpuId),
    /// These are the pcpus that take part from now on.
    Online(CpuSet),
    /// These are the reasons for which a vcpu does not run from now on.
    Paused(VcpuId, Pause),
    /// A vcpu belongs to this pcpu from now on.
    Belongs(VcpuId, PcpuId),
    /// A vcpu has this hard and soft affinity from now on.
    Affinity(VcpuId, CpuSet, CpuSet),
    /// A pcpu switched from one vcpu (`None`: idle) to another.
    Switch(PcpuId, Option<VcpuId>, Option<VcpuId>),
    /// The host refused what the policy wanted, and ended the run.
    Fault(Fault),
}

/// A call of the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(
    missing_docs,
    reason = "each is the method of `Scheduler` of that name, with its arguments"
)]
pub enum PolicyCall {
    PcpuOnline(PcpuId),
    PcpuOffline(PcpuId),
    SetDomain(DomainId, Option<Reserved>),
    SetVcpu(VcpuId, Option<Reserved>),
    SetGroup(GroupId),
    Join(DomainId, Option<GroupId>),
    HostThread(VcpuId, WorksFor),
    SetParams(ParamChange),
    Charge(Charge),
    Packets(PacketsMoved),
    Dispatching(VcpuId, u32),
    Insert(VcpuId),
    Remove(VcpuId),
    PickPcpu(VcpuId, PcpuId),
    Wake(VcpuId, Wake),
    Sleep(VcpuId),
    Yielded(VcpuId),
    Schedule(PcpuId, Prev, Pick),
    ContextSaved(VcpuId),
    Timer(PcpuId, u8),
    DomainTimer(DomainId),
}

/// What a vcpu, or each vcpu of a domain, is told to have reserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reserved {
    /// The parameter `period_us`.
    pub period: Duration,
    /// The parameter `budget_us`, at most the period.
    pub budget: Duration,
    /// Whether it may have more: the parameter `extratime`.
    pub extratime: bool,
}

impl Reserved {
    /// What `params` say, if they speak of reservations.
    pub fn of(params: &ParamValues) -> Option<Reserved> {
        let time = |name| Some(Duration::from_micros(params.by_name(name)? as u64));
        let period = time("period_us")?;
        Some(Reserved {
            period,
            budget: time("budget_us")?.min(period),
            extratime: params.by_name("extratime")? != 0,
        })
    }
}

/// A change of one of the parameters of the policy as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamChange {
    /// Which.
    pub name: &'static str,
    /// The value that was asked for.
    pub value: i64,
    /// Whether the policy took it.
    pub taken: bool,
    /// Whether the policy says then that just the change is in force, or nothing of it if refused.
    pub as_told: bool,
    /// What `tslice_ms` has to be from now on, if the policy has that.
    pub tslice_ms: Option<i64>,
}

/// A charge for what others did on behalf of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Charge {
    /// Whom.
    pub domain: DomainId,
    /// For how long they worked.
    pub done: Duration,
    /// Whether the policy took it.
    pub taken: bool,
    /// What the domain owed before by the policy's account, if it can be charged.
    pub before: Option<Duration>,
    /// Likewise after.
    pub after: Option<Duration>,
}

impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = if self.taken { "" } else { ", refused" };
        write!(f, "charge({}, {}){refused}", self.domain, self.done)
    }
}

impl fmt::Display for ParamChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = if self.taken { "" } else { ", refused" };
        write!(f, "set_params({} = {}){refused}", self.name, self.value)
    }
}

/// Why the host ended a run: something that no host could carry out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Picked a vcpu that is not runnable.
    NotRunnable(PcpuId, VcpuId, Pause),
    /// Picked a vcpu whose state another pcpu still holds.
    RunsElsewhere(PcpuId, VcpuId),
    /// Picked a vcpu for, or assigned it to, a pcpu outside its hard affinity.
    NotAllowed(PcpuId, VcpuId),
    /// Assigned a vcpu to, picked one for, or set a timer on a pcpu that is not online.
    NotOnline(PcpuId),
    /// Named a vcpu that does not exist yet or any more.
    NoSuchVcpu(VcpuId),
    /// Returned a time slice of zero.
    ZeroSlice(PcpuId),
    /// Asked for more and more work at one instant.
    Endless(u32),
}

/// A finished run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// What happened, in order.
    pub log: Vec<LogEntry>,
    /// When the run ended: at the script's end, or at a fault.
    pub end: Instant,
    /// What the policy says of its state then ([`domio_contract::Scheduler::state`]).
    pub state: StateRows,
}

impl Run {
    /// Index of the first entry in which two runs differ; `None` when they are equal. The index
    /// is that of the end of the shorter log when one is the start of the other.
    pub fn first_difference(&self, other: &Run) -> Option<usize> {
        let common = self.log.len().min(other.log.len());
        (0..common)
            .find(|i| self.log[*i] != other.log[*i])
            .or((self.log.len() != other.log.len()).then_some(common))
    }

    /// From when to when `vcpu` had a pcpu, in turn. The last turn may last until the run's end.
    pub fn turns_of(&self, vcpu: VcpuId) -> Vec<(Instant, Instant)> {
        let mut turns = Vec::new();
        let mut since = None;
        for entry in &self.log {
            if let Occurrence::Switch(_, from, to) = entry.what {
                if from == Some(vcpu) {
                    turns.push((since.take().expect("it ran"), entry.at));
                }
                if to == Some(vcpu) {
                    since = Some(entry.at);
                }
            }
        }
        turns.extend(since.map(|s| (s, self.end)));
        turns
    }
}

/// A vcpu by its id.
struct V(VcpuId);

impl fmt::Display for V {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0.0)
    }
}

/// A vcpu or "idle".
struct OrIdle(Option<VcpuId>);

impl fmt::Display for OrIdle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(v) => V(v).fmt(f),
            None => f.write_str("idle"),
        }
    }
}

/// A set of pcpus or "any".
struct Set(CpuSet);

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CpuSet::ALL => f.write_str("any"),
            set => write!(f, "{set:?}"),
        }
    }
}

/// The reasons of a pause, in words.
struct Reasons(Pause);

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            (Pause::BLOCKED, "blocked"),
            (Pause::MIGRATING, "migrating"),
            (Pause::DOWN, "down"),
            (Pause::PARKED, "parked"),
            (Pause::PAUSED, "paused"),
        ];
        if self.0 == Pause::NONE {
            return f.write_str("runnable");
        }
        let mut comma = "";
        for (flag, word) in words {
            if self.0.has(flag) {
                write!(f, "{comma}{word}")?;
                comma = ", ";
            }
        }
        Ok(())
    }
}

impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.what)
    }
}

impl fmt::Display for Occurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Occurrence::Call(call) => call.fmt(f),
            Occurrence::Tickle(p) => write!(f, "    tickles {p}"),
            Occurrence::Timer(p, slot, Some(at)) => {
                write!(f, "    sets timer {slot} of {p} to {at}")
            }
            Occurrence::Timer(p, slot, None) => write!(f, "    stops timer {slot} of {p}"),
            Occurrence::DomainTimer(d, Some(at)) => write!(f, "    sets the timer of {d} to {at}"),
            Occurrence::DomainTimer(d, None) => write!(f, "    stops the timer of {d}"),
            Occurrence::Migrate(v) => write!(f, "    wants {} to migrate", V(v)),
            Occurrence::Online(set) => write!(f, "  online: {}", Set(set)),
            Occurrence::Paused(v, pause) => write!(f, "  {} is {}", V(v), Reasons(pause)),
            Occurrence::Belongs(v, p) => write!(f, "  {} belongs to {p}", V(v)),
            Occurrence::Affinity(v, hard, soft) => {
                write!(
                    f,
                    "  {} may run on {}, prefers {}",
                    V(v),
                    Set(hard),
                    Set(soft)
                )
            }
            Occurrence::Switch(p, from, to) => {
                write!(f, "  {p}: {} -> {}", OrIdle(from), OrIdle(to))
            }
            Occurrence::Fault(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for PolicyCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PolicyCall::PcpuOnline(p) => write!(f, "pcpu_online({p})"),
            PolicyCall::PcpuOffline(p) => write!(f, "pcpu_offline({p})"),
            PolicyCall::SetDomain(d, _) => write!(f, "set_domain({d})"),
            PolicyCall::SetVcpu(v, _) => write!(f, "set_vcpu({})", V(v)),
            PolicyCall::SetGroup(g) => write!(f, "set_group({g})"),
            PolicyCall::Join(d, Some(g)) => write!(f, "join({d}, {g})"),
            PolicyCall::Join(d, None) => write!(f, "join({d}, top)"),
            PolicyCall::HostThread(v, works) => write!(f, "host_thread(v{}, {works:?})", v.0),
            PolicyCall::SetParams(change) => change.fmt(f),
            PolicyCall::Charge(charge) => charge.fmt(f),
            PolicyCall::Packets(PacketsMoved {
                driver,
                guest,
                sent,
                received,
            }) => write!(
                f,
                "packets({driver} took {sent} from {guest} and gave it {received})"
            ),
            PolicyCall::Dispatching(v, n) => write!(f, "dispatching({}, {n})", V(v)),
            PolicyCall::Insert(v) => write!(f, "insert({})", V(v)),
            PolicyCall::Remove(v) => write!(f, "remove({})", V(v)),
            PolicyCall::PickPcpu(v, p) => write!(f, "pick_pcpu({}) = {p}", V(v)),
            PolicyCall::Wake(v, why) => write!(f, "wake({}, {why:?})", V(v)),
            PolicyCall::Sleep(v) => write!(f, "sleep({})", V(v)),
            PolicyCall::Yielded(v) => write!(f, "yielded({})", V(v)),
            PolicyCall::Schedule(p, prev, pick) => {
                let why = match prev.why {
                    Stop::Slice => "slice ended",
                    Stop::NotRunnable => "not runnable",
                    Stop::Yielded => "yielded",
                    Stop::Tickled => "tickled",
                };
                write!(
                    f,
                    "schedule({p}, {} ran {}, {why})",
                    OrIdle(prev.vcpu),
                    prev.ran
                )?;
                write!(f, " = {}", OrIdle(pick.next))?;
                match pick.time_slice {
                    Some(slice) => write!(f, " for {slice}"),
                    None => Ok(()),
                }
            }
            PolicyCall::ContextSaved(v) => write!(f, "context_saved({})", V(v)),
            PolicyCall::Timer(p, slot) => write!(f, "timer({p}, {slot})"),
            PolicyCall::DomainTimer(d) => write!(f, "domain_timer({d})"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Fault::NotRunnable(p, v, why) => {
                write!(f, "{} was picked for {p} but is {}", V(v), Reasons(why))
            }
            Fault::RunsElsewhere(p, v) => {
                write!(
                    f,
                    "{} was picked for {p} but another pcpu holds its state",
                    V(v)
                )
            }
            Fault::NotAllowed(p, v) => {
                write!(
                    f,
                    "{} was sent to {p}, which its hard affinity excludes",
                    V(v)
                )
            }
            Fault::NotOnline(p) => {
                write!(
                    f,
                    "{p} is not online: it gets no vcpu, no pick and no timer"
                )
            }
            Fault::NoSuchVcpu(v) => {
                write!(f, "{} was named but does not exist (yet or any more)", V(v))
            }
            Fault::ZeroSlice(p) => {
                write!(
                    f,
                    "the time slice for {p} is zero: it must be positive or none"
                )
            }
            Fault::Endless(rounds) => {
                write!(
                    f,
                    "{rounds} events at one instant: time would never advance"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_entry_is_one_readable_line() {
        let prev = Prev {
            vcpu: Some(VcpuId(3)),
            ran: Duration::from_millis(30),
            why: Stop::Slice,
        };
        let pick = Pick {
            next: None,
            time_slice: Some(Duration::from_micros(500)),
        };
        let entry = LogEntry {
            at: Instant::from_nanos(40_000_000),
            what: Occurrence::Call(PolicyCall::Schedule(PcpuId(1), prev, pick)),
        };
        assert_eq!(
            entry.to_string(),
            "0.040000000 s schedule(p1, v3 ran 30 ms, slice ended) = idle for 500 us"
        );
        let mut pause = Pause::NONE;
        pause.set(Pause::BLOCKED);
        pause.set(Pause::PARKED);
        let text = Occurrence::Paused(VcpuId(2), pause).to_string();
        assert_eq!(text, "  v2 is blocked, parked");
    }

    #[test]
    fn runs_differ_where_the_first_entry_differs() {
        let entry = |n| LogEntry {
            at: Instant::from_nanos(n),
            what: Occurrence::Tickle(PcpuId(0)),
        };
        let run = |times: &[u64]| Run {
            log: times.iter().map(|t| entry(*t)).collect(),
            end: Instant::ZERO,
            state: StateRows::default(),
        };
        assert_eq!(run(&[1, 2]).first_difference(&run(&[1, 2])), None);
        assert_eq!(run(&[1, 2]).first_difference(&run(&[1, 3])), Some(1));
        assert_eq!(run(&[1, 2]).first_difference(&run(&[1])), Some(1));
    }
}
