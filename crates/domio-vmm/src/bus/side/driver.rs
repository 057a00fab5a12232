//! Driver domains: which one a device has, and whether it is there for those who use the device.

use crate::config::DomainConfig;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::DomainId;
use domio_core::keys::{Checker, Code, Mistake, Named, Span};

/// The domains of a scenario.
pub struct Domains<'d> {
    /// In the order of the text, members of groups one by one.
    pub all: Vec<DriverMember<'d>>,
    /// Indices of domains by name, and of groups by theirs.
    pub by_name: &'d BTreeMap<String, Vec<usize>>,
    /// Whether the name of every domain of the text is known.
    pub complete: bool,
}

/// A domain of a scenario.
#[derive(Clone, Copy)]
pub struct DriverMember<'d> {
    /// What it is made of, so far.
    pub config: &'d DomainConfig,
    /// Where its name stands.
    pub span: Span,
}

/// Who uses a device.
pub struct DeviceUsers {
    /// What each has of it (`vif`).
    pub what: &'static str,
    /// Path of the key that names the driver domain.
    pub key: String,
    /// That key, for people.
    pub says: &'static str,
    /// Who may have what the driver domain may not, for people.
    pub elsewhere: &'static str,
    /// Where it names the driver domain, if it does.
    pub chosen: Option<Span>,
    /// Indices of the domains, each with what asks for its part.
    pub all: Vec<(usize, Span)>,
}

/// Names that a sentence gives before it counts the others.
const NAMED: usize = 3;

/// Who `names` are, and whether they are several; `None` without a name.
pub fn who(names: &[&str]) -> Option<(String, bool)> {
    let who = match *names {
        [] => return None,
        [one] => format!("domain {one}"),
        [ref first @ .., last] if names.len() <= NAMED => {
            format!("domains {} and {last}", first.join(", "))
        }
        _ => format!(
            "domains {} and {} others",
            names[..NAMED - 1].join(", "),
            names.len() - NAMED + 1
        ),
    };
    Some((who, names.len() > 1))
}

impl Domains<'_> {
    /// Index of the domain with this id.
    pub fn with_id(&self, id: DomainId) -> Option<usize> {
        self.all.iter().position(|d| d.config.id == id)
    }

    /// Index of the driver domain of `users`, called `named` or else that with id 0; says when
    /// there is none.
    pub fn driver(
        &self,
        cx: &mut dyn Checker,
        named: Option<&Named>,
        users: &DeviceUsers,
    ) -> Option<usize> {
        match named {
            Some(named) => self.called(cx, named, users),
            None => self.zero(cx, users),
        }
    }

    /// Index of the domain with id 0; reports it when there is none.
    fn zero(&self, cx: &mut dyn Checker, users: &DeviceUsers) -> Option<usize> {
        let found = self.with_id(DomainId::DOM0);
        let (user, span) = users.all.first()?;
        // A domain that something else is wrong with may be the one: that is told already.
        let is_whole = self.complete && !self.by_name.values().any(Vec::is_empty);
        if found.is_none() && is_whole {
            cx.tell(
            Mistake::new(
                Code::MissingKey,
                *span,
                format!(
                    "domain {} has a {} but there is no driver domain",
                    self.all[*user].config.name, users.what
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

    /// Index of the domain that `named` names; reports it when there is no such domain, or when it
    /// is a group.
    fn called(&self, cx: &mut dyn Checker, named: &Named, users: &DeviceUsers) -> Option<usize> {
        let key = users.key.rsplit('.').next().unwrap_or("");
        let else_zero =
            format!("leave `{key}` out for the domain with id 0, or add a [[domain]] of that name");
        let of_group = format!("a {} has one driver domain", users.what);
        match self.one(cx, (&named.name, named.span), [&else_zero, &of_group])? {
            Ok(index) => Some(index),
            Err(mistake) => {
                cx.tell(mistake.key(&users.key));
                None
            }
        }
    }

    /// Index of the domain called `name`, which stands at `span`, or what is wrong with that;
    /// `None` when what is wrong was told. `hints` say what to do when it is nobody, and when it
    /// is a group.
    pub fn one(
        &self,
        cx: &dyn Checker,
        (name, span): (&str, Span),
        hints: [&str; 2],
    ) -> Option<Result<usize, Mistake>> {
        let [nobody, group] = hints;
        let mistake = match self.by_name.get(name).map(Vec::as_slice) {
            Some([one]) => return Some(Ok(*one)),
            Some([_, _, ..]) => Mistake::new(
                Code::OutOfRange,
                span,
                format!("`{name}` is a group of domains"),
            )
            .hint(group),
            // A domain that something else is wrong with has a name and nothing more.
            Some([]) => return None,
            None if self.complete => {
                let known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
                Mistake::new(
                    Code::UnknownName,
                    span,
                    format!("there is no domain `{name}`"),
                )
                .hint_or(cx.did_you_mean(name, &known), nobody)
            }
            None => return None,
        };
        Some(Err(mistake.found(name).expected("the name of one domain")))
    }

    /// Reports a driver domain that is not there for each of `users` all the time.
    pub fn serves(&self, cx: &mut dyn Checker, driver: usize, users: &DeviceUsers) {
        let own = &self.all[driver];
        let (name, what) = (&own.config.name, users.what);
        let blame = |mistake: Mistake, instead: &str| match users.chosen {
            Some(span) => mistake.related(span, "named here").hint(instead),
            None => mistake.hint(format!(
                "{instead}; {} names the driver domain, which has id 0 otherwise",
                users.says
            )),
        };
        if let Some((_, span)) = users.all.iter().find(|(i, _)| *i == driver) {
            let mistake = Mistake::new(
                Code::Conflict,
                *span,
                format!("{name} is the driver domain and cannot have a {what} of its own"),
            )
            .key(&users.key)
            .found(name)
            .expected(users.elsewhere);
            let instead = format!("let a domain without a {what} be the driver domain");
            cx.tell(blame(mistake, &instead));
        }
        if own.config.stop.is_some() {
            let mistake = Mistake::new(
                Code::Conflict,
                own.span,
                format!("{name} is the driver domain and cannot be destroyed"),
            )
            .key(&users.key)
            .found(name)
            .expected("no `stop`");
            let instead = "let a domain that stays be the driver domain";
            cx.tell(blame(mistake, instead));
        }
        let created = |i: usize| (self.all[i].config.start, i);
        let mut early = users.all.iter();
        if let Some((early, span)) = early.find(|(i, _)| created(*i) < created(driver)) {
            let early = &self.all[*early].config.name;
            let says = format!(
                "domain {early} has a {what} but is created before the driver domain {name}"
            );
            cx.tell(
                Mistake::new(Code::Conflict, *span, says)
                    .key(&users.key)
                    .found(early)
                    .expected(format!("{name} first"))
                    .related(own.span, "the driver domain")
                    .hint(
                        "domains that start at the same time are created in the order of the file",
                    ),
            );
        }
    }
}
