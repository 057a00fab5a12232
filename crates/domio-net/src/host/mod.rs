//! The network inside a host: from the line through the driver domain to the guests and back
//! (xen-spec 5 and 6).
//!
//! ```text
//!  remote ══line══ NIC ── driver ── bridge ── netback ══rings══ netfront ── stack ── process
//!  host                 └────── driver domain ──────┘         └────────── guest ──────────┘
//! ```
//!
//! [`Network`] is the model of one card, its driver domain and the interfaces behind it, with those
//! of driver domains that have such an interface themselves: a [`Device`] of the bus. A host has as
//! many as it has cards. Every step of a packet inside a domain is work of one of that domain's
//! vcpus, at the level at which Linux 2.6.18 does it, takes its time, and is done for somebody.
//!
//! The network consists of parts, each of which owns its state and knows only the parts below it in
//! the table. The network itself is where they meet: it looks up what a token stands for and calls
//! the part, with the other parts that it acts on. What netback and netfront share is handed to
//! both, as are the interfaces' rings on a real host.
//!
//! The page of the crate shows the way of a packet as numbered calls, in both directions.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@self`] | the model on the bus: what it is called for |
//! | `build`, `ends` | the model of a configuration, both ends of its flows |
//! | `at_hand` | what driver domains have yet to pass on, and owe for notifying the hypervisor |
//! | `books` | where all packets are; statistics |
//! | `outside` | the remote host |
//! | `web_client` | its web clients |
//! | `neighbors` | its neighbour table |
//! | `site` | what a driver domain is made of |
//! | `ways` | how packets leave its bridge: by card, to guests, onward |
//! | `driver` | a vcpu of a driver domain: polling of the card and the backlog |
//! | `local` | its own protocols and sockets, where no remote host has the other end |
//! | `card` | the card: arrivals, its queues, what leaves |
//! | `card_queue` | a queue of the card: its interrupt, packets that wait for it |
//! | `netback` | the tasklets to and from the guests, rate limits, what a controller stops |
//! | `pairs` | how many pairs of tasklets netback has, and which serves an interface |
//! | `pool` | pages that are granted once, for small packets |
//! | `softnet` | what waits for the driver domain's softirq |
//! | `line` | the line between both cards |
//! | `lines` | what the kernels call the network for |
//! | `remote_card` | the remote host's card |
//! | `calls` | system calls of a guest's processes |
//! | `guest` | the guest's kernel: netfront and the stack together |
//! | `stack` | the guest's protocols, and how they act on the guest |
//! | `web_server` | its web servers |
//! | `socket` | what its processes read from and write to |
//! | `netfront` | the guest's driver |
//! | `buffers` | how many buffers the driver posts |
//! | `vif` | what both sides of an interface share |
//! | `handler` | a handler of an interrupt |
//! | `record` | records of packets |
//! | `config` | what a network is made of |
//! | `memory` | what a driver domain has in memory for it |
//! | `costs` | what work on packets costs |

mod at_hand;
mod books;
mod buffers;
mod build;
mod calls;
mod card;
mod card_queue;
mod config;
mod costs;
mod driver;
mod ends;
mod forms;
mod guest;
mod handler;
mod line;
mod lines;
mod local;
mod memory;
mod neighbors;
mod netback;
mod netfront;
mod outside;
mod pairs;
mod pool;
mod record;
mod remote_card;
mod site;
mod socket;
mod softnet;
mod stack;
mod vif;
mod ways;
mod web_client;
mod web_server;

use alloc::vec::Vec;
use domio_core::{DomainId, VcpuName};
use domio_vmm::bus::{Counted, Device, Io, KernelIo, Passed, Progress, Token, TokenKind, Traffic};
use domio_vmm::process::{Answer, Call, Interest, Pid, What};

use crate::bridge::Bridge;
use crate::packet::{FlowId, Station};
use crate::peer::PeerTimer;
use crate::web::connection_of;

pub use config::{
    BehindConfig, FlowConfig, FlowKind, LocalConfig, NetworkConfig, OtherPorts, RequestConfig,
    StreamConfig, VifConfig, VifRate,
};
pub use costs::{NetCosts, RxMode};
pub use forms::NetbackForm;
pub use memory::NetMemory;
pub use pairs::{Assignment, NetbackConfig, SmallPackets};
pub use pool::ByPath;

