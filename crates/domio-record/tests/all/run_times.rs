//! Recorded run times are those of the kernel's own accounts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domio_linux::{LinuxEvent as Event, LinuxWhat as What, Tasks, Tid};
use domio_record::{Live, Way};

use crate::load::Burner;
use crate::start;

/// Run times of threads, from switches.
#[derive(Default)]
struct Runs {
    /// Of each cpu, who runs there since when.
    current: BTreeMap<u32, (Tid, u64)>,
    ran: BTreeMap<Tid, u64>,
    last: u64,
    switches: u64,
    unseen: u64,
    wakeups: u64,
    forks: Vec<Tid>,
}

impl Runs {
    fn see(&mut self, event: &Event) {
        assert!(event.time >= self.last, "events are in order");
        self.last = event.time;
        match event.what {
            What::Switch { prev, next, .. } => {
                self.switches += 1;
                let now = self.current.insert(event.cpu, (next, event.time));
                if let Some((tid, since)) = now {
                    // Some kernels do not trace the switches of some threads. The thread that has
                    // come unseen had the cpu for nearly all of the time.
                    self.unseen += u64::from(tid != prev);
                    *self.ran.entry(prev).or_default() += event.time - since;
                }
            }
            What::Wakeup { .. } => self.wakeups += 1,
            What::Fork { child, .. } => self.forks.push(child),
            _ => {}
        }
    }
}

/// Records two threads that compute for half a second of processor time, all of their lives.
fn check(mut live: Live) {
    let mut runs = Runs::default();
    let mut processes = BTreeMap::new();
    let mut see = |event: &Event, tasks: &Tasks| {
        runs.see(event);
        // As the events themselves say: the first list of threads was made before.
        if let What::Switch { next, .. } = event.what {
            processes.insert(next, tasks.get(next).and_then(|task| task.process));
        }
    };
    live.round(&mut see).unwrap();
    let burners = [(); 2].map(|()| Burner::start(Duration::from_millis(500)));
    let mut left = 2;
    let patience = Instant::now() + Duration::from_secs(30);
    while left > 0 && Instant::now() < patience {
        live.round(&mut see).unwrap();
        left -= burners.iter().filter(|burner| burner.is_done()).count();
    }
    assert_eq!(left, 0, "the threads have computed");
    live.round(&mut see).unwrap();
    let way = live.way();
    let ended = live.finish(&mut see).unwrap();
    let own = Some(Tid(std::process::id()));
    for burner in &burners {
        let (tid, ran) = (Tid(burner.tid), burner.ran());
        assert!(runs.forks.contains(&tid), "{tid} was made meanwhile");
        assert_eq!(processes.get(&tid), Some(&own), "the process of {tid}");
        let recorded = runs.ran[&tid];
        let error = (recorded as f64 - ran as f64).abs() / ran as f64;
        println!("{way}: {tid}: recorded {recorded} ns, schedstat {ran} ns, {error:.5}");
        assert!(error < 0.01, "{tid}: recorded {recorded}, schedstat {ran}");
    }
    assert!(runs.switches > 10 && runs.wakeups > 10);
    assert_eq!((ended.refused, ended.disorder), (0, 0));
    assert!(ended.lost.is_empty() && ended.is_clean, "{ended:?}");
    let (events, unseen, switches) = (ended.events, runs.unseen, runs.switches);
    println!("{way}: {events} events, {unseen} of {switches} switches unseen");
}

#[cfg(feature = "bpf")]
#[test]
fn by_bpf() {
    if let Some(live) = start(Way::Bpf) {
        check(live);
    }
}

#[test]
fn by_tracefs() {
    if let Some(live) = start(Way::Tracefs) {
        check(live);
    }
}
