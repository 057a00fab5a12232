//! What the tests share: policies that stand for those with parameters of an awkward kind.

use domio_contract::{Conflict, Descriptor, Needs, Policy, Promises};
use domio_core::{ParamKind, ParamSpec};
use domio_scenario::{Parts, Problem, Scenario, ScenarioErrors};

/// As rtds: a domain parameter that is also the key of a workload.
static RESERVING: Descriptor = Descriptor {
    name: "reserving",
    summary: "for tests",
    source: "domio",
    domain_params: &[
        int("period_us", 1, 100_000, 10_000),
        int("budget_us", 1, 100_000, 4_000),
    ],
    needs: Needs {
        tickle: true,
        ..Needs::NOTHING
    },
    promises: Promises {
        work_conserving: true,
        starvation_free: true,
        ..Promises::NOTHING
    },
    ..Descriptor::PLAIN
};

/// Knows some of credit's parameters, in narrower ranges.
static NARROW: Descriptor = Descriptor {
    name: "narrow",
    params: &[
        int("tslice_ms", 1, 10, 10),
        int("ratelimit_us", 0, 100_000, 1000),
    ],
    changeable: &[int("tslice_ms", 1, 10, 10)],
    domain_params: &[int("weight", 1, 300, 256)],
    ..RESERVING
};

const fn int(name: &'static str, min: i64, max: i64, default: i64) -> ParamSpec {
    ParamSpec {
        name,
        unit: "",
        kind: ParamKind::Int {
            min,
            max,
            or_zero: false,
        },
        default,
        doc: "For tests.",
    }
}

/// The registered policies and the two above.
pub fn policies() -> Vec<Policy> {
    let some = domio_sched::find("round-robin").expect("a registered policy");
    let reserving = Policy {
        descriptor: &RESERVING,
        ..*some
    };
    let narrow = Policy {
        descriptor: &NARROW,
        validate: |params| match (params.by_name("ratelimit_us"), params.by_name("tslice_ms")) {
            (Some(limit), Some(slice)) if limit > slice * 1000 => Err(Conflict {
                param: "ratelimit_us",
                with: "tslice_ms",
                problem: format!("{limit} us is longer than the time slice of {slice} ms"),
                expected: format!("{} us at most", slice * 1000),
                hint: "for tests",
            }),
            _ => Ok(()),
        },
        ..*some
    };
    let registered = domio_sched::policies().iter().copied();
    registered.chain([reserving, narrow]).collect()
}

pub fn parse(text: &str) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse("test.toml", text.as_bytes(), &policies()[..])
}

/// The scenario of `text`, which is right.
pub fn good(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// What is said of `text`, which is refused.
pub fn wrong(text: &str) -> String {
    parse(text).expect_err("it is refused").render(false)
}

/// `base` with the first `from` in it replaced by `to`.
pub fn replaced(base: &str, from: &str, to: &str) -> String {
    assert!(base.contains(from), "{from}");
    base.replacen(from, to, 1)
}

/// As [`parse`], with `parts`.
pub fn parse_with(text: &str, parts: &Parts) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse("test.toml", text.as_bytes(), parts)
}

/// A valid scenario with room for additions at the end.
pub const BASE: &str = r#"
[run]
duration_s = 10
[host]
cores = 2
[scheduler]
policy = "credit"
[[domain]]
name = "a"
workload = "burn"
"#;

/// The base with `more` after it.
pub fn with(more: &str) -> String {
    format!("{BASE}{more}")
}

/// The problems of `text`.
pub fn errors(text: &str) -> ScenarioErrors {
    match parse(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => {
            errors.problems().iter().for_each(is_helpful);
            errors
        }
    }
}

/// Every problem tells where it is, what would be right and what to do, each once.
pub fn is_helpful(p: &Problem) {
    assert!(
        p.line >= 1 && p.column >= 1 && !p.source.is_empty(),
        "{p:?}"
    );
    let hint = p.hint.as_deref().unwrap_or("");
    assert!(!hint.is_empty(), "no hint: {p:?}");
    assert!(
        hint.chars().count() < 240,
        "{} characters: {p:?}",
        hint.len()
    );
    assert!(
        !hint.ends_with('.'),
        "hints end like messages, without a full stop: {p:?}"
    );
    assert!(
        // A single word (`key`) may well be in both.
        !p.expected.contains(' ') || !hint.contains(&p.expected),
        "the hint repeats what is expected: {p:?}"
    );
}

/// The only problem of `text`.
pub fn only(text: &str) -> Problem {
    let errors = errors(text);
    assert_eq!(errors.total(), 1, "{errors}");
    errors.problems()[0].clone()
}

/// [`BASE`] with `from` replaced.
pub fn change(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen(from, to, 1)
}

/// `problem`, which `what` has, names all of `words`: in its message, what it expects, or its hint.
pub fn says(problem: &Problem, words: &[&str], what: &str) {
    let Problem {
        message, expected, ..
    } = problem;
    let hint = problem.hint.as_deref().unwrap_or_default();
    let said = format!("{message} | {expected} | {hint}");
    for word in words {
        assert!(said.contains(word), "{what}: no {word:?} in: {said}");
    }
}