use at_hand::Owed;
use card::Card;
use driver::Driver;
use guest::{Guest, Start};
use lines::{OfPort, OfSoftirq, OfTasklet, OfTimer, OfWork};
use local::Local;
use netback::Netback;
use outside::Outside;
use site::Site;
use socket::File;
use vif::Vif;
use ways::Ways;

/// What a timer of the network is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    /// A queue of the card raises its interrupt.
    Interrupt(u16),
    /// A packet reaches the card.
    ArrivalIn,
    /// A packet reaches the remote host.
    ArrivalOut,
    /// A timer of the remote host.
    Remote(PeerTimer),
    /// A timer of its entry for a guest.
    Neighbor(Station),
    /// The client of a web workload.
    Web(u16),
}

/// The network of a host.
pub struct Network {
    /// The driver domains, that with the card first.
    sites: Vec<Site>,
    /// Its number on the bus.
    device: u16,
    outside: Outside,
    card: Card,
    /// The driver domain's own end of flows, where no remote host has it.
    local: Option<Local>,
    /// By driver domain.
    bridges: Vec<Bridge>,
    /// By vcpu with work of the network: which driver domain has it, and polling there.
    of_driver: Vec<u16>,
    drivers: Vec<Driver>,
    /// By backend: which driver domain has it and which vcpu polls there, and the backend itself.
    of_back: Vec<(u16, u16)>,
    backs: Vec<Netback>,
    /// By vcpu with work of the network.
    owed: Owed,
    /// The interfaces.
    vifs: Vec<Vif>,
    /// By interface: the guest behind it.
    guests: Vec<Guest>,
    events: Vec<Event>,
    /// What each socket's number means.
    files: Vec<File>,
    /// By number of a web workload: its interface, and its place there.
    webs: Vec<(u16, u16)>,
}

impl Network {
    /// The interfaces of `domain`.
    fn vifs_of(&self, domain: DomainId) -> Vec<u16> {
        let all = (0..).zip(&self.vifs);
        let own = all.filter(|(_, v)| v.ends.guest == domain);
        own.map(|(vif, _)| vif).collect()
    }

    /// Number of the driver domain that `domain` is, if it is one.
    fn site_of(&self, domain: DomainId) -> Option<usize> {
        self.sites.iter().position(|site| site.driver == domain)
    }

    /// Driver domain number `number` comes up.
    fn plug_driver(&mut self, number: usize, io: &mut Io<'_>) {
        let site = &self.sites[number];
        if number == 0 {
            self.card.plug(site, io);
        }
        for _ in 0..site.other_ports.boot {
            io.reserve(site.driver);
        }
        if number == 0 {
            self.card.listen(&self.vifs, io);
        }
    }

    /// The guest of interface `vif` comes up.
    fn plug_guest(&mut self, vif: u16, io: &mut Io<'_>) {
        let (v, guest) = (
            &mut self.vifs[usize::from(vif)],
            &mut self.guests[usize::from(vif)],
        );
        let front = guest.offer(v.ends, OfPort::Front.token(vif), io);
        let token = OfPort::Back.token(vif);
        self.backs[usize::from(v.back)].plug(v, front, token, io);
        guest.begin_boot(v.ends, io);
        let line = &mut self.card.line;
        for Start { flow, start, stop } in guest.starts.clone() {
            let times = (io.now + start, stop.map(|stop| io.now + stop));
            match guest.stack.web_of(flow) {
                Some(web) => self.outside.begin_web(web, times, line, io),
                None => {
                    guest.begin(flow, times);
                    match &mut self.local {
                        Some(local) => {
                            local.listen(flow);
                            local.begin(flow, times);
                        }
                        None => self.outside.begin(flow, times, line, io),
                    }
                }
            }
        }
        if let Some(local) = &self.local {
            let (timer, vcpu) = local.timer();
            let driver = VcpuName::new(self.sites[0].driver, vcpu);
            io.set_timer_on(driver, timer, local.first_timer());
        }
    }

    /// The interface that a call is for, the guest behind it, and the driver domain before it.
    fn front(&mut self, vif: u16) -> (&Site, &mut Vif, &mut Guest) {
        let (v, guest) = (
            &mut self.vifs[usize::from(vif)],
            &mut self.guests[usize::from(vif)],
        );
        (&self.sites[usize::from(v.site)], v, guest)
    }

