//! Netback, to the guests.

use domio_core::NetPlace::{DriverIn, Outside, RxRing};
use domio_core::{Duration, Instant};
use domio_vmm::bus::{KernelIo, Owner, PacketsMoved, Progress};
use domio_vmm::grant::Batch;
use domio_vmm::ring::NET_RX;

use super::super::vif::Vif;
use super::super::{NetCosts, Network, RxMode, record};
use super::{BATCH_MAX, RX_FREE, RX_TIMEOUT, RxStage, SLOTS_MAX};
use crate::packet::Packet;

impl Vif {
    /// Whether netback takes no packet for the guest: fewer buffers are left than the largest one
    /// needs, or fewer places for answers (`netbk_queue_full`).
    fn rx_is_full(&self) -> bool {
        self.rx.requests() < self.rx_reserved + RX_FREE
            || self.rx.unanswered() + self.rx_reserved + RX_FREE > NET_RX
    }
}

impl Network {
    /// What handing `packet` to the guest of an interface costs now: netback's start of a
    /// transmission. It copies, where the page is to be given away.
    pub(in super::super) fn queue_cost(&self, packet: &Packet) -> Duration {
        let copy = match self.config.rx_mode {
            RxMode::Flip => self.costs.copy(u64::from(packet.frame_bytes())),
            RxMode::Copy => Duration::ZERO,
        };
        self.costs.back_queue + copy
    }

    /// The bridge has a packet for the guest of interface `vif`. Nobody overtakes the packets of a
    /// queue that stands still, or that goes on and still holds some.
    pub(in super::super) fn queue_to_guest(
        &mut self,
        vif: u16,
        packet: Packet,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        let next = self.driver.is_restarting(vif);
        let v = &mut self.vifs[usize::from(vif)];
        if v.up && (v.rx_stopped || next || !v.rx_queue.is_empty()) {
            // Dropped when the queue is full: the queue counts it.
            if !v.rx_queue.push(packet) {
                record::moved(kernel.io, v.ends, &packet, DriverIn, Outside);
            }
            return;
        }
        self.send_to_guest(vif, packet, kernel);
    }

    /// Netback's start of a transmission: `packet` is the next one for the guest of `vif`.
    pub(in super::super) fn send_to_guest(
        &mut self,
        vif: u16,
        packet: Packet,
        kernel: &mut KernelIo<'_, '_>,
    ) {
        if !self.accept_for_guest(vif, packet, kernel) {
            let ends = self.vifs[usize::from(vif)].ends;
            record::moved(kernel.io, ends, &packet, DriverIn, Outside);
        }
    }

    /// Whether the packet was not dropped.
    fn accept_for_guest(
        &mut self,
        vif: u16,
        packet: Packet,
        kernel: &mut KernelIo<'_, '_>,
    ) -> bool {
        let v = &mut self.vifs[usize::from(vif)];
        if !v.up {
            self.back.gone += 1;
            return false;
        }
        if v.rx_is_full() {
            self.ring_drops += 1;
            return false;
        }
        v.rx_reserved += 1;
        if v.rx_is_full() {
            v.rx.want_requests(v.rx_reserved + RX_FREE);
            if v.rx_is_full() {
                self.stop_queue(vif, kernel);
            }
        }
        self.back.rx_waiting.push_back((vif, packet));
        kernel.schedule(self.driver.lines.rx_tasklet);
        true
    }

    /// No more packets to the guest of `vif` before it has posted buffers, or [`RX_TIMEOUT`] is
    /// over.
    fn stop_queue(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        let until = kernel.now() + RX_TIMEOUT;
        let v = &mut self.vifs[usize::from(vif)];
        v.rx_stopped = true;
        v.rx_timeout = Some(until);
        self.back.stopped.push_back((until, vif));
        self.set_queue_timer(kernel);
    }

    /// The guest of `vif` may have posted buffers: packets that waited for them go on.
    pub(in super::super) fn restart_queue(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        let v = &mut self.vifs[usize::from(vif)];
        if v.rx_stopped && !v.rx_is_full() {
            self.wake_queue(vif, kernel);
            self.set_queue_timer(kernel);
        }
    }

    fn wake_queue(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        let v = &mut self.vifs[usize::from(vif)];
        v.rx_stopped = false;
        v.rx_timeout = None;
        if !v.rx_queue.is_empty() {
            self.back.restart.push_back(vif);
            kernel.raise(self.driver.lines.tx);
        }
    }

    /// When the first of the queues that stand still has to go on.
    pub(in super::super) fn first_rx_timeout(&mut self) -> Option<Instant> {
        while let Some(&(until, vif)) = self.back.stopped.front() {
            if self.vifs[usize::from(vif)].rx_timeout == Some(until) {
                return Some(until);
            }
            self.back.stopped.pop_front();
        }
        None
    }

