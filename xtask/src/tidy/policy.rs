//! A policy depends on `domio-core` alone and touches only itself and the context that it is
//! handed. That is what lets the same file drive a simulated host, a test and a real one.

use super::source::Path;
use super::tree::Tree;
use super::{Findings, Rule};

pub const RULE: Rule = Rule {
    name: "policy-alone",
    demand: "a policy names domio_core, core, alloc, the contract and itself, and nothing else",
    check,
};

const FOLDER: &str = "crates/domio-sched/src/";

/// Modules of domio-sched that are no policy: what policies are written against, and what is
/// written about them.
const NO_POLICY: [&str; 6] = ["lib", "contract", "cx", "registry", "conformance", "broken"];

/// Modules of domio-sched that a policy may name.
const OPEN: [&str; 2] = ["contract", "cx"];

/// Crates that a policy may name.
const CRATES: [&str; 3] = ["domio_core", "core", "alloc"];

fn check(tree: &Tree, findings: &mut Findings) {
    for (path, source) in tree.rust(FOLDER) {
        let inside = &path[FOLDER.len()..];
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        if NO_POLICY.contains(&module) {
            continue;
        }
        let top = !inside.contains('/') || inside.ends_with("/mod.rs");
        for used in source.paths().iter().filter(|p| !p.test) {
            if let Some(stranger) = stranger(used, module, top) {
                let message = format!(
                    "the policy `{module}` names `{stranger}`; it may name domio_core, core, \
                     alloc, crate::contract, crate::cx and itself: ask for what it needs through Cx"
                );
                findings.fail(path, used.line, message);
            }
        }
    }
}

/// The part of `used` that a policy may not name. `top` says that the file's `super` is the crate.
fn stranger(used: &Path, module: &str, top: bool) -> Option<String> {
    let (first, second) = (&used.segments[0], used.segments.get(1));
    if first == "crate" || (top && first == "super") {
        let second = second.map_or("*", String::as_str);
        // The crate's root shows the types of the contract under their own names.
        let allowed = OPEN.contains(&second)
            || second == module
            || second.starts_with(|c: char| c.is_uppercase());
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
            "use crate::{contract::Pick, credit::Credit};",
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
        let code = "use crate::contract::{Pick, Prev};\nuse crate::{Cx, lottery::Ticket};\n\
                    use alloc::vec::Vec;\nuse core::fmt;\nuse domio_core::PcpuId;\n\
                    fn f() { Vec::new(); fmt::write(a, b); }\n\
                    #[cfg(test)]\nmod tests { use super::*; use std::vec; use crate::null; }\n";
        assert_eq!(found_with(code), [""; 0]);
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
