//! Private tables: what the policy keeps for each vcpu, pcpu and domain.
//!
//! Times are nanoseconds. Virtual times have 32 bits, as in Xen, and no unit: 100 us of execution
//! cost [`Setting::mcu_advance`] of them.

use super::params::Setting;
use alloc::vec::Vec;
use domio_core::{PcpuId, VcpuId};

/// Flags of a vcpu, as bits of [`Vcpu::flags`].
pub(super) mod flag {
    /// Exists. Set by `insert`, cleared by `remove`.
    pub const PRESENT: u8 = 1;
    /// Belongs to a pcpu. Set by the first `pick_pcpu`, cleared by `remove`.
    pub const PLACED: u8 = 2;
    /// Is in the list of its pcpu: it waits there or is current.
    pub const QUEUED: u8 = 4;
    /// Came to another pcpu. Set by `pick_pcpu`, cleared by the wake-up that follows.
    pub const MIGRATED: u8 = 8;
}

/// What the policy keeps for a vcpu.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vcpu {
    pub domain: u16,
    /// The pcpu that it belongs to.
    pub pcpu: u16,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Actual virtual time: what it has executed. The current vcpu has yet to be charged.
    pub avt: u32,
    /// Effective virtual time: what it is picked by, the least first.
    pub evt: u32,
}

impl Vcpu {
    pub const ABSENT: Vcpu = Vcpu {
        domain: 0,
        pcpu: 0,
        flags: 0,
        avt: 0,
        evt: 0,
    };

    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub fn set(&mut self, flag: u8) {
        self.flags |= flag;
    }

    #[inline]
    pub fn clear(&mut self, flag: u8) {
        self.flags &= !flag;
    }
}

/// What the policy keeps for a pcpu.
#[derive(Clone, Debug, Default)]
pub(super) struct Pcpu {
    /// Its runnable vcpus, the current one among them, in no order of time.
    pub list: Vec<VcpuId>,
    /// System virtual time: the least actual virtual time that the last pass saw.
    pub svt: u32,
    /// The last pass (Xen's `lastschd`).
    pub passed: i64,
    /// The pass that switched the current vcpu in.
    pub entered: i64,
    /// When the next pass is due: the end of the slice, or what a wake-up made of it.
    pub expires: i64,
    /// Whether a wake-up has brought that forward, so that [`super::FORWARD`] is set.
    pub forward: bool,
    /// What [`super::WARP`] is set to.
    pub warp_timer: Option<i64>,
}

/// What the policy keeps for a domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Domain {
    /// What the operator wants.
    pub setting: Setting,
    /// Whether it warps at all. The operator's will, until a warp that may not come back ends.
    pub warpback: bool,
    /// Whether it warps now.
    pub warp: bool,
    /// The pcpu on which its two timers expire: that of its first vcpu when that was placed.
    pub home: Option<PcpuId>,
    /// When its warp timer expires.
    pub unwarps: Option<i64>,
    /// When its unwarp timer expires.
    pub rewarps: Option<i64>,
    /// How many vcpus it has.
    pub vcpus: u32,
}

impl Domain {
    pub fn unknown() -> Domain {
        let setting = Setting::unknown();
        Domain {
            setting,
            warpback: setting.warpback,
            warp: setting.warpback,
            home: None,
            unwarps: None,
            rewarps: None,
            vcpus: 0,
        }
    }

    /// The effective virtual time of a vcpu with this actual one.
    #[inline]
    pub fn effective(&self, avt: u32) -> u32 {
        match self.warp {
            true => avt.wrapping_sub(self.setting.warp_value),
            false => avt,
        }
    }

    /// When the first of its timers expires.
    pub fn first_timer(&self) -> Option<i64> {
        match (self.unwarps, self.rewarps) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
