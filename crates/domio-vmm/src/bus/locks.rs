//! Spin locks of a kernel with several vcpus: sections of its code that one vcpu at a time may be
//! in.
//!
//! Driver code says how much of a piece of work is such a section
//! ([`KernelIo::under`](super::KernelIo::under)). A vcpu that comes to a section which another
//! vcpu is in executes without getting anything done until the lock is free: it spins. That a vcpu
//! which is preempted in a section has the others spin for as long as it does not execute needs no
//! rule of its own.
//!
//! The locks are those of Linux before 2.6.25: whoever looks first when the lock is free has it,
//! and nobody stands in line. A vcpu may enter a section that it is in already. Where it does so,
//! an interrupt has come to a section that Linux enters with interrupts off.
//!
//! A domain with one vcpu has no locks: Linux compiles them away.

use alloc::vec::Vec;
use domio_core::{DomainId, Duration, VcpuName};

/// A lock of a kernel, made with [`Attach::lock`](super::Attach::lock).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelLock(u32);

/// A section at the end of a piece of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Section {
    pub lock: KernelLock,
    /// How long the section takes, at most the whole piece.
    pub time: Duration,
}

/// A lock.
#[derive(Clone, Copy, Default)]
struct Lock {
    /// Who is in the section.
    holder: Option<VcpuName>,
    /// How many times it has entered and not left.
    depth: u32,
    /// Who was in it last: the lock's cache line is there.
    last: Option<VcpuName>,
    /// Whether anybody spins.
    awaited: bool,
}

/// What comes of an attempt to enter a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockEntry {
    /// The section is entered.
    Taken,
    /// The same, and another vcpu was in it last: the lock's cache line has to come from there.
    TakenFrom,
    /// Another vcpu is in it.
    Spins,
}

/// All locks of all kernels.
#[derive(Default)]
pub struct Locks(Vec<Lock>);

impl Locks {
    /// Another lock, which is free.
    pub fn add(&mut self) -> KernelLock {
        self.0.push(Lock::default());
        KernelLock(self.0.len() as u32 - 1)
    }

    /// `vcpu` tries to enter the section of `lock`.
    pub fn enter(&mut self, lock: KernelLock, vcpu: VcpuName) -> LockEntry {
        let lock = &mut self.0[lock.0 as usize];
        match lock.holder {
            Some(holder) if holder != vcpu => {
                lock.awaited = true;
                LockEntry::Spins
            }
            _ => {
                lock.holder = Some(vcpu);
                lock.depth += 1;
                match lock.last.replace(vcpu) {
                    Some(last) if last != vcpu => LockEntry::TakenFrom,
                    _ => LockEntry::Taken,
                }
            }
        }
    }

    /// The section is left. Whether somebody spins who may enter now.
    pub fn leave(&mut self, lock: KernelLock) -> bool {
        let lock = &mut self.0[lock.0 as usize];
        // The holder is none where its domain was destroyed and is being taken apart.
        lock.depth = lock.depth.saturating_sub(1);
        if lock.depth > 0 {
            return false;
        }
        lock.holder = None;
        core::mem::take(&mut lock.awaited)
    }

    /// `domain` is gone, and with it whoever was in a section.
    pub fn forget(&mut self, domain: DomainId) {
        for lock in &mut self.0 {
            if lock.last.is_some_and(|vcpu| vcpu.domain == domain) {
                *lock = Lock::default();
            }
        }
    }
}
