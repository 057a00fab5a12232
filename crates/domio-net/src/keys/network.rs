//! `[network]`: from its keys to what a network is made of.

mod blueprint;

use super::costs::{NETWORK_CARD, NETWORK_COSTS, NETWORK_WRITERS};
use super::netback::{ASSIGNMENTS, NETBACKS, SMALL_PACKETS};
use super::other::refuse;
use crate::host::{Assignment, FlowKind, NetCosts, NetbackForm, RxMode, SmallPackets, VifConfig};
use crate::nic::NicConfig;
use crate::writers::WriterCosts;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::keys::{
    Code, Given, KeyReader, KeySection, KeyTable, Keys, Need, Nested, Slot, WordOf, domain_name,
    int, line_rate, name, nested, pcpus, time, word,
};
use domio_core::{CpuSet, DomainId, Duration, PcpuId, XenVersion};
use domio_vmm::bus::side::KernelThread;
use domio_vmm::config::HostSoftirqs;
use domio_vmm::evtchn::{Abi, ScanForm, Width};

/// Slowest line that can be asked for (bit/s): a full packet takes 12 s there.
const LINE_RATE_MIN: u64 = 1_000;

/// Fastest line (bit/s): what [`Rate`](crate::link::Rate) takes.
const LINE_RATE_MAX: u64 = 400_000_000_000;

/// `[network]`.
pub static NETWORK: KeySection = KeySection::plain(
    "[network]",
    "The card in the driver domain, the line behind it, and how drivers on both sides of Xen work. \
     A host has a network when a domain has a vif; by default the network has the values below. \
      Several are `[[network]]` tables, each with a card, a line, a remote host and a driver \
      domain, or behind another network (`uplink`). What the work costs is the hardware profile's.",
    NetworkKeys::KEYS,
);

static NICS: [WordOf<NicConfig>; 6] = [
    WordOf::new(
        "plain",
        NicConfig::PLAIN,
        "An interrupt for each packet; rings of 256; what finds no buffer is dropped.",
    ),
    WordOf::new(
        "tg3",
        NicConfig::TG3,
        "Broadcom's, as Linux 2.6 sets it up: an interrupt 20 us after the last packet or after 5 \
         packets; flow control, so that the other end waits instead of losing packets.",
    ),
    WordOf::new(
        "tg3-untagged",
        NicConfig::TG3_UNTAGGED,
        "Broadcom's with the chip 5700 or 5788: 50 us after the first packet or after 5 packets.",
    ),
    WordOf::new(
        "e1000",
        NicConfig::E1000,
        "Intel's, as Linux 2.6 sets it up: 8000 interrupts a second at most; flow control.",
    ),
    WordOf::new(
        "i40e",
        NicConfig::I40E,
        "Intel's of 10 to 40 Gb/s (ixgbe likewise), as Linux 5 sets it up: a queue on each vcpu of \
         the driver domain, with rings of 512; 20000 interrupts of a queue a second at most; TSO \
         and GRO on.",
    ),
    WordOf::new(
        "mlx5",
        NicConfig::MLX5,
        "Mellanox's of 10 to 100 Gb/s, as Linux 5 sets it up: a queue on each vcpu of the driver \
         domain, with rings of 1024; an interrupt 16 us after the first packet or after 32; \
         flow control; TSO and GRO on.",
    ),
];

/// The width of the words of event channels, none for queues.
static ABIS: [WordOf<Option<Width>>; 3] = [
    WordOf::new(
        "two-level-32",
        Some(Width::Bits32),
        "Bitmaps of a 32-bit guest: 1024 ports.",
    ),
    WordOf::new(
        "two-level-64",
        Some(Width::Bits64),
        "Bitmaps of a 64-bit guest: 4096 ports.",
    ),
    WordOf::new("fifo", None, "Queues, which Xen has since 4.4."),
];

static SCANS: [WordOf<ScanForm>; 5] = [
    WordOf::new(
        "nesting",
        ScanForm::Nesting,
        "As `restart`, and an upcall during softirqs serves ports: Linux 2.6.16 for Xen 3.0.",
    ),
    WordOf::new(
        "restart",
        ScanForm::Restart,
        "From the lowest port again after each handler, so that busy ports starve higher ones: \
         Linux 2.6.18 for Xen.",
    ),
    WordOf::new(
        "round-robin",
        ScanForm::RoundRobin,
        "From the port after the last one that was served: the first fix.",
    ),
    WordOf::new(
        "resume",
        ScanForm::Resume,
        "One look at each word, from the port after the last one that was served: openSUSE.",
    ),
    WordOf::new(
        "resume-mainline",
        ScanForm::ResumeMainline,
        "Like `resume`, in mainline Linux.",
    ),
];

