//! Limits of a scenario. They keep a mistyped or hostile file from exhausting memory; none is
//! near anything that a host has.

/// Largest file, in bytes.
pub const MAX_BYTES: usize = 16 << 20;

/// Most vcpus of all domains together.
pub const MAX_VCPUS: usize = 4096;

/// Most tasks of all vcpus together.
pub const MAX_TASKS: usize = 65_536;

/// Highest domain id: Xen reserves those from 0x7ff0 on (`DOMID_FIRST_RESERVED`).
pub(crate) const MAX_DOMAIN_ID: i64 = 0x7fef;

/// Most actions, one on a group counting once for each vcpu or domain that it touches.
pub const MAX_ACTIONS: usize = 65_536;
