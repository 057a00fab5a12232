//! Netback, from the guests.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use domio_core::{Duration, Instant, VcpuName};
use domio_vmm::bus::{Io, KernelIo, Owner, PacketsMoved, Progress, Tasklet};
use domio_vmm::grant::Batch;

use super::super::forms::NetbackForm;
use super::super::record;
use super::super::site::Site;
use super::super::softnet::Softnet;
use super::super::vif::{Page, Via, Vif, is_small, payer};
use super::gate::Outgoing;
use super::limit::Limits;
use crate::class::NetPlace::{DriverOut, Outside, TxRing};
use crate::offload::{pages_out, slots_out};
use crate::packet::Packet;
use crate::queue::{Accounted, DropPlace, Ledger};

/// Slots of packets from guests that the driver domain may have at a time, of all interfaces
/// together.
pub(crate) const PENDING_MAX: u16 = 256;
/// Bytes that netback copies from the begin of a packet, for the stack to read.
const HEADER: u64 = 64;

/// How far the tasklet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Begin,
    /// Pages of sent packets are unmapped, guests are answered.
    Unmapped,
    /// Packets are dropped, guests are answered.
    Dropped,
    /// The batch is with Xen.
    Mapped,
}

/// Packets on their way from the guests of all interfaces, and pages on their way back.
pub(crate) struct FromGuests {
    /// By interface: it is on the list.
    listed: Vec<bool>,
    /// Interfaces with packets to send, in turn.
    list: VecDeque<u16>,
    batch: Vec<(Via, Packet)>,
    stage: Stage,
    /// Slots taken from guests' rings and not answered.
    pending: u16,
    /// Pages of packets that are sent, to be unmapped and answered.
    dealloc: VecDeque<Page>,
    answering: VecDeque<Page>,
    /// The one whose notification is under way.
    sending: Option<u16>,
    /// Slots of packets that are taken from rings to be dropped, by interface.
    dropping: VecDeque<(u16, u32)>,
    /// Packets that were dropped as soon as they were taken.
    guarded: u64,
    tasklet: Tasklet,
    form: NetbackForm,
    /// The driver domain's vcpu that has the tasklet.
    vcpu: u16,
}

impl FromGuests {
    /// Where packets end that guests send whose traffic is stopped.
    pub const GUARDED: DropPlace = DropPlace("netback, traffic dropped");

    /// Nothing is on its way from so many interfaces, which `tasklet` of vcpu `vcpu` serves.
    pub fn new(vifs: usize, form: NetbackForm, tasklet: Tasklet, vcpu: u16) -> Self {
        FromGuests {
            listed: vec![false; vifs],
            list: VecDeque::new(),
            batch: Vec::new(),
            stage: Stage::Begin,
            pending: 0,
            dealloc: VecDeque::new(),
            answering: VecDeque::new(),
            sending: None,
            dropping: VecDeque::new(),
            guarded: 0,
            tasklet,
            form,
            vcpu,
        }
    }

    /// Interfaces with packets to take, as far as the tasklet may take them, and packets taken.
    pub fn at_hand(&self) -> usize {
        let listed = if self.has_room() { self.list.len() } else { 0 };
        listed + self.batch.len()
    }

    /// Whether the largest packet has room among those that are pending.
    fn has_room(&self) -> bool {
        self.pending + self.form.slots_spare() < PENDING_MAX
    }

    /// Lists interface `vif`, which may have packets to send.
    pub fn list(&mut self, vif: u16, v: &Vif) {
        let listed = &mut self.listed[usize::from(vif)];
        if v.up && !*listed {
            *listed = true;
            self.list.push_back(vif);
        }
    }

    /// Schedules the tasklet for the interfaces that are listed, while few packets are pending.
    pub fn begin_batch(&self, kernel: &mut KernelIo<'_, '_>) {
        if self.pending < PENDING_MAX / 2 && !self.list.is_empty() {
            kernel.schedule_on(self.vcpu, self.tasklet);
        }
    }

    /// Schedules the tasklet on the driver domain's vcpu `driver`, from outside of it.
    pub fn begin_batch_on(&self, driver: VcpuName, io: &mut Io<'_>) {
        io.schedule_on(driver, self.tasklet);
    }

    /// The packet of `page` has left, or was dropped: the page is the guest's again.
    pub fn release(&mut self, page: Page, kernel: &mut KernelIo<'_, '_>) {
        self.dealloc.push_back(page);
        kernel.schedule_on(self.vcpu, self.tasklet);
    }

