//! A load whose times the kernel knows exactly.

use std::fs;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread.
fn own_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A thread that takes so much processor time and then waits, so that the kernel's sum is up to
/// date.
pub struct Burner {
    pub tid: u32,
    done: Receiver<()>,
    release: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Burner {
    pub fn start(length: Duration) -> Burner {
        let (send_tid, tid) = channel();
        let (send_done, done) = channel();
        let (release, wait) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let link = fs::read_link("/proc/thread-self").unwrap();
            let name = link.file_name().unwrap().to_str().unwrap();
            send_tid.send(name.parse().unwrap()).unwrap();
            while own_time() < length {
                std::hint::spin_loop();
            }
            send_done.send(()).unwrap();
            let _ = wait.recv();
        });
        Burner {
            tid: tid.recv().unwrap(),
            done,
            release: Some(release),
            thread: Some(thread),
        }
    }

    /// Whether the thread has computed enough.
    pub fn is_done(&self) -> bool {
        self.done.try_recv().is_ok()
    }

    /// Nanoseconds on a cpu, as the kernel has them (`/proc/PID/task/TID/schedstat`).
    pub fn ran(&self) -> u64 {
        let path = format!("/proc/self/task/{}/schedstat", self.tid);
        let text = fs::read_to_string(path).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        drop(self.release.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
