//! `hypervisor` of `[host]`: what only Xen has, and what only KVM has.

use super::host::HostKeys;
use super::kvm::Kind;
use crate::check::{Cx, Fields};
use domio_contract::Policy;
use domio_core::keys::{Code, Mistake, Nested, Slot, Span, quote};

/// Reports what the hypervisor of the host does not have. Returns whether that is KVM.
pub(super) fn fits(
    cx: &mut Cx<'_>,
    (host, keys): (&Fields, &HostKeys),
    policy: Option<&Policy>,
    (top, [scheduler, pool, controller]): (&Fields, [&Slot<Nested>; 3]),
) -> bool {
    if keys.hypervisor.get() != Some(Kind::Kvm) {
        if keys.kvm.given {
            let place = (host.path_of(&keys.kvm), host.span(&keys.kvm));
            refuse(
                cx,
                place,
                "parameters of KVM, on a host with Xen",
                "`hypervisor = \"kvm\"` beside it",
                "add that, or take [host.kvm] out",
            );
        }
        return false;
    }
    let given = |slot: &Slot<_>| (slot.given, host.path_of(slot), host.span(slot));
    let of_xen = [
        given(&keys.xen),
        (
            keys.sched_gran.given,
            host.path_of(&keys.sched_gran),
            host.span(&keys.sched_gran),
        ),
    ];
    for (given, path, span) in of_xen {
        if given {
            refuse(
                cx,
                (path, span),
                "a key of Xen, on a host with KVM",
                "keys that both have, or `hypervisor = \"xen\"`",
                "take it out; the release of Linux is the policy's: `release` of [scheduler]",
            );
        }
    }
    let tables = [
        (
            pool,
            "cpupools are Xen's",
            "pin guests and threads instead: `pin`",
        ),
        (
            controller,
            "controllers run in `Domain-0`, which a host with KVM does not have",
            "take it out, or change settings with [[action]]",
        ),
    ];
    for (slot, what, hint) in tables {
        if slot.given {
            let place = (top.path_of(slot), top.span(slot));
            refuse(cx, place, what, "none on a host with KVM", hint);
        }
    }
    if let Some(policy) = policy.filter(|policy| policy.releases.is_some()) {
        let name = policy.descriptor.name;
        let says = format!("{name} is a scheduler of Xen, and KVM uses that of Linux");
        if cx.swapped {
            cx.notices
                .push(format!("{says}: it decides about threads here"));
        } else {
            let place = ("scheduler.policy".to_owned(), top.span(scheduler));
            refuse(
                cx,
                place,
                &says,
                "`cfs` (Linux 6.1) or `eevdf` (since 6.6)",
                "take one of them",
            );
        }
    }
    true
}

fn refuse(cx: &mut Cx<'_>, (path, span): (String, Span), what: &str, expected: &str, hint: &str) {
    let found = quote(cx.text(span));
    cx.push(
        Mistake::new(Code::Conflict, span, what)
            .key(path)
            .found(found)
            .expected(expected)
            .hint(hint),
    );
}
