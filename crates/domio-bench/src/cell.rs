//! A cell of a paper's experiments, run for some seconds.

use domio_core::{Duration, Instant, Sink};
use domio_papers::paper;
use domio_run::Replication;
use domio_scenario::NoReplay;

/// Runs the cell called `name` for so many seconds of its time. What came of that, `done` says.
pub fn run<S: Sink, T>(
    name: &str,
    seconds: u64,
    sink: S,
    done: impl FnOnce(&Replication<'_, S>) -> T,
) -> T {
    let scenario = paper::scenario(name, &domio_sched::policies().into()).expect("shipped files");
    let scenario = scenario.expect("a cell of a paper");
    let drawn = scenario.replication(0).expect("shipped ranges");
    let built = drawn.build(&NoReplay).expect("no recording");
    let mut run = Replication::new(&built, 0, sink);
    let ended = run.until(Instant::ZERO + Duration::from_secs(seconds));
    ended.expect("the cell runs to its end");
    done(&run)
}
