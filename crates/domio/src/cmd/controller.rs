//! `domio controller`: which controllers there are, what they set and what they let you set.

use crate::args::{self, Global};
use crate::out::Status;
use crate::shared::registered::{self, Listing, Param, Registered, held, params};
use domio_answer::rows;
use domio_contract::control::{Descriptor, SettingKind};
use domio_scenario::Parts;
use std::borrow::Cow;

rows! {
    /// A controller.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ControllerRow {
        /// Name.
        name: Cow<'static, str> = key("name").title("controller");
        /// What it does.
        summary: Cow<'static, str> = fact("summary").title("what it does");
        /// Where its rules come from.
        source: Cow<'static, str> = fact("source");
        /// What it sets.
        sets: Vec<String> = parts("sets", []);
        /// What it promises.
        promises: Vec<String> = parts("promises", []);
        /// Parameters of the controller; the first is the time between two observations.
        params: Vec<Param> = parts("params", []).title("Parameters of the controller");
        /// Parameters of each domain.
        domain_params: Vec<Param> =
            parts("domain_params", []).title("Parameters of each domain");
    }
}

/// Runs `controller list` or `controller show`.
pub fn run(command: &args::Controller, global: &Global) -> anyhow::Result<Status> {
    match command {
        args::Controller::List(args) => registered::list::<ControllerRow>(args, &global.parts),
        args::Controller::Show(args) => registered::show::<ControllerRow>(args, &global.parts),
    }
}

impl Registered for ControllerRow {
    const LIST: Listing = Listing {
        name: "controller-list",
        version: 2,
        doc: "What `domio controller list --json` prints.",
        key: "controllers",
        rows: "The controllers, in the order of lists.",
    };
    const SHOW: (&'static str, u32, &'static str) = (
        "controller-show",
        2,
        "What `domio controller show --json` prints.",
    );

    fn all(parts: &Parts) -> Vec<Self> {
        let all = parts.controllers().iter();
        all.map(|entry| ControllerRow::from(entry.descriptor))
            .collect()
    }

    fn named(name: &str, parts: &Parts) -> anyhow::Result<Self> {
        let names = parts
            .controllers()
            .iter()
            .map(|entry| entry.descriptor.name);
        let found = parts.controller(name);
        let found = found.ok_or_else(|| registered::unknown("controller", name, names))?;
        Ok(found.descriptor.into())
    }
}

impl From<&Descriptor> for ControllerRow {
    fn from(d: &Descriptor) -> Self {
        let sets = SettingKind::ALL.map(|kind| (kind.name(), d.answers.has(kind)));
        ControllerRow {
            name: d.name.into(),
            summary: d.summary.into(),
            source: d.source.into(),
            sets: held(sets),
            promises: held([("settles", d.promises.settles)]),
            params: params([&d.interval].into_iter().chain(d.params)),
            domain_params: params(d.domain_params),
        }
    }
}
