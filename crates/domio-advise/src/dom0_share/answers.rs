//! What the command answers: the figures, and what follows from them, in words.

use super::{Dom0Axis, Dom0Outcome, Dom0Point};
use domio_answer::{AnswerSpec, Answered, RowType, Sentence, rows};
use domio_scenario::Scenario;

/// A setting within this part of the best one serves as well as that.
const AS_GOOD: f64 = 0.98;
/// A difference that is worth to be told.
const NOTABLE: f64 = 0.02;
/// Nobody is to be served less than this part as well as before, whatever others gain: a job of
/// four seconds takes five.
const PAYS_AT_MOST: f64 = 0.8;
/// A domain that uses so much of what it can have (%) might use more.
const SATURATED_PCT: f64 = 97.0;

rows! {
    /// What was tried, and what came out.
    #[derive(Clone, PartialEq, Debug)]
    struct Dom0Search {
        /// Name of the scenario.
        scenario: String = fact("scenario");
        /// Seed of all random streams.
        seed: u64 = fact("seed");
        /// How often each setting was run.
        replications: u32 = fact("replications");
        /// Simulated time before measuring.
        warmup_s: f64 = column("warmup_s", "s", ColumnKind::Fact);
        /// Measured time.
        duration_s: f64 = column("duration_s", "s", ColumnKind::Fact);
        /// All figures.
        outcome: Dom0Outcome = fact("");
    }
}

/// What the answer is.
pub fn spec() -> AnswerSpec {
    let doc = "What `domio dom0-share --json` prints: what settings of dom0 give its guests.";
    AnswerSpec::new("dom0-share", 2, doc, Dom0Search::spec())
}

/// The answer: `outcome` of `scenario` over so many replications, and what follows, in words.
pub fn answer(scenario: &Scenario, replications: u32, outcome: &Dom0Outcome) -> Answered {
    let plan = scenario.plan();
    let search = Dom0Search {
        scenario: scenario.name().to_owned(),
        seed: plan.seed,
        replications,
        warmup_s: plan.warmup.as_nanos() as f64 / 1e9,
        duration_s: plan.duration.as_nanos() as f64 / 1e9,
        outcome: outcome.clone(),
    };
    let mut answer = Answered::new(spec(), search.cells());
    let sentences = answers(outcome).into_iter();
    answer.findings = sentences.map(Sentence::new).collect();
    answer
}

/// What the outcome says, a sentence or two each: what dom0 needs, which setting serves the mix
/// best, where more stops to help.
pub fn answers(outcome: &Dom0Outcome) -> Vec<String> {
    let mut all = vec![need(outcome)];
    all.extend(best(outcome));
    let mut policies: Vec<&str> = Vec::new();
    for point in &outcome.points {
        if !policies.contains(&point.policy.as_str()) {
            policies.push(&point.policy);
        }
    }
    for policy in policies {
        for axis in Dom0Axis::ALL {
            all.extend(along(outcome, policy, axis));
        }
    }
    all.extend(left_out(outcome));
    all
}

fn need(outcome: &Dom0Outcome) -> String {
    let (dom0, demand) = (&outcome.dom0, &outcome.demand.0);
    let own = outcome.points.first();
    let gets = own.map_or(0.0, |point| point.dom0_share_pct);
    let waits = own.map_or(0.0, |point| point.dom0_waiting_pct);
    let uses = demand.share_pct;
    let on_one = own.is_some_and(|point| point.netback_vcpus == Some(1));
    let more = match demand.most_pct {
        most if uses >= SATURATED_PCT / 100.0 * most => ", and might use more",
        _ if on_one && uses >= SATURATED_PCT => {
            ", and might use more if its work on packets were not on one vcpu alone"
        }
        _ => "",
    };
    let vcpus = (demand.most_pct / 100.0).round();
    let of = match vcpus > 1.0 {
        false => "of a pcpu that is added for it alone".to_owned(),
        true => format!("of one pcpu where {vcpus} are added for it alone, one for each vcpu"),
    };
    format!(
        "{dom0} uses {uses:.1} % {of}{more}. In the scenario's own \
         setting it uses {gets:.1} %, and its vcpus wait for {waits:.1} % of the time."
    )
}

/// The point that is advised: of those that nobody pays too much for, the one that serves the mix
/// best.
pub fn best_of(outcome: &Dom0Outcome) -> Option<&Dom0Point> {
    let fair = outcome.points.iter().filter(|p| p.worst >= PAYS_AT_MOST);
    // Of equals the first one, which changes least.
    fair.rev().max_by(|a, b| a.score.total_cmp(&b.score))
}

/// The point of the highest score, whoever pays for it.
fn highest(outcome: &Dom0Outcome) -> Option<&Dom0Point> {
    let points = outcome.points.iter();
    points.rev().max_by(|a, b| a.score.total_cmp(&b.score))
}

/// Policy and settings, for people.
pub fn name(point: &Dom0Point) -> String {
    match point.settings.is_empty() {
        true => format!("{} as the scenario has it", point.policy),
        false => format!("{}, {}", point.policy, point.setting),
    }
}

