//! Whom the host calls for an interrupt, a softirq, a tasklet, a timer.

use crate::evtchn::port::Port;
use alloc::vec::Vec;
use domio_core::DomainId;

/// A number that a device model has chosen for something that the model asked for on the bus.
pub type Token = u32;

/// What tokens of one kind of call are of, where a model has several of each sort: an enum for
/// ports,
/// one for work items and so on, so that the match of each call leaves none out. The higher half of
/// a token says the sort, the lower half the number.
pub trait TokenKind: Copy + PartialEq + 'static {
    /// Every sort, once.
    const ALL: &'static [Self];

    /// The token of number `number`.
    ///
    /// # Panics
    /// When [`TokenKind::ALL`] lacks the sort.
    #[track_caller]
    fn token(self, number: u16) -> Token {
        let kind = Self::ALL.iter().position(|kind| *kind == self);
        let kind = kind.expect("every sort is in the list") as Token;
        kind << u16::BITS | Token::from(number)
    }

    /// What `token` is of, and the number.
    fn of(token: Token) -> (Self, u16) {
        (Self::ALL[(token >> u16::BITS) as usize], token as u16)
    }
}

/// A device model, and its token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusLine {
    /// Index of the model on the bus.
    pub device: u16,
    /// What the model has chosen.
    pub token: Token,
}

/// A softirq of Linux 2.6.18, by number: lower ones run first (`linux/interrupt.h`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Softirq {
    /// Expired timers. The kernel's own; models get [`KernelTimer`]s.
    Timer = 1,
    /// Packets to send that waited.
    NetTx = 2,
    /// Devices to poll.
    NetRx = 3,
    /// Completed requests.
    Block = 4,
    /// Tasklets. The kernel's own; models get [`Tasklet`]s.
    Tasklet = 5,
}

/// One action of a softirq. Lines of the same softirq run in the order in which they were made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SoftirqLine(u32);

impl SoftirqLine {
    const INDEX_BITS: u32 = 24;

    /// The kernel's own action of [`Softirq::Timer`].
    pub const TIMER: SoftirqLine = SoftirqLine::of(Softirq::Timer, 0);
    /// The kernel's own action of [`Softirq::Tasklet`].
    pub const TASKLET: SoftirqLine = SoftirqLine::of(Softirq::Tasklet, 0);

    pub(crate) const fn of(softirq: Softirq, index: u32) -> Self {
        assert!(index < 1 << Self::INDEX_BITS);
        SoftirqLine((softirq as u32) << Self::INDEX_BITS | index)
    }

    /// Index among the lines of all models.
    fn index(self) -> usize {
        (self.0 & ((1 << Self::INDEX_BITS) - 1)) as usize
    }
}

/// A tasklet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tasklet(pub(super) u32);

/// A piece of work for a thread of the kernel (Linux: `work_struct`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkItem(pub(super) u32);

/// A timer of a kernel, set on one vcpu at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelTimer(pub(super) u32);

/// Every line of every model.
#[derive(Default)]
pub struct BusLines {
    timers: Vec<BusLine>,
    softirqs: Vec<BusLine>,
    tasklets: Vec<BusLine>,
    work: Vec<BusLine>,
    kernel_timers: Vec<BusLine>,
    /// By domain id and port.
    ports: Vec<Vec<Option<BusLine>>>,
    /// Physical interrupts given out.
    pirqs: u16,
}

/// Adds `line`, and gives its number.
fn add(lines: &mut Vec<BusLine>, line: BusLine) -> u32 {
    lines.push(line);
    lines.len() as u32 - 1
}

impl BusLines {
    /// The first physical interrupt that no device of a PC's board has.
    const FIRST_PIRQ: u16 = 16;

    /// The number of another timer of a model's own.
    pub fn add_timer(&mut self, line: BusLine) -> u32 {
        add(&mut self.timers, line)
    }

    /// Another action of `softirq`.
    pub fn add_softirq(&mut self, softirq: Softirq, line: BusLine) -> SoftirqLine {
        SoftirqLine::of(softirq, add(&mut self.softirqs, line))
    }

    /// Another tasklet.
    pub fn add_tasklet(&mut self, line: BusLine) -> Tasklet {
        Tasklet(add(&mut self.tasklets, line))
    }

    /// Another piece of work for a thread.
    pub fn add_work(&mut self, line: BusLine) -> WorkItem {
        WorkItem(add(&mut self.work, line))
    }

    /// Another timer of a kernel.
    pub fn add_kernel_timer(&mut self, line: BusLine) -> KernelTimer {
        KernelTimer(add(&mut self.kernel_timers, line))
    }

    /// Another physical interrupt.
    pub fn add_pirq(&mut self) -> u16 {
        self.pirqs += 1;
        Self::FIRST_PIRQ + self.pirqs - 1
    }

    /// Whose timer has this number.
    #[inline]
    pub fn timer(&self, number: u32) -> BusLine {
        self.timers[number as usize]
    }

    /// Whose action it is.
    #[inline]
    pub fn softirq(&self, line: SoftirqLine) -> BusLine {
        self.softirqs[line.index()]
    }

    /// Whose tasklet it is.
    #[inline]
    pub fn tasklet(&self, tasklet: Tasklet) -> BusLine {
        self.tasklets[tasklet.0 as usize]
    }

    /// Whose work it is.
    #[inline]
    pub fn work(&self, item: WorkItem) -> BusLine {
        self.work[item.0 as usize]
    }

    /// Whose kernel timer it is.
    #[inline]
    pub fn kernel_timer(&self, timer: KernelTimer) -> BusLine {
        self.kernel_timers[timer.0 as usize]
    }

    /// The model whose handler `port` of `domain` has; none for ports of the kernel itself.
    #[inline]
    pub fn port(&self, domain: DomainId, port: Port) -> Option<BusLine> {
        *self.ports.get(domain.index())?.get(port.index())?
    }

    /// Gives `port` of `domain` a handler, or takes it away.
    pub fn set_port(&mut self, domain: DomainId, port: Port, line: Option<BusLine>) {
        if self.ports.len() <= domain.index() {
            self.ports.resize(domain.index() + 1, Vec::new());
        }
        let ports = &mut self.ports[domain.index()];
        if ports.len() <= port.index() {
            ports.resize(port.index() + 1, None);
        }
        ports[port.index()] = line;
    }

    /// No port of `domain` has a handler any more.
    pub fn forget(&mut self, domain: DomainId) {
        if let Some(ports) = self.ports.get_mut(domain.index()) {
            ports.clear();
        }
    }
}
