//! Replications on all cores, with results that do not depend on how many cores there are.

use rayon::prelude::*;
use std::cell::RefCell;
use std::sync::Arc;

/// Hears how far the work is. Called from several threads at once.
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

/// Thousandths of a piece.
pub const WHOLE: u64 = 1_000;

/// The piece of work that a thread carries out.
struct UnderWay {
    listener: Listener,
    /// Thousandths that were told.
    told: u64,
}

impl UnderWay {
    fn reached(&mut self, thousandths: u64) {
        let more = thousandths.min(WHOLE).saturating_sub(self.told);
        if more > 0 {
            self.told += more;
            (self.listener)(more);
        }
    }
}

thread_local! {
    static UNDER_WAY: RefCell<Option<UnderWay>> = const { RefCell::new(None) };
}

/// Says that `thousandths` of the piece of work on this thread are done. A simulation calls this at
/// steps of its time; it need not know whether anybody listens.
pub fn reached(thousandths: u64) {
    UNDER_WAY.with_borrow_mut(|piece| {
        if let Some(piece) = piece {
            piece.reached(thousandths);
        }
    });
}

/// Carries out a piece of work of which `listener` hears.
fn heard<T>(listener: Option<Listener>, work: impl FnOnce() -> T) -> T {
    let piece = listener.map(|listener| UnderWay { listener, told: 0 });
    // Whoever waits for other work may be lent to another piece meanwhile.
    let before = UNDER_WAY.replace(piece);
    let result = work();
    if let Some(mut piece) = UNDER_WAY.replace(before) {
        piece.reached(WHOLE);
    }
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

/// Runs `work` for each of `jobs` on all cores and returns the results in the order of `jobs`.
///
/// `name` tells what a job is called in progress reports.
pub fn on_all_cores<'n, J, T>(
    jobs: &[J],
    name: impl Fn(&J) -> &'n str + Sync,
    progress: &dyn ProgressListener,
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
            let result = heard(progress.listener(), || work(job));
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
    progress: &dyn ProgressListener,
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
            replicate(2, "burn", &ears, |n| {
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
        reached(500);
        assert_eq!(heard.load(Ordering::Relaxed), 2 * WHOLE, "nobody listens");
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
