//! The processes of a guest: which one executes, what its program does next, jobs that are done.

use super::Host;
use crate::bus::device::Device;
use crate::bus::io::Io;
use crate::bus::models::Bus;
use crate::event::{Event, Queue};
use crate::guest::{Job, Step};
use crate::hypervisor::pcpu::Phase;
use crate::hypervisor::vcpu::Vcpu;
use crate::process::run::{Next, STEPS_WITHOUT_TIME};
use alloc::boxed::Box;
use alloc::format;
use domio_core::{Duration, Instant, PcpuId, Sink, VcpuId, VcpuName};

impl<S: Sink, D: Device> Host<S, D> {
    /// Continues with the processes of `vcpu`, whose kernel has nothing to do.
    #[inline(never)]
    pub(super) fn step_processes(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        now: Instant,
    ) {
        // A program whose step asked nothing of the kernel continues immediately.
        let mut kernel_first = false;
        loop {
            if D::present() && kernel_first && self.step_kernel(queue, pcpu, vcpu, now) {
                return;
            }
            kernel_first = true;
            let v = &mut self.xen.vcpus[vcpu];
            let step = v.guest.step(now, &mut self.jobs);
            if step != Step::Block && self.xen.halt_polls.any() {
                self.xen.halt_polls.over(vcpu, now);
            }
            if step != Step::Program {
                v.set_timer::<D>(queue, now);
            }
            if !self.jobs.is_empty() {
                self.after_jobs(queue, pcpu, vcpu, now);
            }
            if self.xen.vcpus.roams
                && self
                    .xen
                    .vcpus
                    .pull_processes::<D>(queue, vcpu, step == Step::Block, now)
            {
                continue;
            }
            match step {
                Step::Run(Duration::MAX) => {}
                Step::Run(time) => {
                    self.xen.run_for(queue, (pcpu, vcpu), now, time);
                }
                Step::Block => {
                    if D::present() && self.is_called(vcpu) {
                        // An upcall is due: the hypercall returns at once (xen-spec 0.7).
                        continue;
                    }
                    let left = self.xen.vcpus[vcpu].guest.enter_idle();
                    if !left.is_zero() {
                        self.xen.run_for(queue, (pcpu, vcpu), now, left);
                        return;
                    }
                    if self.xen.halt_polls.any() && self.xen.polls(queue, pcpu, vcpu, now) {
                        return;
                    }
                    self.xen.block(queue, pcpu, vcpu, now);
                }
                Step::Yield => self.xen.yields(queue, pcpu, vcpu, now),
                Step::Thread => {
                    self.xen.vcpus[vcpu].guest.run_thread(now);
                    continue;
                }
                Step::Program => match self.step_program(queue, pcpu, vcpu, now) {
                    Next::Run(time) => {
                        self.xen.vcpus[vcpu].set_timer::<D>(queue, now);
                        if time != Duration::MAX {
                            self.xen.run_for(queue, (pcpu, vcpu), now, time);
                        }
                    }
                    Next::GoOn | Next::Report(_) => {
                        let guest = &self.xen.vcpus[vcpu].guest;
                        kernel_first = self.bus.wires.has_sent() || guest.kernel_goes_first();
                        continue;
                    }
                    Next::Yield => {
                        self.xen.vcpus[vcpu].set_timer::<D>(queue, now);
                        self.xen.yields(queue, pcpu, vcpu, now);
                    }
                    Next::Hypercall(call) => {
                        self.hypercall(queue, pcpu, vcpu, call, now);
                        let p = &self.xen.pcpus[pcpu];
                        if p.phase == Phase::Guest && p.exec_from == now {
                            continue;
                        }
                        // What it set reaches its own vcpu: an interrupt or a pass comes first.
                        self.xen.vcpus[vcpu].set_timer::<D>(queue, now);
                    }
                    // The run ends.
                    Next::Stuck => {}
                },
            }
            return;
        }
    }

    /// Continues with the program that executes on `vcpu`.
    #[inline(never)]
    fn step_program(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        now: Instant,
    ) -> Next {
        let Bus { devices, wires } = &mut self.bus;
        let mut io = Io {
            now,
            on: pcpu,
            device: 0,
            queue,
            wires,
        };
        let Vcpu { guest, name, .. } = &mut self.xen.vcpus[vcpu];
        let next = guest.advance(*name, devices, &mut io, &mut self.jobs);
        self.write_device_records();
        if next == Next::Stuck {
            self.complain_of_program(vcpu);
        }
        next
    }

    #[cold]
    fn complain_of_program(&mut self, vcpu: VcpuId) {
        let v = &mut self.xen.vcpus[vcpu];
        let what = format!(
            "the program {} of {} made {STEPS_WITHOUT_TIME} steps without executing, sleeping or \
             blocking in between",
            v.guest.program(),
            v.name
        );
        self.xen.fault = Some(Box::new(domio_sim::StopCause::Stalled { what }));
    }

    /// What follows from the jobs that were finished in the step under way.
    fn after_jobs(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        let tracing = self.xen.trace.on();
        for job in self.jobs.drain(..) {
            match job {
                Job::Report { task, finished } if tracing => {
                    let trace = &mut self.xen.trace;
                    trace.job_done(now, pcpu, vcpu, task, finished.turnaround, finished.work);
                }
                Job::Report { .. } => {}
                Job::Kicks(index) => {
                    let domain = self.xen.vcpus[vcpu].name.domain;
                    let woken = self.xen.vcpus.find(VcpuName::new(domain, index));
                    if let Some(vcpu) = woken {
                        // The step under way comes first.
                        queue.post(now, Event::Kick { vcpu, by: pcpu });
                    }
                }
            }
        }
    }
}
