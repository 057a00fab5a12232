//! What pictures need of a trace: who does what in some part of it, and every length.

use domio_core::{
    ActorId, DomainId, Duration, Instant, Names, PcpuId, Record, Runstate, Sink, VcpuName,
};
use domio_trace::{Interval, Intervals};
use std::collections::{BTreeMap, VecDeque};

/// Most lengths that are kept of a domain and a kind; the first ones.
pub const LENGTHS_MAX: usize = 1_000_000;

/// Most stays that are kept of the past, so that a wait that turns out to be the longest has its
/// surroundings. A longer wait has those of its end alone.
const PAST_MAX: usize = 100_000;

/// Most stays that are kept of one part of a trace; the first ones. More cannot be drawn either.
const STAYS_MAX: usize = 1_000_000;

/// A stay of a vcpu in one runstate: an [`Interval`] by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeenStay {
    /// The vcpu.
    pub vcpu: VcpuName,
    /// The runstate; `None` when records are missing or contradict each other in between.
    pub state: Option<Runstate>,
    /// The runstate before.
    pub after: Runstate,
    /// The runstate that follows.
    pub next: Runstate,
    /// First instant.
    pub start: Instant,
    /// Instant at which the next runstate starts.
    pub end: Instant,
    /// Pcpu that recorded the start: for running, the one that it ran on.
    pub pcpu: PcpuId,
}

impl SeenStay {
    /// The stay of `vcpu` that `interval` is.
    fn of(vcpu: VcpuName, interval: &Interval) -> Self {
        SeenStay {
            vcpu,
            state: interval.state,
            after: interval.after,
            next: interval.next,
            start: interval.start,
            end: interval.end,
            pcpu: interval.pcpu,
        }
    }
}

/// Which part of a trace is kept in full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// Between two times since the first record.
    Between(Duration, Duration),
    /// Around the longest wait: so much, and more where the wait is longer than half of that.
    Worst(Duration),
}

/// Watches a trace: feed it every record.
#[derive(Debug)]
pub struct Observer {
    intervals: Intervals,
    /// By actor; none for idle ones.
    vcpus: Vec<Option<VcpuName>>,
    watch: Watch,
    seen: Seen,
}

/// What an [`Observer`] saw.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    /// Time of the first record.
    pub begin: Option<Instant>,
    /// The part that was kept; `None` when there is none.
    pub window: Option<(Instant, Instant)>,
    /// Stays in a runstate within that part, in the order of their ends.
    pub stays: Vec<SeenStay>,
    /// The longest wait, when the part around it was wanted: after a wake-up, or when there is none
    /// of those any wait.
    pub worst: Option<SeenStay>,
    /// By domain: lengths of completed runs, in microseconds.
    pub runs_us: BTreeMap<DomainId, Vec<f64>>,
    /// By domain: times from wake-up to running, in microseconds.
    pub wake_to_run_us: BTreeMap<DomainId, Vec<f64>>,
}

impl Observer {
    /// An observer that keeps the stays of `window`.
    pub fn new(window: Window) -> Self {
        Observer {
            intervals: Intervals::new(),
            vcpus: Vec::new(),
            watch: Watch::new(window),
            seen: Seen::default(),
        }
    }

    /// What it saw. Stays that last when the trace ends go up to its last record.
    pub fn finish(self) -> Seen {
        let Observer {
            intervals,
            vcpus,
            mut watch,
            mut seen,
        } = self;
        let begin = seen.begin.unwrap_or_default();
        intervals.finish(|interval| {
            if let Some(Some(vcpu)) = vcpus.get(interval.actor.index()) {
                take(*vcpu, interval, begin, &mut watch, &mut seen);
            }
        });
        match watch {
            Watch::Between { from, until, stays } => {
                seen.window = seen.begin.map(|begin| (begin + from, begin + until));
                seen.stays = stays;
            }
            Watch::Worst(search) => {
                if let Some(found) = search.woken.or(search.any) {
                    seen.window = Some((found.from, found.until));
                    seen.worst = Some(found.wait);
                    seen.stays = found.stays;
                }
            }
        }
        seen
    }
}

impl Sink for Observer {
    const OWNERS: bool = false;

