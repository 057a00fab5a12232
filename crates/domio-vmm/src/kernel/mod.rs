//! The part of a guest's kernel that serves devices, on one vcpu: upcalls, interrupt handlers,
//! softirqs, services.
//!
//! It follows Linux 2.6.18 for Xen, since the order of things decides who waits for whom:
//!
//! ```text
//!  upcall ─▶ scan: next port ─▶ handler, interrupts off ─▶ softirqs, interrupts on ─┐
//!                ▲                                                                  │
//!                └────────────── only now is the next port looked for ──────────────┘
//! ```
//!
//! What a handler leaves for later runs when the handler returns, within the same upcall and before
//! the next port is scanned. An upcall that comes while softirqs run inside another one only makes
//! a note (xen-spec 5.4). Softirqs are repeated while more are raised, ten rounds at most; then
//! they go on in a thread (`ksoftirqd`), outside of the upcall, where upcalls interrupt them.
//!
//! A **service** is a process that belongs to a device model, such as the one that reads from a
//! socket. It runs before the tasks of the guest, as the scheduler of Linux 2.6 prefers processes
//! that sleep most of the time, and wakes again when its model says so.

mod pending;

pub use pending::{Pending, Softirq};

use crate::device::{Devices, Io, KernelIo, Progress};
use crate::evtchn::{Abi, Port};
use domio_core::{Duration, Instant, VcpuName};

/// Rounds of softirqs before the thread takes over (Linux: `MAX_SOFTIRQ_RESTART`).
const ROUNDS_MAX: u32 = 10;

/// Settings of a kernel with devices. Costs are processor time of the vcpu.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelConfig {
    /// Its event channels.
    pub abi: Abi,
    /// Entering an upcall, and leaving it.
    pub upcall: Duration,
    /// An upcall that finds another one under way.
    pub nested: Duration,
    /// What each interrupt costs besides its driver's handler.
    pub irq: Duration,
    /// The handler of the timer's virq.
    pub timer_irq: Duration,
    /// The timer softirq.
    pub timer_softirq: Duration,
    /// Services that are awake when the domain boots, as bits. They begin on its vcpu 0, once for
    /// the domain.
    pub services: u8,
}

/// What runs with interrupts off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hard {
    None,
    /// On the way into an upcall.
    Entry,
    /// The handler of a port.
    Handler(Port),
}

/// A piece of work with the calls that it took so far.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    left: Duration,
    step: u32,
}

impl Work {
    /// Takes note of what was answered; whether it is to be executed.
    fn goes_on(&mut self, progress: Progress) -> bool {
        match progress {
            Progress::Run(time) => {
                self.left = time;
                self.step += 1;
                true
            }
            Progress::Done => {
                *self = Work::default();
                false
            }
        }
    }
}

/// What the kernel does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KernelStep {
    /// Executes for this long.
    Run(Duration),
    /// It has sent an event. The hypercall returns through the scheduler, which may preempt it, so
    /// nothing else happens before the host has delivered it.
    Sent,
    /// Nothing: tasks may run.
    Idle,
}

/// The kernel's work on one vcpu.
#[derive(Clone, Debug)]
pub struct Kernel {
    vcpu: VcpuName,
    config: KernelConfig,
    timer_port: Port,
    /// A scan over the ports is under way.
    in_upcall: bool,
    hard: Hard,
    hard_work: Work,
    /// Softirqs run.
    in_softirqs: bool,
    /// The scan waits for them.
    softirqs_in_upcall: bool,
    running: Option<Softirq>,
    tasklet: Option<u8>,
    rounds: u32,
    soft_work: Work,
    service: Option<u8>,
    service_work: Work,
    pending: Pending,
    /// A timer of this vcpu has expired and its softirq has not run.
    timer_due: bool,
    /// The timer softirq ran: tasks have to be looked at.
    wake_tasks: bool,
}

