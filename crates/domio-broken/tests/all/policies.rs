//! Every broken policy is caught by the checker that it names, and the correct one by none.

use domio_broken::policies::order::{DependsOnInstance, DependsOnTrace};
use domio_broken::policies::{
    Broken, Bug, fifo, groups, placement, promises, queueing, settings, vcpus,
};
use domio_sched::conformance::{self, CHECKERS, Report};
use std::cell::Cell;

fn report<B: Bug>(bug: impl Fn() -> B) -> Report {
    conformance::check(&|topology| Box::new(Broken::new(bug(), topology)), 0..20)
}

fn is_caught<B: Bug + Default>() {
    assert_caught::<B>(&report(B::default));
}

fn assert_caught<B: Bug>(report: &Report) {
    let by: Vec<_> = report.checkers().collect();
    assert!(
        by.contains(&B::CAUGHT_BY),
        "wanted {}, got {by:?}\n{report}",
        B::CAUGHT_BY
    );
}

#[test]
fn without_a_bug_nothing_is_found() {
    let report = report(fifo::CorrectFifo::default);
    assert!(report.is_clean(), "{report}");
}

/// Every checker has a policy that only it was made for.
#[test]
fn every_checker_has_a_policy_to_catch() {
    let caught_by = [
        placement::RunsTwice::CAUGHT_BY,
        placement::PicksBlocked::CAUGHT_BY,
        placement::IgnoresAffinity::CAUGHT_BY,
        placement::RemembersTheDead::CAUGHT_BY,
        queueing::GivesTheRest::CAUGHT_BY,
        queueing::TicklesForEver::CAUGHT_BY,
        placement::IgnoresHotplug::CAUGHT_BY,
        queueing::SleepsLate::CAUGHT_BY,
        queueing::LosesWakeUps::CAUGHT_BY,
        queueing::IdlesOverWork::CAUGHT_BY,
        promises::NeverBalances::CAUGHT_BY,
        queueing::Starves::CAUGHT_BY,
        promises::IgnoresWeights::CAUGHT_BY,
        promises::OverrunsCaps::CAUGHT_BY,
        vcpus::ForgetsVcpus::CAUGHT_BY,
        groups::Tree::CAUGHT_BY,
        settings::IgnoresParameters::CAUGHT_BY,
        promises::ForgetsCharges::CAUGHT_BY,
        DependsOnInstance::CAUGHT_BY,
        DependsOnTrace::CAUGHT_BY,
    ];
    assert_eq!(
        caught_by.to_vec(),
        CHECKERS.iter().map(|c| c.name).collect::<Vec<_>>()
    );
}

#[test]
fn a_lost_wake_up_is_caught() {
    is_caught::<queueing::LosesWakeUps>();
}

#[test]
fn idling_over_work_is_caught() {
    is_caught::<queueing::IdlesOverWork>();
}

#[test]
fn starvation_is_caught() {
    is_caught::<queueing::Starves>();
}

#[test]
fn tickling_for_ever_is_caught_and_does_not_hang() {
    is_caught::<queueing::TicklesForEver>();
}

#[test]
fn a_sleeper_that_runs_on_is_caught() {
    is_caught::<queueing::SleepsLate>();
}

#[test]
fn a_zero_slice_is_caught() {
    is_caught::<queueing::GivesTheRest>();
}

#[test]
fn ignored_affinity_is_caught() {
    is_caught::<placement::IgnoresAffinity>();
}

#[test]
fn picking_who_blocked_is_caught() {
    is_caught::<placement::PicksBlocked>();
}

#[test]
fn running_twice_is_caught() {
    is_caught::<placement::RunsTwice>();
}

#[test]
fn ignored_hotplug_is_caught() {
    is_caught::<placement::IgnoresHotplug>();
}

#[test]
fn naming_the_removed_is_caught() {
    is_caught::<placement::RemembersTheDead>();
}

#[test]
fn ignored_weights_are_caught() {
    is_caught::<promises::IgnoresWeights>();
}

#[test]
fn overrun_caps_are_caught() {
    is_caught::<promises::OverrunsCaps>();
}

#[test]
fn missing_balance_is_caught() {
    is_caught::<promises::NeverBalances>();
}

#[test]
fn ignored_parameters_are_caught() {
    is_caught::<settings::IgnoresParameters>();
}

#[test]
fn a_change_by_halves_is_caught() {
    is_caught::<settings::AppliesHalf>();
}

#[test]
fn forgotten_charges_are_caught() {
    is_caught::<promises::ForgetsCharges>();
}

#[test]
fn forgotten_parameters_of_vcpus_are_caught() {
    let report = conformance::check(&|t| Box::new(vcpus::ForgetsVcpus::new(t)), 0..20);
    let by: Vec<_> = report.checkers().collect();
    assert_eq!(by, [vcpus::ForgetsVcpus::CAUGHT_BY], "{report}");
}

#[test]
fn groups_work_and_a_flattened_tree_is_caught() {
    let report = conformance::check(&|t| Box::new(groups::Tree::new(t)), 0..70);
    assert!(report.is_clean(), "{report}");
    let report = conformance::check(&|t| Box::new(groups::Tree::flattened(t)), 0..20);
    let by: Vec<_> = report.checkers().collect();
    assert_eq!(by, [groups::Tree::CAUGHT_BY], "{report}");
}

#[test]
fn dependence_on_the_trace_is_caught() {
    is_caught::<DependsOnTrace>();
}

#[test]
fn dependence_on_the_instance_is_caught() {
    let made = Cell::new(0);
    let report = report(|| {
        made.set(made.get() + 1);
        DependsOnInstance {
            instance: made.get(),
        }
    });
    assert_caught::<DependsOnInstance>(&report);
}