    /// Driver domain number `site`, with all that a packet may meet on its way there, and what
    /// polls on vcpu number `driver` of those with work of the network.
    fn ways(&mut self, site: u16, driver: u16) -> (&mut Driver, Ways<'_>) {
        let ways = Ways {
            site: &self.sites[usize::from(site)],
            bridge: &mut self.bridges[usize::from(site)],
            card: &mut self.card,
            backs: &mut self.backs,
            guests: &mut self.guests,
            vifs: &mut self.vifs,
            local: self.local.as_mut().filter(|_| site == 0),
        };
        (&mut self.drivers[usize::from(driver)], ways)
    }

    /// Packets that vcpu number `driver` of those with work of the network has at hand.
    fn at_hand(&self, driver: u16) -> u32 {
        let own = &self.drivers[usize::from(driver)];
        let in_card = self.card.at_hand(driver);
        let backs = self.of_back.iter().zip(&self.backs);
        let backs = backs.filter(|((_, of), _)| *of == driver);
        let in_backs: usize = backs.map(|(_, back)| back.at_hand()).sum();
        u32::try_from(own.at_hand() + in_card + in_backs).unwrap_or(u32::MAX)
    }

    /// Vcpu number `driver` has done a piece of work, which leads to `progress`: reports what it
    /// has at hand now, if the hypervisor wants to know.
    #[inline]
    fn tell_at_hand(
        &mut self,
        driver: u16,
        progress: Progress,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        if !kernel.tells_packets_at_hand() {
            return progress;
        }
        if kernel.has_at_hand(self.at_hand(driver)) {
            let site = self.of_driver[usize::from(driver)];
            let hypercall = self.sites[usize::from(site)].costs.grants.hypercall;
            self.owed.add(driver, hypercall);
        }
        self.owed.added(driver, progress)
    }

    /// Backend `back` takes packets to guests, or continues.
    fn back_rx(&mut self, back: u16, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let (site, driver) = self.of_back[usize::from(back)];
        let to = &mut self.backs[usize::from(back)].rx;
        let progress = to.rx_tasklet(&self.sites[usize::from(site)], &mut self.vifs, kernel);
        self.tell_at_hand(driver, progress, kernel)
    }

    /// A poll of the guest of interface `vif` begins or continues: a packet that is for somebody
    /// behind the guest goes to its bridge.
    fn front_rx(&mut self, vif: u16, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let guest = &mut self.guests[usize::from(vif)];
        if let Some(bridge) = &guest.bridge {
            let number = bridge.number;
            if let Some(packet) = guest.front.passed(kernel.vcpu.index) {
                let (_, mut ways) = self.ways(number, 0);
                ways.pass_on(vif, packet, kernel);
            }
        }
        let (site, v, guest) = self.front(vif);
        guest.front_rx(site, v, kernel)
    }

    /// A process makes a call on `file`, or continues with it.
    fn file_call(
        &mut self,
        file: File,
        call: (What, Pid),
        kernel: &mut KernelIo<'_, '_>,
    ) -> Answer {
        match (file, call) {
            (File::Flow(vif, place), _) => {
                let (site, v, guest) = self.front(vif);
                guest.socket_call(place, call, &site.costs, v, kernel)
            }
            (File::Local(flow), call) => {
                let Some(local) = &mut self.local else {
                    return Answer::Return(0);
                };
                let answer = local.call(flow, call, &self.sites[0].costs, kernel);
                if !local.queue.is_empty() {
                    self.drivers[0].softnet.poll_local(kernel);
                }
                answer
            }
            (File::Listening(vif), (What::Accept, by)) => self.guests[usize::from(vif)].accept(by),
            // Nothing comes of it, as from a socket that is not connected.
            (File::Listening(_), _) => Answer::Return(0),
            (File::Web(web), (what, by)) => {
                let (vif, server) = self.webs[usize::from(web)];
                let (site, _, guest) = self.front(vif);
                let webs = &mut guest.stack.webs;
                webs[usize::from(server)].web_accept(what, by, &site.costs)
            }
        }
    }

