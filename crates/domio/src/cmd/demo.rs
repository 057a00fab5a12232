//! `domio demo`: what domio does, on one screen. Each step shows the command that makes it.

use crate::args::{Demo, Global};
use crate::files::Files;
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::report::{self, ReportKey};
use crate::shared::pictures::{self, TIMELINE};
use anyhow::{Context, anyhow};
use domio_front::comparison::{self, ComparedVariants};
use domio_front::papers::Chosen;
use domio_front::{explained, hosts, recordings, validated};
use domio_lab::{AllCores, Keeper, Keeping, ProgressListener};
use domio_papers::ledger::{Check, ClaimResult, LedgerEntry};
use domio_papers::paper::{Length, Machine};
use domio_papers::reproduce::{Options, reproduce};
use domio_papers::{Effort, experiments};
use domio_report::data::{ReportData, Section};
use domio_report::explained::Explained;
use domio_report::text::gains;
use domio_report::{observed, samples};
use domio_run::Sample;
use domio_run::measure::Measures;
use domio_run::observe::Window;
use domio_run::simulate::domains;
use domio_scenario::{Built, Parts, Scenario, example};
use domio_validate::Judgement;

/// The host that is looked at.
const SCENARIO: &str = "small-host";
/// The guest whose waits are explained.
const GUEST: &str = "web.0";
/// The schedulers: the second against the first.
const POLICIES: [&str; 2] = ["round-robin", "credit"];
/// Replications behind each figure.
const REPLICATIONS: u32 = 10;
/// Lines of who gains and who pays.
const GAINS: usize = 4;
/// A finding that holds, and takes a moment.
const CLAIM: &str = "ongaro.fig4.no-boost";

/// A step: what it shows, the command that makes it, and what came out.
struct Step {
    title: &'static str,
    command: String,
    lines: Vec<String>,
}

/// Takes the steps, prints them and writes the page.
pub fn run(args: &Demo, global: &Global) -> anyhow::Result<Status> {
    let mut files = Files::reading(std::iter::empty()).forced(args.reporting.force);
    files.prints()?;
    let named = args.reporting.report.as_ref().and_then(Option::as_deref);
    let force = args.reporting.force;
    let page = report::begin(&mut files, named, force, &ReportKey::new("demo", &[]))?;
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let progress = progress(global);
    let hosts = built(&global.parts)?;
    let (compared, mut sections) = compare(&hosts, &global.parts, &keeper, &*progress)?;
    let claim = claim(&global.parts, &keeper, &*progress)?;
    let steps = [
        compared,
        explain(&hosts[1], &keeper, &*progress)?,
        validate(&*progress)?,
        claim,
    ];
    let texts = steps.iter().zip(1..).map(|(step, n)| step.text(n));
    let yours = YOURS.map(|line| out::view().paragraph("   ", line));
    out::text(&(texts.collect::<String>() + "5. Your own host\n" + &yours.concat()))?;
    sections.splice(0..0, steps.iter().map(Step::section));
    page.write(shown(&hosts[1].0, sections))?;
    Ok(Status::Success)
}

/// How to continue with the user's host.
const YOURS: [&str; 3] = [
    "$ domio explain TRACE, of xentrace, `perf sched record` or `trace-cmd`",
    "without a trace: `domio scenario from-lists` of what `xl` prints, `domio scenario import` of \
     libvirt's XML",
    "docs/slow-guest.md leads from a symptom to a command.",
];

impl Step {
    fn text(&self, number: usize) -> String {
        let view = out::view();
        let mut text = format!("{number}. {}\n   $ {}\n", self.title, self.command);
        for line in &self.lines {
            text += &view.paragraph("   ", line);
        }
        text
    }

    /// The lines as sentences.
    fn sentences(&self) -> String {
        let ended = |line: &String| match line.ends_with('.') {
            true => line.clone(),
            false => format!("{line}."),
        };
        self.lines.iter().map(ended).collect::<Vec<_>>().join(" ")
    }

    fn section(&self) -> Section {
        Section {
            title: self.title.to_owned(),
            text: format!("{} Command: `{}`.", self.sentences(), self.command),
            figures: Vec::new(),
        }
    }
}

/// The host under each scheduler.
fn built(parts: &Parts) -> anyhow::Result<Vec<(Scenario, Built)>> {
    let text = example(SCENARIO).unwrap_or_default();
    let scenario = Scenario::parse(SCENARIO, text.as_bytes(), parts)?;
    let host = |policy: &&str| {
        let scenario = scenario.with(&[("scheduler.policy", *policy)])?;
        let built = hosts::build(&scenario)?;
        Ok((scenario, built))
    };
    POLICIES.iter().map(host).collect()
}

