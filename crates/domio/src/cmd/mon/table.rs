//! The figures of a whole trace as tables, where there is no terminal to keep up to date.

use domio_answer::column::share;
use domio_answer::{Cell, Holds, Table};
use domio_core::DomainId;
use domio_meter::{
    HostPlaces, IntervalSample, PacketWeight, QueueWait, RanWhere, Residence, charges,
};
use domio_monitor::{DomainNames, untold};
use domio_report::residence;
use domio_report::tables;
use domio_report::text::table::render as draw;
use domio_report::text::{self, View};

/// A domain each row; then what driver domains did for whom, and the longest wait.
pub fn render(
    names: &DomainNames,
    total: &IntervalSample,
    weight: PacketWeight,
    places: Option<&HostPlaces>,
    view: &View,
) -> String {
    let seconds = total.length() as f64 / 1e9;
    let title = format!("Whole trace, in % of its {seconds:.3} s:\n");
    let mut parts = vec![title, draw(&domains(names, total), view)];
    if let Some(unknown) = unknown(names, total) {
        parts.push(unknown);
    }
    let residence = residence(names, total, places, view);
    if !residence.is_empty() {
        parts.push(residence);
    }
    let drivers = drivers(names, total, weight);
    if !drivers.is_empty() {
        parts.push(draw(&drivers, view));
    }
    if let Some(untold) = untold(total) {
        parts.push(format!("{untold}\n"));
    }
    let mut last = String::new();
    if let Some(wait) = total.longest_wait {
        last += &format!("longest wait: {}\n", waited(names, &wait));
    }
    if total.lost_records > 0 {
        last += &format!("lost records: {}\n", total.lost_records);
    }
    parts.extend(Some(last).filter(|last| !last.is_empty()));
    parts.join("\n")
}

/// Where vcpus ran, on a host of several pcpus.
fn residence(
    names: &DomainNames,
    total: &IntervalSample,
    places: Option<&HostPlaces>,
    view: &View,
) -> String {
    let of_domains = total.parts.iter().filter(|part| !part.vcpu.is_idle());
    let of_domains: Vec<_> = of_domains.collect();
    let vcpus = of_domains.chunk_by(|a, b| a.vcpu == b.vcpu).map(|parts| {
        let vcpu = parts[0].vcpu;
        let ran = parts.iter().map(|part| (part.pcpu, part.figures.gotten));
        // Sums of intervals know of no moves.
        let ran = Residence::of(ran, []);
        (names.vcpu(vcpu), RanWhere::new(vcpu, &ran, places))
    });
    let pcpus = places.map_or(total.pcpus().len(), |p| p.topology.pcpus());
    text::page::sections(
        residence::section(&vcpus.collect::<Vec<_>>(), pcpus, None).as_slice(),
        view,
    )
}

fn domains(names: &DomainNames, total: &IntervalSample) -> Table {
    let each = |key: &'static str| tables::number(key, "ns").title("per execution");
    // Most hosts park nobody.
    let parked = total.domains.iter().any(|d| d.figures.parked > 0);
    let mut columns = vec![
        tables::name("domain"),
        share("gotten"),
        each("gotten_each_ns").optional(),
        tables::number("allocated", "ns"),
        share("waited"),
        each("waited_each_ns").optional(),
        share("blocked"),
    ];
    columns.extend(parked.then(|| share("parked")));
    columns.push(tables::number("executions", "1/s"));
    columns.push(tables::number("I/O", "1/s"));
    let mut table = Table::new("", columns);
    let time = total.length() as f64;
    let passed = total.passed.iter().map(|(_, ns)| *ns).max();
    let time = passed.map_or(time, |ns| ns as f64).max(1.0);
    let has_io = total.tells.packets || total.tells.grants;
    for domain in &total.domains {
        let f = &domain.figures;
        let percent = |ns: u64| Cell::Number(ns as f64 * 100.0 / time);
        let each = |ns: u64| {
            let executions = Some(f.executions).filter(|count| *count > 0);
            Cell::from(executions.map(|count| ns as f64 / count as f64))
        };
        let a_second = |count: u64| count as f64 * 1e9 / time;
        let mut row = vec![
            names.domain(domain.id).into(),
            percent(f.gotten),
            each(f.gotten),
            each(f.allocated),
            percent(f.waited),
            each(f.waited),
            percent(f.blocked),
        ];
        row.extend(parked.then(|| percent(f.parked)));
        row.push(a_second(f.executions).into());
        row.push((has_io || f.io > 0).then(|| a_second(f.io)).into());
        table.row(row);
    }
    table
}

/// Time of domains of which records are missing.
fn unknown(names: &DomainNames, total: &IntervalSample) -> Option<String> {
    let guests = total.domains.iter().filter(|d| d.id != DomainId::IDLE);
    let guests = guests.filter(|d| d.figures.unknown > 0);
    let told = guests.map(|d| {
        let percent = d.figures.unknown as f64 * 100.0 / total.length().max(1) as f64;
        format!("{} {percent:.2}", names.domain(d.id))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("unknown %: {}\n", told.join(", ")))
}

fn drivers(names: &DomainNames, total: &IntervalSample, weight: PacketWeight) -> Table {
    let count = |title| tables::number(title, "").of(Holds::Whole);
    let columns = [
        tables::name("driver domain"),
        tables::name("for"),
        count("packets sent"),
        count("received"),
        share("by packets").optional(),
        share("exact").optional(),
        tables::number("error", "points"),
    ];
    let mut table = Table::new("", columns);
    for of in charges(total, weight) {
        for charge in &of.charges {
            let share = |ns: Option<u64>| {
                let ns = ns.filter(|_| of.used > 0);
                Cell::from(ns.map(|ns| ns as f64 * 100.0 / of.used as f64))
            };
            let packets = |count: u64| total.tells.packets.then_some(count).into();
            table.row([
                names.domain(of.driver).into(),
                names.domain(charge.traffic.guest).into(),
                packets(charge.traffic.sent),
                packets(charge.traffic.received),
                share(charge.estimate),
                share(charge.exact),
                charge.error_points(of.used).into(),
            ]);
        }
    }
    table
}

/// A wait in words: who, how long, where, and behind whom.
fn waited(names: &DomainNames, wait: &QueueWait) -> String {
    let ms = |ns: u64| format!("{:.2} ms", ns as f64 / 1e6);
    let behind = match wait.behind {
        Some((vcpu, ran)) if vcpu.is_idle() => format!(", while it idled for {}", ms(ran)),
        Some((vcpu, ran)) => format!(", behind {} for {}", names.vcpu(vcpu), ms(ran)),
        None => String::new(),
    };
    let goes_on = match wait.goes_on {
        true => ", and lasts",
        false => "",
    };
    format!(
        "{} for {} on pcpu {}{behind}{goes_on}",
        names.vcpu(wait.vcpu),
        ms(wait.length),
        wait.pcpu.0
    )
}
