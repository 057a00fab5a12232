//! The tables of a scenario and their keys, but for tasks.

use super::Need::{Optional, Required};
use super::costs::{HOST_COSTS, HOST_KERNEL};
use super::vcpus::{VCPU_KEY, set_vcpu};
use super::{
    CONTROLLER, DISK, Key, Kind, NETWORK, Need, Params, Section, TASK, US, VARY, VCPU, VIF,
    Variant, WORKLOADS, Words, key, plain, variant,
};
use crate::limits::{MAX_DOMAIN_ID, MAX_VCPUS};
use domio_core::cpuset::MAX_PCPUS;

pub(crate) static ROOT: Section = plain(
    "(top level)",
    "Keys before the first table, and the tables themselves.",
    &[
        key(
            "title",
            Kind::Text,
            Optional("the file's name"),
            "One line that says what the scenario shows.",
        ),
        key(
            "description",
            Kind::Text,
            Optional("empty"),
            "The story, as long as it needs to be.",
        ),
        key(
            "seed",
            Kind::Int {
                min: 0,
                max: i64::MAX,
            },
            Need::Int(1),
            "Seed of every random stream. The same file with the same seed gives the same trace.",
        ),
        key("run", Kind::Section(&RUN), Required, "How long."),
        key(
            "host",
            Kind::Section(&HOST),
            Optional("one pcpu of the ideal machine"),
            "What machine.",
        ),
        key(
            "scheduler",
            Kind::Section(&SCHEDULER),
            Required,
            "Which policy.",
        ),
        key(
            "network",
            Kind::OneOrMore(&NETWORK),
            Optional("the default one if a domain has a vif, else none"),
            "Which card and which line; with two brackets, `[[network]]`, any number of them.",
        ),
        key(
            "controller",
            Kind::Sections(&CONTROLLER),
            Optional("nobody looks"),
            "What looks at the host now and then, and changes settings.",
        ),
        key(
            "domain",
            Kind::Sections(&DOMAIN),
            Required,
            "Who runs; at least one.",
        ),
        key(
            "action",
            Kind::Sections(&ACTION),
            Optional("nobody intervenes"),
            "What an operator does meanwhile.",
        ),
        key(
            "vary",
            Kind::Sections(&VARY),
            Optional("nothing but what is random in the models"),
            "What differs from replication to replication.",
        ),
    ],
);

