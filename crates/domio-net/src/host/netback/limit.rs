//! Limits that somebody sets while guests run: a rate, a ration, or nothing at all.
//!
//! What a guest that is held has put into its ring stays there; what a guest that is dropped puts
//! there is answered immediately. What comes for either is dropped as soon as the driver domain
//! knows whom it is for, before the bridge, so that a flood costs the driver domain little (Gupta
//! et al. 2006, section 5). A gate that is set for a time opens by itself: a kernel timer of the
//! driver domain sees to that, and whatever comes first and finds the time over.

use alloc::vec::Vec;
use domio_core::{Instant, VcpuName};
use domio_vmm::bus::{Io, KernelIo, KernelTimer, Traffic};

use super::super::config::VifRate;
use super::super::vif::Vif;
use super::credit::Credit;
use super::gate::{Gate, Outgoing};

/// The limit of an interface.
#[derive(Clone, Debug)]
struct Limit {
    /// The rate that the configuration gives it.
    rate: Option<VifRate>,
    /// What the guest may send still.
    credit: Credit,
    /// What a controller lets through.
    gate: Gate,
}

impl Limit {
    /// When it changes by itself, for a guest whose packets wait or do not.
    fn next(&self, waits: bool) -> Option<Instant> {
        self.credit
            .timer
            .into_iter()
            .chain(self.gate.next(waits))
            .min()
    }
}

/// The limits of all interfaces.
pub(super) struct Limits {
    /// By interface.
    limits: Vec<Limit>,
    /// How many interfaces have a gate that is not open.
    gated: u16,
    /// The driver domain's timer, and the vcpu that has it.
    timer: KernelTimer,
    vcpu: u16,
}

impl Limits {
    /// Limits by interface that begin with these rates, which `timer` of the driver domain's vcpu
    /// `vcpu` looks after.
    pub fn new(rates: &[Option<VifRate>], timer: KernelTimer, vcpu: u16) -> Self {
        let limit = |rate| Limit {
            rate,
            credit: Credit::new(rate),
            gate: Gate::open(),
        };
        Limits {
            limits: rates.iter().map(|rate| limit(*rate)).collect(),
            gated: 0,
            timer,
            vcpu,
        }
    }

    /// Whether any gate is not open.
    pub fn any_gate(&self) -> bool {
        self.gated > 0
    }

    /// Limits `vif` at `now`, in place of what its configuration or an earlier limit says.
    pub fn set(&mut self, vif: u16, traffic: Traffic, now: Instant) {
        let limit = &mut self.limits[usize::from(vif)];
        limit.credit.set_rate(match traffic {
            Traffic::Limited { bytes, per } => Some(VifRate {
                bytes,
                interval: per,
            }),
            Traffic::Free | Traffic::Stopped | Traffic::Guarded { .. } => limit.rate,
        });
        let gate = limit.gate.set(traffic, now);
        self.set_gate(vif, gate);
    }

    fn set_gate(&mut self, vif: u16, gate: Gate) {
        let old = &mut self.limits[usize::from(vif)].gate;
        match (old.is_open(), gate.is_open()) {
            (true, false) => self.gated += 1,
            (false, true) => self.gated -= 1,
            _ => {}
        }
        *old = gate;
    }

    /// The guest of `vif` is gone: nobody waits, and the gate is open for the next one.
    pub fn forget(&mut self, vif: u16) {
        self.limits[usize::from(vif)].credit.timer = None;
        self.set_gate(vif, Gate::open());
    }

    /// Opens the gate of `vif`, if its time is over at `now`; whether it was.
    pub fn open_if_over(&mut self, vif: u16, now: Instant) -> bool {
        let over = self.limits[usize::from(vif)].gate.is_over(now);
        if over {
            self.set_gate(vif, Gate::open());
        }
        over
    }

    /// Whether the rate of `vif` has given it more, for a packet that waits, at `now`.
    pub fn refill_credit(&mut self, vif: u16, vifs: &[Vif], now: Instant) -> bool {
        let credit = &mut self.limits[usize::from(vif)].credit;
        let due = credit.timer.is_some_and(|at| at <= now);
        if due {
            let first = vifs[usize::from(vif)].next_sent();
            credit.refill(now, first.map_or(0, |p| u64::from(p.frame_bytes())));
        }
        due
    }

    /// Whether the gate of `vif` has changed by itself at `now`: a new interval has a new ration.
    pub fn refill_ration(&mut self, vif: u16, vifs: &[Vif], now: Instant) -> bool {
        let gate = &mut self.limits[usize::from(vif)].gate;
        let next = gate.next(waits(&vifs[usize::from(vif)]));
        let due = next.is_some_and(|at| at <= now);
        if due {
            gate.refill(now);
        }
        due
    }

    /// What becomes of the next packet from the guest of `vif` at `now`, as far as its gate goes.
    pub fn outgoing(&mut self, vif: u16, now: Instant) -> Outgoing {
        match self.gated {
            0 => Outgoing::Passes,
            _ => self.limits[usize::from(vif)].gate.outgoing(now),
        }
    }

    /// Takes `bytes` of what the guest of `vif` may send. If there are not as many, it waits, and
    /// until when is told once.
    pub fn take(&mut self, vif: u16, now: Instant, bytes: u64) -> Result<(), Option<Instant>> {
        let credit = &mut self.limits[usize::from(vif)].credit;
        let waits = credit.timer.is_some();
        match credit.take(now, bytes) {
            true => Ok(()),
            false => Err(credit.timer.filter(|_| !waits)),
        }
    }

    /// A packet from the guest of `vif` has passed its gate.
    pub fn pass_out(&mut self, vif: u16) {
        self.limits[usize::from(vif)].gate.pass_out();
    }

    /// Whether a packet for the guest of `vif` passes its gate at `now`.
    pub fn pass_in(&mut self, vif: u16, now: Instant) -> bool {
        self.limits[usize::from(vif)].gate.pass_in(now)
    }

    /// When the first limit of an interface changes by itself.
    fn first_to_end(&self, vifs: &[Vif]) -> Option<Instant> {
        let all = self.limits.iter().zip(vifs);
        all.filter_map(|(limit, vif)| limit.next(waits(vif))).min()
    }

    /// Sets the driver domain's timer for the first limit that expires; some interface's credit or
    /// gate has changed.
    pub fn set_timer(&self, vifs: &[Vif], kernel: &mut KernelIo<'_, '_>) {
        kernel.set_timer(self.timer, self.vcpu, self.first_to_end(vifs));
    }

    /// The same, from outside of the driver domain's vcpu `driver`.
    pub fn set_timer_on(&self, driver: VcpuName, vifs: &[Vif], io: &mut Io<'_>) {
        io.set_timer_on(driver, self.timer, self.first_to_end(vifs));
    }
}

/// Whether packets of the guest wait in its ring.
fn waits(vif: &Vif) -> bool {
    vif.tx.requests() > 0
}
