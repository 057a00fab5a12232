//! The process of a controller.

use crate::config::{ControllerConfig, ControllerCosts, HostConfig, TaskConfig, Workload};
use crate::process::{Context, Hypercall, Op, Program};
use alloc::string::String;
use domio_core::{Duration, Instant};

/// Has a controller observe its host again and again. The process sleeps until an interval is over,
/// reads, decides, and carries the adjustments out one after the other. Each of these steps takes
/// time. So the controller decides on figures that are as old as the process was kept from running.
///
/// What was set for a time is set again half way to the next observation, so that it does not end
/// because that comes late. It ends soon after the process does.
#[derive(Clone, Debug)]
pub struct ControllerProcess {
    number: u16,
    interval: Duration,
    costs: ControllerCosts,
    /// When the next observation is due.
    next: Instant,
    /// How many of the settings last for a time.
    renewed: u64,
    step: Step,
}

/// What the process does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Sleep,
    /// Asking how many vcpus there are to read figures of.
    Call,
    /// Reading the figures.
    Read,
    Observe,
    Think,
    Decide,
    /// Preparing the next adjustment, of so many that are left.
    Prepare(u64),
    Adjust(u64),
    /// Waiting for half of the interval.
    Rest,
    /// Preparing to set again what lasts for a time.
    Prolong,
    Renew,
}

impl ControllerProcess {
    /// The process of controller `number` of a host, which begins to observe at `start`.
    pub fn new(number: u16, config: &ControllerConfig, start: Instant) -> Self {
        ControllerProcess {
            number,
            interval: config.interval,
            costs: config.costs,
            next: start,
            renewed: 0,
            step: Step::Sleep,
        }
    }
}

impl HostConfig {
    /// Has a controller run as a process of one of the domains, from when the domain is created.
    ///
    /// # Panics
    /// When the domain or its vcpu does not exist.
    #[track_caller]
    pub fn add_controller(&mut self, config: ControllerConfig) {
        let number = self.controllers.len() as u16;
        let domain = self.domains.iter_mut().find(|d| d.id == config.domain);
        let domain = domain.expect("a controller runs in a domain of the host");
        let process = ControllerProcess::new(number, &config, domain.start);
        let vcpu = &mut domain.vcpus[usize::from(config.vcpu)];
        vcpu.tasks.push(TaskConfig {
            name: String::from(config.entry.descriptor.name),
            priority: TaskConfig::IO_BOUND,
            roams: false,
            workload: Workload::program(process),
        });
        self.controllers.push(config);
    }
}

impl Program for ControllerProcess {
    fn name(&self) -> &'static str {
        "controller"
    }

    fn next(&mut self, cx: &Context) -> Op {
        loop {
            match self.step {
                Step::Sleep => {
                    self.step = Step::Call;
                    if cx.now < self.next {
                        return Op::SleepUntil(self.next);
                    }
                }
                Step::Call => {
                    self.step = Step::Read;
                    // A late observation does not put the next one off, and makes up for none.
                    while self.next <= cx.now {
                        self.next += self.interval;
                    }
                    return Op::Hypercall(Hypercall::Vcpus);
                }
                Step::Read => {
                    self.step = Step::Observe;
                    return Op::Compute(self.costs.read + self.costs.read_vcpu * cx.returned);
                }
                Step::Observe => {
                    self.step = Step::Think;
                    return Op::Hypercall(Hypercall::Observe(self.number));
                }
                Step::Think => {
                    self.step = Step::Decide;
                    return Op::Compute(self.costs.decide);
                }
                Step::Decide => {
                    // The hypercall returns how many adjustments there are.
                    self.step = Step::Prepare(u64::MAX);
                    return Op::Hypercall(Hypercall::Decide(self.number));
                }
                Step::Prepare(left) => {
                    let left = match left {
                        u64::MAX => {
                            self.renewed = cx.returned >> Hypercall::RENEWED_SHIFT;
                            cx.returned % (1 << Hypercall::RENEWED_SHIFT)
                        }
                        left => left,
                    };
                    if left == 0 {
                        self.step = match self.renewed {
                            0 => Step::Sleep,
                            _ => Step::Rest,
                        };
                        continue;
                    }
                    self.step = Step::Adjust(left - 1);
                    return Op::Compute(self.costs.adjust);
                }
                Step::Adjust(left) => {
                    self.step = Step::Prepare(left);
                    return Op::Hypercall(Hypercall::Adjust(self.number));
                }
                Step::Rest => {
                    let half = self.next.saturating_sub(self.interval / 2);
                    // Whoever is so late has set everything just now.
                    if cx.now >= half {
                        self.step = Step::Sleep;
                        continue;
                    }
                    self.step = Step::Prolong;
                    return Op::SleepUntil(half);
                }
                Step::Prolong => {
                    self.step = Step::Renew;
                    return Op::Compute(self.costs.adjust * self.renewed);
                }
                Step::Renew => {
                    self.step = Step::Sleep;
                    return Op::Hypercall(Hypercall::Renew(self.number));
                }
            }
        }
    }
}
