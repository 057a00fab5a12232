//! What the network of a host is made of: plain data, validated by whoever builds it.

use domio_core::{DomainId, Duration};
use domio_vmm::evtchn::Abi;
use domio_vmm::kernel::KernelConfig;

use super::NetCosts;
use crate::icmp::PingConfig;
use crate::link::LinkConfig;
use crate::nic::NicConfig;
use crate::tcp::TcpConfig;
use crate::udp::UdpConfig;
use crate::writers::WriterCosts;

/// The network of a host: a card in the driver domain, a line to a remote host, and a virtual
/// interface in each guest that has one.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// The domain with the card, the bridge and the backends.
    pub driver: DomainId,
    /// The card.
    pub nic: NicConfig,
    /// The line behind it, each way.
    pub link: LinkConfig,
    /// Least time between two interrupts of the remote host's card: packets that come meanwhile
    /// wait for the next. Zero for a host that hears of each packet at once. Linux's e1000 of 2006
    /// has 125 us ([`NicConfig::E1000`]).
    pub remote_gap: Duration,
    /// What the remote host takes at most from an interrupt of its card until it has the packets:
    /// drawn for each interrupt, evenly distributed from zero on.
    pub remote_irq_latency: Duration,
    /// What the remote host's processes take: those that write, and those that ping, from a reply
    /// to the next request.
    pub remote_writers: WriterCosts,
    /// What the work costs.
    pub costs: NetCosts,
    /// How netback hands packets to guests.
    pub rx_mode: RxMode,
    /// Settings of the driver domain's kernel.
    pub driver_kernel: KernelConfig,
    /// Settings of a guest's kernel.
    pub guest_kernel: KernelConfig,
    /// Virtual interfaces, one for each guest that has any.
    pub vifs: Vec<VifConfig>,
}

impl NetworkConfig {
    /// The settings of a kernel whose event channels are `abi`, on a machine of `costs`.
    pub fn kernel(abi: Abi, costs: KernelCosts) -> KernelConfig {
        KernelConfig {
            abi,
            upcall: costs.upcall,
            nested: costs.nested,
            irq: costs.irq,
            timer_irq: costs.timer_irq,
            timer_softirq: costs.timer_softirq,
            services: 0,
        }
    }
}

/// What a kernel's own work costs: see [`KernelConfig`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelCosts {
    /// Entering an upcall, and leaving it.
    pub upcall: Duration,
    /// An upcall within another one.
    pub nested: Duration,
    /// Each interrupt, besides its handler.
    pub irq: Duration,
    /// The timer's handler.
    pub timer_irq: Duration,
    /// The timer softirq.
    pub timer_softirq: Duration,
}

impl KernelCosts {
    /// No cost anywhere.
    pub const FREE: KernelCosts = KernelCosts {
        upcall: Duration::ZERO,
        nested: Duration::ZERO,
        irq: Duration::ZERO,
        timer_irq: Duration::ZERO,
        timer_softirq: Duration::ZERO,
    };

    /// A 1.6 GHz Opteron 242 under Xen 3.1 with Linux 2.6.18. No measurement of these is known:
    /// all five are engineering estimates, none fitted to a result.
    pub const OPTERON_242: KernelCosts = KernelCosts {
        // 800 cycles to save and restore the registers, through the hypervisor's return path, as
        // a system call of a paravirtual guest takes (0.55 us, xen-spec 9).
        upcall: Duration::from_nanos(500),
        // The same without the way into the kernel, in which it is.
        nested: Duration::from_nanos(300),
        // 500 cycles for `do_IRQ` and what a handler is found by.
        irq: Duration::from_nanos(300),
        // 1,600 cycles: reading the clock of Xen, the time of day, what the process has used.
        timer_irq: Duration::from_nanos(1_000),
        // 800 cycles for a wheel of timers that are seldom due.
        timer_softirq: Duration::from_nanos(500),
    };
}

/// How a packet gets from netback to netfront.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RxMode {
    /// Netback copies it to a page of its own, which it then transfers to the guest: paravirtual
    /// guests of Xen 3.
    Flip,
    /// Xen copies it to a page that the guest has granted: all later ones.
    Copy,
}

/// A guest's virtual interface and what goes through it.
#[derive(Clone, Debug)]
pub struct VifConfig {
    /// The guest. It is not the driver domain, and has no other interface.
    pub domain: DomainId,
    /// Limit on what the guest sends: `rate=`.
    pub rate: Option<VifRate>,
    /// What the guest and the remote host do, over the interface. At most
    /// [`VifConfig::FLOWS_MAX`] of them.
    pub flows: Vec<FlowConfig>,
}

impl VifConfig {
    /// Most flows over one interface.
    pub const FLOWS_MAX: usize = 7;
}

/// `rate=` of a vif (xen-spec 6.3): so many bytes each so many microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VifRate {
    /// Bytes of an interval.
    pub bytes: u64,
    /// Length of an interval; over zero.
    pub interval: Duration,
}

/// A flow between a guest and the remote host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowConfig {
    /// What flows.
    pub kind: FlowKind,
    /// When it begins, after the guest's start.
    pub start: Duration,
}

/// A stream to a guest: a process of the remote host writes, one of the guest reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamConfig {
    /// Settings of both ends.
    pub tcp: TcpConfig,
    /// Bytes that each process passes to a call, at least 1.
    pub piece: u32,
}

impl StreamConfig {
    /// What `iperf` 2 and `ttcp` pass to a call, unless told otherwise: 8 KiB.
    pub const PIECE: u32 = 8 * 1024;

    /// Linux 2.6.18 at both ends, and a program that calls as [those](Self::PIECE).
    pub const XEN_2_6_18: StreamConfig = StreamConfig {
        tcp: TcpConfig::XEN_2_6_18,
        piece: Self::PIECE,
    };
}

/// What flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowKind {
    /// TCP from the remote host to the guest, as fast as it goes.
    StreamIn(StreamConfig),
    /// TCP from the guest to the remote host, as fast as it goes.
    StreamOut(TcpConfig),
    /// The remote host pings the guest.
    Ping(PingConfig),
    /// UDP from the remote host to the guest.
    UdpIn(UdpConfig),
    /// UDP from the guest to the remote host.
    UdpOut(UdpConfig),
}
