//! On whose behalf driver domains work.
//!
//! Each piece of work names its [`Owner`]. The kernel adds the time that was executed to the
//! owner's account, also when the piece was interrupted in the middle. When the vcpu leaves its
//! pcpu, the host writes the sums to the trace
//! ([`Kind::DriverWork`](domio_core::Kind::DriverWork)). The way to a driver's handler (the upcall
//! and the kernel's part of the interrupt) belongs to the owner of the handler's first piece.

use alloc::vec::Vec;
use domio_core::{DomainId, Duration};

/// Whom a piece of work is done for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Owner {
    /// Nobody else: the domain's own work.
    #[default]
    Nobody,
    /// A domain.
    Domain(DomainId),
    /// Several domains, in proportion to the [shares](super::KernelIo::share) that the driver named
    /// before.
    Shared,
}

/// A domain's share of a piece of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkShare {
    /// Whose share.
    pub domain: DomainId,
    /// How large, against the other shares of the piece.
    pub weight: u64,
}

/// What a vcpu has executed for others since the sums were last taken out.
#[derive(Clone, Debug, Default)]
pub struct WorkServed {
    /// By domain id.
    time: Vec<Duration>,
    /// Domains whose time is not zero, in the order in which their time began.
    touched: Vec<DomainId>,
}

impl WorkServed {
    /// `time` was executed for `domain`.
    #[inline]
    pub fn add(&mut self, domain: DomainId, time: Duration) {
        match self.time.get_mut(domain.index()) {
            Some(sum) if !sum.is_zero() => *sum += time,
            _ => self.begin(domain, time),
        }
    }

    /// The first `time` that was executed for `domain`. It is apart so that what comes after costs
    /// no call.
    #[inline(never)]
    fn begin(&mut self, domain: DomainId, time: Duration) {
        if time.is_zero() {
            return;
        }
        if self.time.len() <= domain.index() {
            self.time.resize(domain.index() + 1, Duration::ZERO);
        }
        self.touched.push(domain);
        self.time[domain.index()] = time;
    }

    /// `time` was executed for several domains, each of which gets its part. What rounding leaves
    /// goes to the last domain, so that no nanosecond is lost.
    pub fn add_shared(&mut self, shares: &[WorkShare], time: Duration) {
        let total: u64 = shares.iter().map(|share| share.weight).sum();
        if total == 0 {
            return;
        }
        let time = time.as_nanos();
        let (mut weight, mut given) = (0, 0);
        for share in shares {
            weight += share.weight;
            let until = part_of(time, weight, total);
            let part = until - given;
            given = until;
            self.add(share.domain, Duration::from_nanos(part));
        }
    }

    /// Whether nothing was executed for others.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// Takes everything out, as domain and time.
    pub fn drain(&mut self) -> impl Iterator<Item = (DomainId, Duration)> + '_ {
        let WorkServed { time, touched } = self;
        touched
            .drain(..)
            .map(|domain| (domain, core::mem::take(&mut time[domain.index()])))
    }
}

/// `time * weight / total`, rounded down, where `weight` is at most `total`. A piece of work takes
/// microseconds, so the product fits its type nearly always; a division of 128 bits is a call.
#[inline]
fn part_of(time: u64, weight: u64, total: u64) -> u64 {
    match time.checked_mul(weight) {
        Some(product) => product / total,
        None => (u128::from(time) * u128::from(weight) / u128::from(total)) as u64,
    }
}
