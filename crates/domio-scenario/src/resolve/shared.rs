//! What readers of several tables need: the policy, parameters that do not go together, and the way
//! of a device's own reader to the problems.

use crate::check::{Cx, Fields};
use crate::value::Entry;
use domio_contract::{Conflict, Policy};
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake, quote};
use domio_core::{Duration, ParamValues};
use domio_vmm::config::HostSoftirqs;

/// What to say of a vcpu that a domain has not.
pub(super) const VCPUS_FROM_0: &str =
    "vcpus are counted from 0; `vcpus` of the domain says how many there are";

/// A key of one member of a group of domains, set by an override.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MemberKey {
    /// Name of the member (`g3`).
    pub member: String,
    pub entry: Entry,
}

/// The policy with the values of its parameters.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    pub policy: &'a Policy,
    pub params: &'a ParamValues,
    /// Index of its pool, 0 for Pool-0.
    pub pool: usize,
}

/// Ticks a second of a kernel whose policy has no key `hz`: the default of Linux (`CONFIG_HZ_250`
/// in `kernel/Kconfig.hz`), and of the policies that have the key.
const HZ: u64 = 250;

impl Chosen<'_> {
    /// How softirqs make way on a host with KVM and this policy. The kernel's tick is that of its
    /// `hz`; the rules are those of Linux 6.1 where that is the `release` of the policy, and those
    /// of 6.12 under another release and under a policy without releases.
    pub fn softirqs(&self) -> HostSoftirqs {
        let hz: Option<u64> = self.params.word("hz").and_then(|word| word.parse().ok());
        let hz = hz.unwrap_or(HZ).max(1);
        HostSoftirqs {
            tick: Duration::from_nanos((1_000_000_000 + hz / 2) / hz),
            left_to_thread: self.params.word("release") == Some("6.1"),
        }
    }
}

/// Where each parameter was given.
pub(super) type GivenParams = Vec<(&'static str, Span)>;

pub(super) fn given(fields: &Fields) -> GivenParams {
    fields
        .params
        .iter()
        .map(|g| (g.spec.name, g.span))
        .collect()
}

/// Reports parameters of the table at `path` that do not go together. The one to change is blamed
/// if it was given, else the one that it clashes with.
pub(super) fn tell(
    cx: &mut Cx<'_>,
    conflict: Conflict,
    given: &GivenParams,
    header: Span,
    path: &str,
) {
    let place = |name: &str| given.iter().find(|(n, _)| *n == name);
    let blamed = place(conflict.param).or_else(|| place(conflict.with));
    let (name, span) = blamed.copied().unwrap_or((conflict.param, header));
    cx.push(
        Mistake::new(Code::Conflict, span, conflict.problem)
            .key(format!("{path}.{name}"))
            .found(quote(cx.text(span)))
            .expected(conflict.expected)
            .hint(conflict.hint),
    );
}
