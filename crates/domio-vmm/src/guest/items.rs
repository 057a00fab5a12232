//! Work items of a kernel on one vcpu: a thread of the kernel does one after the other.

use super::kernel::Kernel;
use crate::bus::device::Device;
use crate::bus::io::{Io, KernelIo};

impl Kernel {
    /// Whether the thread that does work items executes next: what the piece before has sent or
    /// raised goes first.
    #[inline]
    pub(super) fn item_goes_on(&self, io: &Io<'_>) -> bool {
        let raised = self.pending.any() && !self.left_over;
        !self.item_work.left.is_zero() && !raised && !io.wires.has_sent()
    }

    /// Continues with a work item; false when there is none.
    pub(super) fn step_item<D: Device>(&mut self, devices: &mut [D], io: &mut Io<'_>) -> bool {
        if !self.item_work.left.is_zero() {
            return true;
        }
        if self.item.is_none() {
            self.item = self
                .pending
                .next_work()
                .map(|item| io.wires.lines.work(item));
        }
        let Some(line) = self.item else {
            return false;
        };
        io.device = line.device;
        let device = &mut devices[usize::from(line.device)];
        let progress = device.work(
            line.token,
            &mut KernelIo {
                vcpu: self.vcpu,
                io,
                pending: &mut self.pending,
            },
        );
        if !self.item_work.goes_on(progress, &mut self.pending) {
            self.item = None;
        }
        true
    }
}