static RX_MODES: [WordOf<RxMode>; 2] = [
    WordOf::new(
        "flip",
        RxMode::Flip,
        "Netback copies a packet to a page of its own and transfers the page.",
    ),
    WordOf::new(
        "copy",
        RxMode::Copy,
        "Xen copies a packet to a page that the guest has granted.",
    ),
];

keys! {
    struct NetworkKeys {
        driver: String = domain_name(), Need::Optional("the domain with id 0"),
            "The driver domain, with the card, the bridge and the backends: one domain, which is \
             created before those with a vif, stays to the end, and has no vif on this network.";
        "name" = name(), Need::Optional("none, so that no vif can name it"),
            "Name, unique among the networks, by which vifs and network workloads choose it.";
        uplink: String = name(), Need::Optional("that of the driver domain's only other vif"),
            "Name of the network by which the driver domain goes out, through a vif of its own \
             instead of a card. Without other vifs, or with `nic`, it has a card.";
        netback_threads: u16 = int(1, 1024), Need::Int(1),
            "Over how many vcpus of the driver domain netback is spread, at most all: vifs take \
             turns, and each is one vcpu's. Where the card's queues are, `queues` of \
             [network.card] says.";
        netback_pairs: u16 = int(1, 1024), Need::Optional("one on each of `netback_threads` vcpus"),
            "Pairs of tasklets of netback, which are bound to these vcpus in turn. Each pair has \
             its own queues, and room for 256 packets from guests.";
        netback_assign: Assignment = word(&ASSIGNMENTS), Need::Word("round-robin"),
            "Which pair serves a vif that does not say (`pair` of [domain.vif]).";
        small_packets: (bool, bool) = word(&SMALL_PACKETS), Need::Word("grants"),
            "How packets of one page at most get from one end of a vif to the other (Zeng 2015).";
        small_pool_pages: u16 = int(1, SmallPackets::PAGES as i64),
            Need::Int(SmallPackets::PAGES as i64),
            "Pages of a vif's pool, in each direction that has one. Packets that find none free \
             have grants of their own, as large ones.";
        nic: NicConfig = word(&NICS), Need::Word("plain"), "The network card.";
        nic_bus: u64 = line_rate(LINE_RATE_MIN, LINE_RATE_MAX),
            Need::Optional("a bus that nobody has to wait for"),
            "How fast the card moves packets to and from memory, both directions together.";
        rx_target: u32 = int(64, 256), Need::Int(VifConfig::RX_TARGET as i64),
            "Receive buffers that a guest wants posted at first; one that is new has \
             128. A refill that finds under a quarter doubles them, up to 256; a poll that leaves \
             over three quarters takes one, down to 64.";
        rate: u64 = line_rate(LINE_RATE_MIN, LINE_RATE_MAX), Need::Word("1G"),
            "How fast the line sends, each way.";
        latency: Duration = time("us", 0), Need::TimeNs(20_000),
            "How long each bit travels, one way.";
        other_end: bool = word(&OTHER_ENDS), Need::Word("remote"),
            "Who has the other end of all flows on this network.";
        remote_gap: Duration = time("us", 0), Need::TimeNs(0),
            "Least time between two interrupts of the remote host's card: packets that come \
             meanwhile wait for the next. 125 us with an e1000 of 2006.";
        remote_tick: Duration = time("ms", 0), Need::TimeNs(0),
            "From one timer tick of the remote host's kernel to the next: the waits of a flood of \
             pings end with one. 0 for a host whose timers are exact; 4 ms with Linux of 2006.";
        remote_tick_phase: Duration = time("us", 0), Need::TimeNs(0),
            "When one of these ticks comes.";
        remote_irq_latency: Duration = time("us", 0), Need::TimeNs(0),
            "What the remote host takes at most from an interrupt of its card until it has the \
             packets: each time another one, evenly distributed from zero on.";
        queue: usize = int(1, 1 << 20), Need::Int(1000),
            "Packets that may wait for the line at each end (`txqueuelen`).";
        evtchn: Option<Width> = word(&ABIS),
            Need::Optional("`fifo` since Xen 4.4, `two-level-64` before"),
            "Event channels of the driver domain and of all domains with a vif.";
        scan: ScanForm = word(&SCANS),
            Need::Optional("`nesting` until 3.0.4, `restart` under Xen 3, `resume-mainline` later"),
            "How their kernels look for pending ports, with two-level event channels.";
        rx: RxMode = word(&RX_MODES), Need::Optional("`flip` under Xen 3, `copy` later"),
            "How netback hands packets to guests.";
        netback: NetbackForm = word(&NETBACKS), Need::Optional("that of the release, 3.1 later"),
            "Which release's netback takes packets for guests; each is like the one before, but \
             for what is said. That of 3.0 takes packets of one page: `tso` and `gro` are off.";
        boot_ports: u16 = int(0, 200), Need::Int(0),
            "Event channels of the driver domain that others have bound when it has booted, after \
             the card's.";
        guest_ports: u16 = int(0, 16), Need::Int(0),
            "Event channels of the driver domain for each guest before the interface's: console, \
             store and disks. With the width of words these decide which guests share a word, and \
             so how the scan treats them.";
        irqfd: bool = word(&IRQFDS), Need::Word("direct"),
            "Who interrupts a guest of KVM when vhost has packets for it.";
        napi: Napi = word(&NAPIS), Need::Word("softirq"),
            "What polls the card on a host with KVM.";
        irq_pcpus: CpuSet = pcpus(), Need::Optional("pcpu 0"),
            "Pcpus that the interrupts of the card come to on a host with KVM \
             (`/proc/irq/N/smp_affinity_list`): its queues take turns, and their softirqs run \
             there.";
        card: Nested = nested(&NETWORK_CARD), Need::Optional("what `nic` says"),
            "How the card is set up.";
        costs: Nested = nested(&NETWORK_COSTS), Need::Optional("the profile's"),
            "Costs of the work on packets.";
        writers: Nested = nested(&NETWORK_WRITERS), Need::Optional("the profile's"),
            "Costs of the remote host's processes.";
    }
}