impl Kernel {
    /// The kernel of `vcpu`, whose timer notifies `timer_port`.
    pub fn new(vcpu: VcpuName, config: KernelConfig, timer_port: Port) -> Self {
        let mut pending = Pending::default();
        (0..8)
            .filter(|s| vcpu.index == 0 && config.services >> s & 1 != 0)
            .for_each(|s| pending.wake(s));
        Kernel {
            vcpu,
            config,
            timer_port,
            in_upcall: false,
            hard: Hard::None,
            hard_work: Work::default(),
            in_softirqs: false,
            softirqs_in_upcall: false,
            running: None,
            tasklet: None,
            rounds: 0,
            soft_work: Work::default(),
            service: None,
            service_work: Work::default(),
            pending,
            timer_due: false,
            wake_tasks: false,
        }
    }

    /// When the drivers' timer is due; [`Instant::MAX`] for never, or when one has expired already.
    #[inline]
    pub(crate) fn next_timer(&self) -> Instant {
        if self.timer_due {
            Instant::MAX
        } else {
            self.pending.timer_at
        }
    }

    /// A timer has expired, whose softirq is to come: it looks at all times that have passed.
    #[inline]
    pub(crate) fn set_timer_due(&mut self) {
        self.timer_due = true;
    }

    /// Whether [`Kernel::set_timer_due`] was called and the softirq has not run since.
    #[inline]
    pub(crate) fn timer_due(&self) -> bool {
        self.timer_due
    }

    /// Whether the timer softirq has run since the last call.
    #[inline]
    pub(crate) fn take_wake_tasks(&mut self) -> bool {
        core::mem::take(&mut self.wake_tasks)
    }

    /// It executed for `time`, at most what the last step said.
    #[inline]
    pub(crate) fn executed(&mut self, time: Duration) {
        let work = if self.hard != Hard::None {
            &mut self.hard_work
        } else if self.in_softirqs {
            &mut self.soft_work
        } else {
            &mut self.service_work
        };
        work.left -= time;
    }

    /// What it does from now on.
    pub(crate) fn step<D: Devices>(&mut self, devices: &mut D, io: &mut Io<'_>) -> KernelStep {
        loop {
            if !io.kicks.is_empty() {
                return KernelStep::Sent;
            }
            if self.hard != Hard::None {
                if !self.hard_work.left.is_zero() {
                    return KernelStep::Run(self.hard_work.left);
                }
                self.step_hard(devices, io);
            } else if self.in_upcall && !(self.in_softirqs && self.softirqs_in_upcall) {
                self.scan(io);
            } else {
                // Interrupts are on.
                self.take_upcall(io);
                if self.hard != Hard::None {
                    continue;
                }
                if self.in_softirqs {
                    if !self.soft_work.left.is_zero() {
                        return KernelStep::Run(self.soft_work.left);
                    }
                    self.step_softirqs(devices, io);
                } else if self.pending.any() {
                    // Raised by a service, or left to the thread.
                    self.begin_softirqs(false);
                } else if !self.step_service(devices, io) {
                    return KernelStep::Idle;
                } else if !self.service_work.left.is_zero() && !self.pending.any() {
                    return KernelStep::Run(self.service_work.left);
                }
            }
        }
    }

    /// Begins an upcall if one is due.
    #[inline]
    fn take_upcall(&mut self, io: &mut Io<'_>) {
        let vcpu = self.vcpu.index;
        let guest = guest(io, self.vcpu);
        if !guest.upcall_pending(vcpu) {
            return;
        }
        if guest.begin_upcall(vcpu) {
            self.in_upcall = true;
            self.hard = Hard::Entry;
            self.hard_work.left = self.config.upcall;
        } else {
            self.soft_work.left += self.config.nested;
        }
    }

    /// Looks for the next port, or ends the upcall.
    #[inline]
    fn scan(&mut self, io: &mut Io<'_>) {
        let vcpu = self.vcpu.index;
        let guest = guest(io, self.vcpu);
        match guest.next_port(vcpu) {
            Some(port) => {
                guest.enter(port);
                io.serve(self.vcpu, port);
                self.hard = Hard::Handler(port);
                self.hard_work.left = self.config.irq;
            }
            None => self.in_upcall = guest.end_upcall(vcpu),
        }
    }

