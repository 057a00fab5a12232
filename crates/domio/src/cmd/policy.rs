//! `domio policy`: which policies there are, what they let you set, and whether one keeps the
//! contract and its promises.

use crate::args::{self, Global, PolicyCheck};
use crate::out::{self, Status};
use crate::shared::choice::Choice;
use crate::shared::registered::{self, Listing, Param, Registered, held, params};
use domio_answer::rows;
use domio_contract::{Descriptor, Needs, Promises};
use domio_front::conformance::SuiteOutcome;
use domio_report::text::table::render;
use domio_scenario::Parts;
use std::borrow::Cow;

rows! {
    /// A policy.
    #[derive(Clone, PartialEq, Debug)]
    pub struct PolicyRow {
        /// Name.
        name: Cow<'static, str> = key("name").title("policy");
        /// What it does.
        summary: Cow<'static, str> = fact("summary").title("what it does");
        /// Where its rules come from.
        source: Cow<'static, str> = fact("source");
        /// What it needs of a host.
        needs: Vec<String> = parts("needs", []);
        /// What it promises.
        promises: Vec<String> = parts("promises", []);
        /// Parameters of the policy.
        params: Vec<Param> = parts("params", []).title("Parameters of the policy");
        /// Parameters of each domain.
        domain_params: Vec<Param> =
            parts("domain_params", []).title("Parameters of each domain");
        /// Parameters of each vcpu.
        vcpu_params: Vec<Param> = parts("vcpu_params", []).title("Parameters of each vcpu");
        /// Parameters of each group of domains.
        group_params: Vec<Param> =
            parts("group_params", []).title("Parameters of each group of domains");
    }
}

/// Runs a subcommand.
pub fn run(command: &args::Policy, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Policy::List(args) => registered::list::<PolicyRow>(args, &global.parts),
        args::Policy::Show(args) => registered::show::<PolicyRow>(args, &global.parts),
        args::Policy::Check(args) => check(args, global),
    }
}

impl Registered for PolicyRow {
    const LIST: Listing = Listing {
        name: "policy-list",
        version: 2,
        doc: "What `domio policy list --json` prints.",
        key: "policies",
        rows: "The policies, in the order of lists.",
    };
    const SHOW: (&'static str, u32, &'static str) =
        ("policy-show", 2, "What `domio policy show --json` prints.");

    fn all(parts: &Parts) -> Vec<Self> {
        let all = parts.policies().iter();
        all.map(|policy| PolicyRow::from(policy.descriptor))
            .collect()
    }

    fn named(name: &str, parts: &Parts) -> anyhow::Result<Self> {
        Ok(registered::policy(name, parts)?.descriptor.into())
    }
}

impl From<&Descriptor> for PolicyRow {
    fn from(d: &Descriptor) -> Self {
        PolicyRow {
            name: d.name.into(),
            summary: d.summary.into(),
            source: d.source.into(),
            needs: needs(d.needs),
            promises: promises(d.promises),
            params: params(d.params),
            domain_params: params(d.domain_params),
            vcpu_params: params(d.vcpu_params),
            group_params: params(d.group_params),
        }
    }
}

fn needs(needs: Needs) -> Vec<String> {
    held([
        ("tickle", needs.tickle),
        ("timers", needs.timers),
        ("park", needs.park),
        ("packets", needs.packets),
    ])
}

fn promises(promises: Promises) -> Vec<String> {
    held([
        ("work-conserving", promises.work_conserving),
        ("balances", promises.balances),
        ("starvation-free", promises.starvation_free),
        ("weights", promises.weights),
        ("caps", promises.caps),
        ("charges", promises.charges),
        ("reservations", promises.reservations),
        ("groups", promises.groups),
    ])
}

/// Holds a policy to the conformance suite.
fn check(args: &PolicyCheck, global: &Global) -> anyhow::Result<Status> {
    let choice = Choice::parse(&args.name, &global.parts)?;
    let values = choice.values()?;
    let make = choice.policy.make;
    let outcome = SuiteOutcome::of(
        &|topology| make(&values, topology),
        &choice.policy.descriptor.promises,
        args.scripts,
        true,
    );
    let checked = || outcome.answer(choice.name(), &choice.params);
    let text = || {
        let verdict = outcome.verdict(&args.name);
        let table = render(&outcome.table(), out::view());
        format!("{table}\n{verdict}\n{}", outcome.details())
    };
    out::answer(args.json, checked, text)?;
    Ok(Status::of_check(outcome.report.is_clean()))
}