fn best(outcome: &Dom0Outcome) -> Vec<String> {
    let mut all = Vec::new();
    let best = best_of(outcome);
    match best.filter(|best| best.score > 1.0 + NOTABLE) {
        None => all.push(
            "No setting that was tried, and for which nobody pays much, serves the mix better than \
             the scenario's own by more than 2 %."
                .to_owned(),
        ),
        Some(best) => all.push(advised(outcome, best)),
    }
    let highest = highest(outcome).filter(|h| h.worst < PAYS_AT_MOST && h.score > 1.0 + NOTABLE);
    if let Some(highest) = highest.filter(|h| best.is_none_or(|b| h.score > b.score)) {
        let (who, worst) = (&highest.worst_guest, highest.worst);
        all.push(format!(
            "Not advised: {} has the highest score, {:.2}, and {who} pays for that: it is served \
             {worst:.2} times as well as by the scenario's own setting.",
            name(highest),
            highest.score
        ));
    }
    all
}

/// That `best` serves the mix best, and who pays for that.
fn advised(outcome: &Dom0Outcome, best: &Dom0Point) -> String {
    let mut text = format!(
        "The mix is served best by {}: {:.2} times as well as by the scenario's own setting.",
        name(best),
        best.score
    );
    if best.worst < 1.0 - NOTABLE {
        let (guest, worst) = (&best.worst_guest, best.worst);
        text += &format!(" {guest} pays for that: it is served {worst:.2} times as well.");
        let fair = outcome.points.iter().filter(|p| p.worst >= 1.0 - NOTABLE);
        let fair = fair.rev().max_by(|a, b| a.score.total_cmp(&b.score));
        if let Some(fair) = fair.filter(|p| p.score > 1.0 + NOTABLE) {
            text += &format!(
                " Where nobody is to pay more than 2 %, by {}: {:.2} times.",
                name(fair),
                fair.score
            );
        }
    }
    text
}

/// Why more vcpus under `points` would report the model and not of the host, if that is so.
fn limited(outcome: &Dom0Outcome, policy: &str, points: &[(f64, &Dom0Point)]) -> Option<String> {
    let not_spread = |(vcpus, p): &&(f64, &Dom0Point)| *vcpus > 1.0 && p.netback_vcpus == Some(1);
    let (_, point) = points.iter().find(not_spread)?;
    let dom0 = &outcome.dom0;
    let what = match point.card_vcpus {
        Some(2..) => "All work of netback",
        _ => "All work on packets",
    };
    Some(format!(
        "{policy}: cannot tell whether more vcpus help. {what} is on vcpu 0 of {dom0} here, unlike \
         on most hosts. `--set network.netback_threads=64` spreads it: each interface is \
         one vcpu's. A card with several queues (`nic`, `queues` of [network.card]) spreads the \
         rest."
    ))
}

/// What the figures leave out that could change an answer.
fn left_out(outcome: &Dom0Outcome) -> Vec<String> {
    let dom0 = &outcome.dom0;
    let points = outcome.points.iter();
    let mut all = Vec::new();
    if points
        .clone()
        .all(|p| p.netback_vcpus.is_none() && p.dom0_nobody_pct.is_none())
    {
        all.push(format!(
            "Not in the figures: {dom0} serves no network and no disk in this scenario. What \
             guests ask of it beside that comes on top."
        ));
    }
    let spread = |n: Option<u16>| n.is_some_and(|n| n > 1);
    let mut several = points.clone().filter(|p| spread(p.netback_vcpus));
    if several.any(|p| p.card_vcpus == Some(1)) {
        all.push(format!(
            "The card has one queue: its interrupt, and the bridge for what comes by it, are vcpu \
             0's of {dom0}. Cards since about 2010 have more: `nic`, `queues` of [network.card]."
        ));
    }
    if points
        .clone()
        .any(|p| spread(p.netback_vcpus) || spread(p.card_vcpus))
    {
        all.push(format!(
            "Not modelled: short locks that vcpus of {dom0} share (run queues, allocators)."
        ));
    }
    all
}

/// Where more of an axis ceases to help, under one policy.
fn along(outcome: &Dom0Outcome, policy: &str, axis: Dom0Axis) -> Option<String> {
    let on = |p: &&Dom0Point| {
        let [setting] = &p.settings[..] else {
            return false;
        };
        p.policy == policy && setting.axis == axis
    };
    let mut points: Vec<(f64, &Dom0Point)> = outcome
        .points
        .iter()
        .filter(on)
        .filter_map(|p| Some((p.settings[0].value?, p)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if axis == Dom0Axis::Vcpus
        && let Some(why) = limited(outcome, policy, &points)
    {
        return Some(why);
    }
    if points.len() < 2 {
        return None;
    }
    let best = points.iter().map(|(_, p)| p.score).fold(0.0, f64::max);
    let (_, enough) = points.iter().find(|(_, p)| p.score >= best * AS_GOOD)?;
    let (first, last) = (points[0].1, points[points.len() - 1].1);
    let least = points
        .iter()
        .map(|(_, p)| p.score)
        .fold(f64::INFINITY, f64::min);
    if least >= best * AS_GOOD {
        let (from, to) = (&first.setting, &last.setting);
        return Some(format!(
            "{policy}: from {from} to {to} nothing changes by more than 2 %."
        ));
    }
    let knee = &enough.setting;
    Some(
        match (
            enough.settings == last.settings,
            last.score >= best * AS_GOOD,
        ) {
            (true, _) => format!("{policy}: more helps up to {knee}, the most that was tried."),
            (false, true) => format!("{policy}: from {knee} on more brings nothing."),
            (false, false) => format!(
                "{policy}: {knee} serves best; {} serves {:.2} times as well as that.",
                last.setting,
                last.score / best
            ),
        },
    )
}
