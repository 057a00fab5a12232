//! `domio compare`: one thing changed, and who gains and who pays.

use crate::args::{Compare, Global};
use crate::files::Files;
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::shared::variants::{self, Recording, Variant, What};
use crate::shared::{host, pictures};
use domio_answer::Table;
use domio_core::DomainId;
use domio_front::comparison::{self, ComparedVariants, VariantRow};
use domio_front::hosts;
use domio_report::data::{ReportData, Section};
use domio_report::{driver_work as work, observed, run_answer, samples, text};
use domio_run::Sample;
use domio_run::measure::Measures;
use domio_scenario::{Built, Scenario};
use domio_stats::compare::VariantFigure;

/// Measures every variant, prints the tables and draws them.
pub fn run(args: &Compare, global: &Global) -> anyhow::Result<Status> {
    let variants = variants::all(args, &global.parts)?;
    let measures = Measures::from(&global.parts);
    if !args.json && !args.csv {
        out::knows(&text::compare::columns(&measures, &labels(&variants)))?;
    }
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
    let of = compared(args, &variants, notices);
    let measured_ms = first.map_or(0.0, hosts::measured_ms);
    let compared = of.with(&measures, &all_domains(&variants), &samples, measured_ms);
    match args.csv {
        true => {
            let figures = Table::of("", &compared.measures);
            out::csv(&figures.flat())?;
        }
        false => out::answer(
            args.json,
            || compared.answer(),
            || to_text(&measures, &compared),
        )?,
    }
    if draws {
        let mut drawn = draw(args, &measures, &variants, &samples, compared.driver_work());
        drawn.overview = vec![Section {
            title: "Who gains and who pays".to_owned(),
            text: gains(&compared),
            figures: Vec::new(),
        }];
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
    let told = host.and_then(|(_, built)| run_answer::starvation(built, samples));
    told.into_iter().collect()
}

/// Of each host whose only change to the first is a release that changes nothing there.
fn same_releases(variants: &[Variant]) -> Vec<String> {
    let mut plans = variants.iter().filter_map(Variant::host);
    let first = plans.next();
    let alike = plans.filter_map(|(other, _)| first?.0.plan().alike(other.plan()));
    alike.collect()
}

/// The domains of all variants: those of the first, and further ones of the others.
fn all_domains(variants: &[Variant]) -> Vec<(DomainId, String)> {
    comparison::all_domains(variants.iter().map(Variant::domains))
}

fn names(domains: &[(DomainId, String)]) -> Vec<String> {
    domains.iter().map(|(_, name)| name.clone()).collect()
}

fn labels(variants: &[Variant]) -> Vec<String> {
    variants.iter().map(|v| v.label.clone()).collect()
}

fn to_text(measures: &Measures, compared: &ComparedVariants) -> String {
    let labels = compared.labels();
    let last = match compared.replications {
        1 => "One replication: no intervals. Ask for more with --replications.\n",
        _ => {
            "Means with 95 % intervals; + better and - worse than the first variant beyond them.\n"
        }
    };
    let gains = text::gains::render(&labels, &compared.changes);
    let tables = text::compare::render(measures, &compared.measures, &labels, out::view());
    format!("{gains}\n{tables}{last}")
}

/// Who gains and who pays, a line each.
fn gains(compared: &ComparedVariants) -> String {
    let found = text::gains::findings(&compared.labels(), &compared.changes);
    let lines: Vec<String> = found.into_iter().map(|sentence| sentence.text).collect();
    lines.join("\n")
}

/// What is compared.
fn compared(args: &Compare, variants: &[Variant], notices: Vec<String>) -> ComparedVariants {
    let variant = |v: &Variant| VariantRow {
        label: v.label.clone(),
        source: v.source.clone(),
        recorded: v.host().is_none(),
        policy: v.policy().map(Into::into),
        changes: v.changes.clone(),
    };
    let first = variants.iter().find_map(Variant::host);
    let scenario = first.map_or(args.scenarios[0].as_str(), |(scenario, _)| scenario.name());
    ComparedVariants {
        scenario: scenario.to_owned(),
        variants: variants.iter().map(variant).collect(),
        seed: first.map_or(args.how.seed.unwrap_or(1), |(_, built)| built.seed),
        replications: args.how.replications,
        notices,
        ..ComparedVariants::default()
    }
}

fn draw(
    args: &Compare,
    measures: &Measures,
    variants: &[Variant],
    samples: &[(String, Vec<Sample>)],
    driver_work: &[VariantFigure],
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
        figures: samples::figures(measures, &members, &domains),
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
