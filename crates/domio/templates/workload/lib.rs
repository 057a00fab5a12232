//! The workload `example`: somebody looks again and again whether there is work, and does some.
//!
//! A program is a state machine: each call of [`Program::next`] answers with one step, and what
//! the program waits for is a step, too. Turnarounds of its jobs are figures of every command.

use domio_core::keys::{Keys, Need, time};
use domio_core::{Duration, Instant};
use domio_scenario::WorkloadEntry;
use domio_vmm::config::Workload;
use domio_vmm::process::{Context, Op, Program};

domio_core::keys! {
    struct ExampleKeys {
        every: Duration = time("ms", 1000), Need::TimeNs(20_000_000),
            "From one look to the next.";
        work: Duration = time("us", 1), Need::Required, "Processor time of what is done.";
    }
}

/// What scenarios can ask for.
pub static ENTRY: WorkloadEntry = WorkloadEntry::new(
    "example",
    "Does some work again and again, and reports how long each took.",
    ExampleKeys::KEYS,
    |table| {
        let keys = ExampleKeys::read(table);
        let (every, work) = (keys.every.get()?, keys.work.get()?);
        Some(Workload::program(Example::new(every, work)))
    },
);

/// A process that does so.
#[derive(Clone, Debug)]
pub struct Example {
    every: Duration,
    work: Duration,
    /// When the process is to look next, or when it was to look for the work under way.
    due: Instant,
    step: Step,
}

impl Example {
    /// Computes for `work` every `every`, from the beginning on.
    pub fn new(every: Duration, work: Duration) -> Self {
        Example {
            every,
            work,
            due: Instant::ZERO,
            step: Step::Sleeping,
        }
    }
}

/// What the step under way is about.
#[derive(Clone, Copy, Debug)]
enum Step {
    Sleeping,
    Working,
    Reporting,
}

impl Program for Example {
    fn name(&self) -> &'static str {
        "example"
    }

    fn next(&mut self, cx: &Context) -> Op {
        match self.step {
            Step::Sleeping if cx.now < self.due => Op::SleepUntil(self.due),
            Step::Sleeping => {
                self.step = Step::Working;
                Op::Compute(self.work)
            }
            Step::Working => {
                self.step = Step::Reporting;
                Op::Report {
                    released: self.due,
                    work: self.work,
                }
            }
            Step::Reporting => {
                self.step = Step::Sleeping;
                self.due += self.every;
                Op::SleepUntil(self.due)
            }
        }
    }
}
