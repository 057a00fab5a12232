//! `domio reproduce`: the papers' claims.

use crate::args::{Global, Reproduce};
use crate::out::{self, Status};
use crate::progress::progress;
use anyhow::{Context, anyhow};
use domio_lab::reproduce::{Options, Reproduction, reproduce};
use domio_lab::{Claims, experiments};
use domio_report::data::ReportData;
use domio_report::{html, samples, text};
use std::path::Path;

/// Decides the claims, prints the ledger and writes the report.
pub fn run(args: &Reproduce, global: &Global) -> anyhow::Result<Status> {
    let claims = match &args.claims {
        Some(path) => load(path)?,
        None => Claims::shipped(),
    };
    let selected = claims.select(&args.prefixes)?;
    let options = Options {
        seed: args.seed,
        replications: args.replications,
    };
    let registry = experiments::registry();
    let result = reproduce(&selected, &registry, options, &*progress(global));
    let failed = result.ledger.has_failures();
    match args.json {
        true => out::json(&result.ledger)?,
        false => out::text(&text::ledger::render(&result.ledger, out::width()))?,
    }
    out::write_file(&args.report, html::page(&report(args, result)).as_bytes())?;
    out::message(&format!("wrote {}", args.report.display()));
    Ok(Status::of_check(!failed))
}

fn load(path: &Path) -> anyhow::Result<Claims> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| {
        format!("cannot read {name}; give a TOML file of claims, or leave --claims out")
    })?;
    Claims::parse(&name, &text).map_err(|e| anyhow!("the claims have mistakes:\n{e}"))
}

fn report(args: &Reproduce, result: Reproduction) -> ReportData {
    let replications = match args.replications {
        Some(n) => n.to_string(),
        None => "each experiment's own number".to_owned(),
    };
    let claims = match &args.claims {
        Some(path) => path.display().to_string(),
        None => "shipped".to_owned(),
    };
    let mut command = "domio reproduce".to_owned();
    for prefix in &args.prefixes {
        command += &format!(" {prefix}");
    }
    command += &format!(" --seed {}", args.seed);
    if let Some(n) = args.replications {
        command += &format!(" --replications {n}");
    }
    let fact = |name: &str, fact: String| (name.to_owned(), fact);
    ReportData {
        title: "Published claims, reproduced".to_owned(),
        lead: "What the papers on scheduling virtual machines state, decided by simulation."
            .to_owned(),
        provenance: vec![
            fact("version", format!("domio {}", env!("CARGO_PKG_VERSION"))),
            fact("command", command),
            fact("claims", claims),
            fact("seed", args.seed.to_string()),
            fact("replications", replications),
        ],
        sections: samples::sections(&result.samples),
        ledger: Some(result.ledger),
    }
}