    /// The tasklet that takes packets from the guests within their limits, to the backlog.
    pub(super) fn tx_tasklet(
        &mut self,
        (softnet, limits): (&mut Softnet, &mut Limits),
        config: &Site,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        loop {
            match self.stage {
                Stage::Begin => {
                    self.stage = Stage::Unmapped;
                    if !self.dealloc.is_empty() {
                        let time = self.unmap(config, kernel);
                        return Progress::Run(time, Owner::Shared);
                    }
                }
                Stage::Unmapped => {
                    self.notify_front(vifs, kernel);
                    self.sending = self.answer(vifs);
                    if let Some(vif) = self.sending {
                        return vifs[usize::from(vif)].sending(&config.costs);
                    }
                    self.gather(limits, vifs, kernel);
                    self.stage = Stage::Dropped;
                    if !self.dropping.is_empty() {
                        let time = self.drop_cost(config, vifs, kernel);
                        return Progress::Run(time, Owner::Shared);
                    }
                }
                Stage::Dropped => {
                    self.notify_front(vifs, kernel);
                    self.sending = self.answer_dropped(vifs);
                    if let Some(vif) = self.sending {
                        return vifs[usize::from(vif)].sending(&config.costs);
                    }
                    self.stage = Stage::Mapped;
                    if !self.batch.is_empty() {
                        let time = self.batch_cost(config, vifs, kernel);
                        return Progress::Run(time, Owner::Shared);
                    }
                }
                Stage::Mapped => {
                    self.pass_up(softnet, vifs, kernel);
                    self.stage = Stage::Begin;
                    return Progress::Done;
                }
            }
        }
    }

    /// The guest whose notification is under way is told.
    fn notify_front(&mut self, vifs: &[Vif], kernel: &mut KernelIo<'_, '_>) {
        if let Some(vif) = self.sending.take() {
            vifs[usize::from(vif)].notify_front(kernel);
        }
    }

    /// Begins to unmap the pages of all packets that are sent; what that and the answers cost.
    fn unmap(&mut self, config: &Site, kernel: &mut KernelIo<'_, '_>) -> Duration {
        self.answering.append(&mut self.dealloc);
        let mut batch = Batch::new(config.driver);
        let mut answers = 0;
        for page in &self.answering {
            let copied = config.copies_out(page.small);
            if !page.pooled && !copied {
                batch.unmaps += u32::from(pages_out(page.slots));
            }
            // What an answer costs there is what a mapped page does.
            answers += if copied { 0 } else { u64::from(page.slots) };
            if kernel.owners() {
                // The same for each slot, whoever it is of.
                kernel.share(page.payer, Duration::from_nanos(u64::from(page.slots)));
            }
        }
        let mut grants = config.costs.grants.of(&batch);
        if batch.unmaps > 0 {
            kernel.flush_tlbs();
            grants += config.costs.back_unmap_flush;
        }
        kernel.moves_pages(grants);
        config.under_grant_lock(grants, kernel);
        grants + config.costs.back_answer * answers
    }

    /// Answers the requests whose packets are sent, in their order, up to one whose guest wants to
    /// be told; that is told before the next is answered (`make_tx_response`).
    fn answer(&mut self, vifs: &mut [Vif]) -> Option<u16> {
        while let Some(page) = self.answering.front_mut() {
            let (vif, pooled) = (page.vif, page.pooled);
            page.slots -= 1;
            self.pending -= 1;
            if page.slots == 0 {
                self.answering.pop_front();
                vifs[usize::from(vif)].out.give_back(pooled);
            }
            if put_answer(&mut vifs[usize::from(vif)]) {
                return Some(vif);
            }
        }
        None
    }

    /// The same for requests whose packets are dropped.
    fn answer_dropped(&mut self, vifs: &mut [Vif]) -> Option<u16> {
        while let Some((vif, n)) = self.dropping.front_mut() {
            let vif = *vif;
            *n -= 1;
            if *n == 0 {
                self.dropping.pop_front();
            }
            if put_answer(&mut vifs[usize::from(vif)]) {
                return Some(vif);
            }
        }
        None
    }

    /// What dropping the packets of the batch costs.
    fn drop_cost(&self, config: &Site, vifs: &[Vif], kernel: &mut KernelIo<'_, '_>) -> Duration {
        let mut cost = Duration::ZERO;
        for (vif, n) in &self.dropping {
            let own = config.costs.back_drop * u64::from(*n);
            cost += own;
            kernel.share(vifs[usize::from(*vif)].ends.guest, own);
        }
        cost
    }

    /// Takes everything from the ring of `vif`, to be dropped.
    fn take_to_drop(&mut self, vif: u16, v: &mut Vif, io: &mut Io<'_>) {
        let mut slots = 0;
        while let Some((packet, pooled)) = v.take_sent() {
            v.out.give_back(pooled);
            record::moved(io, v.ends, &packet, TxRing, Outside);
            self.guarded += 1;
            slots += u32::from(slots_out(&packet));
        }
        if slots > 0 {
            self.dropping.push_back((vif, slots));
        }
        self.list_if_more(vif, v);
    }

