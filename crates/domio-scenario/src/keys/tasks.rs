//! Tasks, their workloads, and times that are drawn.

use super::Need::{Optional, Required};
use super::disk::DD;
use super::network::{PING, SERVER, STREAM, UDP};
use super::web::{WEB, WEB_KEYS};
use super::{Kind, Need, Params, Section, US, Variant, Words, key, variant};
use crate::limits::{MAX_DOMAIN_ID, MAX_VCPUS};

/// Highest frequency of a recording's clock that readers of traces take.
const MAX_TRACE_HZ: i64 = 18_000_000_000;

pub(crate) static TASK: Section = Section {
    header: "[[domain.task]]",
    doc: "A task inside the guest. It demands processor time; only sleeping blocks it. The \
          workload decides about further keys. `stream`, `ping`, `udp`, `server` and `web` are \
          traffic between the guest and a remote host behind the line of `[network]`. The \
          kernel's part of it is done on vcpu 0, before any task; streams, servers and datagrams \
          from the guest have a process as well. `ping` and datagrams to the guest have none, and \
          take neither `vcpu` nor `priority`.",
    keys: &[
        key(
            "workload",
            Kind::Word(Words::Of(WORKLOADS)),
            Required,
            "What it does.",
        ),
        key(
            "name",
            Kind::Name,
            Optional("the workload's, numbered where it is not the first"),
            "Name, unique in the domain.",
        ),
        key(
            "vcpu",
            Kind::Vcpu,
            Optional("0, and with `guest = \"linux-2.6.18\"` any: its kernel moves processes"),
            "Index of the vcpu that it lives on, or `\"all\"` for one such task on each (but for \
             network workloads).",
        ),
        key(
            "priority",
            Kind::Int {
                min: -128,
                max: 127,
            },
            Need::Int(0),
            "Tasks of a higher priority run first; equal ones take turns. Network workloads and \
             `dd`, which sleep most of the time, have 127 without it.",
        ),
    ],
    selector: Some("workload"),
    variants: WORKLOADS,
    params: Params::None,
};

pub(crate) static WORKLOADS: &[Variant] = &[
    variant("burn", "Computes for ever.", &[]),
    variant("idle", "Sleeps for ever.", &[]),
    variant(
        "periodic",
        "Releases a job at `phase`, `phase` + `period` and so on; each computes for `burst`. Jobs \
         that come while an earlier one is unfinished queue up.",
        &[
            key(
                "period",
                Kind::Time {
                    unit: "ms",
                    min_ns: US,
                },
                Required,
                "Time between two releases.",
            ),
            key(
                "phase",
                Kind::Time {
                    unit: "us",
                    min_ns: 0,
                },
                Need::TimeNs(0),
                "First release, after the domain's start.",
            ),
            key(
                "burst",
                Kind::Lengths {
                    unit: "us",
                    min_ns: 1,
                },
                Required,
                "Processor time of a job.",
            ),
        ],
    ),
    variant(
        "on-off",
        "Computes for `on`, then sleeps for `off`, for ever.",
        &[
            key(
                "on",
                Kind::Lengths {
                    unit: "ms",
                    min_ns: US,
                },
                Required,
                "Processor time of a burst.",
            ),
            key(
                "off",
                Kind::Lengths {
                    unit: "ms",
                    min_ns: US,
                },
                Required,
                "Length of the sleep after it.",
            ),
        ],
    ),
    variant(
        "compute",
        "Computes for `work` in all, then sleeps for ever; the trace tells the turnaround.",
        &[key(
            "work",
            Kind::Time {
                unit: "ms",
                min_ns: 1,
            },
            Required,
            "Processor time.",
        )],
    ),
    variant(
        "yield",
        "Computes for `burst`, then yields the processor, as a guest does that waits for a lock; \
         for ever.",
        &[key(
            "burst",
            Kind::Lengths {
                unit: "us",
                min_ns: US,
            },
            Required,
            "Processor time between two yields.",
        )],
    ),
    variant(
        "replay",
        "Demands what a vcpu demanded in a recorded trace: it is woken when that one was. A job \
         that ended at a time by the clock, as the trace shows by those that were preempted, does \
         so again; others take the processor time that they took.",
        &[
            key(
                "trace",
                Kind::Text,
                Required,
                "Path of the trace, relative to the scenario's file.",
            ),
            key(
                "trace_domain",
                Kind::Int {
                    min: 0,
                    max: MAX_DOMAIN_ID,
                },
                Required,
                "Id of the recorded domain.",
            ),
            key(
                "trace_vcpu",
                Kind::Int {
                    min: 0,
                    max: MAX_VCPUS as i64 - 1,
                },
                Need::Int(0),
                "Index of the recorded vcpu in it.",
            ),
            key(
                "trace_hz",
                Kind::Int {
                    min: 1,
                    max: MAX_TRACE_HZ,
                },
                Optional("1000000000"),
                "Counts a second of the clock of a recording of xentrace; traces of domio's own \
                 need none.",
            ),
        ],
    ),
    STREAM,
    PING,
    UDP,
    SERVER,
    variant("web", WEB, WEB_KEYS),
    DD,
];

pub(crate) static LENGTHS: Section = Section {
    header: "burst = { ... }",
    doc: "A length of time that is drawn anew each time. A key that takes one ends in a unit for \
          a constant (`burst_us = 50`), and has no unit for a table: \
          `burst = { distribution = \"exponential\", mean_us = 50 }`.",
    keys: &[key(
        "distribution",
        Kind::Word(Words::Of(DISTRIBUTIONS)),
        Required,
        "Which one.",
    )],
    selector: Some("distribution"),
    variants: DISTRIBUTIONS,
    params: Params::None,
};

pub(crate) static DISTRIBUTIONS: &[Variant] = &[
    variant(
        "exponential",
        "Many short ones, few long ones.",
        &[key(
            "mean",
            Kind::Time {
                unit: "us",
                min_ns: 1,
            },
            Required,
            "Mean.",
        )],
    ),
    variant(
        "uniform",
        "Every length between two equally likely.",
        &[
            key(
                "low",
                Kind::Time {
                    unit: "us",
                    min_ns: 0,
                },
                Required,
                "Shortest.",
            ),
            key(
                "high",
                Kind::Time {
                    unit: "us",
                    min_ns: 1,
                },
                Required,
                "Longest; not below `low`.",
            ),
        ],
    ),
    variant(
        "normal",
        "Bell-shaped, cut off at zero.",
        &[
            key(
                "mean",
                Kind::Time {
                    unit: "us",
                    min_ns: 1,
                },
                Required,
                "Mean.",
            ),
            key(
                "std",
                Kind::Time {
                    unit: "us",
                    min_ns: 0,
                },
                Required,
                "Standard deviation.",
            ),
        ],
    ),
];
