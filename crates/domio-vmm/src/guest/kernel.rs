//! The part of a guest's kernel that serves devices, on one vcpu: upcalls, interrupt handlers,
//! softirqs, kernel threads.
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
//! a note (xen-spec 5.4); under Xen 3.0 it serves ports, whose handlers raise softirqs for the next
//! round. Softirqs are repeated while more are raised, ten rounds at most; then
//! they continue in a thread (`ksoftirqd`), outside of the upcall, where upcalls interrupt them.
//!
//! **Work items** are done by a thread of the kernel, which goes before the guest's processes
//! (Linux 2.6.18 gives `keventd` a nice value of -5, and it sleeps nearly always).

use super::kinds::KernelTimes;
use super::limits::{HostNow, SoftirqLimits};
use super::pending::Pending;
use super::work::Work;
use crate::bus::device::Device;
use crate::bus::io::{Io, KernelIo};
use crate::bus::lines::{BusLine, SoftirqLine};
use crate::bus::locks::KernelLock;
use crate::bus::owner::{Owner, WorkServed};
use crate::config::{HostSoftirqs, KernelCosts};
use crate::evtchn::port::Port;
use domio_core::{Duration, Instant, VcpuName};

/// What driver code of this kernel may do.
macro_rules! kernel_io {
    ($kernel:ident, $io:ident) => {
        KernelIo {
            vcpu: $kernel.vcpu,
            io: $io,
            pending: &mut $kernel.pending,
        }
    };
}

/// What runs with interrupts off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hard {
    None,
    /// On the way into an upcall.
    Entry,
    /// On the way to the handler of the timer's port.
    TimerEntry,
    /// The handler of the timer's port.
    Timer,
    /// The IPI of another vcpu, whose handler does nothing: what it is for is found afterwards.
    Ipi(Port),
    /// On the way to the handler of a driver's port.
    HandlerEntry(Port, Option<BusLine>),
    /// In that handler.
    Handler(Port, Option<BusLine>),
}

/// What the softirqs are at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Soft {
    /// The next softirq of the round is to be taken.
    Next,
    /// The timer softirq is to be run, and then the time for it has been spent.
    TimerBegins,
    TimerRan,
    /// The next tasklet is to be taken.
    NextTasklet,
    /// A tasklet.
    Tasklet(BusLine),
    /// A driver's softirq.
    Driver(BusLine),
}

/// What the kernel does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KernelStep {
    /// Executes for this long.
    Run(Duration),
    /// It has sent an event. The hypercall returns through the scheduler, which may preempt it, so
    /// nothing else happens before the host has delivered it.
    Sent,
    /// Nothing: processes may run.
    Idle,
}

/// The kernel's work on one vcpu.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(super) vcpu: VcpuName,
    costs: KernelCosts,
    timer_port: Port,
    /// Where other vcpus of the domain interrupt this one.
    ipi_port: Option<Port>,
    /// A scan over the ports is under way.
    in_upcall: bool,
    /// A scan within the softirqs of that one is under way.
    nested: bool,
    hard: Hard,
    hard_work: Work,
    /// What led to the handler whose first piece of work is not known yet.
    lead: Duration,
    /// Softirqs run.
    in_softirqs: bool,
    /// The scan waits for them.
    softirqs_in_upcall: bool,
    soft: Soft,
    pub(super) limits: SoftirqLimits,
    soft_work: Work,
    /// How much of a tasklet's piece is left for copies and grant operations.
    moving: Duration,
    /// The work item that a thread is at.
    pub(super) item: Option<BusLine>,
    pub(super) item_work: Work,
    pub(super) pending: Pending,
    /// A timer of this vcpu has expired and its softirq has not run.
    timer_due: bool,
    /// The timer softirq ran: processes have to be looked at.
    wake_tasks: bool,
    /// Whether the thread of the softirqs is a process like others, and has to wait for its turn.
    threads: bool,
    /// Softirqs were left to it.
    pub(super) left_over: bool,
    /// It runs them.
    in_thread: bool,
    /// What is left of the way into idle, and whether that was gone, so that the hypercall that
    /// blocks is next.
    idle_left: Duration,
    at_idle: bool,
    /// What was executed for other domains.
    served: WorkServed,
    /// What was executed, by kind.
    times: KernelTimes,
    /// Whether either is to be known.
    owners: bool,
}

