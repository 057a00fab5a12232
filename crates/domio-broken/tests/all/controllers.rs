//! Every broken controller is caught by the checker that it names and by no other, and the correct
//! one by none.

use domio_broken::controllers::answers::{
    AnswersTwice, IgnoresAbilities, IgnoresVcpus, RepeatsItself, SetsMoreThanDeclared,
};
use domio_broken::controllers::memory::{
    AnswersForTheGone, DependsOnInstance, NeverForgets, NeverSettles,
};
use domio_broken::controllers::{Broken, Bug, half};
use domio_control::conformance::{self, CHECKERS, Report};
use std::cell::Cell;

fn report<B: Bug>(bug: impl Fn() -> B) -> Report {
    conformance::check(&|| Box::new(Broken::new(bug())), 0..60)
}

fn is_caught<B: Bug + Default>() {
    assert_caught::<B>(&report(B::default));
}

fn assert_caught<B: Bug>(report: &Report) {
    let by: Vec<_> = report.checkers().collect();
    assert_eq!(by, [B::CAUGHT_BY], "{report}");
}

#[test]
fn without_a_bug_nothing_is_found() {
    let report = report(half::Correct::default);
    assert!(report.is_clean(), "{report}");
}

/// Every checker has a controller that only it was made for.
#[test]
fn every_checker_has_a_controller_to_catch() {
    let caught_by = [
        SetsMoreThanDeclared::CAUGHT_BY,
        AnswersForTheGone::CAUGHT_BY,
        IgnoresAbilities::CAUGHT_BY,
        IgnoresVcpus::CAUGHT_BY,
        RepeatsItself::CAUGHT_BY,
        AnswersTwice::CAUGHT_BY,
        NeverSettles::CAUGHT_BY,
        NeverForgets::CAUGHT_BY,
        DependsOnInstance::CAUGHT_BY,
    ];
    assert_eq!(
        caught_by.to_vec(),
        CHECKERS.iter().map(|c| c.name).collect::<Vec<_>>()
    );
}

#[test]
fn a_kind_that_is_not_declared_is_caught() {
    is_caught::<SetsMoreThanDeclared>();
}

#[test]
fn an_answer_for_who_is_gone_is_caught() {
    is_caught::<AnswersForTheGone>();
}

#[test]
fn setting_what_cannot_be_set_is_caught() {
    is_caught::<IgnoresAbilities>();
}

#[test]
fn a_value_out_of_range_is_caught() {
    is_caught::<IgnoresVcpus>();
}

#[test]
fn repeating_what_is_set_is_caught() {
    is_caught::<RepeatsItself>();
}

#[test]
fn answering_twice_is_caught() {
    is_caught::<AnswersTwice>();
}

#[test]
fn never_settling_is_caught() {
    is_caught::<NeverSettles>();
}

#[test]
fn remembering_the_gone_is_caught() {
    is_caught::<NeverForgets>();
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
