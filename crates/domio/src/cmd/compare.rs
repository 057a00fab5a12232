//! `domio compare`: one thing changed, and who gains and who pays.

use crate::args::{Compare, Global};
use crate::files::Files;
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::shared::variants::{self, Recording, Variant, What};
use crate::shared::{host, pictures};
use domio_core::{DomainId, Figure};
use domio_front::comparison::{self, ComparedTables, ComparedVariants, VariantJson};
use domio_front::hosts;
use domio_report::data::{Quantity, ReportData, Section};
use domio_report::driver_work as work;
use domio_report::text::{Sort, View};
use domio_report::{csv, figure, observed, run_json, samples, text};
use domio_run::Sample;
use domio_scenario::{Built, Scenario};
use domio_stats::compare::Comparison;
use serde_json::Value;

/// Measures every variant, prints the tables and draws them.
pub fn run(args: &Compare, global: &Global) -> anyhow::Result<Status> {
    let variants = variants::all(args, &global.parts)?;
    let hosts: Vec<&(Scenario, Built)> = variants.iter().filter_map(Variant::host).collect();
    let first = hosts.first().map(|(_, built)| built);
    let draws = args.drawn.draws(&args.reporting, first)?;
    let shown = host::shown("compare", &args.scenarios, &args.how, &args.policies);
    let shown = args
        .labels
        .iter()
        .fold(shown, |shown, label| shown.with("--label", label));
    let inputs = || {
        let read = Files::reading(variants.iter().flat_map(Variant::inputs));
        read.forced(args.reporting.force)
    };
    let report = host::report_beside(inputs(), &args.reporting, &shown)?;
    let mut notices = variants::notices(&variants);
    notices.iter().for_each(|notice| out::notice(notice));
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let samples = comparison::samples(&hosts, args.how.replications, &keeper, &*progress(global));
    keeping::tell(&keeper, &args.keeping);
    let samples = with_recordings(&variants, samples.map_err(|fault| hosts::failed(&fault))?);
    let starved = variants::merged(&variants, |index| {
        starved(&variants[index], &samples[index].1)
    });
    let later = starved.into_iter().chain(same_releases(&variants));
    for notice in later {
        out::notice(&notice);
        notices.push(notice);
    }
    let domains = all_domains(&variants);
    let measured_ms = first.map_or(0.0, hosts::measured_ms);
    let tables = ComparedTables::of(&domains, &samples, measured_ms);
    match (args.json, args.csv) {
        (true, _) => out::json_as("compare", &to_json(args, &variants, &tables, &notices))?,
        (_, true) => out::text(&to_csv(&tables))?,
        _ => out::text(&to_text(&variants, &tables, args.how.replications))?,
    }
    if draws {
        let mut drawn = draw(args, &variants, &samples, &tables.driver_work);
        drawn.sections.extend(watched(args, &variants)?);
        pictures::write(args.drawn.figures.as_deref(), &drawn, inputs())?;
        if let Some(to) = report {
            to.write(drawn)?;
        }
    }
    Ok(Status::Success)
}

/// The waits of each host, and the moments around the longest.
fn watched(args: &Compare, variants: &[Variant]) -> anyhow::Result<Vec<Section>> {
    let mut seen = Vec::new();
    for variant in variants {
        if let Some((scenario, built)) = variant.host() {
            let watched = pictures::watch(scenario, built, args.drawn.watched());
            let watched = watched.map_err(|fault| hosts::failed(&fault))?;
            seen.push((variant.label.clone(), watched));
        }
    }
    Ok(observed::compared(&seen, &all_domains(variants)))
}

/// The samples of all variants, with their labels: those of the hosts, and of each recording its
/// one.
fn with_recordings(
    variants: &[Variant],
    simulated: Vec<Vec<Sample>>,
) -> Vec<(String, Vec<Sample>)> {
    let mut simulated = simulated.into_iter();
    let of = |variant: &Variant| {
        let samples = match &variant.what {
            What::Host(_) => simulated.next().unwrap_or_default(),
            What::Recording(Recording { sample, .. }) => vec![sample.clone()],
        };
        (variant.label.clone(), samples)
    };
    variants.iter().map(of).collect()
}

/// What to say of those domains of `variant` that never ran.
fn starved(variant: &Variant, samples: &[Sample]) -> Vec<String> {
    let host = variant.host();
    let told = host.and_then(|(_, built)| run_json::starvation(built, samples));
    told.into_iter().collect()
}

/// Of each host whose only change to the first is a release that changes nothing there.
fn same_releases(variants: &[Variant]) -> Vec<String> {
    let mut plans = variants.iter().filter_map(Variant::host);
    let first = plans.next();
    let alike = plans.filter_map(|(other, _)| first?.0.plan().alike(other.plan()));
    alike.collect()
}

/// The domains of all variants: those of the first, and what others have besides.
fn all_domains(variants: &[Variant]) -> Vec<(DomainId, String)> {
    comparison::all_domains(variants.iter().map(Variant::domains))
}

fn names(domains: &[(DomainId, String)]) -> Vec<String> {
    domains.iter().map(|(_, name)| name.clone()).collect()
}

fn labels(variants: &[Variant]) -> Vec<String> {
    variants.iter().map(|v| v.label.clone()).collect()
}