impl Kernel {
    /// The kernel of `vcpu`, whose timer notifies `timer_port`; `owners` is whether anybody wants
    /// to know for whom it works, and at what.
    pub fn new(
        vcpu: VcpuName,
        costs: KernelCosts,
        timer_port: Port,
        ipi_port: Option<Port>,
        owners: bool,
    ) -> Self {
        Kernel {
            vcpu,
            costs,
            timer_port,
            ipi_port,
            in_upcall: false,
            nested: false,
            hard: Hard::None,
            hard_work: Work::default(),
            lead: Duration::ZERO,
            in_softirqs: false,
            softirqs_in_upcall: false,
            soft: Soft::Next,
            limits: SoftirqLimits::OF_GUEST,
            soft_work: Work::default(),
            moving: Duration::ZERO,
            item: None,
            item_work: Work::default(),
            pending: Pending::new(ipi_port.map(|_| costs.lock_line)),
            timer_due: false,
            wake_tasks: false,
            threads: false,
            left_over: false,
            in_thread: false,
            idle_left: Duration::ZERO,
            at_idle: false,
            served: WorkServed::default(),
            times: KernelTimes::default(),
            owners,
        }
    }

    /// When the first kernel timer is due; [`Instant::MAX`] for never,
    /// or when one has expired already.
    #[inline]
    pub fn next_timer(&self) -> Instant {
        if self.timer_due {
            Instant::MAX
        } else {
            self.pending.first_timer()
        }
    }

    /// A timer has expired, whose softirq is to come: it looks at all times that have passed.
    #[inline]
    pub fn set_timer_due(&mut self) {
        self.timer_due = true;
    }

    /// Whether [`Kernel::set_timer_due`] was called and the softirq has not run since.
    #[inline]
    pub fn timer_due(&self) -> bool {
        self.timer_due
    }

    /// Nothing is left to do: what the way into idle takes now, zero where that was gone.
    pub fn enter_idle(&mut self) -> Duration {
        if !core::mem::take(&mut self.at_idle) {
            self.idle_left = self.costs.idle;
        }
        self.idle_left
    }

    /// What is left of the way into idle, on which interrupts are off.
    #[inline]
    pub fn idle_left(&self) -> Duration {
        self.idle_left
    }

    /// It went that way for `time`.
    pub fn went_idle(&mut self, time: Duration) {
        self.times.idle += time;
        self.idle_left -= time;
        self.at_idle = self.idle_left.is_zero();
    }

    /// Where other vcpus of the domain interrupt this one.
    pub fn ipi_port(&self) -> Option<Port> {
        self.ipi_port
    }

    /// What an interrupt to another vcpu of the domain costs whoever sends it.
    pub fn send_ipi(&self) -> Duration {
        self.costs.send_ipi
    }

    /// Whether any of its work spins for `lock`.
    pub fn spins_for(&self, lock: KernelLock) -> bool {
        let works = [&self.hard_work, &self.soft_work, &self.item_work];
        works.iter().any(|work| work.spins_for(lock))
    }

    /// From now on the thread of the softirqs waits until [`Kernel::run_thread`] is called.
    pub fn has_thread_wait(&mut self) {
        self.threads = true;
    }

    /// Whether softirqs wait for their thread.
    #[inline]
    pub fn wants_thread(&self) -> bool {
        self.left_over && self.pending.any()
    }