static OTHER_ENDS: [WordOf<bool>; 2] = [
    WordOf::new("remote", false, "The remote host behind the line."),
    WordOf::new(
        "driver",
        true,
        "Processes of the driver domain, which take its time: traffic inside one host. Nothing \
         passes the card.",
    ),
];

static IRQFDS: [WordOf<bool>; 2] = [
    WordOf::new("direct", false, "The vhost thread: x86 with MSI-X."),
    WordOf::new(
        "kworker",
        true,
        "A work item of the kernel, on the pcpu of the vhost thread (`irqfd_inject`): interrupts \
         that are levels, and s390.",
    ),
];

/// What polls a card on a host with KVM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Napi {
    /// Softirqs, and `ksoftirqd` what is left of them.
    Softirq,
    /// A thread.
    Threaded,
}

static NAPIS: [WordOf<Napi>; 2] = [
    WordOf::new(
        "softirq",
        Napi::Softirq,
        "Softirqs on the pcpus of `irq_pcpus`, in the time of whatever runs there; the thread \
         `ksoftirqd/N` does what is left. The default of Linux.",
    ),
    WordOf::new(
        "threaded",
        Napi::Threaded,
        "The thread `napi/eth0`, which the scheduler treats as any other one \
         (`/sys/class/net/eth0/threaded`).",
    ),
];

/// What a table `[network]` says.
pub struct NetworkTable(NetworkKeys);

/// What a network is made of in addition to its keys.
pub struct Driven {
    /// The release of Xen, if it is known.
    pub version: Option<XenVersion>,
    /// The driver domain, if it is known.
    pub driver: Option<DomainId>,
    /// How many vcpus it has.
    pub driver_vcpus: u16,
    /// What the work on packets costs on the machine.
    pub costs: NetCosts,
    /// What the remote host's processes take.
    pub writers: WriterCosts,
    /// What switching processes takes in its kernel.
    pub switch: Duration,
    /// The interfaces on it.
    pub vifs: Vec<VifConfig>,
    /// The threads of a host with KVM that do the work of the driver domain's vcpus.
    pub vhost: Option<VhostThreads>,
}

