//! One line of JSON a sample.

use crate::names::DomainNames;
use domio_core::VcpuName;
use domio_meter::{Figures, IntervalSample, PacketWeight, QueueWait, Tells, charges};
use serde::Serialize;

/// What a line says. Times are nanoseconds.
#[derive(Debug, Serialize)]
pub struct SampleLine {
    schema: &'static str,
    start_ns: u64,
    end_ns: u64,
    lost_records: u64,
    domains: Vec<DomainLine>,
    drivers: Vec<DriverLine>,
    longest_wait: Option<WaitLine>,
}

#[derive(Debug, Serialize)]
struct DomainLine {
    id: u16,
    name: Option<String>,
    #[serde(flatten)]
    figures: FiguresLine,
    vcpus: Vec<VcpuLine>,
}

/// A vcpu on a pcpu.
#[derive(Debug, Serialize)]
struct VcpuLine {
    vcpu: u16,
    pcpu: u16,
    passed_ns: u64,
    #[serde(flatten)]
    figures: FiguresLine,
}

#[derive(Debug, Serialize)]
struct FiguresLine {
    gotten_ns: u64,
    allocated_ns: u64,
    waited_ns: u64,
    blocked_ns: u64,
    offline_ns: u64,
    executions: u64,
    wakeups: u64,
    io: Option<u64>,
}

#[derive(Debug, Serialize)]
struct DriverLine {
    id: u16,
    name: Option<String>,
    used_ns: u64,
    guests: Vec<GuestLine>,
}

#[derive(Debug, Serialize)]
struct GuestLine {
    id: u16,
    name: Option<String>,
    sent: u64,
    received: u64,
    estimated_ns: Option<u64>,
    exact_ns: Option<u64>,
    error_points: Option<f64>,
}

#[derive(Debug, Serialize)]
struct WaitLine {
    #[serde(flatten)]
    vcpu: NamedVcpu,
    pcpu: u16,
    since_ns: u64,
    length_ns: u64,
    goes_on: bool,
    behind: Option<BehindLine>,
}

#[derive(Debug, Serialize)]
struct BehindLine {
    #[serde(flatten)]
    vcpu: NamedVcpu,
    ran_ns: u64,
}

#[derive(Debug, Serialize)]
struct NamedVcpu {
    domain: u16,
    vcpu: u16,
}

impl From<VcpuName> for NamedVcpu {
    fn from(name: VcpuName) -> Self {
        NamedVcpu {
            domain: name.domain.0,
            vcpu: name.index,
        }
    }
}

impl FiguresLine {
    fn new(f: &Figures, tells: Tells) -> Self {
        FiguresLine {
            gotten_ns: f.gotten,
            allocated_ns: f.allocated,
            waited_ns: f.waited,
            blocked_ns: f.blocked,
            offline_ns: f.offline,
            executions: f.executions,
            wakeups: f.wakeups,
            io: (tells.packets || tells.grants || f.io > 0).then_some(f.io),
        }
    }
}

/// The line of `sample`, which has the schema that `schema` names.
pub fn line(
    schema: &'static str,
    names: &DomainNames,
    sample: &IntervalSample,
    weight: PacketWeight,
) -> SampleLine {
    let name = |id| names.told(id).map(str::to_owned);
    let domains = sample.domains.iter().map(|domain| {
        let parts = sample.parts.iter().filter(|p| p.vcpu.domain == domain.id);
        let vcpus = parts.map(|part| VcpuLine {
            vcpu: part.vcpu.index,
            pcpu: part.pcpu.0,
            passed_ns: sample.passed(part.pcpu),
            figures: FiguresLine::new(&part.figures, sample.tells),
        });
        DomainLine {
            id: domain.id.0,
            name: name(domain.id),
            figures: FiguresLine::new(&domain.figures, sample.tells),
            vcpus: vcpus.collect(),
        }
    });
    let drivers = charges(sample, weight).into_iter().map(|of| {
        let guests = of.charges.iter().map(|charge| GuestLine {
            id: charge.traffic.guest.0,
            name: name(charge.traffic.guest),
            sent: charge.traffic.sent,
            received: charge.traffic.received,
            estimated_ns: charge.estimate,
            exact_ns: charge.exact,
            error_points: charge.error_points(of.used),
        });
        DriverLine {
            id: of.driver.0,
            name: name(of.driver),
            used_ns: of.used,
            guests: guests.collect(),
        }
    });
    let wait = |wait: QueueWait| WaitLine {
        vcpu: wait.vcpu.into(),
        pcpu: wait.pcpu.0,
        since_ns: wait.since.as_nanos(),
        length_ns: wait.length,
        goes_on: wait.goes_on,
        behind: wait.behind.map(|(vcpu, ran_ns)| BehindLine {
            vcpu: vcpu.into(),
            ran_ns,
        }),
    };
    SampleLine {
        schema,
        start_ns: sample.start.as_nanos(),
        end_ns: sample.end.as_nanos(),
        lost_records: sample.lost_records,
        domains: domains.collect(),
        drivers: drivers.collect(),
        longest_wait: sample.longest_wait.map(wait),
    }
}
