//! Releases that claim to differ do, on some host; those that do not claim it do the same.

use core::ops::Range;
use domio_contract::releases::RuleChange;
use domio_contract::{Policy, Releases};
use domio_core::{CpuSet, Instant, ParamKind, ParamValues, PcpuId, Topology, XenVersion};
use domio_sched::conformance::log::{LogEntry, Occurrence, PolicyCall};
use domio_sched::conformance::script::{Script, ScriptStep};
use domio_sched::conformance::{host, library, random};
use domio_sched::registry;

/// Settings under which a policy's releases are compared, as words and numbers.
type Settings = &'static [(&'static str, &'static str)];

const CREDIT: &[Settings] = &[
    &[],
    &[("ratelimit_us", "0")],
    &[("migration_delay_us", "1000")],
];
const CREDIT2: &[Settings] = &[
    &[],
    &[("runqueue", "core")],
    &[("runqueue", "cpu")],
    &[("runqueue", "cpu"), ("ratelimit_us", "0")],
    &[("runqueue", "all"), ("max_cpus_runqueue", "3")],
];
const RTDS: &[Settings] = &[&[]];

fn params(policy: &Policy, version: &str, settings: Settings) -> ParamValues {
    let mut values = ParamValues::defaults(policy.descriptor.params);
    values.choose("version", version).expect("a release");
    for (name, value) in settings {
        match value.parse() {
            Ok(number) => values.set(name, number),
            Err(_) => values.choose(name, value),
        }
        .expect("a setting that the policy has");
    }
    values
}

/// What `policy` decides.
fn decisions(policy: &Policy, params: &ParamValues, script: &Script) -> Vec<LogEntry> {
    let made = (policy.make)(params, &script.topology);
    let mut log = host::run(script, made).expect("a sound script").log;
    log.retain(|e| {
        let passes = matches!(e.what, Occurrence::Call(PolicyCall::Schedule(..)));
        passes || matches!(e.what, Occurrence::Switch(..))
    });
    log
}

/// Threads of three cores, half of them busy, which sleep and wake.
fn six_threads() -> Script {
    let end = Instant::from_nanos(2_000_000_000);
    let mut s = Script::new("six threads", Topology::new(1, 3, 2).expect("pcpus"), end);
    for i in 0..9 {
        let d = s.domain(&[("weight", 128 + 64 * i), ("cap", (i % 4) * 30)]);
        let us = domio_core::Duration::from_micros;
        let v = s.vcpu(
            d,
            &[
                ScriptStep::Run(us(700 + 310 * i as u64)),
                ScriptStep::Block(us(2_000 + 90 * i as u64)),
            ],
        );
        if i % 3 == 2 {
            s.vcpus[v.index()].soft = CpuSet::of(PcpuId(i as u16 % 6));
        }
    }
    s
}

fn scripts(seeds: Range<u64>) -> impl Iterator<Item = Script> {
    let written = library::scripts().into_iter().chain([six_threads()]);
    written.chain(seeds.map(random::script))
}

/// The releases of `policy` that can be asked for.
fn offered(policy: &Policy) -> Vec<XenVersion> {
    let version = policy
        .descriptor
        .params
        .iter()
        .find(|p| p.name == "version");
    let Some(ParamKind::Choice(names)) = version.map(|p| p.kind) else {
        panic!("{} has no releases", policy.descriptor.name);
    };
    let version = |name: &&str| XenVersion::from_name(name).expect("a release of Xen");
    names.iter().map(version).collect()
}

/// Changes that begin with `version`.
fn changes(releases: &Releases, version: XenVersion) -> impl Iterator<Item = &'static RuleChange> {
    let declared = releases.changes.expect("declared changes").iter();
    declared.filter(move |c| c.since == version)
}

/// Every release of the policy called `name` against the one before.
fn neighbours(name: &str, all: &[Settings]) {
    let policy = registry::find(name).expect("a policy of that name");
    let releases = policy.releases.expect("one of Xen's");
    for pair in offered(policy).windows(2) {
        let differ = |script: &Script, settings: Settings| {
            let [one, other] = [pair[0], pair[1]].map(|v| params(policy, v.name(), settings));
            decisions(policy, &one, script) != decisions(policy, &other, script)
        };
        let claimed: Vec<_> = changes(releases, pair[1]).map(|c| c.rule).collect();
        // Where they are the same, everything is run. A difference may need settings of its own,
        // and shows in few scripts with them: each script meets all settings before the next.
        let found = match claimed.is_empty() {
            true => scripts(0..7).any(|script| differ(&script, all[0])),
            false => scripts(0..120).any(|script| all.iter().any(|set| differ(&script, set))),
        };
        assert_eq!(
            found,
            !claimed.is_empty(),
            "{name} {} and {}: {claimed:?}",
            pair[0],
            pair[1]
        );
    }
}

#[test]
fn releases_of_credit_differ_where_they_say_so() {
    neighbours("credit", CREDIT);
}

#[test]
fn releases_of_credit2_differ_where_they_say_so() {
    neighbours("credit2", CREDIT2);
}

#[test]
fn releases_of_rtds_differ_where_they_say_so() {
    neighbours("rtds", RTDS);
}

#[test]
fn changes_are_in_order_of_time_and_within_the_policys_life() {
    for policy in registry::policies() {
        let Some(releases) = policy.releases else {
            continue;
        };
        let name = policy.descriptor.name;
        let changes = releases.changes.unwrap_or_default();
        assert!(changes.is_sorted_by_key(|c| c.since), "{name}");
        assert!(changes.iter().all(|c| releases.has(c.since)), "{name}");
        let d = policy.descriptor;
        for began in releases.began {
            let all = [d.params, d.domain_params, d.vcpu_params];
            let declared = all
                .iter()
                .flat_map(|p| p.iter())
                .any(|p| p.name == began.param);
            assert!(declared, "{name} has no parameter {}", began.param);
        }
    }
}

#[test]
fn a_policy_is_there_from_its_first_release_to_its_last() {
    let has = |name: &str, version| {
        let releases = registry::find(name).and_then(|p| p.releases);
        releases.expect("a policy of Xen").has(version)
    };
    assert!(has("sedf", XenVersion::V4_5) && !has("sedf", XenVersion::V4_6));
    assert!(has("rtds", XenVersion::V4_5) && !has("rtds", XenVersion::V4_4));
    assert!(has("credit", XenVersion::V4_20) && !has("credit", XenVersion::V3_0));
}