    /// Lists `vif` again if its guest has put more packets into the ring.
    fn list_if_more(&mut self, vif: u16, v: &mut Vif) {
        if v.tx.final_check_for_requests() {
            self.list(vif, v);
        }
    }

    /// Takes packets from the guests: one from each interface in turn.
    fn gather(&mut self, limits: &mut Limits, vifs: &mut [Vif], kernel: &mut KernelIo<'_, '_>) {
        while self.has_room()
            && let Some(vif) = self.list.pop_front()
        {
            self.listed[usize::from(vif)] = false;
            let v = &mut vifs[usize::from(vif)];
            match limits.outgoing(vif, kernel.now()) {
                Outgoing::Passes => {}
                Outgoing::Dropped => {
                    self.take_to_drop(vif, v, kernel.io);
                    continue;
                }
                Outgoing::Waits(until) => {
                    if until < Instant::MAX
                        && let Some(first) = v.next_sent()
                    {
                        record::held_back(kernel.io, v.ends, first, until);
                        limits.set_timer(vifs, kernel);
                    }
                    continue;
                }
            }
            let Some(first) = v.next_sent() else {
                self.list_if_more(vif, v);
                continue;
            };
            let bytes = u64::from(first.frame_bytes());
            if let Err(until) = limits.take(vif, kernel.now(), bytes) {
                if let Some(until) = until {
                    record::held_back(kernel.io, v.ends, first, until);
                }
                limits.set_timer(vifs, kernel);
                continue;
            }
            if let Some((packet, pooled)) = v.take_sent() {
                limits.pass_out(vif);
                self.take(Via { vif, pooled }, packet, v, kernel.io);
            }
            self.list_if_more(vif, v);
        }
    }

    /// Netback has taken `packet` from the ring of an interface.
    fn take(&mut self, via: Via, packet: Packet, v: &mut Vif, io: &mut Io<'_>) {
        record::moved(io, v.ends, &packet, TxRing, DriverOut);
        v.counted.sent += 1;
        io.moved(PacketsMoved {
            driver: v.ends.driver,
            guest: v.ends.guest,
            sent: 1,
            received: 0,
        });
        v.passed.packets_out += 1;
        v.passed.bytes_out += u64::from(packet.frame_bytes());
        self.pending += slots_out(&packet);
        self.batch.push((via, packet));
    }

    /// What the batch costs. Each guest has part in it by what its own packets cost.
    fn batch_cost(&self, config: &Site, vifs: &[Vif], kernel: &mut KernelIo<'_, '_>) -> Duration {
        let costs = &config.costs;
        let mut batch = Batch::new(config.driver);
        let (mut cost, mut copied) = (Duration::ZERO, Duration::ZERO);
        for (via, packet) in &self.batch {
            // Pages of the pool are mapped all the time.
            let is_copied = config.copies_out(is_small(packet));
            let pages = match via.pooled || is_copied {
                true => 0,
                false => pages_out(slots_out(packet)),
            };
            batch.maps += u32::from(pages);
            let frame = u64::from(packet.frame_bytes());
            let copy = costs.copy(match self.form.vhost {
                true => frame,
                false => frame.min(HEADER),
            });
            let own = costs.back_tx + copy;
            cost += own;
            copied += copy;
            if kernel.owners() {
                kernel.share(
                    payer(vifs, via.vif, packet),
                    own + costs.grants.map * u64::from(pages),
                );
            }
        }
        let grants = costs.grants.of(&batch);
        kernel.moves_pages(copied + grants);
        config.under_grant_lock(grants, kernel);
        cost + grants
    }

    /// Hands the batch to the driver domain's stack.
    fn pass_up(&mut self, softnet: &mut Softnet, vifs: &[Vif], kernel: &mut KernelIo<'_, '_>) {
        if self.batch.is_empty() {
            return;
        }
        let mut batch = core::mem::take(&mut self.batch);
        for (via, packet) in batch.drain(..) {
            if !softnet.backlog.push((via, packet)) {
                let ends = vifs[usize::from(via.vif)].ends;
                record::moved(kernel.io, ends, &packet, DriverOut, Outside);
                self.release(Page::of(vifs, via, &packet), kernel);
            }
        }
        self.batch = batch;
        softnet.poll_backlog(kernel);
    }
}

/// Answers a request of the guest, if it is up; whether it wants to be told.
fn put_answer(vif: &mut Vif) -> bool {
    if !vif.up {
        return false;
    }
    vif.tx.put_response(()).expect("its request was taken");
    vif.tx.push_responses()
}

impl Accounted for FromGuests {
    fn account(&self, ledger: &mut Ledger) {
        ledger.holds(self.batch.len() as u64);
        ledger.dropped(Self::GUARDED, self.guarded);
    }
}
