//! Netback, to the guests.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use domio_core::{Duration, Instant, VcpuName};
use domio_vmm::bus::{KernelIo, Owner, PacketsMoved, Progress};
use domio_vmm::grant::Batch;
use domio_vmm::ring::NET_RX;

use super::super::costs::{NetCosts, RxMode};
use super::super::forms::NetbackForm;
use super::super::record;
use super::super::site::Site;
use super::super::vif::{Via, Vif, payee};
use super::lines::BackLines;
use crate::class::NetPlace::{DriverIn, Outside, RxRing};
use crate::offload::{pages_in, slots_in};
use crate::packet::Packet;
use crate::queue::{Accounted, DropPlace, Ledger, Queue};

/// Grant operations of a batch.
const BATCH_MAX: usize = 256;
/// How long a queue to a guest stands still before its packets continue, to be dropped if there are
/// no buffers even then (`HZ/2`).
const RX_TIMEOUT: Duration = Duration::from_millis(500);

/// How far the tasklet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Begin,
    /// The batch is with Xen.
    Granted,
    Notifying,
}

/// The way to the guest of one interface.
struct Lane {
    /// Buffers of the guest that packets on their way to the tasklet will take.
    reserved: u32,
    /// No more packets until the guest posts buffers.
    stopped: bool,
    /// When that ends at the latest, buffers or not.
    timeout: Option<Instant>,
    /// Packets that wait meanwhile.
    queue: Queue<Packet>,
}

impl Lane {
    /// Whether netback takes no packet that needs `free` buffers: the guest has fewer left, or
    /// fewer places for answers (`netbk_queue_full`).
    fn is_full(&self, vif: &Vif, free: u32) -> bool {
        vif.rx.requests() < self.reserved + free
            || vif.rx.unanswered() + self.reserved + free > NET_RX
    }
}

/// Packets on their way to the guests of all interfaces.
pub(crate) struct ToGuests {
    /// By interface.
    lanes: Vec<Lane>,
    /// Packets for the tasklet, with their interface.
    waiting: VecDeque<(u16, Packet)>,
    batch: Vec<(Via, Packet)>,
    /// Pages that Xen has given in advance, for those that are transferred.
    pages: u32,
    stage: Stage,
    /// Interfaces to notify, last first.
    notify: Vec<u16>,
    /// The one whose notification is under way.
    sending: Option<u16>,
    /// Interfaces whose queue may continue.
    restart: VecDeque<u16>,
    /// An interface whose queue continues, and its packet under way.
    restarting: Option<(u16, Packet)>,
    /// Interfaces whose queue was stopped, and until when at the latest, the earliest first. Those
    /// that continued before are here still: [`Lane::timeout`] tells.
    stopped: VecDeque<(Instant, u16)>,
    /// Packets for guests that were gone.
    gone: u64,
    /// Packets that found no buffer of their guest.
    ring_drops: u64,
    lines: BackLines,
    form: NetbackForm,
    /// The driver domain's vcpu.
    vcpu: u16,
}

impl ToGuests {
    /// Where packets to a guest end that does not take them.
    pub const QUEUE: DropPlace = DropPlace("netback, queue to the guest");
    /// Where packets end whose guest is gone, or has not come.
    pub const GONE: DropPlace = DropPlace("netback, no guest");
    /// Where packets end for which the guest has posted no buffer.
    pub const RING: DropPlace = DropPlace("netback, ring full");

    /// Nothing is on its way to the `vifs` interfaces; vcpu `vcpu` does the work, as `form` says.
    pub fn new(vifs: usize, form: NetbackForm, lines: BackLines, vcpu: u16) -> Self {
        let lane = |_| Lane {
            reserved: 0,
            stopped: false,
            timeout: None,
            queue: Queue::new(Self::QUEUE, usize::from(form.queue)),
        };
        ToGuests {
            lanes: (0..vifs).map(lane).collect(),
            waiting: VecDeque::new(),
            batch: Vec::new(),
            pages: 0,
            stage: Stage::Begin,
            notify: Vec::new(),
            sending: None,
            restart: VecDeque::new(),
            restarting: None,
            stopped: VecDeque::new(),
            gone: 0,
            ring_drops: 0,
            lines,
            form,
            vcpu,
        }
    }

