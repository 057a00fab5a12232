//! Limits that somebody sets while guests run: a rate, a ration, or nothing at all.
//!
//! What a guest that is held has put into its ring stays there; what a guest that is dropped puts
//! there is answered at once. What comes for either is dropped as soon as the driver domain knows
//! whom it is for, before the bridge, so that a flood costs the driver domain little (Gupta et al.
//! 2006, section 5). A gate that is set for a time opens by itself: a kernel timer of the driver
//! domain sees to that, and whatever comes first and finds the time over.

use domio_core::{Instant, VcpuName};
use domio_vmm::bus::{Io, KernelIo, Traffic};

use super::super::{Network, VifRate};
use super::Netback;
use super::gate::Gate;
use crate::queue::Place;

impl Netback {
    /// Where packets end that are for guests whose traffic is stopped.
    pub const STOPPED: Place = Place("driver domain, traffic stopped");
    /// Where packets end that such guests send.
    pub const GUARDED: Place = Place("netback, traffic dropped");
}

impl Network {
    /// Limits interface `vif`, in place of what its configuration or an earlier limit says.
    pub(in super::super) fn limit_vif(&mut self, vif: u16, traffic: Traffic, io: &mut Io<'_>) {
        let configured = self.config.vifs[usize::from(vif)].rate;
        let v = &mut self.vifs[usize::from(vif)];
        v.credit.set_rate(match traffic {
            Traffic::Limited { bytes, per } => Some(VifRate {
                bytes,
                interval: per,
            }),
            Traffic::Free | Traffic::Stopped | Traffic::Guarded { .. } => configured,
        });
        let gate = v.gate.set(traffic, io.now);
        self.set_gate(vif, gate);
        let driver = VcpuName::new(self.config.driver, self.config.vcpu);
        if self.vifs[usize::from(vif)].up {
            // What has waited goes on, or is dropped.
            self.list_for_tx(vif);
            io.schedule_on(driver, self.driver.lines.tx_tasklet);
        }
        let first = self.first_limit_to_end();
        io.set_timer_on(driver, self.driver.lines.credit, first);
    }

    pub(in super::super) fn set_gate(&mut self, vif: u16, gate: Gate) {
        let v = &mut self.vifs[usize::from(vif)];
        match (v.gate.is_open(), gate.is_open()) {
            (true, false) => self.back.gated_vifs += 1,
            (false, true) => self.back.gated_vifs -= 1,
            _ => {}
        }
        v.gate = gate;
    }

    /// Opens the gate of `vif`, if its time is over.
    pub(in super::super) fn open_if_over(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        if self.vifs[usize::from(vif)].gate.is_over(kernel.now()) {
            self.set_gate(vif, Gate::open());
            self.serve_guest(vif, kernel);
        }
    }

    /// The timer of the gates has fired: gates whose time is over open, and who waits for a ration
    /// is looked at.
    pub(in super::super) fn gates_expired(&mut self, kernel: &mut KernelIo<'_, '_>) {
        let now = kernel.now();
        for vif in 0..self.vifs.len() as u16 {
            self.open_if_over(vif, kernel);
            let v = &mut self.vifs[usize::from(vif)];
            if v.gate.next(v.tx.requests() > 0).is_some_and(|at| at <= now) {
                v.gate.refill(now);
                self.serve_guest(vif, kernel);
            }
        }
    }

    /// When the first limit of an interface changes by itself.
    pub(in super::super) fn first_limit_to_end(&self) -> Option<Instant> {
        let credit = self.vifs.iter().filter_map(|v| v.credit.timer).min();
        if self.back.gated_vifs == 0 {
            return credit;
        }
        let gates = self.vifs.iter();
        let gates = gates.filter_map(|v| v.gate.next(v.tx.requests() > 0));
        credit.into_iter().chain(gates).min()
    }
}
