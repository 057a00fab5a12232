//! What recording costs at many switches a second, measured both ways.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use domio_record::{LiveRecords, TraceFile, Way};

use crate::start;

/// Round trips of a pair in each slot: about 50,000 switches a second in all.
const TRIPS: u32 = 210;
const SLOT: Duration = Duration::from_millis(10);

/// Set in the child that is the load.
const LOAD: &str = "DOMIO_TEST_SWITCHES";

/// In the child: pairs of threads that wake each other, one of each pair after the other.
#[test]
fn child_that_switches() {
    if std::env::var(LOAD).is_err() {
        return;
    }
    let until = Instant::now() + Duration::from_secs(60);
    let pair = |_| {
        let (mut a, mut b) = UnixStream::pair().unwrap();
        let echo = std::thread::spawn(move || {
            let mut byte = [0];
            while b.read_exact(&mut byte).is_ok() && b.write_all(&byte).is_ok() {}
        });
        let ping = std::thread::spawn(move || {
            let mut byte = [0];
            let mut slot = Instant::now();
            while slot < until {
                for _ in 0..TRIPS {
                    a.write_all(&byte).unwrap();
                    a.read_exact(&mut byte).unwrap();
                }
                slot += SLOT;
                std::thread::sleep(slot.saturating_duration_since(Instant::now()));
            }
        });
        [echo, ping]
    };
    for thread in (0..2).flat_map(pair) {
        thread.join().unwrap();
    }
}

/// Many switches, until it is dropped.
pub struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn load() -> Load {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cost::child_that_switches"])
        .env(LOAD, "1")
        .stdout(Stdio::null())
        .spawn();
    Load(child.unwrap())
}

/// Processor time of this process.
fn own_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Switches of all cpus since the start of the machine.
fn switches() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("ctxt "));
    line.unwrap().trim().parse().unwrap()
}

/// Records the load into a file, and prints what that took.
fn measure(way: Way) {
    let load = load();
    let Some(live) = start(way) else {
        return;
    };
    let records = LiveRecords::new(live, Vec::new());
    let mut file = TraceFile::new(records, tempfile::tempfile().unwrap()).unwrap();
    // A recording's start and end, which look at all threads, do not grow with its length.
    let start = own_time();
    let (since, before) = (Instant::now(), switches());
    while since.elapsed() < Duration::from_secs(10) {
        file.round().unwrap();
    }
    let passed = since.elapsed().as_secs_f64();
    let rate = (switches() - before) as f64 / passed;
    let process = 100.0 * (own_time() - start).as_secs_f64() / passed;
    let written = file.finish().unwrap();
    drop(load);
    let ended = written.recorded.ended;
    let cost = ended.cost;
    let kernel = cost.kernel.map(|ns| 100.0 * ns as f64 / cost.passed as f64);
    let (events, lost) = (ended.events, ended.lost);
    println!(
        "{way}: {rate:.0} switches/s, {events} events, lost {lost:?}; of a cpu: process \
         {process:.2} %, start and end {:.0} ms, kernel {kernel:.2?} %",
        cost.process as f64 / 1e6 - process * passed * 10.0,
    );
}

#[cfg(feature = "bpf")]
#[test]
#[ignore = "a measurement that takes a quiet machine; prints figures"]
fn of_bpf() {
    measure(Way::Bpf);
}

#[test]
#[ignore = "a measurement that takes a quiet machine; prints figures"]
fn of_tracefs() {
    measure(Way::Tracefs);
}
