//! `hypervisor` and `[host.kvm]`: what runs the guests, and how vcpus of KVM poll.

use crate::check::{self, Cx, Fields};
use domio_contract::Policy;
use domio_core::Duration;
use domio_core::keys::{KeySection, Keys, Need, Nested, Slot, WordOf, int};
use domio_vmm::config::HaltPolling;

/// What runs the guests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Xen,
    Kvm,
}

pub(super) static KINDS: [WordOf<Kind>; 2] = [
    WordOf::new(
        "xen",
        Kind::Xen,
        "Xen: domains, with drivers in `Domain-0` or other domains.",
    ),
    WordOf::new(
        "kvm",
        Kind::Kvm,
        "KVM: vcpus are threads of Linux, beside other threads of the guests (`[[domain.thread]]`) \
         and of the kernel (`[[kthread]]`).",
    ),
];

pub(crate) static KVM: KeySection = KeySection::plain(
    "[host.kvm]",
    "Parameters of the kernel's module kvm. The thread of a vcpu that halts polls for a while \
     before it sleeps, as long as no other thread of its pcpu is runnable.",
    KvmKeys::KEYS,
);

keys! {
    struct KvmKeys {
        halt_poll_ns: u64 = int(0, 1_000_000_000), Need::Int(200_000),
            "The longest time that a vcpu polls, in nanoseconds; 0: vcpus do not poll.";
        halt_poll_ns_grow: u32 = int(0, 1_000), Need::Int(2),
            "By what a time that was too short is multiplied.";
        halt_poll_ns_grow_start: u64 = int(0, 1_000_000_000), Need::Int(10_000),
            "Where the time begins to grow, in nanoseconds.";
        halt_poll_ns_shrink: u32 = int(0, 1_000),
            Need::Optional("2, as since Linux 6.12; 0 under `cfs`, as in Linux 6.1"),
            "By what the time is divided after a halt longer than `halt_poll_ns`; 0: it begins \
             anew.";
    }
}

/// How vcpus of `host`, which runs KVM under `policy`, poll by the table at `slot`.
pub(super) fn halt_polling(
    cx: &mut Cx<'_>,
    host: &Fields,
    slot: &Slot<Nested>,
    policy: Option<&Policy>,
) -> Option<HaltPolling> {
    let kvm: KvmKeys = check::inner(cx, host, slot, &KVM).read();
    let old = policy.is_some_and(|policy| policy.descriptor.name == "cfs");
    Some(HaltPolling {
        max: Duration::from_nanos(kvm.halt_poll_ns.get()?),
        grow: kvm.halt_poll_ns_grow.get()?,
        grow_start: Duration::from_nanos(kvm.halt_poll_ns_grow_start.get()?),
        shrink: kvm.halt_poll_ns_shrink.or(if old { 0 } else { 2 })?,
    })
}
