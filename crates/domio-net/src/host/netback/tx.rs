//! Netback, from the guests.

use domio_core::NetPlace::{DriverOut, Outside, TxRing};
use domio_core::{Duration, Instant};
use domio_vmm::bus::{KernelIo, Owner, PacketsMoved, Progress};
use domio_vmm::grant::Batch;

use super::super::{Network, record};
use super::gate::Outgoing;
use super::{HEADER, PENDING_MAX, SLOTS_MAX, TxStage};

impl Network {
    /// The interrupt from the guest of `vif`.
    pub(in super::super) fn back_irq(
        &mut self,
        vif: u16,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        let v = &mut self.vifs[usize::from(vif)];
        if v.back_handler.enter() {
            return Progress::Run(self.costs.back_irq, Owner::Domain(v.domain));
        }
        self.serve_guest(vif, kernel);
        Progress::Done
    }

    /// The guest of `vif` has put packets into the ring, or posted buffers.
    pub(super) fn serve_guest(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        self.list_for_tx(vif);
        if self.back.tx_pending < PENDING_MAX / 2 && !self.back.tx_list.is_empty() {
            kernel.schedule(self.driver.lines.tx_tasklet);
        }
        self.restart_queue(vif, kernel);
    }

    pub(super) fn list_for_tx(&mut self, vif: u16) {
        let v = &mut self.vifs[usize::from(vif)];
        if v.up && !v.tx_listed {
            v.tx_listed = true;
            self.back.tx_list.push_back(vif);
        }
    }

    /// The timer of a rate limit has fired: the interface's turn comes again.
    pub(in super::super) fn credit_expired(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        let v = &mut self.vifs[usize::from(vif)];
        let bytes =
            v.tx.peek_request()
                .map_or(0, |p| u64::from(p.frame_bytes()));
        v.credit.refill(kernel.now(), bytes);
        self.serve_guest(vif, kernel);
    }

    pub(in super::super) fn tx_tasklet(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        loop {
            match self.back.tx_stage {
                TxStage::Begin => {
                    let n = self.back.dealloc.len();
                    self.back.tx_stage = TxStage::Unmapped;
                    if n > 0 {
                        self.back.answering.extend(self.back.dealloc.drain(..));
                        let mut batch = Batch::new(self.config.driver);
                        batch.unmaps = n as u32;
                        let answers = self.costs.back_answer * n as u64;
                        if kernel.owners() {
                            for vif in &self.back.answering {
                                // One page each, whoever it is of.
                                let guest = self.vifs[usize::from(*vif)].domain;
                                kernel.share(guest, Duration::from_nanos(1));
                            }
                        }
                        let time = self.costs.grants.of(&batch) + answers;
                        return Progress::Run(time, Owner::Shared);
                    }
                }
                TxStage::Unmapped => {
                    if let Some(vif) = self.back.tx_sending.take() {
                        self.notify_front(vif, kernel);
                    }
                    self.back.tx_sending = self.answer();
                    if let Some(vif) = self.back.tx_sending {
                        return self.sending(vif);
                    }
                    self.gather(kernel);
                    self.back.tx_stage = TxStage::Dropped;
                    if !self.back.tx_dropping.is_empty() {
                        let time = self.drop_cost(kernel);
                        return Progress::Run(time, Owner::Shared);
                    }
                }
                TxStage::Dropped => {
                    if let Some(vif) = self.back.tx_sending.take() {
                        self.notify_front(vif, kernel);
                    }
                    self.back.tx_sending = self.answer_dropped();
                    if let Some(vif) = self.back.tx_sending {
                        return self.sending(vif);
                    }
                    self.back.tx_stage = TxStage::Mapped;
                    if !self.back.tx_batch.is_empty() {
                        let time = self.tx_batch_cost(kernel);
                        return Progress::Run(time, Owner::Shared);
                    }
                }
                TxStage::Mapped => {
                    self.pass_up(kernel);
                    self.back.tx_stage = TxStage::Begin;
                    return Progress::Done;
                }
            }
        }
    }

    /// Answers the requests whose packets are sent, in their order, up to one whose guest wants to
    /// be told; that is told before the next is answered (`make_tx_response`).
    fn answer(&mut self) -> Option<u16> {
        while let Some(vif) = self.back.answering.pop_front() {
            self.back.tx_pending -= 1;
            let v = &mut self.vifs[usize::from(vif)];
            if !v.up {
                continue;
            }
            v.tx.put_response(()).expect("its request was taken");
            if v.tx.push_responses() {
                return Some(vif);
            }
        }
        None
    }

