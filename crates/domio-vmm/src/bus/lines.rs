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
pub(crate) struct Line {
    /// Index of the model on the bus.
    pub device: u16,
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

    pub(crate) const TIMER: SoftirqLine = SoftirqLine::of(Softirq::Timer, 0);
    pub(crate) const TASKLET: SoftirqLine = SoftirqLine::of(Softirq::Tasklet, 0);

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
pub(crate) struct Lines {
    timers: Vec<Line>,
    softirqs: Vec<Line>,
    tasklets: Vec<Line>,
    work: Vec<Line>,
    kernel_timers: Vec<Line>,
    /// By domain id and port.
    ports: Vec<Vec<Option<Line>>>,
    /// Physical interrupts given out.
    pirqs: u16,
}

/// Adds `line`, and gives its number.
fn add(lines: &mut Vec<Line>, line: Line) -> u32 {
    lines.push(line);
    lines.len() as u32 - 1
}

impl Lines {
    /// The first physical interrupt that no device of a PC's board has.
    const FIRST_PIRQ: u16 = 16;

    pub fn add_timer(&mut self, line: Line) -> u32 {
        add(&mut self.timers, line)
    }

    pub fn add_softirq(&mut self, softirq: Softirq, line: Line) -> SoftirqLine {
        SoftirqLine::of(softirq, add(&mut self.softirqs, line))
    }

    pub fn add_tasklet(&mut self, line: Line) -> Tasklet {
        Tasklet(add(&mut self.tasklets, line))
    }

    pub fn add_work(&mut self, line: Line) -> WorkItem {
        WorkItem(add(&mut self.work, line))
    }

    pub fn add_kernel_timer(&mut self, line: Line) -> KernelTimer {
        KernelTimer(add(&mut self.kernel_timers, line))
    }

    pub fn add_pirq(&mut self) -> u16 {
        self.pirqs += 1;
        Self::FIRST_PIRQ + self.pirqs - 1
    }

    #[inline]
    pub fn timer(&self, number: u32) -> Line {
        self.timers[number as usize]
    }

    #[inline]
    pub fn softirq(&self, line: SoftirqLine) -> Line {
        self.softirqs[line.index()]
    }

    #[inline]
    pub fn tasklet(&self, tasklet: Tasklet) -> Line {
        self.tasklets[tasklet.0 as usize]
    }

    #[inline]
    pub fn work(&self, item: WorkItem) -> Line {
        self.work[item.0 as usize]
    }

    #[inline]
    pub fn kernel_timer(&self, timer: KernelTimer) -> Line {
        self.kernel_timers[timer.0 as usize]
    }

    /// The model whose handler `port` of `domain` has; none for ports of the kernel itself.
    #[inline]
    pub fn port(&self, domain: DomainId, port: Port) -> Option<Line> {
        *self.ports.get(domain.index())?.get(port.index())?
    }

    /// Gives `port` of `domain` a handler, or takes it away.
    pub fn set_port(&mut self, domain: DomainId, port: Port, line: Option<Line>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_softirq_run_in_the_order_in_which_they_were_made() {
        let mut lines = Lines::default();
        let of = |device, token| Line { device, token };
        let block = lines.add_softirq(Softirq::Block, of(0, 7));
        let first = lines.add_softirq(Softirq::NetRx, of(0, 8));
        let second = lines.add_softirq(Softirq::NetRx, of(1, 8));
        let mut all = [
            block,
            second,
            SoftirqLine::TASKLET,
            first,
            SoftirqLine::TIMER,
        ];
        all.sort_unstable();
        let expected = [
            SoftirqLine::TIMER,
            first,
            second,
            block,
            SoftirqLine::TASKLET,
        ];
        assert_eq!(all, expected);
        assert_eq!(lines.softirq(second), of(1, 8));
        assert_eq!(lines.softirq(block), of(0, 7));
    }

    #[test]
    fn a_port_belongs_to_one_domain() {
        let mut lines = Lines::default();
        let line = Line {
            device: 2,
            token: 9,
        };
        lines.set_port(DomainId(3), Port(5), Some(line));
        assert_eq!(lines.port(DomainId(3), Port(5)), Some(line));
        assert_eq!(lines.port(DomainId(3), Port(4)), None);
        assert_eq!(lines.port(DomainId(2), Port(5)), None);
        assert_eq!(lines.port(DomainId(9), Port(5)), None);
        lines.forget(DomainId(3));
        assert_eq!(lines.port(DomainId(3), Port(5)), None);
    }
}
