//! Driver domains: which one a device has, and whether it is there for those who use the device.

use super::resolved::Resolved;
use crate::check::Cx;
use crate::problem::{Code, Problem};
use crate::source::Span;
use crate::suggest::did_you_mean;
use domio_core::DomainId;
use domio_vmm::config::DomainConfig;

/// Who uses a device.
pub(super) struct Users {
    /// What each has of it: `vif` or `disk`.
    pub what: &'static str,
    /// Path of the key that names the driver domain.
    pub key: String,
    /// That key, for people.
    pub says: &'static str,
    /// Where it names the driver domain, if it does.
    pub chosen: Option<Span>,
    /// Indices of the domains, each with what asks for its part.
    pub all: Vec<(usize, Span)>,
}

/// Index of the domain with id 0; reports it when there is none.
pub(super) fn default(cx: &mut Cx<'_>, users: &Users, resolved: &Resolved) -> Option<usize> {
    let mut domains = resolved.domains.iter();
    let found = domains.position(|d| d.config.id == DomainId::DOM0);
    let (user, span) = users.all.first()?;
    if found.is_none() && resolved.complete {
        cx.push(
            Problem::new(
                Code::MissingKey,
                *span,
                format!(
                    "domain {} has a {} but there is no driver domain",
                    resolved.domains[*user].config.name, users.what
                ),
            )
            .key(&users.key)
            .expected(format!(
                "a domain with id 0, or another one named by {}",
                users.says
            ))
            .hint(
                "add [[domain]] with `name = \"Domain-0\"` before it; without a workload will do",
            ),
        );
    }
    found
}

/// Index of the domain called `name`, which was asked for at `span`; reports it when there is no
/// such domain, or when it is a group.
pub(super) fn named(
    cx: &mut Cx<'_>,
    name: &str,
    span: Span,
    users: &Users,
    resolved: &Resolved,
) -> Option<usize> {
    let key = users.key.rsplit('.').next().unwrap_or("");
    let else_zero =
        format!("leave `{key}` out for the domain with id 0, or add a [[domain]] of that name");
    let of_group = format!("a {} has one driver domain", users.what);
    match one(name, span, [&else_zero, &of_group], resolved)? {
        Ok(index) => Some(index),
        Err(problem) => {
            cx.push(problem.key(&users.key));
            None
        }
    }
}

/// Index of the domain called `name`, or what is wrong with that; `None` when what is wrong was
/// told elsewhere. `hints` are for a name that nobody has, and for that of a group.
pub(super) fn one(
    name: &str,
    span: Span,
    hints: [&str; 2],
    resolved: &Resolved,
) -> Option<Result<usize, Problem>> {
    let [nobody, group] = hints;
    let problem = match resolved.by_name.get(name).map(Vec::as_slice) {
        Some([one]) => return Some(Ok(*one)),
        Some([_, _, ..]) => Problem::new(
            Code::OutOfRange,
            span,
            format!("`{name}` is a group of domains"),
        )
        .hint(group),
        // A domain that something else is wrong with has a name and nothing more.
        Some([]) => return None,
        None if resolved.complete => Problem::new(
            Code::UnknownName,
            span,
            format!("there is no domain `{name}`"),
        )
        .hint_or(
            did_you_mean(name, resolved.by_name.keys().map(String::as_str)),
            nobody,
        ),
        None => return None,
    };
    Some(Err(problem.found(name).expected("the name of one domain")))
}

/// Tells of a driver domain that is not there for each of `users` all the time.
pub(super) fn serves(cx: &mut Cx<'_>, driver: usize, users: &Users, resolved: &Resolved) {
    let own = &resolved.domains[driver];
    let (name, what) = (&own.config.name, users.what);
    let blame = |problem: Problem, instead: &str| match users.chosen {
        Some(span) => problem.related(span, "named here").hint(instead),
        None => problem.hint(format!(
            "{instead}; {} names the driver domain, which has id 0 otherwise",
            users.says
        )),
    };
    if let Some((_, span)) = users.all.iter().find(|(i, _)| *i == driver) {
        let problem = Problem::new(
            Code::Conflict,
            *span,
            format!("{name} is the driver domain and cannot have a {what} of its own"),
        )
        .key(&users.key)
        .found(name)
        .expected(match what {
            "vif" => "network workloads in other domains",
            _ => "disks in other domains",
        });
        let instead = format!("let a domain without a {what} be the driver domain");
        cx.push(blame(problem, &instead));
    }
    if own.config.stop.is_some() {
        let problem = Problem::new(
            Code::Conflict,
            own.span,
            format!("{name} is the driver domain and cannot be destroyed"),
        )
        .key(&users.key)
        .found(name)
        .expected("no `stop`");
        cx.push(blame(
            problem,
            "let a domain that stays be the driver domain",
        ));
    }
    let created = |i: usize, config: &DomainConfig| (config.start, i);
    let early = users
        .all
        .iter()
        .find(|(i, _)| created(*i, &resolved.domains[*i].config) < created(driver, &own.config));
    if let Some((early, span)) = early {
        let early = &resolved.domains[*early].config.name;
        cx.push(
            Problem::new(
                Code::Conflict,
                *span,
                format!(
                    "domain {early} has a {what} but is created before the driver domain {name}"
                ),
            )
            .key(&users.key)
            .found(early)
            .expected(format!("{name} first"))
            .related(own.span, "the driver domain")
            .hint("domains that start at the same time are created in the order of the file"),
        );
    }
}