    /// Answers the requests whose packets were dropped, as [`Network::answer`] does.
    fn answer_dropped(&mut self) -> Option<u16> {
        while let Some((vif, n)) = self.back.tx_dropping.front_mut() {
            let vif = *vif;
            *n -= 1;
            if *n == 0 {
                self.back.tx_dropping.pop_front();
            }
            let v = &mut self.vifs[usize::from(vif)];
            if !v.up {
                continue;
            }
            v.tx.put_response(()).expect("its request was taken");
            if v.tx.push_responses() {
                return Some(vif);
            }
        }
        None
    }

    /// What dropping the packets of the batch costs.
    fn drop_cost(&self, kernel: &mut KernelIo<'_, '_>) -> Duration {
        let mut cost = Duration::ZERO;
        for (vif, n) in &self.back.tx_dropping {
            let own = self.costs.back_drop * u64::from(*n);
            cost += own;
            let guest = self.vifs[usize::from(*vif)].domain;
            kernel.share(guest, own);
        }
        cost
    }

    /// Takes everything from the ring of `vif`, to be dropped.
    fn take_to_drop(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        let v = &mut self.vifs[usize::from(vif)];
        let mut n = 0;
        while let Some(packet) = v.tx.take_request() {
            record::moved(kernel.io, v.ends, &packet, TxRing, Outside);
            n += 1;
        }
        if n > 0 {
            self.back.guarded += u64::from(n);
            self.back.tx_dropping.push_back((vif, n));
        }
        if v.tx.final_check_for_requests() {
            self.list_for_tx(vif);
        }
    }

    /// Takes packets from the guests: one from each interface in turn.
    fn gather(&mut self, kernel: &mut KernelIo<'_, '_>) {
        while self.back.tx_pending + SLOTS_MAX < PENDING_MAX
            && let Some(vif) = self.back.tx_list.pop_front()
        {
            let v = &mut self.vifs[usize::from(vif)];
            v.tx_listed = false;
            if self.back.gated_vifs > 0 {
                match v.gate.outgoing(kernel.now()) {
                    Outgoing::Passes => {}
                    Outgoing::Dropped => {
                        self.take_to_drop(vif, kernel);
                        continue;
                    }
                    Outgoing::Waits(until) => {
                        if until < Instant::MAX
                            && let Some(first) = v.tx.peek_request()
                        {
                            record::held_back(kernel.io, v.ends, first, until);
                            self.set_credit_timer(kernel);
                        }
                        continue;
                    }
                }
            }
            let v = &mut self.vifs[usize::from(vif)];
            let Some(first) = v.tx.peek_request() else {
                if v.tx.final_check_for_requests() {
                    self.list_for_tx(vif);
                }
                continue;
            };
            let waits = v.credit.timer.is_some();
            if !v.credit.take(kernel.now(), u64::from(first.frame_bytes())) {
                if !waits && let Some(until) = v.credit.timer {
                    record::held_back(kernel.io, v.ends, first, until);
                }
                self.set_credit_timer(kernel);
                continue;
            }
            if let Some(packet) = v.tx.take_request() {
                record::moved(kernel.io, v.ends, &packet, TxRing, DriverOut);
                v.gate.pass_out();
                v.counted.sent += 1;
                kernel.io.moved(PacketsMoved {
                    driver: self.config.driver,
                    guest: v.domain,
                    sent: 1,
                    received: 0,
                });
                v.passed.packets_out += 1;
                v.passed.bytes_out += u64::from(packet.frame_bytes());
                self.back.tx_pending += 1;
                self.back.tx_batch.push((vif, packet));
            }
            if v.tx.final_check_for_requests() {
                self.list_for_tx(vif);
            }
        }
    }

    /// What the batch costs. Each guest has part in it by what its own packets cost.
    fn tx_batch_cost(&self, kernel: &mut KernelIo<'_, '_>) -> Duration {
        let mut batch = Batch::new(self.config.driver);
        let mut cost = Duration::ZERO;
        for (vif, packet) in &self.back.tx_batch {
            batch.maps += 1;
            let header = u64::from(packet.frame_bytes()).min(HEADER);
            let own = self.costs.back_tx + self.costs.copy(header);
            cost += own;
            if kernel.owners() {
                let guest = self.vifs[usize::from(*vif)].domain;
                kernel.share(guest, own + self.costs.grants.map);
            }
        }
        cost + self.costs.grants.of(&batch)
    }

    /// Hands the batch to the driver domain's stack.
    fn pass_up(&mut self, kernel: &mut KernelIo<'_, '_>) {
        if self.back.tx_batch.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.back.tx_batch);
        for (vif, packet) in batch.drain(..) {
            if !self.back.backlog.push((vif, packet)) {
                let ends = self.vifs[usize::from(vif)].ends;
                record::moved(kernel.io, ends, &packet, DriverOut, Outside);
                self.back.release(vif);
                kernel.schedule(self.driver.lines.tx_tasklet);
            }
        }
        self.back.tx_batch = batch;
        self.poll_backlog();
        kernel.raise(self.driver.lines.rx);
    }
}
