//! Replications on all cores, with results that do not depend on how many cores there are.

use domio_run::{Heard, Replicator, WHOLE};
use rayon::prelude::*;
use std::cell::Cell;
use std::io;
use std::sync::Arc;

/// Hears how far the work is. Called from several threads together.
pub trait ProgressListener: Sync {
    /// `total` pieces of work follow. Called again when more turns out to be needed after the end.
    fn begin(&self, total: u64);
    /// One more piece, of what is called `name`, is done.
    fn done(&self, name: &str);
    /// All of them are done.
    fn end(&self);
    /// Who hears of parts of pieces, if anybody.
    fn listener(&self) -> Option<Listener> {
        None
    }
}

/// Hears that so many more thousandths of a piece are done. A piece that is done has told all of
/// its thousand.
pub type Listener = Arc<dyn Fn(u64) + Send + Sync>;

/// Carries out a piece of work of which `listener` hears.
fn heard<T>(listener: Option<Listener>, work: impl FnOnce(Heard<'_>) -> T) -> T {
    let told = Cell::new(0);
    let tell = |thousandths: u64| {
        let more = thousandths.min(WHOLE).saturating_sub(told.get());
        if let (Some(listener), 1..) = (&listener, more) {
            told.set(told.get() + more);
            listener(more);
        }
    };
    let result = work(&tell);
    tell(WHOLE);
    result
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl ProgressListener for Silent {
    fn begin(&self, _: u64) {}
    fn done(&self, _: &str) {}
    fn end(&self) {}
}

/// All cores of the machine, and who hears how far the work is.
#[derive(Clone, Copy)]
pub struct AllCores<'p>(pub &'p dyn ProgressListener);

/// From now on so many pieces are done together, instead of one a processor. Only the first call of
/// a process counts, before any piece is done.
pub fn at_once(pieces: usize) {
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(pieces)
        .build_global();
}

/// Does `work`, of which so many pieces are done together, and gives back what it gives. Unlike
/// [`at_once`] this holds for one piece of work, in a process that continues.
///
/// # Errors
/// When the system gives no threads.
pub fn with_pieces<T: Send>(pieces: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(pieces).build();
    Ok(pool.map_err(io::Error::other)?.install(work))
}

impl Replicator for AllCores<'_> {
    fn map<'n, J: Sync, T: Send>(
        &self,
        jobs: &[J],
        name: impl Fn(&J) -> &'n str + Sync,
        work: impl Fn(&J, Heard<'_>) -> T + Sync,
    ) -> Vec<T> {
        let progress = self.0;
        progress.begin(jobs.len() as u64);
        let results = jobs
            .par_iter()
            // Jobs differ in length by orders of magnitude: a thread takes one at a time.
            .with_max_len(1)
            .map(|job| {
                let result = heard(progress.listener(), |heard| work(job, heard));
                progress.done(name(job));
                result
            })
            .collect();
        progress.end();
        results
    }
}

/// Runs `work` for replications 0 to `count - 1` of what is called `name`; results by replication.
pub fn replicate<T: Send>(
    count: u32,
    name: &str,
    progress: &dyn ProgressListener,
    work: impl Fn(u32, Heard<'_>) -> T + Sync,
) -> Vec<T> {
    let numbers: Vec<u32> = (0..count).collect();
    AllCores(progress).map(&numbers, |_| name, |n, heard| work(*n, heard))
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

    impl ProgressListener for Counter {
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

    #[test]
    fn a_piece_tells_its_thousand_parts_once() {
        struct Ears(Arc<AtomicU64>);
        impl ProgressListener for Ears {
            fn begin(&self, _: u64) {}
            fn done(&self, _: &str) {
                // Two pieces of a thousand each, one after the other.
                assert_eq!(self.0.load(Ordering::Relaxed) % WHOLE, 0);
            }
            fn end(&self) {}
            fn listener(&self) -> Option<Listener> {
                let heard = self.0.clone();
                Some(Arc::new(move |more| {
                    heard.fetch_add(more, Ordering::Relaxed);
                }))
            }
        }
        let heard = Arc::new(AtomicU64::new(0));
        let ears = Ears(heard.clone());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        pool.unwrap().install(|| {
            replicate(2, "burn", &ears, |n, reached| {
                let begun = heard.load(Ordering::Relaxed);
                let mut steps = Vec::new();
                // Back and beyond the end tell nothing.
                for thousandths in [250, 600, 400, 5_000] {
                    reached(thousandths);
                    steps.push(heard.load(Ordering::Relaxed) - begun);
                }
                assert_eq!(steps, [250, 600, 600, 1_000], "{n}");
            })
        });
        assert_eq!(heard.load(Ordering::Relaxed), 2 * WHOLE);
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
            let got = pool.install(|| replicate(8, "burn", &progress, |n, _| slow_first(n)));
            assert_eq!(got, expected, "{threads} threads");
            assert_eq!(progress.total.into_inner(), 8);
            assert_eq!(progress.ended.into_inner(), 8);
        }
    }
}
