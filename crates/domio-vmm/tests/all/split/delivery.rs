//! No notification is ever lost: random histories of two vcpus against a model that knows only
//! which ports somebody waits to be served on.

use domio_core::{DomainId, VcpuName};
use domio_vmm::evtchn::{Abi, Channels, FifoPriority, Port, Raised, ScanForm, Width};
use proptest::prelude::*;

const SENDER: DomainId = DomainId(0);
const D: DomainId = DomainId(1);
const VCPUS: u16 = 2;
/// How many ports a history uses, and the gaps between them: several words, and both ends of one.
const PORTS: usize = 7;
const NUMBERS: [u32; PORTS] = [1, 3, 31, 32, 63, 64, 130];

#[derive(Clone, Copy, Debug)]
enum Action {
    Send(usize),
    /// A driver disables or enables its port.
    Disable(usize),
    Enable(usize, u16),
    Move(usize, u16),
    Priority(usize, u8),
    /// The vcpu goes one step on: takes an upcall, enters a handler, leaves it.
    Step(u16),
    /// The vcpu takes an upcall if one is due, also in the middle of another one.
    Upcall(u16),
}

fn action() -> impl Strategy<Value = Action> {
    let port = 0..PORTS;
    let vcpu = 0..VCPUS;
    prop_oneof![
        6 => port.clone().prop_map(Action::Send),
        1 => port.clone().prop_map(Action::Disable),
        2 => (port.clone(), vcpu.clone()).prop_map(|(p, v)| Action::Enable(p, v)),
        1 => (port.clone(), vcpu.clone()).prop_map(|(p, v)| Action::Move(p, v)),
        1 => (port, 0..16u8).prop_map(|(p, n)| Action::Priority(p, n)),
        8 => vcpu.clone().prop_map(Action::Step),
        2 => vcpu.prop_map(Action::Upcall),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    Nothing,
    Looking,
    Handling(usize),
}

/// One port, as the model sees it.
#[derive(Clone, Copy, Default, Debug)]
struct Expected {
    /// Somebody sent since the handler was entered last.
    owed: bool,
    disabled: bool,
}

struct World {
    channels: Channels,
    abi: Abi,
    doing: [Doing; VCPUS as usize],
    ports: [Expected; PORTS],
}

impl World {
    fn new(abi: Abi) -> World {
        let mut channels = Channels::new();
        channels.add(SENDER, Abi::Fifo, 1).unwrap();
        channels.add(D, abi, VCPUS).unwrap();
        let mut ports = [Expected::default(); PORTS];
        for number in 1..=NUMBERS[PORTS - 1] {
            let offered = channels.offer(SENDER, D).unwrap();
            let bound = channels.connect(D, SENDER, offered).unwrap();
            assert_eq!((bound.port, offered), (Port(number), Port(number)));
            assert_eq!(bound.first.raised, Raised::Masked);
            match NUMBERS.iter().position(|&n| n == number) {
                Some(p) => {
                    ports[p].owed = true;
                    let _ = channels.guest(D).unwrap().unmask(bound.port, 0);
                }
                None => channels.close(D, bound.port).unwrap(),
            }
            if !NUMBERS.contains(&number) {
                // Keeps the number in use, so that the next one is the next port.
                let filler = channels.bind_pirq(D, 0).unwrap();
                assert_eq!(filler, Port(number));
            }
        }
        World {
            channels,
            abi,
            doing: [Doing::Nothing; VCPUS as usize],
            ports,
        }
    }

    fn pending(&mut self) -> [bool; VCPUS as usize] {
        let guest = self.channels.guest(D).unwrap();
        core::array::from_fn(|v| guest.upcall_pending(v as u16))
    }

    /// A port is masked while it is disabled or handled.
    fn masked(&self, p: usize) -> bool {
        self.ports[p].disabled || self.doing.contains(&Doing::Handling(p))
    }

    fn send(&mut self, p: usize) {
        let before = self.pending();
        let sent = self.channels.send(SENDER, Port(NUMBERS[p])).unwrap();
        let sent = sent.unwrap();
        let after = self.pending();
        let masked = self.masked(p);
        match sent.raised {
            Raised::Coalesced => assert!(self.ports[p].owed, "{p}: coalesced with nothing"),
            Raised::Masked => assert!(masked, "{p}: called masked"),
            Raised::Latched | Raised::Kick => assert!(!masked, "{p}: masked, and delivered"),
        }
        if matches!(self.abi, Abi::TwoLevel { .. }) {
            assert_eq!(sent.raised == Raised::Coalesced, self.ports[p].owed, "{p}");
        }
        // A kick is exactly an upcall that was not due and is.
        let new = (0..VCPUS as usize).filter(|&v| after[v] && !before[v]);
        let kicked = (sent.raised == Raised::Kick).then_some(sent.to.index as usize);
        assert_eq!(new.collect::<Vec<_>>(), Vec::from_iter(kicked));
        self.ports[p].owed = true;
    }

    fn upcall(&mut self, vcpu: u16) {
        let outer = self.doing[vcpu as usize] == Doing::Nothing;
        let guest = self.channels.guest(D).unwrap();
        if guest.upcall_due(vcpu) {
            assert_eq!(guest.begin_upcall(vcpu), outer);
            if outer {
                self.doing[vcpu as usize] = Doing::Looking;
            }
        }
    }

    fn step(&mut self, vcpu: u16) {
        match self.doing[vcpu as usize] {
            Doing::Nothing => self.upcall(vcpu),
            Doing::Looking => match self.channels.guest(D).unwrap().next_port(vcpu) {
                Some(port) => self.enter(vcpu, port),
                None => {
                    if !self.channels.guest(D).unwrap().end_upcall(vcpu) {
                        self.doing[vcpu as usize] = Doing::Nothing;
                    }
                }
            },
            Doing::Handling(p) => {
                self.doing[vcpu as usize] = Doing::Looking;
                self.unmask(p, vcpu);
            }
        }
    }

    fn enter(&mut self, vcpu: u16, port: Port) {
        let p = NUMBERS.iter().position(|&n| n == port.0);
        let p = p.unwrap_or_else(|| panic!("{port} was never sent to"));
        let looks_once = matches!(
            self.abi,
            Abi::TwoLevel {
                scan: ScanForm::Resume | ScanForm::ResumeMainline,
                ..
            }
        );
        // A scan that looks once may come to a port that was disabled, moved or served meanwhile.
        // The kernel does not run its handler then, or finds it running elsewhere.
        if self.masked(p) {
            assert!(looks_once, "{port}: served while masked");
            return;
        }
        assert!(looks_once || self.ports[p].owed, "{port}: nobody sent");
        self.ports[p].owed = false;
        self.channels.guest(D).unwrap().enter(port);
        self.doing[vcpu as usize] = Doing::Handling(p);
    }

    fn unmask(&mut self, p: usize, vcpu: u16) {
        if !self.masked(p) {
            let before = self.pending();
            let guest = self.channels.guest(D).unwrap();
            let unmasked = guest.unmask(Port(NUMBERS[p]), vcpu);
            let after = self.pending();
            let of = unmasked.vcpu as usize;
            assert_eq!(unmasked.upcall, after[of] && !before[of]);
            assert!(after[1 - of] == before[1 - of]);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send(p) => self.send(p),
            Action::Disable(p) => {
                self.ports[p].disabled = true;
                self.channels.guest(D).unwrap().mask(Port(NUMBERS[p]));
            }
            Action::Enable(p, vcpu) => {
                self.ports[p].disabled = false;
                self.unmask(p, vcpu);
            }
            Action::Move(p, index) => {
                let to = VcpuName { domain: D, index };
                let _ = self
                    .channels
                    .rebind(to, Port(NUMBERS[p]), 1 - index)
                    .unwrap();
            }
            Action::Priority(p, number) => {
                let priority = FifoPriority::new(number).unwrap();
                let port = Port(NUMBERS[p]);
                self.channels.set_priority(D, port, priority).unwrap();
            }
            Action::Step(vcpu) => self.step(vcpu),
            Action::Upcall(vcpu) => self.upcall(vcpu),
        }
    }

    /// While no vcpu is in an upcall, a port that is owed a handler has an upcall due: its vcpu
    /// would not block now, and is woken if it has.
    fn nobody_sleeps_on_an_event(&mut self) {
        if self.doing != [Doing::Nothing; VCPUS as usize] {
            return;
        }
        let due = self.pending().contains(&true);
        for (expected, number) in self.ports.iter().zip(NUMBERS) {
            let waits = expected.owed && !expected.disabled;
            assert!(due || !waits, "port {number}");
        }
    }

    /// Enables everything and lets both vcpus run until nothing is due.
    fn settle(&mut self) {
        for p in 0..PORTS {
            self.act(Action::Enable(p, 0));
        }
        for _ in 0..2000 {
            if self.doing == [Doing::Nothing; VCPUS as usize] && self.pending() == [false; 2] {
                for (expected, number) in self.ports.iter().zip(NUMBERS) {
                    assert!(!expected.owed, "port {number} was lost");
                    let guest = self.channels.guest(D).unwrap();
                    assert!(!guest.is_pending(Port(number)));
                    assert!(!guest.is_masked(Port(number)));
                }
                return;
            }
            self.step(0);
            self.step(1);
        }
        panic!("the vcpus never come to rest");
    }
}

fn run(abi: Abi, actions: &[Action]) {
    let mut world = World::new(abi);
    for &action in actions {
        world.act(action);
        world.nobody_sleeps_on_an_event();
    }
    world.settle();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bitmaps_lose_nothing(
        actions in prop::collection::vec(action(), 0..120),
        scan in prop::sample::select(ScanForm::ALL.to_vec()),
        wide in any::<bool>(),
    ) {
        let width = if wide { Width::Bits64 } else { Width::Bits32 };
        run(Abi::TwoLevel { width, scan }, &actions);
    }

    #[test]
    fn queues_lose_nothing(actions in prop::collection::vec(action(), 0..120)) {
        run(Abi::Fifo, &actions);
    }
}