    fn record(&mut self, names: &Names, record: &Record) {
        let Observer {
            intervals,
            vcpus,
            watch,
            seen,
        } = self;
        let known = vcpus.len();
        if known < names.actors().len() {
            let new = (known..names.actors().len()).map(|actor| ActorId(actor as u32));
            let guest = |actor| names.vcpu(actor).filter(|vcpu: &VcpuName| !vcpu.is_idle());
            vcpus.extend(new.map(guest));
        }
        let begin = *seen.begin.get_or_insert(record.at);
        intervals.feed(record, |interval| {
            if let Some(Some(vcpu)) = vcpus.get(interval.actor.index()) {
                take(*vcpu, interval, begin, watch, seen);
            }
        });
    }
}

/// Takes an interval of `vcpu`.
fn take(vcpu: VcpuName, interval: &Interval, begin: Instant, watch: &mut Watch, seen: &mut Seen) {
    let stay = SeenStay::of(vcpu, interval);
    watch.take(&stay, begin);
    seen.take(&stay);
}

/// What is kept in full.
#[derive(Debug)]
enum Watch {
    Between {
        from: Duration,
        until: Duration,
        stays: Vec<SeenStay>,
    },
    Worst(Search),
}

/// Keeps the past, and the surroundings of the longest wait so far.
#[derive(Debug)]
struct Search {
    wanted: Duration,
    past: VecDeque<SeenStay>,
    /// The longest wait after a wake-up.
    woken: Option<Found>,
    /// The longest wait of all.
    any: Option<Found>,
}

/// A wait with what lies around it.
#[derive(Debug)]
struct Found {
    wait: SeenStay,
    from: Instant,
    until: Instant,
    stays: Vec<SeenStay>,
}

impl Watch {
    fn new(window: Window) -> Self {
        match window {
            Window::Between(from, until) => Watch::Between {
                from,
                until,
                stays: Vec::new(),
            },
            Window::Worst(wanted) => Watch::Worst(Search {
                wanted,
                past: VecDeque::new(),
                woken: None,
                any: None,
            }),
        }
    }

    fn take(&mut self, stay: &SeenStay, begin: Instant) {
        match self {
            Watch::Between { from, until, stays } => {
                let inside = stay.end > begin + *from && stay.start < begin + *until;
                if inside && stays.len() < STAYS_MAX {
                    stays.push(*stay);
                }
            }
            Watch::Worst(search) => search.take(stay, begin),
        }
    }
}

impl Search {
    fn take(&mut self, stay: &SeenStay, begin: Instant) {
        for found in self.woken.iter_mut().chain(&mut self.any) {
            let inside = stay.end > found.from && stay.start < found.until;
            if inside && found.stays.len() < STAYS_MAX {
                found.stays.push(*stay);
            }
        }
        if self.past.len() == PAST_MAX {
            self.past.pop_front();
        }
        self.past.push_back(*stay);
        if is_whole(stay, Runstate::Runnable) && stay.next == Runstate::Running {
            let longer = |found: &Option<Found>| {
                let so_far = found.as_ref().map(|f| length(&f.wait));
                so_far.is_none_or(|so_far| length(stay) > so_far)
            };
            if stay.after == Runstate::Blocked && longer(&self.woken) {
                self.woken = Some(self.around(stay, begin));
            }
            // Nobody asks for it once there is a wait after a wake-up.
            if self.woken.is_some() {
                self.any = None;
            } else if longer(&self.any) {
                self.any = Some(self.around(stay, begin));
            }
        }
    }

    fn around(&self, wait: &SeenStay, begin: Instant) -> Found {
        let margin = self.wanted.saturating_sub(length(wait)) / 2;
        let margin = margin.max(length(wait) / 4);
        let from = wait.start.saturating_since(begin).saturating_sub(margin);
        let (from, until) = (begin + from, wait.end + margin);
        let inside = |stay: &&SeenStay| stay.end > from && stay.start < until;
        Found {
            wait: *wait,
            from,
            until,
            stays: self.past.iter().filter(inside).copied().collect(),
        }
    }
}

fn length(stay: &SeenStay) -> Duration {
    stay.end.saturating_since(stay.start)
}

