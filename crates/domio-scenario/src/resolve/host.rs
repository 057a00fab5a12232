//! `[run]` and `[host]`: how long, and on which machine.

use super::kvm::{KINDS, KVM, Kind};
use crate::check::{self, Cx, Fields};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::keys::{Code, Mistake};
use domio_core::keys::{
    KeySection, Keys, Need, Nested, WordOf, Words, int, nested, time, word, word_text,
};
use domio_core::{Duration, Topology, XenVersion};
use domio_vmm::config::KernelCosts;
use domio_vmm::hardware::{HOST_COSTS, HOST_KERNEL, Hardware, host_costs, host_kernel};
use domio_vmm::profile::Profile;

pub(super) static RUN: KeySection = KeySection::plain(
    "[run]",
    "How long the host is simulated. All other times of a scenario count from the start of the \
     simulation, which is where the warm-up begins.",
    RunKeys::KEYS,
);

keys! {
    pub(super) struct RunKeys {
        duration: Duration = time("s", 1), Need::Required,
            "Time that is measured, after the warm-up.";
        warmup: Duration = time("s", 0), Need::TimeNs(0),
            "Time that is simulated before measuring begins.";
    }
}

pub(crate) static HOST: KeySection = KeySection::plain(
    "[host]",
    "The machine and its hypervisor. It has sockets x cores x threads pcpus, 256 at most, numbered \
     thread by thread inside a core and core by core inside a socket.",
    HostKeys::KEYS,
);

keys! {
    pub(super) struct HostKeys {
        profile: String = word_text(Words::Profiles), Need::Word("ideal"),
            "Hardware profile: what the hypervisor's work costs.";
        hypervisor: Kind = word(&KINDS), Need::Word("xen"), "What runs the guests.";
        xen: String = word_text(Words::Releases), Need::Word("4.17"),
            "Release of Xen whose host rules apply (softirq order, timers, trace order); 3.0 is \
             3.0.0 to 3.0.2, and 2.0 is like it. A point release has those of its release. \
             The policy has a version of its own.";
        sockets: u16 = int(1, MAX_PCPUS as i64), Need::Int(1), "Sockets; each is a NUMA node.";
        cores: u16 = int(1, MAX_PCPUS as i64), Need::Int(1), "Cores in each socket.";
        threads: u16 = int(1, MAX_PCPUS as i64), Need::Int(1), "Hardware threads in each core.";
        sibling_percent: u8 = int(50, 100), Need::Optional("the profile's"),
            "How fast a pcpu works while another thread of its core is busy, in percent of its \
             full speed; 100: threads do not slow each other. Of more than two busy threads each \
             adds as much as the second.";
        cache_cores: u16 = int(0, MAX_PCPUS as i64), Need::Optional("the profile's"),
            "How many successive cores of a socket share its last cache; 0: all of them do. A vcpu \
             that moves farther fetches its working set from memory (`socket_refill`).";
        sched_gran: Gran = word(&GRANS), Need::Word("cpu"),
            "What a policy schedules (`sched-gran` of Xen's command line).";
        kvm: Nested = nested(&KVM), Need::Optional("the module's defaults"),
            "Parameters of the module kvm, with `hypervisor = \"kvm\"`.";
        costs: Nested = nested(&HOST_COSTS), Need::Optional("the profile's"),
            "What the hypervisor's work costs.";
        kernel: Nested = nested(&HOST_KERNEL), Need::Optional("the profile's"),
            "What the work of kernels with a network or a disk costs.";
    }
}

/// What a policy schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gran {
    Cpu,
    Core,
}

static GRANS: [WordOf<Gran>; 2] = [
    WordOf::new("cpu", Gran::Cpu, "Vcpus, each on a pcpu."),
    WordOf::new(
        "core",
        Gran::Core,
        "Units, each on a core: as many successive vcpus of a domain as a core has threads. No two \
         domains are on one core at a time. Since Xen 4.13.",
    ),
];

impl HostKeys {
    /// The machine, where it is one without costs and nobody has said so.
    pub fn presumed_free(&self) -> bool {
        let free = self
            .machine()
            .is_some_and(|machine| machine.profile.is_free());
        free && !self.profile.given
    }

    /// The machine, if it is good.
    pub fn machine(&self) -> Option<&'static Hardware> {
        Hardware::by_name(&self.profile.get()?)
    }

    /// The release of Xen, if it is good.
    pub fn version(&self) -> Option<XenVersion> {
        XenVersion::from_name(&self.xen.get()?)
    }
}

/// The profile of the machine with the costs that `host` has of its own; `None` when something is
/// wrong with one of them.
pub(super) fn priced(cx: &mut Cx<'_>, host: &Fields, keys: &HostKeys) -> Option<Profile> {
    let own = check::inner(cx, host, &keys.costs, &HOST_COSTS);
    let mut priced = *keys.machine()?.profile;
    host_costs(&own, &mut priced)?;
    if keys.cache_cores.given {
        priced.cache_cores = keys.cache_cores.get()?;
    }
    if keys.sibling_percent.given {
        priced.sibling_percent = keys.sibling_percent.get()?;
        if keys.threads.get() == Some(1) {
            let key = keys.sibling_percent.name;
            cx.notices.push(format!(
                "`{key}` has no effect: the cores of the host have one thread each"
            ));
        }
    }
    Some(priced)
}

/// What kernels with a part in a device cost on the host; `None` when something is wrong.
pub(super) fn kernel(cx: &mut Cx<'_>, host: &Fields, keys: &HostKeys) -> Option<KernelCosts> {
    let own = check::inner(cx, host, &keys.kernel, &HOST_KERNEL);
    let mut costs = KernelCosts::on(keys.machine()?);
    host_kernel(&own, &mut costs)?;
    Some(costs)
}

/// The pcpus of the host.
pub(super) fn topology(cx: &mut Cx<'_>, host: &Fields, keys: &HostKeys) -> Option<Topology> {
    let (sockets, cores) = (keys.sockets.get()?, keys.cores.get()?);
    let threads = keys.threads.get()?;
    let topology = Topology::new(sockets, cores, threads);
    if topology.is_none() {
        let pcpus = u64::from(sockets) * u64::from(cores) * u64::from(threads);
        let culprit = [&keys.cores, &keys.sockets, &keys.threads]
            .into_iter()
            .find(|slot| slot.given);
        let culprit = culprit.unwrap_or(&keys.cores);
        cx.push(
            Mistake::new(
                Code::Limit,
                host.span(culprit),
                format!("{sockets} x {cores} x {threads} are {pcpus} pcpus"),
            )
            .key(host.path_of(culprit))
            .found(pcpus.to_string())
            .expected(format!("{MAX_PCPUS} pcpus at most"))
            .hint("`cores` counts per socket, and `threads` per core"),
        );
    }
    topology
}
