//! What shells offer when Tab is pressed: names of scenarios, policies, controllers, elevators,
//! drives, claims and schemas. The script of `domio completions` asks the program for them, so that
//! new ones are known as soon as the program has them.

use crate::args;
use crate::schema::SCHEMAS;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use domio_papers::Claims;
use domio_scenario::examples;
use std::ffi::OsStr;

/// Variable by which a shell asks.
pub const VARIABLE: &str = "COMPLETE";

/// Answers a shell that asks, and ends the program then.
pub fn answer() {
    clap_complete::CompleteEnv::with_factory(args::command)
        .var(VARIABLE)
        .complete();
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

fn or_files(current: &OsStr, names: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let mut all = names;
    all.extend(PathCompleter::any().complete(current));
    all
}

/// Shipped scenarios, and files.
pub fn scenarios() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        or_files(
            current,
            beginning(current, examples().iter().map(|(n, _)| *n)),
        )
    })
}

/// Shipped scenarios alone.
pub fn shipped() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| beginning(current, examples().iter().map(|(n, _)| *n)))
}

/// Policies, and after a colon and a comma the parameters of one.
pub fn policies() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let text = current.to_str().unwrap_or_default();
        let Some((name, rest)) = text.split_once(':') else {
            let names = domio_sched::policies().iter().map(|p| p.descriptor.name);
            return beginning(current, names);
        };
        let params = domio_sched::find(name).map_or(&[][..], |p| p.descriptor.params);
        let before = rest.rsplit_once(',').map_or("", |(before, _)| before);
        let comma = if before.is_empty() { "" } else { "," };
        let spec = |param: &str| format!("{name}:{before}{comma}{param}=");
        beginning(current, params.iter().map(|p| spec(p.name)))
    })
}

/// Controllers.
pub fn controllers() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        beginning(current, domio_control::all().map(|e| e.descriptor.name))
    })
}

/// Elevators.
pub fn elevators() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let all = domio_blk::elevator::elevators().iter();
        beginning(current, all.map(|e| e.name))
    })
}

/// Drives.
pub fn drives() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let all = domio_blk::drive::DRIVES.iter();
        beginning(current, all.map(|d| d.variant.word))
    })
}

/// Ids of claims, and their first words, up to each dot.
pub fn claims() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let claims = Claims::shipped();
        let mut ids: Vec<&str> = claims.iter().map(|c| c.id.as_str()).collect();
        let prefixes = ids.clone().into_iter().flat_map(|id| {
            let dots = id.match_indices('.');
            dots.map(move |(at, _)| &id[..at])
        });
        let mut all: Vec<&str> = prefixes.collect();
        all.append(&mut ids);
        all.sort_unstable();
        all.dedup();
        beginning(current, all)
    })
}

/// Schemas.
pub fn schemas() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| beginning(current, SCHEMAS.iter().map(|s| s.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(completer: &ArgValueCompleter, current: &str) -> Vec<String> {
        let all = completer.complete(OsStr::new(current));
        let name = |c: CompletionCandidate| c.get_value().to_string_lossy().into_owned();
        all.into_iter().map(name).collect()
    }

    #[test]
    fn names_are_offered() {
        assert_eq!(offered(&shipped(), "burn"), ["burn7"]);
        assert!(offered(&scenarios(), "burn").contains(&"burn7".to_owned()));
        assert_eq!(offered(&policies(), "cr"), ["credit", "credit2"]);
        assert_eq!(offered(&policies(), "credit:tsl"), ["credit:tslice_ms="]);
        assert_eq!(
            offered(&policies(), "credit:tslice_ms=5,rate"),
            ["credit:tslice_ms=5,ratelimit_us="]
        );
        assert_eq!(offered(&policies(), "banana:x"), [""; 0]);
        assert_eq!(offered(&controllers(), "cap"), ["cap-follows-demand"]);
        assert_eq!(offered(&elevators(), "c"), ["cfq"]);
        assert_eq!(offered(&schemas(), "trace-s"), ["trace-summary"]);
        let claims = offered(&claims(), "ongaro.fig2");
        assert_eq!(claims[0], "ongaro.fig2");
        assert!(claims.iter().any(|c| c == "ongaro.fig2.cpu-fairness"));
    }
}
