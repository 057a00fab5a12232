//! What shells offer when Tab is pressed: names of scenarios, policies, controllers, elevators,
//! drives, claims and schemas. The script of `domio completions` asks the program for them, so that
//! new ones are known as soon as the program has them.

use crate::args::{self, Named};
use crate::schema;
use clap::Command;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use domio_papers::Claims;
use domio_run::measure::Measures;
use domio_scenario::{Parts, examples};
use std::ffi::OsStr;

/// Variable by which a shell asks.
pub const VARIABLE: &str = "COMPLETE";

/// Answers a shell that asks, and ends the program then. What arguments name is among `parts`.
pub fn answer(parts: &Parts) {
    clap_complete::CompleteEnv::with_factory(|| completed(args::command(), parts))
        .var(VARIABLE)
        .complete();
}

/// The command, whose arguments with a [`Named`] offer names of `parts`.
fn completed(command: Command, parts: &Parts) -> Command {
    command
        .mut_args(|arg| match arg.get::<Named>() {
            Some(named) => {
                let completer = of(*named, parts.clone());
                arg.add(completer)
            }
            None => arg,
        })
        .mut_subcommands(|below| completed(below, parts))
}

fn of(named: Named, parts: Parts) -> ArgValueCompleter {
    let shipped = |current: &OsStr| beginning(current, examples().iter().map(|(name, _)| *name));
    ArgValueCompleter::new(move |current: &OsStr| match named {
        Named::Policy => policies(current, &parts),
        Named::Controller => {
            let all = parts.controllers().iter();
            beginning(current, all.map(|e| e.descriptor.name))
        }
        Named::Elevator => beginning(current, parts.elevators().iter().map(|e| e.name)),
        Named::Drive => {
            let all = domio_blk::drive::DRIVES.iter();
            beginning(current, all.map(|d| d.variant.word))
        }
        Named::Scenario => {
            let mut all = shipped(current);
            all.extend(PathCompleter::any().complete(current));
            all
        }
        Named::Shipped => shipped(current),
        Named::Claim => claims(current),
        Named::Schema => {
            let all = schema::all(&Measures::from(&parts));
            beginning(current, all.iter().map(|s| s.name))
        }
    })
}

/// Names of `all` that begin as `current` does.
fn beginning(
    current: &OsStr,
    all: impl IntoIterator<Item = impl Into<String>>,
) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let all = all.into_iter().map(Into::into);
    let names = all.filter(|name: &String| name.starts_with(current));
    names.map(CompletionCandidate::new).collect()
}

/// Policies, and after a colon and a comma the parameters of one.
fn policies(current: &OsStr, parts: &Parts) -> Vec<CompletionCandidate> {
    let text = current.to_str().unwrap_or_default();
    let Some((name, rest)) = text.split_once(':') else {
        return beginning(current, parts.policies().iter().map(|p| p.descriptor.name));
    };
    let params = parts.policy(name).map_or(&[][..], |p| p.descriptor.params);
    let before = rest.rsplit_once(',').map_or("", |(before, _)| before);
    let comma = if before.is_empty() { "" } else { "," };
    let spec = |param: &str| format!("{name}:{before}{comma}{param}=");
    beginning(current, params.iter().map(|p| spec(p.name)))
}

/// Ids of claims, and their first words, up to each dot.
fn claims(current: &OsStr) -> Vec<CompletionCandidate> {
    let claims = Claims::shipped();
    let mut all: Vec<&str> = claims.iter().map(|c| c.id.as_str()).collect();
    let prefixes = claims.iter().flat_map(|c| {
        let dots = c.id.match_indices('.');
        dots.map(|(at, _)| &c.id[..at])
    });
    all.extend(prefixes);
    all.sort_unstable();
    all.dedup();
    beginning(current, all)
}
