//! A policy depends on `domio-core` alone and touches only itself and the context that it is
//! handed; a controller likewise, with the observation and the answers; an elevator likewise, with
//! the requests. That is what lets the same
//! file drive a simulated host, a test and a real one.

use super::rule::{Findings, Rule};
use super::source::Path;
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "policy-alone",
    demand: "a policy names domio_core, domio_contract, core, alloc, the tools' placement, and \
             itself",
    check: |tree, findings| check(&POLICIES, tree, findings),
};

pub const CONTROLLER_RULE: Rule = Rule {
    name: "controller-alone",
    demand: "a controller names domio_core, domio_contract, core, alloc and itself alone",
    check: |tree, findings| check(&CONTROLLERS, tree, findings),
};

pub const ELEVATOR_RULE: Rule = Rule {
    name: "elevator-alone",
    demand: "an elevator names domio_core, core, alloc, what is below the elevators in their \
             folder, and itself",
    check: check_elevators,
};

/// The folder of elevators.
const ELEVATORS: &str = "crates/domio-blk/src/elevator/";

/// Modules of this folder that are no elevator, and that an elevator may name.
const BELOW_ELEVATORS: [&str; 8] = [
    "choice", "contract", "cx", "history", "list", "request", "sorted", "tunables",
];

/// What is to stand alone, and the crate that holds all of its sort.
struct Sort {
    /// What one of them is called.
    one: &'static str,
    folder: &'static str,
    /// Modules of the crate that are none: what they are written against, and what is written about
    /// them.
    others: &'static [&'static str],
    /// Those modules among them that one may name.
    open: &'static [&'static str],
    /// What to do instead of naming anything else.
    instead: &'static str,
}

const POLICIES: Sort = Sort {
    one: "policy",
    folder: "crates/domio-sched/src/",
    others: &["lib", "placement", "registry", "rig", "conformance"],
    open: &["placement"],
    instead: "ask for what it needs through Cx",
};

const CONTROLLERS: Sort = Sort {
    one: "controller",
    folder: "crates/domio-control/src/",
    others: &["lib", "registry", "conformance"],
    open: &[],
    instead: "it makes do with what an Observation shows",
};

/// Crates that policies and controllers may name.
const CRATES: [&str; 4] = ["domio_core", "domio_contract", "core", "alloc"];

/// Crates that elevators may name, whose contract is in their folder.
const CRATES_OF_ELEVATORS: [&str; 3] = ["domio_core", "core", "alloc"];

fn check(sort: &Sort, tree: &Tree, findings: &mut Findings) {
    for (path, source) in tree.rust(sort.folder) {
        let inside = &path[sort.folder.len()..];
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        if sort.others.contains(&module) {
            continue;
        }
        let top = !inside.contains('/') || inside.ends_with("/mod.rs");
        for used in source.paths().iter().filter(|p| !p.test) {
            if let Some(stranger) = stranger(sort, used, module, top) {
                let open = sort.open.iter().map(|m| format!("crate::{m}"));
                let named: Vec<String> =
                    CRATES.iter().map(|c| (*c).to_owned()).chain(open).collect();
                let message = format!(
                    "the {} `{module}` names `{stranger}`; it may name {} and itself: {}",
                    sort.one,
                    named.join(", "),
                    sort.instead
                );
                findings.fail(path, used.line, message);
            }
        }
    }
}

fn check_elevators(tree: &Tree, findings: &mut Findings) {
    for (path, source) in tree.rust(ELEVATORS) {
        let inside = &path[ELEVATORS.len()..];
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        // The registry and the root name all elevators.
        if ["mod", "registry"].contains(&module) {
            continue;
        }
        let depth = inside.matches('/').count() + usize::from(!inside.ends_with("/mod.rs"));
        let own = usize::from(inside.contains('/'));
        for used in source.paths().iter().filter(|p| !p.test) {
            let up = used.segments.iter().take_while(|s| *s == "super").count();
            let (first, next) = (&used.segments[0], used.segments.get(up));
            let next = next.map_or("*", String::as_str);
            let outside = match first.as_str() {
                "crate" => true,
                // Up to the folder of the elevators, and no further.
                "super" if up == depth => next != module && !BELOW_ELEVATORS.contains(&next),
                "super" => up > depth || own == 0,
                _ => {
                    (first == "std" || first.starts_with("domio"))
                        && !CRATES_OF_ELEVATORS.contains(&first.as_str())
                }
            };
            if outside {
                let message = format!(
                    "the elevator `{module}` names `{}`; it may name domio_core, core, alloc, \
                     {} of its folder and itself: ask for what it needs through ElevatorCx",
                    used.segments.join("::"),
                    BELOW_ELEVATORS.join(", ")
                );
                findings.fail(path, used.line, message);
            }
        }
    }
}

