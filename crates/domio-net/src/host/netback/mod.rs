//! Netback: the driver domain's side of the guests' interfaces (xen-spec 6.3).
//!
//! A pair of tasklets takes packets to the guests, and from them. Each works through whatever its
//! interfaces have, in batches that cost one hypercall. In Linux 2.6.18 for Xen one pair serves all
//! interfaces.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@self`] | both directions together: ports, the interrupt of an interface, limits |
//! | `rx` | packets to the guests, and queues that stand still |
//! | `tx` | packets from the guests, and pages that go back to them |
//! | `lines` | what the driver domain's kernel is called by |
//! | `limit` | what each guest may send and receive: its rate and its gate |
//! | `credit` | a rate |
//! | `gate` | what a controller lets through |

mod credit;
mod gate;
mod limit;
mod lines;
mod rx;
mod tx;

use alloc::vec;
use alloc::vec::Vec;
use domio_core::VcpuName;
use domio_vmm::bus::{Io, KernelIo, Owner, Progress, Token, Traffic};
use domio_vmm::evtchn::Port;

use super::config::VifRate;
use super::forms::NetbackForm;
use super::handler::Handler;
use super::record::Ends;
use super::site::Site;
use super::softnet::Softnet;
use super::vif::Vif;
use crate::queue::{Accounted, DropPlace, Ledger};

use limit::Limits;
use rx::ToGuests;

pub(super) use lines::BackLines;
pub(super) use tx::{FromGuests, PENDING_MAX};

/// Backends that one pair of tasklets runs. Tables have a place for each interface of the
/// network, whoever serves it.
pub(super) struct Netback {
    pub rx: ToGuests,
    pub tx: FromGuests,
    limits: Limits,
    /// By interface: the handler of its port.
    handlers: Vec<Handler>,
    /// By interface: ports of the driver domain that others use for the guest.
    others: Vec<Vec<Port>>,
    /// Packets for guests whose traffic is stopped.
    turned_away: u64,
    /// The driver domain's vcpu that does the work.
    vcpu: u16,
}

impl Netback {
    /// Where packets end that are for guests whose traffic is stopped.
    pub const STOPPED: DropPlace = DropPlace("driver domain, traffic stopped");

    /// Backends of `form` on vcpu `vcpu`, before any guest is up, of interfaces with these rates.
    pub fn new(rates: &[Option<VifRate>], form: NetbackForm, lines: BackLines, vcpu: u16) -> Self {
        let vifs = rates.len();
        Netback {
            rx: ToGuests::new(vifs, form, lines, vcpu),
            tx: FromGuests::new(vifs, form, lines.tx_tasklet, vcpu),
            limits: Limits::new(rates, lines.credit, vcpu),
            handlers: vec![Handler::Idle; vifs],
            others: vec![Vec::new(); vifs],
            turned_away: 0,
            vcpu,
        }
    }

    /// Packets on their way to guests that have not been told, and guests with packets to send.
    pub fn at_hand(&self) -> usize {
        self.rx.at_hand() + self.tx.at_hand()
    }

    /// Reserves the ports of the driver domain that others have for the guest of `vif`.
    pub fn reserve(&mut self, vif: u16, config: &Site, io: &mut Io<'_>) {
        let reserved = (0..config.other_ports.guest).filter_map(|_| io.reserve(config.driver));
        self.others[usize::from(vif)] = reserved.collect();
    }

    /// The guest of `vif` comes up and has offered a port, which netback binds with `token`.
    pub fn plug(&self, vif: &mut Vif, front: Port, token: Token, io: &mut Io<'_>) {
        let Ends { guest, driver, .. } = vif.ends;
        let back = io.connect(driver, guest, front, self.vcpu, token);
        let back = back.expect("the driver domain is up, and has free ports");
        (vif.front_port, vif.back_port, vif.up) = (Some(front), Some(back), true);
    }

