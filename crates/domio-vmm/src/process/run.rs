//! Carrying out the steps of a program.
//!
//! A process computes (`left` of the task is over zero), is in a call of a device model, waits,
//! sleeps, or is about to be asked for the next step. After each call of a model the host looks at
//! the guest anew: what the model sent or raised goes first, as on the way out of any system call.

use super::running::Doing;
use super::task::Task;
use super::{Answer, Call, Context, Finished, Hypercall, Op, Pid};
use crate::bus::device::Device;
use crate::bus::io::KernelIo;
use crate::bus::locks::{LockEntry, Section};
use crate::bus::owner::Owner;
use crate::guest::work::leave;
use domio_core::{Duration, Instant};

/// Steps that a program may make without executing, sleeping or blocking in between.
pub(crate) const STEPS_WITHOUT_TIME: u32 = 10_000;

/// What follows a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Look at what the guest does next.
    GoOn,
    /// The process executes for this long, and nothing else has to be looked at.
    Run(Duration),
    /// A job was done.
    Report(Finished),
    /// The process gives the vcpu away (yields).
    Yield,
    /// A hypercall. What the hypercall returns comes by [`Task::returned`].
    Hypercall(Hypercall),
    /// The program makes no progress.
    Stuck,
}

impl Task {
    /// Continues with the program of this task, process `pid`, which has nothing left to execute.
    /// If the process was woken, the switch to it comes first and takes `switch`.
    pub(crate) fn advance<D: Device>(
        &mut self,
        pid: Pid,
        switch: Duration,
        devices: &mut [D],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Next {
        loop {
            let next = self.advance_once(pid, switch, devices, kernel);
            let goes_on = next == Next::GoOn && self.ready() && !self.has_work();
            // What a model has sent or raised goes first, as on the way out of any system call.
            if !goes_on || kernel.has_asked() {
                return next;
            }
        }
    }

    /// One step, or one piece of a call.
    fn advance_once<D: Device>(
        &mut self,
        pid: Pid,
        switch: Duration,
        devices: &mut [D],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Next {
        let now = kernel.now();
        let Some(running) = self.running() else {
            return Next::GoOn;
        };
        if core::mem::take(&mut running.woken) {
            running.idle_steps = 0;
            if !switch.is_zero() {
                self.compute(switch);
                return Next::GoOn;
            }
        }
        running.idle_steps += 1;
        if running.idle_steps > STEPS_WITHOUT_TIME {
            return Next::Stuck;
        }
        match core::mem::replace(&mut running.doing, Doing::Next) {
            Doing::Next => {
                let returned = core::mem::take(&mut running.returned);
                let op = running.program.next(&Context { now, returned });
                self.begin_step(op, now)
            }
            Doing::Call(call) => {
                kernel.io.device = call.file.device;
                let device = &mut devices[usize::from(call.file.device)];
                match device.call(call, pid, kernel) {
                    Answer::Run(time, owner) => {
                        let section = kernel.pending.take_section();
                        running.doing = match section {
                            None => Doing::Call(call),
                            Some(section) => Doing::Before(call, section, owner),
                        };
                        let within = section.map_or(Duration::ZERO, |section| section.time);
                        let time = time.saturating_sub(within);
                        if !time.is_zero() {
                            running.idle_steps = 0;
                        }
                        self.compute(time);
                        self.set_owner(owner);
                    }
                    Answer::Block => {
                        running.doing = Doing::Call(call);
                        self.sleep(Instant::MAX);
                    }
                    Answer::Return(value) => running.returned = value,
                }
                Next::GoOn
            }
            Doing::Before(call, section, owner) | Doing::Spins(call, section, owner) => {
                self.enter_section(call, section, owner, kernel);
                Next::GoOn
            }
            Doing::Within(call, lock) => {
                running.doing = Doing::Call(call);
                leave(lock, kernel.vcpu, kernel.io.wires);
                Next::GoOn
            }
            Doing::Wait(any, until) => {
                let mut ready = None;
                for (i, (file, interest)) in any.iter().enumerate() {
                    let device = &mut devices[usize::from(file.device)];
                    // Whoever was to be woken is forgotten first, so that nobody is woken twice.
                    if device.poll(file.file, *interest, None) && ready.is_none() {
                        ready = Some(i);
                    }
                }
                if ready.is_none() && until <= now {
                    ready = Some(any.len());
                }
                match ready {
                    Some(i) => running.returned = i as u64,
                    None => {
                        for (file, interest) in &any {
                            let device = &mut devices[usize::from(file.device)];
                            device.poll(file.file, *interest, Some(pid));
                        }
                        running.doing = Doing::Wait(any, until);
                        self.sleep(until);
                    }
                }
                Next::GoOn
            }
            Doing::Nothing => {
                self.exit();
                Next::GoOn
            }
        }
    }

    /// A call comes to a section that one vcpu at a time may be in, or looks whether it may enter
    /// now.
    fn enter_section(
        &mut self,
        call: Call,
        section: Section,
        owner: Owner,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        let entry = kernel.io.wires.locks.enter(section.lock, kernel.vcpu);
        let (doing, time) = match entry {
            LockEntry::Spins => (Doing::Spins(call, section, owner), Duration::MAX),
            LockEntry::Taken => (Doing::Within(call, section.lock), section.time),
            LockEntry::TakenFrom => {
                let line = kernel.pending.lock_line();
                (Doing::Within(call, section.lock), section.time + line)
            }
        };
        self.compute(time);
        self.set_owner(owner);
        if let Some(running) = self.running() {
            running.doing = doing;
        }
    }

    /// Begins a step of the program.
    fn begin_step(&mut self, op: Op, now: Instant) -> Next {
        let Some(running) = self.running() else {
            return Next::GoOn;
        };
        match op {
            Op::Compute(time) => {
                if !time.is_zero() {
                    running.idle_steps = 0;
                }
                self.compute(time);
            }
            Op::SleepUntil(at) if at <= now => {}
            Op::SleepUntil(at) => self.sleep(at),
            Op::Yield => return Next::Yield,
            Op::Call(call) => running.doing = Doing::Call(call),
            Op::Wait { any, until } => running.doing = Doing::Wait(any, until),
            Op::Hypercall(call) => return Next::Hypercall(call),
            Op::Report { released, work } => {
                return Next::Report(Finished {
                    turnaround: now.saturating_since(released),
                    work,
                });
            }
            Op::Exit => {
                running.doing = Doing::Nothing;
                self.exit();
            }
        }
        Next::GoOn
    }
}
