//! Limits that somebody sets while guests run: a rate, or nothing at all.
//!
//! A guest that is stopped is served in neither direction. What it has put into its ring stays
//! there; what comes for it is dropped as soon as the driver domain knows whom it is for, before
//! the bridge, so that a flood costs the driver domain little (Gupta et al. 2006, section 5).

use domio_core::VcpuName;
use domio_vmm::bus::{Io, Traffic};

use super::super::{Network, VifRate};
use super::Netback;
use crate::queue::Place;

impl Netback {
    /// Where packets end that are for guests whose traffic is stopped.
    pub const STOPPED: Place = Place("driver domain, traffic stopped");
}

impl Network {
    /// Limits interface `vif`, in place of what its configuration or an earlier limit says.
    pub(in super::super) fn limit_vif(&mut self, vif: u16, traffic: Traffic, io: &mut Io<'_>) {
        let configured = self.config.vifs[usize::from(vif)].rate;
        let v = &mut self.vifs[usize::from(vif)];
        let stops = traffic == Traffic::Stopped;
        if stops != v.stopped {
            v.stopped = stops;
            match stops {
                true => self.back.stopped_vifs += 1,
                false => self.back.stopped_vifs -= 1,
            }
        }
        v.credit.set_rate(match traffic {
            Traffic::Limited { bytes, per } => Some(VifRate {
                bytes,
                interval: per,
            }),
            Traffic::Free | Traffic::Stopped => configured,
        });
        if !v.stopped && v.up {
            // What has waited goes on.
            self.list_for_tx(vif);
            let driver = VcpuName::new(self.config.driver, self.config.vcpu);
            io.schedule_on(driver, self.driver.lines.tx_tasklet);
        }
    }
}