pub(crate) static RUN: Section = plain(
    "[run]",
    "How long the host is simulated. All other times of a scenario count from the start of the \
     simulation, which is where the warm-up begins.",
    &[
        key(
            "duration",
            Kind::Time {
                unit: "s",
                min_ns: 1,
            },
            Required,
            "Time that is measured, after the warm-up.",
        ),
        key(
            "warmup",
            Kind::Time {
                unit: "s",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "Time that is simulated before measuring begins.",
        ),
    ],
);

pub(crate) static HOST: Section = plain(
    "[host]",
    "The machine and its hypervisor. It has sockets x cores x threads pcpus, 256 at most, numbered \
     thread by thread inside a core and core by core inside a socket.",
    &[
        key(
            "profile",
            Kind::Word(Words::Profiles),
            Need::Word("ideal"),
            "Hardware profile: what the hypervisor's work costs.",
        ),
        key(
            "xen",
            Kind::Word(Words::Releases),
            Need::Word("4.17"),
            "Release of Xen whose host rules apply (softirq order, timers, trace order); 3.0 is \
             3.0.0 to 3.0.2, and 2.0 is like it. A point release has those of its release. \
             The policy has a version of its own.",
        ),
        key(
            "sockets",
            Kind::Int {
                min: 1,
                max: MAX_PCPUS as i64,
            },
            Need::Int(1),
            "Sockets; each is a NUMA node.",
        ),
        key(
            "cores",
            Kind::Int {
                min: 1,
                max: MAX_PCPUS as i64,
            },
            Need::Int(1),
            "Cores in each socket.",
        ),
        key(
            "threads",
            Kind::Int {
                min: 1,
                max: MAX_PCPUS as i64,
            },
            Need::Int(1),
            "Hardware threads in each core.",
        ),
        key(
            "costs",
            Kind::Section(&HOST_COSTS),
            Optional("the profile's"),
            "What the hypervisor's work costs.",
        ),
        key(
            "kernel",
            Kind::Section(&HOST_KERNEL),
            Optional("the profile's"),
            "What the work of kernels with a network or a disk costs.",
        ),
    ],
);

pub(crate) static SCHEDULER: Section = Section {
    header: "[scheduler]",
    doc: "The scheduling policy, with the parameters that it declares as keys beside it.",
    keys: &[key(
        "policy",
        Kind::Word(Words::Policies),
        Required,
        "Name of the policy.",
    )],
    selector: None,
    variants: &[],
    params: Params::Policy,
};

pub(crate) static DOMAIN: Section = Section {
    header: "[[domain]]",
    doc: "A domain, or several of a kind, with the parameters that the policy has for domains as \
          keys beside it, and those that the controllers have for domains. A domain with a single \
          task can name its workload, and the workload's own keys, directly here; where one of \
          those keys is also a parameter of the policy (`period_us` under rtds), the task needs \
          its `[[domain.task]]`.",
    keys: &[
        key(
            "name",
            Kind::Name,
            Required,
            "Unique name. With `count`, the name of the group; its members are numbered from 1 \
             (`g1`, `g2`...). `Domain-0` is the control domain.",
        ),
        key(
            "id",
            Kind::Int {
                min: 0,
                max: MAX_DOMAIN_ID,
            },
            Optional("the lowest free one from 1; 0 for `Domain-0`"),
            "Xen's domid, unique. Members of a group get consecutive ones.",
        ),
        key(
            "count",
            Kind::Int {
                min: 1,
                max: MAX_VCPUS as i64,
            },
            Optional("one domain, not a group"),
            "Number of domains of this kind.",
        ),
        key(
            "vcpus",
            Kind::Int {
                min: 1,
                max: MAX_VCPUS as i64,
            },
            Need::Int(1),
            "Virtual processors of each. All domains together have 4096 at most.",
        ),
        key(
            "pin",
            Kind::Pcpus,
            Optional("every pcpu"),
            "Hard affinity of all its vcpus: they never run elsewhere.",
        ),
        key(
            "soft",
            Kind::Pcpus,
            Optional("every pcpu"),
            "Soft affinity of all its vcpus: they prefer these.",
        ),
        key(
            "vcpu",
            Kind::Sections(&VCPU),
            Optional("all are alike"),
            "Vcpus that differ from the others.",
        ),
        key(
            "start",
            Kind::Time {
                unit: "ms",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "When it is created (hot add).",
        ),
        key(
            "stop",
            Kind::Time {
                unit: "ms",
                min_ns: 1,
            },
            Optional("never"),
            "When it is destroyed; after `start`.",
        ),
        key(
            "guest",
            Kind::Guest,
            Need::Word("ideal"),
            "The operating system inside: a name, or a table.",
        ),
        key(
            "workload",
            Kind::Word(Words::Of(WORKLOADS)),
            Optional("no task besides those of `[[domain.task]]`; without any, the domain idles"),
            "The only task, instead of `[[domain.task]]`.",
        ),
        key(
            "vif",
            Kind::OneOrMore(&VIF),
            Optional("one without a limit if a workload needs it, else none"),
            "Its virtual interface, or a list of several on different networks.",
        ),
        key(
            "disk",
            Kind::Section(&DISK),
            Optional("none"),
            "Its virtual disk.",
        ),
        key(
            "task",
            Kind::Sections(&TASK),
            Optional("no task"),
            "Its tasks.",
        ),
    ],
    selector: Some("workload"),
    variants: WORKLOADS,
    params: Params::Domain,
};

pub(crate) static GUEST: Section = plain(
    "guest = { ... }",
    "A guest of one's own. Costs are processor time of the vcpu.",
    &[
        key(
            "tick",
            Kind::Time {
                unit: "ms",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "Period of the tick that Xen sends while a vcpu runs; 0 for a guest that stopped it.",
        ),
        key(
            "kernel_tick",
            Kind::Time {
                unit: "ms",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "Period of the tick that the kernel gives itself with a one-shot timer while a vcpu \
             is busy, no nearer than 100 us ahead; 0 for none.",
        ),
        key(
            "kernel_tick_phase",
            Kind::Time {
                unit: "us",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "A time at which that tick is due.",
        ),
        key(
            "irq",
            Kind::Time {
                unit: "us",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "Cost of a timer's or tick's interrupt handler.",
        ),
        key(
            "softirq",
            Kind::Time {
                unit: "us",
                min_ns: 0,
            },
            Need::TimeNs(0),
            "Cost of the timer softirq, which wakes tasks.",
        ),
        key(
            "task_slice",
            Kind::Time {
                unit: "ms",
                min_ns: US,
            },
            Need::TimeNs(100_000 * US),
            "How long a task runs before another of the same priority gets its turn.",
        ),
    ],
);

pub(crate) static ACTION: Section = Section {
    header: "[[action]]",
    doc: "What an operator does during the run. Actions at the same time happen in the order of \
          the file. `do` decides about further keys.",
    keys: &[
        key(
            "at",
            Kind::Time {
                unit: "ms",
                min_ns: 0,
            },
            Required,
            "When.",
        ),
        key("do", Kind::Word(Words::Of(ACTIONS)), Required, "What."),
    ],
    selector: Some("do"),
    variants: ACTIONS,
    params: Params::None,
};

const DOMAIN_KEY: Key = key(
    "domain",
    Kind::DomainName,
    Required,
    "Name of a domain, or of a group for all of its members. It must exist at that time.",
);
const PCPU_KEY: Key = key(
    "pcpu",
    Kind::Int {
        min: 0,
        max: MAX_PCPUS as i64 - 1,
    },
    Required,
    "Number of the pcpu.",
);

pub(crate) static ACTIONS: &[Variant] = &[
    variant(
        "pause",
        "`xl pause`: none of its vcpus runs until it is unpaused.",
        &[DOMAIN_KEY],
    ),
    variant("unpause", "`xl unpause`.", &[DOMAIN_KEY]),
    Variant {
        word: "set",
        doc: "`xl sched-credit -d` and its like: new values for parameters that the policy has \
              for domains; those that are not named stay.",
        keys: &[DOMAIN_KEY],
        params: Params::Domain,
    },
    set_vcpu(&[DOMAIN_KEY, VCPU_KEY]),
    Variant {
        word: "set-policy",
        doc: "`xl sched-credit -s` and its like: new values for parameters of the policy that can \
              change in a run; those that are not named stay.",
        keys: &[],
        params: Params::Changeable,
    },
    variant(
        "pin",
        "`xl vcpu-pin`: new affinity, hard, soft or both.",
        &[
            DOMAIN_KEY,
            VCPU_KEY,
            key(
                "pin",
                Kind::Pcpus,
                Optional("unchanged"),
                "New hard affinity; at least one pcpu of it is online.",
            ),
            key(
                "soft",
                Kind::Pcpus,
                Optional("unchanged"),
                "New soft affinity.",
            ),
        ],
    ),
    variant(
        "pcpu-offline",
        "`xen-hptool cpu-offline`: the pcpu leaves. Not the last one, and not the last one of a \
         vcpu's hard affinity.",
        &[PCPU_KEY],
    ),
    variant(
        "pcpu-online",
        "`xen-hptool cpu-online`: it comes back.",
        &[PCPU_KEY],
    ),
];
