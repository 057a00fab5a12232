//! The text format of Prometheus: sums of the whole trace, times in seconds.

use crate::names::DomainNames;
use domio_core::DomainId;
use domio_meter::{Figures, IntervalSample, PacketWeight, Part, charges};
use std::fmt::Write;

/// A metric: its name, its type, and what it is.
struct Metric(&'static str, &'static str, &'static str);

/// What a metric of a vcpu on a pcpu says.
type Value = fn(&Figures) -> u64;

/// Everything about a vcpu on a pcpu that is counted in nanoseconds.
const TIMES: [(Metric, Value); 6] = [
    (
        Metric(
            "domio_vcpu_gotten_seconds_total",
            "counter",
            "Time on the pcpu.",
        ),
        |f| f.gotten,
    ),
    (
        Metric(
            "domio_vcpu_allocated_seconds_total",
            "counter",
            "Sum of the time slices that the policy gave.",
        ),
        |f| f.allocated,
    ),
    (
        Metric(
            "domio_vcpu_waited_seconds_total",
            "counter",
            "Time runnable without a pcpu, by the pcpu that it ran on last.",
        ),
        |f| f.waited,
    ),
    (
        Metric(
            "domio_vcpu_blocked_seconds_total",
            "counter",
            "Time blocked.",
        ),
        |f| f.blocked,
    ),
    (
        Metric(
            "domio_vcpu_parked_seconds_total",
            "counter",
            "Time held back by its own cap or budget, or paused while it could run.",
        ),
        |f| f.parked,
    ),
    (
        Metric(
            "domio_vcpu_paused_seconds_total",
            "counter",
            "Other time paused, or not brought up.",
        ),
        |f| f.paused,
    ),
];

/// Everything that is counted one by one.
const COUNTS: [(Metric, Value); 2] = [
    (
        Metric(
            "domio_vcpu_executions_total",
            "counter",
            "Times that it was put on the pcpu.",
        ),
        |f| f.executions,
    ),
    (
        Metric(
            "domio_vcpu_wakeups_total",
            "counter",
            "Times that it was woken.",
        ),
        |f| f.wakeups,
    ),
];

/// All metrics of `total`.
pub fn text(names: &DomainNames, total: &IntervalSample, weight: PacketWeight) -> String {
    let mut out = String::new();
    for (metric, value) in &TIMES {
        let rows = total
            .parts
            .iter()
            .map(|p| (of_part(names, p), seconds(value(&p.figures))));
        write(&mut out, metric, rows);
    }
    for (metric, value) in &COUNTS {
        let rows = total.parts.iter();
        let rows = rows.map(|p| (of_part(names, p), value(&p.figures).to_string()));
        write(&mut out, metric, rows);
    }
    if total.tells.packets || total.tells.grants {
        let io = Metric(
            "domio_domain_io_total",
            "counter",
            "Packets at netback, or pages mapped or transferred by grant.",
        );
        let rows = total.domains.iter();
        let rows = rows.map(|d| (domain(names, "domain", d.id), d.figures.io.to_string()));
        write(&mut out, &io, rows);
    }
    drivers(&mut out, names, total, weight);
    let lost = Metric(
        "domio_lost_records_total",
        "counter",
        "Records that Xen dropped.",
    );
    write(
        &mut out,
        &lost,
        [(String::new(), total.lost_records.to_string())],
    );
    let span = Metric(
        "domio_observed_seconds_total",
        "counter",
        "Time that was observed.",
    );
    write(&mut out, &span, [(String::new(), seconds(total.length()))]);
    if let Some(wait) = total.longest_wait {
        let metric = Metric(
            "domio_longest_wait_seconds",
            "gauge",
            "The longest wait of a vcpu for a pcpu.",
        );
        let labels = domain(names, "domain", wait.vcpu.domain);
        let labels = format!(
            "{labels},vcpu=\"{}\",pcpu=\"{}\"",
            wait.vcpu.index, wait.pcpu.0
        );
        write(&mut out, &metric, [(labels, seconds(wait.length))]);
    }
    out
}

/// What driver domains did for guests.
fn drivers(out: &mut String, names: &DomainNames, total: &IntervalSample, weight: PacketWeight) {
    let drivers = charges(total, weight);
    let rows = |value: &dyn Fn(&domio_meter::PacketCharge) -> Vec<(&'static str, String)>| {
        let mut rows = Vec::new();
        for of in &drivers {
            for charge in &of.charges {
                let who = domain(names, "domain", charge.traffic.guest);
                let who = format!("{},{who}", domain(names, "driver", of.driver));
                let values = value(charge).into_iter();
                rows.extend(values.map(|(label, value)| (format!("{who},{label}"), value)));
            }
        }
        rows
    };
    if total.tells.packets {
        let packets = Metric("domio_packets_total", "counter", "Packets at netback.");
        let values = rows(&|c| {
            vec![
                ("direction=\"sent\"", c.traffic.sent.to_string()),
                ("direction=\"received\"", c.traffic.received.to_string()),
            ]
        });
        write(out, &packets, values);
    }
    let work = Metric(
        "domio_driver_work_seconds_total",
        "counter",
        "Time of the driver domain for the guest: estimated by packets, and exact.",
    );
    let values = rows(&|c| {
        let estimate = c.estimate.map(|ns| ("method=\"packets\"", seconds(ns)));
        let exact = c.exact.map(|ns| ("method=\"exact\"", seconds(ns)));
        estimate.into_iter().chain(exact).collect()
    });
    if !values.is_empty() {
        write(out, &work, values);
    }
}

fn write(out: &mut String, metric: &Metric, rows: impl IntoIterator<Item = (String, String)>) {
    let Metric(name, kind, help) = metric;
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in rows {
        let _ = match labels.is_empty() {
            true => writeln!(out, "{name} {value}"),
            false => writeln!(out, "{name}{{{labels}}} {value}"),
        };
    }
}

fn of_part(names: &DomainNames, part: &Part) -> String {
    let (vcpu, pcpu) = (part.vcpu.index, part.pcpu.0);
    format!(
        "{},vcpu=\"{vcpu}\",pcpu=\"{pcpu}\"",
        domain(names, "domain", part.vcpu.domain)
    )
}

/// Labels of a domain: its id, and its name under the same word.
fn domain(names: &DomainNames, label: &str, id: DomainId) -> String {
    let name = escaped(&names.domain(id));
    format!("{label}=\"{}\",{label}_name=\"{name}\"", id.0)
}

/// A label's value: backslashes, quotes and line ends are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Seconds, to the nanosecond.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{PcpuId, VcpuName};
    use domio_meter::{GuestTraffic, Tells, Totals};

    #[test]
    fn metrics_are_told_once_and_rows_have_their_labels() {
        let part = |domain, pcpu, gotten| Part {
            vcpu: VcpuName::new(DomainId(domain), 1),
            pcpu: PcpuId(pcpu),
            figures: Figures {
                gotten,
                ..Figures::default()
            },
        };
        let total = Totals::of(&[IntervalSample {
            parts: vec![
                part(0, 0, 2_000_000_000),
                part(1, 0, 1_500_000_000),
                part(1, 2, 7),
            ],
            traffic: vec![GuestTraffic {
                driver: DomainId(0),
                guest: DomainId(1),
                sent: 10,
                received: 4,
                work: 3,
            }],
            tells: Tells {
                packets: true,
                work: true,
                grants: false,
            },
            ..IntervalSample::default()
        }]);
        let names = DomainNames::new([(DomainId(1), "a\"b\\c".to_owned())]);
        let text = text(&names, &total, PacketWeight::GUPTA);
        let gotten = "domio_vcpu_gotten_seconds_total{domain=\"1\",domain_name=\"a\\\"b\\\\c\",\
                      vcpu=\"1\",pcpu=\"0\"} 1.500000000\n";
        assert!(text.contains(gotten), "{text}");
        assert!(text.contains("pcpu=\"2\"} 0.000000007\n"), "{text}");
        assert!(text.contains("direction=\"sent\"} 10\n"), "{text}");
        assert!(text.contains("method=\"packets\"} 2.000000000\n"), "{text}");
        assert!(text.contains("method=\"exact\"} 0.000000003\n"), "{text}");
        let types = text.lines().filter(|l| l.starts_with("# TYPE "));
        let names: Vec<&str> = types.filter_map(|l| l.split(' ').nth(2)).collect();
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap_or_default();
            assert!(names.contains(&name), "{line}");
            let is_counter = text.contains(&format!("# TYPE {name} counter"));
            assert_eq!(is_counter, name.ends_with("_total"), "{name}");
        }
    }
}
