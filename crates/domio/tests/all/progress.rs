//! How far a simulation is: what whoever waits hears.

use domio_core::NullSink;
use domio_lab::ProgressListener;
use domio_lab::replicate::{Listener, replicate};
use domio_run::simulate::simulate_heard;
use domio_scenario::{NoReplay, Scenario};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Hears how often anything is told.
struct Ears(Arc<AtomicU64>);

impl ProgressListener for Ears {
    fn begin(&self, _: u64) {}
    fn done(&self, _: &str) {}
    fn end(&self) {}
    fn listener(&self) -> Option<Listener> {
        let told = self.0.clone();
        Some(Arc::new(move |_| {
            told.fetch_add(1, Ordering::Relaxed);
        }))
    }
}

#[test]
fn a_simulation_tells_a_hundred_times_how_far_it_is() {
    let text = domio_scenario::example("burn7").unwrap_or_default();
    let scenario = Scenario::parse("burn7", text.as_bytes(), domio_sched::policies());
    let built = scenario.unwrap().build(&NoReplay).unwrap();
    let told = Arc::new(AtomicU64::new(0));
    let ended = replicate(1, "burn7", &Ears(told.clone()), |n, heard| {
        simulate_heard(&built, n, NullSink, heard).is_ok()
    });
    assert_eq!(ended, [true]);
    // The warm-up ends between two steps, or on one.
    let told = told.load(Ordering::Relaxed);
    assert!((100..=101).contains(&told), "{told}");
}
