//! A virtual interface: the rings that netback and netfront share, and what each has of its own.

use domio_core::{DomainId, Duration, Instant};
use domio_vmm::bus::{Counted, KernelTimer, Passed, SoftirqLine, Token, WorkItem};
use domio_vmm::evtchn::Port;
use domio_vmm::process::Pid;
use domio_vmm::ring::{NET_RX, NET_TX, Ring};

use super::Handler;
use super::config::VifConfig;
use super::netback::{Credit, Gate};
use super::netfront::Netfront;
use super::record::Ends;
use super::socket::Socket;
use super::web::WebServer;
use crate::packet::{FlowId, Packet};
use crate::peer::{Peer, PeerTimer, PeerTimerKind};
use crate::queue::{Place, Queue};

/// Packets that wait for netback's side of an interface while the guest has no buffers (xen-spec
/// 6.3).
const BACK_QUEUE: usize = 32;

/// An interface.
pub(super) struct Vif {
    pub domain: DomainId,
    /// The guest and the driver domain.
    pub ends: Ends,
    /// Netback's port, in the driver domain; none before the guest starts.
    pub back_port: Option<Port>,
    /// Ports of the driver domain that others use for the guest.
    pub other_ports: Vec<Port>,
    /// Netfront's port, in the guest.
    pub front_port: Option<Port>,
    /// Packets from the guest.
    pub tx: Ring<Packet, ()>,
    /// Packets to the guest, in buffers that it posts.
    pub rx: Ring<(), Packet>,
    /// Netback has seen the guest come up and not go.
    pub up: bool,
    /// Netback: requests of `rx` that packets on their way to the tasklet will take.
    pub rx_reserved: u32,
    /// Netback: no more packets until the guest posts buffers.
    pub rx_stopped: bool,
    /// Netback: when that ends at the latest, buffers or not.
    pub rx_timeout: Option<Instant>,
    /// Netback: packets that wait meanwhile.
    pub rx_queue: Queue<Packet>,
    /// Netback: it is on the list of interfaces with packets to send.
    pub tx_listed: bool,
    /// Netback: what a controller lets through.
    pub gate: Gate,
    /// Netback: what the guest may send still.
    pub credit: Credit,
    /// The guest's driver.
    pub front: Netfront,
    /// The guest's protocols and processes.
    pub stack: Peer,
    /// Timers of the stack that are armed.
    pub timers: Vec<(PeerTimer, Instant)>,
    /// Sockets of the guest, one for each flow, in the order of their numbers.
    pub sockets: Vec<Socket>,
    /// Web servers of the guest.
    pub webs: Vec<WebServer>,
    /// Who waits for a connection.
    pub acceptor: Option<Pid>,
    /// When flows begin and end, after the guest's start.
    pub starts: Vec<(FlowId, Duration, Option<Duration>)>,
    /// The guest's vcpu that does the kernel's work.
    pub vcpu: u16,
    /// What the guest's kernel is called by.
    pub lines: FrontLines,
    /// Netback: the handler of its port.
    pub back_handler: Handler,
    /// Netback: packets taken from the guest and put into its ring.
    pub counted: Counted,
    /// Packets that have reached the guest, and that netback has taken from it.
    pub passed: Passed,
}

/// What a guest's kernel is called by for an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrontLines {
    /// Tokens of netback's port and of netfront's.
    pub back: Token,
    pub front: Token,
    /// Packets have come.
    pub rx: SoftirqLine,
    /// The ring has room again.
    pub tx: SoftirqLine,
    /// The stack's timers.
    pub timer: KernelTimer,
    /// Setting the interface up.
    pub boot: WorkItem,
}

impl Vif {
    /// Where packets to a guest end that does not take them.
    pub const QUEUE: Place = Place("netback, queue to the guest");

    /// An interface between `ends`, not plugged in.
    pub fn new(ends: Ends, config: &VifConfig, stack: Peer, lines: FrontLines) -> Self {
        Vif {
            domain: ends.guest,
            ends,
            back_port: None,
            other_ports: Vec::new(),
            front_port: None,
            tx: Ring::new(NET_TX),
            rx: Ring::new(NET_RX),
            up: false,
            rx_reserved: 0,
            rx_stopped: false,
            rx_timeout: None,
            rx_queue: Queue::new(Self::QUEUE, BACK_QUEUE),
            tx_listed: false,
            gate: Gate::open(),
            counted: Counted::default(),
            credit: Credit::new(config.rate),
            front: Netfront::new(config.rx_target),
            stack,
            timers: Vec::new(),
            sockets: Vec::new(),
            webs: Vec::new(),
            acceptor: None,
            starts: Vec::new(),
            vcpu: config.vcpu,
            lines,
            back_handler: Handler::Idle,
            passed: Passed::default(),
        }
    }

    /// The guest's end of `flow` begins at `at`, if it is the one who begins, and no process does
    /// that.
    pub fn begin(&mut self, flow: FlowId, at: Instant) {
        if self.stack.begins(flow) && !self.stack.is_datagram_source(flow) {
            let kind = PeerTimerKind::Next;
            self.timers.push((PeerTimer { flow, kind }, at));
        }
    }
}