    /// Packets for the tasklet, and guests that it has yet to report theirs.
    pub fn at_hand(&self) -> usize {
        let restarting = usize::from(self.restarting.is_some());
        let telling = self.notify.len() + usize::from(self.sending.is_some());
        self.waiting.len() + self.batch.len() + restarting + telling
    }

    /// The guest of `vif` is gone: its queue does not stand still for it.
    pub fn forget(&mut self, vif: u16) {
        self.lanes[usize::from(vif)].timeout = None;
    }

    /// The bridge has a packet for the guest of interface `vif`. Nobody overtakes the packets of a
    /// queue that stands still, or that continues and still holds some.
    pub fn queue_to_guest(
        &mut self,
        vif: u16,
        packet: Packet,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) {
        let next = self.restarting.is_some_and(|(first, _)| first == vif);
        let (lane, v) = (&mut self.lanes[usize::from(vif)], &vifs[usize::from(vif)]);
        if v.up && (lane.stopped || next || !lane.queue.is_empty()) {
            // Dropped when the queue is full: the queue counts it.
            if !lane.queue.push(packet) {
                record::moved(kernel.io, v.ends, &packet, DriverIn, Outside);
            }
            return;
        }
        self.send_to_guest(vif, packet, vifs, kernel);
    }

    /// Netback's start of a transmission: `packet` is the next one for the guest of `vif`.
    fn send_to_guest(
        &mut self,
        vif: u16,
        packet: Packet,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) {
        if !self.accept_for_guest(vif, packet, vifs, kernel) {
            let ends = vifs[usize::from(vif)].ends;
            record::moved(kernel.io, ends, &packet, DriverIn, Outside);
        }
    }