    /// Whether nothing is left for softirqs or threads, and nobody was woken. Between upcalls that
    /// means that processes may continue.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.pending.is_empty() && !self.wake_tasks && self.item.is_none()
    }

    /// It is the kernel of a host with KVM, and its softirqs follow `rules`.
    pub fn set_rules(&mut self, rules: HostSoftirqs) {
        self.limits = SoftirqLimits::of_host(rules);
        self.threads = true;
    }

    /// How things are on the host from now on.
    pub fn set_host_now(&mut self, now: HostNow) {
        self.limits.set_now(now);
    }

    /// Whether a handler of an interrupt executes, and no softirq.
    pub fn in_handler(&self) -> bool {
        self.hard != Hard::None
    }

    /// Whether the thread of the softirqs has anything to do when it has its turn.
    pub fn has_softirqs(&self) -> bool {
        self.in_softirqs || self.pending.any()
    }

    /// Whether the thread of the softirqs runs.
    #[inline]
    pub fn in_thread(&self) -> bool {
        self.in_thread
    }

    /// The thread of the softirqs has its turn.
    pub fn run_thread(&mut self, now: Instant) {
        self.left_over = false;
        self.in_thread = true;
        self.begin_softirqs(false, now);
    }

    /// Whether the timer softirq has run since the last call.
    #[inline]
    pub fn take_wake_tasks(&mut self) -> bool {
        core::mem::take(&mut self.wake_tasks)
    }

    /// What was executed for other domains, which is told now. On the way to a handler nobody
    /// knows for whom that is: what was executed of the way is nobody's.
    #[inline]
    pub fn served(&mut self) -> &mut WorkServed {
        self.lead = Duration::ZERO;
        &mut self.served
    }

    /// A process has executed for `time`, in a call for somebody perhaps.
    #[inline]
    pub fn process_executed(&mut self, owner: Owner, time: Duration) {
        if self.owners {
            self.times.processes += time;
            if let Owner::Domain(domain) = owner {
                self.served.add(domain, time);
            }
        }
    }

    /// What was executed so far, by kind; nothing of what nobody wants to know.
    pub fn times(&self) -> KernelTimes {
        match self.owners {
            true => self.times,
            false => KernelTimes::default(),
        }
    }

    /// It executed for `time`, at most what the last step said.
    #[inline]
    pub fn executed(&mut self, time: Duration) {
        let times = &mut self.times;
        let (work, sum) = if self.hard != Hard::None {
            (&mut self.hard_work, &mut times.interrupts)
        } else if self.in_softirqs {
            let sum = match self.soft {
                Soft::Tasklet(_) | Soft::NextTasklet => {
                    let moving = self.moving.min(time);
                    self.moving -= moving;
                    times.moving += moving;
                    &mut times.tasklets
                }
                _ => &mut times.softirqs,
            };
            (&mut self.soft_work, sum)
        } else {
            (&mut self.item_work, &mut times.items)
        };
        work.executed(time);
        if self.owners {
            if !self.limits.in_time_of_others() {
                *sum += time;
            }
            if matches!(self.hard, Hard::Entry | Hard::HandlerEntry(..)) {
                self.lead += time;
            } else {
                work.charge(time, &mut self.served);
            }
        }
    }

    /// What it does from now on.
    pub fn step<D: Device>(&mut self, devices: &mut [D], io: &mut Io<'_>) -> KernelStep {
        loop {
            if io.wires.has_sent() {
                return KernelStep::Sent;
            }
            if self.hard != Hard::None {
                let line = self.pending.lock_line();
                let leg = self.hard_work.leg(self.vcpu, io.wires, line);
                if !leg.is_zero() {
                    return KernelStep::Run(leg);
                }
                self.step_hard(devices, io);
            } else if self.nested
                || self.in_upcall && !(self.in_softirqs && self.softirqs_in_upcall)
            {
                self.scan(io);
            } else {
                // Interrupts are on.
                self.take_upcall(io);
                if self.hard != Hard::None {
                    continue;
                }
                if self.in_softirqs {
                    let line = self.pending.lock_line();
                    let leg = self.soft_work.leg(self.vcpu, io.wires, line);
                    if !leg.is_zero() {
                        return KernelStep::Run(leg);
                    }
                    self.step_softirqs(devices, io);
                } else if self.pending.any() && !self.left_over {
                    // Raised by a process or by a thread, or left to a thread that does not wait.
                    self.begin_softirqs(false, io.now);
                } else if !self.step_item(devices, io) {
                    return KernelStep::Idle;
                } else if self.item_goes_on(io) {
                    let line = self.pending.lock_line();
                    let leg = self.item_work.leg(self.vcpu, io.wires, line);
                    if !leg.is_zero() {
                        return KernelStep::Run(leg);
                    }
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
        // An event that came on the way into idle: the way has to be gone again.
        self.at_idle = false;
        if guest.begin_upcall(vcpu) {
            self.nested = self.in_upcall;
            self.in_upcall = true;
            self.hard = Hard::Entry;
            self.hard_work.left = self.costs.upcall;
        } else {
            self.soft_work.left += self.costs.nested;
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
                self.hard = if port == self.timer_port {
                    Hard::TimerEntry
                } else if Some(port) == self.ipi_port {
                    Hard::Ipi(port)
                } else {
                    Hard::HandlerEntry(port, io.wires.lines.port(self.vcpu.domain, port))
                };
                self.hard_work.left = self.costs.irq;
                self.hard_work.owner = Owner::Nobody;
            }
            None => {
                self.lead = Duration::ZERO;
                let again = guest.end_upcall(vcpu);
                if !core::mem::take(&mut self.nested) {
                    self.in_upcall = again;
                }
            }
        }
    }

    /// What was executed with interrupts off is done.
    fn step_hard<D: Device>(&mut self, devices: &mut [D], io: &mut Io<'_>) {
        let port = match self.hard {
            Hard::None => return,
            Hard::Entry => {
                self.hard = Hard::None;
                return;
            }
            Hard::TimerEntry => {
                self.hard = Hard::Timer;
                self.hard_work.left = self.costs.timer_irq;
                return;
            }
            Hard::Timer => {
                self.pending.raise(SoftirqLine::TIMER);
                self.timer_port
            }
            Hard::Ipi(port) => port,
            Hard::HandlerEntry(port, line) | Hard::Handler(port, line) => {
                self.hard = Hard::Handler(port, line);
                if let Some(line) = line {
                    io.device = line.device;
                    let device = &mut devices[usize::from(line.device)];
                    let progress = device.irq(line.token, &mut kernel_io!(self, io));
                    if self.hard_work.goes_on(progress, &mut self.pending) {
                        if self.owners {
                            // The way to the handler belongs to whom its first piece is for.
                            let lead = core::mem::take(&mut self.lead);
                            self.hard_work.charge(lead, &mut self.served);
                        }
                        return;
                    }
                }
                port
            }
        };
        self.hard = Hard::None;
        self.hard_work.owner = Owner::Nobody;
        // Should it be pending again, the scan or the next upcall finds it: this vcpu looks at that
        // when it turns interrupts on.
        let _ = guest(io, self.vcpu).leave(port, self.vcpu.index);
        if !self.in_softirqs && self.pending.any() {
            match self.limits.leave_to_thread() {
                true => self.left_over = true,
                false => self.begin_softirqs(true, io.now),
            }
        }
    }

    #[inline]
    fn begin_softirqs(&mut self, in_upcall: bool, now: Instant) {
        self.in_softirqs = true;
        self.softirqs_in_upcall = in_upcall;
        self.limits.begin(now);
    }

    /// The piece of softirq work before is done.
    fn step_softirqs<D: Device>(&mut self, devices: &mut [D], io: &mut Io<'_>) {
        match self.soft {
            Soft::Next => match self.pending.next_softirq() {
                Some(SoftirqLine::TIMER) => self.soft = Soft::TimerBegins,
                Some(SoftirqLine::TASKLET) => {
                    self.pending.begin_tasklets();
                    self.soft = Soft::NextTasklet;
                }
                Some(line) => self.soft = Soft::Driver(io.wires.lines.softirq(line)),
                None if self.pending.any() && self.limits.another(io.now) => {
                    self.pending.begin_round();
                }
                None => {
                    self.in_softirqs = false;
                    self.in_thread = false;
                    self.left_over = self.threads && self.pending.any();
                }
            },
            Soft::TimerBegins => {
                self.soft = Soft::TimerRan;
                self.soft_work.left = self.costs.timer_softirq;
            }
            Soft::TimerRan => {
                self.timer_due = false;
                self.wake_tasks = true;
                while let Some(timer) = self.pending.expired(io.now) {
                    let line = io.wires.lines.kernel_timer(timer);
                    io.device = line.device;
                    let device = &mut devices[usize::from(line.device)];
                    device.timer(line.token, &mut kernel_io!(self, io));
                }
                self.soft = Soft::Next;
            }
            Soft::NextTasklet => {
                self.soft = match self.pending.next_tasklet() {
                    Some(tasklet) => Soft::Tasklet(io.wires.lines.tasklet(tasklet)),
                    None => Soft::Next,
                };
            }
            Soft::Tasklet(line) => {
                io.device = line.device;
                let device = &mut devices[usize::from(line.device)];
                let progress = device.tasklet(line.token, &mut kernel_io!(self, io));
                let goes_on = self.soft_work.goes_on(progress, &mut self.pending);
                self.moving = self.pending.take_moving();
                if !goes_on {
                    // The next one is another piece of the same softirq.
                    self.soft = Soft::NextTasklet;
                }
            }
            Soft::Driver(line) => {
                io.device = line.device;
                let device = &mut devices[usize::from(line.device)];
                let progress = device.softirq(line.token, &mut kernel_io!(self, io));
                if !self.soft_work.goes_on(progress, &mut self.pending) {
                    self.soft = Soft::Next;
                }
            }
        }
    }
}

/// The guest's side of its event channels.
#[inline]
fn guest<'a>(io: &'a mut Io<'_>, vcpu: VcpuName) -> &'a mut crate::evtchn::EvtchnGuest {
    match io.wires.channels.guest(vcpu.domain) {
        Ok(guest) => guest,
        Err(error) => unreachable!("a kernel with devices has event channels: {error}"),
    }
}
