//! Ids of pcpus, vcpus and domains.
//!
//! A domain is always a virtual machine (Xen's word), never a group of processors. A vcpu has two
//! names: [`VcpuId`] is its dense index in the tables of one host, which is what policies use;
//! [`VcpuName`] is what a person and a trace call it (domain id and index inside the domain).

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// A physical processor (a hardware thread), numbered densely from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PcpuId(pub u16);

/// A domain: Xen's domid. Domain 0 is the control domain.
///
/// Ids of one host are small and nearly dense, so that tables may be indexed by them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DomainId(pub u16);

/// A vcpu of one host, numbered densely from 0 in the order of creation; never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct VcpuId(pub u32);

/// A vcpu as traces name it: domain id and index inside the domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(C)]
pub struct VcpuName {
    /// Domain that the vcpu belongs to.
    pub domain: DomainId,
    /// Index inside the domain, from 0.
    pub index: u16,
}

impl DomainId {
    /// Domain 0: the control and driver domain.
    pub const DOM0: DomainId = DomainId(0);
    /// The idle domain, whose vcpu `n` runs on pcpu `n` when nothing else does
    /// (Xen's `DOMID_IDLE`).
    pub const IDLE: DomainId = DomainId(32767);

    /// The id as an index into a dense table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl PcpuId {
    /// The id as an index into a dense table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl VcpuId {
    /// The id as an index into a dense table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl VcpuName {
    /// Name of vcpu `index` of `domain`.
    #[inline]
    pub const fn new(domain: DomainId, index: u16) -> Self {
        VcpuName { domain, index }
    }

    /// Name of the idle vcpu of `pcpu`.
    #[inline]
    pub const fn idle(pcpu: PcpuId) -> Self {
        VcpuName {
            domain: DomainId::IDLE,
            index: pcpu.0,
        }
    }

    /// Whether this is some pcpu's idle vcpu.
    #[inline]
    pub const fn is_idle(self) -> bool {
        self.domain.0 == DomainId::IDLE.0
    }

    /// Xen's trace word: `domain << 16 | vcpu`.
    #[inline]
    pub const fn word(self) -> u32 {
        (self.domain.0 as u32) << 16 | self.index as u32
    }

    /// Inverse of [`VcpuName::word`].
    #[inline]
    pub const fn from_word(word: u32) -> Self {
        VcpuName {
            domain: DomainId((word >> 16) as u16),
            index: word as u16,
        }
    }
}

impl DomainId {
    /// What a reader sees: the name that a source says, or else `Domain-0`, which Xen calls the
    /// first domain, and `dom7` as Xen's manuals have it.
    pub fn called(self, told: Option<&str>) -> String {
        match told {
            Some(name) => name.to_owned(),
            None if self == DomainId::IDLE => "idle".to_owned(),
            None if self.0 == 0 => "Domain-0".to_owned(),
            None => format!("dom{}", self.0),
        }
    }
}

impl VcpuName {
    /// What a reader sees: `web.0`, by the name of its domain as in [`DomainId::called`]. The
    /// vcpus of idle pcpus are alike.
    pub fn called(self, told: Option<&str>) -> String {
        let domain = self.domain.called(told);
        match self.is_idle() {
            true => domain,
            false => format!("{domain}.{}", self.index),
        }
    }
}

impl fmt::Display for PcpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

impl fmt::Display for DomainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == DomainId::IDLE {
            f.write_str("idle")
        } else {
            write!(f, "d{}", self.0)
        }
    }
}

impl fmt::Display for VcpuName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}v{}", self.domain, self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_name_survives_the_trace_word() {
        for name in [
            VcpuName::new(DomainId(7), 3),
            VcpuName::idle(PcpuId(255)),
            VcpuName::default(),
        ] {
            assert_eq!(VcpuName::from_word(name.word()), name);
        }
        assert_eq!(VcpuName::new(DomainId(4), 0).word(), 262_144);
    }

    #[test]
    fn names_read_as_in_xen_traces() {
        assert_eq!(VcpuName::new(DomainId(2), 1).to_string(), "d2v1");
        assert_eq!(VcpuName::idle(PcpuId(5)).to_string(), "idlev5");
    }
}