    /// Queues that have stood still for too long go on: what does not fit is dropped, instead of
    /// taking the driver domain's memory for as long as the guest likes.
    pub(in super::super) fn expire_queues(&mut self, kernel: &mut KernelIo<'_, '_>) {
        while self.first_rx_timeout().is_some_and(|at| at <= kernel.now())
            && let Some((_, vif)) = self.back.stopped.pop_front()
        {
            self.wake_queue(vif, kernel);
        }
    }

    pub(in super::super) fn rx_tasklet(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        loop {
            match self.back.rx_stage {
                RxStage::Begin => {
                    // The largest packet has to fit behind the last one.
                    let room = BATCH_MAX - usize::from(SLOTS_MAX);
                    while self.back.rx_batch.len() < room
                        && let Some((vif, packet)) = self.back.rx_waiting.pop_front()
                    {
                        let v = &mut self.vifs[usize::from(vif)];
                        v.rx_reserved -= 1;
                        let request = v.rx.take_request();
                        assert!(request.is_some(), "packets reserve the requests they take");
                        self.back.rx_batch.push((vif, packet));
                    }
                    if self.back.rx_batch.is_empty() {
                        return Progress::Done;
                    }
                    self.back.rx_stage = RxStage::Granted;
                    return Progress::Run(self.rx_batch_cost(kernel), Owner::Shared);
                }
                RxStage::Granted => {
                    self.respond(kernel);
                    self.back.rx_stage = RxStage::Notifying;
                }
                RxStage::Notifying => {
                    if let Some(vif) = self.back.rx_sending.take() {
                        self.notify_front(vif, kernel);
                    }
                    self.back.rx_sending = self.back.rx_notify.pop();
                    if let Some(vif) = self.back.rx_sending {
                        return self.sending(vif);
                    }
                    self.back.rx_stage = RxStage::Begin;
                    if !self.back.rx_waiting.is_empty() {
                        kernel.schedule(self.driver.lines.rx_tasklet);
                    }
                    return Progress::Done;
                }
            }
        }
    }

    /// What the batch costs. Each guest has part in it by what its own packets cost.
    fn rx_batch_cost(&mut self, kernel: &mut KernelIo<'_, '_>) -> Duration {
        let mut batch = Batch::new(self.config.driver);
        for (vif, packet) in &self.back.rx_batch {
            if kernel.owners() {
                let mut alone = Batch::new(self.config.driver);
                match self.config.rx_mode {
                    RxMode::Flip => alone.transfers = 1,
                    RxMode::Copy => {
                        alone.copies = 1;
                        alone.copied_bytes = u64::from(packet.frame_bytes());
                    }
                }
                let part = self.costs.grants.of(&alone) + self.costs.back_rx;
                kernel.share(self.vifs[usize::from(*vif)].domain, part);
            }
            match self.config.rx_mode {
                RxMode::Flip => batch.transfers += 1,
                RxMode::Copy => {
                    batch.copies += 1;
                    batch.copied_bytes += u64::from(packet.frame_bytes());
                }
            }
        }
        let own = self.costs.back_rx * self.back.rx_batch.len() as u64;
        self.costs.grants.of(&batch) + own + self.page_cost(batch.transfers)
    }

    /// What `n` pages of a batch that are transferred cost besides: one flush of the TLB, and new
    /// pages from Xen whenever none are left (`check_mfn`).
    fn page_cost(&mut self, n: u32) -> Duration {
        if n == 0 {
            return Duration::ZERO;
        }
        let lumps = n.saturating_sub(self.back.pages).div_ceil(NetCosts::PAGES);
        self.back.pages = self.back.pages + lumps * NetCosts::PAGES - n;
        self.costs.back_flush + self.costs.back_pages * u64::from(lumps)
    }

    /// Tells the guests of the packets of the batch, in their rings.
    fn respond(&mut self, kernel: &mut KernelIo<'_, '_>) {
        let mut batch = std::mem::take(&mut self.back.rx_batch);
        for (vif, packet) in batch.drain(..) {
            let v = &mut self.vifs[usize::from(vif)];
            if !v.up {
                self.back.gone += 1;
                record::moved(kernel.io, v.ends, &packet, DriverIn, Outside);
                continue;
            }
            record::moved(kernel.io, v.ends, &packet, DriverIn, RxRing);
            v.counted.received += 1;
            kernel.io.moved(PacketsMoved {
                driver: self.config.driver,
                guest: v.domain,
                sent: 0,
                received: 1,
            });
            v.rx.put_response(packet).expect("its request was taken");
            if v.rx.push_responses() && !self.back.rx_notify.contains(&vif) {
                self.back.rx_notify.push(vif);
            }
            self.restart_queue(vif, kernel);
        }
        self.back.rx_batch = batch;
    }

    /// The hypercall that sends the event of `vif` to its guest.
    pub(super) fn sending(&self, vif: u16) -> Progress {
        let guest = self.vifs[usize::from(vif)].domain;
        Progress::Run(self.costs.send_event, Owner::Domain(guest))
    }

    /// Sends the event of `vif` to its guest.
    pub(super) fn notify_front(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        if let Some(port) = self.vifs[usize::from(vif)].back_port {
            kernel.send(port);
        }
    }
}
