//! Replications on all cores, with results that do not depend on how many cores there are.

use rayon::prelude::*;

/// Hears how far the work is. Called from several threads at once.
pub trait Progress: Sync {
    /// `total` pieces of work follow. Called again when more turns out to be needed after the end.
    fn begin(&self, total: u64);
    /// One more piece, of what is called `name`, is done.
    fn done(&self, name: &str);
    /// All of them are done.
    fn end(&self);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: u64) {}
    fn done(&self, _: &str) {}
    fn end(&self) {}
}

/// Runs `work` for each of `jobs` on all cores and returns the results in the order of `jobs`.
///
/// `name` tells what a job is called in progress reports.
pub fn on_all_cores<'n, J, T>(
    jobs: &[J],
    name: impl Fn(&J) -> &'n str + Sync,
    progress: &dyn Progress,
    work: impl Fn(&J) -> T + Sync,
) -> Vec<T>
where
    J: Sync,
    T: Send,
{
    progress.begin(jobs.len() as u64);
    let results = jobs
        .par_iter()
        // Jobs differ in length by orders of magnitude: a thread takes one at a time.
        .with_max_len(1)
        .map(|job| {
            let result = work(job);
            progress.done(name(job));
            result
        })
        .collect();
    progress.end();
    results
}

/// Runs `work` for replications 0 to `count - 1` of what is called `name`; results by replication.
pub fn replicate<T: Send>(
    count: u32,
    name: &str,
    progress: &dyn Progress,
    work: impl Fn(u32) -> T + Sync,
) -> Vec<T> {
    let numbers: Vec<u32> = (0..count).collect();
    on_all_cores(&numbers, |_| name, progress, |n| work(*n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Default)]
    struct Counter {
        total: AtomicU64,
        done: AtomicU64,
        ended: AtomicU64,
    }

    impl Progress for Counter {
        fn begin(&self, total: u64) {
            self.total.store(total, Ordering::Relaxed);
        }
        fn done(&self, name: &str) {
            assert_eq!(name, "burn");
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        fn end(&self) {
            let done = self.done.load(Ordering::Relaxed);
            self.ended.store(done, Ordering::Relaxed);
        }
    }

    /// Later replications finish first, so that only collecting by index gives this order.
    fn slow_first(n: u32) -> u64 {
        std::thread::sleep(std::time::Duration::from_millis(u64::from(8 - n)));
        u64::from(n) * 7
    }

    #[test]
    fn results_come_in_order_on_any_number_of_threads() {
        let expected: Vec<u64> = (0..8).map(|n| n * 7).collect();
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let progress = Counter::default();
            let got = pool.install(|| replicate(8, "burn", &progress, slow_first));
            assert_eq!(got, expected, "{threads} threads");
            assert_eq!(progress.total.into_inner(), 8);
            assert_eq!(progress.ended.into_inner(), 8);
        }
    }
}