fn to_text(variants: &[Variant], tables: &ComparedTables, replications: u32) -> String {
    let mut text = text::gains::render(&labels(variants), &tables.changes) + "\n";
    // What people feel comes first, then the causes.
    let mut measures: Vec<&(&Figure, Comparison)> = tables.measures.iter().collect();
    measures.sort_by_key(|(measure, _)| measure.felt.rank());
    let (shown, view) = asked(&measures, out::view());
    let order = order(&measures, out::view());
    for (measure, table) in shown {
        let title = figure::title(measure.title, measure.unit);
        let table = table.in_order(&order);
        let table = text::compare::render(&table, "domain", &view);
        text += &format!("{title}\n\n{table}\n");
    }
    for (driver, table) in &tables.driver_work {
        let table = text::compare::render(table, "for", &view);
        text += &format!("work of {driver} for others [% of one pcpu]\n\n{table}\n");
    }
    text + match replications {
        1 => "One replication: no intervals. Ask for more with --replications.\n",
        _ => {
            "Means with 95 % intervals; + better and - worse than the first variant beyond them.\n"
        }
    }
}

/// The tables that the words of `--columns` name, and how they are shown: words that name no table
/// name variants.
fn asked<'t>(
    tables: &[&'t (&'static Figure, Comparison)],
    view: &View,
) -> (Vec<&'t (&'static Figure, Comparison)>, View) {
    let named =
        |word: &String, (measure, _): &(&Figure, Comparison)| View::is_title(word, measure.title);
    let is_table = |word: &&String| tables.iter().any(|table| named(word, table));
    let words: Vec<&String> = view.columns.iter().filter(is_table).collect();
    let wanted = |table: &&&(&Figure, Comparison)| words.iter().any(|word| named(word, table));
    let shown = match words.is_empty() {
        true => tables.to_vec(),
        false => tables.iter().filter(wanted).copied().collect(),
    };
    words.iter().for_each(|word| view.is_found(word));
    let mut view = view.clone();
    view.columns.retain(|word| !is_table(&word));
    let sorts_by_figure = |sort: &Sort| {
        let titles = tables.iter().map(|(measure, _)| measure.title);
        titles
            .into_iter()
            .any(|title| View::is_title(&sort.column, title))
    };
    if view.sort.as_ref().is_some_and(sorts_by_figure) {
        view.is_sorted();
        view.sort = None;
    }
    (shown, view)
}

/// Places of the domains in the order that `--sort` asks for by the name of a figure: that of the
/// first variant. Those without the figure come last.
fn order(tables: &[&(&Figure, Comparison)], view: &View) -> Vec<usize> {
    let count = tables.first().map_or(0, |(_, table)| table.metrics.len());
    let mut order: Vec<usize> = (0..count).collect();
    let Some(sort) = &view.sort else {
        return order;
    };
    let mut named = tables.iter();
    let named = named.find(|(measure, _)| View::is_title(&sort.column, measure.title));
    let first = named.and_then(|(_, table)| table.rows.first());
    let value = |index: usize| first.and_then(|row| Some(row.cells[index]?.estimate.mean));
    order.sort_by(|a, b| match (value(*a), value(*b)) {
        (Some(a), Some(b)) if sort.descending => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    order
}

fn to_csv(tables: &ComparedTables) -> String {
    let measures = tables.measures.iter();
    let measures =
        measures.map(|(measure, table)| (Quantity::new(measure.title, measure.unit), table));
    let work = tables.driver_work.iter();
    let work = work.map(|(driver, table)| {
        let title = format!("work of {driver} for others");
        (Quantity::new(&title, "% of one pcpu"), table)
    });
    csv::compared(measures.chain(work))
}

fn to_json(
    args: &Compare,
    variants: &[Variant],
    tables: &ComparedTables,
    notices: &[String],
) -> Value {
    let variant = |v: &Variant| VariantJson {
        label: v.label.clone(),
        source: v.source.clone(),
        recorded: v.host().is_none(),
        policy: v.policy(),
        changes: v.changes.clone(),
    };
    let first = variants.iter().find_map(Variant::host);
    let of = ComparedVariants {
        scenario: first.map_or(args.scenarios[0].as_str(), |(scenario, _)| scenario.name()),
        variants: variants.iter().map(variant).collect(),
        seed: first.map_or(args.how.seed.unwrap_or(1), |(_, built)| built.seed),
        replications: args.how.replications,
        notices,
    };
    comparison::to_json(&of, tables)
}

fn draw(
    args: &Compare,
    variants: &[Variant],
    samples: &[(String, Vec<Sample>)],
    driver_work: &[(String, Comparison)],
) -> ReportData {
    let members: Vec<(String, &[Sample])> = samples
        .iter()
        .map(|(name, samples)| (name.clone(), samples.as_slice()))
        .collect();
    let domains = names(&all_domains(variants));
    let names = labels(variants).join(", ");
    let mut sections = vec![Section {
        title: "Domains by variant".to_owned(),
        text: String::new(),
        figures: samples::figures(&members, &domains),
    }];
    sections.extend(work::compared(driver_work, &domains));
    let first = variants.iter().find_map(Variant::host);
    let title = first.map_or_else(|| args.scenarios.join(", "), |(s, _)| host::title(s));
    let lead = first.and_then(|(s, _)| s.plan().description.clone());
    let provenance = first.map_or_else(Vec::new, |(scenario, built)| {
        host::provenance(scenario, built, &names, args.how.replications)
    });
    ReportData {
        name: format!(
            "{} {}",
            args.scenarios.join(" "),
            labels(variants).join(" ")
        ),
        title: format!("{title}: {names}"),
        lead: lead.unwrap_or_default(),
        provenance,
        overview: Vec::new(),
        ledger: None,
        papers: Vec::new(),
        sections,
    }
}