    /// The guest of interface `vif` is gone.
    pub fn unplug(&mut self, vif: u16, vifs: &mut [Vif], io: &mut Io<'_>) {
        let v = &mut vifs[usize::from(vif)];
        let driver = v.ends.driver;
        v.up = false;
        v.front_port = None;
        self.limits.forget(vif);
        self.rx.forget(vif);
        if let Some(back) = v.back_port.take() {
            let closed = io.close(driver, back);
            closed.expect("the port was bound when the guest came");
        }
        for port in self.others[usize::from(vif)].drain(..) {
            let closed = io.close(driver, port);
            closed.expect("the port was reserved when the guest came");
        }
    }

    /// The interrupt from the guest of `vif`.
    pub fn back_irq(
        &mut self,
        vif: u16,
        config: &Site,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        if self.handlers[usize::from(vif)].enter() {
            let guest = vifs[usize::from(vif)].ends.guest;
            return Progress::Run(config.costs.back_irq, Owner::Domain(guest));
        }
        self.serve_guest(vif, vifs, kernel);
        Progress::Done
    }

    /// The guest of `vif` has put packets into the ring, or posted buffers.
    fn serve_guest(&mut self, vif: u16, vifs: &mut [Vif], kernel: &mut KernelIo<'_, '_>) {
        self.tx.list(vif, &vifs[usize::from(vif)]);
        self.tx.begin_batch(kernel);
        // A gate may have been found open by another vcpu, on its way to this one's interface.
        if kernel.vcpu.index == self.vcpu {
            self.rx.restart_queue(vif, vifs, kernel);
        }
    }

    /// The tasklet that takes packets from guests, to the backlog of `softnet`.
    pub fn tx_tasklet(
        &mut self,
        softnet: &mut Softnet,
        config: &Site,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        let Netback { tx, limits, .. } = self;
        tx.tx_tasklet((softnet, limits), config, vifs, kernel)
    }

    /// Limits interface `vif`, in place of what its configuration or an earlier limit says.
    pub fn limit(&mut self, vif: u16, traffic: Traffic, vifs: &[Vif], io: &mut Io<'_>) {
        self.limits.set(vif, traffic, io.now);
        let v = &vifs[usize::from(vif)];
        let driver = VcpuName::new(v.ends.driver, self.vcpu);
        if v.up {
            // What has waited continues, or is dropped.
            self.tx.list(vif, v);
            self.tx.begin_batch_on(driver, io);
        }
        self.limits.set_timer_on(driver, vifs, io);
    }

    /// The timer of limits has fired: an interface whose rate gives it more has its turn again,
    /// gates whose time is over open, and who waits for a ration is looked at.
    pub fn limits_expire(&mut self, vifs: &mut [Vif], kernel: &mut KernelIo<'_, '_>) {
        for vif in 0..vifs.len() as u16 {
            if self.limits.refill_credit(vif, vifs, kernel.now()) {
                self.serve_guest(vif, vifs, kernel);
            }
        }
        if self.limits.any_gate() {
            for vif in 0..vifs.len() as u16 {
                self.open_if_over(vif, vifs, kernel);
                if self.limits.refill_ration(vif, vifs, kernel.now()) {
                    self.serve_guest(vif, vifs, kernel);
                }
            }
        }
        self.limits.set_timer(vifs, kernel);
    }

    /// Opens the gate of `vif`, if its time is over.
    fn open_if_over(&mut self, vif: u16, vifs: &mut [Vif], kernel: &mut KernelIo<'_, '_>) {
        if self.limits.open_if_over(vif, kernel.now()) {
            self.serve_guest(vif, vifs, kernel);
        }
    }

    /// Whether the gate of any interface is not open.
    pub fn any_gate(&self) -> bool {
        self.limits.any_gate()
    }

    /// The ends of interface `vif`, to which a packet is on its way, if the gate does not let the
    /// packet pass.
    pub fn turns_away(
        &mut self,
        vif: u16,
        vifs: &mut [Vif],
        kernel: &mut KernelIo<'_, '_>,
    ) -> Option<Ends> {
        self.open_if_over(vif, vifs, kernel);
        if self.limits.pass_in(vif, kernel.now()) {
            return None;
        }
        self.turned_away += 1;
        Some(vifs[usize::from(vif)].ends)
    }
}

impl Accounted for Netback {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.rx).add(&self.tx);
        ledger.dropped(Self::STOPPED, self.turned_away);
    }
}
