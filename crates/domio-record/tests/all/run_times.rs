//! RecordedHost run times are those of the kernel's own accounts.

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
    /// Time that may have been a thread's, where switches are missing.
    unsure: BTreeMap<Tid, u64>,
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
                    // Some kernels do not trace the switches of some threads: then either had the
                    // cpu for some of the time.
                    let ran = event.time - since;
                    match tid == prev {
                        true => *self.ran.entry(tid).or_default() += ran,
                        false => {
                            self.unseen += 1;
                            *self.unsure.entry(tid).or_default() += ran;
                            *self.unsure.entry(prev).or_default() += ran;
                        }
                    }
                }
            }
            What::Wakeup { .. } => self.wakeups += 1,
            What::Fork { child, .. } => self.forks.push(child),
            _ => {}
        }
    }
}

/// LiveRecords two threads that compute for half a second of processor time, all of their lives.
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
        let unsure = runs.unsure.get(&tid).copied().unwrap_or(0);
        let (least, most) = (runs.ran[&tid], runs.ran[&tid] + unsure);
        println!("{way}: {tid}: recorded {least} to {most} ns, schedstat {ran} ns");
        let is_near = least as f64 <= 1.01 * ran as f64 && most as f64 >= 0.99 * ran as f64;
        assert!(
            is_near,
            "{tid}: recorded {least} to {most}, schedstat {ran}"
        );
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