/// The threads that serve a network on a host with KVM, as vcpus of one domain.
#[derive(Clone)]
pub struct VhostThreads {
    /// How many of the domain's vcpus there are up to the last vhost thread.
    pub threads: u16,
    /// The kworker of pcpu 0, where kworkers interrupt guests.
    pub kworkers: Option<u16>,
    /// The threads that poll the card, or that softirqs are left to.
    pub card: Vec<u16>,
    /// How softirqs make way, where they poll the card.
    pub softirqs: Option<HostSoftirqs>,
}

impl NetworkTable {
    /// What `table` says.
    pub fn read(table: &dyn Given) -> Self {
        NetworkTable(NetworkKeys::read(table))
    }

    /// The key with the name of the driver domain.
    pub fn driver(&self) -> &Slot<String> {
        &self.0.driver
    }

    /// The key with the name of the network that leads outward.
    pub fn uplink(&self) -> &Slot<String> {
        &self.0.uplink
    }

    /// Whether kworkers interrupt guests.
    pub fn has_kworkers(&self) -> bool {
        self.0.irqfd.get() == Some(true)
    }

    /// The threads of a host with KVM that poll the card, or that softirqs are left to. `table` is
    /// the one that was read.
    pub fn card_threads(&self, table: &dyn KeyTable) -> KernelThread {
        let keys = &self.0;
        match keys.napi.get() {
            Some(Napi::Threaded) => KernelThread::Named("napi/eth0"),
            _ => KernelThread::Softirqs {
                pcpus: self.irq_pcpus(),
                key: table.path_of(&keys.irq_pcpus),
                span: table.span(&keys.irq_pcpus),
            },
        }
    }

    fn irq_pcpus(&self) -> CpuSet {
        let given = self.0.irq_pcpus.if_given().flatten();
        given.unwrap_or(CpuSet::of(PcpuId(0)))
    }

    /// What to say of `irq_pcpus`, where the card's interrupts have no pcpus of their own.
    pub fn irq_pcpus_of_no_use(&self) -> Option<String> {
        let keys = &self.0;
        let threaded = keys.napi.get() == Some(Napi::Threaded);
        (threaded && keys.irq_pcpus.given).then(|| {
            format!(
                "`{}` of [network] does nothing with `napi = \"threaded\"`: the handler of the \
                 card's interrupt is where the thread is",
                keys.irq_pcpus.name
            )
        })
    }

    /// Reports keys that the hypervisor does not have, KVM where `kvm` says so. Returns whether
    /// there is none.
    pub fn fits(&self, table: &mut KeyReader<'_>, kvm: bool) -> bool {
        let keys = &self.0;
        let of_xen = [
            (keys.driver.given, keys.driver.name),
            (keys.uplink.given, keys.uplink.name),
            (keys.netback_threads.given, keys.netback_threads.name),
            (keys.netback_pairs.given, keys.netback_pairs.name),
            (keys.netback_assign.given, keys.netback_assign.name),
            (keys.small_packets.given, keys.small_packets.name),
            (keys.small_pool_pages.given, keys.small_pool_pages.name),
            (keys.other_end.given, keys.other_end.name),
            (keys.evtchn.given, keys.evtchn.name),
            (keys.scan.given, keys.scan.name),
            (keys.rx.given, keys.rx.name),
            (keys.netback.given, keys.netback.name),
            (keys.boot_ports.given, keys.boot_ports.name),
            (keys.guest_ports.given, keys.guest_ports.name),
        ];
        let of_kvm = [
            (keys.irqfd.given, keys.irqfd.name),
            (keys.napi.given, keys.napi.name),
            (keys.irq_pcpus.given, keys.irq_pcpus.name),
        ];
        match kvm {
            true => refuse(table, &of_xen, ["Xen", "KVM"]),
            false => refuse(table, &of_kvm, ["KVM", "Xen"]),
        }
    }