    /// A process makes a call on the connection in `place` of workload `web`, or continues with it.
    fn web_call(
        &mut self,
        (web, place): (u16, u16),
        call: (What, Pid),
        kernel: &mut KernelIo<'_, '_>,
    ) -> Answer {
        let Some(&(vif, server)) = self.webs.get(usize::from(web)) else {
            // As from a socket that is not connected.
            return Answer::Return(0);
        };
        let client = &self.outside.webs[usize::from(web)].client;
        let (v, guest) = (
            &mut self.vifs[usize::from(vif)],
            &mut self.guests[usize::from(vif)],
        );
        let costs = &self.sites[usize::from(v.site)].costs;
        let at = (usize::from(server), place);
        guest.web_call(at, call, client, costs, v, kernel)
    }

    /// Whether `file` is ready for `interest`; `wake` is woken when it is, where it is not.
    fn file_poll(&mut self, file: File, interest: Interest, wake: Option<Pid>) -> bool {
        match file {
            File::Flow(vif, place) => {
                let guest = &mut self.guests[usize::from(vif)];
                guest.socket_poll(place, interest, wake)
            }
            File::Local(flow) => {
                let local = self.local.as_mut();
                local.is_some_and(|local| local.poll(flow, interest, wake))
            }
            File::Listening(vif) => self.guests[usize::from(vif)].acceptable(wake),
            File::Web(web) => {
                let (vif, server) = self.webs[usize::from(web)];
                let stack = &mut self.guests[usize::from(vif)].stack;
                stack.webs[usize::from(server)].listener.acceptable(wake)
            }
        }
    }

    /// Whether the connection in `place` of workload `web` is ready for `interest`; likewise.
    fn web_poll(
        &mut self,
        (web, place): (u16, u16),
        interest: Interest,
        wake: Option<Pid>,
    ) -> bool {
        let Some(&(vif, server)) = self.webs.get(usize::from(web)) else {
            return false;
        };
        let stack = &mut self.guests[usize::from(vif)].stack;
        stack.webs[usize::from(server)].web_poll(place, interest, wake)
    }
}

impl Device for Network {
    fn serves(&self, domain: DomainId) -> bool {
        self.drives(domain) || self.vifs.iter().any(|v| v.ends.guest == domain)
    }

    fn drives(&self, domain: DomainId) -> bool {
        self.site_of(domain).is_some()
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for (nth, vif) in self.vifs_of(domain).into_iter().enumerate() {
            let v = &self.vifs[usize::from(vif)];
            if nth == 0 {
                let site = &self.sites[usize::from(v.site)];
                self.backs[usize::from(v.back)].reserve(vif, site, io);
            }
            self.plug_guest(vif, io);
        }
        if let Some(number) = self.site_of(domain) {
            self.plug_driver(number, io);
        }
    }

