//! What earlier releases lack, by the same scripts under each of them.

use super::*;
use crate::conformance::host;
use crate::conformance::log::{Occurrence, Run};
use crate::conformance::script::{Script, ScriptStep};
use crate::credit2::params::VERSIONS;
use crate::credit2::{DESCRIPTOR, validate_domain};

/// Releases without soft affinity and caps, and with them.
const BEFORE: [&str; 2] = ["4.8", "4.9"];

fn params(version: &str) -> ParamValues {
    let mut params = ParamValues::defaults(DESCRIPTOR.params);
    params.choose("version", version).unwrap();
    params
}

fn run(script: &Script, version: &str) -> Run {
    let policy = Credit2::new(&params(version), &script.topology);
    host::run(script, alloc::boxed::Box::new(policy)).expect("a sound script")
}

fn script(pcpus: u16) -> Script {
    let end = Instant::from_nanos(500_000_000);
    Script::new("test", Topology::flat(pcpus).unwrap(), end)
}

#[test]
fn releases_from_4_8_on_are_known_and_the_last_is_the_default() {
    assert_eq!((VERSIONS[0], VERSIONS[VERSIONS.len() - 1]), ("4.8", "4.17"));
    assert_eq!(params("4.17"), ParamValues::defaults(DESCRIPTOR.params));
}

#[test]
fn caps_came_with_4_10() {
    let mut s = script(1);
    let d = s.domain(&[("cap", 30)]);
    s.vcpu(d, &[ScriptStep::Burn]);
    let mut domain = ParamValues::defaults(DESCRIPTOR.domain_params);
    domain.set("cap", 30).unwrap();
    for version in VERSIONS {
        let idles = |run: Run| {
            let mut log = run.log.iter();
            log.any(|e| matches!(e.what, Occurrence::Switch(_, Some(_), None)))
        };
        let old = BEFORE.contains(version);
        assert_eq!(idles(run(&s, version)), !old, "{version}");
        let checked = validate_domain(&params(version), &domain);
        assert_eq!(
            checked.map_err(|c| c.param),
            if old { Err("cap") } else { Ok(()) }
        );
    }
    domain.set("cap", 0).unwrap();
    assert_eq!(validate_domain(&params("4.8"), &domain), Ok(()));
}

#[test]
fn soft_affinity_came_with_4_10() {
    // All prefer the second pcpu.
    let mut s = script(2);
    let wish = CpuSet::of(P1);
    for _ in 0..4 {
        let d = s.domain(&[]);
        let v = s.vcpu(d, &[ScriptStep::Burn]);
        s.vcpus[v.index()].soft = wish;
    }
    let mut without = s.clone();
    for v in &mut without.vcpus {
        v.soft = CpuSet::ALL;
    }
    for version in VERSIONS {
        let decisions = |script: &Script| {
            let log = run(script, version).log;
            let mut calls = Vec::new();
            for entry in log {
                if let Occurrence::Switch(..) = entry.what {
                    calls.push((entry.at, entry.what));
                }
            }
            calls
        };
        let same = decisions(&s) == decisions(&without);
        assert_eq!(same, BEFORE.contains(version), "{version}");
    }
}

#[test]
fn the_releases_from_4_10_on_do_the_same() {
    for script in crate::conformance::library::scripts() {
        let log = run(&script, "4.17").log;
        for version in &VERSIONS[BEFORE.len()..] {
            assert_eq!(run(&script, version).log, log, "{version}, {}", script.name);
        }
    }
}
