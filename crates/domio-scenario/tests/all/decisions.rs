//! What schedulers decide on small hosts, to the nanosecond: who is switched for whom and for how
//! long. Each case of `testdata/decisions` shows one rule; its README says where they come from.

use crate::told::{Records, Told};
use domio_core::{Instant, Kind, VcpuName};
use domio_run::Replication;
use domio_scenario::{NoReplay, Scenario};
use std::fs;
use std::path::PathBuf;

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/decisions")
}

/// The decisions of a replication of a scenario, in order of time and pcpu.
pub fn decide(name: &str, text: &str, replication: u32) -> Vec<(Instant, String)> {
    let scenario = Scenario::parse(name, text.as_bytes(), domio_sched::policies())
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let built = scenario.build(&NoReplay).expect("no recordings");
    let mut host = Replication::new(&built, replication, Records::default());
    let ended = host.until(Instant::ZERO + built.duration);
    ended.unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let mut records = host.into_sink().0;
    // At one instant the order of different pcpus means nothing.
    records.sort_by_key(|r| (r.at, r.pcpu));
    let decisions = records.iter().filter_map(|r| Some((r.at, line(r)?)));
    decisions.collect()
}

/// The slice of a vcpu that goes on until somebody else is to run.
const NO_SLICE: u64 = u32::MAX as u64;

/// A decision as a line: when, where, who and what becomes of it, who follows and for how long.
fn line(r: &Told) -> Option<String> {
    let who = |v: Option<VcpuName>| match v.expect("a vcpu of the host") {
        v if v.is_idle() => "idle".to_owned(),
        v => v.to_string(),
    };
    let length = |ns: u64| match ns {
        NO_SLICE => "-".to_owned(),
        ns => ns.to_string(),
    };
    let what = match r.kind()? {
        Kind::Switch => {
            let [Some((_, _, left)), _] = r.changes() else {
                panic!("a switch changes states: {r:?}");
            };
            let (left, next) = (left.name(), who(r.other));
            let slice = length(r.value("slice"));
            format!("{} {left}, {next} for {slice}", who(r.vcpu))
        }
        Kind::Continue => format!("{} goes on for {}", who(r.vcpu), length(r.value("slice"))),
        _ => return None,
    };
    Some(format!("{} {} {what}", r.at.as_nanos(), r.pcpu))
}

/// Compares a case with what is written down of it: all decisions from the first one there on.
fn agrees(name: &str) {
    let file = |ending: &str| {
        let path = folder().join(format!("{name}.{ending}"));
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let expected = file("txt");
    let expected: Vec<&str> = expected.lines().collect();
    let first = expected.first().and_then(|l| l.split(' ').next());
    let from: u64 = first.and_then(|at| at.parse().ok()).expect("a time");
    let decided = decide(name, &file("toml"), 0);
    let shown = decided.iter().filter(|(at, _)| at.as_nanos() >= from);
    let shown: Vec<&str> = shown.map(|(_, line)| line.as_str()).collect();
    let same = shown.iter().zip(&expected).take_while(|(a, b)| a == b);
    let same = same.count();
    assert!(
        shown == expected,
        "{name} parts from what is written down at line {}:\n  written {:?}\n  decided {:?}",
        same + 1,
        expected.get(same),
        shown.get(same),
    );
}

macro_rules! cases {
    ($($test:ident: $name:literal,)*) => {
        const CASES: &[&str] = &[$($name),*];
        $(
            #[test]
            fn $test() {
                agrees($name);
            }
        )*
    };
}

cases! {
    a_search_stays_inside_the_affinity_in_4_0: "affinity-in-4.0",
    a_search_takes_down_each_step_until_4_1: "idle-bias-in-4.1",
    pauses_by_the_toolstack_are_counted_since_4_5: "pauses-are-counted",
    a_change_of_affinity_takes_off_the_pcpu_since_4_3: "pin-to-where-it-is",
    a_domain_is_paused_while_it_is_adjusted_until_4_1: "adjusting-pauses-in-3.1",
    soft_affinity_need_not_narrow_in_4_5: "soft-as-hard-in-4.5",
    no_rate_limit_is_the_default_one_in_4_2: "no-limit-in-4.2",
    a_wake_up_wakes_any_idle_pcpu_in_4_7: "any-idle-pcpu-in-4.7",
    idle_pcpus_take_turns_on_the_wakers_pcpu: "waker-in-4.17",
    null_binds_a_vcpu_when_it_wakes: "null-binds-at-wake-up",
    nothing_left_for_a_weight_is_less_than_nothing_under_sedf: "negative-slice-in-sedf",
    a_slice_of_bvt_adds_units_to_nanoseconds: "units-of-bvt",
}

/// Where the first vcpu of a domain begins is drawn from 4.8 to 4.12, for each domain by itself,
/// but for dom0, which Xen itself builds.
#[test]
fn domains_begin_on_a_random_pcpu_from_4_8_to_4_12() {
    let first = |version: &str, replication, others: &str| {
        let text = format!(
            r#"
[run]
duration_ms = 1
[host]
xen = "{version}"
cores = 4
[scheduler]
policy = "credit"
version = "{version}"
{others}
[[domain]]
name = "a"
id = 5
start_ms = 0.5
workload = "burn"
"#
        );
        let decided = decide("test.toml", &text, replication);
        let of = |who: &str| {
            let text = format!("idle runnable, {who} ");
            let found = decided.iter().find(|(_, line)| line.contains(&text))?;
            found.1.split(' ').nth(1).map(String::from)
        };
        (of("d5v0").expect("it runs"), of("d0v0"))
    };
    let dom0 = "[[domain]]\nname = \"Domain-0\"\nid = 0\nstart_ms = 0.2\nworkload = \"burn\"";
    for version in ["4.8", "4.9", "4.11"] {
        let mut count = [0; 4];
        for replication in 0..200 {
            let (pcpu, none) = first(version, replication, "");
            assert_eq!(none, None);
            let number: usize = pcpu[1..].parse().expect("a pcpu");
            count[number] += 1;
            if replication < 20 {
                // Another domain changes nobody's luck: only a pcpu that is taken may be left.
                let (again, control) = first(version, replication, dom0);
                assert_eq!(control.as_deref(), Some("p0"), "{version}");
                assert!(again == pcpu || pcpu == "p0", "{version}, {replication}");
            }
        }
        // 50 are due; three standard deviations are 18.
        assert!(
            count.iter().all(|n| (32..=68).contains(n)),
            "{version}: {count:?}"
        );
    }
    for replication in 0..20 {
        assert_eq!(
            first("4.7", replication, "").0,
            "p3",
            "the emptiest, or the highest"
        );
        assert_eq!(first("4.13", replication, "").0, "p0", "the lowest");
    }
}

#[test]
fn every_case_is_tested() {
    let files = fs::read_dir(folder()).expect("the folder is there");
    let mut found: Vec<String> = files
        .map(|f| {
            f.expect("readable")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .filter_map(|f| Some(f.strip_suffix(".toml")?.to_owned()))
        .collect();
    found.sort_unstable();
    let mut tested = CASES.to_vec();
    tested.sort_unstable();
    assert_eq!(found, tested);
}