/// Whether it is a stay in `state` from its beginning to its end: a record from a state to itself
/// marks an edge of the trace, and what lies at it is not whole.
fn is_whole(stay: &SeenStay, state: Runstate) -> bool {
    stay.state == Some(state) && stay.next != state && stay.after != state
}

impl Seen {
    fn take(&mut self, stay: &SeenStay) {
        let lengths = if is_whole(stay, Runstate::Running) {
            &mut self.runs_us
        } else if is_whole(stay, Runstate::Runnable)
            && stay.after == Runstate::Blocked
            && stay.next == Runstate::Running
        {
            &mut self.wake_to_run_us
        } else {
            return;
        };
        let lengths = lengths.entry(stay.vcpu.domain).or_default();
        if lengths.len() < LENGTHS_MAX {
            lengths.push(length(stay).as_nanos() as f64 / 1e3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Runstate::{Blocked, Runnable, Running};

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// What is seen of one vcpu that changes its state at these times.
    fn seen(window: Window, changes: &[(u64, Runstate, Runstate)]) -> Seen {
        let mut names = Names::new();
        let v = names.add_actor(VcpuName::new(DomainId(4), 0));
        let mut observer = Observer::new(window);
        for (at, old, new) in changes {
            let at = Instant::ZERO + us(*at);
            observer.record(&names, &Record::runstate(at, PcpuId(0), v, *old, *new));
        }
        observer.finish()
    }

    const CHANGES: [(u64, Runstate, Runstate); 7] = [
        (0, Running, Running),
        (10, Running, Blocked),
        (20, Blocked, Runnable),
        (23, Runnable, Running),
        (30, Running, Runnable),
        (40, Runnable, Running),
        (50, Running, Running),
    ];

    #[test]
    fn whole_stays_give_lengths_and_the_window_its_stays() {
        let seen = seen(Window::Between(us(0), us(25)), &CHANGES);
        assert_eq!(seen.begin, Some(Instant::ZERO));
        assert_eq!(seen.stays.len(), 4);
        assert_eq!(seen.worst, None);
        assert_eq!(seen.runs_us[&DomainId(4)], [7.0]);
        assert_eq!(seen.wake_to_run_us[&DomainId(4)], [3.0]);
        let later = self::seen(Window::Between(us(21), us(25)), &CHANGES);
        let states: Vec<_> = later.stays.iter().filter_map(|s| s.state).collect();
        assert_eq!(states, [Runnable, Running]);
    }

    #[test]
    fn the_longest_wait_after_a_wake_up_comes_before_longer_others() {
        let seen = seen(Window::Worst(us(12)), &CHANGES);
        let worst = seen.worst.unwrap();
        assert_eq!(
            (worst.start, worst.end),
            (Instant::ZERO + us(20), Instant::ZERO + us(23))
        );
        let (from, until) = seen.window.unwrap();
        assert!(from < worst.start && until > worst.end);
        let states: Vec<_> = seen.stays.iter().filter_map(|s| s.state).collect();
        assert_eq!(
            states,
            [Blocked, Runnable, Running],
            "what comes later as well"
        );
    }

    #[test]
    fn without_wake_ups_any_wait_is_the_longest() {
        let seen = seen(Window::Worst(us(4)), &CHANGES[4..]);
        let worst = seen.worst.unwrap();
        assert_eq!(length(&worst), us(10));
        let (from, until) = seen.window.unwrap();
        assert_eq!(from, worst.start, "nothing was before");
        assert_eq!(until, worst.end + us(10) / 4, "a quarter of the wait");
        assert_eq!(self::seen(Window::Worst(us(4)), &CHANGES[..2]).worst, None);
    }

    #[test]
    fn the_past_is_bounded() {
        let mut changes: Vec<(u64, Runstate, Runstate)> = Vec::new();
        for i in 0..PAST_MAX as u64 {
            changes.extend([(2 * i, Blocked, Running), (2 * i + 1, Running, Blocked)]);
        }
        let end = 2 * PAST_MAX as u64;
        changes.extend([(end, Blocked, Runnable), (end + 5, Runnable, Running)]);
        let seen = seen(Window::Worst(us(10 * end)), &changes);
        assert_eq!(seen.worst.map(|w| length(&w)), Some(us(5)));
        assert_eq!(seen.stays.len(), PAST_MAX);
    }
}