    fn unplug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for vif in self.vifs_of(domain) {
            self.guests[usize::from(vif)].stack.clear();
            let back = usize::from(self.vifs[usize::from(vif)].back);
            self.backs[back].unplug(vif, &mut self.vifs, io);
        }
    }

    fn event(&mut self, token: Token, io: &mut Io<'_>) {
        let Network {
            sites,
            outside,
            card,
            vifs,
            ..
        } = self;
        // A line that has to stop is stopped before the remote host sends more.
        card.take_arrivals(vifs, io);
        match self.events[token as usize] {
            Event::Interrupt(queue) => {
                return card.raise_interrupt(queue, &sites[0], vifs, io);
            }
            Event::ArrivalIn => {}
            Event::ArrivalOut => outside.arrive(&mut card.line, io),
            Event::Remote(timer) => outside.timer(timer, &mut card.line, io),
            Event::Web(web) => outside.web_timer(web, &mut card.line, io),
            Event::Neighbor(station) => outside.neighbor_timer(station, &mut card.line, io),
        }
        card.listen(vifs, io);
    }

    fn irq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match OfPort::of(token) {
            (OfPort::Card, queue) => {
                // Those of the card's driver domain come first.
                let driver = self.card.driver_of(queue);
                let softnet = &mut self.drivers[usize::from(driver)].softnet;
                let site = &self.sites[0];
                let vifs = &self.vifs;
                let progress = self.card.card_irq(queue, softnet, site, vifs, kernel);
                self.tell_at_hand(driver, progress, kernel)
            }
            (OfPort::Back, vif) => {
                let v = &self.vifs[usize::from(vif)];
                let site = &self.sites[usize::from(v.site)];
                let (_, driver) = self.of_back[usize::from(v.back)];
                let back = &mut self.backs[usize::from(v.back)];
                let progress = back.back_irq(vif, site, &mut self.vifs, kernel);
                self.tell_at_hand(driver, progress, kernel)
            }
            (OfPort::Front, vif) => {
                let (site, v, guest) = self.front(vif);
                guest.front.front_irq(v, &site.costs, kernel)
            }
        }
    }

    fn softirq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match OfSoftirq::of(token) {
            (OfSoftirq::DriverRx, vcpu) => {
                let (driver, mut ways) = self.ways(self.of_driver[usize::from(vcpu)], vcpu);
                let progress = driver.driver_rx(&mut ways, kernel);
                self.tell_at_hand(vcpu, progress, kernel)
            }
            (OfSoftirq::DriverTx, back) => {
                let (site, driver) = self.of_back[usize::from(back)];
                let site = &self.sites[usize::from(site)];
                let to = &mut self.backs[usize::from(back)].rx;
                let progress = to.driver_tx(site, &mut self.vifs, kernel);
                self.tell_at_hand(driver, progress, kernel)
            }
            (OfSoftirq::FrontRx, vif) => self.front_rx(vif, kernel),
            (OfSoftirq::FrontTx, vif) => {
                let (site, v, guest) = self.front(vif);
                guest.front_tx(site, v, kernel)
            }
        }
    }

    fn tasklet(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match OfTasklet::of(token) {
            (OfTasklet::Rx, back) => self.back_rx(back, kernel),
            (OfTasklet::Tx, back) => {
                let (site, vcpu) = self.of_back[usize::from(back)];
                let softnet = &mut self.drivers[usize::from(vcpu)].softnet;
                let site = &self.sites[usize::from(site)];
                let back = &mut self.backs[usize::from(back)];
                let progress = back.tx_tasklet(softnet, site, &mut self.vifs, kernel);
                self.tell_at_hand(vcpu, progress, kernel)
            }
        }
    }

    fn work(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match OfWork::of(token) {
            (OfWork::Boot, vif) => {
                let (site, v, guest) = self.front(vif);
                guest.boot(site, v, kernel)
            }
            (OfWork::Rx, back) => self.back_rx(back, kernel),
        }
    }

    fn timer(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) {
        match OfTimer::of(token) {
            (OfTimer::Credit, back) => {
                self.backs[usize::from(back)].limits_expire(&mut self.vifs, kernel);
            }
            (OfTimer::Queues, back) => self.backs[usize::from(back)].rx.expire_queues(kernel),
            (OfTimer::Stack, vif) => self.guests[usize::from(vif)].stack_timers(kernel),
            (OfTimer::Local, _) => {
                if let Some(local) = &mut self.local {
                    local.expire(kernel);
                    if !local.queue.is_empty() {
                        self.drivers[0].softnet.poll_local(kernel);
                    }
                }
            }
        }
    }

    fn call(&mut self, call: Call, by: Pid, kernel: &mut KernelIo<'_, '_>) -> Answer {
        match self.files.get(call.file.file as usize) {
            Some(file) => self.file_call(*file, (call.what, by), kernel),
            None => match connection_of(FlowId(call.file.file)) {
                Some(connection) => self.web_call(connection, (call.what, by), kernel),
                // As from a socket that is not connected.
                None => Answer::Return(0),
            },
        }
    }

    fn poll(&mut self, file: u32, interest: Interest, wake: Option<Pid>) -> bool {
        match self.files.get(file as usize) {
            Some(file) => self.file_poll(*file, interest, wake),
            None => connection_of(FlowId(file))
                .is_some_and(|connection| self.web_poll(connection, interest, wake)),
        }
    }

    fn limit(&mut self, domain: DomainId, traffic: Traffic, io: &mut Io<'_>) {
        for vif in self.vifs_of(domain) {
            let back = usize::from(self.vifs[usize::from(vif)].back);
            self.backs[back].limit(vif, traffic, &self.vifs, io);
        }
    }

    fn counted(&self, driver: DomainId, domain: DomainId) -> Counted {
        let own = self.vifs.iter().filter(|v| v.ends.guest == domain);
        let own = own.filter(|v| v.ends.driver == driver);
        own.fold(Counted::default(), |sum, v| sum.plus(v.counted))
    }

    fn passed(&self, domain: DomainId) -> Passed {
        let own = self.vifs.iter().filter(|v| v.ends.guest == domain);
        own.fold(Passed::default(), |sum, v| sum.plus(v.passed))
    }
}