    /// Name and place of the first key that describes a card.
    pub fn card(&self) -> Option<&'static str> {
        let NetworkKeys {
            nic, nic_bus, card, ..
        } = &self.0;
        let all = [
            (nic.given, nic.name),
            (nic_bus.given, nic_bus.name),
            (card.given, card.name),
        ];
        let mut given = all.into_iter().filter(|(given, _)| *given);
        given.next().map(|(_, name)| name)
    }

    /// Names of the keys that describe what is behind a card, and are given.
    pub fn beyond_card(&self) -> Vec<&'static str> {
        let keys = &self.0;
        let all = [
            (keys.rate.given, keys.rate.name),
            (keys.latency.given, keys.latency.name),
            (keys.queue.given, keys.queue.name),
            (keys.remote_gap.given, keys.remote_gap.name),
            (keys.remote_tick.given, keys.remote_tick.name),
            (keys.remote_tick_phase.given, keys.remote_tick_phase.name),
            (keys.remote_irq_latency.given, keys.remote_irq_latency.name),
            (keys.writers.given, keys.writers.name),
        ];
        let given = all.into_iter().filter(|(given, _)| *given);
        given.map(|(_, name)| name).collect()
    }

    /// Keys that are given and do nothing with these `vifs`, and a driver domain of `vcpus` vcpus:
    /// each with the reason.
    pub fn idle(&self, vifs: &[VifConfig], vcpus: u16) -> Vec<(&'static str, String)> {
        let keys = &self.0;
        let has = |what: fn(&FlowKind) -> bool| {
            let mut flows = vifs.iter().flat_map(|vif| &vif.flows);
            flows.any(|flow| what(&flow.kind))
        };
        let pings = has(|kind| matches!(kind, FlowKind::Ping(_)));
        let writes = has(|kind| matches!(kind, FlowKind::StreamIn(_) | FlowKind::Request(_)));
        let threads = keys.netback_threads.get().unwrap_or(1);
        let pairs = keys.netback_pairs.get().unwrap_or(threads);
        let pools = keys.small_packets.get();
        let nobody_pinged = "no guest is pinged".to_owned();
        let cases = [
            (
                keys.remote_tick.given && !pings,
                keys.remote_tick.name,
                nobody_pinged.clone(),
            ),
            (
                keys.remote_tick_phase.given && !pings,
                keys.remote_tick_phase.name,
                nobody_pinged,
            ),
            (
                keys.writers.given && !pings && !writes,
                keys.writers.name,
                "no guest gets a stream or is pinged".to_owned(),
            ),
            (
                threads > 1 && vcpus.min(vifs.len() as u16) <= 1,
                keys.netback_threads.name,
                "the driver domain has one vcpu, or one vif to serve".to_owned(),
            ),
            (
                keys.netback_assign.given && pairs <= 1,
                keys.netback_assign.name,
                "netback has one pair of tasklets".to_owned(),
            ),
            (
                keys.small_pool_pages.given && pools == Some((false, false)),
                keys.small_pool_pages.name,
                "no packets go through a pool (`small_packets`)".to_owned(),
            ),
        ];
        let idle = cases.into_iter().filter(|(idle, ..)| *idle);
        idle.map(|(_, key, why)| (key, why)).collect()
    }

    /// The key that says which event channels kernels have.
    pub fn evtchn(&self) -> &Slot<Option<Width>> {
        &self.0.evtchn
    }

    /// Buffers that netfronts want posted at first.
    pub fn rx_target(&self) -> u32 {
        self.0.rx_target.get().unwrap_or(VifConfig::RX_TARGET)
    }

    /// Event channels of every kernel with a part in the network, under Xen `version`.
    pub fn abi(&self, table: &mut KeyReader<'_>, version: XenVersion) -> Option<Abi> {
        let NetworkKeys { evtchn, scan, .. } = &self.0;
        let since_fifo = version >= Abi::FIFO_SINCE;
        let by_default = (!since_fifo).then_some(Width::Bits64);
        let form = scan.or(ScanForm::usual(version));
        if let Some(width) = evtchn.or(by_default)? {
            let scan = form?;
            return Some(Abi::TwoLevel { width, scan });
        }
        if !since_fifo {
            table.tell(table.keys.wrong(Code::Conflict, evtchn, "fifo").says(
                format!("Xen {version} has no FIFO event channels"),
                "two-level-32 or two-level-64",
                "they came with Xen 4.4; `xen` of [host] says which release it is",
            ));
            return None;
        }
        if scan.given {
            table.tell(table.keys.misplaced(scan).says(
                "FIFO event channels have no scan to choose",
                "`evtchn = \"two-level-64\"` with it",
                "add `evtchn = \"two-level-64\"`, or remove `scan`",
            ));
            return None;
        }
        Some(Abi::Fifo)
    }
}
