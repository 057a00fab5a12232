//! `[[domain.thread]]` and `[[kthread]]`: threads of a host with KVM that are no vcpus.
//!
//! The threads of a guest are a domain of their own, `NAME:host`, as in traces of Linux hosts; the
//! threads of the kernel are the domain `kernel`. Each thread is a vcpu there, so that the policy,
//! traces and figures have one notion of what competes for pcpus.

use super::pins::on_host;
use super::shared::{GivenParams, given};
use super::work::{Work, work};
use crate::check::{self, Cx, Fields};
use crate::limits::MAX_VCPUS;
use domio_contract::Policy;
use domio_core::keys::{Code, Mistake, Span, quote};
use domio_core::keys::{
    KeyParams, KeySection, Keys, Need, Nested, Slot, Words, int, pcpus, text, word_text,
};
use domio_core::{CpuSet, DomainId, Instant, ParamValues, PcpuId, Topology};
use domio_vmm::bus::side::ServingThread;
use domio_vmm::config::{
    DomainConfig, DomainKind, GuestConfig, HostSoftirqs, KvmThread, TaskConfig, VcpuConfig,
    Workload,
};

/// Name of the domain of the kernel's threads.
pub(super) const KERNEL: &str = "kernel";

/// The longest name of a thread of Linux (`TASK_COMM_LEN` less its end).
const LONGEST: usize = 15;

pub(crate) static THREAD: KeySection = KeySection::with_params(
    "[[domain.thread]]",
    "A thread of the host that works for the guest outside of its vcpus: an I/O thread or the \
     emulator thread of QEMU, a vhost thread. Its time counts against the weight and the quota of \
     the guest. Tables show it as `DOMAIN:host.NAME`. With KVM alone (`hypervisor = \"kvm\"`).",
    ThreadKeys::KEYS,
    KeyParams::Vcpu,
)
.by("workload", Words::Workloads);

pub(crate) static KTHREAD: KeySection = KeySection::with_params(
    "[[kthread]]",
    "A thread of the host's kernel, which is in no group: a kworker, kvm-pit, ksoftirqd. Tables \
     show it as `kernel.NAME`. With KVM alone (`hypervisor = \"kvm\"`).",
    ThreadKeys::KEYS,
    KeyParams::Vcpu,
)
.by("workload", Words::Workloads);

keys! {
    struct ThreadKeys {
        name: String = text(), Need::Required,
            "Name, as Linux shows it (`IO iothread1`, `vhost-4711`, `kworker/0:1`): 15 characters \
             at most, unique among the threads of the guest. With `count`, numbers from 1 follow.";
        count: usize = int(1, MAX_VCPUS as i64), Need::Optional("one thread"),
            "Number of threads of this kind.";
        pin: CpuSet = pcpus(), Need::Optional("every pcpu"), "Pcpus that it may run on.";
        "workload" = word_text(Words::Workloads),
            Need::Optional("only for a thread that a device has: `vhost`, `napi/eth0`, `IO ...`"),
            "What it does. Without a workload the table describes a thread that is there anyway.";
    }
}

