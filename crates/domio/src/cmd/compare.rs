//! `domio compare`: one scenario under several policies.

use crate::args::{Compare, Global, How};
use crate::cmd::{pictures, policy, run, scenario};
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use anyhow::bail;
use domio_core::DomainId;
use domio_lab::compare::Comparison;
use domio_lab::driver_work::{self, OwnersOnly};
use domio_lab::measure::{self, Measure};
use domio_lab::simulate::{self, RunFault, domains};
use domio_lab::store::{Keeper, KeptRow, Subject};
use domio_lab::{Progress, Sample};
use domio_report::data::{ReportData, Section};
use domio_report::driver_work as work;
use domio_report::{figure, observed, samples, text};
use domio_scenario::{Built, Scenario};
use domio_sched::{Descriptor, Policy};
use serde_json::{Value, json};

/// Runs the scenario under each policy, prints the tables and draws them.
pub fn run(args: &Compare, global: &Global) -> anyhow::Result<Status> {
    if args.policies.len() < 2 {
        bail!("one policy cannot be compared; give --policy at least twice");
    }
    let mut hosts: Vec<(Scenario, Built)> = Vec::new();
    for name in &args.policies {
        let how = how_of(name, args)?;
        let scenario = run::load(&args.scenario, &how, Some(name))?;
        let built = run::build(&scenario)?;
        hosts.push((scenario, built));
    }
    let draws = args.drawn.draws(&args.reporting, &hosts[0].1)?;
    let shown = run::shown("compare", &args.scenario, &args.how, &args.policies);
    let files = scenario::files(&hosts[0].0);
    let report = run::report_beside(files, &args.reporting, &shown)?;
    let keeper = keeping::keeper(&args.keeping)?;
    let samples = simulate_all(&hosts, args.how.replications, &keeper, &*progress(global));
    keeping::tell(&keeper, &args.keeping);
    let samples = samples.map_err(|fault| run::failed(&fault))?;
    let policies: Vec<(String, Vec<Sample>)> = args.policies.iter().cloned().zip(samples).collect();
    let first = &hosts[0].1;
    let domains = domains(first);
    let tables = Tables {
        measures: measure::comparisons(&names(&domains), &policies),
        driver_work: driver_work::comparisons(&domains, &policies, run::measured_ms(first)),
    };
    match args.json {
        true => out::json(&to_json(args, &hosts[0], &tables))?,
        false => out::text(&to_text(&tables, args.how.replications))?,
    }
    if draws {
        let mut drawn = draw(args, &hosts[0], &policies, &tables.driver_work);
        drawn.sections.extend(watched(args, &hosts)?);
        let files = scenario::files(&hosts[0].0);
        pictures::write(args.drawn.figures.as_deref(), &drawn, files)?;
        if let Some(to) = report {
            to.write(drawn)?;
        }
    }
    Ok(Status::Success)
}

/// The waits under each policy, and the moments around the longest.
fn watched(args: &Compare, hosts: &[(Scenario, Built)]) -> anyhow::Result<Vec<Section>> {
    let mut seen = Vec::new();
    for (name, (scenario, built)) in args.policies.iter().zip(hosts) {
        let watched = pictures::watch(scenario, built, args.drawn.watched());
        seen.push((name.clone(), watched.map_err(|fault| run::failed(&fault))?));
    }
    Ok(observed::compared(&seen, &domains(&hosts[0].1)))
}

/// How `name` is run: without the parameters of `--set` that another policy has and it has not.
fn how_of(name: &str, args: &Compare) -> anyhow::Result<How> {
    let all: Result<Vec<_>, _> = args.policies.iter().map(|n| policy::named(n)).collect();
    let (all, own) = (all?, policy::named(name)?);
    let mut how = args.how.clone();
    how.set.retain(|(key, _)| {
        let param = key.rsplit('.').next().unwrap_or(key);
        let strange = !has(own, key, param) && all.iter().any(|p| has(p, key, param));
        if strange {
            let name = own.descriptor.name;
            out::message(&format!(
                "notice: --set {key} is left out, {name} has no such parameter"
            ));
        }
        !strange
    });
    Ok(how)
}