    /// What was executed with interrupts off is done.
    fn step_hard<D: Devices>(&mut self, devices: &mut D, io: &mut Io<'_>) {
        let Hard::Handler(port) = self.hard else {
            self.hard = Hard::None;
            return;
        };
        let step = self.hard_work.step;
        let progress = if port == self.timer_port {
            if step == 0 {
                Progress::Run(self.config.timer_irq)
            } else {
                self.pending.raise(Softirq::Timer);
                Progress::Done
            }
        } else {
            let mut kernel = KernelIo {
                vcpu: self.vcpu,
                io,
                pending: &mut self.pending,
            };
            devices.irq(port, step, &mut kernel)
        };
        if self.hard_work.goes_on(progress) {
            return;
        }
        self.hard = Hard::None;
        // Should it be pending again, the scan or the next upcall finds it: this vcpu looks at that
        // when it turns interrupts on.
        let _ = guest(io, self.vcpu).leave(port, self.vcpu.index);
        if !self.in_softirqs && self.pending.any() {
            self.begin_softirqs(true);
        }
    }

    #[inline]
    fn begin_softirqs(&mut self, in_upcall: bool) {
        self.in_softirqs = true;
        self.softirqs_in_upcall = in_upcall;
        self.rounds = 0;
    }

    /// The piece of softirq work before is done.
    fn step_softirqs<D: Devices>(&mut self, devices: &mut D, io: &mut Io<'_>) {
        let Some(softirq) = self.running else {
            self.running = self.pending.next_softirq();
            match self.running {
                Some(Softirq::Tasklet) => self.pending.begin_tasklets(),
                Some(_) => {}
                None if self.pending.any() && self.rounds < ROUNDS_MAX => {
                    self.rounds += 1;
                    self.pending.begin_round();
                }
                None => self.in_softirqs = false,
            }
            return;
        };
        let step = self.soft_work.step;
        let mut kernel = KernelIo {
            vcpu: self.vcpu,
            io,
            pending: &mut self.pending,
        };
        let progress = match softirq {
            Softirq::Timer if step == 0 => Progress::Run(self.config.timer_softirq),
            Softirq::Timer => {
                self.timer_due = false;
                self.wake_tasks = true;
                devices.timers(&mut kernel);
                Progress::Done
            }
            Softirq::Tasklet => {
                if self.tasklet.is_none() {
                    self.tasklet = kernel.pending.next_tasklet();
                }
                match self.tasklet {
                    Some(tasklet) => {
                        let progress = devices.tasklet(tasklet, step, &mut kernel);
                        if progress == Progress::Done {
                            // The next one is another piece of the same softirq.
                            self.tasklet = None;
                            self.soft_work = Work::default();
                            return;
                        }
                        progress
                    }
                    None => Progress::Done,
                }
            }
            other => devices.softirq(other, step, &mut kernel),
        };
        if !self.soft_work.goes_on(progress) {
            self.running = None;
        }
    }

    /// Goes on with a service; false when none is awake.
    fn step_service<D: Devices>(&mut self, devices: &mut D, io: &mut Io<'_>) -> bool {
        if !self.service_work.left.is_zero() {
            return true;
        }
        if self.service.is_none() {
            self.service = self.pending.next_service();
        }
        let Some(service) = self.service else {
            return false;
        };
        if self.service_work.step == 0 {
            self.pending.begin_service(service);
        }
        let mut kernel = KernelIo {
            vcpu: self.vcpu,
            io,
            pending: &mut self.pending,
        };
        let progress = devices.service(service, self.service_work.step, &mut kernel);
        if !self.service_work.goes_on(progress) {
            self.service = None;
        }
        true
    }
}

/// The guest's side of its event channels.
#[inline]
fn guest<'a>(io: &'a mut Io<'_>, vcpu: VcpuName) -> &'a mut crate::evtchn::Guest {
    match io.channels.guest(vcpu.domain) {
        Ok(guest) => guest,
        Err(error) => unreachable!("a kernel with devices has event channels: {error}"),
    }
}