/// Who gains and who pays, and pictures of both hosts.
fn compare(
    hosts: &[(Scenario, Built)],
    parts: &Parts,
    keeper: &Keeper,
    progress: &dyn ProgressListener,
) -> anyhow::Result<(Step, Vec<Section>)> {
    let all: Vec<&(Scenario, Built)> = hosts.iter().collect();
    let measured = comparison::samples(&all, REPLICATIONS, keeper, progress);
    let measured = measured.map_err(|fault| hosts::failed(&fault))?;
    let labels = POLICIES.map(str::to_owned);
    let labelled: Vec<(String, Vec<Sample>)> = labels.iter().cloned().zip(measured).collect();
    let of = domains(&hosts[0].1);
    let measures = Measures::from(parts);
    let length = hosts::measured_ms(&hosts[0].1);
    let compared = ComparedVariants::default().with(&measures, &of, &labelled, length);
    let changes: Vec<_> = compared.changes.iter().collect();
    let lines = gains::lines(&changes).into_iter();
    let told = lines.filter_map(|(gains, line)| {
        let side = gains::side(gains?).trim_end();
        Some(format!("{side} {line}"))
    });
    let mut seen = Vec::new();
    for (label, (scenario, built)) in labels.iter().zip(hosts) {
        let watched = pictures::watch(scenario, built, Window::Worst(TIMELINE));
        seen.push((
            label.clone(),
            watched.map_err(|fault| hosts::failed(&fault))?,
        ));
    }
    let members: Vec<(String, &[Sample])> = labelled
        .iter()
        .map(|(label, samples)| (label.clone(), samples.as_slice()))
        .collect();
    let names: Vec<String> = of.iter().map(|(_, name)| name.clone()).collect();
    let mut sections = vec![Section {
        title: format!("A small host under {}", POLICIES.join(" and ")),
        text: hosts[0].0.plan().description.clone().unwrap_or_default(),
        figures: samples::figures(&measures, &members, &names),
    }];
    sections.extend(observed::compared(&seen, &of));
    let step = Step {
        title: "Another scheduler: who gains, who pays",
        command: format!(
            "domio compare {SCENARIO} --policy {} --policy {} --replications {REPLICATIONS}",
            POLICIES[0], POLICIES[1]
        ),
        lines: told.take(GAINS).collect(),
    };
    Ok((step, sections))
}

/// Why a guest waits.
fn explain(
    (scenario, built): &(Scenario, Built),
    keeper: &Keeper,
    progress: &dyn ProgressListener,
) -> anyhow::Result<Step> {
    let mut explanation = explained::sum(scenario, built, 1, keeper, progress)?;
    let names = domains(built);
    explained::restrict(&mut explanation, &names, &[], [&[GUEST.to_owned()], &[]])?;
    Ok(Step {
        title: "Why its web server waits",
        command: format!("domio explain {SCENARIO} --vcpu {GUEST}"),
        lines: Explained::new(&explanation, &names).worst().0,
    })
}

/// How far recordings of real hosts agree.
fn validate(progress: &dyn ProgressListener) -> anyhow::Result<Step> {
    let found = recordings::find(&[], false)?.into_iter();
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let agreements = recordings::agreements(&found, false, &AllCores(progress)).into_iter();
    let agreements = agreements.collect::<Result<Vec<_>, _>>()?;
    let differ = recordings::count(&agreements, Judgement::Differs);
    let figures = agreements.iter().flat_map(|a| &a.domains);
    let figures = figures.flat_map(|domain| &domain.figures);
    let agree = figures.filter(|f| f.compared.verdict == Judgement::Agrees);
    let mut lines = vec![format!(
        "{}: {} shares, runs, waits and switches lie within forty simulations of each host.",
        validated::summary(&agreements),
        agree.count()
    )];
    if differ > 0 {
        lines.extend(agreements.iter().flat_map(validated::remarks));
    }
    Ok(Step {
        title: "Recordings of real hosts against simulations",
        command: "domio validate".to_owned(),
        lines,
    })
}

/// What a paper states, decided.
fn claim(parts: &Parts, keeper: &Keeper, progress: &dyn ProgressListener) -> anyhow::Result<Step> {
    let chosen = Chosen::of(&[CLAIM.to_owned()], parts)?;
    let claims = chosen.claims()?;
    let selected = claims.select(&chosen.prefixes)?;
    let length = Length::Effort(Effort::Quick);
    let registry = experiments::of(&chosen.papers, length, &Machine::central());
    let registry = registry.map_err(|e| anyhow!("the paper has mistakes:\n{e}"))?;
    let replicator = Keeping { keeper, progress };
    let ledger = reproduce(&selected, &registry, Options::headlines(1), &replicator).ledger;
    let entry = ledger.entries.first().context("the claim of the demo")?;
    Ok(Step {
        title: "A published finding",
        command: format!("domio reproduce {CLAIM}"),
        lines: vec![finding(entry)],
    })
}

fn finding(LedgerEntry { claim, finding }: &LedgerEntry) -> String {
    let ClaimResult { checks, .. } = finding;
    let check = finding.decisive().or_else(|| checks.first());
    format!(
        "Ongaro, Cox and Rixner, VEE 2008, {}: {}. Here: {}. The claim {}.",
        claim.place,
        claim.expect,
        check.map(Check::found).unwrap_or_default(),
        match finding.verdict.name() {
            "undecided" => "is undecided",
            verdict => verdict,
        }
    )
}

/// The page.
fn shown(scenario: &Scenario, sections: Vec<Section>) -> ReportData {
    ReportData {
        name: "demo".to_owned(),
        title: "domio: which guests run, which wait, and why".to_owned(),
        lead: "A laboratory for the scheduling of virtual machines: a small host under two \
               schedulers, why its web server waits, recordings of real hosts, and a published \
               finding."
            .to_owned(),
        papers: Vec::new(),
        provenance: vec![
            (
                "version".to_owned(),
                format!("domio {}", env!("CARGO_PKG_VERSION")),
            ),
            ("scenario".to_owned(), scenario.name().to_owned()),
            ("replications".to_owned(), REPLICATIONS.to_string()),
        ],
        overview: Vec::new(),
        sections,
        ledger: None,
    }
}
