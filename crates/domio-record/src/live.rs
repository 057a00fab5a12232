//! Both ways to take events of this machine, behind one interface.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cost::{Cost, Since};
use crate::error::RecordError;
use crate::options::{LiveOptions, Way};
use crate::tracefs::Tracefs;
use crate::window::Window;
use crate::{Event, Tasks, What, host, processes, rights};
use domio_linux::InOrder;
use domio_trace::LinuxHost;

/// Smallest and largest buffer.
const BUFFER: (u64, u64) = (64 << 10, 1 << 30);

enum Source {
    #[cfg(feature = "bpf")]
    Bpf(Box<crate::bpf::Bpf>),
    Tracefs(Box<Tracefs>),
}

impl Source {
    /// What is known of threads.
    fn tasks(&self) -> &Tasks {
        match self {
            #[cfg(feature = "bpf")]
            Source::Bpf(bpf) => bpf.tasks(),
            Source::Tracefs(tracefs) => tracefs.tasks(),
        }
    }

    fn tasks_mut(&mut self) -> &mut Tasks {
        match self {
            #[cfg(feature = "bpf")]
            Source::Bpf(bpf) => bpf.tasks_mut(),
            Source::Tracefs(tracefs) => tracefs.tasks_mut(),
        }
    }
}

/// A recording that goes on.
pub struct Live {
    source: Source,
    way: Way,
    why: String,
    window: Window,
    order: InOrder,
    disorder: u64,
    events: u64,
    lost: BTreeMap<u32, u64>,
    since: Since,
    host: LinuxHost,
}

/// What is known of a recording at its end.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Events that were handed out.
    pub events: u64,
    /// Events that the kernel had no room for, by cpu.
    pub lost: BTreeMap<u32, u64>,
    /// Events that could not be decoded.
    pub refused: u64,
    /// Events that came too late to be put in order.
    pub disorder: u64,
    /// What is known of threads.
    pub tasks: Tasks,
    /// What recording took.
    pub cost: Cost,
    /// Whether nothing is left of the recording in the kernel.
    pub is_clean: bool,
}

/// Between rounds: the buffer has room for what comes meanwhile, and the process hardly runs.
const ROUND: Duration = Duration::from_millis(100);

impl Live {
    /// Switches recording on. Names, processes and control groups of the threads that are there
    /// come from `/proc`.
    ///
    /// # Errors
    /// When no way is allowed: what is missing, and what to do.
    pub fn start(options: &LiveOptions) -> Result<Live, RecordError> {
        let since = Since::now();
        let options = &LiveOptions {
            buffer: options.buffer.clamp(BUFFER.0, BUFFER.1),
            ..*options
        };
        let (source, way, why) = match options.way {
            Some(Way::Bpf) => (by_bpf(options)?, Way::Bpf, "as asked".to_owned()),
            Some(Way::Tracefs) => {
                let source = by_tracefs(options)?;
                (source, Way::Tracefs, "as asked".to_owned())
            }
            None => match by_bpf(options) {
                Ok(source) => (source, Way::Bpf, "the kernel allows it".to_owned()),
                Err(bpf) => match by_tracefs(options) {
                    Ok(source) => (source, Way::Tracefs, format!("BPF is not possible: {bpf}")),
                    Err(tracefs) => {
                        return Err(RecordError::Refused(format!(
                            "neither BPF nor tracefs can be used. BPF: {bpf}. tracefs: {tracefs}"
                        )));
                    }
                },
            },
        };
        let mut live = Live {
            source,
            way,
            why,
            window: Window::default(),
            order: InOrder::default(),
            disorder: 0,
            events: 0,
            lost: BTreeMap::new(),
            since,
            host: LinuxHost::default(),
        };
        // After the events, so that no thread is missed in between.
        live.host = host();
        processes::add(&live.host.threads, live.source.tasks_mut());
        Ok(live)
    }

    /// The way that was chosen.
    pub fn way(&self) -> Way {
        self.way
    }

    /// The machine, as it was when recording began.
    pub fn host(&self) -> &LinuxHost {
        &self.host
    }

    /// Why that way.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Events that were handed out so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// What is known of threads.
    pub fn tasks(&self) -> &Tasks {
        self.source.tasks()
    }

    /// Waits a little, then hands out the events that are complete: those up to the round before,
    /// in the order of time.
    ///
    /// # Errors
    /// When the kernel's buffer cannot be read.
    pub fn round(&mut self, each: &mut dyn FnMut(&Event, &Tasks)) -> Result<(), RecordError> {
        std::thread::sleep(ROUND);
        self.take()?;
        self.window.round();
        self.hand_out(each);
        Ok(())
    }

    /// Hands out what is ready.
    fn hand_out(&mut self, each: &mut dyn FnMut(&Event, &Tasks)) {
        let tasks = self.source.tasks();
        let (order, disorder, events) = (&mut self.order, &mut self.disorder, &mut self.events);
        self.window.hand_out(&mut |mut event| {
            *disorder += u64::from(order.moves(&mut event));
            *events += 1;
            each(&event, tasks);
        });
    }

    fn take(&mut self) -> Result<(), RecordError> {
        let (window, lost) = (&mut self.window, &mut self.lost);
        match &mut self.source {
            // What was lost is counted by the programs.
            #[cfg(feature = "bpf")]
            Source::Bpf(bpf) => bpf.take(window),
            Source::Tracefs(tracefs) => tracefs.take(&mut |event: Event| {
                if let What::Lost { events } = event.what {
                    *lost.entry(event.cpu).or_insert(0) += events;
                }
                window.push(event);
            }),
        }
    }

    /// Switches recording off, and hands out what is left.
    ///
    /// # Errors
    /// When the kernel's buffer cannot be read. Recording is off all the same.
    pub fn finish(mut self, each: &mut dyn FnMut(&Event, &Tasks)) -> Result<Ended, RecordError> {
        let detached = match &mut self.source {
            #[cfg(feature = "bpf")]
            Source::Bpf(bpf) => {
                bpf.detach();
                Ok(())
            }
            Source::Tracefs(tracefs) => tracefs.detach(),
        };
        let taken = detached.and_then(|()| self.take());
        self.window.finish();
        self.hand_out(each);
        let mut ended = Ended {
            events: self.events,
            disorder: self.disorder,
            lost: self.lost.clone(),
            tasks: self.tasks().clone(),
            is_clean: true,
            ..Ended::default()
        };
        let kernel = match self.source {
            #[cfg(feature = "bpf")]
            Source::Bpf(bpf) => {
                let counts = bpf.counts();
                (ended.refused, ended.lost) = (counts.refused, counts.lost);
                Some(counts.ns)
            }
            Source::Tracefs(tracefs) => {
                ended.refused = tracefs.refused();
                ended.is_clean = tracefs.remove();
                None
            }
        };
        taken?;
        ended.cost = self.since.cost(kernel);
        Ok(ended)
    }
}

#[cfg(feature = "bpf")]
fn by_bpf(options: &LiveOptions) -> Result<Source, RecordError> {
    rights::for_bpf()?;
    Ok(Source::Bpf(Box::new(crate::bpf::Bpf::start(options)?)))
}

#[cfg(not(feature = "bpf"))]
fn by_bpf(_: &LiveOptions) -> Result<Source, RecordError> {
    rights::for_bpf()?;
    Err(RecordError::Refused(
        "this program was built without BPF; the released program has it, and so has \
         `cargo build --features record`"
            .to_owned(),
    ))
}

fn by_tracefs(options: &LiveOptions) -> Result<Source, RecordError> {
    Ok(Source::Tracefs(Box::new(Tracefs::start(options)?)))
}