/// The part of `used` that may not be named. `top` says that the file's `super` is the crate.
fn stranger(sort: &Sort, used: &Path, module: &str, top: bool) -> Option<String> {
    let (first, second) = (&used.segments[0], used.segments.get(1));
    if first == "crate" || (top && first == "super") {
        let second = second.map_or("*", String::as_str);
        let allowed = sort.open.contains(&second) || second == module;
        return (!allowed).then(|| format!("{first}::{second}"));
    }
    let foreign = first == "std" || first.starts_with("domio");
    (foreign && !CRATES.contains(&first.as_str())).then(|| first.clone())
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;

    const FILE: &str = "crates/domio-sched/src/lottery.rs";
    const HEAD: &str = "//! A lottery.\nstatic D: Descriptor = Descriptor { name: \"lottery\" };\n";

    fn found_with(code: &str) -> Vec<String> {
        found(&[(FILE, &format!("{HEAD}{code}"))])
    }

    #[test]
    fn a_policy_that_looks_elsewhere_is_caught() {
        for code in [
            "use std::vec::Vec;",
            "use crate::{placement::ToolsPlacement, credit::Credit};",
            "use domio_sim::Queue;",
            "fn f() { crate::registry::find(\"null\"); }",
            "use super::null::Null;",
            "use crate::*;",
            "use ::std::vec::Vec;",
        ] {
            assert_eq!(
                found_with(code),
                [format!("policy-alone {FILE}:3")],
                "{code}"
            );
        }
    }

    #[test]
    fn another_name_hides_nothing() {
        for code in [
            "use std as s;",
            "extern crate std as s;",
            "use domio_sim as s;",
        ] {
            let place = format!("policy-alone {FILE}:3");
            assert!(found_with(code).contains(&place), "{code}");
        }
    }

    #[test]
    fn a_policy_may_name_the_contract_and_itself() {
        let code = "use domio_contract::{Cx, Pick, Prev};\nuse crate::lottery::Ticket;\n\
                    use alloc::vec::Vec;\nuse core::fmt;\nuse domio_core::PcpuId;\n\
                    fn f() { Vec::new(); fmt::write(a, b); }\n\
                    #[cfg(test)]\nmod tests { use super::*; use std::vec; use crate::null; }\n";
        assert_eq!(found_with(code), [""; 0]);
    }

    #[test]
    fn a_controller_that_looks_elsewhere_is_caught() {
        let file = "crates/domio-control/src/guard.rs";
        let found_with = |code: &str| found(&[(file, &format!("//! A guard.\n{code}\n"))]);
        for code in [
            "use std::vec::Vec;",
            "use domio_sched::credit;",
            "use crate::registry::find;",
            "use super::cap_follows_demand::ENTRY;",
            "use crate::conformance::rng::Rng;",
            "use crate::*;",
        ] {
            assert_eq!(
                found_with(code),
                [format!("controller-alone {file}:2")],
                "{code}"
            );
        }
        let code = "use domio_contract::control::Controller;\nuse crate::guard::Limit;\n\
                    use alloc::vec::Vec;\nuse core::fmt;\nuse domio_core::DomainId;";
        assert_eq!(found_with(code), [""; 0]);
        let suite = "crates/domio-control/src/conformance/bug.rs";
        let text = "//! A bug.\nuse crate::guard::Guard;\n";
        assert_eq!(found(&[(suite, text)]), [""; 0]);
    }

    #[test]
    fn an_elevator_that_looks_elsewhere_is_caught() {
        let folder = "crates/domio-blk/src/elevator";
        let found_with = |file: &str, code: &str| {
            let path = format!("{folder}/{file}");
            found(&[(path.as_str(), &format!("//! A lift.\n{code}\n"))])
        };
        for (file, code) in [
            ("lift.rs", "use std::vec::Vec;"),
            ("lift.rs", "use domio_sim::Queue;"),
            ("lift.rs", "use crate::queue::DiskQueue;"),
            ("lift.rs", "use super::noop::INFO;"),
            ("lift.rs", "use super::super::queue::DiskQueue;"),
            ("lift/mod.rs", "use super::registry::find_elevator;"),
            ("lift/door.rs", "use super::super::cfq::INFO;"),
            ("lift/door.rs", "use super::super::super::queue::DiskQueue;"),
        ] {
            let place = format!("elevator-alone {folder}/{file}:2");
            assert!(found_with(file, code).contains(&place), "{file} {code}");
        }
        for (file, code) in [
            ("lift.rs", "use super::cx::ElevatorCx;"),
            ("lift.rs", "use domio_core::ParamSpec;"),
            ("lift/mod.rs", "use super::contract::Elevator;"),
            ("lift/door.rs", "use super::super::request::Bio;"),
            ("lift/door.rs", "use super::Lift;"),
        ] {
            assert_eq!(found_with(file, code), [""; 0], "{file} {code}");
        }
    }

    #[test]
    fn the_conformance_suite_may_name_policies() {
        let file = (
            "crates/domio-sched/src/conformance/suite.rs",
            "//! A suite.\nuse crate::lottery::X;\n",
        );
        assert_eq!(found(&[file]), [""; 0]);
    }
}