    /// Whether the packet was not dropped.
    fn accept_for_guest(
        &mut self,
        vif: u16,
        packet: Packet,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> bool {
        let (lane, v) = (
            &mut self.lanes[usize::from(vif)],
            &mut vifs[usize::from(vif)],
        );
        if !v.up {
            self.gone += 1;
            return false;
        }
        let (needs, free) = (u32::from(slots_in(&packet)), self.form.rx_free());
        if lane.is_full(v, free.max(needs)) {
            self.ring_drops += 1;
            return false;
        }
        lane.reserved += needs;
        if self.form.queue > 0 && lane.is_full(v, free) {
            v.rx.want_requests(lane.reserved + free);
            if lane.is_full(v, free) {
                self.stop_queue(vif, kernel);
            }
        }
        self.waiting.push_back((vif, packet));
        self.wake(kernel);
        true
    }

    /// Packets wait for the tasklet, or for the thread that does its work.
    fn wake(&self, kernel: &mut KernelIo<'_, '_>) {
        match self.lines.rx_thread {
            Some(thread) if self.form.vhost && self.vcpu != kernel.vcpu.index => {
                let own = VcpuName::new(kernel.vcpu.domain, self.vcpu);
                kernel.io.queue_work(own, thread);
            }
            Some(thread) => kernel.queue_work(thread),
            None => kernel.schedule_on(self.vcpu, self.lines.rx_tasklet),
        }
    }

    /// No more packets to the guest of `vif` before it has posted buffers, or [`RX_TIMEOUT`] is
    /// over.
    fn stop_queue(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        let until = kernel.now() + RX_TIMEOUT;
        let lane = &mut self.lanes[usize::from(vif)];
        lane.stopped = true;
        lane.timeout = Some(until);
        self.stopped.push_back((until, vif));
        self.set_timer(kernel);
    }

    /// The guest of `vif` may have posted buffers: packets that waited for them continue.
    pub fn restart_queue(&mut self, vif: u16, vifs: &[Vif], kernel: &mut KernelIo<'_, '_>) {
        let lane = &self.lanes[usize::from(vif)];
        if lane.stopped && !lane.is_full(&vifs[usize::from(vif)], self.form.rx_free()) {
            self.wake_queue(vif, kernel);
            self.set_timer(kernel);
        }
    }

    fn wake_queue(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) {
        let lane = &mut self.lanes[usize::from(vif)];
        lane.stopped = false;
        lane.timeout = None;
        if !lane.queue.is_empty() {
            self.restart.push_back(vif);
            kernel.raise(self.lines.restart);
        }
    }

    /// When the first of the queues that stand still has to continue.
    fn first_timeout(&mut self) -> Option<Instant> {
        while let Some(&(until, vif)) = self.stopped.front() {
            if self.lanes[usize::from(vif)].timeout == Some(until) {
                return Some(until);
            }
            self.stopped.pop_front();
        }
        None
    }

    /// Sets the driver domain's timer for the next queue that has stood still for too long.
    fn set_timer(&mut self, kernel: &mut KernelIo<'_, '_>) {
        let first = self.first_timeout();
        kernel.set_timer(self.lines.queues, self.vcpu, first);
    }

    /// Queues that have stood still for too long continue: what does not fit is dropped, instead of
    /// taking the driver domain's memory for as long as the guest likes.
    pub fn expire_queues(&mut self, kernel: &mut KernelIo<'_, '_>) {
        while self.first_timeout().is_some_and(|at| at <= kernel.now())
            && let Some((_, vif)) = self.stopped.pop_front()
        {
            self.wake_queue(vif, kernel);
        }
        self.set_timer(kernel);
    }

    /// `net_tx_action` in the driver domain: queues to guests that continue.
    pub fn driver_tx(
        &mut self,
        config: &Site,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        if let Some((vif, packet)) = self.restarting.take() {
            self.send_to_guest(vif, packet, vifs, kernel);
        }
        while let Some(&vif) = self.restart.front() {
            let lane = &mut self.lanes[usize::from(vif)];
            if !lane.stopped
                && let Some(packet) = lane.queue.pop()
            {
                self.restarting = Some((vif, packet));
                let owner = Owner::Domain(payee(vifs, vif, &packet));
                return Progress::Run(config.queue_cost(&packet), owner);
            }
            self.restart.pop_front();
        }
        Progress::Done
    }

    /// The tasklet that takes packets to the guests.
    pub fn rx_tasklet(
        &mut self,
        config: &Site,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        loop {
            match self.stage {
                Stage::Begin => {
                    self.gather(vifs);
                    if self.batch.is_empty() {
                        return Progress::Done;
                    }
                    self.stage = Stage::Granted;
                    let time = self.batch_cost(config, vifs, kernel);
                    return Progress::Run(time, Owner::Shared);
                }
                Stage::Granted => {
                    self.respond(vifs, kernel);
                    self.stage = Stage::Notifying;
                }
                Stage::Notifying => {
                    if let Some(vif) = self.sending.take() {
                        vifs[usize::from(vif)].notify_front(kernel);
                    }
                    self.sending = self.notify.pop();
                    if let Some(vif) = self.sending {
                        return vifs[usize::from(vif)].sending(&config.costs);
                    }
                    self.stage = Stage::Begin;
                    if !self.waiting.is_empty() {
                        if self.lines.rx_thread.is_some() {
                            // It goes on; nobody else is at it.
                            continue;
                        }
                        kernel.schedule(self.lines.rx_tasklet);
                    }
                    return Progress::Done;
                }
            }
        }
    }

    /// Packets for the next batch, each with a buffer of its guest.
    fn gather(&mut self, vifs: &mut [Vif]) {
        // The largest packet has to fit behind the last one.
        let mut slots = 0;
        while slots < BATCH_MAX - usize::from(self.form.slots_spare())
            && let Some((vif, packet)) = self.waiting.pop_front()
        {
            let needs = slots_in(&packet);
            slots += usize::from(needs);
            self.lanes[usize::from(vif)].reserved -= u32::from(needs);
            let v = &mut vifs[usize::from(vif)];
            for _ in 0..needs {
                let request = v.rx.take_request();
                assert!(request.is_some(), "packets reserve the requests they take");
            }
            let pooled = v.inward.take(&packet);
            self.batch.push((Via { vif, pooled }, packet));
        }
    }

    /// What the batch costs. Each guest has part in it by what its own packets cost.
    fn batch_cost(
        &mut self,
        config: &Site,
        vifs: &[Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Duration {
        let costs = &config.costs;
        let add = |batch: &mut Batch, packet: &Packet, pooled: bool| match config.rx_mode {
            _ if pooled => {}
            RxMode::Flip => batch.transfers += u32::from(pages_in(packet)),
            RxMode::Copy => {
                batch.copies += u32::from(pages_in(packet));
                batch.copied_bytes += u64::from(packet.frame_bytes());
            }
        };
        let mut batch = Batch::new(config.driver);
        let (mut own, mut copied) = (Duration::ZERO, Duration::ZERO);
        for (Via { vif, pooled }, packet) in &self.batch {
            let copy = config.pool_cost(packet, *pooled);
            let each = costs.back_rx + copy;
            own += each;
            copied += copy;
            if kernel.owners() {
                let mut alone = Batch::new(config.driver);
                add(&mut alone, packet, *pooled);
                let part = costs.grants.of(&alone) + each;
                kernel.share(payee(vifs, *vif, packet), part);
            }
            add(&mut batch, packet, *pooled);
        }
        if batch.transfers > 0 {
            kernel.flush_tlbs();
        }
        let calls = costs.grants.of(&batch);
        let grants = calls + self.page_cost(batch.transfers, costs);
        kernel.moves_pages(copied + grants);
        config.under_grant_lock(calls, kernel);
        own + grants
    }

    /// What `n` pages of a batch that are transferred cost in addition: one flush of the TLB, and
    /// new pages from Xen whenever none are left (`check_mfn`).
    fn page_cost(&mut self, n: u32, costs: &NetCosts) -> Duration {
        if n == 0 {
            return Duration::ZERO;
        }
        let lumps = n.saturating_sub(self.pages).div_ceil(NetCosts::PAGES);
        self.pages = self.pages + lumps * NetCosts::PAGES - n;
        costs.back_flush + costs.back_pages * u64::from(lumps)
    }

    /// Notifies the guests of the packets of the batch, in their rings.
    fn respond(&mut self, vifs: &mut [Vif], kernel: &mut KernelIo<'_, '_>) {
        let mut batch = core::mem::take(&mut self.batch);
        for (Via { vif, pooled }, packet) in batch.drain(..) {
            let v = &mut vifs[usize::from(vif)];
            if !v.up {
                self.gone += 1;
                v.inward.give_back(pooled);
                record::moved(kernel.io, v.ends, &packet, DriverIn, Outside);
                continue;
            }
            record::moved(kernel.io, v.ends, &packet, DriverIn, RxRing);
            v.counted.received += 1;
            kernel.io.moved(PacketsMoved {
                driver: v.ends.driver,
                guest: v.ends.guest,
                sent: 0,
                received: 1,
            });
            v.put_received(packet, pooled);
            if v.rx.push_responses() && !self.notify.contains(&vif) {
                self.notify.push(vif);
            }
            self.restart_queue(vif, vifs, kernel);
        }
        self.batch = batch;
    }
}

impl Accounted for ToGuests {
    fn account(&self, ledger: &mut Ledger) {
        for lane in &self.lanes {
            ledger.add(&lane.queue);
        }
        let restarting = u64::from(self.restarting.is_some());
        ledger.holds((self.waiting.len() + self.batch.len()) as u64 + restarting);
        ledger.dropped(Self::GONE, self.gone);
        ledger.dropped(Self::RING, self.ring_drops);
    }
}
