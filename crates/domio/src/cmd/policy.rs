//! `domio policy`: which policies there are and what they let you set.

use crate::args::{self, Global, PolicyList, PolicyShow};
use crate::out::{self, Status};
use crate::shared::conformance;
use crate::shared::registered::{self, ParamJson};
use domio_contract::{Descriptor, Needs, Promises};
use domio_scenario::Parts;
use serde::Serialize;

/// Runs a subcommand.
pub fn run(command: &args::Policy, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Policy::List(args) => list(args, &global.parts),
        args::Policy::Show(args) => show(args, &global.parts),
        args::Policy::Check(args) => conformance::run(args, global),
    }
}

fn list(args: &PolicyList, parts: &Parts) -> anyhow::Result<Status> {
    let descriptors = parts.policies().iter().map(|p| p.descriptor);
    if args.json {
        out::json(&descriptors.map(PolicyJson::new).collect::<Vec<_>>())?;
        return Ok(Status::Success);
    }
    registered::list("policy", descriptors.map(|d| (d.name, d.summary, d.source)))
}

fn show(args: &PolicyShow, parts: &Parts) -> anyhow::Result<Status> {
    let descriptor = registered::policy(&args.name, parts)?.descriptor;
    if args.json {
        out::json_as("policy-show", &PolicyJson::new(descriptor))?;
        return Ok(Status::Success);
    }
    let (name, summary, source) = (descriptor.name, descriptor.summary, descriptor.source);
    let mut text = format!("{name}: {summary}\nsource: {source}\n");
    text += &format!("needs: {}\n", registered::told(&needs(descriptor.needs)));
    text += &format!(
        "promises: {}\n",
        registered::told(&promises(descriptor.promises))
    );
    text += &registered::tables([
        (
            "Parameters of the policy",
            descriptor.params.iter().collect(),
        ),
        (
            "Parameters of each domain",
            descriptor.domain_params.iter().collect(),
        ),
        (
            "Parameters of each vcpu",
            descriptor.vcpu_params.iter().collect(),
        ),
        (
            "Parameters of each group of domains",
            descriptor.group_params.iter().collect(),
        ),
    ]);
    out::text(&text)?;
    Ok(Status::Success)
}

fn needs(needs: Needs) -> [(&'static str, bool); 4] {
    [
        ("tickle", needs.tickle),
        ("timers", needs.timers),
        ("park", needs.park),
        ("packets", needs.packets),
    ]
}

fn promises(promises: Promises) -> [(&'static str, bool); 8] {
    [
        ("work conserving", promises.work_conserving),
        ("balances", promises.balances),
        ("starvation free", promises.starvation_free),
        ("weights", promises.weights),
        ("caps", promises.caps),
        ("charges", promises.charges),
        ("reservations", promises.reservations),
        ("groups", promises.groups),
    ]
}

#[derive(Serialize)]
struct PolicyJson {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    needs: Vec<String>,
    promises: Vec<String>,
    params: Vec<ParamJson>,
    domain_params: Vec<ParamJson>,
    vcpu_params: Vec<ParamJson>,
    group_params: Vec<ParamJson>,
}

impl PolicyJson {
    fn new(d: &Descriptor) -> Self {
        PolicyJson {
            name: d.name,
            summary: d.summary,
            source: d.source,
            needs: registered::held(&needs(d.needs)),
            promises: registered::held(&promises(d.promises)),
            params: d.params.iter().map(ParamJson::new).collect(),
            domain_params: d.domain_params.iter().map(ParamJson::new).collect(),
            vcpu_params: d.vcpu_params.iter().map(ParamJson::new).collect(),
            group_params: d.group_params.iter().map(ParamJson::new).collect(),
        }
    }
}
