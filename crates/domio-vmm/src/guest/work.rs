//! A piece of work of a kernel: what is left of it, for whom it is done, and the section at its end
//! that one vcpu at a time may be in.

use super::pending::Pending;
use crate::bus::device::Progress;
use crate::bus::locks::{KernelLock, LockEntry, Section};
use crate::bus::owner::{Owner, WorkServed, WorkShare};
use crate::bus::wires::{Far, Wires};
use alloc::vec::Vec;
use domio_core::{Duration, VcpuName};

/// How far a piece of work is with its section.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum At {
    /// There is none.
    #[default]
    Free,
    /// It is to come.
    Before(Section),
    /// The work has come to it, and another vcpu is in it.
    Spins(Section),
    /// The work is in it.
    Within(KernelLock),
}

/// A piece of work under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub left: Duration,
    pub owner: Owner,
    shares: Vec<WorkShare>,
    at: At,
}

impl Work {
    /// Takes note of what was answered; whether it is to be executed.
    #[inline]
    pub fn goes_on(&mut self, progress: Progress, pending: &mut Pending) -> bool {
        match progress {
            Progress::Run(time, owner) => {
                self.left = time;
                self.owner = owner;
                if owner == Owner::Shared {
                    pending.take_shares(&mut self.shares);
                }
                if let Some(section) = pending.take_section() {
                    self.at = At::Before(section);
                }
                true
            }
            Progress::Done => {
                self.left = Duration::ZERO;
                self.owner = Owner::Nobody;
                false
            }
        }
    }

    /// How long the kernel on `vcpu` executes before it has to look again: [`Duration::MAX`] while
    /// it spins, zero when the piece is done.
    #[inline]
    pub fn leg(&mut self, vcpu: VcpuName, wires: &mut Wires, line: Duration) -> Duration {
        match self.at {
            At::Free => self.left,
            _ => self.leg_with_section(vcpu, wires, line),
        }
    }

    #[inline(never)]
    fn leg_with_section(&mut self, vcpu: VcpuName, wires: &mut Wires, line: Duration) -> Duration {
        match self.at {
            At::Before(section) if self.left > section.time => return self.left - section.time,
            At::Before(section) | At::Spins(section) => {
                match wires.locks.enter(section.lock, vcpu) {
                    LockEntry::Spins => {
                        self.at = At::Spins(section);
                        return Duration::MAX;
                    }
                    LockEntry::TakenFrom => self.left += line,
                    LockEntry::Taken => {}
                }
                self.at = At::Within(section.lock);
            }
            At::Within(_) | At::Free => {}
        }
        if self.left.is_zero()
            && let At::Within(lock) = core::mem::take(&mut self.at)
        {
            leave(lock, vcpu, wires);
        }
        self.left
    }

    /// Whether the piece spins for `lock`.
    #[inline]
    pub fn spins_for(&self, lock: KernelLock) -> bool {
        matches!(self.at, At::Spins(section) if section.lock == lock)
    }

    /// The kernel has executed it for `time`, at most what the last leg was.
    #[inline]
    pub fn executed(&mut self, time: Duration) {
        if !matches!(self.at, At::Spins(_)) {
            self.left -= time;
        }
    }

    /// Some of it was executed, and is to be told.
    #[inline]
    pub fn charge(&self, time: Duration, served: &mut WorkServed) {
        match self.owner {
            Owner::Nobody => {}
            Owner::Domain(domain) => served.add(domain, time),
            Owner::Shared => served.add_shared(&self.shares, time),
        }
    }
}

/// The kernel on `vcpu` leaves the section of `lock`. Whoever spins for it is to look again.
pub(crate) fn leave(lock: KernelLock, vcpu: VcpuName, wires: &mut Wires) {
    if wires.locks.leave(lock) {
        let domain = vcpu.domain;
        wires.far.push(Far::Unlocked { domain, lock });
    }
}
