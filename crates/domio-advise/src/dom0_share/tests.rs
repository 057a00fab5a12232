//! Small hosts whose answers are known.

use super::answers::{answers, best_of};
use super::*;
use domio_run::OneByOne;
use domio_scenario::NoReplay;

/// A stream to one guest beside another that never rests.
const MIX: &str = r#"
seed = 3
run.warmup_ms = 200
run.duration_ms = 800
host = { profile = "opteron-242", cores = CORES, xen = "4.17" }
scheduler.policy = "credit"
[[domain]]
name = "Domain-0"
id = 0
guest = "linux-2.6.18"
[[domain]]
name = "files"
guest = "linux-2.6.18"
workload = "stream"
[[domain]]
name = "batch"
workload = "burn"
"#;

fn scenario(cores: u32) -> Scenario {
    let text = MIX.replace("CORES", &cores.to_string());
    Scenario::parse("mix.toml", text.as_bytes(), domio_sched::policies())
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn no_replay(_: &Scenario) -> Box<dyn domio_scenario::ReplaySource> {
    Box::new(NoReplay)
}

fn subject(name: &str, wanted: bool) -> Dom0Subject {
    Dom0Subject {
        label: name.to_owned(),
        policy: *domio_sched::find(name).unwrap(),
        changes: Vec::new(),
        wanted,
    }
}

fn outcome(cores: u32, policies: &[&str], plan: &Dom0Plan) -> Dom0Outcome {
    let subjects: Vec<Dom0Subject> = policies.iter().map(|p| subject(p, true)).collect();
    run(&scenario(cores), &subjects, plan, &no_replay, &OneByOne).unwrap_or_else(|e| panic!("{e}"))
}

fn told(outcome: &Dom0Outcome) -> Vec<String> {
    outcome.points.iter().map(|p| p.told.join(", ")).collect()
}

#[test]
fn every_policy_is_told_a_weight_in_its_own_way() {
    let plan = Dom0Plan {
        weights: vec![4.0],
        ..Dom0Plan::default()
    };
    let outcome = outcome(1, &["credit", "credit2", "bvt", "sedf"], &plan);
    let told = told(&outcome);
    assert_eq!(told[1], "domain.Domain-0.weight = 1024");
    assert_eq!(told[3], "domain.Domain-0.weight = 1024");
    assert_eq!(
        told[5],
        "domain.Domain-0.mcu_advance = 60, domain.files.mcu_advance = 240, \
         domain.batch.mcu_advance = 240"
    );
    // Four, one and one sixths of 95 % of 20 ms.
    for part in [
        "domain.Domain-0.slice_us = 12666",
        "domain.files.slice_us = 3166",
        "domain.batch.period_us = 20000",
        "domain.batch.extratime = true",
    ] {
        assert!(told[7].contains(part), "{}", told[7]);
    }
    assert!(outcome.left_out.is_empty(), "{:?}", outcome.left_out);
}

#[test]
fn what_a_policy_does_not_have_is_left_out_with_the_reason() {
    let plan = Dom0Plan {
        weights: vec![1.0],
        caps: vec![50, 80],
        slices_ms: vec![5],
        pin: true,
        ..Dom0Plan::default()
    };
    let outcome = outcome(1, &["round-robin", "bvt", "credit2"], &plan);
    let of = |policy: &str| {
        let own = outcome.left_out.iter().filter(|l| l.policy == policy);
        own.filter_map(|l| l.axis).collect::<Vec<_>>()
    };
    let (weight, cap, slice, pin) = (
        Dom0Axis::Weight,
        Dom0Axis::Cap,
        Dom0Axis::Slice,
        Dom0Axis::Pin,
    );
    assert_eq!(of("round-robin"), [weight, cap, pin]);
    assert_eq!(of("bvt"), [cap, pin]);
    assert_eq!(of("credit2"), [slice, pin]);
    // A policy that nobody asked for and that cannot run it is left out as a whole.
    let both = |wanted| {
        let mut strange = subject("sedf", wanted);
        strange
            .changes
            .push(("scheduler.banana".to_owned(), "1".to_owned()));
        [subject("credit", true), strange]
    };
    let plan = Dom0Plan::default();
    let without = run(&scenario(1), &both(false), &plan, &no_replay, &OneByOne).unwrap();
    assert_eq!((without.points.len(), without.left_out.len()), (1, 1));
    assert!(without.left_out[0].why.contains("banana"), "{without:?}");
    let refused = run(&scenario(1), &both(true), &plan, &no_replay, &OneByOne);
    assert!(matches!(refused, Err(Dom0Fault::Scenario(_))));
}

/// The stream takes whatever dom0 has: a pcpu of its own is used up, and each percent of a cap
/// counts.
#[test]
fn a_cap_below_the_demand_costs_throughput() {
    let plan = Dom0Plan {
        caps: vec![20, 60, 95],
        ..Dom0Plan::default()
    };
    let outcome = outcome(2, &["credit"], &plan);
    let demand = outcome.demand.0.share_pct;
    assert!((97.0..=100.0).contains(&demand), "{demand}");
    let [own, low, middle, high] = &outcome.points[..] else {
        panic!("{} points", outcome.points.len());
    };
    assert!(low.worst < 0.5 && low.worst_guest == "files", "{low:?}");
    assert!(low.worst < middle.worst && middle.worst < high.worst);
    assert!((15.0..25.0).contains(&low.dom0_share_pct), "{low:?}");
    let best = best_of(&outcome).unwrap();
    assert!(best.score >= own.score && best.setting != "cap 20 %");
    let text = answers(&outcome).join("\n");
    assert!(text.contains("credit: more helps up to cap 95 %"), "{text}");
    let begin = "Domain-0 uses 100.0 %";
    assert!(
        text.starts_with(begin) && text.contains("and might use more"),
        "{text}"
    );
    // What a KiB costs dom0 hardly depends on the cap.
    let cost = |p: &Dom0Point| p.guests[0].dom0_us_per_kib.unwrap();
    assert!((cost(own) / cost(high) - 1.0).abs() < 0.2);
    assert!(own.guests[0].dom0_us_per_reply.is_none());
}

#[test]
fn all_combinations_or_one_axis_after_the_other() {
    let mut plan = Dom0Plan {
        weights: vec![1.0, 2.0],
        vcpus: vec![2],
        pin: true,
        ..Dom0Plan::default()
    };
    assert_eq!(combinations(&plan).len(), 4);
    plan.full = true;
    assert_eq!(combinations(&plan).len(), 2);
    let outcome = outcome(2, &["credit"], &plan);
    assert_eq!(outcome.points[2].setting, "weight x 2, 2 vcpus, own pcpu");
    assert!(told(&outcome)[2].contains("domain.batch.pin = 1"));
    // The same again gives the same.
    let again = self::outcome(2, &["credit"], &plan);
    assert_eq!(outcome, again);
}

#[test]
fn a_mix_needs_a_dom0_and_guests() {
    let plan = Dom0Plan {
        dom0: Some("nobody".to_owned()),
        ..Dom0Plan::default()
    };
    let fault = run(
        &scenario(1),
        &[subject("credit", true)],
        &plan,
        &no_replay,
        &OneByOne,
    );
    let told = fault.unwrap_err().to_string();
    assert!(told.contains("no domain \"nobody\""), "{told}");
}

/// Dom0 answers menus on one vcpu and computes on another, beside guests that compute.
const DESK: &str = r#"
seed = 3
run.warmup_ms = 200
run.duration_ms = 3000
host = { cores = 2, xen = "4.17" }
scheduler.policy = "credit2"
[[domain]]
name = "Domain-0"
vcpus = 2
  [[domain.task]]
  name = "menu"
  workload = "on-off"
  vcpu = 0
  on_ms = 15
  off_ms = 80
  [[domain.task]]
  workload = "burn"
  vcpu = 1
[[domain]]
name = "qube"
count = 6
  [[domain.task]]
  name = "boot"
  workload = "on-off"
  on_ms = 30
  off_ms = 5
"#;

fn of_text(text: &str, policy: &str, plan: &Dom0Plan) -> Dom0Outcome {
    let scenario = Scenario::parse("mix.toml", text.as_bytes(), domio_sched::policies())
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    run(
        &scenario,
        &[subject(policy, true)],
        plan,
        &no_replay,
        &OneByOne,
    )
    .unwrap_or_else(|e| panic!("{e}"))
}

/// With a sixteenth of a guest's weight dom0's own jobs pay, which is in the table, the score and
/// what is advised. What dom0 wants is measured over both of its vcpus.
#[test]
fn dom0_s_own_jobs_are_weighed() {
    let plan = Dom0Plan {
        weights: vec![0.0625, 4.0],
        ..Dom0Plan::default()
    };
    let outcome = of_text(DESK, "credit2", &plan);
    let [own, low, high] = &outcome.points[..] else {
        panic!("{} points", outcome.points.len());
    };
    fn keys(p: &Dom0Point) -> Vec<(&str, f64)> {
        let own = p.own.0.as_ref().expect("dom0 has tasks");
        own.services.iter().map(|s| (&*s.key, s.value)).collect()
    }
    let [("turnaround_mean_ms", before), ("share_pct", burnt)] = keys(own)[..] else {
        panic!("{:?}", keys(own));
    };
    assert!(
        keys(low)[0].1 > 2.0 * before && keys(low)[1].1 < burnt,
        "{:?}",
        keys(low)
    );
    assert_eq!(low.worst_guest, "Domain-0");
    assert!(
        low.worst < 0.5 && high.worst_guest != "Domain-0",
        "{low:?} {high:?}"
    );
    assert!(best_of(&outcome).is_some_and(|best| best.settings != low.settings));
    let demand = &outcome.demand.0;
    assert!((demand.most_pct - 200.0).abs() < 1e-9);
    assert!(
        (110.0..120.0).contains(&demand.share_pct),
        "{}",
        demand.share_pct
    );
    let text = answers(&outcome).join("\n");
    assert!(
        text.contains("of one pcpu where 2 are added for it alone"),
        "{text}"
    );
    assert!(
        text.contains("serves no network and no disk in this scenario"),
        "{text}"
    );
}

/// The highest score is not advised where somebody pays too much for that.
#[test]
fn what_one_pays_too_much_for_is_not_advised() {
    let mut outcome = outcome(
        1,
        &["credit"],
        &Dom0Plan {
            weights: vec![0.25, 2.0],
            ..Dom0Plan::default()
        },
    );
    for (point, (score, worst)) in
        outcome
            .points
            .iter_mut()
            .zip([(1.0, 1.0), (1.3, 0.17), (1.1, 0.9)])
    {
        (point.score, point.worst) = (score, worst);
        point.worst_guest = "Domain-0".to_owned();
    }
    assert_eq!(best_of(&outcome).unwrap().setting, "weight x 2");
    let text = answers(&outcome).join("\n");
    assert!(
        text.contains("The mix is served best by credit, weight x 2: 1.10 times"),
        "{text}"
    );
    assert!(
        text.contains(
            "Not advised: credit, weight x 0.25 has the highest score, 1.30, and Domain-0 pays"
        ),
        "{text}"
    );
}

/// All work on packets is on one vcpu unless the scenario spreads it: then more vcpus tell
/// something.
#[test]
fn more_vcpus_tell_nothing_while_all_packets_are_on_one() {
    let plan = Dom0Plan {
        vcpus: vec![1, 2],
        ..Dom0Plan::default()
    };
    let (base, batch) = (
        MIX.replace("CORES", "4"),
        "[[domain]]\nname = \"batch\"\nworkload = \"burn\"",
    );
    let two = format!(
        "{}[[domain]]\nname = \"more\"\nguest = \"linux-2.6.18\"\nworkload = \"stream\"\n",
        base.replace(batch, "")
    );
    let spread = format!("{two}[network]\nrate = \"10G\"\nnetback_threads = 8\n");
    let alone = format!("{two}[network]\nrate = \"10G\"\n");
    let text = answers(&of_text(&alone, "credit", &plan)).join("\n");
    assert!(
        text.contains("credit: cannot tell whether more vcpus help"),
        "{text}"
    );
    assert!(!text.contains("nothing changes"), "{text}");
    let outcome = of_text(&spread, "credit", &plan);
    let threads: Vec<_> = outcome.points.iter().map(|p| p.netback_vcpus).collect();
    assert_eq!(threads, [Some(1), Some(1), Some(2)]);
    let cards: Vec<_> = outcome.points.iter().map(|p| p.card_vcpus).collect();
    assert_eq!(cards, [Some(1); 3]);
    // Interrupts between vcpus cost what the second one brings, and the answer says what else
    // would help.
    let text = answers(&outcome).join("\n");
    assert!(!text.contains("cannot tell"), "{text}");
    assert!(text.contains("Not modelled: short locks"), "{text}");
    assert!(text.contains("The card has one queue"), "{text}");
    // A card of several queues is no limit any more.
    let cards = spread.replace("netback_threads", "card.queues = 2\nnetback_threads");
    let outcome = of_text(&cards, "credit", &plan);
    let cards: Vec<_> = outcome.points.iter().map(|p| p.card_vcpus).collect();
    assert_eq!(cards, [Some(1), Some(1), Some(2)]);
    let text = answers(&outcome).join("\n");
    assert!(!text.contains("cannot tell"), "{text}");
    assert!(!text.contains("The card has one queue"), "{text}");
}

/// A list of pins has one for each vcpu: another number of vcpus is left out, with the reason.
#[test]
fn vcpus_that_are_pinned_one_by_one_are_not_varied_in_silence() {
    let pinned = MIX
        .replace("CORES", "2")
        .replace("id = 0", "id = 0\nvcpus = 2\npin = [\"0\", \"1\"]");
    let plan = Dom0Plan {
        vcpus: vec![1, 2],
        ..Dom0Plan::default()
    };
    let outcome = of_text(&pinned, "credit", &plan);
    assert_eq!(outcome.points.len(), 2);
    let [left_out] = &outcome.left_out[..] else {
        panic!("{:?}", outcome.left_out);
    };
    assert!(
        left_out.why.contains("`pin` has 2 texts"),
        "{}",
        left_out.why
    );
}