/// Threads of one kind.
#[derive(Clone)]
pub(super) struct Threads {
    names: Vec<String>,
    hard: CpuSet,
    /// Where `pin` was given.
    pinned: Option<Span>,
    params: Option<ParamValues>,
    /// What they do, and the word for that; nothing for a thread that a device has.
    demand: Option<(&'static str, Workload)>,
    /// Where parameters were given, for a policy that refuses them together.
    pub given: GivenParams,
    pub header: Span,
    pub path: String,
}

impl Threads {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Their parameters, if any was given.
    pub fn params(&self) -> Option<&ParamValues> {
        self.params.as_ref()
    }
}

/// The threads of the tables that `fields` have at `slot`, tables of `section`; `None` if something
/// was refused.
pub(super) fn threads(
    cx: &mut Cx<'_>,
    fields: &Fields,
    (slot, section): (&Slot<Nested>, &'static KeySection),
    policy: Option<&Policy>,
    topology: Option<&Topology>,
) -> Option<Vec<Threads>> {
    let tables = fields.tables(slot);
    if !tables.is_empty() && cx.known.kvm.is_none() {
        let message = "threads of the host are with KVM: under Xen its kernel has no scheduler";
        cx.push(
            Mistake::new(Code::Conflict, fields.span(slot), message)
                .key(fields.path_of(slot))
                .expected("`hypervisor = \"kvm\"` in [host]")
                .hint(
                    "add that to [host], or give the work to a task of a driver domain \
                     (`Domain-0`)",
                ),
        );
        return None;
    }
    let mut all: Vec<Threads> = Vec::new();
    let mut good = true;
    for (node, table, path) in tables {
        let own = check::table(cx, table, node.span, section, &path, policy);
        let keys: ThreadKeys = own.read();
        match one(cx, &own, &keys, policy, topology) {
            Some(one) if is_new(cx, &own, &keys, &one, &all) => all.push(one),
            _ => good = false,
        }
    }
    good.then_some(all)
}

fn one(
    cx: &mut Cx<'_>,
    own: &Fields,
    keys: &ThreadKeys,
    policy: Option<&Policy>,
    topology: Option<&Topology>,
) -> Option<Threads> {
    let hard = on_host(cx, own, &keys.pin, topology);
    let demand = match own.variant {
        Some(variant) => demand(cx, own, variant.word),
        None => None,
    };
    let name = keys.name.get()?;
    let names = match keys.count.if_given()? {
        None => vec![name.clone()],
        Some(count) => (1..=count).map(|i| format!("{name}{i}")).collect(),
    };
    let longest = names.last().map_or("", |name| name);
    let strange = |c: char| c.is_control() || !c.is_ascii();
    if name.trim().is_empty() || longest.len() > LONGEST || longest.contains(strange) {
        let message = format!("`{}` is no name of a thread", quote(longest));
        cx.push(
            Mistake::new(Code::OutOfRange, own.span(&keys.name), message)
                .key(own.path_of(&keys.name))
                .found(quote(longest))
                .expected(format!("1 to {LONGEST} printable characters of ASCII"))
                .hint("Linux cuts longer names; with `count` the number is part of the name"),
        );
        return None;
    }
    if own.selected().is_some() {
        demand.as_ref()?;
    }
    let params = match (own.params.is_empty(), policy) {
        (false, Some(policy)) => {
            let descriptor = &policy.descriptor;
            let domain = ParamValues::defaults(descriptor.domain_params);
            Some(own.values(descriptor.vcpu_values(&domain)))
        }
        _ => None,
    };
    Some(Threads {
        names,
        hard: hard?,
        pinned: keys.pin.if_given()?.map(|_| own.span(&keys.pin)),
        params,
        demand,
        given: given(own),
        header: own.header,
        path: own.path.clone(),
    })
}

/// What a thread of the workload `word` does.
fn demand(cx: &mut Cx<'_>, own: &Fields, word: &'static str) -> Option<(&'static str, Workload)> {
    match work(cx, own, word, None)? {
        Work::Demand(workload) => Some((word, workload)),
        Work::Replay(_) | Work::Device(..) => {
            let span = own.selected().map_or(own.header, |field| field.span);
            let message = format!("a thread of the host has no workload \"{word}\"");
            cx.push(
                Mistake::new(Code::Conflict, span, message)
                    .key(own.key_path("workload"))
                    .found(quote(word))
                    .expected("a workload that only computes and sleeps")
                    .hint("`periodic`, `on-off` and `burn` are such workloads"),
            );
            None
        }
    }
}

/// Whether none of `all` has a name of `one`. Says so if one has.
fn is_new(
    cx: &mut Cx<'_>,
    own: &Fields,
    keys: &ThreadKeys,
    one: &Threads,
    all: &[Threads],
) -> bool {
    let taken = |name: &&String| all.iter().any(|other| other.names.contains(name));
    let Some(name) = one.names.iter().find(taken) else {
        return true;
    };
    cx.push(
        Mistake::new(
            Code::Duplicate,
            own.span(&keys.name),
            format!("there are two threads `{}`", quote(name)),
        )
        .key(own.path_of(&keys.name))
        .found(quote(name))
        .expected("a name that no other thread beside it has")
        .hint("give it another name; `count` makes several threads of a kind"),
    );
    false
}

/// A thread before it has its place in a domain.
pub(super) struct Thread {
    pub name: String,
    /// The guest that it works for.
    pub of: Option<DomainId>,
    pub hard: CpuSet,
    pub params: Option<ParamValues>,
    pub tasks: Vec<TaskConfig>,
    /// Softirqs of the pcpu that it is pinned to are left to it.
    pub softirqs: bool,
}

impl Threads {
    /// Each of them, for the guest `of`.
    pub fn each(&self, of: Option<DomainId>) -> impl Iterator<Item = Thread> + '_ {
        self.names.iter().map(move |name| Thread {
            name: name.clone(),
            of,
            hard: self.hard,
            params: self.params,
            tasks: self.demand.iter().map(task).collect(),
            softirqs: false,
        })
    }

    /// Whether they have work of their own.
    pub fn has_work(&self) -> bool {
        self.demand.is_some()
    }

    /// Whether one of them is called `name`.
    pub fn is_called(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }
}

fn task((word, workload): &(&'static str, Workload)) -> TaskConfig {
    TaskConfig {
        name: (*word).to_owned(),
        priority: 0,
        roams: false,
        workload: workload.clone(),
    }
}

/// The threads beside the vcpus of the guest `of`: those of `given` with work, and those `serving`
/// its devices, some of which `given` describe. Reports threads that nothing is known of; the guest
/// is at `place`.
pub(super) fn of_guest<'s>(
    cx: &mut Cx<'_>,
    (given, of): (&[Threads], Option<DomainId>),
    serving: impl Iterator<Item = &'s ServingThread>,
    (span, path): (Span, &str),
) -> Vec<Thread> {
    let names = || {
        given
            .iter()
            .flat_map(|kind| &kind.names)
            .map(|name| &**name)
    };
    let (mut known, mut wanted) = (Vec::new(), Vec::new());
    for serves in serving {
        match serves.in_qemu(names()) {
            Some(name) => wanted.push(name.to_owned()),
            None => {
                if let ServingThread::Kernel(name) = serves {
                    known.push((*name).to_owned());
                }
            }
        }
    }
    wanted.dedup();
    known.extend(wanted.iter().cloned());
    known.dedup();
    without_work(cx, given, &known);
    let is_own =
        |kind: &&Threads| kind.has_work() || kind.names.iter().any(|name| wanted.contains(name));
    let own = given.iter().filter(is_own);
    let mut all: Vec<Thread> = own.flat_map(|kind| kind.each(of)).collect();
    for name in wanted {
        if all.iter().any(|thread| thread.name == name) {
            continue;
        }
        if name == KvmThread::MAIN {
            all.push(Thread {
                name,
                of,
                hard: CpuSet::ALL,
                params: None,
                tasks: Vec::new(),
                softirqs: false,
            });
            continue;
        }
        let mut expected: Vec<&str> = names().collect();
        expected.push(KvmThread::MAIN);
        let says = format!("the guest has no thread `{}`", quote(&name));
        cx.push(
            Mistake::new(Code::UnknownName, span, says)
                .key(format!("{path}.disk.iothread"))
                .found(quote(&name))
                .expected(format!("one of: {}", expected.join(", ")))
                .hint("add a [[domain.thread]] with that `name`"),
        );
    }
    all
}

/// Reports those of `all` without work that no device has: `known` are the names of those that one
/// has.
pub(super) fn without_work(cx: &mut Cx<'_>, all: &[Threads], known: &[String]) {
    let strange = |name: &&String| !known.contains(name);
    for kind in all.iter().filter(|kind| !kind.has_work()) {
        let Some(name) = kind.names.iter().find(strange) else {
            continue;
        };
        let expected = match known {
            [] => "a `workload`".to_owned(),
            known => format!("a `workload`, or the name of one of: {}", known.join(", ")),
        };
        cx.push(
            Mistake::new(
                Code::MissingKey,
                kind.header,
                format!("the thread `{}` has nothing to do", quote(name)),
            )
            .key(format!("{}.workload", kind.path))
            .expected(expected)
            .hint(
                "say what it does, e.g. `workload = \"on-off\"`; threads of devices are there when \
                 a guest has the device",
            ),
        );
    }
}

/// Binds `thread`, which the kernel has for `pcpu`, to that pcpu. `None` when one of `given` has a
/// pin for it that says anything else.
pub(super) fn bind(
    cx: &mut Cx<'_>,
    given: &[Threads],
    thread: &mut Thread,
    pcpu: PcpuId,
) -> Option<()> {
    let bound = CpuSet::of(pcpu);
    let name = &thread.name;
    let mut kinds = given.iter().filter(|kind| !kind.has_work());
    let described = kinds.find(|kind| kind.is_called(name));
    if let Some(kind) = described
        && let Some(span) = kind.pinned
        && kind.hard != bound
    {
        let message = format!("the kernel binds the thread `{name}` to pcpu {}", pcpu.0);
        cx.push(
            Mistake::new(Code::Conflict, span, message)
                .key(format!("{}.pin", kind.path))
                .found(quote(cx.text(span)))
                .expected(format!("no `pin`, or pcpu {} alone", pcpu.0))
                .hint(
                    "take `pin` away: `ksoftirqd/N` and `kworker/N:1` run on pcpu N; `irq_pcpus` \
                     in [network] says which pcpus have interrupts and softirqs",
                ),
        );
        return None;
    }
    thread.hard = bound;
    Some(())
}

/// The domain of `threads`, which is called `name` and lives from `start` to `stop`. `params` are
/// those that the policy has for domains, at their defaults; `softirqs` is how softirqs of the host
/// make way.
pub(super) fn domain(
    threads: Vec<Thread>,
    (id, name): (DomainId, String),
    (params, softirqs): (ParamValues, HostSoftirqs),
    (start, stop): (Instant, Option<Instant>),
) -> DomainConfig {
    let mut host = Vec::new();
    let vcpu = |thread: Thread| {
        host.push(KvmThread {
            name: thread.name,
            of: thread.of,
            softirqs: thread.softirqs.then_some(softirqs),
        });
        VcpuConfig {
            hard: thread.hard,
            soft: CpuSet::ALL,
            params: thread.params,
            tasks: thread.tasks,
            kernel_tick: None,
        }
    };
    let vcpus = threads.into_iter().map(vcpu).collect();
    DomainConfig {
        id,
        name,
        params,
        guest: GuestConfig::IDEAL,
        vcpus,
        start,
        stop,
        kind: DomainKind::Threads(host),
    }
}