/// Whether `key` sets parameter `param` of `policy`.
fn has(policy: &Policy, key: &str, param: &str) -> bool {
    let Descriptor {
        params,
        domain_params,
        ..
    } = policy.descriptor;
    let specs = match key.starts_with("scheduler.") {
        true => params,
        false => domain_params,
    };
    specs.iter().any(|spec| spec.name == param)
}

/// Samples by policy, one a replication.
fn simulate_all(
    hosts: &[(Scenario, Built)],
    replications: u32,
    keeper: &Keeper,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Sample>>, RunFault> {
    let subjects = hosts.iter().map(|(s, _)| Subject::of_scenario(s).ok());
    let subjects: Vec<Option<Subject>> = subjects.collect();
    let jobs: Vec<(&(Scenario, Built), Option<&Subject>, u32)> = hosts
        .iter()
        .zip(&subjects)
        .flat_map(|(host, subject)| (0..replications).map(move |n| (host, subject.as_ref(), n)))
        .collect();
    let results = keeper.on_all_cores(
        &jobs,
        |((_, built), subject, n)| {
            Some(KeptRow {
                subject: (*subject)?,
                seed: built.seed,
                replication: *n,
            })
        },
        |((_, built), ..)| built.policy.descriptor.name,
        progress,
        |((scenario, built), _, n)| {
            simulate::measured(&*run::of_replication(scenario, built, *n)?, *n, OwnersOnly)
        },
    );
    let samples = results.into_iter().map(|result| Ok(result?.0));
    let samples = samples.collect::<Result<Vec<Sample>, RunFault>>()?;
    let by_policy = samples.chunks(replications as usize);
    Ok(by_policy.map(<[Sample]>::to_vec).collect())
}

/// What is compared, policies by domains.
struct Tables {
    measures: Vec<(Measure, Comparison)>,
    /// By driver domain, whose name it is.
    driver_work: Vec<(String, Comparison)>,
}

fn names(domains: &[(DomainId, String)]) -> Vec<String> {
    domains.iter().map(|(_, name)| name.clone()).collect()
}

fn to_text(tables: &Tables, replications: u32) -> String {
    let mut text = String::new();
    for (measure, table) in &tables.measures {
        let title = figure::heading(measure.title, measure.unit);
        text += &format!("{title}\n\n{}\n", text::compare::render(table, out::view()));
    }
    for (driver, table) in &tables.driver_work {
        let table = text::compare::render(table, out::view());
        text += &format!("work of {driver} for others\n\n{table}\n");
    }
    text + match replications {
        1 => "One replication: no intervals. Ask for more with --replications.\n",
        _ => "Means with 95 % intervals; + better and - worse than the first policy beyond them.\n",
    }
}

fn to_json(args: &Compare, (scenario, built): &(Scenario, Built), tables: &Tables) -> Value {
    let table = |(measure, table): &(Measure, Comparison)| {
        json!({
            "measure": measure.key,
            "title": measure.title,
            "unit": measure.unit,
            "table": table,
        })
    };
    let mut json = json!({
        "scenario": scenario.name(),
        "policies": args.policies,
        "seed": built.seed,
        "replications": args.how.replications,
        "measures": tables.measures.iter().map(table).collect::<Vec<_>>(),
    });
    if !tables.driver_work.is_empty() {
        let work = tables.driver_work.iter();
        let work = work.map(|(driver, table)| json!({ "driver": driver, "table": table }));
        json["driver_work"] = work.collect();
    }
    json
}

fn draw(
    args: &Compare,
    (scenario, built): &(Scenario, Built),
    policies: &[(String, Vec<Sample>)],
    driver_work: &[(String, Comparison)],
) -> ReportData {
    let members: Vec<(String, &[Sample])> = policies
        .iter()
        .map(|(name, samples)| (name.clone(), samples.as_slice()))
        .collect();
    let domains = self::names(&domains(built));
    let names = args.policies.join(", ");
    let mut sections = vec![Section {
        title: "Domains by policy".to_owned(),
        text: String::new(),
        figures: samples::figures(&members, &domains),
    }];
    sections.extend(work::compared(driver_work, &domains));
    ReportData {
        name: format!("{} {}", scenario.name(), args.policies.join(" ")),
        title: format!("{}: {names}", run::title(scenario)),
        lead: scenario.plan().description.clone().unwrap_or_default(),
        provenance: run::provenance(scenario, built, &names, args.how.replications),
        overview: Vec::new(),
        ledger: None,
        sections,
    }
}
